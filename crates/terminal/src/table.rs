// SPDX-License-Identifier: BSD-2-Clause
//! Aligned columns, whose cells may be coloured.

use crate::style::{paint, DIM};
use std::fmt;

pub struct Table {
    heads: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
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
        self.rows.push(cells);
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| width(&row[column]));
        cells.max().unwrap_or(0).max(width(&self.heads[column]))
    }

    fn line(&self, cells: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let padding = " ".repeat(self.width(column) - width(cell));
            match self.right[column] {
                true => line.push_str(&format!("  {padding}{cell}")),
                false => line.push_str(&format!("  {cell}{padding}")),
            }
        }
        writeln!(f, "{}", line.trim_end())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads: Vec<String> = self.heads.iter().map(|head| paint(DIM, head)).collect();
        self.line(&heads, f)?;
        self.rows.iter().try_for_each(|row| self.line(row, f))
    }
}

/// The columns that a text takes on a terminal, without its escape sequences.
fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text)
        .to_string()
        .chars()
        .count()
}
