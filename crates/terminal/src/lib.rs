// SPDX-License-Identifier: BSD-2-Clause
//! What every command says and how: errors with their exit status, output, styles, tables.

pub mod error;
pub mod markup;
pub mod output;
pub mod progress;
pub mod style;
pub mod table;

use error::{Error, Result};
use std::os::fd::AsFd;
use std::path::Path;

/// "16 B", "1 KiB", "1 MiB".
pub fn size_name(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} B"),
    }
}

/// "17.9", "1.45", "0.064": three figures of gigabytes.
pub fn gigabytes(bytes_per_second: f64) -> String {
    let value = bytes_per_second / 1e9;
    match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.0995 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// "2026-11-21" by UTC.
pub fn today() -> String {
    // SAFETY: all zeros is a valid struct tm.
    let mut date: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are valid or null where that is allowed.
    unsafe {
        let now = libc::time(std::ptr::null_mut());
        libc::gmtime_r(&now, &mut date);
    }
    format!(
        "{:04}-{:02}-{:02}",
        date.tm_year + 1900,
        date.tm_mon + 1,
        date.tm_mday
    )
}

/// Checks that a file can be written before the work that fills it, and leaves no trace.
pub fn writable(path: &Path) -> Result<()> {
    let failed = |error| Error::failure(format!("cannot write {}: {error}", path.display()));
    let existed = path.exists();
    let mut options = std::fs::OpenOptions::new();
    options
        .append(true)
        .create(true)
        .open(path)
        .map_err(failed)?;
    match existed {
        true => Ok(()),
        false => std::fs::remove_file(path).map_err(failed),
    }
}

/// The columns of the terminal on standard output; without a terminal those of COLUMNS. None: lines
/// may have any length.
pub fn columns() -> Option<usize> {
    columns_of(std::io::stdout())
}

/// The same for another stream.
fn columns_of(stream: impl AsFd) -> Option<usize> {
    let variable = || environment::text("COLUMNS")?.parse().ok();
    let columns = terminal_columns(stream).or_else(variable);
    columns.filter(|columns| *columns > 0)
}

fn terminal_columns(stream: impl AsFd) -> Option<usize> {
    let size = terminal_size::terminal_size_of(stream);
    size.map(|(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_names() {
        let sizes = [16, 1000, 1024, 16384, 1 << 20].map(size_name);
        assert_eq!(sizes, ["16 B", "1000 B", "1 KiB", "16 KiB", "1 MiB"]);
    }
}
