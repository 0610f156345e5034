// SPDX-License-Identifier: BSD-2-Clause
//! Standard output and standard error. Nothing else in the tool writes to them: print!() and eprint!() panic
//! where this is an error (clippy.toml forbids them). Colours are dropped where there is no terminal.

use crate::error::{Error, Kind, Result};
use std::fmt::Display;
use std::io::{ErrorKind, Write};

/// Writes a text, with or without colours, to standard output.
pub fn out(text: impl Display) -> Result<()> {
    written(write!(anstream::stdout(), "{text}"))
}

/// Writes bytes to standard output as they are.
pub fn plain(bytes: &[u8]) -> Result<()> {
    written(std::io::stdout().write_all(bytes))
}

/// Flushes, so that no error is left for the end of the process, where nobody sees it.
fn written(done: std::io::Result<()>) -> Result<()> {
    let done = done.and_then(|()| std::io::stdout().flush());
    done.map_err(|error| match error.kind() {
        // The reader has read enough. SIGPIPE ends the process before this unless the caller ignores it.
        ErrorKind::BrokenPipe => Error::new(Kind::Unread, ""),
        _ => Error::new(
            Kind::Unwritten,
            format!(
                "cannot write to standard output: {error}; the output is incomplete, so send it elsewhere"
            ),
        ),
    })
}

/// Writes a text to standard error. Where that fails, there is nowhere to say so.
pub fn err(text: impl Display) {
    let mut stderr = anstream::stderr().lock();
    let _ = write!(stderr, "{text}");
}

/// A message of the tool, in a line of its own on standard error.
pub fn complain(message: impl Display) {
    err(format!("tenrounds: {message}\n"));
}
