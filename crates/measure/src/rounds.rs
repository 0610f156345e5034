// SPDX-License-Identifier: BSD-2-Clause
//! Paired measurement. A round is one short window of each subject, one right after the other in an
//! order that changes from round to round, so that all of a round see the same clock frequency and
//! the same neighbours. Ratios are taken within rounds. Several processes share the rounds, because
//! the addresses of code and data differ between processes.

use crate::noise;
use crate::stats::Summary;
use crate::window::{undisturbed, Window};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use terminal::error::Result;

/// Windows that something disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disturbed {
    /// Those that were repeated.
    pub repeated: usize,
    /// Those that count all the same, for want of better ones.
    pub doubtful: usize,
}

impl AddAssign for Disturbed {
    fn add_assign(&mut self, other: Disturbed) {
        self.repeated += other.repeated;
        self.doubtful += other.doubtful;
    }
}

/// Where the CPU time of some windows went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub bytes: u64,
    pub user_ns: u64,
    pub system_ns: u64,
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        self.bytes += other.bytes;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
    }
}

/// The rounds that [`take`] took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken {
    /// Bytes per second of each subject, by round; of several threads their sum.
    pub rates: Vec<Vec<f64>>,
    pub spent: Vec<Spent>,
    /// Windows in which wall clock and CPU time disagreed.
    pub clocks: Disturbed,
    /// Windows whose noise probes differed from their round's median.
    pub noise: Disturbed,
}

impl Taken {
    /// Nanoseconds of a call of two subjects, by round; the windows' bytes are calls.
    pub fn times(&self) -> Vec<[f64; 2]> {
        let rounds = self.rates[0].iter().zip(&self.rates[1]);
        rounds.map(|(a, b)| [1e9 / a, 1e9 / b]).collect()
    }

    fn add(&mut self, subject: usize, windows: &[Window]) {
        self.clocks.doubtful += usize::from(!windows.iter().all(Window::undisturbed));
        self.rates[subject].push(windows.iter().map(Window::rate).sum());
        for window in windows {
            self.spent[subject] += Spent {
                bytes: window.bytes,
                user_ns: window.user_ns,
                system_ns: window.system_ns,
            };
        }
    }
}

/// Takes rounds: one window of each subject, in an order drawn by fastrand, with a noise probe
/// between any two windows. `window` gets the numbers of the round and the subject. A disturbed
/// window is repeated. If every repetition is disturbed, the last one counts, and is reported.
pub fn take<W: AsRef<[Window]>>(
    subjects: usize,
    rounds: impl Iterator<Item = usize>,
    mut probe: impl FnMut() -> Result<f64>,
    window: &mut dyn FnMut(usize, usize) -> Result<W>,
) -> Result<Taken> {
    let mut taken = Taken {
        rates: vec![Vec::new(); subjects],
        spent: vec![Spent::default(); subjects],
        ..Taken::default()
    };
    let mut order: Vec<usize> = (0..subjects).collect();
    for round in rounds {
        fastrand::shuffle(&mut order);
        let windows = noise::round(subjects, &mut probe, &mut |place| {
            let (window, repeated) = undisturbed(&mut || window(round, order[place]))?;
            taken.clocks.repeated += repeated;
            Ok(window)
        })?;
        for (&subject, beside) in order.iter().zip(&windows) {
            taken.add(subject, beside.window.as_ref());
            taken.noise.repeated += beside.repeated;
            taken.noise.doubtful += usize::from(beside.void);
        }
    }
    Ok(taken)
}

/// Bytes per second of each subject, by round.
#[derive(Clone, Debug)]
pub struct Rates<K> {
    pub by_subject: BTreeMap<K, Vec<f64>>,
    /// The number of rounds of each process.
    processes: Vec<usize>,
}

impl<K> Default for Rates<K> {
    fn default() -> Rates<K> {
        Rates {
            by_subject: BTreeMap::new(),
            processes: Vec::new(),
        }
    }
}

impl<K: Ord> Rates<K> {
    /// Adds the rounds of another process.
    pub fn add(&mut self, process: impl IntoIterator<Item = (K, Vec<f64>)>) {
        let mut rounds = None;
        for (subject, rates) in process {
            rounds = rounds.max(Some(rates.len()));
            self.by_subject.entry(subject).or_default().extend(rates);
        }
        self.processes.extend(rounds);
    }

    pub fn rate<Q: Ord + ?Sized>(&self, subject: &Q) -> Option<Summary>
    where
        K: Borrow<Q>,
    {
        Summary::of_parts(self.by_subject.get(subject)?, &self.processes)
    }

    /// The ratios a / b, each within its round.
    pub fn ratio<Q: Ord + ?Sized>(&self, a: &Q, b: &Q) -> Option<Summary>
    where
        K: Borrow<Q>,
    {
        let pairs = self.by_subject.get(a)?.iter().zip(self.by_subject.get(b)?);
        let ratios: Vec<f64> = pairs.map(|(a, b)| a / b).collect();
        Summary::of_parts(&ratios, &self.processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(ours: [f64; 3], theirs: [f64; 3]) -> [(&'static str, Vec<f64>); 2] {
        [("ours", ours.to_vec()), ("theirs", theirs.to_vec())]
    }

    #[test]
    fn rounds_of_windows_are_taken() {
        let window = |bytes, cpu_ns| Window {
            bytes,
            wall_ns: 1000,
            cpu_ns,
            user_ns: 300,
            system_ns: 700,
        };
        let mut calls = Vec::new();
        let taken = take(2, 0..3, noise::unprobed, &mut |round, subject| {
            calls.push((round, subject));
            // The second subject has two threads; in the last round one of them is disturbed.
            Ok(match (subject, round) {
                (0, _) => vec![window(1000, 1000)],
                (_, 2) => vec![window(500, 1000), window(500, 10)],
                _ => vec![window(500, 1000), window(1500, 1000)],
            })
        });
        let taken = taken.unwrap();
        assert_eq!(taken.rates, [[1e9; 3], [2e9, 2e9, 1e9]]);
        let (repeated, doubtful) = (4, 1);
        assert_eq!(taken.clocks, Disturbed { repeated, doubtful });
        assert_eq!((calls.len(), taken.noise), (10, Disturbed::default()));
        let second = Spent {
            bytes: 5000,
            user_ns: 1800,
            system_ns: 4200,
        };
        assert_eq!(taken.spent[1], second);
        assert_eq!(taken.times(), [[1.0, 0.5], [1.0, 0.5], [1.0, 1.0]]);
    }

    #[test]
    fn ratios_are_paired_within_rounds() {
        // The clock halves and recovers; the ratio stays.
        let mut rates = Rates::default();
        rates.add(process([20.0, 10.0, 40.0], [10.0, 5.0, 20.0]));
        let ratio = rates.ratio("ours", "theirs").unwrap();
        assert_eq!((ratio.median, ratio.spread()), (2.0, 0.0));
        assert_eq!(rates.rate("theirs").unwrap().median, 10.0);
        assert!(rates.ratio("ours", "none").is_none());
    }

    /// Simulated runs of five processes. `offset`: how much processes differ; `noise`: windows.
    #[test]
    fn the_intervals_of_two_runs_overlap() {
        let mut random = fastrand::Rng::with_seed(1);
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut run = |offset: f64, noise: f64| {
            let mut rates = Rates::default();
            for _ in 0..5 {
                let process = 100.0 + offset * normal();
                let windows = (0..5).map(|_| process + noise * normal());
                rates.add([("ours", windows.collect())]);
            }
            rates.rate("ours").unwrap()
        };
        for (offset, noise) in [(0.0, 1.0), (0.3, 1.0), (1.0, 1.0), (1.0, 0.1)] {
            let overlap = (0..400).filter(|_| {
                let (a, b) = (run(offset, noise), run(offset, noise));
                a.low <= b.high && b.low <= a.high
            });
            let overlap = overlap.count();
            assert!(overlap >= 380, "{overlap} of 400: {offset}, {noise}");
        }
    }
}
