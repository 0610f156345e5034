// SPDX-License-Identifier: BSD-2-Clause
//! The lines that `enable` appends to somebody else's file, and how they are found again.

use std::ops::Range;

/// The line before ours.
const BEGIN: &str =
    "# tenrounds: begin. 'tenrounds enable' added these lines; 'tenrounds disable' removes them.";
/// The line after ours.
const END: &str = "# tenrounds: end.";

/// A file with our lines at its end. The empty line ends what the file may have left open: a last
/// line without a newline, or one that a backslash continues.
pub fn add(original: &[u8], lines: &[u8]) -> Vec<u8> {
    let gap: &[u8] = match original.last() {
        None => b"",
        Some(b'\n') => b"\n",
        Some(_) => b"\n\n",
    };
    let (begin, end) = (format!("{BEGIN}\n"), format!("{END}\n"));
    [original, gap, begin.as_bytes(), lines, end.as_bytes()].concat()
}

/// What a file contains of ours.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    Nothing,
    /// The lines, with the comments and the empty line around them.
    Ours(Range<usize>),
    /// Something else than what was written: what, with the number of its line.
    Damaged(String),
}

/// Looks for our lines: those that are known, or any between the comments.
pub fn find(text: &[u8], known: Option<&[u8]>) -> Found {
    let (mut begins, mut ends) = (Vec::new(), Vec::new());
    let mut at = 0;
    for (index, content) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        match String::from_utf8_lossy(content).trim() {
            BEGIN => begins.push((index + 1, at)),
            END => ends.push((at, at + content.len())),
            _ => {}
        }
        at += content.len();
    }
    let number = begins.last().map_or(0, |(number, _)| *number);
    let whole = |begin: usize, end: usize| {
        let written = text[begin..end].splitn(2, |&byte| byte == b'\n').nth(1);
        known.is_none() || written == known
    };
    match (begins.as_slice(), ends.as_slice()) {
        ([], _) => Found::Nothing,
        ([(_, begin)], [(end, after)]) if begin < end && whole(*begin, *end) => {
            let blank = usize::from(text[..*begin].ends_with(b"\n\n"));
            Found::Ours(begin - blank..*after)
        }
        ([_], _) => Found::Damaged(format!(
            "line {number} begins what 'tenrounds enable' added, and the lines after it are not as it wrote them"
        )),
        _ => Found::Damaged(format!(
            "line {number} repeats what 'tenrounds enable' added before"
        )),
    }
}

/// The file without the lines.
pub fn without(text: &[u8], range: &Range<usize>) -> Vec<u8> {
    [&text[..range.start], &text[range.end..]].concat()
}

/// The file as it was before our lines, which its checksum tells: its last line may have had no
/// newline.
pub fn original(
    text: &[u8],
    range: &Range<usize>,
    is_it: impl Fn(&[u8]) -> bool,
) -> Option<Vec<u8>> {
    let plain = without(text, range);
    let mut open = plain.clone();
    if range.start > 0 {
        open.remove(range.start - 1);
    }
    [plain, open].into_iter().find(|text| is_it(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b".include = /etc/ssl/tenrounds.cnf\n";

    #[test]
    fn what_is_added_is_found_and_taken_out() {
        for original in ["", "a = b\n", "a = b", "a = b\\", "a = b\n\n", "\n"] {
            let text = add(original.as_bytes(), LINE);
            let Found::Ours(range) = find(&text, Some(LINE)) else {
                panic!("{original:?}");
            };
            let mut expected = original.as_bytes().to_vec();
            if !original.is_empty() && !original.ends_with('\n') {
                expected.push(b'\n');
            }
            assert_eq!(without(&text, &range), expected, "{original:?}");
            let restored = super::original(&text, &range, |text| text == original.as_bytes());
            assert_eq!(restored.as_deref(), Some(original.as_bytes()));
            let later = [&text[..], b"c = d\n"].concat();
            let Found::Ours(range) = find(&later, Some(LINE)) else {
                panic!("{original:?}, and more");
            };
            expected.extend_from_slice(b"c = d\n");
            assert_eq!(without(&later, &range), expected, "{original:?}, and more");
        }
    }

    #[test]
    fn what_was_changed_is_named() {
        let damaged = |text: &[u8]| match find(text, Some(LINE)) {
            Found::Damaged(why) => why,
            other => panic!("{other:?}"),
        };
        let text = add(b"a = b\n", LINE);
        assert_eq!(find(b"a = b\n", Some(LINE)), Found::Nothing);
        let cut = text.len() - END.len() - 1;
        assert!(damaged(&text[..cut]).contains("line 3 begins"));
        assert!(damaged(&text[..cut - LINE.len()]).contains("line 3 begins"));
        assert!(damaged(&add(&text, LINE)).contains("repeats"));
        let edited = String::from_utf8(text)
            .unwrap()
            .replace(".include =", ".include");
        assert!(damaged(edited.as_bytes()).contains("line 3 begins"));
        assert_eq!(find(LINE, Some(LINE)), Found::Nothing);
    }
}
