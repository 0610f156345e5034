// SPDX-License-Identifier: BSD-2-Clause
//! `bench --paths`: the same bytes through user space and through the kernel, in one run. What is
//! measured, what it found, and the same as JSON (docs/json.md).

use super::afalg;
use super::args::Asked;
use super::figure::Figure;
use super::implementation::Implementation::{self, *};
use super::plan::{of_all, sizes, threads, whole_blocks, Plan, Work};
use super::run::{self, Run};
use base::ciphers::{kernel_modes, or};
use base::kernel::drivers::{self, Driver};
use base::root::Root;
use machine::schema::Measurement;
use serde::Serialize;
use terminal::error::{Error, Result};

/// All must agree with the first.
pub const PATHS: [Implementation; 4] = [Tenrounds, OpenSsl, AfAlg, Crossing];
/// Those into the kernel.
pub const WAYS: [Implementation; 2] = [AfAlg, Crossing];

/// From one block to a large file's buffer.
const SIZES: [usize; 7] = [16, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20];
const DEFAULT: [&str; 2] = ["aes-128-cbc", "aes-128-ctr"];

/// The object `bench.paths`.
#[derive(Serialize)]
pub struct Paths {
    /// Why this kernel has no AF_ALG; null where it has.
    pub unavailable: Option<String>,
    /// What AF_ALG took for each algorithm.
    pub drivers: Vec<Driver>,
    crossovers: Vec<Crossover>,
}

fn work(asked: &Asked) -> Result<Vec<Work>> {
    let usual = Asked {
        algorithms: DEFAULT.map(str::to_owned).into(),
        ..Asked::default()
    };
    let work = match asked.algorithms.is_empty() {
        true => usual.work()?,
        false => asked.work()?,
    };
    let in_kernel = |(s, _): &&Work| s.mode().kernel_stream().is_some();
    if let Some((other, _)) = work.iter().find(|work| !in_kernel(work)) {
        return Err(Error::usage(format!(
            "--paths does not measure {}; say {}, or one of them with a key size, such as \
             aes-128-cbc",
            other.title(),
            or(&kernel_modes())
        )));
    }
    Ok(work)
}

/// The drivers that the kernel takes for the algorithms asked for; after the measurement, because
/// templates such as cbc(aes-generic) are made when they are first wanted.
fn drivers(work: &[Work]) -> Vec<Driver> {
    let wanted = |driver: &Driver| {
        let of = |(s, _): &Work| s.mode().kernel_stream() == Some(&driver.algorithm);
        driver.selected && work.iter().any(of)
    };
    let all = drivers::read(&Root::machine()).unwrap_or_default();
    all.into_iter().filter(wanted).collect()
}

pub fn measure(asked: &Asked) -> Result<Run> {
    let work = work(asked)?;
    let sizes = sizes(&asked.bytes, &SIZES);
    whole_blocks(&sizes, "the kernel")?;
    let threads = threads(&asked.threads)?;
    let unavailable = afalg::probe().err();
    let takes_part = |who: &Implementation| unavailable.is_none() || *who != AfAlg;
    let mut run = run::run(&Plan {
        who: PATHS.into_iter().filter(takes_part).collect(),
        cases: of_all(&work, &sizes),
        threads,
        time: asked.time(),
        notes: Vec::new(),
    })?;
    run.paths = Some(Paths {
        unavailable,
        drivers: drivers(&work),
        crossovers: run.blocks().into_iter().flat_map(crossovers).collect(),
    });
    Ok(run)
}

/// From what size on a way into the kernel is faster than a path in user space.
#[derive(Debug, Serialize)]
pub struct Crossover {
    algorithm: String,
    direction: &'static str,
    threads: usize,
    pub path: Implementation,
    pub against: Implementation,
    /// The smallest size from which on it is at least as fast at all sizes; null: there is none.
    pub bytes: Option<usize>,
    /// The best ratio, and where.
    pub best_ratio: f64,
    pub best_bytes: usize,
}

/// The size from which on all ratios are at least 1. The sizes rise.
fn lasting(ratios: &[(usize, f64)]) -> Option<usize> {
    let winning = ratios.iter().rev().take_while(|(_, ratio)| *ratio >= 1.0);
    winning.last().map(|(bytes, _)| *bytes)
}

/// Those of a block, against libcrypto with tenrounds and without.
pub fn crossovers(block: &[Figure]) -> Vec<Crossover> {
    let case = &block[0].case;
    let of = |(path, against): (Implementation, Implementation)| {
        let ratio = |f: &Figure| Some((f.case.bytes, f.ratio(path, against)?));
        let mut ratios: Vec<(usize, f64)> = block.iter().filter_map(ratio).collect();
        ratios.sort_unstable_by_key(|(bytes, _)| *bytes);
        let (best_bytes, best_ratio) = *ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Crossover {
            algorithm: case.cipher.name(),
            direction: case.direction.name(),
            threads: case.threads,
            path,
            against,
            bytes: lasting(&ratios),
            best_ratio,
            best_bytes,
        })
    };
    let pairs = WAYS.into_iter();
    let pairs = pairs.flat_map(|way| [OpenSsl, Tenrounds].map(|against| (way, against)));
    pairs.filter_map(of).collect()
}

impl Paths {
    /// The backend of a row of the kernel is its driver.
    pub fn name_drivers(&self, figure: &Figure, rows: &mut [Measurement]) {
        let algorithm = figure.case.cipher.mode().kernel_stream();
        let mut drivers = self.drivers.iter();
        let driver = drivers.find(|d| Some(d.algorithm.as_str()) == algorithm);
        for row in rows {
            if row.implementation == AfAlg.name() {
                row.backend = driver.map(|d| d.driver.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crossover_lasts_to_the_largest_size() {
        assert_eq!(lasting(&[(16, 0.1), (256, 0.5), (1024, 0.9)]), None);
        assert_eq!(lasting(&[(16, 0.1), (256, 1.0), (1024, 1.2)]), Some(256));
        // Once faster is no crossover if it is slower again afterwards.
        assert_eq!(lasting(&[(16, 1.5), (256, 0.9), (1024, 1.2)]), Some(1024));
        assert_eq!(lasting(&[(16, 1.5), (256, 0.9)]), None);
        assert_eq!(lasting(&[]), None);
    }
}
