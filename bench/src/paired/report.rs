// SPDX-License-Identifier: BSD-2-Clause
//! The results of two builds, as text. A ratio is old time over new time: below 1 the new build is
//! slower.

use super::worker::{Cell, Times};
use measure::stats;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A cell whose median and upper quartile are below this is marked.
const SLOWER: f64 = 0.98;

/// The rounds of one cell in all processes.
#[derive(Clone, Default)]
pub struct Found {
    rounds: Vec<[f64; 2]>,
    doubtful: usize,
    /// The median ratio of each process.
    processes: Vec<f64>,
}

fn ratios(rounds: &[[f64; 2]]) -> impl Iterator<Item = f64> + '_ {
    rounds.iter().map(|[old, new]| old / new)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    stats::median(values).expect("there is a round")
}

impl Found {
    pub fn add(&mut self, times: Times) {
        self.processes.push(median(ratios(&times.rounds)));
        self.rounds.extend(times.rounds);
        self.doubtful += times.doubtful;
    }

    pub fn summary(&self, cell: &Cell) -> Row {
        Row {
            figures: Ratio::of(&self.rounds),
            processes: self.processes.clone(),
            rounds: self.rounds.len(),
            doubtful: self.doubtful,
            first: None,
            cell: cell.clone(),
        }
    }
}

/// Medians of rounds, and the quartiles of the ratio.
#[derive(Clone, Serialize)]
pub struct Ratio {
    pub ns_old: f64,
    pub ns_new: f64,
    pub ratio: f64,
    pub quartiles: [f64; 2],
}

impl Ratio {
    pub fn of(rounds: &[[f64; 2]]) -> Ratio {
        let side = |which: usize| median(rounds.iter().map(|round| round[which]));
        Ratio {
            ns_old: side(0),
            ns_new: side(1),
            ratio: median(ratios(rounds)),
            quartiles: stats::quartiles(ratios(rounds)).expect("there is a round"),
        }
    }
}

/// The figures of one cell.
#[derive(Clone, Serialize)]
pub struct Row {
    #[serde(flatten)]
    pub figures: Ratio,
    processes: Vec<f64>,
    rounds: usize,
    doubtful: usize,
    /// The ratio of the first measurement, if there was a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<f64>,
    #[serde(serialize_with = "listed")]
    pub cell: Cell,
}

fn listed<S: serde::Serializer>(cell: &Cell, to: S) -> Result<S::Ok, S::Error> {
    (&cell.operation, &cell.backend, cell.bits, cell.bytes).serialize(to)
}

impl Row {
    /// '!' slower than SLOWER, beyond the spread; '*' slower, beyond the spread.
    pub fn mark(&self) -> char {
        let below = |limit| self.figures.ratio < limit && self.figures.quartiles[1] < limit;
        match (below(SLOWER), below(1.0)) {
            (true, _) => '!',
            (_, true) => '*',
            _ => ' ',
        }
    }

    fn line(&self) -> String {
        let Cell {
            operation,
            backend,
            bits,
            bytes,
        } = &self.cell;
        format!(
            "{} {operation:20} {backend:9} {bits:3} {bytes:6}  {:10.1} {:10.1}  {:6.3}  \
             {:6.3} .. {:.3}\n",
            self.mark(),
            self.figures.ns_old,
            self.figures.ns_new,
            self.figures.ratio,
            self.figures.quartiles[0],
            self.figures.quartiles[1],
        )
    }
}

fn table(title: &str, rows: &[&Row]) -> String {
    let mut text = format!(
        "\n{title}\n  {:20} {:9} {:>3} {:>6}  {:>10} {:>10}   ratio  quartiles\n",
        "operation", "backend", "key", "bytes", "old, ns", "new, ns"
    );
    text.extend(rows.iter().map(|row| row.line()));
    text
}

/// A line about some of the cells.
fn group(name: &str, results: &[Row], belongs: impl Fn(&Cell) -> bool) -> String {
    let of: Vec<&Row> = results.iter().filter(|r| belongs(&r.cell)).collect();
    let ratio = |r: &&Row| r.figures.ratio;
    let mean = of.iter().map(|r| r.figures.ratio.ln()).sum::<f64>() / of.len() as f64;
    let median = stats::median(of.iter().map(ratio)).unwrap_or(f64::NAN);
    let count = |marks: &str| of.iter().filter(|r| marks.contains(r.mark())).count();
    format!(
        "{name:22} {:6} {:6.3} {:7.3} {median:7.3} {:8.3} {:8} {:4} {:4}\n",
        of.len(),
        mean.exp(),
        of.iter().map(ratio).fold(f64::MAX, f64::min),
        of.iter().map(ratio).fold(0.0, f64::max),
        of.iter().filter(|r| r.figures.ratio < 1.0).count(),
        count("*!"),
        count("!"),
    )
}

pub fn text(results: &[Row], all: bool) -> String {
    let mut text = String::new();
    let mut rows: Vec<&Row> = results.iter().collect();
    if all {
        rows.sort_by(|a, b| a.cell.cmp(&b.cell));
        text += &table("All cells", &rows);
    }
    rows.sort_by(|a, b| a.figures.ratio.total_cmp(&b.figures.ratio));
    rows.retain(|row| row.figures.ratio < 1.0);
    if !rows.is_empty() {
        text += &table(
            "Cells below 1 (* beyond the spread; ! below 0.98 beyond the spread)",
            &rows,
        );
    }
    let _ = writeln!(
        text,
        "\n{:22} {:>6} {:>6} {:>7} {:>7} {:>8} {:>8} {:>4} {:>4}",
        "", "cells", "mean", "lowest", "median", "highest", "below 1", "*", "!"
    );
    text += &group("all", results, |_| true);
    let backends: BTreeSet<&str> = results.iter().map(|r| &*r.cell.backend).collect();
    for backend in backends {
        text += &group(backend, results, |cell| cell.backend == backend);
    }
    let spreads = results
        .iter()
        .map(|r| (r.figures.quartiles[1] - r.figures.quartiles[0]) / 2.0);
    let spread = stats::median(spreads).unwrap_or(f64::NAN);
    let rounds: usize = results.iter().map(|r| r.rounds).sum();
    let doubtful: usize = results.iter().map(|r| r.doubtful).sum();
    let again = results.iter().filter(|r| r.first.is_some()).count();
    let _ = writeln!(
        text,
        "Median spread of a cell (half the distance of the quartiles): {spread:.4}. \
         Disturbed windows: {:.1} %. \
         Measured a second time: {again} cells.",
        50.0 * doubtful as f64 / rounds as f64
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(bytes: usize, times: &[[f64; 2]]) -> Row {
        let cell = Cell {
            operation: "ctr".into(),
            backend: "vperm".into(),
            bits: 128,
            bytes,
        };
        let mut found = Found::default();
        found.add(Times {
            cell: 0,
            rounds: times.to_vec(),
            doubtful: 1,
        });
        found.summary(&cell)
    }

    #[test]
    fn marks_want_the_quartile_too() {
        let mark = |new: [f64; 3]| result(16, &new.map(|new| [100.0, new])).mark();
        assert_eq!(mark([110.0, 110.0, 110.0]), '!');
        assert_eq!(mark([101.0, 101.0, 101.0]), '*');
        assert_eq!(mark([90.0, 103.0, 110.0]), ' ');
        assert_eq!(mark([90.0, 90.0, 90.0]), ' ');
    }

    #[test]
    fn slow_cells_are_listed_and_groups_counted() {
        let results = [
            result(16, &[[100.0, 110.0]; 4]),
            result(64, &[[100.0, 50.0]; 4]),
        ];
        let said = text(&results, false);
        assert!(
            said.contains(
                "! ctr                  vperm     128     16       100.0      110.0   0.909"
            ),
            "{said}"
        );
        assert!(!said.contains("128     64"), "{said}");
        assert!(said.contains("Disturbed windows: 12.5 %"), "{said}");
        assert!(text(&results, true).contains("128     64"));
        let json = serde_json::to_value(&results[0]).unwrap();
        assert_eq!(json["cell"], serde_json::json!(["ctr", "vperm", 128, 16]));
    }
}
