// SPDX-License-Identifier: BSD-2-Clause
//! What `status` and `doctor` show to people of the kernel.

use super::drivers::Driver;
use super::Kernel;
use crate::root::Root;
use terminal::style::{paint, BAD, GOOD, WARN};
use terminal::table::Table;

/// One line for each algorithm: who is selected, and who else is there.
pub fn algorithms(kernel: &Kernel) -> String {
    let drivers = kernel.drivers();
    if drivers.is_empty() {
        return "  The kernel shows no driver with AES\n".to_owned();
    }
    let heads = ["Kernel", "selected", ">priority", ">users", "others"];
    let mut table = Table::new(&heads);
    for group in drivers.chunk_by(|a, b| a.algorithm == b.algorithm) {
        let others = group.iter().filter(|driver| !driver.selected);
        let others: Vec<String> = others.map(other).collect();
        let selected = group.iter().find(|driver| driver.selected);
        let number = |value: fn(&Driver) -> String| selected.map_or_else(String::new, value);
        table.row(vec![
            group[0].algorithm.clone(),
            selected.map_or_else(|| paint(BAD, "none"), |d| painted(d, &d.driver)),
            number(|driver| driver.priority.to_string()),
            // A driver holds one reference to itself.
            number(|driver| driver.refcnt.saturating_sub(1).to_string()),
            others.join(", "),
        ]);
    }
    table.to_string()
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

/// Our module in one line.
pub fn module(kernel: &Kernel) -> String {
    let module = &kernel.module;
    if module.loaded {
        let ours = kernel.drivers().iter().filter(|d| d.backend().is_some());
        let selected = ours.clone().filter(|driver| driver.selected).count();
        let backend = module.backend.as_deref().unwrap_or("unknown");
        return format!(
            "{} loaded, backend {}, selected for {selected} of its {} algorithms",
            module.version.as_deref().unwrap_or("(version unknown)"),
            paint(GOOD, backend),
            ours.count()
        );
    }
    match (&module.file, module.dkms.is_empty()) {
        _ if !module.loadable && !Root::machine().has_proc() => {
            "unknown, because there is no /proc".to_owned()
        }
        _ if !module.loadable => "none, because this kernel loads no modules".to_owned(),
        (Some(file), _) => format!("not loaded; modprobe tenrounds loads {file}"),
        (None, false) => {
            let why = format!("DKMS has not built it for {}", module.release);
            paint(WARN, why)
        }
        (None, true) => "not installed; only disks, tunnels and kernel TLS would use it".to_owned(),
    }
}
