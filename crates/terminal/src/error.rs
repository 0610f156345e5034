// SPDX-License-Identifier: BSD-2-Clause
//! Errors of the tool: one line that says what was wrong, with what value, and what to do.

use std::fmt;

/// What the exit status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The command line is wrong: 2.
    Usage,
    /// A variable of the environment is wrong: 2.
    Environment,
    /// It could not be done, or a check failed: 1.
    Failure,
    /// A failure that may be expected: this libcrypto or provider has no such thing.
    Absent,
    /// Writing to standard output failed: 1, or 3 for `doctor`.
    Unwritten,
    /// The reader closed standard output, which needs no message: 1, or 3 for `doctor`.
    Unread,
    /// `doctor`: nothing can be told: 3, as of monitoring plugins.
    Unknown,
    /// `run`: the command exists but cannot be executed: 126, as in a shell.
    NotExecutable,
    /// `run`: there is no such command: 127, as in a shell.
    NotFound,
}

/// An error that ends the command.
#[derive(Debug, Clone)]
pub struct Error {
    kind: Kind,
    message: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
        }
    }

    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Error {
        Error::new(Kind::Usage, message)
    }

    /// Something that could not be done.
    pub fn failure(message: impl Into<String>) -> Error {
        Error::new(Kind::Failure, message)
    }

    /// Something that could not be done, for a reason that another crate gives.
    pub fn from_reason(reason: impl fmt::Display) -> Error {
        Error::failure(reason.to_string())
    }

    /// Something that is not there.
    pub fn absent(message: impl Into<String>) -> Error {
        Error::new(Kind::Absent, message)
    }

    /// A state that cannot be told.
    pub fn unknown(message: impl Into<String>) -> Error {
        Error::new(Kind::Unknown, message)
    }

    pub fn is_absent(&self) -> bool {
        self.kind == Kind::Absent
    }

    /// Whether the command line is wrong.
    pub fn is_usage(&self) -> bool {
        self.kind == Kind::Usage
    }

    /// Whether writing to standard output failed.
    pub fn is_output(&self) -> bool {
        matches!(self.kind, Kind::Unwritten | Kind::Unread)
    }

    /// Whether the error needs no message, because the reader closed standard output.
    pub fn is_silent(&self) -> bool {
        self.kind == Kind::Unread
    }

    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Failure | Kind::Absent | Kind::Unwritten | Kind::Unread => 1,
            Kind::Usage | Kind::Environment => 2,
            Kind::Unknown => 3,
            Kind::NotExecutable => 126,
            Kind::NotFound => 127,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// "; did you mean 'x'?" for the candidate nearest to a word, or nothing if none is near.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let word = word.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|c| (strsim::damerau_levenshtein(&word, c), c))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, c)| *distance <= 1.max(c.len().min(word.len()) / 3))
        .map(|(_, c)| format!("; did you mean '{c}'?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_status() {
        use Kind::*;
        for (kind, code) in [
            (Usage, 2),
            (Environment, 2),
            (Failure, 1),
            (Absent, 1),
            (Unwritten, 1),
            (Unread, 1),
            (Unknown, 3),
            (NotExecutable, 126),
            (NotFound, 127),
        ] {
            let error = Error::new(kind, "why");
            assert_eq!((error.exit_code(), &*error.to_string()), (code, "why"));
            assert_eq!(error.is_usage(), kind == Usage);
            assert_eq!(error.is_absent(), kind == Absent);
            assert_eq!(error.is_silent(), kind == Unread);
            assert_eq!(error.is_output(), kind == Unread || kind == Unwritten);
        }
        let kinds = [
            Error::usage(""),
            Error::failure(""),
            Error::from_reason(""),
            Error::absent(""),
            Error::unknown(""),
        ];
        assert_eq!(
            kinds.map(|error| error.kind),
            [Usage, Failure, Failure, Absent, Unknown]
        );
    }

    #[test]
    fn only_near_words_are_suggested() {
        let found = |word, candidates: &[&str]| suggestion(word, candidates.iter().copied());
        assert_eq!(
            found("novase", &["noaes", "novaes"]),
            "; did you mean 'novaes'?"
        );
        assert_eq!(found("NOVAES", &["novaes"]), "; did you mean 'novaes'?");
        // One letter of short words, and a third of the shorter of both.
        assert_eq!(found("ac", &["ab"]), "; did you mean 'ab'?");
        assert_eq!(found("cd", &["ab"]), "");
        assert_eq!(found("abcdxy", &["abcdef"]), "; did you mean 'abcdef'?");
        assert_eq!(found("abcxyz", &["abcdef"]), "");
        assert_eq!(found("abcde", &["abcdefg"]), "");
        assert_eq!(found("abcdefgh", &["abcdef"]), "; did you mean 'abcdef'?");
        assert_eq!(found("word", &[]), "");
    }
}
