// SPDX-License-Identifier: BSD-2-Clause
//! Pictures as SVG: a head with the title, what was measured where and a legend; below it panels.
//! All coordinates are pixels.

use terminal::markup::escape;

pub type Colour = &'static str;
pub const INK: Colour = "#262B33";
const MUTED: Colour = "#606874";
pub const PALE: Colour = "#E1E4E9";
pub const LIMIT: Colour = "#C0392B";
pub const TENROUNDS: Colour = "#179265";
/// The edge beside the texts of a picture.
pub const MARGIN: i32 = 24;

/// The part of a text that lies at its place.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// The elements of a picture.
#[derive(Default)]
pub struct Elements(String);

impl Elements {
    pub fn rectangle(&mut self, (x, y): (i32, i32), (wide, high): (i32, i32), fill: Colour) {
        self.0 += &format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" fill=\"{fill}\"/>\n"
        );
    }

    pub fn line(&mut self, from: (i32, i32), to: (i32, i32), colour: Colour, width: i32) {
        let ((x, y), (right, bottom)) = (from, to);
        self.0 += &format!(
            "<polyline points=\"{x},{y} {right},{bottom}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>\n"
        );
    }

    /// A text whose capital letters begin at y.
    pub fn text(
        &mut self,
        (x, y): (i32, i32),
        anchor: Anchor,
        (size, colour): (f64, Colour),
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let place = format!("x=\"{x}\" y=\"{y}\" dy=\"0.76em\" text-anchor=\"{anchor}\"");
        let font = format!("font-family=\"sans-serif\" font-size=\"{size}\" fill=\"{colour}\"");
        self.0 += &format!("<text {place} {font}>");
        escape(&mut self.0, text);
        self.0 += "</text>\n";
    }
}

/// An upper bound for the width of a text. The viewer's sans-serif font is unknown, so each letter
/// counts as at least as wide as in DejaVu Sans and Verdana.
fn width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | '\'' => 0.34,
        'f' | 'r' | 't' | '-' | '(' | ')' | '/' | ':' | '!' | '|' | '[' | ']' => 0.42,
        'M' | 'W' | 'm' | 'w' | '%' | '@' | '&' => 1.0,
        'A'..='Z' | '+' | '<' | '=' | '>' | '#' | '~' => 0.84,
        '!'..='~' => 0.66,
        _ => 1.0,
    };
    size * text.chars().map(em).sum::<f64>()
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

/// The symbol before a legend entry.
#[derive(Clone, Copy)]
pub enum Mark {
    Square(Colour),
    Line(Colour),
}

/// The texts above the panels.
pub struct Head {
    pub title: String,
    /// Paragraphs: what was measured where, and remarks.
    pub about: Vec<String>,
    pub legend: Vec<(Mark, String)>,
}

/// Sizes of fonts, and the distances of lines.
const TITLE: f64 = 18.0;
const SMALL: f64 = 11.3;
const LINE: i32 = 18;
const LEGEND_LINE: i32 = 22;
/// From the left edge of a legend entry to its text.
const MARK: i32 = 30;

impl Head {
    /// Draws it, and returns where it ends.
    fn draw(&self, out: &mut Elements, wide: i32) -> i32 {
        let right = wide - MARGIN;
        out.text((MARGIN, 18), Anchor::Start, (TITLE, INK), &self.title);
        let mut y = 48;
        let room = f64::from(right - MARGIN);
        for line in self.about.iter().flat_map(|text| wrap(text, SMALL, room)) {
            out.text((MARGIN, y), Anchor::Start, (SMALL, MUTED), &line);
            y += LINE;
        }
        let mut x = MARGIN;
        y += 12;
        for (mark, label) in &self.legend {
            let end = x + MARK + width(label, SMALL).ceil() as i32;
            if x > MARGIN && end > right {
                (x, y) = (MARGIN, y + LEGEND_LINE);
            }
            match mark {
                Mark::Square(colour) => out.rectangle((x + 8, y), (13, 13), colour),
                Mark::Line(colour) => out.line((x, y + 6), (x + 24, y + 6), colour, 3),
            }
            out.text((x + MARK, y), Anchor::Start, (SMALL, INK), label);
            x += MARK + width(label, SMALL).ceil() as i32 + MARGIN;
        }
        y + 28
    }
}

/// Draws a head and, below it, so many panels of this size. `panel` gets the number of the panel
/// and its upper edge.
pub fn picture(
    head: &Head,
    panels: usize,
    (wide, high): (i32, i32),
    mut panel: impl FnMut(usize, i32, &mut Elements),
) -> String {
    let mut body = Elements::default();
    let mut end = head.draw(&mut body, wide);
    for number in 0..panels {
        panel(number, end, &mut body);
        end += high;
    }
    format!(
        "<svg width=\"{wide}\" height=\"{end}\" viewBox=\"0 0 {wide} {end}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#FFFFFF\"/>\n{}</svg>\n",
        body.0
    )
}
