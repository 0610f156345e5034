// SPDX-License-Identifier: BSD-2-Clause
//! The charts as a picture. Its colours follow the viewer's preference for light or dark.

use std::fmt::Write;
use terminal::markup::escape;
use terminal::style::width;

/// More charts are not drawn; the text beside says how many there are.
const MOST: usize = 8;
/// Of a line, in pixels, and of a character of a font whose characters have one width.
const HIGH: usize = 20;
const WIDE: usize = 9;

const STYLE: &str = "\
svg{background:#fff}text{font:14px monospace;fill:#262b33;white-space:pre}\
@media(prefers-color-scheme:dark){svg{background:#15181d}text{fill:#e4e7eb}}";

/// The picture as an SVG file.
pub fn svg(charts: &[String]) -> String {
    let mut text = charts[..charts.len().min(MOST)].join("\n");
    if charts.is_empty() {
        text += "No request was made to a cipher of the kernel.\n";
    }
    if charts.len() > MOST {
        let more = charts.len() - MOST;
        text += &format!("\n{more} more charts are in the report.\n");
    }
    let text = anstream::adapter::strip_str(&text).to_string();
    let mut body = String::new();
    for (index, line) in text.lines().enumerate() {
        let mut escaped = String::new();
        escape(&mut escaped, line);
        let y = HIGH * (index + 2);
        let _ = writeln!(body, "<text x=\"{HIGH}\" y=\"{y}\">{escaped}</text>");
    }
    let widest = text.lines().map(width).max().unwrap_or(0);
    let wide = WIDE * widest + 2 * HIGH;
    let high = HIGH * (text.lines().count() + 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" \
         viewBox=\"0 0 {wide} {high}\">\n<style>{STYLE}</style>\n{body}</svg>\n"
    )
}
