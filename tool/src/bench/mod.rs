// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds bench`: software, stock OpenSSL and tenrounds against the limit, in one run; with
//! `--paths`, user space against the kernel. docs/measuring.md says how and why.

mod afalg;
mod baseline;
mod case;
mod chart;
mod count;
mod crew;
mod crossing;
mod engine;
mod evp;
mod figure;
pub mod how;
mod implementation;
mod job;
mod jobs;
mod mac;
mod measure;
mod message;
mod openssl;
mod passes;
mod paths;
mod plan;
mod report;
mod run;
mod svg;
mod team;
mod worker;

pub use plan::Asked;
pub use run::Run;

use crate::cli::BenchArgs;
use baseline::{Baseline, Old};
use chart::Paint;
use how::How;
use machine::schema::{Document, Measurement};
use paths::Paths;
use serde::Serialize;
use std::ffi::OsString;
use terminal::error::{Error, Result};
use terminal::output;

/// What JSON says besides the rows.
#[derive(Serialize)]
struct Body {
    bench: Bench,
}

#[derive(Serialize)]
struct Bench {
    #[serde(flatten)]
    how: How,
    paths: Option<Paths>,
    baseline: Option<Baseline>,
}

fn document(run: &Run, rows: Vec<Measurement>, paths: Option<Paths>) -> Document<Body> {
    let bench = Bench {
        how: run.how(),
        paths,
        baseline: None,
    };
    Document::new("bench", run.host.clone(), rows, Body { bench })
}

/// Measures what is asked for: software, OpenSSL, tenrounds and the limit.
pub fn measure(asked: &Asked) -> Result<Run> {
    run::run(&asked.plan(&plan::ALL)?, |_, _| Ok(()))
}

/// Measures and reports; the exit status.
pub fn bench(args: &BenchArgs) -> Result<u8> {
    let svg = args.svg.as_deref();
    svg.map_or(Ok(()), terminal::writable)?; // an error before anything is measured
    if args.paths {
        return paths::run(args).map(|()| 0);
    }
    let old = args.baseline.as_deref().map(Old::read).transpose()?;
    let plan = args.asked().plan(match args.openssl {
        true => &plan::COLUMNS,
        false => &plan::ALL,
    })?;
    let run = run::run(&plan, |_, _| Ok(()))?;
    let mut document = document(&run, run.rows(), None);
    // The run is shown even if it has no row in common with the old one.
    let (baseline, incomparable) = match old.map(|old| old.compare(&document)).transpose() {
        Ok(baseline) => (baseline, None),
        Err(error) => (None, Some(error)),
    };
    let slower = baseline.as_ref().is_some_and(Baseline::has_slower);
    let paint = Paint::for_stdout();
    let shown = output::out(if args.json {
        document.body.bench.baseline = baseline;
        document.to_json()
    } else {
        let text = match (args.openssl, args.verbose) {
            (true, _) => openssl::text(&run, paint)?,
            (false, true) => report::whole(&run, paint),
            (false, false) => report::brief(&run, paint),
        };
        text + &baseline.map_or(String::new(), |baseline| {
            let columns = Some(paint.page());
            format!("\n{}", baseline.text(paint.plus_minus(), columns))
        })
    });
    svg.map_or(Ok(()), |file| svg::write(&run, file))
        .and(shown)?;
    if let Some(error) = incomparable {
        return Err(error);
    }
    Ok(match slower && args.fail_slower {
        true => baseline::SLOWER,
        false => 0,
    })
}

/// A measuring process: its arguments are the implementation and, for AF_ALG, a driver of the
/// kernel.
pub fn worker(args: &[OsString]) -> Result<()> {
    let name = args.first().and_then(|a| a.to_str());
    let name = name.ok_or_else(|| Error::usage("a worker needs the name of an implementation"))?;
    let driver = args.get(1).map(|d| d.to_string_lossy().into_owned());
    worker::serve(name, driver)
}
