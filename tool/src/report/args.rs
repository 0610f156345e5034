// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `report`.

use base::arguments::seconds;
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Args, Debug)]
#[command(allow_negative_numbers = true)]
pub struct PageArgs {
    /// Write the page to this file
    ///
    /// The file is replaced when the page is complete, and stays as it is after an error.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub html: Option<PathBuf>,

    /// Write JSON to standard output, instead of the verdict
    #[arg(long)]
    pub json: bool,

    /// Trace all processes for so long
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "3",
        value_parser = seconds(0.01, 3600.0),
        value_hint = ValueHint::Other
    )]
    pub seconds: f64,

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
