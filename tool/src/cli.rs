// SPDX-License-Identifier: BSD-2-Clause
//! The command line: help, man pages and completions all come from here and from pages.rs.

use crate::{ciphers, pages};
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, ColorChoice, CommandFactory, Parser, Subcommand, ValueHint};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use tenrounds_sys::Backend;

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
    /// When to use colours
    ///
    /// `auto` uses them on a terminal, unless the environment variable NO_COLOR is set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        display_order = 900
    )]
    pub color: ColorChoice,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Show which code does AES on this machine, and whether tenrounds is in force
    ///
    /// The first line says whether tenrounds is in force, and for whom. Then comes each
    /// configuration, with the file that enables tenrounds in it, each JDK of `enable
    /// --java-home`, and the files of `enable --p11-kit`. `status` tries each one in child
    /// processes. A table compares the code of tenrounds, of OpenSSL and of the kernel for each
    /// mode. `status` changes nothing.
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
    /// with a known answer, random numbers, a TLS handshake, ssh. Afterwards it tries again, and
    /// restores the file if a trial fails. It refuses a configuration that it does not understand.
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

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Show all evidence, also of notes, and the processes
    #[arg(long, short, conflicts_with = "json")]
    pub verbose: bool,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// Examine a tree that is laid out like a machine (for tests)
    #[arg(long, value_name = "DIR", hide = true)]
    pub root: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct ScanArgs {
    /// Files, directories, process IDs or installed packages [default: all that is installed]
    ///
    /// A directory is scanned with everything below it, but without symbolic links and other file
    /// systems. For a process, its program and libraries are scanned. If a file has the name of a
    /// process or package, the file is scanned. The default is /usr, /opt, /bin and /lib.
    #[arg(value_name = "FILE|DIR|PID|PACKAGE", value_hint = ValueHint::AnyPath)]
    pub targets: Vec<OsString>,

    /// Show functions, addresses, and files with other cryptographic instructions
    #[arg(long, short, conflicts_with = "json")]
    pub verbose: bool,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// Without `--rate`, `trace` takes so many samples a second.
pub const TRACE_RATE: u32 = 499;

/// What `trace` samples, and how often.
#[derive(Args, Debug, Default)]
pub struct SampledArgs {
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
}

/// The screen of `trace --live`.
#[derive(Args, Debug, Default)]
pub struct ScreenArgs {
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
}

#[derive(Args, Debug, Default)]
#[command(
    override_usage = "tenrounds trace [OPTIONS] -- COMMAND [ARGUMENT]...\n       \
                            tenrounds trace [OPTIONS] NAME...\n       \
                            tenrounds trace [OPTIONS] -p PID[,PID...]\n       \
                            tenrounds trace [OPTIONS] --all\n       \
                            tenrounds trace --live [OPTIONS] [NAME...|-p PID,...]\n       \
                            tenrounds trace --print-bpftrace [--output FILE]",
    allow_negative_numbers = true,
    group = clap::ArgGroup::new("whom").args(["command", "names", "pid", "all", "print_bpftrace"])
)]
pub struct TraceArgs {
    #[command(flatten)]
    pub sampled: SampledArgs,

    /// Show the processes with the most AES time in the last seconds, on a screen like that of
    /// top(1)
    ///
    /// Enter shows the details of a process. If standard output is not a terminal, a table is
    /// written for each interval. If no process is named, all processes are shown.
    #[arg(long, conflicts_with_all = ["command", "seconds", "evidence", "count", "kernel", "svg", "print_bpftrace", "output"])]
    pub live: bool,

    #[command(flatten)]
    pub screen: ScreenArgs,

    /// Trace for so long [default: 5 for processes, else until the command ends]
    ///
    /// Ctrl-C ends the trace of processes earlier. A command is not ended.
    #[arg(long, value_name = "SECONDS", value_parser = seconds(0.01, 3600.0), value_hint = ValueHint::Other)]
    pub seconds: Option<f64>,

    /// Show the evidence: functions, addresses of the code that decided, and tables that it uses
    #[arg(long)]
    pub evidence: bool,

    /// Also count each call that encrypts or decrypts, with its bytes (needs root and bpftrace)
    ///
    /// bpftrace's probes at functions of OpenSSL, Libgcrypt and GnuTLS count calls, bytes, sizes,
    /// and whether the output goes over the input. Each call takes about 1 to 3 µs more meanwhile.
    /// With -p and --all, probes of tenrounds itself count what it executes. Of a command,
    /// `tenrounds run --count` counts this without such a cost.
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

    /// Also draw the chart of --kernel into an SVG file
    #[arg(long, value_name = "FILE", requires = "kernel", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,

    /// Print the script for bpftrace by which --count counts, and trace nothing
    ///
    /// The script has a probe for each function that --count counts in the libraries that are
    /// installed here, and for what tenrounds executes.
    #[arg(long, conflicts_with_all = ["seconds", "evidence", "count", "kernel", "json"])]
    pub print_bpftrace: bool,

    /// Write JSON instead of text; with --live a document for each interval, each on one line
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

#[derive(Args, Debug)]
#[command(allow_negative_numbers = true)]
pub struct PageArgs {
    /// Write the page to this file
    ///
    /// The file is replaced when the page is complete, and stays as it is after an error.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write JSON to this file, or to standard output instead of text
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-", value_hint = ValueHint::FilePath)]
    pub json: Option<PathBuf>,

    /// Trace all processes for so long
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "3",
        value_parser = seconds(0.01, 3600.0),
        value_hint = ValueHint::Other
    )]
    pub seconds: f64,

    /// Show an earlier report beside this one; the file is of `tenrounds report --json`
    #[arg(long, value_name = "OLD.json", value_hint = ValueHint::FilePath)]
    pub baseline: Option<PathBuf>,

    /// Write all evidence into the page: all files, processes, drivers and measured rates
    #[arg(long, requires = "html")]
    pub full: bool,

    /// A title of your own, for the page and the JSON
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other)]
    pub label: Option<String>,

    /// Measure one cipher, and scan only what runs (for tests)
    #[arg(long, hide = true)]
    pub brief: bool,
}

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

    /// Show afterwards which code executed, on standard error or as JSON in FILE
    ///
    /// If counting or writing the counts fails, a message on standard error says so, and the exit
    /// status does not change. The counts name the program without its arguments. Processes that
    /// clear their environment, as by `env -i`, are not counted.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub count: Option<PathBuf>,

    /// Write the counts on standard error as JSON (with --count)
    #[arg(long, requires = "count")]
    pub json: bool,

    /// Also put the PKCS#11 module into every JVM that the command starts
    ///
    /// Java has its own AES and does not use OpenSSL. The module becomes the first provider of the
    /// JVM, by a file that JAVA_TOOL_OPTIONS names; nothing of the JDK changes. Digests, HMAC and
    /// random numbers stay Java's own.
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

#[derive(Args, Debug)]
pub struct EnableArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,

    /// Show a diff of each file that would be created or changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Add the line that sets OPENSSL_CONF to the shell's profile, or to FILE, instead of printing
    /// it
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["system", "java_home", "p11_kit"])]
    pub profile: Option<OsString>,
}

#[derive(Args, Debug)]
pub struct DisableArgs {
    #[command(flatten)]
    pub scope: ScopeArgs,

    /// Undo only what loads this file, which is about to be removed; may be repeated
    #[arg(long, hide = true, value_name = "FILE")]
    pub module: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub struct ScopeArgs {
    /// Your account (the default)
    ///
    /// `enable` writes a configuration into ~/.config/tenrounds, and prints the line that makes a
    /// shell use it. `disable` removes that configuration.
    #[arg(long)]
    pub user: bool,

    /// Every program on the machine; needs root
    ///
    /// `enable` adds a line to the openssl.cnf of every installed OpenSSL. `disable` removes it.
    #[arg(long, conflicts_with = "user")]
    pub system: bool,

    /// One JDK instead: whether its first provider is the PKCS#11 module
    ///
    /// `enable` adds lines to the JDK's java.security, after a trial with its keytool. `disable`
    /// removes them. Both need the right to change that file.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["user", "system"])]
    pub java_home: Option<PathBuf>,

    /// The programs that use p11-kit instead: whether they load the PKCS#11 module
    ///
    /// `enable` writes tenrounds-enabled.module into ~/.config/pkcs11/modules, with --system into
    /// /etc/pkcs11/modules, after a trial of the module and with p11-kit. `disable` removes it.
    #[arg(long, conflicts_with = "java_home")]
    pub p11_kit: bool,

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
    /// It is in force if every OpenSSL that was found takes AES from it. If OPENSSL_CONF is set,
    /// the file that it names decides.
    #[arg(long)]
    pub check: bool,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// Write metrics in Prometheus' text format, to standard output or to a file
    ///
    /// The file is replaced atomically, for the textfile collector of Prometheus' node exporter:
    /// give it a name that ends in .prom in the collector's directory. The metrics tell whether
    /// tenrounds is in force, its backend, masks, the OpenSSL versions, what a hypervisor hides,
    /// and the counters of commands that run counted.
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

/// What bench measures.
const MEASURED: &str = "aes-{128,192,256}-MODE, rc4, chacha20-poly1305, or a group: aes-128, gcm, \
                        aead, all [default: the most used modes]";

fn with_modes() -> String {
    format!(
        "{MEASURED}\n\nMODE is {}. With --paths it is {}.",
        ciphers::or(&ciphers::modes()),
        ciphers::or(&ciphers::kernel_modes())
    )
}

#[derive(Args, Debug)]
#[command(allow_negative_numbers = true)]
pub struct BenchArgs {
    #[arg(
        value_name = "ALGORITHM",
        value_parser = Offered(ciphers::words),
        hide_possible_values = true,
        help = MEASURED,
        long_help = with_modes()
    )]
    pub algorithms: Vec<String>,

    /// Sizes of one call in bytes, up to 64 MiB; K and M multiply by 1024 and 1048576
    ///
    /// The default is the sizes of `openssl speed`: 16, 64, 256, 1024, 8192 and 16384 bytes. With
    /// `--paths` it is seven sizes from 16 bytes to 1 MiB.
    #[arg(
        long,
        value_name = "N[,N...]",
        value_delimiter = ',',
        value_parser = parse_bytes,
        value_hint = ValueHint::Other
    )]
    pub bytes: Vec<usize>,

    /// Numbers of threads, or `all`: 1, 2, 4 and so on up to the number of processors [default: 1]
    ///
    /// One thread is always measured as well, in the same rounds, for the ratio to it.
    #[arg(
        long,
        value_name = "N[,N...]",
        value_delimiter = ',',
        value_parser = parse_threads,
        value_hint = ValueHint::Other
    )]
    pub threads: Vec<Threads>,

    /// Measure only decryption
    ///
    /// By default both directions are measured where these differ.
    #[arg(long)]
    pub decrypt: bool,

    /// Also measure the core's own calls, without libcrypto
    #[arg(long, conflicts_with = "paths")]
    pub core: bool,

    /// Measure for about so long, 0.01 to 3600, but each figure at least 5 times
    ///
    /// The default is 12 seconds if you name no algorithm, and otherwise 40 windows of 2 ms for
    /// each figure.
    #[arg(
        long,
        value_name = "SECONDS",
        value_parser = seconds(0.01, 3600.0),
        value_hint = ValueHint::Other
    )]
    pub seconds: Option<f64>,

    /// Compare with an earlier run, row by row; the file is of `tenrounds bench --json`
    ///
    /// The fractions of the limit are compared, which were measured in the same run. A row is
    /// faster or slower if it changed by more than both spreads together.
    #[arg(long, value_name = "OLD.json", value_hint = ValueHint::FilePath, conflicts_with = "paths")]
    pub baseline: Option<PathBuf>,

    /// Exit with status 3 if a row is slower than in the earlier run
    #[arg(long, requires = "baseline")]
    pub fail_slower: bool,

    /// Show the columns of `openssl speed`
    #[arg(long, conflicts_with_all = ["json", "paths", "verbose"])]
    pub openssl: bool,

    /// Measure user space against the kernel's ciphers (AF_ALG)
    ///
    /// Also measures CPU time. The result says from which size on the kernel is faster.
    #[arg(long)]
    pub paths: bool,

    /// The kernel's driver to measure, by its name in /proc/crypto; for one mode
    #[arg(long, value_name = "NAME", requires = "paths", value_hint = ValueHint::Other)]
    pub driver: Option<String>,

    /// Also draw a chart into an SVG file: bars over the sizes, or over the algorithms at one size
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub svg: Option<PathBuf>,

    /// Show all sizes, the intervals, and what the words mean
    #[arg(long, short, conflicts_with = "json")]
    pub verbose: bool,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,
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

/// Any word. Completions offer these; the command itself refuses others, and names the nearest.
#[derive(Clone)]
struct Offered(fn() -> Vec<String>);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

fn backends() -> Vec<String> {
    let all = Backend::all().into_iter();
    all.map(|backend| backend.name().to_owned()).collect()
}

#[derive(Args, Debug)]
#[command(allow_negative_numbers = true)]
pub struct SelftestArgs {
    /// Check only this backend, against all usable others
    #[arg(long, value_name = "NAME", value_parser = Offered(backends))]
    pub backend: Option<String>,

    /// The seed of the random messages, as an earlier run printed it [default: random]
    #[arg(long, value_name = "N", value_hint = ValueHint::Other)]
    pub seed: Option<u64>,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// Try no longer messages, for tests of what is written
    #[arg(long, hide = true, value_name = "BYTES")]
    pub up_to: Option<usize>,
}

/// Sets when output has colours.
pub fn use_colour(when: ColorChoice) {
    let choice = match when {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

/// What is seen of the words before clap has parsed them, for its own answers.
pub struct Early {
    pub color: ColorChoice,
    /// The first word that is no option.
    pub command: Option<String>,
}

impl Early {
    pub fn of(words: &[OsString]) -> Early {
        let mut color = ColorChoice::Auto;
        let mut words = words.iter().map(|word| word.to_string_lossy());
        let mut command = None;
        while let Some(word) = words.next() {
            let value = match word.strip_prefix("--color") {
                Some("") => words.next(),
                Some(value) => value.strip_prefix('=').map(|value| value.to_owned().into()),
                None => None,
            };
            match value {
                Some(value) => color = value.parse().unwrap_or(color),
                // What follows "--" belongs to the command that `run` starts.
                None if word == "--" => break,
                None if word.starts_with('-') || command.is_some() => {}
                None => command = Some(word.into_owned()),
            }
        }
        Early { color, command }
    }
}

/// The whole command line, with the sections that pages.rs adds to the long help.
pub fn command() -> clap::Command {
    let mut command = Cli::command().after_long_help(pages::help("tenrounds"));
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
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

/// The largest size of one measured call.
pub const MAX_BYTES: usize = 64 << 20;
/// The largest number of measuring threads.
pub const MAX_THREADS: usize = 1024;

fn parse_bytes(text: &str) -> Result<usize, String> {
    let wrong = || {
        // "16KiB" and "16kb" mean 16K.
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let near = match text[digits.len()..].chars().next() {
            Some(unit) => format!("{digits}{}", unit.to_ascii_uppercase()),
            None => String::new(),
        };
        let near = match near != text && bytes_of(&near).is_some() {
            true => format!("; did you mean '{near}'?"),
            false => String::new(),
        };
        format!("say a number of bytes from 1 to {MAX_BYTES}, such as 16, 16384 or 16K{near}")
    };
    bytes_of(text).ok_or_else(wrong)
}

/// "16", "16K", "1M".
fn bytes_of(text: &str) -> Option<usize> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    let bytes = digits.parse::<usize>().ok()?.checked_mul(unit)?;
    (1..=MAX_BYTES).contains(&bytes).then_some(bytes)
}

/// A parser of a number of seconds in a range.
fn seconds(least: f64, most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| match text.parse::<f64>() {
        Ok(seconds) if (least..=most).contains(&seconds) => Ok(seconds),
        _ => Err(format!("say a number of seconds from {least} to {most}")),
    }
}

/// So many threads, or 1, 2, 4 ... up to one for each processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    Just(usize),
    All,
}

fn parse_threads(text: &str) -> Result<Threads, String> {
    match text.parse::<usize>() {
        Ok(threads) if (1..=MAX_THREADS).contains(&threads) => Ok(Threads::Just(threads)),
        Err(_) if text == "all" => Ok(Threads::All),
        _ => Err(format!("say 1 to {MAX_THREADS} threads, or all")),
    }
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
    fn seen_early() {
        use ColorChoice::{Always, Auto, Never};
        let early = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let early = Early::of(&words);
            (early.color, early.command)
        };
        let doctor = Some("doctor".to_owned());
        assert_eq!(
            early("--color never doctor --nonsense"),
            (Never, doctor.clone())
        );
        assert_eq!(early("doctor --color=always"), (Always, doctor));
        let run = Some("run".to_owned());
        assert_eq!(early("run -- ls --color=never"), (Auto, run));
        assert_eq!(early("--color"), (Auto, None));
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
            ("--bytes 16KiB", "did you mean '16K'?"),
            ("--seconds 0", "from 0.01 to 3600"),
        ] {
            let said = said(&format!("tenrounds bench {option}"));
            let (_, value) = option.split_once(' ').unwrap();
            for part in [&format!("error: invalid value '{value}' for '--"), hint] {
                assert!(said.contains(part), "{said}");
            }
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(parse_bytes("16"), Ok(16));
        assert_eq!(parse_bytes("16k"), Ok(16384));
        assert_eq!(parse_bytes("2M"), Ok(2 << 20));
        for wrong in ["", "0", "k", "1kk", "-1", "65M", "99999999999999999999M"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
        for meant in ["16KiB", "16kb", "16Kbytes"] {
            let error = parse_bytes(meant).unwrap_err();
            assert!(error.ends_with("did you mean '16K'?"), "{meant}: {error}");
        }
        for other in ["16G", "x", "65M", ""] {
            let error = parse_bytes(other).unwrap_err();
            assert!(!error.contains("did you mean"), "{other}: {error}");
        }
    }
}
