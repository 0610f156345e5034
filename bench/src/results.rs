// SPDX-License-Identifier: BSD-2-Clause
//! The results of a run as rows: one for each cell and each subject that took turns in it.

use crate::answer::{Subject, CEILING, LIMIT, ONE_THREAD, OPERATIONS};
use crate::grid::{self, Cell, Way};
use crate::limits::{self, Bound};
use crate::peers::openssl::replaced;
use crate::plan::Environment;
use crate::run::Found;
use measure::rounds::Rates;
use measure::stats::Summary;
use std::collections::BTreeMap;

pub struct Row {
    pub environment: Environment,
    pub cell: Cell,
    pub subject: String,
    pub rate: Summary,
    pub bound: Option<Bound>,
    pub limit: Option<Summary>,
    /// Of ours to the others. Published files have only those to the default provider that ours
    /// replaces.
    pub ratios: BTreeMap<String, Summary>,
}

impl Row {
    pub fn ns_per_call(&self) -> f64 {
        let bytes = self.cell.spec.total(self.cell.bytes) * self.cell.threads;
        bytes as f64 * 1e9 / self.rate.median
    }
}

/// The way of this name: "cbc-encrypt-16".
pub fn way(name: &str) -> Option<Way> {
    let named = grid::ways(&[name.to_owned()]).ok()?;
    // "cmac" is also the name of a mode with several ways.
    named.into_iter().find(|w| w.name() == name)
}

/// The subjects whose rows have ratios to the others. Ours in one of several libcryptos has that to
/// its default provider.
const COMPARED: [&str; 2] = ["core", "evp"];

/// Subjects and rows, in the order in which they were measured.
pub struct Results {
    pub subjects: Vec<(Environment, Subject)>,
    pub rows: Vec<Row>,
}

fn rows(environment: Environment, cell: Cell, rates: &Rates<String>) -> Vec<Row> {
    let one_thread = format!("/{ONE_THREAD}");
    let subjects = rates.keys().filter(|id| !id.ends_with(&one_thread));
    let row = |id: &String| {
        let ratio = |other: &str| rates.ratio(id.as_str(), other);
        let mut ratios = BTreeMap::new();
        if cell.threads > 1 {
            let one = ratio(&format!("{id}{one_thread}"));
            ratios.extend(one.map(|one| (ONE_THREAD.to_owned(), one)));
        } else if COMPARED.contains(&&**id) {
            let others = rates.keys().filter(|o| !is_ours(o) && !is_bound(o));
            ratios.extend(others.filter_map(|o| Some((o.clone(), ratio(o)?))));
        } else if let Some(stock) = replaced(id) {
            ratios.extend(ratio(&stock).map(|r| (stock, r)));
        }
        let limit = ratio(LIMIT);
        Some(Row {
            environment,
            cell,
            subject: id.clone(),
            rate: rates.rate(id)?,
            bound: limit.map(|_| limits::bound(cell.spec)),
            limit,
            ratios,
        })
    };
    subjects.filter_map(row).collect()
}

/// A bound beside the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TighterBound {
    pub id: &'static str,
    /// What a column of fractions is called.
    pub of: &'static str,
}

pub fn is_bound(id: &str) -> bool {
    [LIMIT, CEILING, OPERATIONS].contains(&id)
}

pub fn is_ours(id: &str) -> bool {
    id == "core" || id.starts_with("evp") || id.starts_with("core-")
}

impl Results {
    pub fn of(all: &[Found]) -> Results {
        let subjects = |f: &Found| -> Vec<(Environment, Subject)> {
            let named = f.subjects.iter().map(|s| (f.environment, s.clone()));
            named.collect()
        };
        let of_found = |f: &Found| -> Vec<Row> {
            let of_cell = |(c, r): &(Cell, Rates<String>)| rows(f.environment, *c, r);
            f.cells.iter().flat_map(of_cell).collect()
        };
        Results {
            subjects: all.iter().flat_map(subjects).collect(),
            rows: all.iter().flat_map(of_found).collect(),
        }
    }

    /// The cells in order, each once.
    pub fn cells(&self) -> Vec<(Environment, Cell)> {
        let mut cells: Vec<(Environment, Cell)> = Vec::new();
        for row in &self.rows {
            if cells.last() != Some(&(row.environment, row.cell)) {
                cells.push((row.environment, row.cell));
            }
        }
        cells
    }

    /// The ways in order, each once.
    pub fn ways(&self) -> Vec<Way> {
        let mut ways: Vec<Way> = Vec::new();
        for row in &self.rows {
            let way = Way::of(&row.cell.spec);
            if !ways.contains(&way) {
                ways.push(way);
            }
        }
        ways
    }

    /// The fraction of another bound than the limit, `bound`, that a subject reaches, where the
    /// cell has that bound.
    pub fn of_bound(
        &self,
        environment: Environment,
        cell: Cell,
        subject: &str,
        bound: &str,
    ) -> Option<f64> {
        let limit = |id: &str| Some(self.row(environment, cell, id)?.limit?.median);
        Some(limit(subject)? / limit(bound)?)
    }

    /// The bound that the core's fractions refer to beside the limit. Runs
    /// up to 2026-11-22 measured no operations; they have the ceiling instead.
    pub fn tighter_bound(&self) -> TighterBound {
        let measured = self.rows.iter().any(|row| row.subject == OPERATIONS);
        match measured {
            true => TighterBound {
                id: OPERATIONS,
                of: "of its operations",
            },
            false => TighterBound {
                id: CEILING,
                of: "of the ceiling",
            },
        }
    }

    /// The id of the stock OpenSSL of the libcrypto in which the provider was measured.
    pub fn stock(&self) -> Option<String> {
        let (_, evp) = self.subjects.iter().find(|(_, s)| s.id == "evp")?;
        let id = format!("openssl-{}", evp.version.split(' ').next()?);
        self.subjects.iter().any(|(_, s)| s.id == id).then_some(id)
    }

    pub fn row(&self, environment: Environment, cell: Cell, subject: &str) -> Option<&Row> {
        self.rows
            .iter()
            .find(|r| r.environment == environment && r.cell == cell && r.subject == subject)
    }

    /// The fastest of the others in a cell.
    pub fn best_peer(&self, environment: Environment, cell: Cell) -> Option<&Row> {
        self.rows
            .iter()
            .filter(|r| r.environment == environment && r.cell == cell)
            .filter(|r| !is_ours(&r.subject) && !is_bound(&r.subject))
            .max_by(|a, b| a.rate.median.total_cmp(&b.rate.median))
    }

    pub fn title<'a>(&'a self, id: &'a str) -> &'a str {
        let named = self.subjects.iter().find(|(_, s)| s.id == id);
        named.map_or(id, |(_, s)| &s.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Kind;

    fn results(rates: &[(&str, f64)]) -> Results {
        let cell = Cell {
            spec: way("xts-encrypt").unwrap().spec(128),
            bytes: 4096,
            kind: Kind::Throughput,
            threads: 1,
        };
        let rates = rates
            .iter()
            .map(|(id, rate)| ((*id).into(), vec![*rate; 3]));
        let rates: BTreeMap<String, Vec<f64>> = rates.collect();
        Results {
            subjects: Vec::new(),
            rows: rows(Environment::Plain, cell, &rates.into()),
        }
    }

    #[test]
    fn fractions_are_of_the_operations_where_they_were_measured() {
        let new = results(&[("core", 6e9), (LIMIT, 1e10), (OPERATIONS, 8e9)]);
        let old = results(&[("core", 6e9), (LIMIT, 1e10), (CEILING, 9e9)]);
        for (results, of, fraction) in [
            (&new, "of its operations", 0.75),
            (&old, "of the ceiling", 6.0 / 9.0),
        ] {
            let bound = results.tighter_bound();
            let cell = results.rows[0].cell;
            let found = results.of_bound(Environment::Plain, cell, "core", bound.id);
            assert_eq!(bound.of, of);
            assert!((found.unwrap() - fraction).abs() < 1e-9, "{found:?}");
            assert!(results.best_peer(Environment::Plain, cell).is_none());
        }
    }
}
