// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `run`.

use clap::{Args, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(
    override_usage = "tenrounds run [OPTIONS] -- COMMAND [ARGUMENT]...\n       \
                            tenrounds run [--java] [--mask WORD[,WORD...]] --print-env"
)]
pub struct RunArgs {
    /// Features to mask, in tenrounds and in OpenSSL's own code
    ///
    /// Each word disables a feature of the processor: noaes, noclmul, novaes, noavx512 and others.
    #[arg(long, value_name = "WORD[,WORD...]", value_hint = ValueHint::Other)]
    pub mask: Option<String>,

    /// Show afterwards which code executed
    ///
    /// If counting or writing the counts fails, a message on standard error says so, and the exit
    /// status does not change. The counts name the program without its arguments. Processes that
    /// clear their environment, as by `env -i`, are not counted.
    #[arg(long)]
    pub count: bool,

    /// Write the counts as JSON (with --count)
    #[arg(long, requires = "count")]
    pub json: bool,

    /// Write the counts to this file, instead of standard error (with --count)
    #[arg(long, short, requires = "count", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Also put the Java provider into every JVM that the command starts
    ///
    /// Java has its own AES and does not use OpenSSL. JAVA_TOOL_OPTIONS makes our jar an agent of
    /// the JVM, which becomes its first security provider; nothing of the JDK changes. It needs JDK
    /// 17 or later. Other algorithms stay Java's own. `--count` does not count what it executes.
    #[arg(long)]
    pub java: bool,

    /// Print the environment as shell commands instead of running a command
    #[arg(long, conflicts_with = "count")]
    pub print_env: bool,

    /// The command and its arguments
    #[arg(
        value_name = "COMMAND",
        value_hint = ValueHint::CommandWithArguments,
        trailing_var_arg = true,
        conflicts_with = "print_env",
        required_unless_present = "print_env"
    )]
    pub command: Vec<OsString>,
}
