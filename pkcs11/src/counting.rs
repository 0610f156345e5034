// SPDX-License-Identifier: BSD-2-Clause
//! Counting for `tenrounds run --count`: TENROUNDS_COUNTERS names shared memory to which the module
//! adds what its backends execute. openssl/common/counters_file.h has the layout and the reasons.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use tenrounds_sys::Backend;

/// A backend that counts, if this process is to be counted; otherwise the same one. Children of
/// fork() share the memory, and the counts survive C_Finalize and the end of the process.
pub fn counted(backend: Backend) -> Backend {
    let path = environment::variable("TENROUNDS_COUNTERS");
    let path = path.and_then(|path| CString::new(path.into_vec()).ok());
    let counted = path.and_then(|path| backend.counted_in_file(&path));
    counted.unwrap_or(backend)
}
