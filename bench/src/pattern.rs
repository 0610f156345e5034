// SPDX-License-Identifier: BSD-2-Clause
//! Patterns, in which '*' stands for any characters and '?' for one.

/// Whether a text fits a pattern.
pub fn like(pattern: &str, text: &str) -> bool {
    fn fits(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern, text) {
            ([], text) => text.is_empty(),
            ([b'*', rest @ ..], text) => (0..=text.len()).any(|skip| fits(rest, &text[skip..])),
            ([b'?', rest @ ..], [_, text @ ..]) => fits(rest, text),
            ([one, rest @ ..], [other, text @ ..]) => one == other && fits(rest, text),
            _ => false,
        }
    }
    fits(pattern.as_bytes(), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let long = "gcm-encrypt/128/16384/core/bound";
        assert!(like("gcm-*/128/*/core/bound", long));
        assert!(!like("gcm-*/256/*/core/bound", long));
        assert!(!like("gcm-*/128/*/evp/bound", long));
        assert!(like("a", "a") && !like("a", "ab") && like("*", "x"));
        assert!(like("??/*", "ab/") && !like("?", ""));
    }
}
