// SPDX-License-Identifier: BSD-2-Clause
//! The pictures of the tool: a head with the title, what was measured where
//! and a legend; below it panels. Also their fonts and colours, and texts that fit.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const FONT: &str = "sans-serif";
pub const INK: RGBColor = RGBColor(38, 43, 51);
pub const MUTED: RGBColor = RGBColor(96, 104, 116);
pub const PALE: RGBColor = RGBColor(225, 228, 233);
pub const LIMIT: RGBColor = RGBColor(192, 57, 43);
pub const TENROUNDS: RGBColor = RGBColor(23, 146, 101);
/// The edge beside the texts of a picture.
pub const MARGIN: i32 = 24;

pub fn text(size: f64, colour: &RGBColor) -> TextStyle<'_> {
    (FONT, size).into_font().color(colour)
}

pub fn anchored(size: f64, colour: &RGBColor, h: HPos, v: VPos) -> TextStyle<'_> {
    text(size, colour).pos(Pos::new(h, v))
}

/// The font size that plotters writes into the SVG for a size.
pub fn pixels(size: f64) -> f64 {
    size / 1.24
}

/// An upper bound for the width of a text in pixels. The viewer's sans-serif font is unknown, so
/// each letter counts as at least as wide as in DejaVu Sans and Verdana.
pub fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | '\'' => 0.34,
        'f' | 'r' | 't' | '-' | '(' | ')' | '/' | ':' | '!' | '|' | '[' | ']' => 0.42,
        'M' | 'W' | 'm' | 'w' | '%' | '@' | '&' => 1.0,
        'A'..='Z' | '+' | '<' | '=' | '>' | '#' | '~' => 0.84,
        '!'..='~' => 0.66,
        _ => 1.0,
    };
    pixels(size) * text.chars().map(em).sum::<f64>()
}

/// Wraps a text into lines of at most `room` pixels, at spaces or within a word wider than a line.
fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let line = lines.last_mut().expect("there is a line");
        if !line.is_empty() && width(&(line.clone() + word.trim_end()), size) > room {
            lines.push(String::new());
        }
        for c in word.chars() {
            let line = lines.last_mut().expect("there is a line");
            if c != ' ' && width(line, size) + width(&c.to_string(), size) > room {
                lines.push(c.into());
            } else {
                line.push(c);
            }
        }
    }
    lines
}

/// The places of legend entries of these widths, from left to right, in lines of this distance. A
/// line ends before an entry would pass the right edge.
fn places(
    widths: impl IntoIterator<Item = i32>,
    right: i32,
    top: i32,
    line: i32,
) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (MARGIN, top);
    let place = |wide: i32| {
        if x > MARGIN && x + wide > right {
            (x, y) = (MARGIN, y + line);
        }
        let at = (x, y);
        x += wide + MARGIN;
        at
    };
    widths.into_iter().map(place).collect()
}

pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What drawing returns: any error of plotters.
pub type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The symbol before a legend entry.
#[derive(Clone, Copy)]
pub enum Mark {
    Square(RGBColor),
    /// A line of this width.
    Line(RGBColor, u32),
}

/// The texts above the panels.
pub struct Head {
    pub title: String,
    /// Paragraphs: what was measured where, and remarks.
    pub about: Vec<String>,
    pub legend: Vec<(Mark, String)>,
}

const TITLE: (i32, f64) = (18, 22.0);
const ABOUT: (i32, f64) = (48, 14.0);
const LEGEND: f64 = 14.0;
const LINE: i32 = 18;
const LEGEND_LINE: i32 = 22;
/// From the left edge of a legend entry to its text.
const MARK: i32 = 30;

/// Draws a head and, below it, so many panels of this size.
pub fn picture(
    head: &Head,
    panels: usize,
    (wide, high): (u32, u32),
    mut panel: impl FnMut(usize, &Area) -> Drawn,
) -> Result<String, Box<dyn std::error::Error>> {
    let right = wide as i32 - MARGIN;
    let room = f64::from(right - MARGIN);
    let about = head.about.iter().flat_map(|text| wrap(text, ABOUT.1, room));
    let about: Vec<String> = about.collect();
    let legend = ABOUT.0 + LINE * about.len() as i32 + 12;
    let widths = head.legend.iter();
    let widths = widths.map(|(_, label)| MARK + width(label, LEGEND).ceil() as i32);
    let places = places(widths, right, legend, LEGEND_LINE);
    let heading = places.last().map_or(legend - 20, |(_, y)| *y) as u32 + 28;
    let mut out = String::new();
    let size = (wide, heading + high * panels.max(1) as u32);
    let root = SVGBackend::with_string(&mut out, size).into_drawing_area();
    root.fill(&WHITE)?;
    let (area, body) = root.split_vertically(heading);
    let title = (MARGIN, TITLE.0);
    area.draw(&Text::new(head.title.as_str(), title, text(TITLE.1, &INK)))?;
    for (index, line) in about.into_iter().enumerate() {
        let at = (MARGIN, ABOUT.0 + LINE * index as i32);
        area.draw(&Text::new(line, at, text(ABOUT.1, &MUTED)))?;
    }
    for ((mark, label), (x, y)) in head.legend.iter().zip(places) {
        match mark {
            Mark::Square(colour) => {
                let corners = [(x + 8, y), (x + 21, y + 13)];
                area.draw(&Rectangle::new(corners, colour.filled()))?;
            }
            Mark::Line(colour, stroke) => {
                let line = vec![(x, y + 6), (x + 24, y + 6)];
                area.draw(&PathElement::new(line, colour.stroke_width(*stroke)))?;
            }
        }
        area.draw(&Text::new(
            label.as_str(),
            (x + MARK, y),
            text(LEGEND, &INK),
        ))?;
    }
    let areas = body.split_evenly((panels.max(1), 1));
    for (index, area) in areas.iter().enumerate().take(panels) {
        panel(index, area)?;
    }
    root.present()?;
    drop((area, body, areas, root));
    Ok(out)
}
