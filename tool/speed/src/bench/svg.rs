// SPDX-License-Identifier: BSD-2-Clause
//! A run as a picture: grouped bars, the limit as a line over each group, and below it how many
//! times faster tenrounds is than OpenSSL. Of several sizes, each algorithm has a panel with a
//! group for each size. Of one size, a group is an algorithm. With --paths each number of threads
//! has panels of its own.

use super::drawing::{
    self, Anchor, Colour, Elements, Head, Mark, INK, LIMIT, MARGIN, PALE, TENROUNDS,
};
use super::figure::{size_name, times, title, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::paths::PATHS;
use super::report::{self, skips_rounds, SKIPS_ROUNDS};
use super::run::Run;

const BARS: [Implementation; 3] = [Software, OpenSsl, Tenrounds];
/// The width of a bar with the space beside it, and the space between two groups.
const BAR: i32 = 31;
const SPACE: i32 = 18;
/// The plot: what is on its left and right, above and below it, and its height.
const LEFT: i32 = 78;
const RIGHT: i32 = 24;
const ABOVE: i32 = 26;
const BELOW: i32 = 74;
const HIGH: i32 = 370;
/// Minimum pixels between a label and the end of its bar, or a limit line.
const GAP: i32 = 4;
/// Half of the width of a limit line, rounded up.
const HALF: i32 = 2;
/// The height of a panel's title.
const PANEL_TITLE: i32 = 22;
/// Groups of a panel; more go into another one below.
const PER_PANEL: usize = 8;

fn colour(who: Implementation) -> Colour {
    match who {
        Software => "#B0B7C1",
        OpenSsl => "#5680B2",
        AfAlg => "#D68910",
        Crossing => "#969CA6",
        _ => TENROUNDS,
    }
}

/// The implementations that have bars.
fn bars(run: &Run) -> &'static [Implementation] {
    match run.paths {
        Some(_) => &PATHS,
        None => &BARS,
    }
}

/// Groups beside each other.
struct Panel {
    title: String,
    groups: Vec<Group>,
}

/// A group of bars: one algorithm, or one size.
struct Group {
    lines: Vec<String>,
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

fn group(run: &Run, figure: &Figure, lines: Vec<String>) -> Group {
    let bars = bars(run).iter();
    Group {
        lines,
        bars: bars
            .filter_map(|&who| Some((who, figure.rate(who)?)))
            .collect(),
        limit: figure.rate(Limit),
        fraction: figure.ratio(Tenrounds, Limit),
        ratio: figure.ratio(Tenrounds, OpenSsl),
    }
}

fn of_algorithm(run: &Run, figure: &Figure) -> Group {
    let name = title(&figure.case).replacen("Poly", "\u{200b}Poly", 1);
    let lines = name.split([' ', '\u{200b}']).map(str::to_owned);
    group(run, figure, lines.collect())
}

fn panels(run: &Run) -> Vec<Panel> {
    let blocks = shown(run);
    if run.paths.is_some() || one_size(&blocks).is_none() {
        let of_size = |f: &Figure| group(run, f, vec![size_name(f.case.bytes)]);
        let panel = |block: &&[Figure]| Panel {
            title: match run.paths {
                Some(_) => title_with_threads(&block[0].case),
                None => title(&block[0].case),
            },
            groups: block.iter().map(of_size).collect(),
        };
        return blocks.iter().map(panel).collect();
    }
    let panel = |blocks: &[&[Figure]]| Panel {
        title: String::new(),
        groups: blocks.iter().map(|b| of_algorithm(run, &b[0])).collect(),
    };
    blocks.chunks(PER_PANEL).map(panel).collect()
}

pub fn draw(run: &Run) -> String {
    let panels = panels(run);
    let groups: Vec<&Group> = panels.iter().flat_map(|panel| &panel.groups).collect();
    let most = panels.iter().map(|p| p.groups.len()).max().unwrap_or(0);
    let most = most.max(1) as i32;
    let bars = groups.iter().map(|g| g.bars.len()).max().unwrap_or(0) as i32;
    let wide = (LEFT + RIGHT + (BAR * bars + SPACE) * most).max(800);
    let values = groups
        .iter()
        .flat_map(|g| g.bars.iter().map(|b| b.1).chain(g.limit));
    let frame = Frame {
        wide,
        group: (wide - LEFT - RIGHT) / most,
        most: 1.15 * values.fold(0.0, f64::max) / 1e9,
    };
    let titled = panels.iter().any(|panel| !panel.title.is_empty());
    let title = if titled { PANEL_TITLE } else { 0 };
    let size = (wide, title + ABOVE + HIGH + BELOW);
    drawing::picture(
        &head(run, &groups),
        panels.len(),
        size,
        |number, top, out| {
            let panel = &panels[number];
            if titled {
                out.text((MARGIN, top + 4), Anchor::Start, (13.0, INK), &panel.title);
            }
            plot(&panel.groups, &frame, top + title, out);
        },
    )
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
        (Mark::Square(colour(who)), label)
    });
    let limit = match threads {
        1 => "limit of this core (AES rounds alone)".to_owned(),
        n => format!("limit of {n} threads (AES rounds alone)"),
    };
    let limit = groups.iter().any(|g| g.limit.is_some()).then_some(limit);
    bars.chain(limit.map(|label| (Mark::Line(LIMIT), label)))
        .collect()
}

/// What all panels have in common, so that they can be compared.
struct Frame {
    wide: i32,
    /// The pixels of a group.
    group: i32,
    /// The end of the axis, in gigabytes per second.
    most: f64,
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

/// One panel, from its axis on.
fn plot(groups: &[Group], frame: &Frame, top: i32, out: &mut Elements) {
    let bottom = top + ABOVE + HIGH;
    let height = |gigabytes: f64| (gigabytes / frame.most * f64::from(HIGH)).round() as i32;
    let y = |bytes_per_second: f64| bottom - height(bytes_per_second / 1e9);
    out.text((LEFT - 8, top + 4), Anchor::End, (11.0, INK), "GB/s");
    for tick in ticks(frame.most) {
        let at = bottom - height(tick);
        out.line((LEFT, at), (frame.wide - RIGHT, at), PALE, 1);
        let number = ((tick * 1e6).round() / 1e6).to_string();
        out.text((LEFT - 8, at - 4), Anchor::End, (10.5, INK), &number);
    }
    for (index, group) in groups.iter().enumerate() {
        let centre = LEFT + frame.group * index as i32 + frame.group / 2;
        let half = BAR * group.bars.len() as i32 / 2;
        let limit = group.limit.map(y);
        for (place, &(who, rate)) in group.bars.iter().enumerate() {
            let (left, end) = (centre - half + BAR * place as i32, y(rate));
            out.rectangle((left + 2, end), (BAR - 4, bottom - end), colour(who));
            let lines = label(group, who, rate);
            let height = lines.iter().map(|(_, size)| high(*size) + GAP).sum::<i32>() - GAP;
            let mut top = clear_of(limit, end - GAP - height, height);
            for (line, size) in lines {
                out.text((left + BAR / 2, top), Anchor::Middle, (size, INK), &line);
                top += high(size) + GAP;
            }
        }
        if let Some(y) = limit {
            let half = half + SPACE / 2 - 1;
            out.line((centre - half, y), (centre + half, y), LIMIT, 3);
        }
        below((centre, bottom), group, out);
    }
}

/// The label of a bar, with the size of each line: its rate, and for tenrounds the fraction of the
/// limit.
fn label(group: &Group, who: Implementation, rate: f64) -> Vec<(String, f64)> {
    let fraction = group.fraction.filter(|_| who == Tenrounds);
    let fraction = fraction.map(|part| (format!("{:.0} %", part * 100.0), 8.0));
    let lines = [Some((terminal::gigabytes(rate), 10.0)), fraction];
    lines.into_iter().flatten().collect()
}

/// The height of digits, which are as high as capital letters.
fn high(size: f64) -> i32 {
    (0.78 * size).ceil() as i32
}

/// The upper edge of a label, or one above the limit line if that is too close.
fn clear_of(limit: Option<i32>, top: i32, height: i32) -> i32 {
    let close = |y: &i32| top < y + HALF + GAP && top + height > y - HALF - GAP;
    let limit = limit.filter(close);
    limit.map_or(top, |y| y - HALF - GAP - height)
}

/// The group's name under the axis, one word per line, and its ratio.
fn below((x, y): (i32, i32), group: &Group, out: &mut Elements) {
    let names = group.lines.iter().map(|line| (line.clone(), INK));
    let ratio = group.ratio.map(|ratio| (times(ratio), TENROUNDS));
    for (index, (line, ink)) in names.chain(ratio).enumerate() {
        let place = (x, y + 8 + 17 * index as i32);
        out.text(place, Anchor::Middle, (10.5, ink), &line);
    }
}

#[cfg(test)]
mod tests;
