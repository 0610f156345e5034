// SPDX-License-Identifier: BSD-2-Clause
//! Counting for `tenrounds run --count`: TENROUNDS_COUNTERS names shared memory to which the module
//! adds what its backends execute. openssl/common/counters_file.h has the layout and the reasons.

use std::ffi::{c_char, CStr};
use tenrounds_sys::Backend;

extern "C" {
    /// secure_getenv(3), which the crate libc does not declare.
    fn secure_getenv(name: *const c_char) -> *mut c_char;
}

/// A backend that counts, if this process is to be counted; otherwise the same one. Children of
/// fork() share the memory, and the counts survive C_Finalize and the end of the process.
pub fn counted(backend: Backend) -> Backend {
    // SAFETY: the name ends in a zero byte. In a setuid program the result is NULL.
    let path = unsafe { secure_getenv(c"TENROUNDS_COUNTERS".as_ptr()) };
    if path.is_null() {
        return backend;
    }
    // SAFETY: a string of the environment, which counted_in_file() only reads during the call.
    let path = unsafe { CStr::from_ptr(path) };
    backend.counted_in_file(path).unwrap_or(backend)
}
