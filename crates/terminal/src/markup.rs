// SPDX-License-Identifier: BSD-2-Clause
//! Texts in HTML and SVG, some of which are names that other programs have chosen.

use crate::style::steers;

/// Appends a text so that it stays text, and no name looks like another. XML allows neither control
/// characters nor U+FFFE.
pub fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if steers(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let escaped = |text: &str| {
            let mut out = String::from("x");
            escape(&mut out, text);
            out
        };
        assert_eq!(escaped("a<b>&\"'"), "xa&lt;b&gt;&amp;&quot;&#39;");
        // A test of style.rs has all characters that steer.
        let hidden = ['\0', '\n', '\u{fffe}', '\u{ffff}', '\u{202e}'];
        for c in hidden {
            assert_eq!(
                escaped(&c.to_string()),
                "x\u{fffd}",
                "{}",
                c.escape_unicode()
            );
        }
        let shown = [' ', '~', 'é', '\u{202f}', '\u{fffd}'];
        for c in shown {
            assert_eq!(
                escaped(&c.to_string()),
                format!("x{c}"),
                "{}",
                c.escape_unicode()
            );
        }
    }
}
