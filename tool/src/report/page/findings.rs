// SPDX-License-Identifier: BSD-2-Clause
//! What the doctor found, and which drivers the kernel selects.

use super::super::html::{cell, figure, Html};
use crate::doctor::{Doctor, Finding, Severity};
use crate::kernel::Kernel;

pub fn show(html: &mut Html, doctor: &Doctor) {
    html.section("doctor", "What the doctor found", |html| {
        for line in &doctor.summary {
            html.line("p", "", line);
        }
        for finding in &doctor.findings {
            show_finding(html, finding);
        }
        if doctor.findings.is_empty() {
            html.line("p", "", "Nothing is to be fixed.");
        }
    });
    html.section("kernel", "The kernel", |html| kernel(html, &doctor.kernel));
}

fn show_finding(html: &mut Html, finding: &Finding) {
    let (class, word) = match finding.severity {
        Severity::Problem => ("finding bad", "Problem"),
        Severity::Warning => ("finding warn", "Warning"),
        Severity::Note => ("finding", "Note"),
    };
    html.tag("div", class, |html| {
        html.tag("p", "", |html| {
            html.line("b", "", format!("{word}: "));
            html.text(&finding.says);
        });
        if finding.evidence.is_empty() && finding.cures.is_empty() {
            return;
        }
        html.tag("dl", "", |html| {
            for evidence in &finding.evidence {
                html.line("dt", "", "seen");
                html.line("dd", "", format!("{}: {}", evidence.from, evidence.value));
            }
            for cure in &finding.cures {
                html.line("dt", "", "cure");
                html.line("dd", "", format!("{}: {}", cure.at, cure.set));
            }
        });
    });
}

fn kernel(html: &mut Html, kernel: &Kernel) {
    let module = &kernel.module;
    let state = match (module.loaded, &module.backend) {
        (true, Some(backend)) => format!("tenrounds' kernel module is loaded, backend {backend}."),
        (true, None) => "tenrounds' kernel module is loaded.".to_owned(),
        (false, _) => "tenrounds' kernel module is not loaded.".to_owned(),
    };
    html.line("p", "", state);
    let drivers = kernel.drivers();
    if drivers.is_empty() {
        html.line("p", "", "The kernel shows no driver with AES.");
        return;
    }
    html.table(
        &["Algorithm", "Selected driver", "Module", ">Priority"],
        |table| {
            for driver in drivers.iter().filter(|driver| driver.selected) {
                table.row([
                    cell(&driver.algorithm),
                    cell(&driver.driver),
                    cell(&driver.module),
                    figure(Some(driver.priority), Html::number),
                ]);
            }
        },
    );
}
