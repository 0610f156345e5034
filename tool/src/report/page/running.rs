// SPDX-License-Identifier: BSD-2-Clause
//! Which AES code runs now, and which processes have an OpenSSL.

use super::super::facts::Report;
use super::super::html::{cell, figure, Cell, Html};
use crate::doctor::Doctor;
use crate::trace::{Finding, ModuleKind, Place, Process, Trace};
use classify::hot::Confidence;

/// A table has no more rows; the JSON document has all.
const MOST: usize = 40;
/// Processes without AES code are not shown beyond the busiest.
const BUSIEST: usize = 8;

pub fn show(html: &mut Html, report: &Report) {
    html.section("running", "What runs now", |html| {
        match &report.trace {
            Some(trace) => traced(html, trace),
            None => html.line(
                "p",
                "warn",
                "Processes could not be traced; the end of the report has the reason.",
            ),
        }
        openssl(html, &report.doctor);
    });
}

fn traced(html: &mut Html, trace: &Trace) {
    for line in &trace.verdict {
        html.line("p", "", line);
    }
    let with_findings = trace.processes.iter().flat_map(|process| {
        let findings = process.findings.iter();
        findings.map(move |finding| (process, finding))
    });
    if with_findings.clone().next().is_some() {
        code(html, with_findings);
    }
    let mut others: Vec<&Process> = trace.processes.iter().collect();
    others.retain(|process| process.findings.is_empty());
    others.sort_by_key(|process| std::cmp::Reverse(process.samples));
    if !others.is_empty() {
        html.line("h3", "", "The busiest processes without AES code");
        html.table(
            &["Process", ">Samples", ">In the kernel", ">Threads"],
            |table| {
                for process in others.into_iter().take(BUSIEST) {
                    table.row([
                        named(&process.name, process.pid),
                        figure(Some(process.samples), Html::count),
                        figure(Some(process.kernel_samples), Html::count),
                        figure(Some(process.threads), Html::count),
                    ]);
                }
            },
        );
    }
    notes(html, trace);
}

/// A process by its name and number.
fn named(name: &str, pid: u32) -> Cell<'_> {
    Box::new(move |html| {
        html.text(name);
        html.text(" (");
        html.number(pid);
        html.text(")");
    })
}

/// A row for each kind of code in each file.
fn code<'t>(html: &mut Html, findings: impl Iterator<Item = (&'t Process, &'t Finding)>) {
    let heads = &[
        "Process",
        ">Time",
        "Code",
        "Mode",
        "File",
        "Function",
        "Confidence",
        "With tenrounds",
    ];
    html.table(heads, |table| {
        for (process, finding) in findings.take(MOST) {
            table.row([
                named(&process.name, process.pid),
                figure(Some(finding.share), Html::share),
                cell(finding.work.name()),
                cell(finding.mode.unwrap_or("-").to_uppercase()),
                cell(file(finding)),
                figure(finding.places.first(), function),
                cell(confidence(finding.confidence)),
                cell(finding.with_tenrounds.as_deref().unwrap_or("-")),
            ]);
        }
    });
}

fn file(finding: &Finding) -> String {
    let module = &finding.module;
    let path = module.path.as_deref().unwrap_or("written at run time");
    let deleted = match module.kind {
        ModuleKind::Deleted => " (deleted)",
        _ => "",
    };
    format!("{path}{deleted}")
}

/// The name of a function, or its address in the file.
fn function(html: &mut Html, place: &Place) {
    match &place.function {
        Some(name) => html.text(name),
        None => html.address(place.address),
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "certain",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

fn notes(html: &mut Html, trace: &Trace) {
    html.tag("p", "note", |html| {
        html.count(trace.samples);
        html.text(" samples in ");
        html.seconds(trace.seconds);
        html.text(". ");
        if let Some(below) = trace.unseen_below {
            html.text(
                "AES instructions, byte shuffles and tables that are not shown take less than ",
            );
            html.bound(below);
            html.text(" of the time. ");
        }
        match trace.kernel_samples {
            Some(kernel) => {
                html.count(kernel);
                html.text(" samples are in the kernel.");
            }
            None => {
                html.text("The kernel is not visible to this user: that needs root or CAP_PERFMON.")
            }
        }
        if trace.lost > 0 {
            html.text(" The kernel dropped ");
            html.count(trace.lost);
            html.text(" samples.");
        }
    });
    for trouble in &trace.troubles {
        html.line("p", "note", trouble);
    }
}

/// The processes that have mapped a libcrypto, and which provider.
fn openssl(html: &mut Html, doctor: &Doctor) {
    let processes = &doctor.processes;
    let mut using = processes
        .list
        .iter()
        .filter(|p| !p.libcrypto.is_empty())
        .peekable();
    if using.peek().is_some() {
        html.line("h3", "", "Processes with OpenSSL");
        html.table(&["Process", "libcrypto", "tenrounds loaded"], |table| {
            for process in using.take(MOST) {
                let libraries = process.libcrypto.iter().map(|library| {
                    let version = library.version.as_deref().unwrap_or("of unknown version");
                    let deleted = if library.deleted { ", deleted" } else { "" };
                    format!("{} ({version}{deleted})", library.path)
                });
                table.row([
                    named(&process.name, process.pid),
                    cell(libraries.collect::<Vec<_>>().join(", ")),
                    cell(process.tenrounds.as_deref().unwrap_or("no")),
                ]);
            }
        });
    }
    html.tag("p", "note", |html| {
        html.count(processes.seen);
        html.text(" processes were seen, ");
        html.count(processes.unreadable);
        html.text(" of them by name only. Long tables are cut; the JSON has all.");
    });
}
