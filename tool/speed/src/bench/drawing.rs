// SPDX-License-Identifier: BSD-2-Clause
//! Pictures as SVG, for light and for dark pages, readable on a phone: a head with the title, what
//! was measured where and a legend; below it the panels. All coordinates are pixels.

use terminal::markup::escape;

/// The width of a picture: on a phone of 360 pixels, its smallest text has 8.
pub const WIDE: i32 = 480;
/// The edge beside the texts of a picture.
pub const MARGIN: i32 = 16;
/// Sizes of fonts.
const TITLE: i32 = 15;
pub const PLAIN: i32 = 12;
pub const SMALL: i32 = 11;

/// A colour: its class, and what it is on light and on dark pages. As in scripts/pictures, papers
/// are those of GitHub's pages, and inks have the contrasts of WCAG 2.1.
pub type Ink = (&'static str, &'static str, &'static str);
const PAPER: Ink = ("paper", "#FFFFFF", "#0D1117");
pub const INK: Ink = ("ink", "#1F2328", "#E6EDF3");
pub const MUTED: Ink = ("muted", "#59636E", "#9198A1");
pub const GRID: Ink = ("grid", "#DADFE5", "#30363D");
pub const BLUE: Ink = ("blue", "#5680B2", "#79A8DE");
pub const GREEN: Ink = ("green", "#14825A", "#3FB984");
pub const RED: Ink = ("red", "#C0392B", "#F0776A");
pub const AMBER: Ink = ("amber", "#B06C00", "#E0A53C");
const INKS: [Ink; 8] = [PAPER, INK, MUTED, GRID, BLUE, GREEN, RED, AMBER];

/// The rules of a theme. A rim of paper keeps texts and markers apart from what is behind them.
fn theme(of: impl Fn(&Ink) -> &'static str) -> String {
    let rule = |ink: &Ink| format!(".{}{{fill:{}}}", ink.0, of(ink));
    let rules: String = INKS.iter().map(rule).collect();
    format!("{rules}text,path{{stroke:{}}}", of(&PAPER))
}

/// The part of a text that lies at its place.
pub type Anchor = &'static str;
pub const START: Anchor = "start";
pub const MIDDLE: Anchor = "middle";
pub const END: Anchor = "end";

/// What marks the end of a bar, so that colours are not needed.
#[derive(Clone, Copy)]
pub enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

/// From the middle of a marker to its edge.
pub const MARKER: i32 = 6;

/// The elements of a picture.
#[derive(Default)]
pub struct Elements(String);

impl Elements {
    pub fn rectangle(&mut self, (x, y): (i32, i32), (wide, high): (i32, i32), ink: Ink) {
        self.0 += &format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" class=\"{}\"/>\n",
            ink.0
        );
    }

    /// A marker around a place.
    pub fn marker(&mut self, (x, y): (i32, i32), (shape, ink): (Shape, Ink)) {
        let path = match shape {
            Shape::Circle => "m-5,0a5,5 0 0 0 10,0a5,5 0 0 0 -10,0z",
            Shape::Square => "m-5,-5h10v10h-10z",
            Shape::Triangle => "m0,-6l6,11h-12z",
            Shape::Diamond => "m0,-6l6,6l-6,6l-6,-6z",
        };
        self.0 += &format!("<path d=\"M{x},{y}{path}\" class=\"{}\"/>\n", ink.0);
    }

    /// A text whose capital letters begin at y.
    pub fn text(
        &mut self,
        (x, y): (i32, i32),
        anchor: Anchor,
        (size, ink): (i32, Ink),
        text: &str,
    ) {
        let place = format!("x=\"{x}\" y=\"{y}\" dy=\"0.76em\" text-anchor=\"{anchor}\"");
        self.0 += &format!("<text {place} font-size=\"{size}\" class=\"{}\">", ink.0);
        escape(&mut self.0, text);
        self.0 += "</text>\n";
    }

    /// A text in lines as wide as the picture. Returns where the next line begins.
    fn paragraph(&mut self, mut y: i32, (size, ink): (i32, Ink), text: &str) -> i32 {
        for line in wrap(text, size, WIDE - 2 * MARGIN) {
            self.text((MARGIN, y), START, (size, ink), &line);
            y += size + 6;
        }
        y
    }
}

/// An upper bound for the width of a text. The viewer's sans-serif font is unknown, so each letter
/// counts as at least as wide as in DejaVu Sans and Verdana.
pub fn width(text: &str, size: i32) -> i32 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | '\'' => 0.34,
        'f' | 'r' | 't' | '-' | '(' | ')' | '/' | ':' | '!' | '|' | '[' | ']' => 0.42,
        'M' | 'W' | 'm' | 'w' | '%' | '@' | '&' => 1.0,
        'A'..='Z' | '+' | '<' | '=' | '>' | '#' | '~' => 0.84,
        '!'..='~' => 0.66,
        _ => 1.0,
    };
    (f64::from(size) * text.chars().map(em).sum::<f64>()).ceil() as i32
}

/// Wraps a text into lines of at most `room` pixels, at spaces or within a word wider than a line.
fn wrap(text: &str, size: i32, room: i32) -> Vec<String> {
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
    Bar(Shape, Ink),
    Line(Ink),
}

/// The texts above the panels.
pub struct Head {
    pub title: String,
    /// Paragraphs: what was measured where, and remarks.
    pub about: Vec<String>,
    pub legend: Vec<(Mark, String)>,
}

/// From the left edge of a legend entry to its text, and from line to line.
const MARK: i32 = 18;
const LEGEND_LINE: i32 = 19;

impl Head {
    /// Draws it, and returns where it ends.
    fn draw(&self, out: &mut Elements) -> i32 {
        let mut y = out.paragraph(16, (TITLE, INK), &self.title) + 2;
        for text in &self.about {
            y = out.paragraph(y, (SMALL, MUTED), text);
        }
        let mut x = MARGIN;
        y += 8;
        for (mark, label) in &self.legend {
            let wide = MARK + width(label, PLAIN);
            if x > MARGIN && x + wide > WIDE - MARGIN {
                (x, y) = (MARGIN, y + LEGEND_LINE);
            }
            match *mark {
                Mark::Bar(shape, ink) => out.marker((x + MARKER, y + 5), (shape, ink)),
                Mark::Line(ink) => out.rectangle((x + MARKER - 1, y - 2), (2, 14), ink),
            }
            out.text((x + MARK, y), START, (PLAIN, INK), label);
            x += wide + MARGIN;
        }
        y + 32
    }
}

/// Draws a head and, below it, what `panels` draws from an edge on. It returns its lower edge.
pub fn picture(head: &Head, panels: impl FnOnce(i32, &mut Elements) -> i32) -> String {
    let mut body = Elements::default();
    let end = head.draw(&mut body);
    let end = panels(end, &mut body);
    format!(
        "<svg width=\"{WIDE}\" height=\"{end}\" viewBox=\"0 0 {WIDE} {end}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n<style>\
         text{{font-family:sans-serif}}text,path{{paint-order:stroke;stroke-width:3px}}\n{}\n\
         @media(prefers-color-scheme:dark){{{}}}</style>\n\
         <rect width=\"100%\" height=\"100%\" class=\"{}\"/>\n{}</svg>\n",
        theme(|ink| ink.1),
        theme(|ink| ink.2),
        PAPER.0,
        body.0
    )
}
