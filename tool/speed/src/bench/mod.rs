// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds bench`: software, stock OpenSSL and tenrounds against the limit, in one run; with
//! `--paths`, user space against the kernel. docs/measuring.md says how and why.

mod afalg;
pub mod args;
mod calls;
mod case;
mod crossing;
mod drawing;
mod evp;
mod figure;
mod implementation;
mod measure;
mod paths;
mod plan;
mod report;
mod run;
mod svg;
mod worker;

pub use args::Asked;
pub use run::{How, Run};

use crate::bench::args::BenchArgs;
use ::measure::baseline::{Baseline, Side, SLOWER};
use base::replaced::{Look, Replaced};
use machine::schema::{Document, SCHEMA};
use paths::Paths;
use report::Form;
use serde::Serialize;
use std::ffi::OsString;
use terminal::error::{Error, Result};
use terminal::output;

/// What JSON says besides the rows.
#[derive(Serialize)]
struct Body<'a> {
    bench: Bench<'a>,
}

#[derive(Serialize)]
struct Bench<'a> {
    #[serde(flatten)]
    how: How,
    paths: Option<&'a Paths>,
    baseline: Option<Baseline>,
}

fn document(run: &Run) -> Document<Body<'_>> {
    let bench = Bench {
        how: run.how(),
        paths: run.paths.as_ref(),
        baseline: None,
    };
    Document::new("bench", run.host.clone(), run.rows(), Body { bench })
}

/// Measures what is asked for: software, OpenSSL, tenrounds and the limit.
pub fn measure(asked: &Asked) -> Result<Run> {
    run::run(&asked.plan(&plan::ALL)?)
}

/// Measures and reports; the exit status.
pub fn bench(args: &BenchArgs) -> Result<u8> {
    // An error before anything is measured.
    let svg = args.svg.as_deref().map(Replaced::prepare).transpose()?;
    let old = args.baseline.as_deref();
    let old = old.map(|file| Side::read(file, SCHEMA)).transpose()?;
    let asked = &args.asked;
    let run = match (args.paths, args.openssl) {
        (true, _) => paths::measure(asked)?,
        (_, true) => run::run(&asked.plan(&plan::COLUMNS)?)?,
        _ => run::run(&asked.plan(&plan::ALL)?)?,
    };
    let mut document = document(&run);
    // The run is shown even if it has no row in common with the old one.
    let compared = old.map(|old| {
        let new = serde_json::to_value(&document).expect("plain data serialises");
        Baseline::of(&old, &Side::of("this run".into(), &new))
    });
    let (baseline, incomparable) = match compared.transpose() {
        Ok(baseline) => (baseline, None),
        Err(error) => (None, Some(error)),
    };
    let slower = baseline.as_ref().is_some_and(Baseline::has_slower);
    let shown = output::out(if args.json {
        document.body.bench.baseline = baseline;
        document.to_json()
    } else {
        let form = match (args.openssl, args.verbose) {
            (true, _) => Form::OpenSsl,
            (false, true) => Form::Whole,
            (false, false) => Form::Brief,
        };
        let compared = baseline.map(|baseline| {
            let columns = Some(report::page());
            format!("\n{}", baseline.text(report::plus_minus(), columns))
        });
        report::text(&run, form) + &compared.unwrap_or_default()
    });
    svg.map_or(Ok(()), |file| file.fill(&svg::draw(&run), Look::Usual))
        .and(shown)?;
    if let Some(error) = incomparable {
        return Err(error);
    }
    Ok(match slower && args.fail_slower {
        true => SLOWER,
        false => 0,
    })
}

/// A measuring process: its argument is the implementation.
pub fn worker(args: &[OsString]) -> Result<()> {
    let name = args.first().and_then(|a| a.to_str());
    let name = name.ok_or_else(|| Error::usage("a worker needs the name of an implementation"))?;
    worker::serve(name)
}
