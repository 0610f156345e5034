// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds`: AES at the processor's speed in the OpenSSL that is installed.

mod cli;
mod generate;
mod pages;
mod report;
mod selftest;

pub use base::fault;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::FromArgMatches;
use cli::{Cli, Command};
use evidence::{doctor, scan, trace};
use setup::{enable, openssl, run};
use speed::bench;
use std::process::ExitCode;
use terminal::error::{Error, Result};
use terminal::{output, style};

fn dispatch(command: Command) -> Result<ExitCode> {
    let result = match command {
        Command::Doctor(args) => return doctor::run(&args).map(ExitCode::from),
        Command::Bench(args) => return bench::bench(&args).map(ExitCode::from),
        Command::Status(args) => return enable::status(&args).map(ExitCode::from),
        Command::Scan(args) => return scan::run(&args).map(ExitCode::from),
        Command::Run(args) => run::run(&args),
        Command::Enable(args) => enable::enable(&args),
        Command::Disable(args) => enable::disable(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Selftest(args) => selftest::run(&args),
        Command::Worker { args } => bench::worker(&args),
        Command::Completions { shell } => generate::completions(shell),
        Command::Generate { dir } => generate::tree(&dir),
        Command::Probe { pkcs11, algorithms } => {
            openssl::probe::limit();
            let seen = match pkcs11 {
                Some(path) => serde_json::to_string(&setup::pkcs11::look::look(&path)?),
                None => serde_json::to_string(&openssl::probe::look(&algorithms)?),
            };
            let seen = seen.expect("plain data serialises");
            output::plain((seen + "\n").as_bytes())
        }
    };
    result.map(|()| ExitCode::SUCCESS)
}

/// The command line, and the name of its command; or clap's answer.
fn command_line() -> std::result::Result<(Cli, String), clap::Error> {
    let mut matches = cli::command().try_get_matches()?;
    let name = matches.subcommand_name().unwrap_or_default().to_owned();
    Ok((Cli::from_arg_matches_mut(&mut matches)?, name))
}

/// Prints what clap answers, help or an error, and returns the exit status.
fn answered(mut answer: clap::Error, command: Option<&str>) -> ExitCode {
    correct_tip(&mut answer, command);
    let text = answer.render();
    if !answer.use_stderr() {
        let written = output::out(text.ansi());
        return written.map_or_else(|error| failed(&error, command), |()| ExitCode::SUCCESS);
    }
    output::err(style::folded(
        &text.ansi().to_string(),
        style::error_columns(),
    ));
    // For `doctor` 2 means problems of the machine; for monitoring a wrong command line is 3.
    ExitCode::from(if command == Some("doctor") { 3 } else { 2 })
}

/// clap suggests to write -- before an unknown option, which would make it the name of a command.
/// Only `scan` takes any value. The options of a command follow it after --.
fn correct_tip(answer: &mut clap::Error, command: Option<&str>) {
    if answer.kind() != ErrorKind::UnknownArgument {
        return;
    }
    let mut tips = match answer.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.retain(|tip| command == Some("scan") || !tip.to_string().starts_with("to pass "));
    let is_misspelt = answer.get(ContextKind::SuggestedArg).is_some();
    if command == Some("trace") && !is_misspelt {
        tips.push("to start a command, write -- before it: tenrounds trace -- COMMAND".into());
    }
    if !tips.is_empty() {
        answer.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// Prints the error and returns the exit status. `doctor` returns 3 if it cannot write its report,
/// because 1 and 2 are its verdicts.
fn failed(error: &Error, command: Option<&str>) -> ExitCode {
    if let (true, Some(command)) = (error.is_usage(), command) {
        return answered(in_claps_form(error, command), Some(command));
    }
    if !error.is_silent() {
        output::complain(error);
    }
    ExitCode::from(match error.is_output() && command == Some("doctor") {
        true => 3,
        false => error.exit_code(),
    })
}

/// What a command itself has against its arguments, as clap says it: with the command's usage.
fn in_claps_form(error: &Error, name: &str) -> clap::Error {
    let mut all = cli::command();
    all.build();
    let command = all.find_subcommand_mut(name).expect("clap named it");
    clap::Error::raw(ErrorKind::ValueValidation, error).format(command)
}

/// All commands, including the hidden ones, for tests that run each of them.
pub fn commands() -> clap::Command {
    cli::command()
}

/// The whole program.
pub fn main() -> ExitCode {
    run::child::restore_sigpipe();
    let words = std::env::args_os().skip(1);
    let words: Vec<String> = words.map(|w| w.to_string_lossy().into_owned()).collect();
    let command = words.iter().find(|word| !word.starts_with('-'));
    let command = command.map(String::as_str);
    let word = match command {
        Some("help") => words.last().map(String::as_str),
        word => word,
    };
    if let Some(answer) = word.and_then(cli::replaced) {
        output::complain(answer);
        return ExitCode::from(2);
    }
    match command_line() {
        Err(answer) => answered(answer, command),
        Ok((cli, name)) => {
            dispatch(cli.command).unwrap_or_else(|error| failed(&error, Some(&name)))
        }
    }
}
