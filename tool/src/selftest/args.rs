// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `selftest`.

use base::arguments::Offered;
use clap::{Args, ValueHint};
use tenrounds_sys::Backend;

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
