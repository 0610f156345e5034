// SPDX-License-Identifier: BSD-2-Clause
//! What `status` and `doctor` show to people of the kernel.

use super::drivers::Driver;
use super::module::Module;
use super::signatures::Signatures;
use super::Kernel;
use crate::root::Root;
use std::fmt::Write;
use terminal::style::{grouped, paint, BAD, DIM, GOOD, WARN};
use terminal::table::Table;

/// One line for each algorithm: who is selected, and who else is there.
pub fn algorithms(kernel: &Kernel) -> String {
    let drivers = kernel.drivers();
    if drivers.is_empty() {
        return "  The kernel shows no driver with AES\n".to_owned();
    }
    let heads = ["Kernel", "selected", ">priority", ">users", "others"];
    let mut table = Table::new(&heads);
    let mut rest = drivers;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|d| d.algorithm == first.algorithm);
        let (group, others) = rest.split_at(same.count());
        rest = others;
        let others = group.iter().filter(|driver| !driver.selected);
        let others: Vec<String> = others.map(other).collect();
        let selected = group.iter().find(|driver| driver.selected);
        table.row(vec![
            group[0].algorithm.clone(),
            selected.map_or_else(|| paint(BAD, "none"), |d| painted(d, &d.driver)),
            selected.map_or_else(String::new, |d| d.priority.to_string()),
            selected.map_or_else(String::new, |d| users(d).to_string()),
            others.join(", "),
        ]);
    }
    table.to_string()
}

/// A driver holds one reference to itself.
fn users(driver: &Driver) -> u64 {
    driver.refcnt.saturating_sub(1)
}

fn painted(driver: &Driver, text: &str) -> String {
    match driver.backend() {
        Some(_) => paint(GOOD, text),
        None => text.to_owned(),
    }
}

fn other(driver: &Driver) -> String {
    let selftest = match driver.passed() {
        true => String::new(),
        false => paint(BAD, format!(" self-test {}", driver.selftest)),
    };
    let text = format!("{} {}", driver.driver, driver.priority);
    format!("{}{selftest}", painted(driver, &text))
}

/// All drivers, a line for each.
pub fn drivers(drivers: &[Driver]) -> String {
    if drivers.is_empty() {
        return String::new();
    }
    let heads = [
        "Kernel",
        "driver",
        "module",
        ">priority",
        "self-test",
        ">users",
        "selected",
    ];
    let mut table = Table::new(&heads);
    for d in drivers {
        table.row(vec![
            d.algorithm.clone(),
            d.driver.clone(),
            d.module.clone(),
            d.priority.to_string(),
            d.selftest.clone(),
            users(d).to_string(),
            if d.selected { "yes" } else { "" }.to_owned(),
        ]);
    }
    format!("\n{table}")
}

/// Our module in one line.
pub fn module(kernel: &Kernel) -> String {
    let module = &kernel.module;
    if !module.loaded {
        return absent(module);
    }
    let ours = kernel
        .drivers()
        .iter()
        .filter(|driver| driver.backend().is_some());
    let selected = ours.clone().filter(|driver| driver.selected).count();
    let backend = module.backend.as_deref().unwrap_or("unknown");
    let mut line = format!(
        "{} loaded, backend {}, selected for {selected} of its {} algorithms",
        module.version.as_deref().unwrap_or("(version unknown)"),
        paint(GOOD, backend),
        ours.count()
    );
    for (name, value) in &module.parameters {
        if module.set(name).is_some() {
            let _ = write!(line, ", {}", paint(WARN, format!("{name}={value}")));
        }
    }
    line
}

fn absent(module: &Module) -> String {
    match (&module.file, module.by_dkms()) {
        _ if !module.loadable && !Root::machine().has_proc() => {
            "unknown, because there is no /proc".to_owned()
        }
        _ if !module.loadable => "none, because this kernel loads no modules".to_owned(),
        (Some(file), _) => format!("not loaded; modprobe tenrounds loads {file}"),
        (None, true) => paint(
            WARN,
            format!("DKMS has not built it for {}", module.release),
        ),
        (None, false) => {
            "not installed; only disks, tunnels and kernel TLS would use it".to_owned()
        }
    }
}

/// A line for each algorithm that was used, and one for the vector registers; nothing if nothing
/// was counted.
pub fn counters(module: &Module) -> String {
    let Some(counters) = &module.counters else {
        return String::new();
    };
    let mut table = Table::new(&["Counted", ">calls", ">bytes", ">steps"]);
    for count in &counters.algorithms {
        table.row(vec![
            count.algorithm.clone(),
            grouped(count.calls),
            grouped(count.bytes),
            grouped(count.steps),
        ]);
    }
    let longest = counters.longest_hold_ns;
    let longest = longest.map_or_else(String::new, |ns| {
        format!(", the longest {} ns", grouped(ns))
    });
    let registers = format!(
        "  vector registers: granted {} times{longest}, refused {}",
        grouped(counters.holds),
        grouped(counters.refused)
    );
    format!("{table}{}\n", paint(DIM, registers))
}

/// Whether a module that is built here would load.
pub fn signatures(s: &Signatures) -> String {
    if !s.required {
        let boot = match s.secure_boot {
            Some(true) => "on, and yet this kernel asks for no signatures",
            Some(false) => "off; the kernel asks for no signatures",
            None => "not seen; the kernel asks for no signatures",
        };
        return boot.to_owned();
    }
    let why = match (&s.lockdown, s.secure_boot) {
        (Some(level), _) if level != "none" => format!("this kernel is locked down ({level})"),
        (_, Some(true)) => "on".to_owned(),
        _ => "the kernel is told to demand signatures".to_owned(),
    };
    let verdict = match (s.loads, s.signed) {
        (Some(true), _) => paint(GOOD, "DKMS's key is enrolled, so that its modules load"),
        (Some(false), Some(false)) => paint(BAD, "the module is not signed and would be refused"),
        _ if !s.exists => {
            "modules of DKMS load once its key is enrolled; DKMS makes the key when it first builds one"
                .to_owned()
        }
        (Some(false), _) => paint(
            BAD,
            format!("modules of DKMS are refused until: {}", s.line()),
        ),
        (None, _) => format!(
            "modules of DKMS load once its key is enrolled: {}",
            s.line()
        ),
    };
    format!("{why}; {verdict}")
}
