// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds`: AES at the processor's speed in the OpenSSL that is installed.

mod bench;
mod cli;
mod conf;
mod detect;
mod doctor;
mod enable;
mod generate;
mod included;
mod kernel;
mod openssl_cnf;
mod root;
mod run;
mod selftest;

use ::libcrypto;
use ::libcrypto::{elf, module as provider};
use catalogue as algorithm;
use machine::{host, masks, schema, selection};
use tenrounds_sys as core;
use terminal::{error, output, style, table};

use clap::Parser;
use cli::{Cli, Command};
use error::Result;
use std::process::ExitCode;

fn dispatch(cli: Cli) -> Result<ExitCode> {
    if cli.no_color {
        anstream::ColorChoice::Never.write_global();
    }
    let result = match cli.command {
        Command::Doctor(args) => return doctor::run(&args).map(ExitCode::from),
        Command::Diff(args) => return bench::diff(&args).map(ExitCode::from),
        Command::Detect(args) => detect::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Enable(args) => enable::enable(&args),
        Command::Disable(args) => enable::disable(&args),
        Command::Status(args) => enable::status(&args),
        Command::Speed(args) => bench::speed(&args),
        Command::Compare(args) => bench::compare(&args),
        Command::ComparePaths(args) => bench::compare_paths(&args),
        Command::Picture(args) => bench::picture(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Worker { args } => bench::worker(&args),
        Command::Completions { shell } => generate::completions(shell),
        Command::Generate { dir } => generate::tree(&dir),
        Command::Probe => {
            let seen = serde_json::to_string(&run::probe::look()?).expect("plain data");
            output::plain((seen + "\n").as_bytes())
        }
    };
    result.map(|()| ExitCode::SUCCESS)
}

/// The command line, or the exit status where that is all there is to do.
fn command_line() -> std::result::Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        if !error.use_stderr() {
            return match output::out(error.render().ansi()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => failed(&error),
            };
        }
        output::complain(one_line(&error));
        ExitCode::from(if is_doctor() { 3 } else { 2 })
    })
}

/// Prints the error and returns the exit status. `doctor` returns 3 if it cannot write its report,
/// because 1 and 2 are its verdicts.
fn failed(error: &error::Error) -> ExitCode {
    if !error.is_silent() {
        output::complain(error);
    }
    ExitCode::from(match error.is_output() && is_doctor() {
        true => 3,
        false => error.exit_code(),
    })
}

/// For `doctor` 2 means problems of the machine, so a wrong command line is what it is for monitoring: 3.
fn is_doctor() -> bool {
    let mut words = std::env::args_os().skip(1);
    words
        .find(|word| !word.to_string_lossy().starts_with('-'))
        .is_some_and(|word| word == "doctor")
}

/// clap's message in one line, without the usage that follows it.
fn one_line(error: &clap::Error) -> String {
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "say what to do: detect, doctor, run, enable, disable, status, speed, compare, compare-paths, diff, selftest (see 'tenrounds --help')"
            .into();
    }
    if error.kind() == clap::error::ErrorKind::MissingRequiredArgument {
        let missing = error.get(clap::error::ContextKind::InvalidArg);
        let missing = missing.map_or(String::new(), |m| m.to_string());
        return format!(
            "there is no {} (see 'tenrounds --help')",
            missing.trim_end_matches("...")
        );
    }
    let text = error.to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let said: Vec<&str> = lines
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .collect();
    let said = said.join(" ");
    format!(
        "{} (see 'tenrounds --help')",
        said.trim_start_matches("error: ")
    )
}

/// All commands, including the hidden ones, for tests that run each of them.
pub fn commands() -> clap::Command {
    <Cli as clap::CommandFactory>::command()
}

/// The whole program.
pub fn main() -> ExitCode {
    run::child::restore_sigpipe();
    let cli = match command_line() {
        Ok(cli) => cli,
        Err(status) => return status,
    };
    match dispatch(cli) {
        Ok(status) => status,
        Err(error) => failed(&error),
    }
}
