// SPDX-License-Identifier: BSD-2-Clause
//! The measured rates: a chart at the largest size, and all figures.

use super::super::chart::{Bar, Chart, Group, EARLIER, OPENSSL, SOFTWARE, TENROUNDS};
use super::super::earlier::Earlier;
use super::super::facts::Gain;
use super::super::html::{cell, figure, Html};
use crate::bench::how::How;
use machine::schema::Measurement;

/// The rows of a chart, by their names in JSON.
const SHOWN: [(&str, &str, plotters::style::RGBColor); 3] = [
    ("software", "no AES instructions", SOFTWARE),
    ("openssl", "OpenSSL", OPENSSL),
    ("tenrounds", "tenrounds", TENROUNDS),
];

pub fn show(html: &mut Html, results: &[Measurement], how: &How, before: Option<&Earlier>) {
    html.section("speed", "How fast it is", |html| {
        let ciphers = || results.iter().filter(|row| row.algorithm != "aes-round");
        if let Some(bytes) = ciphers().map(|row| row.bytes).max() {
            html.tag("p", "", |html| {
                html.text("One thread, in calls of ");
                html.bytes(bytes);
                html.text(". The stock OpenSSL is measured with and without AES instructions, tenrounds through the same OpenSSL.");
            });
            html.chart(&Chart::of(&groups(results, bytes, before)));
        }
        let heads = &[
            "Mode",
            ">Call",
            "Code",
            ">Rate",
            ">Of the limit",
            "Backend",
        ];
        html.table(heads, |table| {
            for row in ciphers() {
                table.row([
                    cell(title(row)),
                    figure(Some(row.bytes), Html::bytes),
                    cell(&row.implementation),
                    figure(Some(row.bytes_per_second), Html::rate),
                    figure(row.limit_fraction, Html::share),
                    cell(row.backend.as_deref().unwrap_or("-")),
                ]);
            }
        });
        measured(html, how);
    });
}

fn title(row: &Measurement) -> String {
    format!("{} {}", row.algorithm.to_ascii_uppercase(), row.direction)
}

fn groups(results: &[Measurement], bytes: usize, before: Option<&Earlier>) -> Vec<Group> {
    let ours = results
        .iter()
        .filter(|row| row.implementation == "tenrounds" && row.bytes == bytes);
    let group = |ours: &Measurement| {
        let of = |who: &str| {
            results.iter().find(|row| {
                row.implementation == who
                    && (&row.algorithm, row.direction, row.bytes)
                        == (&ours.algorithm, ours.direction, ours.bytes)
            })
        };
        let bars = SHOWN.into_iter().filter_map(|(who, label, colour)| {
            Some(Bar {
                label,
                bytes_per_second: of(who)?.bytes_per_second,
                colour,
            })
        });
        let is_same = |gain: &&Gain| {
            gain.algorithm == ours.algorithm
                && gain.direction == ours.direction
                && gain.bytes == ours.bytes
        };
        let earlier = before.and_then(|before| before.summary.gains.iter().find(is_same));
        let earlier = earlier.map(|gain| Bar {
            label: "tenrounds before",
            bytes_per_second: gain.tenrounds,
            colour: EARLIER,
        });
        Group {
            title: title(ours),
            bars: bars.chain(earlier).collect(),
        }
    };
    ours.map(group).collect()
}

fn measured(html: &mut Html, how: &How) {
    html.tag("p", "note", |html| {
        html.text("Medians of ");
        html.count(how.rounds);
        html.text(" rounds of ");
        html.count(how.window_us);
        html.text(" µs, in which all take turns. The limit is the rate of AES rounds alone on one core, in the same run. ");
        match how.busy {
            true => html.text("The machine was busy meanwhile, so the rates are lower than on an idle one."),
            false => html.text("The machine was idle besides."),
        }
    });
    for note in &how.notes {
        html.line("p", "note", note);
    }
}
