// SPDX-License-Identifier: BSD-2-Clause
//! `report`: what the other commands find out about this machine, in one page for a ticket or an
//! auditor, and the same facts as JSON.

pub mod args;
mod collect;
mod facts;
mod page;
mod verdict;

use crate::report::args::PageArgs;
use base::replaced::{Look, Replaced};
use facts::{Body, Report};
use machine::schema::Document;
use std::path::Path;
use terminal::error::Result;
use terminal::output;
use terminal::style::{item, paint, BOLD, DIM};

/// Checks the file first, because the rest takes time; then collects and writes.
pub fn run(args: &PageArgs) -> Result<()> {
    let html = args.html.as_deref().map(Replaced::prepare).transpose()?;
    let (host, results, report) = collect::everything(args)?;
    let document = Document::new("report", host, results, Body { report });
    if let Some(file) = html {
        file.fill(&page::page(&document, args.full)?, Look::Usual)?;
    }
    match args.json {
        true => output::out(document.to_json()),
        false => output::out(text(&document.body.report, args.html.as_deref())),
    }
}

/// The verdict, and where the rest is.
fn text(report: &Report, page: Option<&Path>) -> String {
    let mut out = String::new();
    for (index, line) in report.verdict.iter().enumerate() {
        out += &match index {
            0 => item("", paint(BOLD, line)),
            _ => item("", line),
        };
    }
    for missing in &report.missing {
        out += &item("", format!("No {}: {}.", missing.part, missing.why));
    }
    let rest = match page {
        Some(page) => format!("The page is {}.", page.display()),
        None => "--html FILE writes the whole report as a page, --json the same facts as JSON."
            .to_owned(),
    };
    out + &item("", paint(DIM, rest))
}
