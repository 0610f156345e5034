// SPDX-License-Identifier: BSD-2-Clause
//! The text of `trace`: the verdict, a table of the code that was seen, and how much the trace can
//! tell.

use super::result::{Evidence, Finding, Module, Place, Process, Trace};
use super::verdict::{bound, percent};
use crate::style::{clean, grouped, item, paint, BOLD, DIM, GOOD, WARN};
use crate::table::Table;
use classify::hot::{Confidence, Work};

pub fn render(trace: &Trace, evidence: bool) -> String {
    let mut out = String::new();
    for (index, line) in trace.verdict.iter().enumerate() {
        out += &match index {
            0 => item("", paint(BOLD, line)),
            _ => item("", line),
        };
    }
    if trace
        .processes
        .iter()
        .any(|process| !process.findings.is_empty())
    {
        out += "\n";
        out += &table(trace).to_string();
    }
    if evidence {
        for process in &trace.processes {
            for finding in &process.findings {
                out += "\n";
                out += &details(process, finding);
            }
        }
    }
    out += "\n";
    for note in notes(trace, evidence) {
        out += &item("", paint(DIM, note));
    }
    out
}

/// The table has no more rows.
const MOST: usize = 30;

fn table(trace: &Trace) -> Table {
    let mut table = Table::new(&[
        "Process",
        "Time",
        "Code",
        "Mode",
        "File",
        "Function",
        "Threads",
        "Confidence",
    ]);
    let rows = trace.processes.iter().flat_map(|process| {
        process
            .findings
            .iter()
            .map(move |finding| (process, finding))
    });
    for (process, finding) in rows.take(MOST) {
        table.row(vec![
            format!("{} ({})", process.name, process.pid),
            percent(finding.share),
            code(finding.work),
            finding.mode.map(str::to_uppercase).unwrap_or_default(),
            finding
                .module
                .path
                .as_deref()
                .map_or("(written at run time)".to_owned(), clean),
            finding.places.first().map(function).unwrap_or_default(),
            finding.threads.to_string(),
            confidence(finding.confidence).to_owned(),
        ]);
    }
    table
}

fn code(work: Work) -> String {
    match work {
        Work::Vaes512 | Work::Vaes256 => paint(GOOD, work.name()),
        Work::Tables | Work::GhashTables => paint(WARN, work.name()),
        work => work.name().to_owned(),
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "certain",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// The name of a function, or the address in the file.
fn function(place: &Place) -> String {
    match &place.function {
        Some(name) => clean(name),
        None => format!("+{:#x}", place.address),
    }
}

/// A finding with its evidence.
fn details(process: &Process, finding: &Finding) -> String {
    let title = format!(
        "{} ({}): {}",
        process.name,
        process.pid,
        finding.work.name()
    );
    let mut out = item("", paint(BOLD, title));
    out += &item("  ", module(&finding.module));
    for place in &finding.places {
        let samples = grouped(place.samples);
        out += &item("  ", format!("{}: {samples} samples", function(place)));
    }
    out + &shown(&finding.evidence)
}

fn module(module: &Module) -> String {
    let mut facts = vec![module
        .path
        .as_deref()
        .map_or("memory without a file".to_owned(), clean)];
    facts.extend(
        module
            .library
            .as_ref()
            .map(|library| match &library.version {
                Some(version) => format!("{} {}", library.name, clean(version)),
                None => library.name.to_owned(),
            }),
    );
    facts.extend(
        module
            .package
            .as_deref()
            .map(|package| format!("package {}", clean(package))),
    );
    facts.extend(
        module
            .build_id
            .as_deref()
            .map(|id| format!("build ID {id}")),
    );
    facts.join(", ")
}

fn shown(evidence: &Evidence) -> String {
    let mut out = String::new();
    if let Some(table) = &evidence.table {
        out += &item(
            "  ",
            format!(
                "uses the {} table at {:#x} in the process",
                table.kind.name(),
                table.address
            ),
        );
    }
    if evidence.start < evidence.end {
        out += &item(
            "  ",
            format!(
                "decided by the code from {:#x} to {:#x}",
                evidence.start, evidence.end
            ),
        );
    }
    for line in &evidence.code {
        let mark = if line.address == evidence.address {
            '>'
        } else {
            ' '
        };
        out += &item(&format!("  {mark} {:x}  ", line.address), &line.text);
    }
    out
}

fn notes(trace: &Trace, evidence: bool) -> Vec<String> {
    let mut notes = vec![format!(
        "{} samples in {:.1} s, at {} samples a second of processor time.",
        grouped(trace.samples),
        trace.seconds,
        trace.rate
    )];
    if let Some(below) = trace.unseen_below {
        notes.push(format!(
            "Code that is not shown was not seen: it takes less than {} of the time.",
            bound(below)
        ));
    }
    notes.push(match trace.kernel_samples {
        Some(kernel) => format!("{} of the samples are in the kernel, whose code is not classified.", grouped(kernel)),
        None => "The kernel's part is not visible to this user: it needs root or CAP_PERFMON. Times are parts of the time in user space.".to_owned(),
    });
    if trace.lost > 0 {
        notes.push(format!(
            "The kernel dropped {} samples, because they came too fast; a lower --rate keeps all.",
            grouped(trace.lost)
        ));
    }
    notes.extend(trace.troubles.iter().cloned());
    if !evidence
        && trace
            .processes
            .iter()
            .any(|process| !process.findings.is_empty())
    {
        notes.push("--evidence shows the code that was seen, and tables that it uses.".to_owned());
    }
    notes
}
