// SPDX-License-Identifier: BSD-2-Clause
//! What `doctor` shows to people. The first line is the one that monitoring shows.

use super::examination::Doctor;
use base::finding::{Finding, Severity};
use terminal::style::{item, paint, BAD, BOLD, DIM, GOOD, WARN};

pub fn render(doctor: &Doctor, verbose: bool) -> String {
    let mut out = summary(doctor);
    for severity in [Severity::Problem, Severity::Warning, Severity::Note] {
        out += &findings(doctor, severity, verbose);
    }
    if doctor.processes.unscanned > 0 {
        let n = doctor.processes.unscanned;
        let text = format!("{n} files of processes were not examined, for lack of time.");
        out += &format!("\n{}", item("", paint(DIM, text)));
    }
    out
}

fn summary(doctor: &Doctor) -> String {
    let (style, word) = match doctor.status {
        0 => (GOOD, "OK"),
        1 => (WARN, "WARNING"),
        _ => (BAD, "CRITICAL"),
    };
    let counts = doctor.counts();
    let counts = counts.unwrap_or_else(|| "nothing to fix".to_owned());
    let mut out = format!("tenrounds doctor {}: {counts}\n", paint(style, word));
    for line in &doctor.summary {
        out += &item("", paint(BOLD, line));
    }
    out
}

fn findings(doctor: &Doctor, severity: Severity, verbose: bool) -> String {
    /// Evidence of a finding without --verbose, as of many processes.
    const FEW: usize = 5;
    let (style, title, seen) = match severity {
        Severity::Problem => (BAD, "Problems", FEW),
        Severity::Warning => (WARN, "Warnings", FEW),
        Severity::Note if verbose => (BOLD, "Notes", FEW),
        Severity::Note => (BOLD, "Notes; --verbose shows what was seen", 0),
    };
    let seen = if verbose { usize::MAX } else { seen };
    let all = doctor.findings.iter();
    let shown: Vec<String> = all
        .filter(|finding| finding.severity == severity)
        .map(|finding| show(finding, style, seen))
        .collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("\n{}\n{}", paint(style, title), shown.concat()),
    }
}

/// What is wrong, so much of what was seen, and what to do.
fn show(finding: &Finding, style: anstyle::Style, seen: usize) -> String {
    let mut out = item(&format!("  {} ", paint(style, "*")), &finding.says);
    for evidence in finding.evidence.iter().take(seen) {
        let label = format!("      {} ", paint(DIM, "seen"));
        out += &item(&label, format!("{}: {}", evidence.from, evidence.value));
    }
    for cure in &finding.cures {
        let label = format!("      {} ", paint(GOOD, "cure"));
        out += &item(&label, format!("({}): {}", cure.at, cure.set));
    }
    out
}
