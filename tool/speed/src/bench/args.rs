// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `bench`.

use base::arguments::{seconds, Offered};
use base::ciphers;
use clap::{Args, ValueHint};
use std::path::PathBuf;

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

/// What is to be measured; by default the most used modes, in the sizes of `openssl speed`.
#[derive(Args, Debug, Default)]
pub struct Asked {
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
}

#[derive(Args, Debug)]
#[command(allow_negative_numbers = true)]
pub struct BenchArgs {
    #[command(flatten)]
    pub asked: Asked,

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

/// The largest size of one measured call.
pub const MAX_BYTES: usize = 64 << 20;
/// The largest number of measuring threads.
pub const MAX_THREADS: usize = 1024;

fn parse_bytes(text: &str) -> Result<usize, String> {
    let bytes = terminal::parse_size(text).filter(|bytes| (1..=MAX_BYTES).contains(bytes));
    let say = format!("say a number of bytes from 1 to {MAX_BYTES}, such as 16, 16384 or 16K");
    bytes.ok_or(say)
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
    fn sizes() {
        assert_eq!(parse_bytes("16"), Ok(16));
        assert_eq!(parse_bytes("16k"), Ok(16384));
        assert_eq!(parse_bytes("2M"), Ok(2 << 20));
        for wrong in [
            "",
            "0",
            "k",
            "1kk",
            "-1",
            "65M",
            "16KiB",
            "16G",
            "x",
            "99999999999999999999M",
        ] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}
