// SPDX-License-Identifier: BSD-2-Clause
//! What can be wrong with a token file. Every message names the file, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Error>;

/// Why others could read or change a file or folder.
#[derive(Debug)]
pub struct Exposure {
    /// What is wrong; begins with "it" or "its folder".
    pub why: String,
    /// The command that mends it.
    pub cure: String,
}

#[derive(Debug)]
pub enum Error {
    /// The operating system refused a step: which one, on which file.
    Io(&'static str, PathBuf, io::Error),
    /// The file is not a token, is truncated or was changed: what is wrong with it.
    Damaged(PathBuf, String),
    /// A later version of the format: which, and the latest that is known.
    Newer(PathBuf, u32, u32),
    /// Others could read or replace the file.
    Exposed(PathBuf, Exposure),
    /// Another process has held the lock for longer than this.
    Locked(PathBuf, Duration),
    /// No token has been initialised there.
    Missing(PathBuf),
    /// Another process made a token there at the same time.
    Changed(PathBuf),
    /// The number of wrong PINs in a row.
    WrongPin(u32),
    PinLength(usize),
    /// The user has no PIN yet.
    NoPin,
    NoMemory,
    /// Random bytes, or the core's known-answer tests.
    Machine(String),
    /// Too many or too long objects for one file.
    Full,
}

impl Error {
    pub fn io<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
        move |error| Error::Io(what, path.to_owned(), error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(what, path, error) => write!(f, "cannot {what} {}: {error}", path.display()),
            Error::Damaged(path, what) => write!(
                f,
                "the token file {} is damaged: {what}. It was not changed. Restore it from a \
                 backup, or move it away and initialise a new token",
                path.display()
            ),
            Error::Newer(path, version, known) => write!(
                f,
                "the token file {} has format {version}, and this version of tenrounds knows \
                 format {known} at most. It was not changed. Use the version that wrote it, or a newer one",
                path.display()
            ),
            Error::Exposed(path, exposure) => write!(
                f,
                "the token file {} is not used, because {}. To mend it: {}",
                path.display(),
                exposure.why,
                exposure.cure
            ),
            Error::Locked(path, patience) => write!(
                f,
                "another process holds the lock {} for more than {} s. Find it by fuser, and end it",
                path.display(),
                patience.as_secs()
            ),
            Error::Missing(path) => write!(
                f,
                "there is no token in {}. Make one by 'tenrounds token init'",
                path.display()
            ),
            Error::Changed(path) => write!(
                f,
                "another process has just made a token in {}, which was not changed. Run the \
                 command again to see it",
                path.display()
            ),
            Error::WrongPin(count) => write!(f, "the PIN is wrong ({count} in a row)"),
            Error::PinLength(len) => write!(
                f,
                "a PIN has {} to {} bytes, and this one has {len}",
                crate::PIN_LEN.start(),
                crate::PIN_LEN.end()
            ),
            Error::NoPin => write!(
                f,
                "the user's PIN is not set. The security officer sets it by 'tenrounds token pin'"
            ),
            Error::NoMemory => write!(f, "there is not enough memory for the token"),
            Error::Machine(what) => write!(f, "{what}"),
            Error::Full => write!(f, "the token file would become too large"),
        }
    }
}

impl std::error::Error for Error {}
