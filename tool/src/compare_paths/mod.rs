// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds compare-paths`: the same bytes through user space and through the kernel, in one run:
//! throughput, system calls, bytes that cross, CPU time, and from what size the kernel wins.

mod found;
mod json;
mod report;
mod svg;

use crate::bench::afalg;
use crate::bench::case::Case;
use crate::bench::engine;
use crate::bench::implementation::Implementation::{self, *};
use crate::bench::measure::{Effort, Rounds, TEAMS};
use crate::bench::passes;
use crate::bench::plan::{effort, of_all, sizes, whole_blocks, work, Work, THOROUGH};
use crate::bench::shown::Report;
use crate::bench::team::WorkerProcess;
use crate::bench::worker::Request;
use crate::cli::PathsArgs;
use crate::core::Backend;
use crate::error::{Error, Result};
use crate::kernel::drivers::Driver;
use crate::libcrypto::LibCrypto;
use crate::masks;
use crate::subject::{kernel_modes, or};
use ::measure::busy::Watch;
use ::measure::stats::Summary;
use found::{Figure, Found, Unavailable, PATHS};
use std::time::Instant;

/// From one block to a large file's buffer.
const SIZES: [usize; 7] = [16, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 1 << 20];
const DEFAULT: [&str; 2] = ["aes-128-cbc", "aes-128-ctr"];
/// Calls whose system calls are counted: more than one, so that what comes in every second call is
/// seen.
const COUNTED: u64 = 10;

fn asked(args: &PathsArgs) -> Result<Vec<Work>> {
    let usual = || DEFAULT.map(str::to_owned).to_vec();
    let names = match args.algorithms.is_empty() {
        true => usual(),
        false => args.algorithms.clone(),
    };
    let work = work(&names, args.measure.decrypt, true)?;
    if let Some((other, _)) = work
        .iter()
        .find(|(s, _)| s.mode().kernel_stream().is_none())
    {
        return Err(Error::usage(format!(
            "compare-paths does not measure {}; say {}, or one of them with a key size, such as \
             aes-128-cbc",
            other.title(),
            or(&kernel_modes())
        )));
    }
    let mut modes: Vec<&str> = work.iter().map(|(s, _)| s.mode().name()).collect();
    modes.dedup();
    match (&args.driver, modes.len()) {
        (Some(driver), 2..) => Err(Error::usage(format!(
            "--driver {driver}: a driver has one mode; say which, such as aes-128-cbc"
        ))),
        _ => Ok(work),
    }
}

fn cases(args: &PathsArgs, work: &[Work]) -> Result<Vec<Case>> {
    let sizes = sizes(&args.measure.bytes, &SIZES);
    whole_blocks(&sizes, "the kernel")?;
    Ok(of_all(work, &[1], &sizes))
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

fn team(left_out: &[Unavailable], driver: Option<&str>) -> Result<Vec<WorkerProcess>> {
    let takes_part = |who: &&Implementation| left_out.iter().all(|u| u.path != **who);
    let start = |who: &Implementation| match who {
        AfAlg | AfAlgSplice => WorkerProcess::start_with(*who, driver),
        _ => WorkerProcess::start(*who),
    };
    PATHS.iter().filter(takes_part).map(start).collect()
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

/// The system calls of each path, counted.
fn count(
    case: Case,
    rounds: Rounds,
    team: &mut [WorkerProcess],
    splice_copies: bool,
    notes: &mut Vec<String>,
) -> Result<Figure> {
    let mut counts = Vec::new();
    for worker in team {
        let who = worker.implementation;
        if !rounds.rates.contains_key(&who) {
            continue;
        }
        match worker.count(&case, COUNTED) {
            Ok(mut counted) => {
                // The copy is the kernel's, and no system call tells of it.
                if who == AfAlgSplice && splice_copies {
                    counted.copied.r#in += std::mem::take(&mut counted.referenced.r#in);
                }
                counts.push((who, counted));
            }
            Err(error) if error.is_absent() => {
                note(notes, format!("system calls were not counted: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    for (who, why) in &rounds.absent {
        note(notes, format!("{} was not measured: {why}", who.name()));
    }
    Ok(Figure {
        case,
        rounds,
        counts,
    })
}

fn note(notes: &mut Vec<String>, text: String) {
    if !notes.contains(&text) {
        notes.push(text);
    }
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

fn run(args: &PathsArgs) -> Result<Found> {
    let watch = Watch::start();
    let started = Instant::now();
    let work = asked(args)?;
    let cases = cases(args, &work)?;
    let effort = effort(&args.measure, &args.report, THOROUGH);
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let unavailable = unavailable(&libcrypto);
    let driver = args.driver.as_deref();
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
    let teams = (0..TEAMS).map(|_| team(&unavailable, driver));
    let mut teams = teams.collect::<Result<Vec<_>>>()?;
    let bar = passes::bar(&cases, &teams, effort);
    let null_call = null_call(&mut teams[0], effort)?;
    let share = |team: &mut [WorkerProcess], case: &Case, effort| {
        Ok(vec![case.measure(team, None, effort)?])
    };
    let measured = passes::measure(&cases, &mut teams, (effort, None), &bar, share)?;
    let mut notes = Vec::new();
    let mut figures = Vec::new();
    for (case, rounds) in cases.into_iter().zip(measured.into_iter().flatten()) {
        let copies = splice_copies == Some(true);
        figures.push(count(case, rounds, &mut teams[0], copies, &mut notes)?);
    }
    bar.finish_and_clear();
    let backend = teams[0].iter().find_map(|w| w.backend.as_deref());
    let backend = backend.and_then(Backend::by_name);
    drop(teams);
    Ok(Found {
        host: crate::host::read(Some(&libcrypto)),
        backend,
        drivers: drivers(&work, driver),
        unavailable,
        splice_copies,
        null_call,
        figures,
        notes,
        effort,
        took: started.elapsed(),
        load: watch.end(),
    })
}

pub fn compare_paths(args: &PathsArgs) -> Result<()> {
    let report = Report {
        json: json::text,
        markdown: report::markdown,
        text: report::text,
        svg: svg::write,
        args: &args.report,
    };
    report.of(args.measure.json, || run(args))
}
