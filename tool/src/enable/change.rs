// SPDX-License-Identifier: BSD-2-Clause
//! What `enable --dry-run` shows: each file that would be created or changed, as a unified diff.

use crate::paths::shown;
use serde::Serialize;
use similar::TextDiff;
use std::path::{Path, PathBuf};
use terminal::style::{paint, BAD, BOLD, DIM, GOOD};

#[derive(Debug, Serialize)]
pub struct Change {
    #[serde(serialize_with = "shown")]
    pub file: PathBuf,
    /// "create" or "change".
    pub action: &'static str,
    /// In the unified format of diff(1).
    pub diff: String,
}

impl Change {
    /// None if the file stays as it is.
    pub fn of(file: &Path, before: Option<&[u8]>, after: &[u8]) -> Option<Change> {
        if before == Some(after) {
            return None;
        }
        let name = file.display().to_string();
        let (old, new) = (before.unwrap_or_default(), after);
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        let diff = TextDiff::from_lines(&*old, &*new);
        let from = before.map_or("/dev/null", |_| &name);
        Some(Change {
            file: file.to_owned(),
            action: if before.is_some() { "change" } else { "create" },
            diff: diff.unified_diff().header(from, &name).to_string(),
        })
    }

    /// The diff in colours.
    pub fn text(&self) -> String {
        let style = |line: &str| match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => BOLD,
            [b'+', ..] => GOOD,
            [b'-', ..] => BAD,
            [b'@', ..] => DIM,
            _ => anstyle::Style::new(),
        };
        let lines = self.diff.lines();
        lines.map(|line| paint(style(line), line) + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_and_one_that_is_not() {
        let file = Path::new("/etc/a.cnf");
        let changed = Change::of(file, Some(b"one\ntwo"), b"one\ntwo\nthree\n").unwrap();
        assert_eq!(changed.action, "change");
        let expected = "--- /etc/a.cnf\n+++ /etc/a.cnf\n@@ -1,2 +1,3 @@\n one\n-two\n\\ No newline at end of file\n+two\n+three\n";
        assert_eq!(changed.diff, expected);
        let created = Change::of(file, None, b"one\n").unwrap();
        assert_eq!(created.action, "create");
        assert_eq!(
            created.diff,
            "--- /dev/null\n+++ /etc/a.cnf\n@@ -0,0 +1 @@\n+one\n"
        );
        assert!(Change::of(file, Some(b"same"), b"same").is_none());
    }
}
