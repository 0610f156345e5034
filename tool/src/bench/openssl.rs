// SPDX-License-Identifier: BSD-2-Clause
//! `bench --openssl`: the columns that `openssl speed` made familiar.

use super::case::Case;
use super::chart::{columns, label_width, Layout, Paint, Row};
use super::figure::Figure;
use super::implementation::Implementation::{self, Core, Limit, OpenSsl, Tenrounds};
use super::report::{answer, ending, percent, spread, times, words};
use super::run::Run;
use anstyle::Style;
use catalogue::Direction;
use libcrypto::LibCrypto;
use machine::masks;
use terminal::error::Result;
use terminal::style::item;

/// The rows of an algorithm, in this order.
const ROWS: [(Implementation, &str); 4] = [
    (OpenSsl, "OpenSSL"),
    (Tenrounds, "tenrounds"),
    (Core, "core"),
    (Limit, "limit"),
];

pub const EFFICIENCY: &str =
    "efficiency: the rate of N threads as a fraction of N times the rate of one thread in the same \
     round. More than 100%: the one thread was slowed down, by the clock or by other programs.";

/// The lines that `openssl speed` begins with.
fn heading(run: &Run, libcrypto: &LibCrypto) -> String {
    let mut lines = vec![
        format!(
            "version: {}, tenrounds {}",
            libcrypto.version(),
            env!("CARGO_PKG_VERSION")
        ),
        format!("CPU: {}", run.host.cpu.brand),
    ];
    let settings = libcrypto.cpu_settings();
    lines.extend(settings.map(|settings| format!("CPUINFO: {settings}")));
    for (name, mask) in &run.host.masks {
        let (value, hex) = (&mask.value, &mask.hex);
        lines.push(format!(
            "mask: {name}={value} ({}={hex})",
            masks::LIBCRYPTO_MASK
        ));
    }
    lines.push(format!("backend: {}", run.backend()));
    lines.push("The 'numbers' are in 1000s of bytes per second processed.".into());
    lines.iter().map(|line| item("", line)).collect()
}

/// "AES-256-CBC decrypt tenrounds x2". Without a direction it is encryption.
fn name(case: &Case, who: &str) -> String {
    let direction = match case.direction {
        Direction::Encrypt => "",
        Direction::Decrypt => " decrypt",
    };
    let name = format!("{}{direction} {who}", case.cipher.title());
    match case.threads {
        1 => name,
        n => format!("{name} x{n}"),
    }
}

/// A row of cells for figures of several sizes; "-" where there is none.
fn row(label: String, figures: &[Figure], cell: impl Fn(&Figure) -> Option<String>) -> Row {
    let cells = figures.iter().map(cell);
    Row::new(
        label,
        cells
            .map(|cell| cell.unwrap_or_else(|| "-".into()))
            .collect(),
    )
}

/// The rows of an algorithm with one number of threads.
fn rows(figures: &[Figure], paint: Paint) -> Vec<Row> {
    let dim = Style::new().dimmed();
    let sign = paint.plus_minus();
    let mut rows = Vec::new();
    for (who, title) in ROWS {
        if figures.iter().all(|f| f.rate(who).is_none()) {
            continue;
        }
        rows.push(row(name(&figures[0].case, title), figures, |f| {
            Some(format!("{:.2}k", f.rate(who)? / 1000.0))
        }));
        let within = |f: &Figure| f.rounds.rates.rate(&who).map(spread);
        rows.push(row(format!("  {sign}"), figures, within).styled(dim));
        if figures[0].case.threads > 1 {
            let times = |f: &Figure| Some(f.rounds.scaling.get(&who)?.median);
            rows.push(row("  times one thread".into(), figures, |f| {
                times(f).map(|n| format!("{n:.3}"))
            }));
            rows.push(row("  efficiency".into(), figures, |f| {
                let part = times(f)? / f.case.threads as f64;
                Some(format!("{:.1}%", 100.0 * part))
            }));
        }
    }
    let speed_up = |f: &Figure| f.rounds.rates.ratio(&Tenrounds, &OpenSsl);
    if figures.iter().any(|f| speed_up(f).is_some()) {
        rows.push(row("  speed-up".into(), figures, |f| {
            let ratio = speed_up(f)?;
            Some(format!("{} {sign}{}", times(ratio.median), spread(ratio)))
        }));
    }
    let of_limit = |f: &Figure| f.ratio(Tenrounds, Limit).map(percent);
    if figures.iter().any(|f| of_limit(f).is_some()) {
        rows.push(row("  of limit".into(), figures, of_limit));
    }
    rows
}

fn table(run: &Run, paint: Paint) -> String {
    let blocks = run.blocks();
    let Some(first) = blocks.first() else {
        return String::new();
    };
    let heads = row("type".into(), first, |f| {
        Some(format!("{} bytes", f.case.bytes))
    });
    let mut all = vec![heads.styled(Style::new().bold())];
    all.extend(blocks.iter().flat_map(|block| rows(block, paint)));
    let layout = Layout {
        indent: 0,
        label: label_width(all.iter().map(|row| row.label.as_str())),
        cell: 14,
    };
    columns(paint, layout, &all)
}

pub fn text(run: &Run, paint: Paint) -> Result<String> {
    let mut text = item("", paint.bold(&answer(&run.figures)));
    text += &heading(run, &LibCrypto::open()?);
    text += &table(run, paint);
    for line in words(&run.figures) {
        text += &paint.paragraph(line);
    }
    Ok(text + &ending(run, paint))
}
