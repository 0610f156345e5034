// SPDX-License-Identifier: BSD-2-Clause
//! How `compare` and `compare-paths` show what they found.

use super::chart::Paint;
use crate::cli::ReportArgs;
use crate::error::Result;
use crate::output;
use std::path::Path;

/// What `compare` and `compare-paths` show of what they found, and where.
pub struct Report<'a, T> {
    pub json: fn(&T) -> String,
    pub markdown: fn(&T) -> String,
    pub text: fn(&T, Paint) -> String,
    pub svg: fn(&T, &Path) -> Result<()>,
    pub args: &'a ReportArgs,
}

impl<T> Report<'_, T> {
    /// Measures and shows. Files that cannot be written are an error before anything is measured.
    pub fn of(self, json: bool, measure: impl FnOnce() -> Result<T>) -> Result<()> {
        let file = self.args.svg.as_deref();
        file.map_or(Ok(()), terminal::writable)?;
        let found = measure()?;
        let shown = output::out(match (json, self.args.markdown) {
            (true, _) => (self.json)(&found),
            (_, true) => (self.markdown)(&found),
            _ => (self.text)(&found, Paint::for_stdout()),
        });
        file.map_or(Ok(()), |file| (self.svg)(&found, file))
            .and(shown)
    }
}
