// SPDX-License-Identifier: BSD-2-Clause
//! The flows as a picture: a column for each, and one for the way in user space beside it, with
//! counts on the arrows. Its colours follow the viewer's preference for light or dark.

use super::{Chain, Flow};
use drawing::{width, MARGIN};
use std::fmt::Write;
use terminal::markup::escape;

const SIZE: f64 = 14.0;
const LINE: i32 = 20;
/// Within a box, above and below its lines.
const PADDING: i32 = 10;
/// Of an arrow without counts.
const SHORTEST: i32 = 28;
/// From an arrow to its counts.
const BESIDE: i32 = 14;
const HEAD: i32 = 7;
/// More flows are not drawn; the text beside says how many there are.
const MOST: usize = 8;

const STYLE: &str = "\
svg{background:#fff;font:14px sans-serif;fill:#262b33}\
rect{fill:#f2f4f7;stroke:#606874}\
path{stroke:#606874;fill:none}\
.count{fill:#606874}\
.who{font-weight:bold}\
@media(prefers-color-scheme:dark){\
svg{background:#15181d;fill:#e4e7eb}\
rect{fill:#23282f;stroke:#98a1ad}\
path{stroke:#98a1ad}\
.count{fill:#aab2bd}}";

/// The picture as an SVG file.
pub fn svg(flows: &[Flow]) -> String {
    let mut body = String::new();
    let mut left = MARGIN;
    let mut bottom = MARGIN;
    for flow in flows.iter().take(MOST) {
        for chain in std::iter::once(&flow.kernel).chain(&flow.user) {
            let mut column = Column {
                out: &mut body,
                left,
                inside: inside(chain),
                y: MARGIN,
            };
            column.draw(chain);
            bottom = bottom.max(column.y);
            left += column.width(chain) + MARGIN;
        }
    }
    let note = match flows.len() {
        0 => Some("No request was made to a cipher of the kernel.".to_owned()),
        all if all > MOST => Some(format!("{} more flows are in the report.", all - MOST)),
        _ => None,
    };
    if let Some(note) = note {
        bottom += LINE;
        text(&mut body, "count", MARGIN, bottom, &note);
        left = left.max(2 * MARGIN + measured(&note));
    }
    let (wide, high) = (left, bottom + MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" \
         viewBox=\"0 0 {wide} {high}\">\n<style>{STYLE}</style>\n{body}</svg>\n"
    )
}

fn measured(text: &str) -> i32 {
    // `width` is for plotters, which writes a smaller size.
    (width(text, SIZE) * 1.24).ceil() as i32
}

/// The room of the widest line in a box.
fn inside(chain: &Chain) -> i32 {
    let lines = chain.steps.iter().flat_map(|step| &step.to);
    let widths = lines.chain([&chain.first]).map(|line| measured(line));
    widths.max().unwrap_or(0)
}

struct Column<'o> {
    out: &'o mut String,
    left: i32,
    inside: i32,
    /// Where the next box or arrow begins.
    y: i32,
}

impl Column<'_> {
    fn width(&self, chain: &Chain) -> i32 {
        let counts = chain.steps.iter().flat_map(|step| &step.arrow);
        let counts = counts.map(|line| self.middle() - self.left + BESIDE + measured(line));
        counts.max().unwrap_or(0).max(self.inside + 2 * PADDING)
    }

    fn middle(&self) -> i32 {
        self.left + PADDING + self.inside / 2
    }

    fn draw(&mut self, chain: &Chain) {
        self.shape(std::slice::from_ref(&chain.first), "who");
        for step in &chain.steps {
            self.arrow(&step.arrow);
            let is_who = step.to == [chain.first.clone()];
            self.shape(&step.to, if is_who { "who" } else { "what" });
        }
    }

    fn shape(&mut self, lines: &[String], class: &str) {
        let high = 2 * PADDING + LINE * lines.len() as i32;
        let wide = self.inside + 2 * PADDING;
        let (x, y) = (self.left, self.y);
        let _ = writeln!(
            self.out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\" rx=\"5\"/>"
        );
        self.y += PADDING;
        for line in lines {
            self.y += LINE;
            text(self.out, class, x + PADDING, self.y - 5, line);
        }
        self.y += PADDING;
    }

    fn arrow(&mut self, counts: &[String]) {
        let (x, top) = (self.middle(), self.y);
        let high = SHORTEST.max(LINE * counts.len() as i32 + 2 * HEAD);
        for (index, line) in counts.iter().enumerate() {
            let y = top + HEAD + LINE * (index as i32 + 1) - 5;
            text(self.out, "count", x + BESIDE, y, line);
        }
        self.y += high;
        let (end, head) = (self.y, self.y - HEAD);
        let (left, right) = (x - HEAD, x + HEAD);
        let _ = writeln!(
            self.out,
            "<path d=\"M{x} {top}V{end}M{left} {head}L{x} {end}L{right} {head}\"/>"
        );
    }
}

fn text(out: &mut String, class: &str, x: i32, y: i32, text: &str) {
    let mut escaped = String::new();
    escape(&mut escaped, text);
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{escaped}</text>"
    );
}
