// SPDX-License-Identifier: BSD-2-Clause
//! A table of text, which is shown on the terminal or as Markdown.

use terminal::table::Table;

pub struct Sheet {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// Columns by their heads; one that begins with '>' is aligned to the right.
    pub fn new<S: AsRef<str>>(heads: &[S]) -> Sheet {
        Sheet {
            heads: heads.iter().map(|head| head.as_ref().to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn text(&self) -> String {
        let heads: Vec<&str> = self.heads.iter().map(String::as_str).collect();
        let mut table = Table::new(&heads);
        self.rows.iter().for_each(|row| table.row(row.clone()));
        format!("{table}\n")
    }

    pub fn markdown(&self) -> String {
        let (mut heads, mut lines) = (String::from("|"), String::from("|"));
        for head in &self.heads {
            heads += &format!(" {} |", head.trim_start_matches('>'));
            lines += if head.starts_with('>') {
                "---:|"
            } else {
                "---|"
            };
        }
        let rows = self
            .rows
            .iter()
            .map(|row| format!("| {} |\n", row.join(" | ")));
        format!("{heads}\n{lines}\n{}", rows.collect::<String>())
    }
}

/// A paragraph in lines of at most 100 columns.
pub fn fill(text: &str) -> String {
    terminal::style::wrapped("", text, Some(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_is_aligned() {
        let mut sheet = Sheet::new(&["", ">GB/s"]);
        sheet.row(["CTR".into(), "23.4".into()]);
        assert_eq!(
            sheet.markdown(),
            "|  | GB/s |\n|---|---:|\n| CTR | 23.4 |\n"
        );
        assert!(sheet.text().contains("CTR  23.4"));
    }
}
