// SPDX-License-Identifier: BSD-2-Clause
//! What the core reports.

use crate::raw;
use std::ffi::{c_char, CStr};
use std::fmt;

/// An error of the core: what was tried, and enum tr_status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    what: String,
    status: raw::tr_status,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// enum tr_status.
    pub fn status(&self) -> raw::tr_status {
        self.status
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, explain(self.status))
    }
}

impl std::error::Error for Error {}

/// The core's sentence for a status.
pub fn explain(status: raw::tr_status) -> &'static str {
    // SAFETY: every status has a text.
    text(unsafe { raw::tr_strerror(status) }).unwrap_or("unknown error")
}

#[inline(always)]
pub(crate) fn check(status: raw::tr_status, what: impl FnOnce() -> String) -> Result<()> {
    match status {
        raw::TR_OK => Ok(()),
        status => Err(Error {
            what: what(),
            status,
        }),
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
