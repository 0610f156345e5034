// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `trace`.

use base::arguments::seconds;
use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Without `--rate`, `trace` takes so many samples a second.
pub const TRACE_RATE: u32 = 499;

#[derive(Args, Debug, Default)]
#[command(
    override_usage = "tenrounds trace [OPTIONS] -- COMMAND [ARGUMENT]...\n       \
                            tenrounds trace [OPTIONS] NAME...\n       \
                            tenrounds trace [OPTIONS] -p PID[,PID...]\n       \
                            tenrounds trace [OPTIONS] --all\n       \
                            tenrounds trace --live [OPTIONS] [NAME...|-p PID,...]",
    allow_negative_numbers = true,
    group = clap::ArgGroup::new("whom").args(["command", "names", "pid", "all"])
)]
pub struct TraceArgs {
    /// Sample the processes with these names, and their descendants, as with -p
    ///
    /// The name is that of the process, as ps(1) shows it, or the file name of its program.
    #[arg(value_name = "NAME", value_hint = ValueHint::Other)]
    pub names: Vec<OsString>,

    /// Sample these processes and their descendants: those that exist and those that are started
    ///
    /// Processes of other users need root, or CAP_PERFMON and CAP_SYS_PTRACE.
    #[arg(
        long,
        short,
        value_name = "PID[,PID...]",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub pid: Vec<u32>,

    /// Sample all processes
    ///
    /// Without root, or CAP_PERFMON and CAP_SYS_PTRACE, only your own are sampled: those that run
    /// at the beginning, and what they start.
    #[arg(long, short)]
    pub all: bool,

    /// Samples a second of processor time
    #[arg(
        long,
        value_name = "HERTZ",
        default_value_t = TRACE_RATE,
        value_parser = clap::value_parser!(u32).range(1..=10_000),
        value_hint = ValueHint::Other
    )]
    pub rate: u32,

    /// Show the processes with the most AES time in the last seconds, again and again
    ///
    /// On a terminal, each table takes the place of the one before; Ctrl-C ends it. Otherwise, a
    /// table is written for each interval. If no process is named, all processes are shown.
    #[arg(long, conflicts_with_all = ["command", "seconds", "count", "kernel", "output"])]
    pub live: bool,

    /// Seconds between updates, 0.1 to 60: each update is about the samples since the last one
    #[arg(
        long,
        short,
        requires = "live",
        help_heading = "Options of --live",
        value_name = "SECONDS",
        default_value = "2",
        value_parser = seconds(0.1, 60.0),
        value_hint = ValueHint::Other
    )]
    pub interval: f64,

    /// End after N updates
    #[arg(
        long,
        short = 'n',
        requires = "live",
        help_heading = "Options of --live",
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        value_hint = ValueHint::Other
    )]
    pub updates: Option<u64>,

    /// Trace for so long [default: 5 for processes, else until the command ends]
    ///
    /// Ctrl-C ends the trace of processes earlier. A command is not ended.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(0.01, 3600.0), value_hint = ValueHint::Other)]
    pub seconds: Option<f64>,

    /// Also count each call that encrypts or decrypts, with its bytes (needs root and bpftrace)
    ///
    /// bpftrace's probes at functions of OpenSSL count calls, bytes, sizes, and whether the output
    /// goes over the input. Each call takes about 1 to 3 µs more meanwhile.
    /// `tenrounds run --count` counts what tenrounds executes, without such a cost.
    #[arg(long)]
    pub count: bool,

    /// Also count each request to the kernel's ciphers, with its bytes (needs root and bpftrace)
    ///
    /// bpftrace's probes in the kernel count requests, bytes and sizes by driver, by process, and
    /// by the part of the kernel that makes them: AF_ALG, dm-crypt, IPsec, kernel TLS. Probes also
    /// count what AF_ALG costs: messages, and the bytes that are copied. Requests take longer
    /// meanwhile, in all processes.
    #[arg(long)]
    pub kernel: bool,

    /// Write JSON instead of text, with addresses of the code that decided; with --live a document
    /// for each interval, each on one line
    #[arg(long)]
    pub json: bool,

    /// Write the report to this file
    ///
    /// By default, the report on a command goes to standard error, and that on processes to
    /// standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// The command to start and trace, with its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub command: Vec<OsString>,
}
