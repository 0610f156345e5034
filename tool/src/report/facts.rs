// SPDX-License-Identifier: BSD-2-Clause
//! The report, as its JSON document has it.

use evidence::doctor::{Doctor, Severity};
use evidence::scan::{has_aes, is_reached, Scan};
use evidence::trace::Trace;
use machine::schema::Measurement;
use serde::Serialize;
use setup::detect::Detect;
use speed::bench::How;

#[derive(Serialize)]
pub struct Body {
    pub report: Report,
}

/// The object `report` of the JSON document. Its parts are the objects of other commands.
#[derive(Serialize)]
pub struct Report {
    /// The title of the reader's own, of `--label`.
    pub label: Option<String>,
    /// The first lines of the page.
    pub verdict: Vec<String>,
    /// The day of the report, by UTC.
    pub date: String,
    /// The duration of the command.
    pub seconds: f64,
    /// The figures of the first screen.
    pub summary: Summary,
    /// Parts that are null, and why.
    pub missing: Vec<Missing>,
    pub detect: Option<Detect>,
    /// How the results were measured.
    pub bench: Option<How>,
    pub trace: Option<Trace>,
    pub scan: Scan,
    pub doctor: Doctor,
}

#[derive(Serialize)]
pub struct Missing {
    /// "trace" and so on, in words.
    pub part: &'static str,
    pub why: String,
}

/// What a reader in a hurry wants to know.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// Whether OpenSSL's configuration prefers tenrounds: "yes", "partly", "no".
    pub in_force: String,
    /// The backend that is selected.
    pub backend: Option<String>,
    /// The fraction of processor time in AES code.
    pub aes_share: Option<f64>,
    pub gains: Vec<Gain>,
    /// Files with AES code, and those of them that tenrounds reaches.
    pub files: usize,
    pub reached: usize,
    /// Findings of the doctor.
    pub problems: usize,
    pub warnings: usize,
    pub notes: usize,
}

/// How much faster than stock OpenSSL tenrounds does a mode.
#[derive(Debug, Serialize)]
pub struct Gain {
    pub algorithm: String,
    pub direction: String,
    /// Bytes of one call.
    pub bytes: usize,
    /// Bytes a second.
    pub openssl: f64,
    pub tenrounds: f64,
    /// The median of paired ratios.
    pub ratio: f64,
}

impl Gain {
    /// "AES-256-CBC decrypt".
    pub fn title(&self) -> String {
        format!("{} {}", self.algorithm.to_ascii_uppercase(), self.direction)
    }
}

impl Summary {
    pub fn of(
        detect: Option<&Detect>,
        results: &[Measurement],
        trace: Option<&Trace>,
        scan: &Scan,
        doctor: &Doctor,
    ) -> Summary {
        let with_aes = scan.files.iter().filter(|entry| has_aes(entry));
        Summary {
            in_force: doctor.in_force.word().to_owned(),
            backend: detect.map(|detect| detect.backend.to_owned()),
            aes_share: trace
                .filter(|trace| trace.samples > 0)
                .map(|trace| trace.aes_share),
            gains: gains(results),
            files: with_aes.clone().count(),
            reached: with_aes.filter(|entry| is_reached(entry.reach)).count(),
            problems: doctor.count(Severity::Problem),
            warnings: doctor.count(Severity::Warning),
            notes: doctor.count(Severity::Note),
        }
    }
}

/// A gain for each algorithm, direction and size that both did.
fn gains(results: &[Measurement]) -> Vec<Gain> {
    let ours = results
        .iter()
        .filter(|row| row.implementation == "tenrounds");
    ours.filter_map(|ours| {
        let theirs = results.iter().find(|row| {
            row.implementation == "openssl"
                && (&row.algorithm, row.direction) == (&ours.algorithm, ours.direction)
                && (row.bytes, row.threads) == (ours.bytes, ours.threads)
        })?;
        Some(Gain {
            algorithm: ours.algorithm.clone(),
            direction: ours.direction.to_owned(),
            bytes: ours.bytes,
            openssl: theirs.bytes_per_second,
            tenrounds: ours.bytes_per_second,
            ratio: *ours.ratio_to.get("openssl")?,
        })
    })
    .collect()
}
