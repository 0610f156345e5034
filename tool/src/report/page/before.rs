// SPDX-License-Identifier: BSD-2-Clause
//! An earlier report and this one side by side.

use super::super::earlier::Earlier;
use super::super::facts::{Body, Gain, Summary};
use super::super::html::{cell, figure, Html, Table};
use super::first::openssl;
use machine::schema::Document;

pub fn show(html: &mut Html, document: &Document<Body>, before: &Earlier) {
    let (host, report) = (&document.host, &document.body.report);
    html.section("before", "Before and after", |html| {
        if before.processor != host.cpu.brand {
            html.line(
                "p",
                "warn",
                "The earlier report is of another processor, so the rates are not comparable.",
            );
        }
        html.table(&["Fact", "Before", "Now"], |table| {
            let mut fact = |name: &'static str, before: &str, now: &str| {
                table.row([cell(name), cell(before), cell(now)]);
            };
            fact("Date", &before.date, &report.date);
            fact("Processor", &before.processor, &host.cpu.brand);
            fact("Kernel", &before.kernel, &host.kernel);
            let earlier = before.openssl.as_deref().unwrap_or("not found");
            fact("OpenSSL", earlier, openssl(host));
            fact("tenrounds", &before.version, document.version);
            summaries(table, &before.summary, &report.summary);
        });
        rates(html, &before.summary, &report.summary);
    });
}

/// A count of a summary.
type Count = fn(&Summary) -> usize;

fn summaries(table: &mut Table, before: &Summary, now: &Summary) {
    table.row([
        cell("In force"),
        cell(&before.in_force),
        cell(&now.in_force),
    ]);
    let backend = |summary: &Summary| summary.backend.clone().unwrap_or("none".into());
    table.row([cell("Backend"), cell(backend(before)), cell(backend(now))]);
    table.row([
        cell("Processor time in AES"),
        figure(before.aes_share, Html::share),
        figure(now.aes_share, Html::share),
    ]);
    let counts: [(&'static str, Count); 5] = [
        ("Files with AES code", |s| s.files),
        ("Of these reached", |s| s.reached),
        ("Problems", |s| s.problems),
        ("Warnings", |s| s.warnings),
        ("Notes", |s| s.notes),
    ];
    for (name, of) in counts {
        table.row([
            cell(name),
            figure(Some(of(before)), Html::count),
            figure(Some(of(now)), Html::count),
        ]);
    }
}

/// The rates of calls that both reports measured.
fn rates(html: &mut Html, before: &Summary, now: &Summary) {
    let pairs = now.gains.iter().filter_map(|now| {
        let before = before.gains.iter().find(|before| before.is_of(now))?;
        Some((before, now))
    });
    let pairs: Vec<(&Gain, &Gain)> = pairs.collect();
    if pairs.is_empty() {
        return;
    }
    let heads = &[
        "Mode",
        ">Call",
        ">OpenSSL before",
        ">OpenSSL now",
        ">tenrounds before",
        ">tenrounds now",
    ];
    html.table(heads, |table| {
        for (before, now) in pairs {
            table.row([
                cell(now.title()),
                figure(Some(now.bytes), Html::bytes),
                figure(Some(before.openssl), Html::rate),
                figure(Some(now.openssl), Html::rate),
                figure(Some(before.tenrounds), Html::rate),
                figure(Some(now.tenrounds), Html::rate),
            ]);
        }
    });
}
