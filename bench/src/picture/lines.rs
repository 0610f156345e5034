// SPDX-License-Identifier: BSD-2-Clause
//! Lines over the bytes of a message or a call: panels side by side, each with the same lines.

use super::run::{self, Of, Run};
use crate::plan::Environment;
use super::{headed, on_paper, remarks, Area, Drawn, Theme, ABOUT, LINE, WIDTH};
use drawing::{anchored, text, width, wrap, MARGIN};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::FontTransform;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// A file of docs/charts: its figures come from a published run, or are in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    title: String,
    /// The name and the unit of the horizontal axis, as in "bytes of a message".
    x: String,
    y: Axis,
    lines: Vec<Line>,
    /// A bound in all panels.
    bound: Option<Bound>,
    panels: Vec<Panel>,
    origin: Origin,
    note: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Origin {
    Run {
        /// Relative to the chart.
        run: PathBuf,
        figure: Figure,
        /// The sizes that are shown, if the run has measured them.
        bytes: Vec<usize>,
    },
    /// A measurement of which no run is published.
    File {
        processor: String,
        /// Versions, and whatever else the figures depend on.
        with: String,
        date: String,
        command: String,
    },
}

/// What is drawn of a row of a run.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "lowercase")]
enum Figure {
    /// Percent of the limit.
    Limit,
    /// Nanoseconds of a call.
    Ns,
    /// How many times as fast as this subject.
    Ratio(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Axis {
    name: String,
    #[serde(default)]
    log: bool,
    /// The ends; by default 0, or the least figure, and the largest.
    from: Option<f64>,
    to: Option<f64>,
    /// Behind each figure: " %", "×".
    #[serde(default)]
    unit: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    name: String,
    colour: Colour,
    /// Its id in the run.
    subject: Option<String>,
    /// The limit is that of registers of this width ("aes-xmm"); by default that of the widest.
    rounds: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Colour {
    Blue,
    Green,
    Violet,
    Amber,
    Grey,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bound {
    at: f64,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Panel {
    title: String,
    /// Of a run.
    way: Option<String>,
    #[serde(default = "usual_key")]
    key_bits: u16,
    #[serde(default = "plain")]
    environment: Environment,
    /// Figures of the file, by the names of their lines; null where there is none.
    #[serde(default)]
    bytes: Vec<usize>,
    #[serde(default)]
    figures: BTreeMap<String, Vec<Option<f64>>>,
}

fn usual_key() -> u16 {
    128
}

fn plain() -> Environment {
    Environment::Plain
}

/// Bytes and figure.
type Point = (usize, f64);

/// Everything that the picture shows.
pub struct Lines<'a> {
    chart: &'a Chart,
    about: Vec<String>,
    notes: Vec<String>,
    /// For each panel, for each line.
    points: Vec<Vec<Vec<Point>>>,
}

const REMARK: f64 = 14.0;
const LEGEND: f64 = 15.0;
const TICK: f64 = 13.0;
/// Left of the first plot: the axis' name and its labels.
const AXIS: i32 = 66;
/// Between two plots: the labels of the right one.
const APART: i32 = 50;
const PLOT: i32 = 210;
/// Above a plot: its title. Below it: labels and the axis' name.
const ABOVE: i32 = 34;
const BELOW: i32 = 54;
const SAMPLE: i32 = 30;

impl<'a> Lines<'a> {
    pub fn of(chart: &'a Chart, file: &Path) -> Result<Lines<'a>> {
        let wrong = |why: String| Error::failure(format!("{}: {why}", file.display()));
        let (run, about, command) = match &chart.origin {
            Origin::Run { run, .. } => {
                let dir = file.parent().unwrap_or(Path::new(""));
                let run = run::read(dir.join(run))?;
                let about = run.about()?;
                (Some(run), about, "make bench")
            }
            Origin::File {
                processor,
                with,
                date,
                command,
            } => {
                let about = format!("{processor} · {with} · {date}");
                (None, about, command.as_str())
            }
        };
        for panel in &chart.panels {
            let known = |name: &String| chart.lines.iter().any(|line| line.name == *name);
            if let Some(name) = panel.figures.keys().find(|name| !known(name)) {
                return Err(wrong(format!("'{}' has no line '{name}'", panel.title)));
            }
            if panel.figures.values().any(|f| f.len() != panel.bytes.len()) {
                let why = "has not as many figures as bytes";
                return Err(wrong(format!("a line of '{}' {why}", panel.title)));
            }
        }
        let mut points = Vec::new();
        for panel in &chart.panels {
            let lines = chart.lines.iter().map(|line| match &line.subject {
                Some(subject) => chart.measured(run.as_ref(), panel, line, subject),
                None => Ok(given(panel, &line.name)),
            });
            let lines = lines.collect::<Result<Vec<_>>>()?;
            if lines.iter().all(|points| points.is_empty()) {
                return Err(wrong(format!("'{}' has no figures", panel.title)));
            }
            points.push(lines);
        }
        let room = f64::from(WIDTH - 2 * MARGIN);
        let mut about = wrap(&about, REMARK, room);
        about.extend(wrap(&format!("Measured by: {command}"), REMARK, room));
        let notes = chart.note.as_deref();
        Ok(Lines {
            chart,
            about,
            notes: notes.map_or(Vec::new(), |note| wrap(note, REMARK, room)),
            points,
        })
    }

    pub fn draw(&self, theme: &Theme) -> String {
        let top = ABOUT + LINE * self.about.len() as i32 + 10;
        let legend = self.legend();
        let below = legend.last().map_or(0, |(_, (_, y))| y + 24);
        let rows = self.chart.panels.chunks(self.columns()).count() as i32;
        let panels = top + below + 8;
        let notes = panels + rows * (ABOVE + PLOT + BELOW) + 10;
        let height = notes + LINE * self.notes.len() as i32 + 8;
        on_paper(theme, height, |area| {
            headed(area, theme, &self.chart.title)?;
            remarks(area, theme, ABOUT, &self.about)?;
            for (index, (name, (x, y))) in legend.iter().enumerate() {
                let (x, y) = (MARGIN + x, top + y);
                self.sample(area, theme, index, (x, y + 7))?;
                let at = (x + SAMPLE + 6, y);
                area.draw(&Text::new((*name).to_owned(), at, text(LEGEND, &theme.ink)))?;
            }
            for index in 0..self.chart.panels.len() {
                let (column, row) = (index % self.columns(), index / self.columns());
                let wide = self.plot_width();
                let left = AXIS + column as i32 * (wide + APART);
                let top = panels + row as i32 * (ABOVE + PLOT + BELOW) + ABOVE;
                self.panel(area, theme, index, [(left, top), (left + wide, top + PLOT)])?;
            }
            remarks(area, theme, notes, &self.notes)
        })
    }

    fn columns(&self) -> usize {
        match self.chart.panels.len() {
            4 => 2,
            count => count.min(3),
        }
    }

    fn plot_width(&self) -> i32 {
        let columns = self.columns() as i32;
        (WIDTH - MARGIN - AXIS - (columns - 1) * APART) / columns
    }

    /// The names in the legend, the bound last, with their places from its left top.
    fn legend(&self) -> Vec<(&str, (i32, i32))> {
        let names = self.chart.lines.iter().map(|line| line.name.as_str());
        let bound = self.chart.bound.iter().map(|bound| bound.name.as_str());
        let right = WIDTH - 2 * MARGIN;
        let (mut x, mut y) = (0, 0);
        let place = |name| {
            let wide = SAMPLE + 6 + width(name, LEGEND).ceil() as i32;
            if x > 0 && x + wide > right {
                (x, y) = (0, y + 24);
            }
            let at = (x, y);
            x += wide + 22;
            (name, at)
        };
        names.chain(bound).map(place).collect()
    }

    /// The beginning of a line, before its name.
    fn sample<'b>(
        &self,
        area: &Area<'b>,
        theme: &Theme,
        index: usize,
        (x, y): (i32, i32),
    ) -> Drawn<'b> {
        let ends = vec![(x, y), (x + SAMPLE, y)];
        match self.chart.lines.get(index) {
            Some(line) => {
                let colour = line.colour.of(theme);
                area.draw(&PathElement::new(ends, colour.stroke_width(2)))?;
                mark(area, index, (x + SAMPLE / 2, y), colour)
            }
            None => area.draw(&PathElement::new(ends, theme.limit.stroke_width(2))),
        }
    }

    /// The ends of the vertical axis.
    fn range(&self) -> (f64, f64) {
        let axis = &self.chart.y;
        let figures = || self.points.iter().flatten().flatten().map(|p| p.1);
        let bound = || self.chart.bound.iter().map(|bound| bound.at);
        let most = figures().chain(bound()).fold(0.0, f64::max);
        let least = figures().chain(bound()).fold(f64::MAX, f64::min);
        let (from, to) = match axis.log {
            true => (least / 1.15, most * 1.15),
            false => (0.0, most * 1.05),
        };
        (axis.from.unwrap_or(from), axis.to.unwrap_or(to))
    }

    fn panel<'b>(
        &self,
        area: &Area<'b>,
        theme: &Theme,
        index: usize,
        [(left, top), (right, bottom)]: [(i32, i32); 2],
    ) -> Drawn<'b> {
        let chart = self.chart;
        let panel = &chart.panels[index];
        let (from, to) = self.range();
        let high = |value: f64| match chart.y.log {
            true => (value / from).ln() / (to / from).ln(),
            false => (value - from) / (to - from),
        };
        let y = |value: f64| bottom - (high(value) * f64::from(bottom - top)).round() as i32;
        let sizes = || self.points[index].iter().flatten().map(|p| p.0);
        let (least, most) = (sizes().min().unwrap_or(1), sizes().max().unwrap_or(1));
        // The marks at both ends are inside of the plot.
        let (first, last) = (left + 12, right - 12);
        let octaves = (most as f64 / least as f64).log2().max(1.0);
        let x = |bytes: usize| {
            let along = (bytes as f64 / least as f64).log2() / octaves;
            first + (along * f64::from(last - first)).round() as i32
        };
        let say = |words: String, at: (i32, i32), style: TextStyle| {
            area.draw(&Text::new(words, at, style))
        };
        let middle = (left + right) / 2;
        let style = anchored(16.0, &theme.ink, HPos::Center, VPos::Bottom);
        say(panel.title.clone(), (middle, top - 10), style)?;
        for value in ticks(from, to, chart.y.log) {
            let at = y(value);
            let line = vec![(left, at), (right, at)];
            area.draw(&PathElement::new(line, theme.grid.stroke_width(1)))?;
            let style = anchored(TICK, &theme.muted, HPos::Right, VPos::Center);
            say(format!("{value}{}", chart.y.unit), (left - 6, at), style)?;
        }
        let room = f64::from(last - first) / octaves;
        for bytes in sizes_of_axis(least, most, room) {
            let at = x(bytes);
            let line = vec![(at, bottom), (at, bottom + 4)];
            area.draw(&PathElement::new(line, theme.muted.stroke_width(1)))?;
            let style = anchored(TICK, &theme.muted, HPos::Center, VPos::Top);
            say(short(bytes), (at, bottom + 8), style)?;
        }
        let style = anchored(TICK, &theme.muted, HPos::Center, VPos::Top);
        say(chart.x.clone(), (middle, bottom + 25), style)?;
        if index.is_multiple_of(self.columns()) {
            let pos = Pos::new(HPos::Center, VPos::Top);
            let style = (text(TICK, &theme.muted).pos(pos)).transform(FontTransform::Rotate270);
            say(chart.y.name.clone(), (8, (top + bottom) / 2), style)?;
        }
        if let Some(bound) = &chart.bound {
            let line = vec![(left, y(bound.at)), (right, y(bound.at))];
            area.draw(&PathElement::new(line, theme.limit.stroke_width(2)))?;
        }
        for (number, points) in self.points[index].iter().enumerate() {
            let colour = chart.lines[number].colour.of(theme);
            let points: Vec<(i32, i32)> = points.iter().map(|p| (x(p.0), y(p.1))).collect();
            area.draw(&PathElement::new(points.clone(), colour.stroke_width(2)))?;
            for point in points {
                mark(area, number, point, colour)?;
            }
        }
        Ok(())
    }
}

impl Chart {
    /// A line's points of a run.
    fn measured(
        &self,
        run: Option<&Run>,
        panel: &Panel,
        line: &Line,
        subject: &str,
    ) -> Result<Vec<Point>> {
        let (Some(run), Origin::Run { figure, bytes, .. }) = (run, &self.origin) else {
            let why = format!(
                "the line '{}' has a subject, but there is no run",
                line.name
            );
            return Err(Error::failure(why));
        };
        let of = Of {
            way: panel.way.as_deref().unwrap_or_default(),
            key_bits: panel.key_bits,
            environment: panel.environment,
        };
        let scale = match &line.rounds {
            Some(width) => {
                let all = ["aes-xmm", "aes-ymm", "aes-zmm"].map(|width| run.rounds(width));
                let best = all.into_iter().flatten().fold(0.0, f64::max);
                best / run.rounds(width)?
            }
            None => 1.0,
        };
        let mut points = Vec::new();
        for &bytes in bytes {
            let Some(row) = run.find(of, bytes, subject) else {
                continue;
            };
            let value = match figure {
                Figure::Limit => 100.0 * scale * run.fraction(of, row)?,
                Figure::Ns => bytes as f64 * 1e9 / row.rate.median,
                Figure::Ratio(other) => {
                    let other = run.row(of, bytes, other)?;
                    run.fraction(of, row)? / run.fraction(of, other)?
                }
            };
            points.push((bytes, value));
        }
        if points.is_empty() {
            run.row(of, bytes[0], subject)?;
        }
        Ok(points)
    }
}

/// A line's points of the file.
fn given(panel: &Panel, name: &str) -> Vec<Point> {
    let figures = panel.figures.get(name).into_iter().flatten();
    let points = panel.bytes.iter().zip(figures);
    points.filter_map(|(&b, f)| Some((b, (*f)?))).collect()
}

impl Colour {
    fn of(self, theme: &Theme) -> RGBColor {
        match self {
            Colour::Blue => theme.openssl,
            Colour::Green => theme.tenrounds,
            Colour::Violet => theme.violet,
            Colour::Amber => theme.amber,
            Colour::Grey => theme.muted,
        }
    }
}

/// A point of a line. Each line has marks of its own form, so that colours are not needed.
fn mark<'a>(area: &Area<'a>, line: usize, (x, y): (i32, i32), colour: RGBColor) -> Drawn<'a> {
    let form = match line % 5 {
        0 => return area.draw(&Circle::new((x, y), 4, colour.filled())),
        1 => vec![
            (x - 4, y - 4),
            (x + 4, y - 4),
            (x + 4, y + 4),
            (x - 4, y + 4),
        ],
        2 => vec![(x, y - 5), (x + 5, y + 4), (x - 5, y + 4)],
        3 => vec![(x, y - 6), (x + 6, y), (x, y + 6), (x - 6, y)],
        _ => vec![(x, y + 5), (x + 5, y - 4), (x - 5, y - 4)],
    };
    area.draw(&Polygon::new(form, colour))
}

/// The labelled figures of a vertical axis.
fn ticks(from: f64, to: f64, log: bool) -> Vec<f64> {
    let of = |digits: &[f64], lowest: i32, highest: i32| -> Vec<f64> {
        let tens = (lowest..=highest).map(|exponent| 10f64.powi(exponent));
        let all = tens.flat_map(|ten| digits.iter().map(move |digit| digit * ten));
        let rounded = all.map(|value| format!("{value:.6}").parse().expect("a number"));
        rounded.filter(|v| (from..=to).contains(v)).collect()
    };
    if log {
        let (lowest, highest) = (from.log10().floor() as i32, to.log10().ceil() as i32);
        let fine = of(&[1.0, 2.0, 5.0], lowest, highest);
        return match fine.len() {
            0..=8 => fine,
            _ => of(&[1.0], lowest, highest),
        };
    }
    let rough = (to - from) / 5.0;
    let ten = 10f64.powf(rough.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|d| d * ten >= 0.8 * rough);
    let step = digit.unwrap_or(10.0) * ten;
    let first = (from / step).ceil() as i64;
    let last = (to / step).floor() as i64;
    let rounded = |n: i64| format!("{:.6}", n as f64 * step).parse().expect("a number");
    (first..=last).map(rounded).collect()
}

/// The labelled sizes: powers of two, as many as have room. `room`: pixels from one to the next.
fn sizes_of_axis(least: usize, most: usize, room: f64) -> Vec<usize> {
    const LABEL: f64 = 36.0;
    let every = (1..8).find(|n| f64::from(*n) * room >= LABEL).unwrap_or(8);
    let first = least.next_power_of_two();
    let powers = (0..64).map(|n| first << (n * every));
    powers.take_while(|size| *size <= most).collect()
}

/// "16", "4K", "1M".
fn short(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 => format!("{}M", b >> 20),
        b if b >= 1 << 10 => format!("{}K", b >> 10),
        b => b.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_few_and_round_figures() {
        assert_eq!(
            ticks(0.0, 110.0, false),
            [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
        );
        assert_eq!(ticks(0.8, 1.35, false), [0.8, 0.9, 1.0, 1.1, 1.2, 1.3]);
        assert_eq!(
            ticks(0.3, 130.0, true),
            [0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        );
        assert_eq!(ticks(0.02, 25.0, true), [0.1, 1.0, 10.0]);
    }

    #[test]
    fn sizes_have_room_for_their_labels() {
        assert_eq!(sizes_of_axis(16, 256, 40.0), [16, 32, 64, 128, 256]);
        assert_eq!(sizes_of_axis(16, 1 << 10, 20.0), [16, 64, 256, 1024]);
        assert_eq!(
            sizes_of_axis(1350, 1 << 14, 36.0),
            [2048, 4096, 8192, 16384]
        );
        assert_eq!([16, 4096, 1 << 20].map(short), ["16", "4K", "1M"]);
    }

    /// A line on narrow registers is drawn relative to the rounds of that width.
    #[test]
    fn a_fraction_is_of_the_rounds_of_its_width() {
        let chart = |rounds: &str| -> Chart {
            let text = format!(
                r#"{{"title": "T", "x": "bytes", "y": {{"name": "%"}},
                "lines": [{{"name": "XMM", "colour": "blue", "subject": "core-aesni"{rounds}}}],
                "panels": [{{"title": "P", "way": "ctr"}}],
                "origin": {{"run": "../docs/benchmarks/{RUN}", "figure": "limit", "bytes": [1024]}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        const RUN: &str = "amd-epyc-family-25-model-17-2026-11-21.json";
        let file = Path::new("chart.json");
        let figure = |chart: &Chart| Lines::of(chart, file).unwrap().points[0][0][0].1;
        let of_all = figure(&chart(""));
        let of_its_width = figure(&chart(r#", "rounds": "aes-xmm""#));
        assert!((0.4..0.5).contains(&(of_all / 100.0)), "{of_all}");
        // 236.0 and 117.8 GB/s through one round.
        assert!((of_its_width / of_all - 236.0 / 117.8).abs() < 1e-9);
        let unknown = chart(r#", "rounds": "aes-qmm""#);
        let error = Lines::of(&unknown, file).err().unwrap().to_string();
        assert!(error.contains("has no limit 'aes-qmm'"), "{error}");
    }
}
