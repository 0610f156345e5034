// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `enable`, `disable` and `status`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct EnableArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,

    /// Show a diff of each file that would be created or changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Args, Debug)]
pub struct DisableArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,

    /// All JDKs that use this jar, before it is removed
    ///
    /// Those that `enable` has recorded. A JDK whose tenrounds.cfg is gone counts, too.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["system", "java_home"])]
    pub jar: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct ScopeArgs {
    /// Every program on the machine, not only those of your account; needs root
    ///
    /// `enable` adds a line to the openssl.cnf of every installed OpenSSL. `disable` removes it.
    #[arg(long)]
    pub system: bool,

    /// One JDK instead: whether its first provider is the Java provider
    ///
    /// `enable` adds lines to the JDK's java.security, after a trial with its keytool. `disable`
    /// removes them. Both need the right to change that file. The JDK must be 17 or later.
    #[arg(long, value_name = "DIR", conflicts_with = "system")]
    pub java_home: Option<PathBuf>,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// The directory to look below, for tests
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}

#[derive(Args, Debug)]
pub struct StatusArgs {
    /// Show everything: all modes, instructions, masks, backends, kernel drivers, settings
    #[arg(long, short, conflicts_with_all = ["json", "prometheus"])]
    pub verbose: bool,

    /// Exit with status 1 unless tenrounds is in force
    ///
    /// It is in force if every OpenSSL that was found prefers it. If OPENSSL_CONF is set, the file
    /// that it names decides.
    #[arg(long)]
    pub check: bool,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// Write metrics in Prometheus' text format, to standard output or to a file
    ///
    /// The file is replaced atomically, for the textfile collector of Prometheus' node exporter:
    /// give it a name that ends in .prom in the collector's directory. The metrics tell whether
    /// tenrounds is in force, its backend, masks, the OpenSSL versions, and what a hypervisor
    /// hides.
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-",
        conflicts_with = "json"
    )]
    pub prometheus: Option<PathBuf>,

    /// The directory to look below, for tests
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
