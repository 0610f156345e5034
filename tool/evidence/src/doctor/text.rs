// SPDX-License-Identifier: BSD-2-Clause
//! What `doctor` shows to people. The first line is the one that monitoring shows.

use super::examination::Doctor;
use super::pkcs11::Pkcs11;
use base::finding::{Finding, Severity};
use base::inventory::processes::{count, Library, Process};
use base::kernel::drivers::is_software;
use base::kernel::text;
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
    let having = |which: fn(&Process) -> bool| list.iter().filter(|p| which(p)).count();
    let left = match doctor.processes.unscanned {
        0 => String::new(),
        n => format!("; {n} files were not examined, for lack of time"),
    };
    line(format!(
        "{}: {} with libcrypto, {} with tenrounds, {} with bundled cryptography{left}",
        count(doctor.processes.seen),
        having(|p| !p.libcrypto.is_empty()),
        having(|p| p.tenrounds.is_some()),
        having(|p| !p.carries.is_empty())
    ));
    let kernel = &doctor.kernel;
    let selected = kernel.drivers().iter().filter(|driver| driver.selected);
    let software = selected.clone().filter(|d| is_software(&d.driver));
    line(format!(
        "kernel: {} algorithms with AES, {} of them in software; {} encrypted disks",
        selected.count(),
        software.count(),
        doctor.disks.len()
    ));
    line(format!("kernel module: {}", text::module(kernel)));
    line(pkcs11(&doctor.pkcs11));
    out
}

fn pkcs11(looked: &Pkcs11) -> String {
    let module = match (&looked.module, &looked.works) {
        (None, _) => "no module was tried".to_owned(),
        (Some(path), None) => format!("{} does not work or was not tried", path.display()),
        (Some(path), Some(seen)) => format!("{} works, on {}", path.display(), seen.model),
    };
    let files = looked.registered.len();
    format!("PKCS#11: {module}; named in {files} files of p11-kit and JDKs")
}

fn listed(doctor: &Doctor) -> String {
    if doctor.processes.list.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[">PID", "process", "libcrypto", "tenrounds", "of its own"]);
    for process in &doctor.processes.list {
        let library = |library: &Library| {
            let version = library.version.as_deref().unwrap_or("?");
            let gone = if library.deleted { ", replaced" } else { "" };
            format!("{version}{gone} {}", library.path)
        };
        let libraries: Vec<String> = process.libcrypto.iter().map(library).collect();
        let loaded = process.tenrounds.as_ref().map_or("no", |_| "yes");
        table.row(vec![
            process.pid.to_string(),
            process.name.clone(),
            libraries.join(", "),
            loaded.to_owned(),
            process.carries.join(", "),
        ]);
    }
    format!("\n{table}")
}
