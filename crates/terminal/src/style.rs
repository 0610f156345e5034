// SPDX-License-Identifier: BSD-2-Clause
//! Colours, and how figures are written. Print with anstream, which drops colours where there is no
//! terminal and with NO_COLOR.

use anstyle::{AnsiColor, Style};
use std::fmt::Display;
use std::io::IsTerminal;
use textwrap::{Options, WordSplitter};

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const WARN: Style = AnsiColor::Yellow.on_default();
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Text in a style.
pub fn paint(style: Style, text: impl Display) -> String {
    match text.to_string() {
        text if text.is_empty() => text,
        text => format!("{style}{text}{style:#}"),
    }
}

/// The columns that a text takes on a terminal.
pub fn width(text: &str) -> usize {
    textwrap::core::display_width(text)
}

/// Text on a terminal has at most so many columns.
const WIDEST: usize = 100;

/// The width to which text on standard output is wrapped. None: lines stay as long as they are, for
/// grep(1) and its like.
pub fn columns() -> Option<usize> {
    crate::columns().map(|columns| columns.min(WIDEST))
}

/// The same for standard error.
pub fn error_columns() -> Option<usize> {
    crate::columns_of(std::io::stderr()).map(|columns| columns.min(WIDEST))
}

/// A paragraph behind a label. Lines that do not fit on the terminal continue below its beginning.
pub fn item(label: &str, text: impl Display) -> String {
    wrapped(label, &text.to_string(), columns())
}

/// The columns that a paragraph behind a label should have at least.
pub const ROOM: usize = 20;

/// The same for a terminal of so many columns.
pub fn wrapped(label: &str, text: &str, columns: Option<usize>) -> String {
    let alone = || format!("{label}{text}").trim_end().to_owned() + "\n";
    // textwrap drops the label of an empty text.
    let columns = match columns {
        Some(columns) if !text.is_empty() => columns,
        _ => return alone(),
    };
    let indentation = match width(label) {
        deep if deep + ROOM > columns => deep.min(columns / 3),
        fits => fits,
    };
    let indentation = " ".repeat(indentation);
    let options = Options::new(columns)
        .initial_indent(label)
        .subsequent_indent(&indentation)
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options) + "\n"
}

/// Lines, each of which continues below its own indentation.
pub fn folded(lines: &str, columns: Option<usize>) -> String {
    let fold = |line: &str| {
        let text = line.trim_start_matches(' ');
        wrapped(&line[..line.len() - text.len()], text, columns)
    };
    lines.lines().map(fold).collect()
}

/// 1234567 as "1,234,567".
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Whether characters beyond ASCII may be written to standard output: a terminal in a UTF-8 locale.
pub fn unicode() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| environment::text(name).filter(|value| !value.is_empty()));
    let utf8 = locale.is_some_and(|l| l.to_ascii_lowercase().replace('-', "").contains("utf8"));
    utf8 && std::io::stdout().is_terminal()
}

/// No text of others steers the terminal or floods it.
pub fn clean(text: impl Display) -> String {
    const LONGEST: usize = 400;
    let text = text.to_string();
    let mut out: String = text
        .chars()
        .take(LONGEST)
        .map(|c| if steers(c) { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        out.push_str("...");
    }
    out
}

/// Whether a character moves others or is invisible: control characters, marks of the direction of
/// text, spaces without a width, hyphens that show only at the end of a line, and tags.
pub(crate) fn steers(c: char) -> bool {
    let formats = [
        '\u{ad}'..='\u{ad}',
        '\u{61c}'..='\u{61c}',
        '\u{180e}'..='\u{180e}',
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{fff9}'..='\u{fffb}',
        '\u{e0000}'..='\u{e007f}',
    ];
    c.is_control() || c == '\u{feff}' || formats.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_groups() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
    }

    #[test]
    fn long_lines_hang_below_their_beginning() {
        let text = format!("one {} three --four-five", paint(GOOD, "two"));
        let plain = |columns| {
            let text = wrapped("  a: ", &text, columns);
            anstream::adapter::strip_str(&text).to_string()
        };
        assert_eq!(plain(None), "  a: one two three --four-five\n");
        assert_eq!(plain(Some(20)), "  a: one two three\n     --four-five\n");
        assert_eq!(plain(Some(6)), "  a: one\n  two\n  three\n  --four-five\n");
        assert_eq!(wrapped("  ", "", Some(1)), "\n");
        assert_eq!(wrapped("  ", "", None), "\n");
        assert_eq!(folded("a b\n\n  c d\n", Some(3)), "a b\n\n  c\n d\n");
    }

    #[test]
    fn escape_sequences_do_not_pass() {
        assert_eq!(clean("a\x1b[31m\nb"), "a\u{fffd}[31m\u{fffd}b");
        assert_eq!(
            clean("a\u{202e}b\u{200b}\u{feff}"),
            "a\u{fffd}b\u{fffd}\u{fffd}"
        );
        for hidden in ['\u{ad}', '\u{61c}', '\u{180e}', '\u{fff9}', '\u{e0041}'] {
            assert_eq!(clean(hidden), "\u{fffd}", "{}", hidden.escape_unicode());
        }
        assert_eq!(clean("x".repeat(500)).len(), 403);
    }

    /// The first and the last of each range, and their neighbours.
    #[test]
    fn characters_that_steer() {
        for (first, last) in [
            (0, 0x1f),
            (0x7f, 0x9f),
            (0xad, 0xad),
            (0x61c, 0x61c),
            (0x180e, 0x180e),
            (0x200b, 0x200f),
            (0x2028, 0x202e),
            (0x2060, 0x206f),
            (0xfeff, 0xfeff),
            (0xfff9, 0xfffb),
            (0xe0000, 0xe007f),
        ] {
            let hides = |number| char::from_u32(number).is_some_and(steers);
            assert!(hides(first) && hides(last), "{first:#x}");
            assert!(first == 0 || !hides(first - 1), "{first:#x}");
            assert!(!hides(last + 1), "{last:#x}");
        }
        assert_eq!(clean("x".repeat(400)), "x".repeat(400));
        assert_eq!(clean("x".repeat(401)), "x".repeat(400) + "...");
    }

    #[test]
    fn labels_leave_room() {
        // A label that leaves 20 columns indents as deep as it is; a longer one a third.
        let second = |label: &str, columns| {
            let text = wrapped(label, "aaaaaaaaaaaaaaa bbbbbbbbbbbbbbb", Some(columns));
            let line = text.lines().nth(1).unwrap().to_owned();
            line.len() - line.trim_start().len()
        };
        assert_eq!(second("          ", 30), 10);
        assert_eq!(second("           ", 30), 10);
        assert_eq!(second("             ", 30), 10);
        assert_eq!(second("     ", 21), 5, "no deeper than the label");
        assert_eq!(paint(GOOD, ""), "");
        assert_ne!(paint(GOOD, "x"), "x");
    }
}
