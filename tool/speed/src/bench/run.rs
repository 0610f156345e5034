// SPDX-License-Identifier: BSD-2-Clause
//! What a run found.

use super::figure::{blocks, limit_rows, Figure};
use super::measure::{self, Limits};
use super::paths::Paths;
use super::plan::Plan;
use ::measure::busy::{Disturbance, Load, Watch};
use ::measure::limit::Limit;
use ::measure::rounds::Disturbed;
use libcrypto::LibCrypto;
use machine::masks;
use machine::schema::{Host, Measurement};
use serde::Serialize;
use std::time::{Duration, Instant};
use tenrounds_sys::Backend;
use terminal::error::Result;

/// Everything that a run found.
pub struct Run {
    pub host: Host,
    /// In the order of the plan; an algorithm's sizes with one number of threads are neighbours.
    pub figures: Vec<Figure>,
    /// The limits by themselves; none where the processor has no AES instructions.
    pub limits: Limits,
    pub widest: Option<Limit>,
    pub backend: Option<Backend>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    /// Of each figure.
    pub rounds: usize,
    pub clocks: Disturbed,
    pub took: Duration,
    pub load: Option<Load>,
    /// What libcrypto says about the processor.
    pub cpu_settings: Option<String>,
    /// Of --paths.
    pub paths: Option<Paths>,
}

/// How a run was measured, for the JSON of `bench` and `report`: docs/json.md.
#[derive(Serialize)]
pub struct How {
    /// Seconds that the command took.
    seconds: f64,
    /// Rounds of each figure, microseconds of each window.
    pub rounds: usize,
    pub window_us: u64,
    /// Windows repeated because wall clock and CPU time disagreed, and windows that count
    /// nevertheless.
    windows_repeated: usize,
    windows_doubtful: usize,
    pub busy: bool,
    /// null: /proc/stat could not be read.
    load: Option<Load>,
    pub notes: Vec<String>,
}

pub fn run(plan: &Plan) -> Result<Run> {
    let watch = Watch::start();
    let started = Instant::now();
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let mut found = measure::measure(plan)?;
    Ok(Run {
        host: machine::host::read(Some(&libcrypto)),
        figures: found.figures(),
        widest: found.widest,
        limits: found.limits,
        backend: found.backend.as_deref().and_then(Backend::by_name),
        notes: found.notes,
        rounds: found.rounds,
        clocks: found.clocks,
        took: started.elapsed(),
        load: watch.end(),
        cpu_settings: libcrypto.cpu_settings(),
        paths: None,
    })
}

impl Run {
    /// "OpenSSL 3.0.22", without the date.
    pub fn openssl(&self) -> String {
        let words = self.openssl_version().split(' ');
        words.take(2).collect::<Vec<_>>().join(" ")
    }

    pub fn openssl_version(&self) -> &str {
        let openssl = self.host.openssl.as_ref();
        openssl.map_or("OpenSSL", |openssl| openssl.version.as_str())
    }

    /// The processor, and the virtual machine that it is in.
    pub fn place(&self) -> String {
        let brand = &self.host.cpu.brand;
        match &self.host.hypervisor {
            Some(name) => format!("{brand}, in a virtual machine ({name})"),
            None => brand.clone(),
        }
    }

    /// The line below the title of a picture: "AMD EPYC · busy virtual machine (KVM) · OpenSSL
    /// 3.0.22 · tenrounds 0.1.0 · 2026-11-21".
    pub fn about(&self) -> String {
        let is_busy = self.disturbance().is_busy();
        let busy = if is_busy { "busy " } else { "" };
        let machine = match &self.host.hypervisor {
            Some(name) => Some(format!("{busy}virtual machine ({name})")),
            None => is_busy.then(|| "busy machine".to_owned()),
        };
        let parts = [
            Some(self.host.cpu.brand.clone()),
            machine,
            Some(self.openssl_version().to_owned()),
            Some(format!("tenrounds {}", env!("CARGO_PKG_VERSION"))),
            Some(terminal::today()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// Each mask in force, as a line.
    pub fn masks(&self) -> impl Iterator<Item = String> + '_ {
        let masks = self.host.masks.iter();
        masks.map(|(name, mask)| format!("mask in force: {name}={} ({})", mask.value, mask.hex))
    }

    pub fn backend(&self) -> &'static str {
        self.backend.map_or("none", |backend| backend.name())
    }

    pub fn blocks(&self) -> Vec<&[Figure]> {
        blocks(&self.figures)
    }

    pub fn disturbance(&self) -> Disturbance {
        let rates = self
            .figures
            .iter()
            .flat_map(|f| f.rounds.rates.by_subject.values());
        Disturbance {
            load: self.load,
            windows: rates.map(Vec::len).sum(),
            clocks: self.clocks,
        }
    }

    /// "40", or "12 to 40" where a busy machine left no time for all.
    pub fn shown_rounds(&self) -> String {
        let rates = self
            .figures
            .iter()
            .flat_map(|f| f.rounds.rates.by_subject.values());
        let fewest = rates.map(Vec::len).min();
        match fewest.filter(|fewest| *fewest < self.rounds) {
            Some(fewest) => format!("{fewest} to {}", self.rounds),
            None => self.rounds.to_string(),
        }
    }

    /// The rows of the JSON document.
    pub fn rows(&self) -> Vec<Measurement> {
        let mut rows = limit_rows(&self.limits);
        for figure in &self.figures {
            let mut found = figure.rows(self.backend, self.widest);
            if let Some(paths) = &self.paths {
                paths.name_drivers(figure, &mut found);
            }
            rows.extend(found);
        }
        rows
    }

    pub fn how(&self) -> How {
        How {
            seconds: self.took.as_secs_f64(),
            rounds: self.rounds,
            window_us: measure::WINDOW_US,
            windows_repeated: self.clocks.repeated,
            windows_doubtful: self.clocks.doubtful,
            busy: self.disturbance().is_busy(),
            load: self.load,
            notes: self.notes.clone(),
        }
    }
}
