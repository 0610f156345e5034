// SPDX-License-Identifier: BSD-2-Clause
//! A comparison as a picture: grouped bars at the largest size, the limit as a line over each group.

use super::compare::Comparison;
use super::figure::{size_name, title, Figure};
use super::implementation::Implementation::{self, *};
use crate::error::{Error, Result};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

const BARS: [Implementation; 3] = [Software, OpenSsl, Tenrounds];
const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(38, 43, 51);
const PALE: RGBColor = RGBColor(225, 228, 233);
const LIMIT: RGBColor = RGBColor(192, 57, 43);

const GROUP: f64 = 1.0;
const BAR: f64 = 0.28;
const LIMIT_LINE: f64 = 0.45;
const HEADING: u32 = 104;
const PANEL: u32 = 456;
/// Groups of a panel; more go into another one below.
const PER_PANEL: usize = 8;

fn colour(who: Implementation) -> RGBColor {
    match who {
        Software => RGBColor(176, 183, 193),
        OpenSsl => RGBColor(86, 128, 178),
        _ => RGBColor(23, 146, 101),
    }
}

/// A group of bars: one algorithm, or one reference.
struct Group {
    lines: Vec<String>,
    bars: Vec<(Implementation, f64)>,
    limit: Option<f64>,
    ceiling: Option<f64>,
    /// Ours, as a part of the limit.
    fraction: Option<f64>,
}

/// The figures of the largest size and one thread (or the fewest).
fn largest(figures: &[Figure]) -> impl Iterator<Item = &Figure> {
    let bytes = figures.iter().map(|f| f.case.bytes).max().unwrap_or(0);
    let threads = figures.iter().map(|f| f.case.threads).min().unwrap_or(1);
    figures
        .iter()
        .filter(move |f| f.case.bytes == bytes && f.case.threads == threads)
}

fn groups(found: &Comparison) -> Vec<Group> {
    let group = |figure: &Figure| Group {
        lines: title(&figure.case)
            .replacen("Poly", "\u{200b}Poly", 1)
            .split([' ', '\u{200b}'])
            .map(str::to_owned)
            .collect(),
        bars: BARS
            .iter()
            .filter_map(|&who| Some((who, figure.rate(who)?)))
            .collect(),
        limit: figure.rate(Limit),
        ceiling: figure.rate(Ceiling),
        fraction: figure.ratio(Tenrounds, Limit),
    };
    largest(&found.figures)
        .chain(largest(&found.references))
        .map(group)
        .collect()
}

/// An error, before anything is measured, if the file cannot be written. Leaves no trace.
pub fn writable(path: &Path) -> Result<()> {
    let failed = |error: std::io::Error| cannot_write(path, &error.to_string());
    let existed = path.exists();
    let mut options = std::fs::OpenOptions::new();
    options
        .append(true)
        .create(true)
        .open(path)
        .map_err(failed)?;
    match existed {
        true => Ok(()),
        false => std::fs::remove_file(path).map_err(failed),
    }
}

fn cannot_write(path: &Path, why: &str) -> Error {
    Error::failure(format!("cannot write {}: {why}", path.display()))
}

pub fn write(found: &Comparison, path: &Path) -> Result<()> {
    let groups = groups(found);
    let mut picture = String::new();
    draw(found, &groups, &mut picture).map_err(|error| cannot_write(path, &error))?;
    std::fs::write(path, picture).map_err(|error| cannot_write(path, &error.to_string()))
}

fn text(size: f64, colour: &RGBColor) -> TextStyle<'_> {
    (FONT, size).into_font().color(colour)
}

fn anchored(size: f64, colour: &RGBColor, h: HPos, v: VPos) -> TextStyle<'_> {
    text(size, colour).pos(Pos::new(h, v))
}

/// The groups by panel: PER_PANEL each, and the references beside the last.
fn panels(groups: &[Group]) -> Vec<&[Group]> {
    let ciphers = groups
        .iter()
        .filter(|g| g.bars.iter().any(|(who, _)| *who != OpenSsl))
        .count();
    let mut panels = Vec::new();
    let mut rest = groups;
    let mut left = ciphers;
    while left > PER_PANEL {
        let (panel, others) = rest.split_at(PER_PANEL);
        panels.push(panel);
        rest = others;
        left -= PER_PANEL;
    }
    panels.push(rest);
    panels
}

fn draw(found: &Comparison, groups: &[Group], out: &mut String) -> std::result::Result<(), String> {
    let panels = panels(groups);
    let most = panels.iter().map(|p| p.len()).max().unwrap_or(0);
    let size = (
        (110 + 112 * most as u32).max(800),
        HEADING + PANEL * panels.len() as u32,
    );
    let values = groups
        .iter()
        .flat_map(|g| g.bars.iter().map(|b| b.1).chain(g.limit));
    let highest = values.fold(0.0, f64::max) / 1e9;
    let root = SVGBackend::with_string(out, size).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    root.fill(&WHITE).map_err(|e| failed(&e))?;
    let (head, body) = root.split_vertically(HEADING);
    heading(found, groups, &head).map_err(|e| failed(&e))?;
    for (panel, area) in panels.iter().zip(body.split_evenly((panels.len(), 1))) {
        plot(panel, (most, highest), &area).map_err(|e| failed(&e))?;
    }
    root.present().map_err(|e| failed(&e))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

fn heading<'a>(found: &Comparison, groups: &[Group], area: &Area<'a>) -> Drawn<'a> {
    let figure = largest(&found.figures).next();
    let size = figure.map_or(String::new(), |f| {
        format!(", calls of {}", size_name(f.case.bytes))
    });
    let threads = figure.map_or(1, |f| f.case.threads);
    let plural = if threads == 1 { "" } else { "s" };
    let title = format!("AES through OpenSSL: {threads} thread{plural}{size}");
    area.draw(&Text::new(
        title,
        (24, 20),
        text(22.0, &INK).transform(FontTransform::None),
    ))?;
    let host = format!("{} · {}", found.host.cpu.brand, found.openssl_version());
    area.draw(&Text::new(
        host,
        (24, 48),
        text(14.0, &RGBColor(96, 104, 116)),
    ))?;
    legend(found, groups, area)
}

fn legend<'a>(found: &Comparison, groups: &[Group], area: &Area<'a>) -> Drawn<'a> {
    let version = found
        .openssl_version()
        .split(' ')
        .nth(1)
        .unwrap_or_default()
        .to_owned();
    let mut x = 24;
    for who in BARS {
        let label = match who {
            Software => "OpenSSL, AES instructions masked".to_owned(),
            OpenSsl => format!("OpenSSL {version}"),
            _ => "OpenSSL with tenrounds".to_owned(),
        };
        let square = [(x, 78), (x + 13, 91)];
        area.draw(&Rectangle::new(square, colour(who).filled()))?;
        area.draw(&Text::new(label.clone(), (x + 19, 78), text(14.0, &INK)))?;
        x += 19 + 24 + (label.len() as f64 * 6.4) as i32;
    }
    if groups.iter().any(|g| g.limit.is_some()) {
        let line = vec![(x, 84), (x + 20, 84)];
        area.draw(&PathElement::new(line, LIMIT.stroke_width(3)))?;
        let label = "limit of this core";
        area.draw(&Text::new(label, (x + 26, 78), text(14.0, &INK)))?;
        x += 26 + 24 + (label.len() as f64 * 6.4) as i32;
    }
    if groups.iter().any(|g| g.ceiling.is_some()) {
        let line = vec![(x, 84), (x + 20, 84)];
        area.draw(&PathElement::new(line, LIMIT.stroke_width(1)))?;
        let label = "with the multiplications of its hash";
        area.draw(&Text::new(label, (x + 26, 78), text(14.0, &INK)))?;
    }
    Ok(())
}

/// One panel. All are as wide as the one with the most groups, and as high.
fn plot<'a>(groups: &[Group], (most, highest): (usize, f64), area: &Area<'a>) -> Drawn<'a> {
    let mut chart = ChartBuilder::on(area)
        .margin_left(14)
        .margin_right(24)
        .margin_top(8)
        .margin_bottom(8)
        .x_label_area_size(52)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..most as f64 * GROUP, 0.0..highest * 1.08)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(PALE)
        .axis_style(PALE)
        .y_desc("GB/s")
        .y_labels(8)
        .y_label_formatter(&|gigabytes| format!("{gigabytes}"))
        .label_style(text(13.0, &INK))
        .axis_desc_style(text(14.0, &INK))
        .draw()?;
    for (index, group) in groups.iter().enumerate() {
        let centre = (index as f64 + 0.5) * GROUP;
        let left = centre - BAR * group.bars.len() as f64 / 2.0;
        for (place, &(who, rate)) in group.bars.iter().enumerate() {
            let (x, y) = (left + BAR * place as f64, rate / 1e9);
            let corners = [(x + 0.015, 0.0), (x + BAR - 0.015, y)];
            chart.draw_series([Rectangle::new(corners, colour(who).filled())])?;
            chart.draw_series(labels(group, who, rate, (x + BAR / 2.0, highest)))?;
        }
        for (bound, width) in [(group.limit, 3), (group.ceiling, 1)] {
            if let Some(rate) = bound {
                let line = vec![
                    (centre - LIMIT_LINE, rate / 1e9),
                    (centre + LIMIT_LINE, rate / 1e9),
                ];
                chart.draw_series([PathElement::new(line, LIMIT.stroke_width(width))])?;
            }
        }
        let axis = chart.plotting_area().map_coordinate(&(centre, 0.0));
        below(area, axis, &group.lines)?;
    }
    Ok(())
}

/// The rate of a bar, and for ours the part of the limit: inside a tall bar, above a short one and above
/// the line of a limit that is near.
fn labels(
    group: &Group,
    who: Implementation,
    rate: f64,
    (centre, highest): (f64, f64),
) -> Vec<Text<'static, (f64, f64), String>> {
    let top = rate / 1e9;
    let tall = top > 0.2 * highest;
    let near = group
        .limit
        .map(|l| l / 1e9)
        .filter(|l| (top..top + 0.05 * highest).contains(l));
    let line = highest * 0.033;
    let label = |text: String, size: f64, y: f64| match tall {
        true => Text::new(
            text,
            (centre, y),
            anchored(size, &WHITE, HPos::Center, VPos::Top),
        ),
        false => Text::new(
            text,
            (centre, y),
            anchored(size, &INK, HPos::Center, VPos::Bottom),
        ),
    };
    let at = if tall {
        top - line / 3.0
    } else {
        near.unwrap_or(top) + line / 6.0
    };
    let mut labels = vec![label(super::chart::gigabytes(rate), 12.5, at)];
    if let (true, Tenrounds, Some(fraction)) = (tall, who, group.fraction) {
        labels.push(label(format!("{:.0} %", fraction * 100.0), 11.0, at - line));
    }
    labels
}

/// The group's name under the axis, one word per line.
fn below<'a>(area: &Area<'a>, axis: (i32, i32), lines: &[String]) -> Drawn<'a> {
    let (left, top) = area.get_base_pixel();
    for (index, line) in lines.iter().enumerate() {
        let place = (axis.0 - left, axis.1 - top + 8 + 17 * index as i32);
        let style = anchored(13.0, &INK, HPos::Center, VPos::Top);
        area.draw(&Text::new(line.clone(), place, style))?;
    }
    Ok(())
}
