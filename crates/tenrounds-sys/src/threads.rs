// SPDX-License-Identifier: BSD-2-Clause
//! Whether the process has one thread.

use std::ffi::c_char;

extern "C" {
    /// NULL if the C library does not tell.
    static shim_single_threaded: *const c_char;
}

/// Whether the process certainly has one thread, so that atomic instructions are not needed. False
/// if the C library does not tell.
#[inline]
pub fn is_single_threaded() -> bool {
    // SAFETY: the pointer is constant; what it points at only changes while this thread creates or
    // joins another.
    unsafe { !shim_single_threaded.is_null() && shim_single_threaded.read_volatile() != 0 }
}
