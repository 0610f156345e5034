// SPDX-License-Identifier: BSD-2-Clause
//! The rates of a case by round. A round is one window of each subject, so that all of a round see
//! the same clock frequency and the same neighbours; ratios are taken within rounds. Several
//! processes share the rounds, because the addresses of code and data differ between processes.

use crate::stats::{self, Summary};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

/// Bytes per second of each subject, by round.
#[derive(Clone, Debug)]
pub struct Rates<K> {
    rates: BTreeMap<K, Vec<f64>>,
    /// The number of rounds of each process.
    processes: Vec<usize>,
}

impl<K> Default for Rates<K> {
    fn default() -> Rates<K> {
        Rates::from(BTreeMap::new())
    }
}

/// Rounds of one process.
impl<K> From<BTreeMap<K, Vec<f64>>> for Rates<K> {
    fn from(rates: BTreeMap<K, Vec<f64>>) -> Rates<K> {
        Rates {
            processes: rates.values().map(Vec::len).max().into_iter().collect(),
            rates,
        }
    }
}

impl<K> Deref for Rates<K> {
    type Target = BTreeMap<K, Vec<f64>>;

    fn deref(&self) -> &Self::Target {
        &self.rates
    }
}

impl<K> DerefMut for Rates<K> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.rates
    }
}

impl<K: Ord> Rates<K> {
    /// Adds the rounds of another process.
    pub fn absorb(&mut self, other: impl Into<Rates<K>>) {
        let other = other.into();
        self.processes
            .extend(other.rates.values().map(Vec::len).max());
        for (who, rates) in other.rates {
            self.rates.entry(who).or_default().extend(rates);
        }
    }

    pub fn rate<Q: Ord + ?Sized>(&self, who: &Q) -> Option<Summary>
    where
        K: Borrow<Q>,
    {
        Summary::of_parts(self.rates.get(who)?, &self.processes)
    }

    /// The ratios a / b, each within its round.
    pub fn ratio<Q: Ord + ?Sized>(&self, a: &Q, b: &Q) -> Option<Summary>
    where
        K: Borrow<Q>,
    {
        self.ratio_to(a, self, b)
    }

    /// The ratios to the rates of other windows of the same rounds.
    pub fn ratio_to<Q: Ord + ?Sized>(&self, a: &Q, others: &Rates<K>, b: &Q) -> Option<Summary>
    where
        K: Borrow<Q>,
    {
        let ratios: Vec<f64> = self.pairs(a, others, b)?.collect();
        Summary::of_parts(&ratios, &self.processes)
    }

    /// The median alone, which takes less time.
    pub fn median_rate<Q: Ord + ?Sized>(&self, who: &Q) -> Option<f64>
    where
        K: Borrow<Q>,
    {
        stats::median(self.rates.get(who)?.iter().copied())
    }

    pub fn median_ratio<Q: Ord + ?Sized>(&self, a: &Q, b: &Q) -> Option<f64>
    where
        K: Borrow<Q>,
    {
        stats::median(self.pairs(a, self, b)?)
    }

    fn pairs<'a, Q: Ord + ?Sized>(
        &'a self,
        a: &Q,
        others: &'a Rates<K>,
        b: &Q,
    ) -> Option<impl Iterator<Item = f64> + 'a>
    where
        K: Borrow<Q>,
    {
        let pairs = self.rates.get(a)?.iter().zip(others.rates.get(b)?);
        Some(pairs.map(|(a, b)| a / b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(ours: [f64; 3], theirs: [f64; 3]) -> BTreeMap<&'static str, Vec<f64>> {
        BTreeMap::from([("ours", ours.to_vec()), ("theirs", theirs.to_vec())])
    }

    #[test]
    fn ratios_are_paired_within_rounds() {
        // The clock halves and recovers; the ratio stays.
        let rates = Rates::from(process([20.0, 10.0, 40.0], [10.0, 5.0, 20.0]));
        let ratio = rates.ratio("ours", "theirs").unwrap();
        assert_eq!((ratio.median, ratio.spread()), (2.0, 0.0));
        assert_eq!(rates.rate("theirs").unwrap().median, 10.0);
        assert!(rates.ratio("ours", "none").is_none());
        // The same with other windows of these rounds, such as those of one thread.
        let others = Rates::from(process([10.0, 5.0, 20.0], [1.0; 3]));
        let scaling = rates.ratio_to("ours", &others, "ours").unwrap();
        assert_eq!((scaling.median, scaling.spread()), (2.0, 0.0));
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
                rates.absorb(BTreeMap::from([("ours", windows.collect())]));
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
