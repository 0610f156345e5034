// SPDX-License-Identifier: BSD-2-Clause
//! What `trace --live` shows at one time, as its JSON document has it.

use crate::trace::{Finding, Module, ModuleKind, Process, Trace};
use serde::Serialize;

/// The object `live` of the JSON document.
#[derive(Debug, Serialize)]
pub struct Picture {
    /// The logical processors that are sampled.
    pub processors: usize,
    /// The fraction of the time of all processors that AES code takes, also of the time in which
    /// they idle.
    pub machine_share: f64,
    /// What `trace` would say of the last seconds.
    pub trace: Trace,
    /// The rates of processes whose bytes are counted.
    pub rates: Vec<Rate>,
}

/// What tenrounds encrypts and decrypts in a command of `run --count`.
#[derive(Debug, Serialize)]
pub struct Rate {
    /// Of the processes that count together, the one with the most AES.
    pub pid: u32,
    #[serde(skip)]
    pub serial: u64,
    pub bytes_per_second: f64,
    /// How many of the processes with AES code count together.
    pub processes: usize,
}

impl Picture {
    pub fn new(trace: Trace, processors: usize, rates: Vec<Rate>) -> Picture {
        let mut picture = Picture {
            processors,
            machine_share: 0.0,
            trace,
            rates,
        };
        let aes = picture
            .trace
            .processes
            .iter()
            .map(|it| it.aes_samples)
            .sum();
        picture.machine_share = picture.of_machine(aes);
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

    pub fn rate(&self, process: &Process) -> Option<&Rate> {
        let mut rates = self.rates.iter();
        rates.find(|rate| rate.serial == process.serial)
    }
}

/// The finding that stands for a process: its AES code with the most samples, or else what looks
/// like AES.
pub fn main_finding(process: &Process) -> Option<&Finding> {
    let mut aes = process.findings.iter().filter(|it| it.work.is_aes());
    aes.next().or(process.findings.first())
}

/// "VAES 512", "VAES 512 +1" if there is another kind of AES code; "-" without a finding.
pub fn class(process: &Process) -> String {
    let aes = process.findings.iter().filter(|it| it.work.is_aes());
    match (main_finding(process), aes.count()) {
        (None, _) => "-".to_owned(),
        (Some(first), 0 | 1) => first.work.name().to_owned(),
        (Some(first), more) => format!("{} +{}", first.work.name(), more - 1),
    }
}

pub fn mode(process: &Process) -> String {
    let mode = main_finding(process).and_then(|finding| finding.mode);
    mode.map(str::to_uppercase).unwrap_or_default()
}

/// "OpenSSL 3.0.11", or the name of the file.
pub fn library(process: &Process) -> String {
    main_finding(process).map_or(String::new(), |finding| short(&finding.module))
}

fn short(module: &Module) -> String {
    let name = || {
        let path = module.path.as_deref().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    match (&module.library, module.kind) {
        (_, ModuleKind::WrittenAtRunTime) => "(written at run time)".to_owned(),
        (_, ModuleKind::Kernel) => format!("kernel: {}", name()),
        (Some(library), _) => match &library.version {
            Some(version) => format!("{} {}", library.name, terminal::style::clean(version)),
            None => library.name.to_owned(),
        },
        (None, _) => name(),
    }
}

/// "1,234", "0.5".
pub fn megabytes(bytes_per_second: f64) -> String {
    let value = bytes_per_second / 1e6;
    match value {
        v if v >= 9.95 => terminal::style::grouped(v.round() as u64),
        v => format!("{v:.1}"),
    }
}
