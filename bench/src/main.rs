// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds-bench`: every mode at every size, against the processor's limit and against other
//! libraries, side by side in one run. docs/measuring.md says how.

mod answer;
mod call;
mod calls;
mod check;
mod cli;
mod files;
mod goals;
mod grid;
mod limits;
mod ours;
mod paired;
mod pattern;
mod peer;
mod peers;
mod plan;
mod published;
mod reasons;
mod report;
mod results;
mod run;
mod sheet;
mod worker;

use clap::Parser;
use cli::Cli;
use measure::process::serve;
use std::process::ExitCode;
use terminal::error::Result;

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    match &*command {
        run::WORKER => ended(serve(worker::measure).map(|()| 0)),
        paired::WORKER => ended(serve(paired::worker::measure).map(|()| 0)),
        calls::WORKER => ended(serve(calls::measure).map(|()| 0)),
        calls::COMMAND => parsed(1, |args| calls::run(&args)),
        paired::COMMAND => parsed(1, |args| paired::run(&args)),
        _ => parsed(0, |cli: Cli| {
            // 1 for wrong outputs.
            cli::run(&cli).map(|sound| u8::from(!sound))
        }),
    }
}

/// Runs a command with its arguments, after so many words.
fn parsed<A: Parser>(words: usize, run: impl FnOnce(A) -> Result<u8>) -> ExitCode {
    ended(run(A::parse_from(std::env::args_os().skip(words))))
}

/// The exit status; 1 for what could not be done.
fn ended(result: Result<u8>) -> ExitCode {
    match result {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("tenrounds-bench: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
