// SPDX-License-Identifier: BSD-2-Clause
//! The change list of `enable`: files as they are and as they are to be. A dry run shows it as
//! unified diffs; otherwise all of it is made, or nothing.

use super::files::{self, at};
use base::paths::shown;
use base::replaced::Look;
use serde::Serialize;
use similar::TextDiff;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};
use terminal::style::{paint, BAD, BOLD, DIM, GOOD};

pub struct Change<'a> {
    file: &'a Path,
    before: Option<&'a [u8]>,
    after: &'a [u8],
    /// How a new file is to look. A changed file keeps its looks.
    look: Look<'a>,
}

impl<'a> Change<'a> {
    /// None if the file stays as it is.
    pub fn of(
        file: &'a Path,
        before: Option<&'a [u8]>,
        after: &'a [u8],
        look: Look<'a>,
    ) -> Option<Change<'a>> {
        (before != Some(after)).then_some(Change {
            file,
            before,
            after,
            look,
        })
    }

    pub fn diff(&self) -> Diff {
        let name = self.file.display().to_string();
        let old = String::from_utf8_lossy(self.before.unwrap_or_default());
        let new = String::from_utf8_lossy(self.after);
        let diff = TextDiff::from_lines(&*old, &*new);
        let from = self.before.map_or("/dev/null", |_| &name);
        Diff {
            file: self.file.to_owned(),
            action: self.before.map_or("create", |_| "change"),
            diff: diff.unified_diff().header(from, &name).to_string(),
        }
    }

    fn refuse_changed(&self) -> Result<()> {
        match files::read(self.file)?.as_deref() == self.before {
            true => Ok(()),
            false => Err(at(self.file, "somebody changed it just now; try again")),
        }
    }

    fn take_back(&self) -> Result<()> {
        // A write that failed may have replaced the file already, or not.
        if matches!(files::read(self.file), Ok(now) if now.as_deref() == self.before) {
            return Ok(());
        }
        match self.before {
            None => files::remove(self.file),
            Some(before) => files::replace(self.file, before, Look::Like(self.file)),
        }
    }
}

/// Why changes were not made.
#[derive(Debug)]
pub struct Failed {
    pub error: Error,
    /// Whether all files are as they were.
    pub is_restored: bool,
}

/// Makes all changes in their order, and verifies them. If anything fails, takes all of them back.
pub fn make_all(
    changes: &[Change<'_>],
    verify: impl FnOnce() -> Result<()>,
) -> std::result::Result<(), Failed> {
    let mut begun = 0;
    let make = || {
        for change in changes {
            change.refuse_changed()?;
            begun += 1;
            if let Some(folder) = change.file.parent().filter(|folder| !folder.exists()) {
                files::make_directory(folder, 0o700)?;
            }
            files::replace(change.file, change.after, change.look)?;
        }
        verify()
    };
    let Err(error) = make() else {
        return Ok(());
    };
    // If a file keeps our lines, the file that these lines name must stay, too.
    let mut begun = changes[..begun].iter().rev();
    let restored = begun.try_for_each(Change::take_back);
    let end = match &restored {
        Ok(()) => "all is as it was".to_owned(),
        Err(why) => format!("it could not be undone: {why}"),
    };
    Err(Failed {
        error: Error::failure(format!("{error}; {end}")),
        is_restored: restored.is_ok(),
    })
}

/// What a dry run shows of a change.
#[derive(Debug, Serialize)]
pub struct Diff {
    #[serde(serialize_with = "shown")]
    file: PathBuf,
    /// "create" or "change".
    action: &'static str,
    /// In the unified format of diff(1).
    diff: String,
}

impl Diff {
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

    fn diff(before: Option<&[u8]>, after: &[u8]) -> Option<Diff> {
        let change = Change::of(Path::new("/etc/a.cnf"), before, after, Look::Usual);
        change.map(|change| change.diff())
    }

    #[test]
    fn a_file_that_is_there_and_one_that_is_not() {
        let changed = diff(Some(b"one\ntwo"), b"one\ntwo\nthree\n").unwrap();
        assert_eq!(changed.action, "change");
        let expected = "--- /etc/a.cnf\n+++ /etc/a.cnf\n@@ -1,2 +1,3 @@\n one\n-two\n\\ No newline at end of file\n+two\n+three\n";
        assert_eq!(changed.diff, expected);
        let created = diff(None, b"one\n").unwrap();
        assert_eq!(created.action, "create");
        let expected = "--- /dev/null\n+++ /etc/a.cnf\n@@ -0,0 +1 @@\n+one\n";
        assert_eq!(created.diff, expected);
        assert!(diff(Some(b"same"), b"same").is_none());
    }
}
