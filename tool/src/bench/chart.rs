// SPDX-License-Identifier: BSD-2-Clause
//! Tables and bars for the terminal. Colours and block characters where it is one; plain ASCII
//! where not.

use ::measure::busy::Disturbance;
use anstyle::{AnsiColor, Style};
pub use terminal::gigabytes;
use terminal::style::wrapped;

/// How to draw.
#[derive(Clone, Copy)]
pub struct Paint {
    pub colours: bool,
    /// Block characters instead of '#', and "±" instead of "+-".
    pub blocks: bool,
    /// The columns of the terminal; None: there is no terminal.
    pub columns: Option<usize>,
}

/// The columns of a page where there is no terminal.
const PAGE: usize = 80;

impl Paint {
    /// Colours on a terminal, unless NO_COLOR or --no-color forbid it, and blocks if it can show
    /// them.
    pub fn for_stdout() -> Paint {
        let stdout = std::io::stdout();
        let choice = anstream::AutoStream::choice(&stdout);
        let colours = choice != anstream::ColorChoice::Never;
        Paint {
            colours,
            blocks: colours && terminal::style::unicode(),
            columns: terminal::columns(),
        }
    }

    /// The columns of a paragraph: no more than people like to read.
    pub fn page(self) -> usize {
        self.columns.unwrap_or(PAGE).min(PAGE)
    }

    pub fn plus_minus(self) -> &'static str {
        match self.blocks {
            true => "±",
            false => "+-",
        }
    }

    /// Wraps a text into lines of a page.
    pub fn paragraph(self, text: &str) -> String {
        wrapped("", text, Some(self.page()))
    }

    /// What disturbed a measurement, in lines; nothing after an undisturbed one.
    pub fn remark(self, disturbance: Disturbance) -> String {
        let Some(remark) = disturbance.remark() else {
            return String::new();
        };
        let lines = self.paragraph(&remark);
        match disturbance.is_busy() {
            true => self.colour(AnsiColor::Yellow, lines.trim_end()) + "\n",
            false => lines,
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
const INDENT: usize = 2;

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The columns of a table: spaces before it, of the labels, and of each cell.
#[derive(Clone, Copy)]
pub struct Layout {
    pub indent: usize,
    pub label: usize,
    pub cell: usize,
}

/// Lines of equal layout. `label_width` keeps several tables in step.
pub fn table(paint: Paint, label_width: usize, rows: &[Row]) -> String {
    let layout = Layout {
        indent: INDENT,
        label: label_width,
        cell: COLUMN,
    };
    columns(paint, layout, rows)
}

/// The same in another layout. Columns that the terminal is too narrow for follow below, with the
/// labels again. Where at most one of several fits beside its label, a label is a line of its own.
pub fn columns(paint: Paint, layout: Layout, rows: &[Row]) -> String {
    let Layout {
        indent,
        label,
        cell,
    } = layout;
    let room = paint.columns.unwrap_or(usize::MAX);
    let most = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let label_beside = match room < indent + label + most.min(2) * cell {
        true => 0,
        false => label,
    };
    let fit = (room.saturating_sub(indent + label_beside) / cell).max(1);
    let part = |first: usize| {
        let line = |row: &Row| {
            let cells = row.cells.iter().skip(first).take(fit);
            let cells: String = cells.map(|c| format!("{c:>cell$}")).collect();
            let above = match label_beside {
                0 if !row.label.is_empty() => format!("{:indent$}{}\n", "", row.label),
                _ => String::new(),
            };
            let beside = if above.is_empty() { &row.label } else { "" };
            let line = format!("{above}{:indent$}{beside:<label_beside$}{cells}", "");
            paint.style(row.style, line.trim_end()) + "\n"
        };
        rows.iter().map(line).collect::<String>()
    };
    let parts: Vec<String> = (0..most.max(1)).step_by(fit).map(part).collect();
    parts.join("\n")
}

/// One bar of a chart.
pub struct Bar {
    pub label: String,
    pub value: f64,
    pub text: String,
    pub colour: AnsiColor,
}

const BAR_WIDTH: usize = 46;
const SHORTEST_BAR: usize = 4;
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Horizontal bars; the longest fills the width that the texts leave.
pub fn bars(paint: Paint, label_width: usize, bars: &[Bar]) -> String {
    let longest = bars.iter().map(|b| b.value).fold(0.0, f64::max);
    let texts = bars.iter().map(|b| width(&b.text)).max().unwrap_or(0);
    let room = paint.columns.unwrap_or(PAGE);
    let room = room.saturating_sub(INDENT + label_width + 1 + texts);
    let room = room.clamp(SHORTEST_BAR, BAR_WIDTH);
    let line = |bar: &Bar| {
        let length = bar.value / longest * room as f64;
        let drawn = paint.colour(bar.colour, &stroke(paint, length));
        format!(
            "{:INDENT$}{:<label_width$}{drawn} {}\n",
            "", bar.label, bar.text
        )
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
        columns: None,
    };
    const FANCY: Paint = Paint {
        colours: true,
        blocks: true,
        columns: Some(80),
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

    /// Every width down to nothing: no panic, every cell once, and no line too long where there is
    /// room for a column.
    #[test]
    fn narrow_terminals_get_the_columns_below_each_other() {
        let cells = |sign: &str| (0..6).map(|n| format!("{sign}{n}")).collect();
        let rows = [Row::new("head", cells("h")), Row::new("row", cells("r"))];
        for columns in 0..100 {
            let paint = Paint {
                columns: Some(columns),
                ..PLAIN
            };
            let drawn = table(paint, 6, &rows);
            for n in 0..6 {
                assert_eq!(drawn.matches(&format!("r{n}")).count(), 1, "{drawn}");
            }
            let longest = drawn.lines().map(width).max().unwrap();
            assert!(
                longest <= columns.max(INDENT + COLUMN),
                "{columns}: {drawn}"
            );
            let bar = Bar {
                label: "x".into(),
                value: 1.0,
                text: "24.9 GB/s".into(),
                colour: AnsiColor::Green,
            };
            let drawn = bars(paint, 3, &[bar]);
            assert!(
                width(drawn.trim_end()) <= columns.max(19),
                "{columns}: {drawn}"
            );
            let words = paint.paragraph("a word and another");
            assert_eq!(words.split_whitespace().count(), 4);
        }
    }

    #[test]
    fn three_figures() {
        assert_eq!(
            [64.1e6, 1.449e9, 17.94e9, 234.6e9].map(gigabytes),
            ["0.064", "1.45", "17.9", "235"]
        );
    }
}
