// SPDX-License-Identifier: BSD-2-Clause
//! The command line: help, man pages and completions all come from here and from pages.rs.

use crate::pages;
use crate::report::args::PageArgs;
use crate::selftest::args::SelftestArgs;
use clap::{CommandFactory, Parser, Subcommand};
use evidence::doctor::args::DoctorArgs;
use evidence::scan::args::ScanArgs;
use evidence::trace::args::TraceArgs;
use setup::enable::args::{DisableArgs, EnableArgs, StatusArgs};
use setup::run::args::RunArgs;
use speed::bench::args::BenchArgs;
use std::ffi::OsString;
use std::path::PathBuf;

/// AES at the processor's speed, in the OpenSSL that is installed
///
/// `tenrounds status` shows which AES code this machine runs. `tenrounds run -- COMMAND` uses
/// tenrounds for one command. `tenrounds enable` uses it for your programs, `tenrounds enable
/// --system` for all. tenrounds(5) has the files and environment variables.
#[derive(Parser, Debug)]
#[command(
    name = "tenrounds",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show which code does AES on this machine, and whether tenrounds is in force
    ///
    /// The first line says whether tenrounds is in force, and for whom. Then comes each
    /// configuration, with the file that enables tenrounds in it, and each JDK of `enable
    /// --java-home`. `status` tries each one in child processes. A table compares the code of
    /// tenrounds, of OpenSSL and of the kernel for each mode. `status` changes nothing.
    Status(StatusArgs),
    /// Run a command with tenrounds preferred in every OpenSSL that it uses
    ///
    /// These programs do not use it: setuid programs, callers of the old AES_* functions, and those
    /// with AES code of their own. An OpenSSL that is bundled or linked statically is reached if it
    /// reads the configuration and can load modules; official builds of Node.js from 18 on do.
    Run(RunArgs),
    /// Prefer tenrounds in all programs, yours or the system's
    ///
    /// Before `enable` replaces a file, it tries the result in child processes: providers, a cipher
    /// with a known answer, random numbers, ssh. Afterwards it tries again, and restores the file
    /// if a trial fails. It refuses a configuration that it does not understand.
    Enable(EnableArgs),
    /// Undo `enable`, byte for byte
    ///
    /// If somebody has changed a file since, `disable` removes only the lines of `enable`.
    Disable(DisableArgs),
    /// Find misconfigurations, faults and slow paths of AES on this machine
    ///
    /// Each finding says what was seen, and how to correct it. The doctor changes nothing. It
    /// examines configurations, environment variables, processes, the kernel's drivers and disks.
    /// Only root sees the processes of all users.
    Doctor(DoctorArgs),
    /// Find the programs and libraries that hold AES code, and say whether tenrounds reaches it
    ///
    /// The first line is the verdict. A table then lists each file with AES instructions or tables:
    /// which library it is, how wide its code is, and whether tenrounds reaches it. `scan` reads
    /// files of x86-64, i386 and arm64, and executes nothing.
    Scan(ScanArgs),
    /// Show which AES code runs in processes, by samples
    ///
    /// The first lines are the verdict. A table then shows each kind of AES code: its share of the
    /// time, its mode, file and function. `trace` looks at programs of every kind, and writes
    /// nothing into them.
    Trace(TraceArgs),
    /// Write a report on AES on this machine, as a page or as JSON
    ///
    /// The page needs no network and no script: how fast AES is, which code runs now, and what the
    /// doctor found. Attach it to a ticket, or keep it to compare. `report` changes nothing but its
    /// files.
    Report(PageArgs),
    /// Measure software, stock OpenSSL, tenrounds and the limit of this processor, in one run
    ///
    /// The limit is the throughput of AES rounds alone on one core. The first line is the answer.
    /// Without an algorithm, `bench` measures AES-128-GCM, and AES-256 in GCM, CTR, CBC (both
    /// directions) and XTS.
    Bench(BenchArgs),
    /// Check every backend with known-answer tests and against every other backend
    ///
    /// A backend is tenrounds' code for one set of instructions. All backends that this processor
    /// supports process the same random messages, and must agree.
    Selftest(SelftestArgs),
    /// Write completions for a shell to standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages and completions into a staged tree
    #[command(hide = true)]
    Generate {
        /// The root of the tree, which gets share/man, share/bash-completion, ...
        dir: PathBuf,
    },
    /// A measuring process of bench
    #[command(hide = true, disable_help_flag = true)]
    Worker {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
    /// Tell whether the libcrypto of this environment prefers the provider
    #[command(hide = true)]
    Probe {
        /// Look at this PKCS#11 module instead
        #[arg(long, value_name = "FILE", hide = true)]
        pkcs11: Option<PathBuf>,
        /// Ciphers and MACs to fetch besides
        algorithms: Vec<String>,
    },
}

/// What has replaced a word of former versions, as an answer.
pub fn replaced(command: &str) -> Option<String> {
    let new = match command {
        "speed" => "bench --openssl",
        "compare" => "bench",
        "compare-paths" => "bench --paths",
        "diff" => "bench --baseline OLD.json",
        "watch" => "trace --live",
        "detect" => "status",
        "token" => return Some(
            "'tenrounds token' is gone, because tenrounds keeps no keys any more: let SoftHSM, \
                 kryoptic or a TPM keep them (docs/pkcs11.md)"
                .to_owned(),
        ),
        _ => return None,
    };
    Some(format!("'tenrounds {command}' is now 'tenrounds {new}'"))
}

/// The whole command line, with the sections that pages.rs adds to the long help.
pub fn command() -> clap::Command {
    let mut command = Cli::command().after_long_help(pages::help("tenrounds"));
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let names: Vec<String> = shown.map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(&name, |sub| sub.after_long_help(pages::help(&name)));
    }
    command
}

/// The command line as people see it, without hidden commands and options, and of the others only
/// the arguments that `wanted` accepts.
pub fn visible(command: &clap::Command, wanted: fn(&&clap::Arg) -> bool) -> clap::Command {
    let args = command.get_arguments().filter(|arg| !arg.is_hide_set());
    let mut seen = clap::Command::new(command.get_name().to_owned());
    seen = seen
        .about(command.get_about().cloned().unwrap_or_default())
        .args(args.filter(wanted));
    if let Some(version) = command.get_version() {
        seen = seen.version(version.to_owned());
    }
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    seen.subcommands(shown.map(|sub| visible(sub, wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        command().debug_assert();
        visible(&command(), |_| true).debug_assert();
    }

    #[test]
    fn hidden_names_are_not_visible() {
        let seen = visible(&command(), |_| true);
        assert!(seen.find_subcommand("worker").is_none());
        let enable = seen.find_subcommand("enable").unwrap();
        assert!(enable.get_arguments().all(|arg| arg.get_id() != "root"));
        assert!(enable.get_arguments().any(|arg| arg.get_id() == "system"));
    }

    fn said(words: &str) -> String {
        let error = Cli::try_parse_from(words.split(' ')).unwrap_err();
        error.to_string()
    }

    #[test]
    fn a_wrong_value_is_answered_with_a_right_one() {
        for (option, hint) in [
            ("--bytes 16KiB", "such as 16, 16384 or 16K"),
            ("--seconds 0", "from 0.01 to 3600"),
        ] {
            let said = said(&format!("tenrounds bench {option}"));
            let (_, value) = option.split_once(' ').unwrap();
            for part in [&format!("error: invalid value '{value}' for '--"), hint] {
                assert!(said.contains(part), "{said}");
            }
        }
    }
}
