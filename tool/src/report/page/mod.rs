// SPDX-License-Identifier: BSD-2-Clause
//! The page: a first screen for a reader in a hurry, then the evidence.

mod before;
mod findings;
mod first;
mod installed;
mod machine;
mod running;
mod speed;

use super::facts::Body;
use super::html::{cell, Html};
use ::machine::schema::Document;

const STYLE: &str = include_str!("style.css");

pub fn page(document: &Document<Body>) -> String {
    let (host, report) = (&document.host, &document.body.report);
    let mut html = Html::new(&format!("AES on {}", host.cpu.brand), STYLE);
    first::show(&mut html, document);
    if let Some(before) = &report.before {
        before::show(&mut html, document, before);
    }
    if let Some(detect) = &report.detect {
        machine::show(&mut html, host, detect);
    }
    if let Some(how) = &report.bench {
        speed::show(&mut html, &document.results, how, report.before.as_ref());
    }
    running::show(&mut html, report);
    installed::show(&mut html, &report.scan);
    findings::show(&mut html, &report.doctor);
    made(&mut html, document);
    html.end()
}

/// How the report was made, and what it lacks.
fn made(html: &mut Html, document: &Document<Body>) {
    let report = &document.body.report;
    html.section("made", "How this report was made", |html| {
        html.tag("p", "", |html| {
            html.text(format!("tenrounds {} wrote it in ", document.version));
            html.seconds(report.seconds);
            html.text(
                ". It only read: no program was changed, and nothing was written into a process. \
                 The same facts are in the file of --json.",
            );
        });
        if !report.missing.is_empty() {
            html.table(&["Missing", "Reason"], |table| {
                for missing in &report.missing {
                    table.row([cell(missing.part), cell(&missing.why)]);
                }
            });
        }
    });
}
