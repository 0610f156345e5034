// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `doctor`.

use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Show all evidence, of each process and of notes
    #[arg(long, short, conflicts_with = "json")]
    pub verbose: bool,

    /// Write JSON instead of text
    #[arg(long)]
    pub json: bool,

    /// Examine a tree that is laid out like a machine (for tests)
    #[arg(long, value_name = "DIR", hide = true)]
    pub root: Option<PathBuf>,
}
