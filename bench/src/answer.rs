// SPDX-License-Identifier: BSD-2-Clause
//! What a measuring process answers.

use measure::rounds::{Disturbed, Taken};
use measure::stats::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bounds among the subjects of a cell.
pub const LIMIT: &str = "limit";
pub const CEILING: &str = "ceiling";

/// A library that is measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Subject {
    /// "openssl-4.0.3", "aws-lc"; ours: "core", "evp", and "core-" with a backend.
    pub id: String,
    /// For tables: "OpenSSL 4.0.3".
    pub title: String,
    /// As the library itself says at run time where it can, with the path of one that was opened
    /// then.
    pub version: String,
    #[serde(flatten)]
    pub origin: Origin,
}

/// Where a library comes from.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Origin {
    /// The day of its release, or an earlier one from which it is certainly not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub released: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

/// A library that is not here, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Missing {
    pub id: String,
    pub title: String,
    pub why: String,
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
    pub clocks: Disturbed,
    pub noise: Disturbed,
}

impl Done {
    /// Adds the rounds of these subjects.
    pub fn add(&mut self, ids: impl IntoIterator<Item = String>, taken: Taken) {
        self.rates.extend(ids.into_iter().zip(taken.rates));
        self.clocks += taken.clocks;
        self.noise += taken.noise;
    }
}
