// SPDX-License-Identifier: BSD-2-Clause
//! What `doctor` shows to people. The first line is the one that monitoring shows.

use super::examination::Doctor;
use super::pkcs11::Pkcs11;
use crate::finding::{Finding, Severity};
use crate::inventory::processes::{count, Process};
use crate::kernel::drivers::is_software;
use crate::kernel::text;
use std::collections::BTreeMap;
use std::fmt::Write;
use terminal::style::{item, paint, BAD, BOLD, DIM, GOOD, WARN};
use terminal::table::Table;

pub fn render(doctor: &Doctor, verbose: bool) -> String {
    let mut out = summary(doctor);
    for severity in [Severity::Problem, Severity::Warning, Severity::Note] {
        out.push_str(&findings(doctor, severity, verbose));
    }
    out.push_str(&looked_at(doctor));
    if verbose {
        out.push_str(&listed(doctor));
        out.push_str(&drivers(doctor));
    }
    out
}

fn number(doctor: &Doctor, severity: Severity, word: &str) -> Option<String> {
    match doctor
        .findings
        .iter()
        .filter(|f| f.severity == severity)
        .count()
    {
        0 => None,
        1 => Some(format!("1 {word}")),
        n => Some(format!("{n} {word}s")),
    }
}

fn summary(doctor: &Doctor) -> String {
    let counts = [
        number(doctor, Severity::Problem, "problem"),
        number(doctor, Severity::Warning, "warning"),
        number(doctor, Severity::Note, "note"),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let (style, word) = match doctor.status {
        0 => (GOOD, "OK"),
        1 => (WARN, "WARNING"),
        _ => (BAD, "CRITICAL"),
    };
    let nothing = "nothing to fix".to_owned();
    let counts = if counts.is_empty() {
        nothing
    } else {
        counts.join(", ")
    };
    let mut out = format!("tenrounds doctor {}: {counts}\n", paint(style, word));
    for line in &doctor.summary {
        out += &item("", paint(BOLD, line));
    }
    out
}

fn findings(doctor: &Doctor, severity: Severity, verbose: bool) -> String {
    let full = verbose || severity > Severity::Note;
    let (style, title) = match severity {
        Severity::Problem => (BAD, "Problems"),
        Severity::Warning => (WARN, "Warnings"),
        Severity::Note if full => (BOLD, "Notes"),
        Severity::Note => (BOLD, "Notes; --verbose shows what was seen"),
    };
    let all = doctor.findings.iter();
    let shown: Vec<String> = all
        .filter(|finding| finding.severity == severity)
        .map(|finding| show(finding, style, full))
        .collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("\n{}\n{}", paint(style, title), shown.concat()),
    }
}

/// What is wrong and what to do, and in full what was seen.
fn show(finding: &Finding, style: anstyle::Style, full: bool) -> String {
    let mut out = item(&format!("  {} ", paint(style, "*")), &finding.says);
    if full {
        for evidence in &finding.evidence {
            let label = format!("      {} ", paint(DIM, "seen"));
            out += &item(&label, format!("{}: {}", evidence.from, evidence.value));
        }
    }
    for cure in &finding.cures {
        let label = format!("      {} ", paint(GOOD, "cure"));
        out += &item(&label, format!("({}): {}", cure.at, cure.set));
    }
    out
}

/// What the verdict rests on, in a few lines.
fn looked_at(doctor: &Doctor) -> String {
    let mut out = format!("\n{}\n", paint(BOLD, "Looked at"));
    let mut line = |text: String| out += &item("  ", text);
    if doctor.openssl.is_empty() {
        line("no libcrypto is installed".to_owned());
    }
    for install in &doctor.openssl {
        let directory = install.directory.as_ref();
        let directory = directory.map_or("unknown directory".into(), |d| d.display().to_string());
        let (name, kind) = (install.name(), &install.kind);
        line(format!("{name}, {kind}, {directory}/openssl.cnf"));
    }
    let list = &doctor.processes.list;
    let having = |which: &dyn Fn(&Process) -> bool| list.iter().filter(|p| which(p)).count();
    line(format!(
        "{}: {} with libcrypto, {} with tenrounds, {} with bundled cryptography",
        count(doctor.processes.seen),
        having(&|p| !p.libcrypto.is_empty()),
        having(&|p| p.tenrounds.is_some()),
        having(&|p| !p.carries.is_empty())
    ));
    let kernel = &doctor.kernel.kernel;
    let selected = kernel.drivers().iter().filter(|d| d.selected);
    let mut by_kind: BTreeMap<bool, usize> = BTreeMap::new();
    for driver in selected {
        *by_kind.entry(is_software(&driver.driver)).or_default() += 1;
    }
    let kinds = |software| by_kind.get(&software).copied().unwrap_or(0);
    line(format!(
        "kernel: {} algorithms with AES, {} of them in software; {} encrypted disks",
        kinds(true) + kinds(false),
        kinds(true),
        doctor.kernel.disks.len()
    ));
    line(format!("kernel module: {}", text::module(kernel)));
    line(format!(
        "Secure Boot: {}",
        text::signatures(&kernel.signatures)
    ));
    line(pkcs11(&doctor.pkcs11));
    out
}

fn pkcs11(looked: &Pkcs11) -> String {
    let module = match (&looked.module, &looked.works) {
        (None, _) => "no module was tried".to_owned(),
        (Some(path), None) => format!("{} does not work or was not tried", path.display()),
        (Some(path), Some(seen)) => format!("{} works, on {}", path.display(), seen.model),
    };
    let files = match looked.registered.len() {
        1 => "1 file".to_owned(),
        n => format!("{n} files"),
    };
    format!("PKCS#11: {module}; named in {files} of p11-kit and JDKs")
}

fn listed(doctor: &Doctor) -> String {
    if doctor.processes.list.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[">PID", "process", "libcrypto", "tenrounds", "of its own"]);
    for process in &doctor.processes.list {
        let libraries: Vec<String> = process
            .libcrypto
            .iter()
            .map(|l| {
                let version = l.version.as_deref().unwrap_or("?");
                let gone = if l.deleted { ", replaced" } else { "" };
                format!("{version}{gone} {}", l.path)
            })
            .collect();
        let own = [process.carries.join(", "), process.other.join(", ")];
        let own: Vec<String> = own.into_iter().filter(|text| !text.is_empty()).collect();
        table.row(vec![
            process.pid.to_string(),
            process.name.clone(),
            libraries.join(", "),
            if process.tenrounds.is_some() {
                "yes"
            } else {
                "no"
            }
            .to_owned(),
            own.join(", "),
        ]);
    }
    format!("\n{table}")
}

fn drivers(doctor: &Doctor) -> String {
    let kernel = &doctor.kernel.kernel;
    let mut out = text::drivers(kernel.drivers());
    let counters = text::counters(&kernel.module);
    if !counters.is_empty() {
        let _ = write!(out, "\n{counters}");
    }
    if !doctor.kernel.disks.is_empty() {
        let mut table = Table::new(&[
            "Disk",
            "kind",
            "cipher",
            ">key bits",
            ">sector",
            "work queues",
            "driver",
        ]);
        let unknown = || "?".to_owned();
        for d in &doctor.kernel.disks {
            let queues = match (d.no_read_workqueue, d.no_write_workqueue) {
                (Some(true), Some(true)) => "none",
                (Some(false), Some(false)) => "reading and writing",
                (Some(true), Some(false)) => "writing",
                (Some(false), Some(true)) => "reading",
                _ => "?",
            };
            table.row(vec![
                d.name.clone(),
                d.kind.clone(),
                d.cipher.clone().unwrap_or_else(unknown),
                d.key_bits.map_or_else(unknown, |n| n.to_string()),
                d.sector_size.map_or_else(unknown, |n| n.to_string()),
                queues.to_owned(),
                d.driver.clone().unwrap_or_else(unknown),
            ]);
        }
        let _ = write!(out, "\n{table}");
    }
    out
}
