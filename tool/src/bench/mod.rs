// SPDX-License-Identifier: BSD-2-Clause
//! Measuring: `speed`, `compare`, `compare-paths`, `diff`, and the worker processes that they ask.
//! docs/measuring.md says how and why.

mod afalg;
mod busy;
mod case;
mod chart;
mod compare;
mod comparison;
mod count;
mod crew;
mod crossing;
mod diff;
mod engine;
mod evp;
mod figure;
mod implementation;
mod job;
mod jobs;
mod mac;
mod markdown;
mod measure;
mod message;
mod passes;
mod paths;
mod picture;
mod plan;
mod report;
mod runs;
mod scaling;
mod shown;
mod speed;
mod svg;
mod team;
mod worker;

pub use compare::compare;
pub use diff::diff;
pub use paths::compare_paths;
pub use picture::picture;
pub use speed::speed;

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
