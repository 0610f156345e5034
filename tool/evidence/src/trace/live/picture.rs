// SPDX-License-Identifier: BSD-2-Clause
//! What `trace --live` shows at one time, as its JSON document has it.

use crate::scan::library_name;
use crate::trace::text::code;
use crate::trace::verdict::{self, percent};
use crate::trace::{Finding, Process, Trace};
use serde::Serialize;
use terminal::style::grouped;

/// The object `live` of the JSON document.
#[derive(Debug, Serialize)]
pub struct Picture {
    /// The logical processors that are sampled.
    pub processors: usize,
    /// The fraction of the time of all processors that AES code takes, also of the time in which
    /// they idle.
    pub machine_share: f64,
    /// What `trace` would say of the interval.
    pub trace: Trace,
}

/// The columns of the table.
pub const HEADS: [&str; 6] = ["Process", "AES", "CPU", "Class", "Mode", "Library"];

impl Picture {
    pub fn new(trace: Trace, processors: usize) -> Picture {
        let mut picture = Picture {
            processors,
            machine_share: 0.0,
            trace,
        };
        let aes = picture.trace.processes.iter().map(|it| it.aes_samples);
        picture.machine_share = picture.of_machine(aes.sum());
        picture
    }

    /// The fraction of the time of all processors that samples stand for.
    pub fn of_machine(&self, samples: u64) -> f64 {
        let trace = &self.trace;
        let most = f64::from(trace.rate) * trace.seconds * self.processors as f64;
        match most > 0.0 {
            true => (samples as f64 / most).min(1.0),
            false => 0.0,
        }
    }

    /// How much AES code runs.
    pub fn headline(&self) -> String {
        let trace = &self.trace;
        let used = match trace.samples {
            0 => String::new(),
            _ => format!(", {} of the time used", percent(trace.aes_share)),
        };
        format!(
            "AES {} of the machine{used}; {} samples, {} lost, in the last {:.1} s",
            percent(self.machine_share),
            grouped(trace.samples),
            grouped(trace.lost),
            trace.seconds
        )
    }

    /// The row of a process.
    pub fn cells(&self, process: &Process) -> [String; 6] {
        let main = main_finding(process);
        let mode = main.and_then(|finding| finding.mode);
        [
            format!("{} ({})", process.name, process.pid),
            percent(process.aes_share),
            percent(self.of_machine(process.samples)),
            class(process),
            mode.map(str::to_uppercase).unwrap_or_default(),
            main.map(library).unwrap_or_default(),
        ]
    }
}

/// The finding that stands for a process: its AES code with the most samples, or else what looks
/// like AES.
fn main_finding(process: &Process) -> Option<&Finding> {
    let mut aes = process.findings.iter().filter(|it| it.work.is_aes());
    aes.next().or(process.findings.first())
}

/// "VAES 512", "VAES 512 +1" if there is another kind of AES code; "-" without a finding.
fn class(process: &Process) -> String {
    let aes = process.findings.iter().filter(|it| it.work.is_aes());
    match (main_finding(process), aes.count()) {
        (None, _) => "-".to_owned(),
        (Some(first), 0 | 1) => code(first.work),
        (Some(first), more) => format!("{} +{}", code(first.work), more - 1),
    }
}

/// "OpenSSL 3.0.11", or the name of the file.
fn library(finding: &Finding) -> String {
    let library = finding.module.library.as_ref();
    library.map_or_else(|| verdict::place(finding), library_name)
}
