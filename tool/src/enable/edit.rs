// SPDX-License-Identifier: BSD-2-Clause
//! The lines that `enable` appends to somebody else's file, and how they are found again.

use std::ops::Range;

/// The first of the lines, by which they are found.
pub const MARK: &str =
    "# tenrounds: 'tenrounds enable' added this line and the next; 'tenrounds disable' removes them.";

/// A file with our lines at its end. The empty line ends what the file may have left open: a last
/// line without a newline, or one that a backslash continues.
pub fn add(original: &[u8], line: &[u8]) -> Vec<u8> {
    let mut text = original.to_vec();
    if !text.is_empty() {
        text.extend_from_slice(match text.last() {
            Some(b'\n') => b"\n".as_slice(),
            _ => b"\n\n".as_slice(),
        });
    }
    text.extend_from_slice(MARK.as_bytes());
    text.push(b'\n');
    text.extend_from_slice(line);
    text
}

/// What a file contains of ours.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// The lines as they were written, with the empty line before them.
    Ours(Range<usize>),
    /// Something else than what was written: what, with the number of its line.
    Damaged(String),
}

/// Looks for the lines. `needle` is in every line that does what ours does.
pub fn find(text: &[u8], line: &[u8], needle: &str) -> Found {
    let mut marks = Vec::new();
    let mut ends = Vec::new();
    let mut strays = Vec::new();
    let mut at = 0;
    let mut after_mark = false;
    for (index, content) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let bare = String::from_utf8_lossy(content);
        let bare = bare.trim();
        if bare == MARK {
            marks.push((index + 1, at));
        } else if after_mark && content == line {
            ends.push(at + content.len());
        } else if !bare.starts_with('#') && bare.contains(needle) {
            strays.push(index + 1);
        }
        after_mark = bare == MARK;
        at += content.len();
    }
    if let Some(number) = strays.first() {
        return Found::Damaged(format!(
            "line {number} names {needle}, and is not as 'tenrounds enable' writes it"
        ));
    }
    match (marks.as_slice(), ends.as_slice()) {
        ([], _) => Found::Nothing,
        ([(_, begin)], [end]) => Found::Ours(begin_with_blank(text, *begin)..*end),
        ([(number, _)], _) => Found::Damaged(format!(
            "line {number} is the comment of 'tenrounds enable', without the line that belongs to it"
        )),
        ([_, (number, _), ..], _) => Found::Damaged(format!(
            "line {number} repeats what 'tenrounds enable' added before"
        )),
    }
}

fn begin_with_blank(text: &[u8], begin: usize) -> usize {
    match text[..begin].ends_with(b"\n\n") {
        true => begin - 1,
        false => begin,
    }
}

/// The file without the lines.
pub fn without(text: &[u8], range: &Range<usize>) -> Vec<u8> {
    [&text[..range.start], &text[range.end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b".include = /etc/ssl/tenrounds.cnf\n";
    const NEEDLE: &str = "/etc/ssl/tenrounds.cnf";

    #[test]
    fn what_is_added_is_found_and_taken_out() {
        for original in ["", "a = b\n", "a = b", "a = b\\", "a = b\n\n", "\n"] {
            let text = add(original.as_bytes(), LINE);
            let Found::Ours(range) = find(&text, LINE, NEEDLE) else {
                panic!("{original:?}");
            };
            let mut expected = original.as_bytes().to_vec();
            if !original.is_empty() && !original.ends_with('\n') {
                expected.push(b'\n');
            }
            assert_eq!(without(&text, &range), expected, "{original:?}");
            let later = [&text[..], b"c = d\n"].concat();
            let Found::Ours(range) = find(&later, LINE, NEEDLE) else {
                panic!("{original:?}, and more");
            };
            expected.extend_from_slice(b"c = d\n");
            assert_eq!(without(&later, &range), expected, "{original:?}, and more");
        }
    }

    #[test]
    fn what_was_changed_is_named() {
        let damaged = |text: &[u8]| match find(text, LINE, NEEDLE) {
            Found::Damaged(why) => why,
            other => panic!("{other:?}"),
        };
        let text = add(b"a = b\n", LINE);
        assert_eq!(find(b"a = b\n", LINE, NEEDLE), Found::Nothing);
        assert!(damaged(&text[..text.len() - LINE.len()]).contains("line 3"));
        assert!(damaged(LINE).contains("line 1"));
        assert!(damaged(&add(&text, LINE)).contains("repeats"));
        let edited = String::from_utf8(text)
            .unwrap()
            .replace(".include =", ".include");
        assert!(damaged(edited.as_bytes()).contains("line 4"));
        let commented = b"#.include = /etc/ssl/tenrounds.cnf\n";
        assert_eq!(find(commented, LINE, NEEDLE), Found::Nothing);
    }
}
