// SPDX-License-Identifier: BSD-2-Clause
//! The command line, and what it starts.

use crate::goals::{self, Judged, Reasons};
use crate::grid;
use crate::json::Document;
use crate::plan::{Environment, Plan};
use crate::results::Results;
use crate::run::{self, Found};
use crate::{chart, markdown, peers, table, threads, worker};
use clap::Parser;
use indicatif::{ProgressBar, ProgressDrawTarget};
use libcrypto::LibCrypto;
use machine::{host, schema};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terminal::error::{Error, Result};

/// AES at every size against the processor's limit and against other libraries, side by side in one run
#[derive(Parser)]
#[command(
    name = "tenrounds-bench",
    version,
    after_help = "The exit status is 1 if any output is wrong; no figure changes it."
)]
pub struct Cli {
    /// Modes or ways: ctr, gcm, cbc-decrypt, cbc-encrypt-16, all (see --list); the usual ones if none is named
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
    /// Compare all outputs, time nothing
    #[arg(long)]
    pub check: bool,
    /// Seconds to measure, about
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Threads of the rows of several; 1 for none
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Without the rows in which the processor's AES is masked
    #[arg(long)]
    pub no_software: bool,
    /// Of the order of windows and the places of buffers; drawn if not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a table as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write charts
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Write all three, named after processor and date, and the misses into DIR/README.md
    #[arg(long, value_name = "DIR")]
    pub publish: Option<PathBuf>,
    /// Show what can be measured
    #[arg(long)]
    pub list: bool,
    /// No colours (as with NO_COLOR)
    #[arg(long)]
    pub no_color: bool,
}

fn size(text: &str) -> std::result::Result<usize, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'k']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    match digits
        .parse::<usize>()
        .ok()
        .and_then(|n| n.checked_mul(unit))
    {
        Some(bytes) if (16..=1 << 24).contains(&bytes) => Ok(bytes),
        _ => Err("wanted 16 to 16M bytes, as in 16,1K,1M".into()),
    }
}

fn key_bits(text: &str) -> std::result::Result<u16, String> {
    match text.parse() {
        Ok(bits @ (128 | 192 | 256)) => Ok(bits),
        _ => Err("wanted 128, 192 or 256".into()),
    }
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.1..=86400.0).contains(&seconds) => Ok(seconds),
        _ => Err("wanted 0.1 to 86400".into()),
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
const FULL_SECONDS: f64 = 380.0;
/// A window of a millisecond with its warming up, and what lies between windows.
const WINDOW_US: u64 = 1000;
const WINDOW_COSTS: f64 = 1.15e-3;
const QUICK_PROCESSES: usize = 5;
const FULL_PROCESSES: usize = 8;
const PROBE_WINDOWS: usize = 30;
/// Fewer rounds say nothing.
const FEWEST_ROUNDS: usize = 6;

impl Cli {
    fn seconds(&self) -> f64 {
        let usual = if self.quick {
            QUICK_SECONDS
        } else {
            FULL_SECONDS
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

    fn plan(&self, environment: Environment, seed: u64) -> Plan {
        let named = !self.bytes.is_empty();
        let usual: &[usize] = match self.quick {
            true => &grid::QUICK_SIZES,
            false => &grid::SIZES,
        };
        let bits: &[u16] = match self.quick && !self.check {
            true => &[128],
            false => &[128, 256],
        };
        let none = |given: &[u16]| given.is_empty();
        let mut plan = Plan {
            environment,
            modes: self.modes.clone(),
            sizes: if named {
                self.bytes.clone()
            } else {
                usual.to_vec()
            },
            key_bits: if none(&self.key_bits) {
                bits.to_vec()
            } else {
                self.key_bits.clone()
            },
            sizes_named: named,
            quick: self.quick,
            threads: usize::from(self.threads).min(threads::available()),
            peers: self.peers.clone(),
            seed,
            window_us: WINDOW_US,
            rounds: 0,
            check_up_to: usize::MAX,
            wrong: Vec::new(),
            probe_windows: if self.check { 0 } else { PROBE_WINDOWS },
        };
        if environment == Environment::Software {
            let wanted = |m: &&&str| {
                self.modes.is_empty()
                    || self.modes.iter().any(|w| m.starts_with(&**w) || w == "all")
            };
            plan.modes = SOFTWARE_MODES
                .iter()
                .filter(wanted)
                .map(|m| m.to_string())
                .collect();
            plan.sizes.retain(|s| SOFTWARE_SIZES.contains(s) || named);
            plan.key_bits.retain(|b| *b == 128 || !none(&self.key_bits));
            plan.threads = 1;
            plan.probe_windows = 0;
        }
        plan
    }

    fn plans(&self, seed: u64) -> Result<Vec<Plan>> {
        let mut plans = vec![self.plan(Environment::Plain, seed)];
        let software = self.plan(Environment::Software, seed);
        if !self.no_software && !software.modes.is_empty() {
            plans.push(software);
        }
        Ok(plans)
    }
}

/// Where all tests must run (TENROUNDS_MUST_RUN), a library that is absent is a failure.
fn complete(found: &[Found]) -> Result<bool> {
    let must = std::env::var_os("TENROUNDS_MUST_RUN").is_some_and(|v| !v.is_empty());
    let absent = found
        .first()
        .into_iter()
        .flat_map(|f| &f.absent)
        .map(|m| m.title.as_str());
    match absent.collect::<Vec<_>>() {
        absent if must && !absent.is_empty() => Err(Error::failure(format!(
            "all libraries must be checked here (TENROUNDS_MUST_RUN), and these are absent: {}",
            absent.join(", ")
        ))),
        _ => Ok(true),
    }
}

/// Whether all outputs are right.
pub fn run(cli: &Cli) -> Result<bool> {
    if cli.list {
        list();
        return Ok(true);
    }
    let name = cli.publish.as_ref().map(|dir| (dir.clone(), name()));
    let json = cli
        .json
        .clone()
        .or(name.as_ref().map(|(d, n)| d.join(format!("{n}.json"))));
    let markdown = cli
        .markdown
        .clone()
        .or(name.as_ref().map(|(d, n)| d.join(format!("{n}.md"))));
    for dir in cli.publish.iter().chain(&cli.svg) {
        std::fs::create_dir_all(dir).map_err(|e| cannot_write(dir, &e))?;
    }
    for file in json.iter().chain(&markdown) {
        terminal::writable(file)?;
    }
    let begin = Instant::now();
    let seed = cli.seed.unwrap_or_else(|| fastrand::u64(1..1 << 48));
    let mut plans = cli.plans(seed)?;
    let bar = share_time(cli, &mut plans)?;
    let mut found = Vec::new();
    for plan in &plans {
        found.push(run::run(plan, cli.processes(), &bar)?);
    }
    bar.finish_and_clear();
    let sound = found.iter().all(|f| f.faults.is_empty());
    if cli.check {
        anstream::print!("{}", table::checked(&found));
        return Ok(sound && complete(&found)?);
    }
    let results = Results::of(&found);
    let goals = goals::judge(&results, &Reasons::known());
    let run = Run {
        seed,
        quick: cli.quick,
        host: host::read(LibCrypto::open().ok().as_ref()),
        date: terminal::today(),
        seconds: begin.elapsed().as_secs_f64(),
        processes: cli.processes(),
        rounds: plans[0].rounds,
        found: &found,
        results: &results,
        goals: &goals,
    };
    anstream::print!("{}", table::text(&run));
    let write =
        |path: &Path, text: String| std::fs::write(path, text).map_err(|e| cannot_write(path, &e));
    let charts: Vec<(String, String)> = match (&cli.svg, &name) {
        (None, None) => Vec::new(),
        (_, name) => chart::all(&run, name.as_ref().map_or("", |(_, n)| n))?,
    };
    for dir in cli.svg.iter().chain(cli.publish.as_ref()) {
        for (file, picture) in &charts {
            write(&dir.join(file), picture.clone())?;
        }
    }
    if let Some(path) = json {
        write(&path, Document::of(&run).to_json())?;
    }
    if let Some(path) = markdown {
        let pictures: Vec<&str> = charts.iter().map(|(file, _)| &**file).collect();
        write(&path, markdown::text(&run, &pictures))?;
    }
    if let Some((dir, name)) = &name {
        let readme = dir.join("README.md");
        if let Ok(text) = std::fs::read_to_string(&readme) {
            write(&readme, markdown::readme(&text, &run, name)?)?;
        }
    }
    Ok(sound)
}

/// What reports tell of.
pub struct Run<'a> {
    pub seed: u64,
    pub quick: bool,
    pub host: schema::Host,
    pub date: String,
    pub seconds: f64,
    pub processes: usize,
    pub rounds: usize,
    pub found: &'a [Found],
    pub results: &'a Results,
    pub goals: &'a [Judged],
}

pub fn cannot_write(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::failure(format!("cannot write {}: {why}", path.display()))
}

/// "amd-epyc-family-25-model-17-2026-11-21".
fn name() -> String {
    let cpu = host::read(None).cpu;
    let mut name = String::new();
    for word in cpu
        .brand
        .to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
    {
        if !word.is_empty() {
            name += word;
            name.push('-');
        }
    }
    format!(
        "{name}family-{}-model-{}-{}",
        cpu.family,
        cpu.model,
        terminal::today()
    )
}

fn list() {
    println!("modes (those without a star are measured only if named, or with 'all'):");
    for (name, title, usual) in grid::names() {
        println!("  {} {name:<20}{title}", if usual { '*' } else { ' ' });
    }
    println!("\nlibraries:");
    let (found, absent) = peers::all();
    for peer in worker::evp().ok().iter().chain(&found) {
        println!("  {:<20}{}, {}", peer.id(), peer.title(), peer.version());
    }
    for peer in absent {
        println!("  {:<20}absent: {}", peer.id, peer.why);
    }
}

/// Divides the time among all windows, and makes the bar. How many take part is not known before, so it is guessed.
fn share_time(cli: &Cli, plans: &mut [Plan]) -> Result<ProgressBar> {
    let cells: Vec<usize> = plans
        .iter()
        .map(|p| Ok(p.cells()?.len()))
        .collect::<Result<_>>()?;
    let mut windows = 0.0;
    for plan in plans.iter() {
        for cell in plan.cells()? {
            let takes_part = plan_width(plan, cell.spec.streams);
            windows += takes_part as f64;
        }
    }
    let rounds = (cli.seconds() / (windows * WINDOW_COSTS)) as usize;
    let rounds = rounds.clamp(FEWEST_ROUNDS, 200);
    let expected = match cli.check {
        true => Duration::from_secs(cells.iter().sum::<usize>() as u64 / 20),
        false => Duration::from_secs_f64(windows * WINDOW_COSTS * rounds as f64),
    };
    for plan in plans.iter_mut() {
        plan.rounds = if cli.check { 0 } else { rounds };
    }
    let bar = terminal::progress(cells.iter().sum::<usize>() * cli.processes(), expected);
    if expected < Duration::from_secs(1) {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    Ok(bar)
}

/// How many take turns in a cell, roughly: bounds, ours, and others.
fn plan_width(plan: &Plan, streams: usize) -> usize {
    let (found, _) = found_peers();
    let others = found.iter().filter(|id| plan.wants(id)).count();
    match (plan.environment, streams) {
        (Environment::Software, _) => 3 + others,
        (_, 1) => 5 + others * 3 / 4,
        _ => 5,
    }
}

fn found_peers() -> &'static (Vec<String>, usize) {
    static FOUND: std::sync::OnceLock<(Vec<String>, usize)> = std::sync::OnceLock::new();
    FOUND.get_or_init(|| {
        let (found, absent) = peers::all();
        (found.iter().map(|p| p.id()).collect(), absent.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(
            (size("16"), size("1K"), size("1M")),
            (Ok(16), Ok(1024), Ok(1 << 20))
        );
        assert!(size("1").is_err() && size("1G").is_err() && size("99M").is_err());
    }

    #[test]
    fn names_have_no_special_characters() {
        let name = name();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(plain), "{name}");
    }
}
