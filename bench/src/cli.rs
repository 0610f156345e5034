// SPDX-License-Identifier: BSD-2-Clause
//! The command line, and what it starts.

use crate::answer::{Figure, Subject};
use crate::files::FileArgs;
use crate::grid::Wanted;
use crate::peer::Spec;
use crate::peers::fetched;
use crate::plan::{Environment, Plan};
use crate::published::{Effort, Host, Probed, Run, Schema};
use crate::results::{self, is_ours, short};
use crate::run::{self, Found};
use crate::{goals, grid, report};
use clap::Parser;
use indicatif::ProgressBar;
use libcrypto::LibCrypto;
use machine::host;
use measure::rounds::Disturbed;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use terminal::error::{Error, Result};

/// AES at every size against the processor's limit and against other libraries, side by side in one
/// run
#[derive(Parser)]
#[command(
    name = "tenrounds-bench",
    version,
    after_help = "The exit status is 1 if any output is wrong, and with --check if a library is older than a year; no \
                  figure changes it."
)]
pub struct Cli {
    /// Modes or ways: ctr, gcm, cbc-decrypt, cbc-encrypt-16, all (see --list); the usual ones if
    /// none is named
    pub modes: Vec<String>,
    /// Bytes of a call: 16,1K,1M
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = size)]
    pub bytes: Vec<usize>,
    /// Key sizes
    #[arg(long, value_name = "BITS,..", value_delimiter = ',', value_parser = key_bits)]
    pub key_bits: Vec<u16>,
    /// Other libraries, by the beginnings of their ids; "none" for ours alone
    #[arg(long, value_name = "ID,..", value_delimiter = ',')]
    pub peers: Vec<String>,
    /// Fewer sizes, mostly AES-128, in less than two minutes
    #[arg(long)]
    pub quick: bool,
    /// Ours in the place of the default provider: both side by side in each libcrypto, every cipher
    /// that both have
    #[arg(long, conflicts_with = "peers")]
    pub replace: bool,
    /// Compare all outputs, time nothing
    #[arg(long)]
    pub check: bool,
    /// Seconds to measure, about
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// Without the rows in which the processor's AES is masked
    #[arg(long)]
    pub no_software: bool,
    /// Of the order of windows and the places of buffers; drawn if not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the reports of an earlier run, its JSON, instead of measuring
    #[arg(long, value_name = "FILE", conflicts_with_all = ["modes", "check", "quick", "replace", "seconds", "list"])]
    pub from: Option<PathBuf>,
    #[command(flatten)]
    pub files: FileArgs,
    /// Show what can be measured
    #[arg(long)]
    pub list: bool,
}

fn size(text: &str) -> std::result::Result<usize, String> {
    let bytes = terminal::parse_size(text).filter(|bytes| (16..=1 << 24).contains(bytes));
    bytes.ok_or_else(|| "wanted 16 to 16M bytes, as in 16,1K,1M".into())
}

pub fn key_bits(text: &str) -> std::result::Result<u16, String> {
    match text.parse() {
        Ok(bits @ (128 | 192 | 256)) => Ok(bits),
        _ => Err("wanted 128, 192 or 256".into()),
    }
}

/// Modes that the goals have with the processor's AES masked.
const SOFTWARE_MODES: [&str; 5] = [
    "ecb-encrypt",
    "cbc-encrypt",
    "cbc-decrypt",
    "ctr",
    "gcm-encrypt",
];
const SOFTWARE_SIZES: [usize; 4] = [16, 256, 1024, 16384];

const QUICK_SECONDS: f64 = 75.0;
const FULL_SECONDS: f64 = 500.0;
/// A window of a millisecond with its warming up and noise probe, and what lies between windows.
const WINDOW_US: u64 = 1000;
const WINDOW_COSTS: f64 = 1.17e-3;
const QUICK_PROCESSES: usize = 5;
const FULL_PROCESSES: usize = 8;
const PROBE_WINDOWS: usize = 30;
/// Fewer rounds say nothing.
const FEWEST_ROUNDS: usize = 6;

impl Cli {
    fn seconds(&self) -> f64 {
        let usual = match self.quick {
            true => QUICK_SECONDS,
            false => FULL_SECONDS,
        };
        self.seconds.unwrap_or(usual)
    }

    fn processes(&self) -> usize {
        match self.check || self.seconds() < 20.0 {
            true => 1,
            false if self.quick => QUICK_PROCESSES,
            false => FULL_PROCESSES,
        }
    }

    /// What is measured with the processor's AES.
    fn wanted(&self) -> Result<Wanted> {
        let usual: &[usize] = match self.quick {
            true => &grid::QUICK_SIZES,
            false => &grid::SIZES,
        };
        let bits: &[u16] = match self.quick && !self.check {
            _ if self.replace => &catalogue::KEY_BITS,
            true => &[128],
            false => &[128, 256],
        };
        let all = ["all".to_owned()];
        let mut ways = grid::ways(match self.replace && self.modes.is_empty() {
            true => &all,
            false => &self.modes,
        })?;
        // One message at a time: what programs ask of a cipher of libcrypto.
        ways.retain(|way| way.streams == 1 || !self.replace);
        Ok(Wanted {
            ways,
            sizes: given(&self.bytes, usual),
            key_bits: given(&self.key_bits, bits),
            named: !self.bytes.is_empty(),
            quick: self.quick,
            alone: !self.replace,
            environment: Environment::Plain,
        })
    }

    /// The same with the processor's AES masked.
    fn software(&self, mut wanted: Wanted) -> Result<Wanted> {
        let named = |mode: &&str| {
            let mut words = self.modes.iter();
            self.modes.is_empty() || words.any(|w| mode.starts_with(&**w) || w == "all")
        };
        let modes = SOFTWARE_MODES.into_iter().filter(named);
        let modes: Vec<String> = modes.map(str::to_owned).collect();
        wanted.ways = match modes.is_empty() || self.no_software {
            true => Vec::new(),
            false => grid::ways(&modes)?,
        };
        let chosen = |size: &usize| SOFTWARE_SIZES.contains(size) || wanted.named;
        wanted.sizes.retain(chosen);
        let all_keys = !self.key_bits.is_empty();
        wanted.key_bits.retain(|bits| *bits == 128 || all_keys);
        Ok(Wanted {
            environment: Environment::Software,
            ..wanted
        })
    }

    fn plans(&self, seed: u64) -> Result<Vec<Plan>> {
        let plain = Plan {
            environment: Environment::Plain,
            cells: self.wanted()?.cells(),
            replace: self.replace,
            peers: self.peers.clone(),
            seed,
            window_us: WINDOW_US,
            rounds: 0,
            check_up_to: usize::MAX,
            wrong: Vec::new(),
            probe_windows: match self.check || self.replace {
                true => 0,
                false => PROBE_WINDOWS,
            },
        };
        let software = Plan {
            environment: Environment::Software,
            cells: self.software(self.wanted()?)?.cells(),
            probe_windows: 0,
            ..plain.clone()
        };
        let mut plans = vec![plain, software];
        plans.retain(|plan| !plan.cells.is_empty());
        Ok(plans)
    }
}

fn given<T: Copy>(named: &[T], usual: &[T]) -> Vec<T> {
    match named.is_empty() {
        true => usual.to_vec(),
        false => named.to_vec(),
    }
}

/// Where all tests must run (TENROUNDS_MUST_RUN), a library that is absent is a failure.
fn complete(found: &[Found]) -> Result<()> {
    let must = std::env::var_os("TENROUNDS_MUST_RUN").is_some_and(|v| !v.is_empty());
    let absent = found.first().into_iter().flat_map(|f| &f.absent);
    let absent: Vec<&str> = absent.map(|m| &*m.title).collect();
    if !must || absent.is_empty() {
        return Ok(());
    }
    Err(Error::failure(format!(
        "all libraries must be checked here (TENROUNDS_MUST_RUN), and these are absent: {}",
        absent.join(", ")
    )))
}

/// The other libraries that are older than a year on this day, or whose age nobody knows. They are
/// to be replaced by today's. The system's OpenSSL is what its users have, and PKCS#11 modules are
/// what the caller names.
fn old<'a>(subjects: &'a [Subject], day: &str) -> Vec<&'a str> {
    let (year, rest) = day.split_once('-').expect("a day has a year");
    let year: u16 = year.parse().expect("a number");
    let last = format!("{}-{rest}", year - 1);
    let system = goals::stock(subjects).map(|system| &system.id);
    let given = |id: &String| id.starts_with("pkcs11") || Some(id) == system;
    let others = subjects.iter().filter(|s| !is_ours(&s.id) && !given(&s.id));
    let is_old = |s: &&Subject| s.origin.released.as_ref().is_none_or(|day| *day < last);
    others.filter(is_old).map(|s| &*s.title).collect()
}

/// Whether all outputs are right.
pub fn run(cli: &Cli) -> Result<bool> {
    if cli.list {
        list(&cli.plans(0)?[0])?;
        return Ok(true);
    }
    if let Some(file) = &cli.from {
        let run = Run::read(file)?;
        cli.files.check(&run.host.cpu, &run.date)?;
        anstream::print!("{}", report::text(&run));
        cli.files.write(&run)?;
        return Ok(true);
    }
    let host = Host::of(&host::read(LibCrypto::open().ok().as_ref()));
    cli.files.check(&host.cpu, &terminal::today())?;
    let begin = Instant::now();
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(1..1 << 48));
    let mut plans = cli.plans(seed)?;
    let (subjects, _) = run::subjects(&plans[0])?;
    let others = subjects.iter().filter(|s| !is_ours(&s.id)).count();
    let bar = share_time(cli, &mut plans, others);
    let mut found = Vec::new();
    for plan in &plans {
        found.push(run::run(plan, cli.processes(), &bar)?);
    }
    bar.finish_and_clear();
    let sound = found.iter().all(|f| f.faults.is_empty());
    if cli.check {
        anstream::print!("{}", report::checked(&found));
        complete(&found)?;
        let old = old(&subjects, &terminal::today());
        if !old.is_empty() && fetched::launcher().is_some() && !cli.replace {
            println!("older than a year, or of unknown age: {}", old.join(", "));
            return Ok(false);
        }
        return Ok(sound);
    }
    let (mut clocks, mut noise) = (Disturbed::default(), Disturbed::default());
    for found in &found {
        clocks += found.clocks;
        noise += found.noise;
    }
    let effort = Effort {
        rounds: plans[0].rounds,
        processes: cli.processes(),
        window_us: WINDOW_US,
        seconds: short(begin.elapsed().as_secs_f64()),
        repeated: clocks.repeated,
        doubtful: clocks.doubtful,
        noise,
    };
    let run = measured(cli, seed, host, effort, found);
    anstream::print!("{}", report::text(&run));
    cli.files.write(&run)?;
    Ok(sound)
}

/// The results of all environments; the first one's libraries and limits.
fn measured(cli: &Cli, seed: u64, host: Host, effort: Effort, mut found: Vec<Found>) -> Run {
    let limit = |figure: &Figure| {
        let summary = figure.summary()?;
        Some(Probed {
            name: figure.name.clone(),
            what: figure.what.clone(),
            bytes_per_second: short(summary.median),
            spread: short(summary.spread()),
        })
    };
    let cells = results::all(&found);
    let wrong = found.iter_mut().flat_map(|f| std::mem::take(&mut f.faults));
    let wrong = wrong.collect();
    let first = found.swap_remove(0);
    let (met, missed) = goals::judge_all(&cells, &first.subjects, &host.cpu.vendor);
    let commit = std::env::var(COMMIT).ok();
    Run {
        schema: Schema::Third,
        version: tenrounds_sys::version().to_owned(),
        commit: commit.filter(|commit| !commit.is_empty()),
        date: terminal::today(),
        seed,
        quick: cli.quick,
        host,
        effort,
        subjects: first.subjects,
        absent: first.absent,
        wrong,
        limits: first.probe.iter().filter_map(limit).collect(),
        met,
        missed,
        cells,
    }
}

/// The commit that is measured; scripts/bench sets it.
const COMMIT: &str = "TENROUNDS_BENCH_COMMIT";

fn list(plan: &Plan) -> Result<()> {
    println!("modes (those without a star are measured only if named, or with 'all'):");
    for (name, title, usual) in grid::names() {
        println!("  {} {name:<20}{title}", if usual { '*' } else { ' ' });
    }
    println!("\nlibraries:");
    let (subjects, absent) = run::subjects(plan)?;
    for subject in subjects {
        let of_day = subject.origin.released.map(|day| format!(", of {day}"));
        let (id, of_day) = (subject.id, of_day.unwrap_or_default());
        println!("  {id:<20}{}, {}{of_day}", subject.title, subject.version);
    }
    for peer in absent {
        println!("  {:<20}absent: {}", peer.id, peer.why);
    }
    Ok(())
}

/// Divides the time among all windows, and makes the bar. The number of subjects in a cell is not
/// known beforehand, so it is estimated.
fn share_time(cli: &Cli, plans: &mut [Plan], others: usize) -> ProgressBar {
    let cells = plans.iter().map(|plan| plan.cells.len()).sum::<usize>();
    let of_plan = |plan: &Plan| -> usize {
        let cells = plan.cells.iter();
        cells.map(|cell| plan_width(plan, &cell.spec, others)).sum()
    };
    let windows = plans.iter().map(of_plan).sum::<usize>() as f64;
    let rounds = (cli.seconds() / (windows * WINDOW_COSTS)) as usize;
    let rounds = rounds.clamp(FEWEST_ROUNDS, 200);
    let expected = match cli.check {
        true => Duration::from_secs(cells as u64 / 20),
        false => Duration::from_secs_f64(windows * WINDOW_COSTS * rounds as f64),
    };
    for plan in plans.iter_mut() {
        plan.rounds = if cli.check { 0 } else { rounds };
    }
    progress::timed(cells * cli.processes(), expected)
}

/// The number of subjects that take turns in a cell, roughly: bounds, ours, and others.
fn plan_width(plan: &Plan, spec: &Spec, others: usize) -> usize {
    match plan.environment {
        _ if plan.replace => 2 * others,
        // Only OpenSSL's, about half of them.
        Environment::Software => 3 + others / 2,
        _ if spec.streams > 1 => 5 + others / 2,
        _ => 5 + others * 3 / 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Origin;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_library_may_be_a_year_old() {
        let subject = |id: &str, day: Option<&str>| Subject {
            id: id.into(),
            title: id.into(),
            version: "3.0.19 (libcrypto.so.3)".into(),
            origin: Origin {
                released: day.map(str::to_owned),
                licence: None,
            },
        };
        let subjects = [
            subject("core", None),
            subject("evp", None),
            subject("openssl-3.0.19", Some("2020-01-01")),
            subject("new", Some("2026-03-01")),
            subject("old", Some("2026-02-28")),
            subject("unknown", None),
        ];
        assert_eq!(old(&subjects, "2027-03-01"), ["old", "unknown"]);
        assert_eq!(old(&subjects, "2026-12-31"), ["unknown"]);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            (size("16"), size("1K"), size("1M")),
            (Ok(16), Ok(1024), Ok(1 << 20))
        );
        assert!(size("1").is_err() && size("1G").is_err() && size("99M").is_err());
    }
}
