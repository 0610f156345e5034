// SPDX-License-Identifier: BSD-2-Clause
//! What every command says and how: errors with their exit status, output, styles, tables.

pub mod error;
pub mod markup;
pub mod output;
pub mod style;
pub mod table;

use error::{Error, Result};
use std::os::fd::AsFd;
use std::path::Path;

/// Bytes as "16", "16K", "1M".
pub fn parse_size(text: &str) -> Option<usize> {
    let (digits, unit) = match text.to_ascii_uppercase().chars().last()? {
        'K' => (&text[..text.len() - 1], 1 << 10),
        'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

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
pub fn columns_of(stream: impl AsFd) -> Option<usize> {
    let variable = || environment::text("COLUMNS")?.parse().ok();
    let columns = terminal_columns(stream).or_else(variable);
    columns.filter(|columns| *columns > 0)
}

/// The columns and rows of the terminal on standard output.
pub fn size() -> Option<(usize, usize)> {
    let (columns, rows) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some((columns.0.into(), rows.0.into()))
}

/// The same without COLUMNS: None if the stream is no terminal or does not tell.
pub fn terminal_columns(stream: impl AsFd) -> Option<usize> {
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
        let sizes = [0, 1023, 1025, 1 << 19, (1 << 20) + 1024, 5 << 20].map(size_name);
        let expected = ["0 B", "1023 B", "1025 B", "512 KiB", "1025 KiB", "5 MiB"];
        assert_eq!(sizes, expected);
    }

    #[test]
    fn rates_have_three_figures() {
        let rates = [
            0.0, 99.4e6, 99.5e6, 1.454e9, 9.994e9, 9.995e9, 99.94e9, 99.95e9, 123.4e9,
        ];
        let expected = [
            "0.000", "0.099", "0.10", "1.45", "9.99", "10.0", "99.9", "100", "123",
        ];
        assert_eq!(rates.map(gigabytes), expected);
    }

    #[test]
    fn today_is_a_date() {
        let days = |today: &str| {
            let numbers: Vec<i64> = today.split('-').map(|part| part.parse().unwrap()).collect();
            let [year, month, day] = numbers[..] else {
                panic!("{today}")
            };
            assert_eq!(today, format!("{year:04}-{month:02}-{day:02}"));
            // Days since 1970 in the calendar whose year begins in March.
            let (year, month) = (year - i64::from(month < 3), (month + 9) % 12);
            365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469
        };
        let seconds = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            (now.unwrap().as_secs() / 86400) as i64
        };
        let before = seconds();
        let found = days(&today());
        assert!((before..=seconds()).contains(&found), "{found} {before}");
    }

    #[test]
    fn a_file_is_tried_and_left_as_it_was() {
        let name = format!("tenrounds-writable-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir(&dir).unwrap();
        let file = dir.join("file");
        assert!(writable(&file).is_ok() && !file.exists());
        std::fs::write(&file, "text").unwrap();
        assert!(writable(&file).is_ok());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
        let error = writable(&dir.join("none/file")).unwrap_err().to_string();
        assert!(error.starts_with("cannot write "), "{error}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
