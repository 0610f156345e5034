// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds`: AES at the processor's speed in the OpenSSL that is installed.

mod algorithm;
mod bench;
mod cli;
mod core;
mod error;
mod host;
mod libcrypto;
mod masks;
mod schema;

use clap::Parser;
use cli::{Cli, Command};
use error::{Error, Result};
use std::process::ExitCode;

fn run(cli: Cli) -> Result<()> {
    if cli.no_color {
        anstream::ColorChoice::Never.write_global();
    }
    match cli.command {
        Command::Speed(args) => bench::speed(&args),
        Command::Compare(args) => bench::compare(&args),
        Command::Worker { args } => bench::worker(&args),
        _ => Err(Error::failure("not yet")),
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("tenrounds: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
