// SPDX-License-Identifier: BSD-2-Clause
//! Measuring: what the commands `speed`, `compare`, `compare-paths` and `diff` share, the worker
//! processes that they ask. docs/measuring.md says how and why.

pub mod afalg;
pub mod case;
pub mod chart;
pub mod comparison;
pub mod count;
mod crew;
mod crossing;
pub mod engine;
mod evp;
pub mod figure;
pub mod how;
pub mod implementation;
mod job;
mod jobs;
mod mac;
pub mod markdown;
pub mod measure;
mod message;
pub mod passes;
pub mod plan;
pub mod report;
pub mod runs;
pub mod shown;
pub mod svg;
pub mod team;
pub mod worker;

use crate::error::{Error, Result};
use crate::subject;
use std::ffi::OsString;

/// A measuring process: its arguments are the implementation and, for AF_ALG, a driver of the
/// kernel.
pub fn worker(args: &[OsString]) -> Result<()> {
    let name = args.first().and_then(|a| a.to_str());
    let name = name.ok_or_else(|| Error::usage("a worker needs the name of an implementation"))?;
    let driver = args.get(1).map(|d| d.to_string_lossy().into_owned());
    worker::serve(name, driver)
}
