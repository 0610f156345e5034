// SPDX-License-Identifier: BSD-2-Clause
//! Tables and bars for the terminal. Colours and block characters where it is one; plain ASCII where not.

use anstyle::{AnsiColor, Style};
pub use terminal::gigabytes;

/// How to draw.
#[derive(Clone, Copy)]
pub struct Paint {
    pub colours: bool,
    /// Block characters instead of '#'.
    pub blocks: bool,
}

impl Paint {
    /// Colours on a terminal, unless NO_COLOR or --no-color forbid it, and blocks if it can show them.
    pub fn for_stdout() -> Paint {
        let choice = anstream::AutoStream::choice(&std::io::stdout());
        let colours = choice != anstream::ColorChoice::Never;
        Paint {
            colours,
            blocks: colours && crate::style::unicode(),
        }
    }

    pub fn style(self, style: Style, text: &str) -> String {
        match self.colours {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    pub fn bold(self, text: &str) -> String {
        self.style(Style::new().bold(), text)
    }

    pub fn colour(self, colour: AnsiColor, text: &str) -> String {
        self.style(colour.on_default(), text)
    }
}

/// A row of a table: a label and right-aligned cells.
pub struct Row {
    pub label: String,
    pub cells: Vec<String>,
    pub style: Style,
}

impl Row {
    pub fn new(label: impl Into<String>, cells: Vec<String>) -> Row {
        Row {
            label: label.into(),
            cells,
            style: Style::new(),
        }
    }

    pub fn styled(self, style: Style) -> Row {
        Row { style, ..self }
    }
}

const COLUMN: usize = 9;

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Lines of equal layout. `label_width` keeps several tables in step.
pub fn table(paint: Paint, label_width: usize, rows: &[Row]) -> String {
    columns(paint, label_width, COLUMN, rows)
}

/// The same with columns of another width.
pub fn columns(paint: Paint, label_width: usize, column: usize, rows: &[Row]) -> String {
    let line = |row: &Row| {
        let cells: String = row.cells.iter().map(|c| format!("{c:>column$}")).collect();
        let line = format!("  {:<label_width$}{cells}", row.label);
        paint.style(row.style, line.trim_end()) + "\n"
    };
    rows.iter().map(line).collect()
}

/// One bar of a chart.
pub struct Bar {
    pub label: String,
    pub value: f64,
    pub text: String,
    pub colour: AnsiColor,
}

const BAR_WIDTH: usize = 46;
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Horizontal bars; the longest fills the width.
pub fn bars(paint: Paint, label_width: usize, bars: &[Bar]) -> String {
    let longest = bars.iter().map(|b| b.value).fold(0.0, f64::max);
    let line = |bar: &Bar| {
        let length = bar.value / longest * BAR_WIDTH as f64;
        let drawn = paint.colour(bar.colour, &stroke(paint, length));
        format!("  {:<label_width$}{drawn} {}\n", bar.label, bar.text)
    };
    bars.iter().map(line).collect()
}

fn stroke(paint: Paint, length: f64) -> String {
    if !paint.blocks {
        return "#".repeat((length.round() as usize).max(1));
    }
    let eighths = ((length * 8.0).round() as usize).max(1);
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// The widest of some labels, with a gap.
pub fn label_width<'a>(labels: impl IntoIterator<Item = &'a str>) -> usize {
    labels.into_iter().map(width).max().unwrap_or(0) + 2
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Paint = Paint {
        colours: false,
        blocks: false,
    };
    const FANCY: Paint = Paint {
        colours: true,
        blocks: true,
    };

    #[test]
    fn plain_is_ascii() {
        let bar = |value| Bar {
            label: "x".into(),
            value,
            text: "t".into(),
            colour: AnsiColor::Green,
        };
        let drawn = bars(PLAIN, 3, &[bar(1.0), bar(0.5), bar(0.0)]);
        assert!(drawn.is_ascii() && !drawn.contains('\x1b'), "{drawn}");
        let lengths: Vec<usize> = drawn.lines().map(|l| l.matches('#').count()).collect();
        assert_eq!(lengths, [BAR_WIDTH, BAR_WIDTH / 2, 1]);
    }

    #[test]
    fn fancy_bars_have_eighths() {
        assert_eq!(stroke(FANCY, 2.5), "██▌");
        assert_eq!(stroke(FANCY, 0.0), "▏");
    }

    #[test]
    fn columns_align() {
        let rows = [
            Row::new("a", vec!["1".into(), "22".into()]),
            Row::new("long", vec!["333".into()]),
        ];
        assert_eq!(
            table(PLAIN, 6, &rows),
            "  a             1       22\n  long        333\n"
        );
    }

    #[test]
    fn three_figures() {
        assert_eq!(
            [64.1e6, 1.449e9, 17.94e9, 234.6e9].map(gigabytes),
            ["0.064", "1.45", "17.9", "235"]
        );
    }
}
