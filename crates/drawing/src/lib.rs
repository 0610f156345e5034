// SPDX-License-Identifier: BSD-2-Clause
//! What the charts of the tool and of the benchmark share: fonts, colours, texts that fit, the
//! places of a legend, and the line that says what was measured where.

pub mod extent;

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

/// What a picture says about the run: "AMD EPYC · busy virtual machine (KVM) · OpenSSL 3.0.22 ·
/// tenrounds 0.1.0 · 2026-11-21".
pub struct About<'a> {
    pub processor: &'a str,
    pub hypervisor: Option<&'a str>,
    pub busy: bool,
    pub openssl: &'a str,
    pub version: &'a str,
    pub date: &'a str,
}

impl About<'_> {
    pub fn line(&self) -> String {
        let busy = if self.busy { "busy " } else { "" };
        let machine = match self.hypervisor {
            Some(name) => Some(format!("{busy}virtual machine ({name})")),
            None => self.busy.then(|| "busy machine".to_owned()),
        };
        let version = format!("tenrounds {}", self.version);
        let parts = [Some(self.processor), machine.as_deref()]
            .into_iter()
            .flatten();
        let parts = parts.chain([self.openssl, &version, self.date]);
        parts.collect::<Vec<_>>().join(" · ")
    }
}

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
pub fn wrap(text: &str, size: f64, room: f64) -> Vec<String> {
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
pub fn places(
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
