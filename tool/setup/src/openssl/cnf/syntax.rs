// SPDX-License-Identifier: BSD-2-Clause
//! The words of openssl.cnf: names, quotes, escapes, comments and variables. The classes of
//! characters are those of OpenSSL's crypto/conf/keysets.pl.

/// What a pragma changes about names.
#[derive(Default)]
pub struct Syntax {
    /// `.pragma dollarid:on`: a dollar sign is a part of a name, and only `${name}` and `$(name)`
    /// are variables.
    pub dollar_in_names: bool,
}

/// The section before "::", a name, and the text after it.
type Name<'a> = (Option<&'a [u8]>, &'a [u8], &'a [u8]);

impl Syntax {
    /// The length of the name at the beginning of a text. A backslash makes any character a part of
    /// the name, and stays in the name.
    fn name_len(&self, text: &[u8]) -> usize {
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            if byte == b'\\' {
                at = after_escape(text, at);
            } else if byte.is_ascii_alphanumeric()
                || b"_!.%&*+,/;?@^~|-".contains(&byte)
                || byte == b'$' && self.dollar_in_names
            {
                at += 1;
            } else {
                break;
            }
        }
        at
    }

    /// Splits a line at its name. Spaces may precede neither "::" nor the name after it.
    pub fn name<'a>(&self, line: &'a [u8]) -> Name<'a> {
        let (first, after) = line.split_at(self.name_len(line));
        let Some(rest) = after.strip_prefix(b"::") else {
            return (None, first, after);
        };
        let (name, after) = rest.split_at(self.name_len(rest));
        (Some(first), name, after)
    }

    /// The name in a header, of which "[" was read: words with spaces between them, up to "]".
    pub fn header<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let text = skip_space(text);
        let mut word = 0;
        loop {
            let end = word + self.name_len(&text[word..]);
            let next = text.len() - skip_space(&text[end..]).len();
            match text.get(next) {
                Some(b']') => return Some(&text[..end]),
                Some(_) if next > word => word = next,
                _ => return None,
            }
        }
    }

    /// Whether a dollar sign before this text begins a variable.
    pub fn is_variable(&self, after: &[u8]) -> bool {
        !self.dollar_in_names || matches!(after.first(), Some(b'{' | b'('))
    }

    /// Reads the variable that follows a dollar sign: `name`, `section::name`, or either in braces.
    pub fn variable<'a>(&self, text: &'a [u8]) -> Result<Name<'a>, String> {
        let close = match text.first() {
            Some(b'{') => Some(b'}'),
            Some(b'(') => Some(b')'),
            _ => None,
        };
        let inner = &text[usize::from(close.is_some())..];
        let (first, after) = self.word(inner);
        let (section, name, after) = match after.strip_prefix(b"::") {
            Some(rest) => {
                let (name, after) = self.word(rest);
                (Some(first), name, after)
            }
            None => (None, first, after),
        };
        match (close, after) {
            (None, after) => Ok((section, name, after)),
            (Some(close), [next, after @ ..]) if *next == close => Ok((section, name, after)),
            (Some(close), _) => Err(format!(
                "no '{}' after '${}'",
                char::from(close),
                String::from_utf8_lossy(text)
            )),
        }
    }

    /// The name of a variable has fewer characters than other names, and no escapes.
    fn word<'a>(&self, text: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let is_part =
            |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'$' && self.dollar_in_names;
        text.split_at(text.iter().position(|b| !is_part(b)).unwrap_or(text.len()))
    }
}

/// The value of a directive, such as ".include"; None if the line is an assignment. libcrypto takes
/// every name that begins with the word, unless nothing at all follows the word.
pub fn directive<'a>(word: &str, name: &[u8], after: &'a [u8]) -> Option<&'a [u8]> {
    let longer = !name.strip_prefix(word.as_bytes())?.is_empty();
    let value = skip_space(after);
    match value {
        [b'=', value @ ..] => Some(skip_space(value)),
        value => (longer || value.len() < after.len()).then_some(value),
    }
}

fn is_space(byte: u8) -> bool {
    b" \t\r\n".contains(&byte)
}

pub fn skip_space(text: &[u8]) -> &[u8] {
    let begin = text.iter().position(|&b| !is_space(b));
    &text[begin.unwrap_or(text.len())..]
}

/// Cuts spaces off the end, escaped ones too.
pub fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&b| !is_space(b));
    &text[..end.map_or(0, |at| at + 1)]
}

/// The place after the backslash at `at` and the character that it escapes.
fn after_escape(text: &[u8], at: usize) -> usize {
    (at + 2).min(text.len())
}

/// Cuts a comment off: from a "#" that is neither quoted nor escaped.
pub fn without_comment(line: &[u8]) -> &[u8] {
    let mut quote = None;
    let mut at = 0;
    while let Some(&byte) = line.get(at) {
        match (byte, quote) {
            (b'\\', _) => {
                at = after_escape(line, at);
                continue;
            }
            (byte, Some(q)) if byte == q => quote = None,
            (b'\'' | b'"' | b'`', None) => quote = Some(byte),
            (b'#', None) => return &line[..at],
            _ => {}
        }
        at += 1;
    }
    line
}

/// Copies a text up to its closing quote, and returns what follows. A backslash keeps the character
/// after it, whatever that is.
pub fn unquote<'a>(quote: u8, text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let mut rest = text;
    while let [first, after @ ..] = rest {
        rest = match (first, after) {
            (first, after) if *first == quote => return after,
            (b'\\', [escaped, after @ ..]) => {
                out.push(*escaped);
                after
            }
            (b'\\', []) => after,
            (other, after) => {
                out.push(*other);
                after
            }
        };
    }
    rest
}

/// Appends the character that a backslash before this text stands for, and returns what follows.
pub fn unescape<'a>(text: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((&escaped, after)) = text.split_first() else {
        return text;
    };
    out.push(match escaped {
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        other => other,
    });
    after
}
