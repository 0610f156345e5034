// SPDX-License-Identifier: BSD-2-Clause
//! What the core reports.

use crate::raw;
use std::ffi::{c_char, CStr};
use std::fmt;

/// An error of the core: enum tr_status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error(pub raw::tr_status);

pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(explain(self.0))
    }
}

impl std::error::Error for Error {}

/// The core's sentence for a status.
pub fn explain(status: raw::tr_status) -> &'static str {
    // SAFETY: every status has a text.
    text(unsafe { raw::tr_strerror(status) }).unwrap_or("unknown error")
}

pub(crate) fn check(status: raw::tr_status) -> Result<()> {
    match status {
        raw::TR_OK => Ok(()),
        status => Err(Error(status)),
    }
}

/// A string of the core, which is constant; None for NULL.
pub(crate) fn text(pointer: *const c_char) -> Option<&'static str> {
    match pointer.is_null() {
        true => None,
        // SAFETY: the core returns only constant strings.
        false => unsafe { CStr::from_ptr(pointer) }.to_str().ok(),
    }
}
