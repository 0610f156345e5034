// SPDX-License-Identifier: BSD-2-Clause
//! `selftest`: the known answers of every backend, and each usable backend against every other on
//! random keys, data, lengths and chunkings.

use crate::algorithm::{Algorithm, Direction, Mode};
use crate::cli::SelftestArgs;
use crate::core::{names_of, passes_known_answers, Backend, Cpu, Key, Stream, BLOCK};
use crate::error::{suggestion, Error, Result};
use crate::libcrypto::LibCrypto;
use crate::schema::Document;
use crate::style::{grouped, item, paint, BAD, BOLD, DIM, GOOD, WARN};
use crate::table::Table;
use crate::{host, masks, output};
use fastrand::Rng;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::time::{Duration, Instant};

/// Every length up to here, as the loops and tails of all backends end below it, and random ones beyond.
const DENSE: usize = 600;
const LONG: usize = 40_000;
const LONG_CASES: usize = 12;

#[derive(Debug, Serialize)]
struct Selftest {
    seed: u64,
    /// Messages that every usable backend processed.
    cases: u64,
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

#[derive(Serialize)]
struct Body {
    selftest: Selftest,
}

pub fn run(args: &SelftestArgs) -> Result<()> {
    let asked = asked_for(args.backend.as_deref())?;
    let seed = args.seed.unwrap_or_else(|| u64::from(fastrand::u32(..)));
    let result = test(&asked, seed)?;
    let passed = result.passed;
    let problem = result.problem();
    match args.json {
        true => {
            let libcrypto = LibCrypto::open().ok();
            let host = host::read(libcrypto.as_ref());
            let body = Body { selftest: result };
            output::out(Document::new("selftest", host, Vec::new(), body).to_json())?;
        }
        false => output::out(result.text())?,
    }
    match passed {
        true => Ok(()),
        false => Err(Error::failure(problem)),
    }
}

fn asked_for(name: Option<&str>) -> Result<Vec<Backend>> {
    let Some(name) = name else {
        return Ok(Backend::all());
    };
    let names: Vec<&str> = Backend::all().into_iter().map(Backend::name).collect();
    Backend::by_name(name)
        .map(|backend| vec![backend])
        .ok_or_else(|| {
            let near = suggestion(name, names.iter().copied());
            let all = names.join(", ");
            Error::usage(format!(
                "--backend: there is no backend '{name}'{near}; there are {all}"
            ))
        })
}

fn test(asked: &[Backend], seed: u64) -> Result<Selftest> {
    let cpu = Cpu::detect();
    let masked = masks::masked()?;
    let usable = |b: &Backend| b.features() & !(cpu.usable & !masked) == 0;
    let running: Vec<Backend> = Backend::all().into_iter().filter(usable).collect();
    let (cases, differences) = cross_check(&running, seed)?;
    let lines: Vec<Line> = asked
        .iter()
        .map(|b| {
            let lacks = b.features() & !cpu.usable;
            let ran = usable(b);
            let own: Vec<String> = differences
                .iter()
                .filter(|d| d.pair.contains(b))
                .map(Difference::to_string)
                .collect();
            Line {
                name: b.name(),
                usable: ran,
                missing: names_of(lacks),
                masked: names_of(b.features() & masked & !lacks),
                known_answers: ran.then(|| passes_known_answers(*b)),
                cross_check: (ran && running.len() > 1).then_some(own.is_empty()),
                differences: own,
            }
        })
        .collect();
    let failed = |line: &Line| line.known_answers == Some(false) || line.cross_check == Some(false);
    let none_ran = !lines.iter().any(|line| line.usable);
    let passed = !none_ran && !lines.iter().any(failed);
    Ok(Selftest {
        seed,
        cases,
        passed,
        backends: lines,
    })
}

/// A message on which two backends disagree.
struct Difference {
    pair: [Backend; 2],
    what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} and {} differ in {}",
            self.pair[0].name(),
            self.pair[1].name(),
            self.what
        )
    }
}

/// One random message.
struct Case {
    algorithm: Algorithm,
    direction: Direction,
    key: Vec<u8>,
    iv: [u8; BLOCK],
    data: Vec<u8>,
    /// Where the message is cut into calls.
    cuts: Vec<usize>,
}

impl Case {
    fn random(rng: &mut Rng, algorithm: Algorithm, direction: Direction, len: usize) -> Case {
        let whole_blocks = matches!(algorithm.mode, Mode::Ecb | Mode::Cbc);
        let unit = if whole_blocks { BLOCK } else { 1 };
        let len = len / unit * unit;
        let mut key = vec![0; algorithm.key_bytes()];
        let mut iv = [0; BLOCK];
        let mut data = vec![0; len];
        rng.fill(&mut key);
        rng.fill(&mut iv);
        rng.fill(&mut data);
        if rng.bool() {
            // A counter about to wrap: the carry runs through all of it.
            iv[rng.usize(..BLOCK)..].fill(0xff);
        }
        let mut cuts: Vec<usize> = (0..rng.usize(..4))
            .map(|_| rng.usize(..=len) / unit * unit)
            .collect();
        cuts.push(len);
        cuts.sort_unstable();
        Case {
            algorithm,
            direction,
            key,
            iv,
            data,
            cuts,
        }
    }

    /// What a backend makes of it; and the IV it leaves behind.
    fn output(&self, backend: Backend) -> Result<(Vec<u8>, [u8; BLOCK])> {
        let key = Key::new(backend, &self.key)?;
        let mut stream = Stream::new(self.iv);
        let mut data = self.data.clone();
        let mut from = 0;
        for &to in &self.cuts {
            stream.process(
                &key,
                self.algorithm.mode,
                self.direction,
                &mut data[from..to],
            )?;
            from = to;
        }
        Ok((data, stream.iv))
    }

    fn describe(&self) -> String {
        format!(
            "{} {} of {} bytes, calls ending at {:?}",
            self.algorithm,
            self.direction.name(),
            self.data.len(),
            self.cuts
        )
    }
}

fn cross_check(running: &[Backend], seed: u64) -> Result<(u64, Vec<Difference>)> {
    let mut rng = Rng::with_seed(seed);
    let mut differences = Vec::new();
    let mut cases = 0;
    let kinds = Algorithm::all()
        .into_iter()
        .flat_map(|a| Direction::BOTH.map(|d| (a, d)));
    let kinds: Vec<(Algorithm, Direction)> = kinds.collect();
    let progress = Progress::new(kinds.len() as u64);
    for (algorithm, direction) in kinds {
        let long = (0..LONG_CASES)
            .map(|_| rng.usize(DENSE..LONG))
            .collect::<Vec<_>>();
        for len in (0..=DENSE).chain(long) {
            let case = Case::random(&mut rng, algorithm, direction, len);
            compare(running, &case, &mut differences)?;
            cases += 1;
        }
        progress.step();
    }
    progress.bar.finish_and_clear();
    Ok((cases, differences))
}

/// Keeps the first few differences of each pair.
fn compare(running: &[Backend], case: &Case, differences: &mut Vec<Difference>) -> Result<()> {
    const KEPT: usize = 3;
    let outputs = running
        .iter()
        .map(|b| case.output(*b))
        .collect::<Result<Vec<_>>>()?;
    for (i, a) in running.iter().enumerate() {
        for (j, b) in running.iter().enumerate().skip(i + 1) {
            let pair = [*a, *b];
            let known = differences.iter().filter(|d| d.pair == pair).count();
            if outputs[i] != outputs[j] && known < KEPT {
                differences.push(Difference {
                    pair,
                    what: case.describe(),
                });
            }
        }
    }
    Ok(())
}

/// A bar on standard error, if that is a terminal, once it takes longer than a moment.
struct Progress {
    bar: ProgressBar,
    since: Instant,
}

impl Progress {
    fn new(len: u64) -> Progress {
        let style = ProgressStyle::with_template("  cross-check [{bar:40}] {pos}/{len}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::hidden().with_style(style.progress_chars("=> "));
        bar.set_length(len);
        let since = Instant::now();
        Progress { bar, since }
    }

    fn step(&self) {
        if self.bar.is_hidden() && self.since.elapsed() > Duration::from_millis(500) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }
}

impl Selftest {
    fn problem(&self) -> String {
        let failed =
            |line: &&Line| line.known_answers == Some(false) || line.cross_check == Some(false);
        let names: Vec<&str> = self
            .backends
            .iter()
            .filter(failed)
            .map(|line| line.name)
            .collect();
        match names.is_empty() {
            true => "selftest: the backend cannot run here, so nothing was checked".to_owned(),
            false => format!(
                "selftest: {} failed; please report this with the output of 'tenrounds selftest --json --seed {}'",
                names.join(", "),
                self.seed
            ),
        }
    }

    /// The first line.
    fn verdict(&self) -> String {
        let ran = self.backends.iter().filter(|line| line.usable).count();
        let (cases, seed) = (grouped(self.cases), self.seed);
        match self.passed {
            true => format!(
                "{}: {ran} of {} backends can run here; each passed its known-answer tests and agrees with all others on {cases} random messages (seed {seed}).",
                paint(GOOD, "Passed"),
                self.backends.len(),
            ),
            false => format!("{} (seed {seed}).", paint(BAD, "Failed")),
        }
    }

    fn text(&self) -> String {
        let verdict = |result: Option<bool>| match result {
            Some(true) => paint(GOOD, "pass"),
            Some(false) => paint(BAD, "FAIL"),
            None => paint(DIM, "-"),
        };
        let mut table = Table::new(&["Backend", "known answers", "cross-check", ""]);
        for line in &self.backends {
            let why = match (line.missing.is_empty(), line.masked.is_empty()) {
                (false, _) => format!("not usable here: lacks {}", line.missing.join(", ")),
                (true, false) => format!("masked: {}", line.masked.join(", ")),
                (true, true) => String::new(),
            };
            table.row(vec![
                paint(BOLD, line.name),
                verdict(line.known_answers),
                verdict(line.cross_check),
                paint(WARN, why),
            ]);
        }
        let mut out = item("", self.verdict()) + &table.to_string();
        for line in &self.backends {
            for difference in &line.differences {
                out += &item("  ", paint(BAD, difference));
            }
        }
        out
    }
}
