// SPDX-License-Identifier: BSD-2-Clause
//! A comparison as a person reads it: per algorithm a table and bars, then the references and how it was
//! measured.

use super::chart::{bars, gigabytes, label_width, table, Bar, Paint, Row};
use super::compare::Comparison;
use super::figure::{size_name, sizes, title, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::subject::Bound;
use anstyle::{AnsiColor, Style};
use std::fmt::Write;

/// The width of the terminal that every line should fit.
const COLUMNS: usize = 80;

const SHOWN: [Implementation; 6] = [Software, OpenSsl, Tenrounds, Core, Ceiling, Limit];

pub fn text(found: &Comparison, paint: Paint) -> String {
    let mut out = heading(found, paint);
    for block in blocks(&found.figures) {
        out += &match block[0].case.threads {
            1 => full(found, block, paint),
            _ => brief(found, block, paint),
        };
    }
    out += &references(found, paint);
    out + &ending(found, paint)
}

fn heading(found: &Comparison, paint: Paint) -> String {
    let host = &found.host;
    let place = match &host.hypervisor {
        Some(name) => format!("{}, in a virtual machine ({name})", host.cpu.brand),
        None => host.cpu.brand.clone(),
    };
    let mut out = format!("{}\n", paint.bold(&place));
    let backend = found.backend.map_or("none", |b| b.name());
    let _ = writeln!(
        out,
        "{}; tenrounds {}, backend {backend}",
        found.openssl_version(),
        version()
    );
    for (name, mask) in &host.masks {
        let _ = writeln!(out, "mask in force: {name}={} ({})", mask.value, mask.hex);
    }
    let limits = found
        .limits
        .iter()
        .map(|(limit, rate)| format!("{} {}", limit.name(), gigabytes(rate.median)));
    match found.limits.is_empty() {
        true => out += "limit: none, this processor has no AES instructions\n",
        false => {
            let limits: Vec<String> = limits.collect();
            let _ = writeln!(out, "GB/s through one round: {}", limits.join(", "));
        }
    }
    out + "\n"
}

fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Figures of one algorithm, direction and number of threads.
pub fn blocks(figures: &[Figure]) -> Vec<&[Figure]> {
    let together = |a: &Figure, b: &Figure| {
        let key = |f: &Figure| {
            (
                f.case.subject.name(),
                f.case.direction.name(),
                f.case.threads,
            )
        };
        key(a) == key(b)
    };
    let mut blocks = Vec::new();
    let mut rest = figures;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|f| together(first, f)).count();
        let (block, others) = rest.split_at(length);
        blocks.push(block);
        rest = others;
    }
    blocks
}

fn label(found: &Comparison, who: Implementation, figure: &Figure) -> String {
    match who {
        Software => "software".into(),
        OpenSsl => openssl(found),
        Tenrounds => "tenrounds".into(),
        Core => "tenrounds core".into(),
        Limit => match figure.case.subject.bound(figure.case.direction) {
            Bound::Latency => "limit (latency)".into(),
            Bound::LatencyThenThroughput | Bound::HashThenThroughput => "limit (two passes)".into(),
            _ => "limit".into(),
        },
        Ceiling => "ceiling (AES+CLMUL)".into(),
        other => other.name().into(), // of --paths
    }
}

/// "OpenSSL 3.0.22", without the date.
pub fn openssl(found: &Comparison) -> String {
    found
        .openssl_version()
        .split(' ')
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

fn colour(who: Implementation) -> AnsiColor {
    match who {
        Software => AnsiColor::Red,
        OpenSsl => AnsiColor::Yellow,
        Tenrounds | Core => AnsiColor::Green,
        _ => AnsiColor::Blue,
    }
}

fn percent(fraction: f64) -> String {
    format!("{:.0}%", fraction * 100.0)
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

/// A cell for every figure of a block; "-" where there is none.
fn cells(block: &[Figure], cell: impl Fn(&Figure) -> Option<String>) -> Vec<String> {
    block
        .iter()
        .map(|f| cell(f).unwrap_or_else(|| "-".into()))
        .collect()
}

fn measured(block: &[Figure]) -> impl Iterator<Item = Implementation> + '_ {
    SHOWN
        .into_iter()
        .filter(|who| block[0].rounds.rates.contains_key(who))
}

fn full(found: &Comparison, block: &[Figure], paint: Paint) -> String {
    let labels: Vec<(Implementation, String)> = measured(block)
        .map(|who| (who, label(found, who, &block[0])))
        .collect();
    let ratio_label = "tenrounds / OpenSSL";
    let width = label_width(labels.iter().map(|(_, l)| l.as_str()).chain([ratio_label]));

    let mut rows = vec![
        Row::new("GB/s", cells(block, |f| Some(size_name(f.case.bytes))))
            .styled(Style::new().dimmed()),
    ];
    for (who, label) in &labels {
        let style = match who {
            Tenrounds => Style::new().bold(),
            _ => Style::new(),
        };
        let rates = cells(block, |f| f.rate(*who).map(gigabytes));
        rows.push(Row::new(label, rates).styled(style));
    }
    rows.push(Row::new(
        ratio_label,
        cells(block, |f| f.ratio(Tenrounds, OpenSsl).map(times)),
    ));
    rows.push(Row::new(
        "% of the limit",
        cells(block, |f| f.ratio(Tenrounds, Limit).map(percent)),
    ));
    if block[0].ratio(Tenrounds, Ceiling).is_some() {
        rows.push(Row::new(
            "% of the ceiling",
            cells(block, |f| f.ratio(Tenrounds, Ceiling).map(percent)),
        ));
    }

    let largest = block
        .iter()
        .max_by_key(|f| f.case.bytes)
        .expect("a block is not empty");
    let drawn: Vec<Bar> = labels
        .iter()
        .map(|(who, label)| bar(*who, label, largest))
        .collect();
    format!(
        "{}\n{}\n  At {}{}\n{}\n",
        paint.bold(&title(&block[0].case)),
        table(paint, width, &rows),
        size_name(largest.case.bytes),
        verdict(largest).map_or(":".into(), |v| format!(", tenrounds: {v}")),
        bars(paint, width, &drawn)
    )
}

fn bar(who: Implementation, label: &str, figure: &Figure) -> Bar {
    let value = figure.rate(who).unwrap_or(0.0);
    Bar {
        label: label.into(),
        value,
        text: gigabytes(value) + " GB/s",
        colour: colour(who),
    }
}

/// tenrounds against whatever else was measured: "2.41x OpenSSL, 97% of the limit".
fn verdict(figure: &Figure) -> Option<String> {
    let to = |other| figure.ratio(Tenrounds, other);
    let parts = [
        to(OpenSsl).map(|ratio| format!("{} OpenSSL", times(ratio))),
        to(Limit).map(|fraction| format!("{} of the limit", percent(fraction))),
        to(Ceiling).map(|fraction| format!("{} of the ceiling", percent(fraction))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Several threads: one line per size.
fn brief(found: &Comparison, block: &[Figure], paint: Paint) -> String {
    let mut out = String::new();
    for figure in block {
        let rates: Vec<String> = measured(block)
            .filter_map(|who| {
                let rate = gigabytes(figure.rate(who)?);
                Some(format!("{} {rate}", label(found, who, figure)))
            })
            .collect();
        let rates = fill(&(rates.join(", ") + " GB/s"), COLUMNS - 2);
        let case = &figure.case;
        let heading = format!("{}, {}", title_with_threads(case), size_name(case.bytes));
        let _ = writeln!(out, "{}", paint.bold(&heading));
        for line in rates.into_iter().chain(verdict(figure)) {
            let _ = writeln!(out, "  {line}");
        }
        out.push('\n');
    }
    out
}

/// Wraps a text at spaces into lines of at most `columns` columns.
fn fill(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The table of other ciphers: a column for each size, a row for each cipher and number of threads.
fn references(found: &Comparison, paint: Paint) -> String {
    let blocks = blocks(&found.references);
    let mut out = String::new();
    if !blocks.is_empty() {
        let several = blocks.iter().any(|b| b[0].case.threads > 1);
        let several = if several { "; xN: N threads" } else { "" };
        let heading = format!(
            "For reference: other ciphers of {}{several}",
            openssl(found)
        );
        // Short labels, so that the table fits 80 columns.
        let labels = blocks.iter().map(|b| match b[0].case.threads {
            1 => title(&b[0].case),
            n => format!("{} x{n}", title(&b[0].case)),
        });
        let labels: Vec<String> = labels.collect();
        let sizes = sizes(&found.references);
        let width = label_width(labels.iter().map(String::as_str));
        let mut rows = vec![
            Row::new("GB/s", sizes.iter().map(|b| size_name(*b)).collect())
                .styled(Style::new().dimmed()),
        ];
        for (block, label) in blocks.iter().zip(&labels) {
            let cell = |bytes: &usize| {
                let figure = block.iter().find(|f| f.case.bytes == *bytes)?;
                figure.rate(OpenSsl).map(gigabytes)
            };
            let cells = sizes.iter().map(|b| cell(b).unwrap_or_else(|| "-".into()));
            rows.push(Row::new(label, cells.collect()));
        }
        let _ = writeln!(
            out,
            "{}\n{}",
            paint.bold(&heading),
            table(paint, width, &rows)
        );
    }
    for note in &found.notes {
        out += &paragraph(&format!("Note: {note}"));
    }
    out
}

fn ending(found: &Comparison, paint: Paint) -> String {
    let effort = found.effort;
    let mut out = paragraph(&format!(
        "Each figure is the median of {} rounds of windows of {} ms, interleaved; ratios and fractions are \
         paired within rounds. All outputs were equal. It took {:.1} s.",
        effort.rounds,
        effort.window_us as f64 / 1000.0,
        found.took.as_secs_f64()
    ));
    if found.discarded() > 0 {
        out += &paragraph(&format!(
            "{} rounds were repeated because wall clock and CPU time disagreed by more than 5 %.",
            found.discarded()
        ));
    }
    if found.doubtful() > 0 {
        let warning = paragraph(&format!(
            "Warning: the machine is busy. In {} rounds that count, wall clock and CPU time disagree by \
             more than 5 %.",
            found.doubtful()
        ));
        out += &paint.colour(AnsiColor::Yellow, warning.trim_end());
        out.push('\n');
    }
    out
}

/// Wraps a text for the terminal.
fn paragraph(text: &str) -> String {
    fill(text, COLUMNS).join("\n") + "\n"
}
