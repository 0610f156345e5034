// SPDX-License-Identifier: BSD-2-Clause
//! A run: several measuring processes one after the other, each of which does all cells and some of
//! the rounds. Where code and data of a process happen to lie differs from process to process, and
//! with it what the processor's predictors confuse (docs/measuring.md).

use crate::answer::{Answer, Figure, Missing, Subject};
use crate::grid::Cell;
use crate::peers::fetched;
use crate::plan::Plan;
use indicatif::ProgressBar;
use measure::process::ask;
use measure::rounds::{Disturbed, Rates};
use serde::{Deserialize, Serialize};
use terminal::error::Result;

/// The name under which the program starts itself.
pub const WORKER: &str = "worker";

/// An output that is not the reference's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fault {
    #[serde(flatten)]
    pub cell: Cell,
    pub subject: String,
    pub why: String,
}

/// What the processes of a plan found.
#[derive(Default)]
pub struct Found {
    pub subjects: Vec<Subject>,
    pub absent: Vec<Missing>,
    pub probe: Vec<Figure>,
    pub cells: Vec<(Cell, Rates<String>)>,
    pub faults: Vec<Fault>,
    pub right: usize,
    pub clocks: Disturbed,
    pub noise: Disturbed,
}

/// Runs `processes` processes that share the rounds of the plan.
pub fn run(plan: &Plan, processes: usize, bar: &ProgressBar) -> Result<Found> {
    let mut found = Found {
        cells: plan.cells.iter().map(|c| (*c, Rates::default())).collect(),
        ..Found::default()
    };
    for number in 0..processes {
        let part = Plan {
            seed: plan.seed.wrapping_add(number as u64),
            rounds: (plan.rounds + number) / processes,
            // The same code on the same input: long calls are looked at once.
            check_up_to: match number {
                0 => usize::MAX,
                _ => 4096,
            },
            wrong: found.wrong(),
            probe_windows: plan.probe_windows / processes,
            ..plan.clone()
        };
        found.ask(&part, bar)?;
    }
    Ok(found)
}

/// The libraries of a plan: those that are here, and the others.
pub fn subjects(plan: &Plan) -> Result<(Vec<Subject>, Vec<Missing>)> {
    let none = Plan {
        cells: Vec::new(),
        probe_windows: 0,
        ..plan.clone()
    };
    let mut found = Found::default();
    found.ask(&none, &ProgressBar::hidden())?;
    Ok((found.subjects, found.absent))
}

impl Found {
    /// Takes the answers of one process.
    fn ask(&mut self, part: &Plan, bar: &ProgressBar) -> Result<()> {
        let (launcher, variables) = (fetched::launcher(), part.environment.variables());
        ask(
            launcher.as_deref(),
            WORKER,
            part,
            variables,
            &mut |answer| {
                if self.take(answer) {
                    bar.inc(1);
                }
            },
        )
    }

    fn wrong(&self) -> Vec<(usize, String)> {
        let place = |fault: &Fault| self.cells.iter().position(|(c, _)| *c == fault.cell);
        let known = |f: &Fault| Some((place(f)?, f.subject.clone()));
        self.faults.iter().filter_map(known).collect()
    }

    /// Whether a cell is done.
    fn take(&mut self, answer: Answer) -> bool {
        match answer {
            Answer::Hello { subjects, absent } => {
                self.subjects = subjects;
                self.absent = absent;
            }
            Answer::Probe(figures) => {
                if self.probe.is_empty() {
                    self.probe = figures;
                } else {
                    for (known, more) in self.probe.iter_mut().zip(figures) {
                        known.rates.extend(more.rates);
                    }
                }
            }
            Answer::Wrong { cell, subject, why } => self.faults.push(Fault {
                cell: self.cells[cell].0,
                subject,
                why,
            }),
            Answer::Cell(done) => {
                self.cells[done.cell].1.add(done.rates);
                self.right += done.right;
                self.clocks += done.clocks;
                self.noise += done.noise;
                return true;
            }
        }
        false
    }
}
