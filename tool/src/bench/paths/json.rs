// SPDX-License-Identifier: BSD-2-Clause
//! The paths as JSON: docs/json.md.

use super::found::{crossovers, Found};
use crate::bench::count::Bytes;
use crate::bench::figure::Figure;
use crate::bench::implementation::Implementation::{
    self, AfAlg, AfAlgEngine, Core, OpenSsl, Tenrounds,
};
use crate::kernel::drivers::Driver;
use machine::schema::Measurement;
use serde::Serialize;
use std::collections::BTreeMap;

/// The object `bench.paths`.
#[derive(Serialize)]
pub struct Paths {
    af_alg: Availability,
    engine: Availability,
    splice_copies: Option<bool>,
    /// What AF_ALG took for each algorithm.
    drivers: Vec<Taken>,
    null_call_ns: Option<f64>,
    costs: Vec<Cost>,
    estimate: Vec<Estimate>,
    crossovers: Vec<Crossover>,
}

/// A driver of the kernel.
#[derive(Serialize)]
struct Taken {
    algorithm: String,
    driver: String,
    priority: i64,
    selftest: String,
}

#[derive(Serialize)]
struct Availability {
    available: bool,
    why: Option<String>,
    errno: Option<i32>,
}

/// What a path costs besides wall time: of `calls` calls, and of one.
#[derive(Serialize)]
struct Cost {
    algorithm: String,
    direction: &'static str,
    implementation: &'static str,
    threads: usize,
    bytes: usize,
    /// null: not counted here.
    counted: Option<Counted>,
    user_ns: f64,
    system_ns: f64,
}

#[derive(Serialize)]
struct Counted {
    calls: u64,
    system_calls: BTreeMap<String, u64>,
    copied: Bytes,
    referenced: Bytes,
}

#[derive(Serialize)]
struct Estimate {
    algorithm: String,
    direction: &'static str,
    threads: usize,
    bytes: usize,
    bytes_per_second: f64,
    ratio_to: BTreeMap<&'static str, f64>,
}

#[derive(Serialize)]
struct Crossover {
    algorithm: String,
    direction: &'static str,
    threads: usize,
    path: &'static str,
    against: &'static str,
    /// null: there is none.
    bytes: Option<usize>,
    best_ratio: f64,
    best_bytes: usize,
}

fn costs(figure: &Figure) -> Vec<Cost> {
    let measured = figure.rounds.rates.keys().copied();
    let cost = |who: Implementation| {
        let time = figure.cpu_time(who)?;
        Some(Cost {
            algorithm: figure.case.cipher.name(),
            direction: figure.case.direction.name(),
            implementation: who.name(),
            threads: figure.case.threads,
            bytes: figure.case.bytes,
            counted: figure.counts(who).map(|counts| Counted {
                calls: counts.calls,
                system_calls: counts.system_calls.clone(),
                copied: counts.copied,
                referenced: counts.referenced,
            }),
            user_ns: time.user,
            system_ns: time.system,
        })
    };
    measured.filter_map(cost).collect()
}

fn estimate(figure: &Figure) -> Option<Estimate> {
    let others = [Core, OpenSsl, Tenrounds].into_iter();
    let ratio = |other: Implementation| Some((other.name(), figure.estimate_ratio(other)?));
    Some(Estimate {
        algorithm: figure.case.cipher.name(),
        direction: figure.case.direction.name(),
        threads: figure.case.threads,
        bytes: figure.case.bytes,
        bytes_per_second: figure.estimate()?,
        ratio_to: others.filter_map(ratio).collect(),
    })
}

fn crossovers_of(block: &[Figure]) -> Vec<Crossover> {
    let case = block[0].case;
    let found = crossovers(block).into_iter();
    let crossover = |found: super::found::Crossover| Crossover {
        algorithm: case.cipher.name(),
        direction: case.direction.name(),
        threads: case.threads,
        path: found.way.name(),
        against: found.against.name(),
        bytes: found.bytes,
        best_ratio: found.best,
        best_bytes: found.best_bytes,
    };
    found.map(crossover).collect()
}

/// The driver's name where the kernel computes, else our backend.
fn rows(found: &Found, figure: &Figure) -> Vec<Measurement> {
    let mut rows = figure.rows(found.run.backend, None);
    let kernel = Implementation::ALL.into_iter().filter(|w| w.is_kernel());
    let kernel: Vec<&str> = kernel.map(Implementation::name).collect();
    let algorithm = figure.case.cipher.mode().kernel_stream();
    let mut drivers = found.drivers.iter();
    let driver = drivers.find(|d| Some(d.algorithm.as_str()) == algorithm);
    for row in &mut rows {
        if kernel.contains(&row.implementation.as_str()) {
            row.backend = driver.map(|d| d.driver.clone());
        }
    }
    rows
}

fn taken(driver: &Driver) -> Taken {
    Taken {
        algorithm: driver.algorithm.clone(),
        driver: driver.driver.clone(),
        priority: driver.priority,
        selftest: driver.selftest.clone(),
    }
}

/// The rows of all figures, and the object.
pub fn of(found: &Found) -> (Vec<Measurement>, Paths) {
    let availability = |who| {
        let missing = found.why_not(who);
        Availability {
            available: missing.is_none(),
            why: missing.map(|u| u.why.clone()),
            errno: missing.and_then(|u| u.errno),
        }
    };
    let figures = &found.run.figures;
    let blocks = found.run.blocks().into_iter();
    let paths = Paths {
        af_alg: availability(AfAlg),
        engine: availability(AfAlgEngine),
        splice_copies: found.splice_copies,
        drivers: found.drivers.iter().map(taken).collect(),
        null_call_ns: found.null_call.map(|s| s.median),
        costs: figures.iter().flat_map(costs).collect(),
        estimate: figures.iter().filter_map(estimate).collect(),
        crossovers: blocks.flat_map(crossovers_of).collect(),
    };
    (figures.iter().flat_map(|f| rows(found, f)).collect(), paths)
}
