// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `selftest`.

use clap::{Args, ValueHint};

#[derive(Args, Debug)]
#[command(allow_negative_numbers = true)]
pub struct SelftestArgs {
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
