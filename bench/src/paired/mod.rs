// SPDX-License-Identifier: BSD-2-Clause
//! Two builds of the core, window by window in turn: `tenrounds-bench paired`, which
//! scripts/bench-commits starts. docs/measuring.md describes the method.

mod build;
mod report;
pub mod worker;

use crate::files::write;
use crate::pattern::like;
use clap::Parser;
use machine::host;
use measure::process::ask;
pub use report::Ratio;
use report::{Found, Row};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;
use terminal::error::{Error, Result};
use worker::{Cell, Plan, Times};

/// The first arguments of this command, and of its measuring processes.
pub const COMMAND: &str = "paired";
pub const WORKER: &str = "paired-worker";

/// Compares two builds of the core (scripts/bench-commits)
#[derive(Parser)]
#[command(
    name = "scripts/bench-commits",
    override_usage = "scripts/bench-commits OLD NEW [OPTION].."
)]
pub struct Args {
    /// What the builds are called
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], hide = true)]
    names: Vec<String>,
    /// Shared objects of the old build
    #[arg(long, required = true, hide = true)]
    old: Vec<String>,
    /// Shared objects of the new build
    #[arg(long, required = true, hide = true)]
    new: Vec<String>,
    /// Cells whose 'OPERATION BACKEND KEYBITS BYTES' matches, as in 'gcm-*' or vperm; may be
    /// repeated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    #[arg(
        long,
        value_name = "NAME,..",
        value_delimiter = ',',
        default_value = "vaes512,vaes256,aesni,vperm"
    )]
    backends: Vec<String>,
    /// Sizes of messages
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        default_value = "16,64,256,1350,4096,16384"
    )]
    bytes: Vec<usize>,
    /// Bits of keys; 192 and 256 for a few operations
    #[arg(
        long, value_name = "BITS,..", value_delimiter = ',',
        value_parser = crate::cli::key_bits, default_value = "128,256"
    )]
    keys: Vec<u16>,
    /// 10 rounds of windows of 0.5 ms
    #[arg(long)]
    quick: bool,
    /// Of each cell, shared by the processes [default: 40]
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    #[arg(
        long, value_name = "N", default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    processes: u16,
    /// Of orders and places; drawn if not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Print every cell, not only those below 1
    #[arg(long)]
    all: bool,
    /// Write all results to a file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Status 3 if a cell is slower than 0.98 beyond the spread
    #[arg(long)]
    fail_slower: bool,
}

/// The key sizes share all code but the number of rounds, so that a few operations stand for all.
const LONG_KEYS: [&str; 7] = [
    "ctr",
    "cbc-encrypt",
    "cbc-decrypt",
    "xts-encrypt",
    "gcm-seal",
    "gcm-key-and-seal",
    "aes-key",
];
/// A cell below this ratio is measured a second time: of many cells some are low by chance.
const AGAIN: f64 = 0.99;
/// The status with --fail-slower.
const SLOWER: u8 = 3;

impl Args {
    fn rounds(&self) -> usize {
        self.rounds
            .unwrap_or(if self.quick { 10 } else { 40 })
            .max(1)
    }

    fn window_ms(&self) -> f64 {
        if self.quick {
            0.5
        } else {
            1.0
        }
    }

    fn wants(&self, cell: &Cell) -> bool {
        let name = cell.to_string();
        let matches = |pattern: &String| match pattern.contains('*') {
            true => like(pattern, &name),
            false => like(&format!("*{pattern}*"), &name),
        };
        self.only.is_empty() || self.only.iter().any(matches)
    }

    fn cells(&self, operations: &[String], backends: &[&String]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for operation in operations {
            let long = LONG_KEYS.contains(&operation.as_str());
            // A key has no bytes of a message.
            let sizes = if operation == "aes-key" {
                1
            } else {
                self.bytes.len()
            };
            for &bits in self.keys.iter().filter(|bits| **bits == 128 || long) {
                for backend in backends {
                    for &bytes in &self.bytes[..sizes] {
                        cells.push(Cell {
                            operation: operation.clone(),
                            backend: backend.to_string(),
                            bits,
                            bytes,
                        });
                    }
                }
            }
        }
        cells.retain(|cell| self.wants(cell));
        cells
    }

    /// Every process measures every cell, in an order of its own, with objects of its own.
    fn measure(&self, cells: &[Cell], rounds: usize) -> Result<Vec<Found>> {
        let processes = usize::from(self.processes);
        let windows = (cells.len() * rounds * 2) as f64;
        let expected = Duration::from_secs_f64(windows * (self.window_ms() + 0.3) / 1e3);
        let bar = progress::timed(cells.len() * processes, expected);
        let mut objects = [self.old.clone(), self.new.clone()];
        objects.iter_mut().for_each(|o| fastrand::shuffle(o));
        let mut found = vec![Found::default(); cells.len()];
        for number in 0..processes {
            let mut order: Vec<usize> = (0..cells.len()).collect();
            fastrand::shuffle(&mut order);
            let plan = Plan {
                objects: objects.each_ref().map(|o| o[number % o.len()].clone()),
                cells: order.iter().map(|place| cells[*place].clone()).collect(),
                rounds: rounds.div_ceil(processes),
                window_us: (self.window_ms() * 1e3) as u64,
                seed: fastrand::u64(..),
            };
            ask(None, WORKER, &plan, &[], &mut |times: Times| {
                found[order[times.cell]].add(times);
                bar.inc(1);
            })?;
        }
        bar.finish_and_clear();
        Ok(found)
    }
}

/// The exit status.
pub fn run(args: &Args) -> Result<u8> {
    if let Some(file) = &args.json {
        terminal::writable(file)?;
    }
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(1..1 << 31));
    fastrand::seed(seed);
    let [old, new] = [0, 1].map(|which| args.names.get(which).map_or("?", |name| name));
    let processor = host::read(None).cpu.brand;
    println!("old: {old}\nnew: {new}\n{processor}; seed {seed}");
    let builds = worker::open(&[args.old[0].clone(), args.new[0].clone()])?;
    let (backends, missing): (Vec<&String>, Vec<&String>) = args
        .backends
        .iter()
        .partition(|name| worker::usable(&builds, name));
    for name in missing {
        println!("not measured: {name}, which one of the builds or this processor lacks");
    }
    let operations = worker::operations(&builds);
    let cells = args.cells(&operations, &backends);
    if cells.is_empty() {
        let operations = operations.join(", ");
        return Err(Error::failure(format!(
            "no cell matches; operations: {operations}"
        )));
    }
    let (rounds, ms, processes) = (args.rounds(), args.window_ms(), args.processes);
    println!(
        "{} cells, {rounds} rounds of two windows of {ms} ms, {processes} processes",
        cells.len()
    );
    let first = args.measure(&cells, rounds)?;
    let mut results: Vec<Row> = cells
        .iter()
        .zip(&first)
        .map(|(c, f)| f.summary(c))
        .collect();
    let low = |result: &&mut Row| result.figures.ratio < AGAIN;
    let again: Vec<Cell> = results
        .iter_mut()
        .filter(low)
        .map(|r| r.cell.clone())
        .collect();
    if !again.is_empty() {
        let second = args.measure(&again, 2 * rounds)?;
        for (result, found) in results.iter_mut().filter(low).zip(second) {
            let first = Some(result.figures.ratio);
            *result = found.summary(&result.cell);
            result.first = first;
        }
    }
    print!("{}", report::text(&results, args.all));
    if let Some(file) = &args.json {
        let all =
            json!({"old": old, "new": new, "processor": processor, "seed": seed, "cells": results});
        let text = serde_json::to_string_pretty(&all).expect("plain data serialises");
        write(file, &(text + "\n"))?;
    }
    let slower = results.iter().any(|r| r.mark() == '!');
    Ok(if args.fail_slower && slower {
        SLOWER
    } else {
        0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn args(more: &[&str]) -> Args {
        let words = ["paired", "--old", "o.so", "--new", "n.so"];
        Args::try_parse_from(words.iter().chain(more)).unwrap()
    }

    fn names(more: &[&str]) -> Vec<String> {
        let operations = ["ctr", "ofb", "aes-key"].map(str::to_owned);
        let backend = "vperm".to_owned();
        let cells = args(more).cells(&operations, &[&backend]);
        cells.iter().map(Cell::to_string).collect()
    }

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn cells_are_chosen_by_pattern_and_key() {
        let few = ["--bytes", "16,1350"];
        assert_eq!(names(&few).len(), 2 * 2 + 2 + 2);
        let wanted = |pattern| names(&[&few[..], &["--only", pattern]].concat());
        assert_eq!(wanted("o*"), ["ofb vperm 128 16", "ofb vperm 128 1350"]);
        assert_eq!(
            wanted("256 1"),
            [
                "ctr vperm 256 16",
                "ctr vperm 256 1350",
                "aes-key vperm 256 16"
            ]
        );
        assert_eq!(wanted("aes-key*128 ??"), ["aes-key vperm 128 16"]);
        assert!(wanted("xts").is_empty());
    }
}
