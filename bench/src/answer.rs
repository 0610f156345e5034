// SPDX-License-Identifier: BSD-2-Clause
//! What a measuring process answers.

use measure::stats::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bounds among the subjects of a cell.
pub const LIMIT: &str = "limit";
pub const CEILING: &str = "ceiling";
pub const OPERATIONS: &str = "operations";
/// The rate of one thread beside that of several.
pub const ONE_THREAD: &str = "one-thread";

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    pub id: String,
    pub title: String,
    pub version: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Missing {
    pub id: String,
    pub title: String,
    pub why: String,
}

/// Windows whose noise probes differed from their round's median.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// Those that were repeated.
    pub repeated: usize,
    /// Those that count all the same, for want of better ones.
    pub doubtful: usize,
}

/// One figure of the limit probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub name: String,
    pub what: String,
    /// Of each process.
    pub rates: Vec<Vec<f64>>,
}

impl Figure {
    pub fn summary(&self) -> Option<Summary> {
        let lengths: Vec<usize> = self.rates.iter().map(Vec::len).collect();
        Summary::of_parts(&self.rates.concat(), &lengths)
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    Hello {
        subjects: Vec<Subject>,
        absent: Vec<Missing>,
    },
    Probe(Vec<Figure>),
    Wrong {
        cell: usize,
        subject: String,
        why: String,
    },
    /// A cell is done: bytes per second by subject and round. Empty without timing.
    Cell(Done),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Done {
    pub cell: usize,
    pub rates: BTreeMap<String, Vec<f64>>,
    /// Subjects whose output was compared.
    pub right: usize,
    pub repeated: usize,
    pub doubtful: usize,
    pub noise: Noise,
}
