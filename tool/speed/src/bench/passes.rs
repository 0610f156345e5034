// SPDX-License-Identifier: BSD-2-Clause
//! Passes over all cases. Each team of processes measures its share of every case before the next
//! team begins, so that the rounds of a case lie all over the time of the run. Clock and neighbours
//! change while it lasts, as they do between two runs; the spread of a figure shows both.

use super::case::Case;
use super::measure::{Effort, Rounds};
use super::plan::{label, Pace};
use super::team::WorkerProcess;
use ::measure::limit::Limit;
use indicatif::ProgressBar;
use std::time::Instant;
use terminal::error::Result;

/// Windows of a round of a case.
fn windows(case: &Case, team: &[WorkerProcess]) -> usize {
    let concerned = |worker: &&WorkerProcess| case.concerns(worker.implementation);
    team.iter().filter(concerned).count()
}

/// Windows of a round of all cases.
pub fn all_windows(cases: &[Case], team: &[WorkerProcess]) -> usize {
    cases.iter().map(|case| windows(case, team)).sum()
}

/// A bar for the shares of all cases.
pub fn bar(cases: &[Case], teams: &[Vec<WorkerProcess>], effort: Effort) -> ProgressBar {
    let expected = effort.duration(all_windows(cases, &teams[0]));
    terminal::progress::timed(cases.len() * teams.len(), expected)
}

/// Measures all cases: rounds for each, and for each number of threads.
pub fn measure(
    (cases, threads): (&[Case], &[usize]),
    teams: &mut [Vec<WorkerProcess>],
    widest: Option<Limit>,
    (effort, end): (Effort, Option<Instant>),
    bar: &ProgressBar,
) -> Result<Vec<Vec<Rounds>>> {
    let mut pace = Pace::new(effort, end, all_windows(cases, &teams[0]));
    let mut found = vec![vec![Rounds::default(); threads.len()]; cases.len()];
    for (number, team) in teams.iter_mut().enumerate() {
        for (case, found) in cases.iter().zip(&mut found) {
            bar.set_message(label(case));
            if let Some(effort) = pace.next(number, case.bytes, windows(case, team)) {
                let parts = case.share(team, threads, widest, effort)?;
                let parts = found.iter_mut().zip(parts);
                parts.for_each(|(all, part)| all.absorb(part));
            }
            bar.inc(1);
        }
    }
    Ok(found)
}
