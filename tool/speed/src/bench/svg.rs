// SPDX-License-Identifier: BSD-2-Clause
//! A run as a picture: groups of bars, the limit as a line across each group, and above it how many
//! times as fast as OpenSSL tenrounds is. Of several sizes, each algorithm has a panel with a group
//! for each size. Of one size, a group is an algorithm. With --paths each number of threads has
//! panels of its own.

use super::drawing::{
    self, width, Elements, Head, Ink, Mark, Shape, AMBER, BLUE, END, GREEN, GRID, INK, MARGIN,
    MARKER, MIDDLE, MUTED, PLAIN, RED, SMALL, START, WIDE,
};
use super::figure::{size_name, times, title, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::paths::PATHS;
use super::report::{self, skips_rounds, SKIPS_ROUNDS};
use super::run::Run;

const BARS: [Implementation; 3] = [Software, OpenSsl, Tenrounds];
/// The height of a bar with the space around it, and of the bar alone.
const ROW: i32 = 15;
const BAR: i32 = 5;
/// The bars are this long at most. The labels of the longest fit beside them.
const LONG: i32 = 388;
/// The heights of a group's heading, and of the space below it.
const HEADING: i32 = 18;
const SPACE: i32 = 11;
/// The height of a panel's title, and of its axis with the space below it.
const TITLE: i32 = 21;
const AXIS: i32 = 40;
/// Minimum pixels between a label and a marker, or a limit line.
const GAP: i32 = 4;
/// Half of the width of a limit line.
const HALF: i32 = 1;
/// Groups of a panel; more go into another one below.
const PER_PANEL: usize = 8;

/// The marker of an implementation, and its colour.
fn look(who: Implementation) -> (Shape, Ink) {
    match who {
        OpenSsl => (Shape::Circle, BLUE),
        AfAlg => (Shape::Diamond, AMBER),
        Software | Crossing => (Shape::Square, MUTED),
        _ => (Shape::Triangle, GREEN),
    }
}

/// The implementations that have bars.
fn bars(run: &Run) -> &'static [Implementation] {
    match run.paths {
        Some(_) => &PATHS,
        None => &BARS,
    }
}

/// Groups on one axis.
struct Panel {
    title: String,
    groups: Vec<Group>,
}

/// A group of bars: one algorithm, or one size.
struct Group {
    name: String,
    bars: Vec<(Implementation, f64)>,
    limit: Option<f64>,
    /// Ours, as a part of the limit.
    fraction: Option<f64>,
    /// Ours, to OpenSSL's.
    ratio: Option<f64>,
}

/// The blocks that the picture shows: those with the lowest number of threads. Of --paths all.
fn shown(run: &Run) -> Vec<&[Figure]> {
    let blocks = run.blocks();
    let threads = |block: &&[Figure]| block[0].case.threads;
    let lowest = blocks.iter().map(threads).min();
    let shown = blocks.into_iter();
    shown
        .filter(|block| run.paths.is_some() || Some(threads(block)) == lowest)
        .collect()
}

/// The size, if there is only one.
fn one_size(blocks: &[&[Figure]]) -> Option<usize> {
    let mut sizes = blocks.iter().flat_map(|block| block.iter());
    let first = sizes.next()?.case.bytes;
    sizes.all(|f| f.case.bytes == first).then_some(first)
}

fn group(run: &Run, figure: &Figure, name: String) -> Group {
    let bars = bars(run).iter();
    Group {
        name,
        bars: bars
            .filter_map(|&who| Some((who, figure.rate(who)?)))
            .collect(),
        limit: figure.rate(Limit),
        fraction: figure.ratio(Tenrounds, Limit),
        ratio: figure.ratio(Tenrounds, OpenSsl),
    }
}

fn panels(run: &Run) -> Vec<Panel> {
    let blocks = shown(run);
    if run.paths.is_some() || one_size(&blocks).is_none() {
        let of_size = |f: &Figure| group(run, f, size_name(f.case.bytes));
        let panel = |block: &&[Figure]| Panel {
            title: match run.paths {
                Some(_) => title_with_threads(&block[0].case),
                None => title(&block[0].case),
            },
            groups: block.iter().map(of_size).collect(),
        };
        return blocks.iter().map(panel).collect();
    }
    let of_algorithm = |b: &&[Figure]| group(run, &b[0], title(&b[0].case));
    let panel = |blocks: &[&[Figure]]| Panel {
        title: String::new(),
        groups: blocks.iter().map(of_algorithm).collect(),
    };
    blocks.chunks(PER_PANEL).map(panel).collect()
}

pub fn draw(run: &Run) -> String {
    let panels = panels(run);
    let groups: Vec<&Group> = panels.iter().flat_map(|panel| &panel.groups).collect();
    let values = groups
        .iter()
        .flat_map(|g| g.bars.iter().map(|b| b.1).chain(g.limit));
    let most = values.fold(0.0, f64::max);
    drawing::picture(&head(run, &groups), |top, out| {
        let below = |top, panel: &Panel| plot(panel, most, top, out);
        panels.iter().fold(top, below)
    })
}

fn head(run: &Run, groups: &[&Group]) -> Head {
    let blocks = shown(run);
    let threads = blocks.first().map_or(1, |block| block[0].case.threads);
    let plural = if threads == 1 { "" } else { "s" };
    let what = match blocks.iter().any(|block| block[0].case.cipher.is_aes()) {
        true => "AES through OpenSSL",
        false => "Other ciphers of OpenSSL",
    };
    let size = one_size(&blocks).map(|bytes| format!(", calls of {}", size_name(bytes)));
    let size = size.unwrap_or_default();
    let skip = blocks.iter().any(|block| block.iter().any(skips_rounds));
    let remark = skip.then(|| SKIPS_ROUNDS.to_owned());
    let kernel = run.paths.as_ref().map(|_| run.host.kernel.clone());
    Head {
        title: match run.paths {
            Some(_) => "AES in user space and in the kernel".to_owned(),
            None => format!("{what}: {threads} thread{plural}{size}"),
        },
        about: [Some(run.about()), kernel, remark]
            .into_iter()
            .flatten()
            .collect(),
        legend: entries(run, groups, threads),
    }
}

/// The legend's entries: only the implementations and limits that are drawn.
fn entries(run: &Run, groups: &[&Group], threads: usize) -> Vec<(Mark, String)> {
    let drawn = |who| groups.iter().any(|g| g.bars.iter().any(|b| b.0 == who));
    let bars = bars(run).iter().filter(|who| drawn(**who)).map(|&who| {
        let label = match who {
            Software => "OpenSSL, AES instructions masked".to_owned(),
            OpenSsl => run.openssl(),
            Tenrounds => "OpenSSL with tenrounds".to_owned(),
            other => report::label(other).to_owned(),
        };
        let (shape, ink) = look(who);
        (Mark::Bar(shape, ink), label)
    });
    let limit = match threads {
        1 => "limit of this core (AES rounds alone)".to_owned(),
        n => format!("limit of {n} threads (AES rounds alone)"),
    };
    let limit = groups.iter().any(|g| g.limit.is_some()).then_some(limit);
    bars.chain(limit.map(|label| (Mark::Line(RED), label)))
        .collect()
}

/// The labels of an axis up to a value: 4 to 8 multiples of 1, 2 or 5.
fn ticks(most: f64) -> Vec<f64> {
    let power = 10_f64.powf((most / 8.0).log10().floor());
    let steps = [power, 2.0 * power, 5.0 * power];
    let step = steps.into_iter().find(|step| most / step <= 8.0);
    let step = step.unwrap_or(10.0 * power);
    let count = (most / step) as usize;
    (0..=count).map(|n| n as f64 * step).collect()
}

/// Draws a panel, whose longest bar in the picture has this rate. Returns its lower edge.
fn plot(panel: &Panel, most: f64, mut top: i32, out: &mut Elements) -> i32 {
    let x = |rate: f64| MARGIN + (rate / most * f64::from(LONG)).round() as i32;
    if !panel.title.is_empty() {
        let look = (PLAIN, INK);
        out.text((MARGIN, top), START, look, &panel.title);
        top += TITLE;
    }
    let high = |group: &Group| HEADING + ROW * group.bars.len() as i32 + SPACE;
    let bottom = top + panel.groups.iter().map(high).sum::<i32>();
    let look = (SMALL, MUTED);
    for tick in ticks(most / 1e9) {
        let at = x(tick * 1e9);
        out.rectangle((at, top), (1, bottom - top + 4), GRID);
        let number = ((tick * 1e6).round() / 1e6).to_string();
        out.text((at, bottom + 8), MIDDLE, look, &number);
    }
    out.rectangle((MARGIN, bottom), (LONG, 1), MUTED);
    out.text((WIDE - MARGIN, bottom + 8), END, look, "GB/s");
    for group in &panel.groups {
        bars_of(group, x, top, out);
        top += high(group);
    }
    bottom + AXIS
}

/// Draws a group: its name and its gain, and below them the bars.
fn bars_of(group: &Group, x: impl Fn(f64) -> i32, top: i32, out: &mut Elements) {
    out.text((MARGIN, top), START, (SMALL, INK), &group.name);
    if let Some(gain) = gain(group) {
        let place = (WIDE - MARGIN, top);
        out.text(place, END, (SMALL, GREEN), &gain);
    }
    let rows = (top + HEADING..).step_by(ROW as usize);
    let bars = || group.bars.iter().zip(rows.clone());
    for (&(who, rate), y) in bars() {
        let size = (x(rate) - MARGIN, BAR);
        out.rectangle((MARGIN, y + (ROW - BAR) / 2), size, look(who).1);
    }
    let limit = group.limit.map(&x);
    if let Some(x) = limit {
        let high = ROW * group.bars.len() as i32;
        out.rectangle((x - HALF, top + HEADING), (2 * HALF, high), RED);
    }
    for (&(who, rate), y) in bars() {
        out.marker((x(rate), y + ROW / 2), look(who));
        let label = terminal::gigabytes(rate);
        let left = clear_of(limit, x(rate) + MARKER + GAP, width(&label, SMALL));
        out.text((left, y + 3), START, (SMALL, INK), &label);
    }
}

/// Ours in the words of a heading: to the limit, and to OpenSSL.
fn gain(group: &Group) -> Option<String> {
    let part = |part: f64| format!("{:.0} % of the limit, ", part * 100.0);
    let part = group.fraction.map(part).unwrap_or_default();
    let ratio = group.ratio?;
    Some(format!("{part}{} OpenSSL", times(ratio)))
}

/// The left edge of a label, or one beyond the limit line if that is too close.
fn clear_of(limit: Option<i32>, left: i32, wide: i32) -> i32 {
    let close = |x: &i32| left < x + HALF + GAP && left + wide > x - HALF - GAP;
    limit.filter(close).map_or(left, |x| x + HALF + GAP)
}

#[cfg(test)]
mod tests;
