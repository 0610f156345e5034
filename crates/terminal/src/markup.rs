// SPDX-License-Identifier: BSD-2-Clause
//! Texts in HTML and SVG, some of which are names that other programs have chosen.

/// Characters that change the direction of the text around them can make a name look like another.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// Appends a text so that it stays text. XML allows neither control characters nor U+FFFE.
pub fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() || turns_text(c) => out.push('\u{fffd}'),
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
        let hidden = [
            '\0', '\n', '\u{7f}', '\u{fffe}', '\u{ffff}', '\u{61c}', '\u{200e}', '\u{200f}',
            '\u{202a}', '\u{202e}', '\u{2066}', '\u{2069}',
        ];
        for c in hidden {
            assert_eq!(
                escaped(&c.to_string()),
                "x\u{fffd}",
                "{}",
                c.escape_unicode()
            );
        }
        let shown = [
            ' ', '~', 'é', '\u{2029}', '\u{202f}', '\u{2065}', '\u{206a}', '\u{fffd}',
        ];
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
