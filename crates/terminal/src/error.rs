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
