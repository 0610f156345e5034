// SPDX-License-Identifier: BSD-2-Clause
//! Measuring: `speed`, `compare`, and the worker processes that they ask. docs/measuring.md says how and
//! why.

mod afalg;
mod baseline;
mod buffer;
mod chart;
mod compare;
mod count;
mod crew;
mod crossing;
mod engine;
mod evp;
mod figure;
mod implementation;
mod jobs;
pub mod limit;
mod mac;
mod markdown;
mod measure;
mod message;
mod paths;
mod plan;
mod report;
mod scaling;
mod speed;
pub mod stats;
pub mod subject;
mod svg;
mod team;
pub mod window;
mod worker;

pub use chart::gigabytes;
pub use compare::compare;
pub use figure::size_name;
pub use markdown::today;
pub use speed::speed;
pub use svg::writable;

use crate::error::{Error, Result};
use indicatif::{ProgressBar, ProgressStyle};
use std::ffi::OsString;
use std::time::Duration;

/// A measuring process: its arguments are the implementation and, for AF_ALG, a driver of the kernel.
pub fn worker(args: &[OsString]) -> Result<()> {
    let name = args.first().and_then(|a| a.to_str());
    let name = name.ok_or_else(|| Error::usage("a worker needs the name of an implementation"))?;
    let driver = args.get(1).map(|d| d.to_string_lossy().into_owned());
    worker::serve(name, driver)
}

/// A bar on standard error, if that is a terminal.
pub fn progress(steps: usize, expected: Duration) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    let template = format!(
        "{{bar:30}} {{pos}}/{{len}} {{elapsed}} of about {:.0}s  {{msg}}",
        expected.as_secs_f64().ceil()
    );
    bar.set_style(ProgressStyle::with_template(&template).expect("a valid template"));
    bar
}
