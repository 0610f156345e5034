// SPDX-License-Identifier: BSD-2-Clause
//! The results of a run: the cells, and in each the figures of the subjects that took turns in it.

use crate::answer::{CEILING, LIMIT};
use crate::grid::Cell;
use crate::peer::Spec;
use crate::peers::openssl::replaced;
use crate::run::Found;
use measure::rounds::Rates;
use measure::stats::Summary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A subject's figures in a cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Figures {
    /// Bytes per second.
    pub rate: f64,
    /// The fraction of the limit that it reaches.
    pub limit: Option<f64>,
    /// The multiple of the rate of the default provider that it replaces.
    pub times: Option<f64>,
    /// The spread of `times`, `limit` or `rate`, the first that is there.
    pub spread: f64,
    /// The ratios to other subjects, for the goals. Files do not have them.
    pub ratios: BTreeMap<String, Summary>,
}

/// Figures in JSON: GB/s, `limit`, `times` and `spread`.
type Written = (f64, Option<f64>, Option<f64>, f64);

impl From<Written> for Figures {
    fn from((gigabytes, limit, times, spread): Written) -> Figures {
        Figures {
            rate: gigabytes * 1e9,
            limit,
            times,
            spread,
            ratios: BTreeMap::new(),
        }
    }
}

impl From<Figures> for Written {
    fn from(f: Figures) -> Written {
        let spread = (f.spread * 1000.0).round() / 1000.0;
        let gigabytes = short(f.rate / 1e9);
        (gigabytes, f.limit.map(short), f.times.map(short), spread)
    }
}

/// Four digits: no measurement has more.
pub fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// A cell, and the figures of each subject by its id.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    #[serde(flatten)]
    pub cell: Cell,
    pub figures: BTreeMap<String, Figures>,
}

/// The subjects that are compared with all others in a cell.
const COMPARED: [&str; 2] = ["core", "evp"];

/// Runs of 2026-11-29 and before have one more bound: the operations of the core's own kernels.
pub fn is_bound(id: &str) -> bool {
    [LIMIT, CEILING, "operations"].contains(&id)
}

pub fn is_ours(id: &str) -> bool {
    ["core", "evp", "pkcs11-tenrounds"]
        .iter()
        .any(|ours| id.starts_with(ours))
}

fn is_other(id: &str) -> bool {
    !is_ours(id) && !is_bound(id)
}

fn figures(id: &str, rates: &Rates<String>) -> Option<Figures> {
    let rate = rates.rate(id)?;
    let ratio = |other: &str| Some((other.to_owned(), rates.ratio(id, other)?));
    let limit = (id != LIMIT).then(|| ratio(LIMIT)).flatten();
    let times = replaced(id).and_then(|stock| ratio(&stock));
    let of_all = COMPARED.contains(&id);
    let others = rates
        .by_subject
        .keys()
        .filter(|other| of_all && is_other(other));
    let first = times.as_ref().or(limit.as_ref());
    Some(Figures {
        rate: rate.median,
        limit: limit.as_ref().map(|(_, ratio)| ratio.median),
        times: times.as_ref().map(|(_, ratio)| ratio.median),
        spread: first.map_or(rate, |(_, ratio)| *ratio).spread(),
        ratios: others
            .filter_map(|other| ratio(other))
            .chain(limit)
            .chain(times)
            .collect(),
    })
}

/// The results of all processes, cell by cell.
pub fn all(found: &[Found]) -> Vec<Measured> {
    let measured = |(cell, rates): &(Cell, Rates<String>)| {
        let ids = rates.by_subject.keys();
        let figures = ids.filter_map(|id| Some((id.clone(), figures(id, rates)?)));
        Measured {
            cell: *cell,
            figures: figures.collect(),
        }
    };
    let cells = found.iter().flat_map(|found| &found.cells).map(measured);
    cells.filter(|m| !m.figures.is_empty()).collect()
}

impl Measured {
    /// Nanoseconds of a call.
    pub fn nanoseconds(&self, figures: &Figures) -> f64 {
        self.cell.spec.total(self.cell.bytes) as f64 * 1e9 / figures.rate
    }

    /// The id of the fastest of the other libraries, and its figures.
    pub fn best_other(&self) -> Option<(&String, &Figures)> {
        let others = self.figures.iter().filter(|(id, _)| is_other(id));
        others.max_by(|(_, a), (_, b)| a.rate.total_cmp(&b.rate))
    }
}

/// The ways in order, each once.
pub fn ways(cells: &[Measured]) -> Vec<Spec> {
    let mut ways: Vec<Spec> = Vec::new();
    for way in cells.iter().map(|m| m.cell.spec.with_key(128)) {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}
