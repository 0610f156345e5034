// SPDX-License-Identifier: BSD-2-Clause
//! Writes to standard output and standard error, for the whole tool. print!() and eprint!() panic
//! if they cannot write, so clippy.toml forbids them. Colours are dropped unless the stream is a
//! terminal.

use crate::error::{Error, Kind, Result};
use crate::style::{error_columns, wrapped};
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

/// Writes bytes as they are and then a text, with or without colours, in one call: on a terminal
/// nobody sees the first without the second.
pub fn plain_and_out(first: &[u8], text: impl Display) -> Result<()> {
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    let mut all = anstream::AutoStream::new(first.to_vec(), choice);
    written(write!(all, "{text}"))?;
    plain(&all.into_inner())
}

/// Flushes standard output, because a write error at process exit would be lost. Converts the
/// error.
fn written(done: std::io::Result<()>) -> Result<()> {
    let done = done.and_then(|()| std::io::stdout().flush());
    done.map_err(|error| match error.kind() {
        // The reader has closed the pipe. SIGPIPE ends the process first, unless the caller ignores
        // SIGPIPE.
        ErrorKind::BrokenPipe => Error::new(Kind::Unread, ""),
        _ => Error::new(
            Kind::Unwritten,
            format!(
                "cannot write to standard output: {error}; the output is incomplete; free space on the disk, or redirect the output elsewhere"
            ),
        ),
    })
}

/// Writes a text to standard error. Ignores errors, because there is nowhere to report them.
pub fn err(text: impl Display) {
    let mut stderr = anstream::stderr().lock();
    let _ = write!(stderr, "{text}");
}

/// Writes a message of the tool to standard error, wrapped to the terminal.
pub fn complain(message: impl Display) {
    err(wrapped(
        "tenrounds: ",
        &message.to_string(),
        error_columns(),
    ));
}
