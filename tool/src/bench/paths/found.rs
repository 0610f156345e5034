// SPDX-License-Identifier: BSD-2-Clause
//! What a run of user space against the kernel found, and what follows from it.

use crate::bench::count::Counts;
use crate::bench::figure::Figure;
use crate::bench::implementation::Implementation::{self, *};
use crate::bench::run::Run;
use crate::kernel::drivers::Driver;
use ::measure::stats;
use ::measure::stats::Summary;

/// In the order in which they are shown. The core is the first: all others must agree with it.
pub const PATHS: [Implementation; 7] = [
    Core,
    Tenrounds,
    OpenSsl,
    AfAlg,
    AfAlgSplice,
    AfAlgEngine,
    Crossing,
];

/// A path that this machine has not.
pub struct Unavailable {
    pub path: Implementation,
    pub why: String,
    pub errno: Option<i32>,
}

pub struct Found {
    pub run: Run,
    /// The kernel's drivers that AF_ALG took.
    pub drivers: Vec<Driver>,
    pub unavailable: Vec<Unavailable>,
    /// Whether the kernel copies what is spliced into AF_ALG; None without AF_ALG.
    pub splice_copies: Option<bool>,
    /// Nanoseconds of a system call that does nothing.
    pub null_call: Option<Summary>,
}

/// User and system nanoseconds of a call.
pub struct CpuTime {
    pub user: f64,
    pub system: f64,
}

impl Figure {
    pub fn counts(&self, who: Implementation) -> Option<&Counts> {
        let mut counts = self.counts.iter();
        counts.find(|(w, _)| *w == who).map(|(_, counts)| counts)
    }

    pub fn cpu_time(&self, who: Implementation) -> Option<CpuTime> {
        let spent = self.rounds.spent.get(&who)?;
        let calls = spent.bytes as f64 / self.case.bytes as f64;
        Some(CpuTime {
            user: spent.user_ns as f64 / calls,
            system: spent.system_ns as f64 / calls,
        })
    }

    /// Bytes per second of a kernel that crosses as fast as a pipe does and then computes as fast
    /// as the core: by rounds, and the same as a ratio to another path.
    fn estimate_rounds(&self) -> Option<Vec<f64>> {
        let core = self.rounds.rates.get(&Core)?.iter();
        let crossing = self.rounds.rates.get(&Crossing)?.iter();
        let both = |(core, crossing): (&f64, &f64)| 1.0 / (1.0 / core + 1.0 / crossing);
        Some(core.zip(crossing).map(both).collect())
    }

    pub fn estimate(&self) -> Option<f64> {
        stats::median(self.estimate_rounds()?)
    }

    pub fn estimate_ratio(&self, other: Implementation) -> Option<f64> {
        let best = self.estimate_rounds()?;
        let pairs = best.iter().zip(self.rounds.rates.get(&other)?);
        stats::median(pairs.map(|(a, b)| a / b))
    }
}

/// A way into the kernel: one that was measured, or the best that there could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Measured(Implementation),
    Estimate,
}

impl Way {
    pub const ALL: [Way; 4] = [
        Way::Measured(AfAlg),
        Way::Measured(AfAlgSplice),
        Way::Measured(AfAlgEngine),
        Way::Estimate,
    ];

    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Way::Measured(who) => who.name(),
            Way::Estimate => "estimate",
        }
    }

    pub fn ratio(self, figure: &Figure, other: Implementation) -> Option<f64> {
        match self {
            Way::Measured(who) => figure.ratio(who, other),
            Way::Estimate => figure.estimate_ratio(other),
        }
    }
}

/// From what size on a way into the kernel is faster than a path in user space.
#[derive(Debug, PartialEq)]
pub struct Crossover {
    pub way: Way,
    pub against: Implementation,
    /// The smallest size from which on it is at least as fast at all sizes; None: there is none.
    pub bytes: Option<usize>,
    /// The best ratio, and where.
    pub best: f64,
    pub best_bytes: usize,
}

/// From the sizes, in rising order, and the ratios there.
fn crossover(way: Way, against: Implementation, ratios: &[(usize, f64)]) -> Option<Crossover> {
    let (best_bytes, best) = *ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let winning = ratios.iter().rev().take_while(|(_, ratio)| *ratio >= 1.0);
    Some(Crossover {
        way,
        against,
        bytes: winning.last().map(|(bytes, _)| *bytes),
        best,
        best_bytes,
    })
}

/// Those of a block, against libcrypto with tenrounds and without.
pub fn crossovers(block: &[Figure]) -> Vec<Crossover> {
    let of = |way: Way, against: Implementation| {
        let ratio = |f: &Figure| Some((f.case.bytes, way.ratio(f, against)?));
        let mut ratios: Vec<(usize, f64)> = block.iter().filter_map(ratio).collect();
        ratios.sort_unstable_by_key(|(bytes, _)| *bytes);
        crossover(way, against, &ratios)
    };
    let pairs = Way::ALL
        .into_iter()
        .flat_map(|way| [OpenSsl, Tenrounds].map(|against| (way, against)));
    pairs
        .filter_map(|(way, against)| of(way, against))
        .collect()
}

impl Found {
    pub fn why_not(&self, who: Implementation) -> Option<&Unavailable> {
        self.unavailable.iter().find(|u| u.path == who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::case::Case;
    use crate::bench::measure::Rounds;
    use crate::ciphers::Cipher;
    use catalogue::Direction;

    #[test]
    fn a_crossover_lasts_to_the_largest_size() {
        let of = |ratios: &[(usize, f64)]| {
            let found = crossover(Way::Estimate, OpenSsl, ratios).unwrap();
            (found.bytes, found.best_bytes)
        };
        assert_eq!(of(&[(16, 0.1), (256, 0.5), (1024, 0.9)]), (None, 1024));
        assert_eq!(of(&[(16, 0.1), (256, 1.0), (1024, 1.2)]), (Some(256), 1024));
        // Once faster is no crossover if it is slower again afterwards.
        assert_eq!(of(&[(16, 1.5), (256, 0.9), (1024, 1.2)]), (Some(1024), 16));
        assert_eq!(of(&[(16, 1.5), (256, 0.9)]), (None, 16));
        assert!(crossover(Way::Estimate, OpenSsl, &[]).is_none());
    }

    #[test]
    fn the_estimate_is_both_times_added() {
        let case = Case {
            cipher: Cipher::by_name("aes-128-cbc").unwrap(),
            direction: Direction::Encrypt,
            bytes: 16,
            threads: 1,
        };
        let mut rounds = Rounds::default();
        for (who, rate) in [(Core, 6e9), (Crossing, 3e9), (OpenSsl, 4e9)] {
            rounds.rates.insert(who, vec![rate; 3]);
        }
        let figure = Figure::new(case, rounds);
        let near = |value: Option<f64>, wanted: f64| (value.unwrap() / wanted - 1.0).abs() < 1e-9;
        assert!(near(figure.estimate(), 2e9));
        assert!(near(figure.estimate_ratio(OpenSsl), 0.5));
        assert_eq!(figure.estimate_ratio(AfAlg), None);
    }
}
