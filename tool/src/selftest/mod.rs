// SPDX-License-Identifier: BSD-2-Clause
//! `selftest`: the known answers of every backend, and each usable backend against every other on
//! random messages of every mode.

pub mod args;
mod case;
mod cross_check;

use crate::selftest::args::SelftestArgs;
use catalogue::{Mode, KEY_BITS};
use cross_check::Difference;
use machine::document::document;
use machine::masks;
use serde::Serialize;
use tenrounds_sys::{names_of, passes_known_answers, Backend, Cpu};
use terminal::error::{Error, Result};
use terminal::output;
use terminal::style::{grouped, item, paint, BAD, BOLD, DIM, GOOD, WARN};
use terminal::table::Table;

#[derive(Debug, Serialize)]
struct Selftest {
    seed: u64,
    /// Messages that every usable backend processed.
    cases: u64,
    /// The modes of these messages, each with all its key sizes.
    modes: Vec<&'static str>,
    passed: bool,
    backends: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    usable: bool,
    /// The features it lacks here.
    missing: Vec<&'static str>,
    /// The features it lacks because of a mask.
    masked: Vec<&'static str>,
    /// null: not run.
    known_answers: Option<bool>,
    /// Agrees with every other usable backend; null: there is no other, or not run.
    cross_check: Option<bool>,
    /// The first disagreements.
    differences: Vec<String>,
}

pub fn run(args: &SelftestArgs) -> Result<()> {
    let seed = args.seed.unwrap_or_else(|| u64::from(fastrand::u32(..)));
    let result = test(seed, args.up_to)?;
    match args.json {
        true => output::out(document("selftest", &result))?,
        false => output::out(result.text())?,
    }
    match result.passed {
        true => Ok(()),
        false => Err(Error::failure(result.problem())),
    }
}

fn test(seed: u64, up_to: Option<usize>) -> Result<Selftest> {
    let cpu = Cpu::detect();
    let masked = masks::masked()?;
    let usable = |b: &Backend| b.runs_with(cpu.usable & !masked);
    let running: Vec<Backend> = Backend::all().into_iter().filter(usable).collect();
    let found = cross_check::run(&running, seed, up_to.unwrap_or(usize::MAX));
    let line = |b: &Backend| {
        let lacks = b.features() & !cpu.usable;
        let own = found.differences.iter().filter(|d| d.backends.contains(b));
        let differences: Vec<String> = own.map(Difference::to_string).collect();
        Line {
            name: b.name(),
            usable: usable(b),
            missing: names_of(lacks),
            masked: names_of(b.features() & masked & !lacks),
            known_answers: usable(b).then(|| passes_known_answers(*b)),
            cross_check: (usable(b) && running.len() > 1).then_some(differences.is_empty()),
            differences,
        }
    };
    let backends: Vec<Line> = Backend::all().iter().map(line).collect();
    Ok(Selftest {
        seed,
        cases: found.cases,
        modes: Mode::aes().map(Mode::title).collect(),
        passed: !backends.iter().any(Line::failed),
        backends,
    })
}

impl Line {
    fn failed(&self) -> bool {
        [self.known_answers, self.cross_check].contains(&Some(false))
    }
}

impl Selftest {
    fn problem(&self) -> String {
        let failed = self.backends.iter().filter(|line| line.failed());
        let names: Vec<&str> = failed.map(|line| line.name).collect();
        format!(
            "selftest: {} failed; please report this with the output of 'tenrounds selftest --json --seed {}'",
            names.join(", "),
            self.seed
        )
    }

    fn text(&self) -> String {
        let ran = self.backends.iter().filter(|line| line.usable).count();
        let verdict = match self.passed {
            true => format!(
                "{}: each of {ran} backends passes its known-answer tests and agrees with the others.",
                paint(GOOD, "Passed"),
            ),
            false => paint(BAD, "Failed."),
        };
        let word = |result: Option<bool>| match result {
            Some(true) => paint(GOOD, "pass"),
            Some(false) => paint(BAD, "FAIL"),
            None => paint(DIM, "-"),
        };
        let mut table = Table::new(&["Backend", "known answers", "cross-check", ""]);
        let mut differences = String::new();
        for line in &self.backends {
            let why = match (line.missing.is_empty(), line.masked.is_empty()) {
                (false, _) => format!("not usable here: lacks {}", line.missing.join(", ")),
                (true, false) => format!("masked: {}", line.masked.join(", ")),
                (true, true) => String::new(),
            };
            let (known, cross) = (word(line.known_answers), word(line.cross_check));
            table.row(vec![paint(BOLD, line.name), known, cross, paint(WARN, why)]);
            for difference in &line.differences {
                differences += &item("  ", paint(BAD, difference));
            }
        }
        let coverage = format!(
            "seed {}: {} random messages on each backend, with keys of {} bits, in {}",
            self.seed,
            grouped(self.cases),
            KEY_BITS.map(|bits| bits.to_string()).join(", "),
            self.modes.join(", ")
        );
        let coverage = item("  ", paint(DIM, coverage));
        item("", verdict) + &table.to_string() + &differences + &coverage
    }
}
