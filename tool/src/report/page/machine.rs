// SPDX-License-Identifier: BSD-2-Clause
//! Which code is selected for each mode, and what would make it faster.

use super::super::html::{cell, Html};
use crate::detect::{Code, Detect, Row};
use machine::schema::Host;

pub fn show(html: &mut Html, host: &Host, detect: &Detect) {
    html.section("selected", "What is selected", |html| {
        for line in &detect.verdict {
            html.line("p", "", line);
        }
        let heads = &["AES mode", "Direction", "tenrounds", "OpenSSL", "Kernel"];
        html.table(heads, |table| {
            for row in &detect.table {
                table.row([
                    cell(row.title),
                    cell(row.directions.join(", ")),
                    cell(words(row.tenrounds)),
                    cell(words(row.openssl)),
                    cell(kernel(row)),
                ]);
            }
        });
        html.line("p", "note", "-: no code for this mode.");
        details(html, host, detect);
        advice(html, detect);
    });
}

fn words(code: Option<Code>) -> &'static str {
    code.map_or("-", Code::words)
}

fn kernel(row: &Row) -> String {
    match (&row.driver, row.kernel) {
        (None, _) => "-".to_owned(),
        (Some(driver), None) => driver.clone(),
        (Some(driver), Some(code)) => format!("{} ({driver})", code.words()),
    }
}

/// What an engineer asks next about the processor.
fn details(html: &mut Html, host: &Host, detect: &Detect) {
    html.tag("dl", "", |html| {
        let mut fact = |name: &'static str, value: &str| {
            html.line("dt", "", name);
            html.line("dd", "", value);
        };
        fact("Microcode", host.microcode.as_deref().unwrap_or("unknown"));
        fact("Governor", host.governor.as_deref().unwrap_or("unknown"));
        let usable = detect.instructions.iter().filter(|i| i.usable && !i.masked);
        let usable: Vec<&str> = usable.map(|instruction| instruction.name).collect();
        fact("Instructions", &usable.join(", "));
        let masked = detect.instructions.iter().filter(|i| i.masked);
        let masked: Vec<&str> = masked.map(|instruction| instruction.name).collect();
        if !masked.is_empty() {
            fact("Masked", &masked.join(", "));
        }
        for (name, mask) in &host.masks {
            html.line("dt", "", name);
            html.line("dd", "", &mask.value);
        }
        let mut fact = |name: &'static str, value: &str| {
            html.line("dt", "", name);
            html.line("dd", "", value);
        };
        if let Some(settings) = host.openssl.as_ref().and_then(|o| o.cpu_settings.as_ref()) {
            fact("OpenSSL says", settings);
        }
        let provider = &detect.provider;
        fact(
            "Provider",
            provider.module.as_deref().unwrap_or("not found"),
        );
        fact("AES from", provider.in_use.as_deref().unwrap_or("nobody"));
    });
    for warning in &detect.warnings {
        html.line("p", "warn", warning);
    }
}

fn advice(html: &mut Html, detect: &Detect) {
    if detect.advice.is_empty() {
        return;
    }
    html.line("h3", "", "A setting away");
    for advice in &detect.advice {
        let gives = match advice.gives {
            Some(backend) => format!(" It would give the backend {backend}."),
            None => String::new(),
        };
        let problem = advice.problem.trim_end_matches(':');
        html.line("p", "warn", format!("{problem}.{gives}"));
        html.table(&["Where", "What to set"], |table| {
            for setting in &advice.settings {
                table.row([cell(&setting.at), cell(&setting.set)]);
            }
        });
    }
}
