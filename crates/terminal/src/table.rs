// SPDX-License-Identifier: BSD-2-Clause
//! Aligned columns, whose cells may be coloured. On a terminal that is too narrow for them each row
//! becomes a short list. Crates for tables, such as comfy-table and tabled, wrap or cut the cells
//! instead, so they would need this list beside them.

use crate::style::{columns, paint, width, wrapped, DIM, ROOM};
use std::fmt;

pub struct Table {
    heads: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Row>,
}

enum Row {
    /// A line above the rows of a group.
    Title(String),
    Cells(Vec<String>),
}

impl Table {
    /// Columns by their heads; one that begins with '>' is aligned to the right.
    pub fn new(heads: &[&str]) -> Table {
        Table {
            heads: heads
                .iter()
                .map(|head| head.trim_start_matches('>').to_owned())
                .collect(),
            right: heads.iter().map(|head| head.starts_with('>')).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.heads.len());
        self.rows.push(Row::Cells(cells));
    }

    /// Begins a group of rows.
    pub fn title(&mut self, title: String) {
        self.rows.push(Row::Title(title));
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| width(head)).collect();
        for row in &self.rows {
            if let Row::Cells(cells) = row {
                for (widest, cell) in widths.iter_mut().zip(cells) {
                    *widest = width(cell).max(*widest);
                }
            }
        }
        widths
    }

    /// The last cell hangs in its column.
    fn line(&self, widths: &[usize], cells: &[String], columns: Option<usize>) -> String {
        let mut line = String::new();
        let last = cells.len() - 1;
        for (column, cell) in cells.iter().enumerate() {
            let padding = " ".repeat(widths[column] - width(cell));
            match self.right[column] {
                true => line.push_str(&format!("  {padding}{cell}")),
                false if column == last => return wrapped(&(line + "  "), cell, columns),
                false => line.push_str(&format!("  {cell}{padding}")),
            }
        }
        line.trim_end().to_owned() + "\n"
    }

    fn aligned(&self, widths: &[usize], columns: Option<usize>) -> String {
        let heads: Vec<String> = self.heads.iter().map(|head| paint(DIM, head)).collect();
        let mut out = self.line(widths, &heads, columns);
        for row in &self.rows {
            match row {
                Row::Title(title) => out.push_str(&wrapped("", title, columns)),
                Row::Cells(cells) => out.push_str(&self.line(widths, cells, columns)),
            }
        }
        out
    }

    /// The first cell of each row, and below it the others behind their heads.
    fn listed(&self, columns: Option<usize>) -> String {
        let mut out = String::new();
        let widest = self.heads.iter().skip(1).map(|head| width(head)).max();
        for row in &self.rows {
            let cells = match row {
                Row::Title(title) => {
                    out.push_str(&wrapped("", title, columns));
                    continue;
                }
                Row::Cells(cells) => cells,
            };
            out.push_str(&wrapped("  ", &cells[0], columns));
            for (head, cell) in self.heads.iter().zip(cells).skip(1) {
                if !cell.is_empty() {
                    let padding = " ".repeat(widest.unwrap_or(0) - width(head));
                    let label = format!("    {}{padding}  ", paint(DIM, head));
                    out.push_str(&wrapped(&label, cell, columns));
                }
            }
        }
        out
    }

    /// Fits a terminal of so many columns.
    /// The columns of the terminal that it needs, or else it becomes a list.
    pub fn width(&self) -> usize {
        let mut needed = self.widths();
        if let (Some(false), Some(last)) = (self.right.last(), needed.last_mut()) {
            *last = ROOM.min(*last);
        }
        needed.iter().map(|width| width + 2).sum()
    }

    pub fn text(&self, columns: Option<usize>) -> String {
        let widths = self.widths();
        match columns {
            Some(most) if self.width() > most => self.listed(columns),
            _ => self.aligned(&widths, columns),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(columns()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_gets_a_list() {
        let mut table = Table::new(&["Mode", ">bytes", ""]);
        table.title("A group".to_owned());
        table.row(vec!["ctr".into(), "16".into(), paint(DIM, "fast")]);
        table.row(vec!["xts".into(), "1,024".into(), String::new()]);
        let plain = |columns| {
            let text = table.text(columns);
            anstream::adapter::strip_str(&text).to_string()
        };
        let aligned = "  Mode  bytes\nA group\n  ctr      16  fast\n  xts   1,024\n";
        assert_eq!(plain(None), aligned);
        assert_eq!(plain(Some(19)), aligned);
        assert_eq!(
            plain(Some(18)),
            "A group\n  ctr\n    bytes  16\n           fast\n  xts\n    bytes  1,024\n"
        );
    }
    #[test]
    fn the_last_column_is_wrapped() {
        let mut table = Table::new(&["Name", "does"]);
        table.row(vec!["a".into(), "one two three four five six".into()]);
        let text = anstream::adapter::strip_str(&table.text(Some(28))).to_string();
        let expected = "  Name  does\n  a     one two three four\n        five six\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_last_column_may_be_as_narrow_as_its_room() {
        let mut table = Table::new(&["Name", "does"]);
        table.row(vec!["a".into(), "x".repeat(10) + " " + &"y".repeat(14)]);
        let first = |columns| {
            let text = anstream::adapter::strip_str(&table.text(Some(columns))).to_string();
            text.lines().next().unwrap().to_owned()
        };
        // Two columns before each, 4 of the first, and 20 of the last.
        assert_eq!(first(28), "  Name  does");
        assert_eq!(first(27), "  a", "a list");
        // A column that is aligned to the right needs all of its width.
        let mut table = Table::new(&["Name", ">bytes"]);
        table.row(vec!["a".into(), "1".repeat(24)]);
        let lines = |columns| table.text(Some(columns)).lines().count();
        assert_eq!((lines(32), lines(31)), (2, 2));
        let aligned = anstream::adapter::strip_str(&table.text(Some(32))).to_string();
        let listed = anstream::adapter::strip_str(&table.text(Some(31))).to_string();
        assert!(aligned.starts_with("  Name  "), "{aligned}");
        assert!(listed.starts_with("  a\n    bytes  1"), "{listed}");
    }
}
