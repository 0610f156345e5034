// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds-bench`: every mode at every size, against the processor's limit and against other libraries, side by
//! side in one run. docs/measuring.md says how.

mod chart;
mod check;
mod cli;
mod files;
mod goals;
mod grid;
mod json;
mod limits;
mod markdown;
mod ours;
mod overview;
mod peer;
mod peers;
mod plan;
mod reasons;
mod replace;
mod results;
mod run;
mod table;
mod threads;
mod worker;

use clap::Parser;
use cli::Cli;
use std::process::ExitCode;
use terminal::error::Result;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|a| a == run::WORKER) {
        return ended(worker::serve().map(|()| true));
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            let line = line.trim_start_matches("error: ");
            eprintln!("tenrounds-bench: {line} (see 'tenrounds-bench --help')");
            return ExitCode::from(2);
        }
    };
    if cli.no_color {
        anstream::ColorChoice::Never.write_global();
    }
    ended(cli::run(&cli))
}

/// 1 for what could not be done and for wrong outputs.
fn ended(result: Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("tenrounds-bench: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
