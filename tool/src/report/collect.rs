// SPDX-License-Identifier: BSD-2-Clause
//! Asks the other commands. A part that fails is missing from the report, with its reason.

use super::facts::{Missing, Report, Summary};
use super::verdict;
use crate::report::args::PageArgs;
use base::root::Root;
use evidence::{doctor, scan, trace};
use machine::schema::{Host, Measurement};
use setup::detect;
use speed::bench::{self, Asked, Run};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use terminal::error::{Error, Result};
use terminal::output;
use terminal::style::{error_columns, wrapped};

/// The size of one call: 1 KiB as in TLS records of web pages, 16 KiB as the largest.
const SIZES: [usize; 2] = [1024, 16384];
/// Seconds for the measurement, which takes about half of them on an idle machine.
const MEASURING: f64 = 5.5;
/// All of /usr takes about half of it on an idle machine that has the files in memory.
const SCANNING: Duration = Duration::from_millis(6000);

/// Says on a terminal which of the five parts is at work.
fn step(number: usize, what: &str) {
    if std::io::stderr().is_terminal() {
        let text = format!("{number} of 5: {what}");
        output::err(wrapped("", &text, error_columns()));
    }
}

/// A part, or the reason why it is missing.
fn part<T>(found: Result<T>, name: &'static str, missing: &mut Vec<Missing>) -> Option<T> {
    let why = match found {
        Ok(found) => return Some(found),
        Err(error) => error.to_string(),
    };
    missing.push(Missing { part: name, why });
    None
}

/// What the machine says. Measuring and tracing come last, so that nothing else of the report is in
/// their samples.
pub fn everything(args: &PageArgs) -> Result<(Host, Vec<Measurement>, Report)> {
    let begun = Instant::now();
    let root = Root::machine();
    if !root.has_proc() {
        return Err(Error::failure(
            "there is no /proc, so nothing can be reported; mount it",
        ));
    }
    let mut missing = Vec::new();
    step(1, "the processor, OpenSSL and the kernel");
    let (host, detect) = detect::look(&root);
    let detect = part(detect, "selection", &mut missing);
    step(2, "the doctor's examination");
    let doctor = doctor::Doctor::examine(&root);
    step(3, "programs and libraries");
    let scan = scan::for_so_long(SCANNING, args.brief);
    step(4, "speed");
    let run = bench::measure(&asked(args.brief));
    let run = part(run, "measurement of speed", &mut missing);
    let results = run.as_ref().map(Run::rows).unwrap_or_default();
    step(5, &format!("running processes, for {} s", args.seconds));
    let trace = part(
        trace::everybody(args.seconds),
        "trace of running processes",
        &mut missing,
    );
    let summary = Summary::of(detect.as_ref(), &results, trace.as_ref(), &scan, &doctor);
    let mut report = Report {
        label: args.label.clone(),
        verdict: Vec::new(),
        date: terminal::today(),
        seconds: begun.elapsed().as_secs_f64(),
        summary,
        missing,
        detect,
        bench: run.as_ref().map(Run::how),
        trace,
        scan,
        doctor,
    };
    report.verdict = verdict::lines(&report);
    Ok((host, results, report))
}

/// The usual modes at two sizes.
fn asked(brief: bool) -> Asked {
    let (algorithms, bytes, seconds) = match brief {
        true => (vec!["aes-128-ctr".to_owned()], vec![SIZES[0]], 0.0),
        false => (Vec::new(), SIZES.to_vec(), MEASURING),
    };
    Asked {
        algorithms,
        bytes,
        seconds: Some(seconds),
        ..Asked::default()
    }
}
