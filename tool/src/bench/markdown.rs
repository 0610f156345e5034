// SPDX-License-Identifier: BSD-2-Clause
//! A comparison as one table for a document: a row for each algorithm and direction, for each size
//! the ratio to OpenSSL and the fraction of the limit.

use super::chart::gigabytes;
use super::comparison::Comparison;
use super::figure::{size_name, sizes, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::report::{blocks, openssl, words};
use std::collections::BTreeSet;
use std::fmt::Write;
pub use terminal::today;

fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        p if p >= 9.95 => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

/// "2.43×", "28×".
pub fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 9.95 => format!("{r:.0}×"),
        r => format!("{r:.2}×"),
    }
}

/// "2.43×, 98 %", as far as there is such a thing.
fn cell(figure: &Figure) -> String {
    let ratio = figure.ratio(Tenrounds, OpenSsl).map(times);
    let fraction = figure.ratio(Tenrounds, Limit).map(percent);
    let parts: Vec<String> = [ratio, fraction].into_iter().flatten().collect();
    match parts.is_empty() {
        true => "-".into(),
        false => parts.join(", "),
    }
}

fn rate(figure: &Figure, who: Implementation) -> String {
    figure
        .rate(who)
        .map_or("absent".into(), |rate| gigabytes(rate) + " GB/s")
}

fn row(block: &[Figure], sizes: &[usize], core: bool, ceiling: bool) -> String {
    let largest = block
        .iter()
        .max_by_key(|f| f.case.bytes)
        .expect("a block is not empty");
    let smallest = block.iter().min_by_key(|f| f.case.bytes).expect("the same");
    let mut row = format!(
        "| {} | {} | {} |",
        title_with_threads(&block[0].case),
        rate(largest, OpenSsl),
        rate(largest, Tenrounds)
    );
    for size in sizes {
        let figure = block.iter().find(|f| f.case.bytes == *size);
        let _ = write!(row, " {} |", figure.map_or("-".into(), cell));
    }
    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    if ceiling {
        let fraction = largest.ratio(Tenrounds, Ceiling).map(percent);
        let _ = write!(row, " {} |", or_nothing(fraction));
    }
    if core {
        let core = smallest.rate(Core).map(|rate| {
            let ratio = smallest.ratio(Core, OpenSsl).map(times);
            let rate = gigabytes(rate) + " GB/s";
            [Some(rate), ratio]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(", ")
        });
        let _ = write!(row, " {} |", or_nothing(core));
    }
    row + "\n"
}

/// The table, followed by the machine and the method.
pub fn text(found: &Comparison) -> String {
    let sizes = sizes(found.all());
    let measured = |who| found.all().any(|f| f.rate(who).is_some());
    let (core, ceiling) = (measured(Core), measured(Ceiling));
    let (Some(smallest), Some(largest)) = (sizes.first(), sizes.last()) else {
        return notes(found);
    };
    let mut columns = vec![
        format!("at {}", size_name(*largest)),
        openssl(found),
        "tenrounds".into(),
    ];
    columns.extend(sizes.iter().map(|size| size_name(*size)));
    if ceiling {
        columns.push("of AES+CLMUL".into());
    }
    if core {
        columns.push(format!("core, {}", size_name(*smallest)));
    }
    let mut out = format!(
        "| {} |\n|{}\n",
        columns.join(" | "),
        "---|".repeat(columns.len())
    );
    for figures in [&found.figures, &found.references] {
        for block in blocks(figures) {
            out += &row(block, &sizes, core, ceiling);
        }
    }
    out + &notes(found)
}

fn notes(found: &Comparison) -> String {
    let host = &found.host;
    let place = match &host.hypervisor {
        Some(name) => format!(" in a virtual machine ({name})"),
        None => String::new(),
    };
    let masks: String = host
        .masks
        .iter()
        .map(|(name, mask)| format!("`{name}={}`, ", mask.value))
        .collect();
    let mut out = format!(
        "\n{}, family {} model {}{place}; {masks}{}, tenrounds {} with `{}`; {}. Medians of {} \
         paired rounds, {}.\n",
        host.cpu.brand,
        host.cpu.family,
        host.cpu.model,
        openssl(found),
        env!("CARGO_PKG_VERSION"),
        found.backend.map_or("no backend", |b| b.name()),
        today(),
        found.rounds(),
        threads(found),
    );
    if !found.notes.is_empty() {
        let _ = write!(out, "\nAbsent: {}.\n", found.notes.join("; "));
    }
    for line in words(&found.figures) {
        let _ = write!(out, "\n{line}\n");
    }
    if let Some(remark) = found.disturbance().remark() {
        let _ = write!(out, "\n{remark}\n");
    }
    out
}

/// The number of threads, in words.
fn threads(found: &Comparison) -> String {
    let counts: BTreeSet<usize> = found.all().map(|f| f.case.threads).collect();
    match (counts.first(), counts.len()) {
        (None | Some(1), 0 | 1) => "one thread".into(),
        (Some(several), 1) => format!("{several} threads"),
        _ => "one thread unless stated otherwise".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_short() {
        assert_eq!(
            [0.98123, 1.0, 2.434, 28.39].map(times),
            ["0.98×", "1.00×", "2.43×", "28×"]
        );
        assert_eq!([0.976, 0.0041].map(percent), ["98 %", "0.4 %"]);
    }

    #[test]
    fn a_date_has_ten_characters() {
        let today = today();
        assert_eq!(today.len(), 10);
        assert!(*today >= *"2026", "{today}");
    }
}
