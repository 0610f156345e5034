// SPDX-License-Identifier: BSD-2-Clause
//! A run as a picture: grouped bars, the limit as a line over each group, and below it how many
//! times faster tenrounds is than OpenSSL. Of several sizes, each algorithm has a panel with a
//! group for each size. Of one size, a group is an algorithm.

use super::figure::{size_name, times, title, Figure};
use super::implementation::Implementation::{self, *};
use super::paths_svg;
use super::report::{skips_rounds, SKIPS_ROUNDS};
use super::run::Run;
use base::replaced;
use drawing::{anchored, pixels, text, Area, Drawn, Head, Mark};
use drawing::{INK, LIMIT, MARGIN, PALE, TENROUNDS};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use std::path::Path;
use terminal::error::{Error, Result};

const BARS: [Implementation; 3] = [Software, OpenSsl, Tenrounds];
const GROUP: f64 = 1.0;
const BAR: f64 = 0.28;
const LIMIT_LINE: f64 = 0.45;
const PANEL: u32 = 470;
/// Minimum pixels between a label and the end of its bar, or a limit line.
const GAP: i32 = 4;
/// The height of a panel's title.
const PANEL_TITLE: u32 = 22;
/// Groups of a panel; more go into another one below.
const PER_PANEL: usize = 8;

fn colour(who: Implementation) -> RGBColor {
    match who {
        Software => RGBColor(176, 183, 193),
        OpenSsl => RGBColor(86, 128, 178),
        _ => TENROUNDS,
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
    ceiling: Option<f64>,
    /// Ours, as a part of the limit.
    fraction: Option<f64>,
    /// Ours, to OpenSSL's.
    ratio: Option<f64>,
}

/// The blocks that the picture shows: those with the lowest number of threads.
fn shown(run: &Run) -> Vec<&[Figure]> {
    let blocks = run.blocks();
    let threads = |block: &&[Figure]| block[0].case.threads;
    let lowest = blocks.iter().map(threads).min();
    let shown = blocks.into_iter();
    shown
        .filter(|block| Some(threads(block)) == lowest)
        .collect()
}

/// The size, if there is only one.
fn one_size(blocks: &[&[Figure]]) -> Option<usize> {
    let mut sizes = blocks.iter().flat_map(|block| block.iter());
    let first = sizes.next()?.case.bytes;
    sizes.all(|f| f.case.bytes == first).then_some(first)
}

fn group(figure: &Figure, lines: Vec<String>) -> Group {
    Group {
        lines,
        bars: BARS
            .iter()
            .filter_map(|&who| Some((who, figure.rate(who)?)))
            .collect(),
        limit: figure.rate(Limit),
        ceiling: figure.rate(Ceiling),
        fraction: figure.ratio(Tenrounds, Limit),
        ratio: figure.ratio(Tenrounds, OpenSsl),
    }
}

fn of_algorithm(figure: &Figure) -> Group {
    let name = title(&figure.case).replacen("Poly", "\u{200b}Poly", 1);
    let lines = name.split([' ', '\u{200b}']).map(str::to_owned);
    group(figure, lines.collect())
}

fn panels(run: &Run) -> Vec<Panel> {
    let blocks = shown(run);
    if one_size(&blocks).is_none() {
        let of_size = |f: &Figure| group(f, vec![size_name(f.case.bytes)]);
        let panel = |block: &&[Figure]| Panel {
            title: title(&block[0].case),
            groups: block.iter().map(of_size).collect(),
        };
        return blocks.iter().map(panel).collect();
    }
    let panel = |blocks: &[&[Figure]]| Panel {
        title: String::new(),
        groups: blocks.iter().map(|block| of_algorithm(&block[0])).collect(),
    };
    blocks.chunks(PER_PANEL).map(panel).collect()
}

pub fn write(run: &Run, path: &Path) -> Result<()> {
    let picture = match &run.paths {
        Some(_) => paths_svg::draw(run),
        None => draw(run),
    };
    let failed = |why| Error::failure(format!("cannot draw {}: {why}", path.display()));
    replaced::write(path, &picture.map_err(failed)?)
}

fn draw(run: &Run) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let panels = panels(run);
    let groups: Vec<&Group> = panels.iter().flat_map(|panel| &panel.groups).collect();
    let most = panels.iter().map(|p| p.groups.len()).max().unwrap_or(0);
    let most = most.max(1);
    let titled = panels.iter().any(|panel| !panel.title.is_empty());
    let values = groups
        .iter()
        .flat_map(|g| g.bars.iter().map(|b| b.1).chain(g.limit));
    let highest = values.fold(0.0, f64::max) / 1e9;
    let size = (
        (110 + 112 * most as u32).max(800),
        PANEL + if titled { PANEL_TITLE } else { 0 },
    );
    drawing::picture(&head(run, &groups), panels.len(), size, |index, area| {
        let panel = &panels[index];
        if !titled {
            return plot(&panel.groups, (most, highest), area);
        }
        let (head, below) = area.split_vertically(PANEL_TITLE);
        let title = panel.title.as_str();
        head.draw(&Text::new(title, (MARGIN, 4), text(16.0, &INK)))?;
        plot(&panel.groups, (most, highest), &below)
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
    Head {
        title: format!("{what}: {threads} thread{plural}{size}"),
        about: std::iter::once(run.about()).chain(remark).collect(),
        legend: entries(run, groups, threads),
    }
}

/// The legend's entries: only the implementations and limits that are drawn.
fn entries(run: &Run, groups: &[&Group], threads: usize) -> Vec<(Mark, String)> {
    let version = run.openssl_version().split(' ').nth(1).unwrap_or_default();
    let drawn = |who| groups.iter().any(|g| g.bars.iter().any(|b| b.0 == who));
    let bars = BARS.into_iter().filter(|who| drawn(*who)).map(|who| {
        let label = match who {
            Software => "OpenSSL, AES instructions masked".to_owned(),
            OpenSsl => format!("OpenSSL {version}"),
            _ => "OpenSSL with tenrounds".to_owned(),
        };
        (Mark::Square(colour(who)), label)
    });
    let limit = match threads {
        1 => "limit of this core (AES rounds alone)".to_owned(),
        n => format!("limit of {n} threads (AES rounds alone)"),
    };
    let limit = groups.iter().any(|g| g.limit.is_some()).then_some(limit);
    let ceiling = groups.iter().any(|g| g.ceiling.is_some());
    let ceiling = ceiling.then(|| "ceiling (AES+CLMUL)".to_owned());
    bars.chain(limit.map(|label| (Mark::Line(LIMIT, 3), label)))
        .chain(ceiling.map(|label| (Mark::Line(LIMIT, 1), label)))
        .collect()
}

/// One panel. All are as wide as the one with the most groups, and as high.
fn plot(groups: &[Group], (most, highest): (usize, f64), area: &Area) -> Drawn {
    let mut chart = ChartBuilder::on(area)
        .margin_left(14)
        .margin_right(24)
        .margin_top(8)
        .margin_bottom(8)
        .x_label_area_size(66)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..most as f64 * GROUP, 0.0..highest * 1.15)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(PALE)
        .axis_style(PALE)
        .y_desc("GB/s")
        .y_labels(8)
        .y_label_formatter(&|gigabytes| format!("{}", (gigabytes * 1e6).round() / 1e6))
        .label_style(text(13.0, &INK))
        .axis_desc_style(text(14.0, &INK))
        .draw()?;
    let (left, top) = area.get_base_pixel();
    let pixel = |x: f64, gigabytes: f64| {
        let (x, y) = chart.plotting_area().map_coordinate(&(x, gigabytes));
        (x - left, y - top)
    };
    for (index, group) in groups.iter().enumerate() {
        let centre = (index as f64 + 0.5) * GROUP;
        let first = centre - BAR * group.bars.len() as f64 / 2.0;
        let bounds = [(group.limit, 3), (group.ceiling, 1)];
        let bounds = bounds.map(|(rate, stroke)| Some((pixel(centre, rate? / 1e9).1, stroke)));
        let bounds: Vec<(i32, u32)> = bounds.into_iter().flatten().collect();
        for (place, &(who, rate)) in group.bars.iter().enumerate() {
            let (x, y) = (first + BAR * place as f64, rate / 1e9);
            let corners = [pixel(x + 0.015, 0.0), pixel(x + BAR - 0.015, y)];
            area.draw(&Rectangle::new(corners, colour(who).filled()))?;
            let (middle, end) = pixel(x + BAR / 2.0, y);
            let lines = label(group, who, rate);
            let height = lines.iter().map(|(_, size)| high(*size) + GAP).sum::<i32>() - GAP;
            let mut top = clear_above(end - GAP - height, height, &bounds);
            for (line, size) in lines {
                let style = anchored(size, &INK, HPos::Center, VPos::Top);
                area.draw(&Text::new(line, (middle, top), style))?;
                top += high(size) + GAP;
            }
        }
        for (y, stroke) in bounds {
            let ends = [centre - LIMIT_LINE, centre + LIMIT_LINE];
            let line = ends.map(|x| (pixel(x, 0.0).0, y)).to_vec();
            area.draw(&PathElement::new(line, LIMIT.stroke_width(stroke)))?;
        }
        below(area, pixel(centre, 0.0), group)?;
    }
    Ok(())
}

/// The label of a bar, with the size of each line: its rate, and for tenrounds the fraction of the
/// limit.
fn label(group: &Group, who: Implementation, rate: f64) -> Vec<(String, f64)> {
    let fraction = group.fraction.filter(|_| who == Tenrounds);
    let fraction = fraction.map(|part| (format!("{:.0} %", part * 100.0), 10.0));
    let lines = [Some((terminal::gigabytes(rate), 12.5)), fraction];
    lines.into_iter().flatten().collect()
}

/// The height of digits, which are as high as capital letters.
fn high(size: f64) -> i32 {
    (0.78 * pixels(size)).ceil() as i32
}

/// The upper and lower edge of a limit line that is too close to a label.
fn in_the_way(top: i32, height: i32, bounds: &[(i32, u32)]) -> Option<(i32, i32)> {
    let half = |stroke: u32| stroke.div_ceil(2) as i32;
    let edges = bounds
        .iter()
        .map(|(y, stroke)| (y - half(*stroke), y + half(*stroke)));
    let near = |(above, below): &(i32, i32)| top < below + GAP && top + height > above - GAP;
    edges.into_iter().find(near)
}

/// The first top edge at or above `top` where no limit line is too close.
fn clear_above(mut top: i32, height: i32, bounds: &[(i32, u32)]) -> i32 {
    while let Some((above, _)) = in_the_way(top, height, bounds) {
        top = above - GAP - height;
    }
    top
}

/// The group's name under the axis, one word per line, and its ratio.
fn below(area: &Area, axis: (i32, i32), group: &Group) -> Drawn {
    let ratio = group.ratio.map(times);
    let names = group.lines.iter().map(|line| (line.clone(), INK));
    let ratio = ratio.map(|ratio| (ratio, colour(Tenrounds)));
    for (index, (line, ink)) in names.chain(ratio).enumerate() {
        let place = (axis.0, axis.1 + 8 + 17 * index as i32);
        let style = anchored(13.0, &ink, HPos::Center, VPos::Top);
        area.draw(&Text::new(line, place, style))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
