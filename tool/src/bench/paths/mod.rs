// SPDX-License-Identifier: BSD-2-Clause
//! `bench --paths`: the same bytes through user space and through the kernel, in one run:
//! throughput, system calls, bytes that cross, CPU time, and from what size the kernel wins.

mod found;
mod json;
mod report;
mod svg;

pub use json::Paths;

use super::afalg;
use super::chart::Paint;
use super::engine;
use super::figure::Figure;
use super::implementation::Implementation::{self, *};
use super::measure::Effort;
use super::plan::{of_all, sizes, threads, whole_blocks, Asked, Plan, Work};
use super::run;
use super::team::WorkerProcess;
use super::worker::Request;
use crate::ciphers::{kernel_modes, or};
use crate::cli::BenchArgs;
use crate::kernel::drivers::Driver;
use ::measure::stats::Summary;
use found::{Found, Unavailable, PATHS};
use libcrypto::LibCrypto;
use terminal::error::{Error, Result};
use terminal::output;

/// From one block to a large file's buffer.
const SIZES: [usize; 7] = [16, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20];
const DEFAULT: [&str; 2] = ["aes-128-cbc", "aes-128-ctr"];
/// Calls whose system calls are counted: more than one, so that what comes in every second call is
/// seen.
const COUNTED: u64 = 10;

fn work(asked: &mut Asked, driver: Option<&str>) -> Result<Vec<Work>> {
    if asked.algorithms.is_empty() {
        asked.algorithms = DEFAULT.map(str::to_owned).to_vec();
    }
    let work = asked.work()?;
    let in_kernel = |(s, _): &&Work| s.mode().kernel_stream().is_some();
    if let Some((other, _)) = work.iter().find(|work| !in_kernel(work)) {
        return Err(Error::usage(format!(
            "--paths does not measure {}; say {}, or one of them with a key size, such as \
             aes-128-cbc",
            other.title(),
            or(&kernel_modes())
        )));
    }
    let mut modes: Vec<&str> = work.iter().map(|(s, _)| s.mode().name()).collect();
    modes.dedup();
    match (driver, modes.len()) {
        (Some(driver), 2..) => Err(Error::usage(format!(
            "--driver {driver}: a driver has one mode; say which, such as aes-128-cbc"
        ))),
        _ => Ok(work),
    }
}

/// What of the kernel cannot be measured here, and why.
fn unavailable(libcrypto: &LibCrypto) -> Vec<Unavailable> {
    let mut list = Vec::new();
    if let Err((why, errno)) = afalg::probe() {
        for path in [AfAlg, AfAlgSplice] {
            list.push(Unavailable {
                path,
                why: why.clone(),
                errno: Some(errno),
            });
        }
    }
    if let Err(error) = engine::probe(libcrypto) {
        list.push(Unavailable {
            path: AfAlgEngine,
            why: error.to_string(),
            errno: list.first().and_then(|u| u.errno),
        });
    }
    list
}

/// Nanoseconds of a system call that does nothing.
fn null_call(team: &mut [WorkerProcess], effort: Effort) -> Result<Option<Summary>> {
    let worker = team.iter_mut().find(|w| w.implementation == Crossing);
    let worker = worker.expect("it always takes part");
    worker.set_up(&Request::NullCalls)?;
    let mut times = Vec::new();
    for _ in 0..effort.rounds {
        let windows = worker.window(effort.window_us)?;
        times.extend(windows.iter().map(|w| w.wall_ns as f64 / w.bytes as f64));
    }
    Ok(Summary::of(times))
}

/// Counts the system calls of each path at a figure's size.
fn count(
    figure: &mut Figure,
    team: &mut [WorkerProcess],
    splice_copies: bool,
    notes: &mut Vec<String>,
) -> Result<()> {
    for worker in team.iter_mut().filter(|worker| worker.threads == 1) {
        let who = worker.implementation;
        if !figure.rounds.rates.contains_key(&who) {
            continue;
        }
        match worker.count(&figure.case, COUNTED) {
            Ok(mut counted) => {
                // The copy is the kernel's, and no system call tells of it.
                if who == AfAlgSplice && splice_copies {
                    counted.copied.r#in += std::mem::take(&mut counted.referenced.r#in);
                }
                figure.counts.push((who, counted));
            }
            Err(error) if error.is_absent() => {
                let note = format!("system calls were not counted: {error}");
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The drivers that the kernel takes for the algorithms asked for; after the measurement, because
/// templates such as cbc(aes-generic) are made when they are first wanted.
fn drivers(work: &[Work], forced: Option<&str>) -> Vec<Driver> {
    let wanted = |driver: &Driver| match forced {
        Some(name) => driver.driver == name,
        None => {
            let of = |(s, _): &Work| s.mode().kernel_stream() == Some(&driver.algorithm);
            driver.selected && work.iter().any(of)
        }
    };
    let all = afalg::kernel_drivers().into_iter();
    all.filter(wanted).collect()
}

fn measure(args: &BenchArgs) -> Result<Found> {
    let mut asked = args.asked();
    let driver = args.driver.as_deref();
    let work = work(&mut asked, driver)?;
    let sizes = sizes(&asked.bytes, &SIZES);
    whole_blocks(&sizes, "the kernel")?;
    let threads = threads(&asked.threads)?;
    let libcrypto = LibCrypto::open()?;
    let unavailable = unavailable(&libcrypto);
    if let (Some(driver), Some(u)) = (driver, unavailable.iter().find(|u| u.path == AfAlg)) {
        return Err(Error::failure(format!("--driver {driver}: {}", u.why)));
    }
    if let Some(driver) = driver {
        afalg::check_driver(work[0].0, driver)?;
    }
    let splice_copies = match unavailable.iter().any(|u| u.path == AfAlgSplice) {
        true => None,
        false => Some(afalg::splice_copies(work[0].0, driver)?),
    };
    let takes_part = |who: &Implementation| unavailable.iter().all(|u| u.path != *who);
    let plan = Plan {
        who: PATHS.into_iter().filter(takes_part).collect(),
        cases: of_all(&work, &sizes),
        threads,
        driver: args.driver.clone(),
        time: asked.time,
        notes: Vec::new(),
    };
    let mut empty_call = None;
    let run = run::run(&plan, |run, team| {
        empty_call = null_call(team, run.effort)?;
        let figures = run.figures.iter_mut().filter(|f| f.case.threads == 1);
        let copies = splice_copies == Some(true);
        figures
            .into_iter()
            .try_for_each(|figure| count(figure, team, copies, &mut run.notes))
    })?;
    Ok(Found {
        run,
        drivers: drivers(&work, driver),
        unavailable,
        splice_copies,
        null_call: empty_call,
    })
}

pub fn run(args: &BenchArgs) -> Result<()> {
    let found = measure(args)?;
    let shown = output::out(match args.json {
        true => {
            let (rows, paths) = json::of(&found);
            super::document(&found.run, rows, Some(paths)).to_json()
        }
        false => report::text(&found, args.verbose, Paint::for_stdout()),
    });
    let svg = args.svg.as_deref();
    svg.map_or(Ok(()), |file| svg::write(&found, file))
        .and(shown)
}
