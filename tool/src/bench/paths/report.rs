// SPDX-License-Identifier: BSD-2-Clause
//! The paths as a person reads them: from what size the kernel wins, a table of throughput for each
//! algorithm and direction, and what a call costs.

use super::found::{crossovers, Crossover, Found, Way, PATHS};
use crate::bench::chart::{bars, columns, gigabytes, label_width, Bar, Layout, Paint, Row};
use crate::bench::figure::{size_name, title_with_threads, Figure};
use crate::bench::implementation::Implementation::{self, *};
use crate::bench::report::ending;
use anstyle::{AnsiColor, Style};
use terminal::style::grouped;

/// The size at which costs are shown, if it was measured; else the largest.
const SHOWN: usize = 16 << 10;

fn label(found: &Found, who: Implementation) -> String {
    match who {
        Core => "a  core".into(),
        Tenrounds => "b  EVP, tenrounds".into(),
        OpenSsl => format!("c  EVP, {}", found.run.openssl()),
        AfAlg => "d  AF_ALG, send".into(),
        AfAlgSplice => "d' AF_ALG, splice".into(),
        AfAlgEngine => "e  engine afalg".into(),
        _ => "   crossing alone".into(),
    }
}

fn way(way: Way) -> &'static str {
    match way {
        Way::Measured(AfAlg) => "AF_ALG with send",
        Way::Measured(AfAlgSplice) => "AF_ALG with splice",
        Way::Measured(_) => "the engine afalg",
        Way::Estimate => "crossing, then core",
    }
}

fn against(found: &Found, who: Implementation) -> String {
    match who {
        OpenSsl => found.run.openssl(),
        _ => "tenrounds".into(),
    }
}

/// Three figures.
fn ratio(value: f64) -> String {
    match value {
        v if v >= 0.0995 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

fn heading(found: &Found) -> Vec<String> {
    let run = &found.run;
    let mut lines = vec![
        run.place(),
        format!(
            "{}; tenrounds {}, backend {}; {}",
            run.openssl(),
            env!("CARGO_PKG_VERSION"),
            run.backend(),
            run.host.kernel
        ),
    ];
    lines.extend(run.masks());
    for driver in &found.drivers {
        lines.push(format!(
            "the kernel's {}: {}, priority {}, self-test {}",
            driver.algorithm, driver.driver, driver.priority, driver.selftest
        ));
    }
    if found.splice_copies == Some(true) {
        lines.push("this kernel copies what is spliced into AF_ALG".into());
    }
    lines.extend(missing(found));
    if let Some(null) = &found.null_call {
        lines.push(format!(
            "a system call that does nothing takes {:.0} ns",
            null.median
        ));
    }
    lines
}

/// The paths that this machine lacks, by reason.
fn missing(found: &Found) -> Vec<String> {
    let concerned = |who| found.run.figures.iter().any(|f| f.case.concerns(who));
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for missing in found.unavailable.iter().filter(|m| concerned(m.path)) {
        let name = label(found, missing.path);
        match reasons.iter_mut().find(|(why, _)| *why == missing.why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&missing.why, vec![name])),
        }
    }
    let line =
        |(why, names): (&str, Vec<String>)| format!("not available: {}: {why}", names.join("; "));
    reasons.into_iter().map(line).collect()
}

/// Names and cells of the rows of throughput.
fn rates(found: &Found, block: &[Figure]) -> Vec<(String, Vec<String>)> {
    let cells = |cell: &dyn Fn(&Figure) -> Option<String>| {
        let cell = |f| cell(f).unwrap_or_else(|| "-".into());
        block.iter().map(cell).collect::<Vec<_>>()
    };
    let shown =
        |who: &&Implementation| block[0].case.concerns(**who) && found.why_not(**who).is_none();
    let mut rows: Vec<(String, Vec<String>)> = PATHS
        .iter()
        .filter(shown)
        .map(|&who| (label(found, who), cells(&|f| f.rate(who).map(rate))))
        .collect();
    let best = cells(&|f| f.estimate().map(rate));
    rows.push(("   crossing, then core".into(), best));
    for who in [AfAlg, AfAlgSplice, AfAlgEngine] {
        if block.iter().any(|f| f.rate(who).is_some()) {
            let name = label(found, who);
            let letter = name.split(' ').next().unwrap_or_default();
            let cells = cells(&|f| f.ratio(who, OpenSsl).map(ratio));
            rows.push((format!("   {letter} / c"), cells));
        }
    }
    let best = cells(&|f| f.estimate_ratio(OpenSsl).map(ratio));
    rows.push(("   that / c".into(), best));
    rows
}

/// The figure whose costs are shown.
pub fn shown(block: &[Figure]) -> &Figure {
    let largest = block.iter().max_by_key(|f| f.case.bytes);
    let wanted = block.iter().find(|f| f.case.bytes == SHOWN);
    wanted.or(largest).expect("a block is not empty")
}

/// Widths of columns.
const RATE: usize = 9;
const COST: usize = 11;

const COSTS: [&str; 5] = ["calls", "copied", "in place", "user ns", "sys ns"];

/// A number of something per call: whole if it is.
fn per_call(total: u64, calls: u64) -> String {
    match total % calls.max(1) {
        0 => grouped(total / calls.max(1)),
        _ => format!("{:.1}", total as f64 / calls as f64),
    }
}

fn costs(found: &Found, figure: &Figure) -> Vec<(String, Vec<String>)> {
    let row = |&who: &Implementation| {
        let time = figure.cpu_time(who)?;
        let counted = match figure.counts(who) {
            Some(c) => [
                c.system_calls.values().sum(),
                c.copied.r#in + c.copied.out,
                c.referenced.r#in + c.referenced.out,
            ]
            .map(|total| per_call(total, c.calls))
            .to_vec(),
            None => vec!["-".to_owned(); 3],
        };
        let times = [time.user, time.system].map(|ns| grouped(ns.round() as u64));
        let cells = counted.into_iter().chain(times).collect();
        Some((label(found, who), cells))
    };
    PATHS.iter().filter_map(row).collect()
}

/// "never faster than OpenSSL 3.0.22: at most 0.70 of it, at 64 KiB".
fn verdict(found: &Found, crossover: &Crossover) -> String {
    let other = against(found, crossover.against);
    let (best, place) = (ratio(crossover.best), size_name(crossover.best_bytes));
    match crossover.bytes {
        Some(bytes) => format!(
            "faster than {other} from {} on ({best} of it at most, at {place})",
            size_name(bytes)
        ),
        None => format!("never faster than {other} ({best} of it at most, at {place})"),
    }
}

/// A line for each way into the kernel.
fn verdicts(found: &Found, block: &[Figure]) -> Vec<String> {
    let crossovers = crossovers(block);
    let line = |wanted: Way| {
        let of = crossovers.iter().filter(|c| c.way == wanted);
        let parts: Vec<String> = of.map(|c| verdict(found, c)).collect();
        (!parts.is_empty()).then(|| format!("{}: {}", way(wanted), parts.join(", ")))
    };
    Way::ALL.into_iter().filter_map(line).collect()
}

/// Three figures of gigabytes per second, also of few.
fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second / 1e9 {
        v if v >= 0.0995 => gigabytes(bytes_per_second),
        v if v >= 0.00995 => format!("{v:.4}"),
        v => format!("{v:.5}"),
    }
}

fn styled(paint: Paint, rows: &[(String, Vec<String>)], heads: Row, cell: usize) -> String {
    let labels = rows.iter().map(|(label, _)| label.as_str());
    let width = label_width(labels.chain([heads.label.as_str()]));
    let mut all = vec![heads.styled(Style::new().dimmed())];
    all.extend(
        rows.iter()
            .map(|(label, cells)| Row::new(label, cells.clone())),
    );
    let layout = Layout {
        indent: 2,
        label: width,
        cell,
    };
    columns(paint, layout, &all)
}

fn colour(who: Implementation) -> AnsiColor {
    match who {
        Core | Tenrounds => AnsiColor::Green,
        OpenSsl => AnsiColor::Yellow,
        AfAlg | AfAlgSplice | AfAlgEngine => AnsiColor::Red,
        _ => AnsiColor::Blue,
    }
}

fn drawn(found: &Found, figure: &Figure, paint: Paint) -> String {
    let bar = |&who: &Implementation| {
        let value = figure.rate(who)?;
        Some(Bar {
            label: label(found, who),
            value,
            text: rate(value),
            colour: colour(who),
        })
    };
    let paths = PATHS.iter().filter(|who| **who != Crossing);
    let drawn: Vec<Bar> = paths.filter_map(bar).collect();
    bars(
        paint,
        label_width(drawn.iter().map(|b| b.label.as_str())),
        &drawn,
    )
}

fn throughput(found: &Found, block: &[Figure], paint: Paint) -> String {
    let sizes = block.iter().map(|f| size_name(f.case.bytes)).collect();
    let title = paint.bold(&title_with_threads(&block[0].case));
    let rates = styled(paint, &rates(found, block), Row::new("GB/s", sizes), RATE);
    format!("{title}\n{rates}")
}

fn block(found: &Found, block: &[Figure], paint: Paint) -> String {
    let figure = shown(block);
    let size = size_name(figure.case.bytes);
    let heads = COSTS.map(str::to_owned).to_vec();
    let mut out = format!(
        "{}\n{}\n{}\n",
        throughput(found, block, paint),
        styled(
            paint,
            &costs(found, figure),
            Row::new(format!("a call of {size}"), heads),
            COST
        ),
        drawn(found, figure, paint),
    );
    for line in verdicts(found, block) {
        out += &paint.paragraph(&line);
    }
    out + "\n"
}

const EXPLANATION: [&str; 3] = [
    "crossing alone: as many system calls as AF_ALG makes with send, and one copy of the data into \
     pages of the kernel (a pipe to /dev/null). AF_ALG does as much by other code, and also pins \
     pages and walks lists.",
    "crossing, then core: an estimate for a kernel that computes as fast as the core.",
    "calls: system calls. copied: bytes that they copy. in place: bytes of pages that the kernel \
     reads or writes where they are. user, sys: CPU time of a call by the kernel's account, which \
     is rough where it counts clock ticks.",
];

/// The first line: the best way into the kernel against stock OpenSSL.
fn answer(found: &Found) -> String {
    let blocks = found.run.blocks();
    let all = blocks.iter().flat_map(|block| {
        let crossovers = crossovers(block).into_iter();
        let measured = |c: &Crossover| c.way != Way::Estimate && c.against == OpenSsl;
        crossovers.filter(measured).map(|c| (block[0].case, c))
    });
    let best = all.max_by(|(_, a), (_, b)| a.best.total_cmp(&b.best));
    match best {
        Some((case, c)) => format!(
            "{}: {} is {}.",
            title_with_threads(&case),
            way(c.way),
            verdict(found, &c)
        ),
        None => "The kernel's AES cannot be measured here.".into(),
    }
}

pub fn text(found: &Found, verbose: bool, paint: Paint) -> String {
    let mut out = paint.bold(paint.paragraph(&answer(found)).trim_end()) + "\n";
    for line in heading(found) {
        out += &paint.paragraph(&line);
    }
    out.push('\n');
    let blocks = found.run.blocks();
    if verbose {
        for figures in blocks {
            out += &block(found, figures, paint);
        }
        for line in EXPLANATION {
            out += &paint.paragraph(line);
        }
        return out + &ending(&found.run, paint);
    }
    let titles = blocks.iter().map(|b| title_with_threads(&b[0].case));
    let row = |(block, title): (&&[Figure], String)| {
        let cell = |who| shown(block).rate(who).map_or("-".into(), rate);
        (title, BRIEF.map(cell).to_vec())
    };
    let rows: Vec<_> = blocks.iter().zip(titles).map(row).collect();
    let size = blocks
        .first()
        .map_or(String::new(), |block| size_name(shown(block).case.bytes));
    let heads = BRIEF
        .map(|who| who.name().replace("tenrounds-", ""))
        .to_vec();
    out += &styled(paint, &rows, Row::new(format!("GB/s, {size}"), heads), 10);
    for note in &found.run.notes {
        out += &paint.paragraph(&format!("Note: {note}"));
    }
    out += &paint.remark(found.run.disturbance());
    let hint = "--verbose: all sizes, system calls, bytes copied and CPU time of a call.";
    out + &paint.style(Style::new().dimmed(), paint.paragraph(hint).trim_end()) + "\n"
}

/// The columns of the brief table.
const BRIEF: [Implementation; 4] = [Tenrounds, OpenSsl, AfAlg, Crossing];
