// SPDX-License-Identifier: BSD-2-Clause
//! A backend behind the core's counting table: which code ran, how often, on how many bytes.

use crate::backend::{Backend, Op};
use crate::key::Key;
use crate::raw::tr_backend;
use crate::status::Result;
use catalogue::Mode;
use std::ffi::{c_char, c_uint, c_void, CStr};

extern "C" {
    fn shim_counted_new(below: *const tr_backend) -> *mut c_void;
    fn shim_counted_in_file(below: *const tr_backend, path: *const c_char) -> *const tr_backend;
    fn shim_counted_free(counted: *mut c_void);
    fn shim_counted_backend(counted: *const c_void) -> *const tr_backend;
    fn shim_counted_read(
        counted: *const c_void,
        backend: c_uint,
        op: c_uint,
        calls: *mut u64,
        bytes: *mut u64,
    );
}

/// The counting table with its counters.
pub struct Counted(*mut c_void);

impl Counted {
    pub fn new(below: Backend) -> Counted {
        // SAFETY: the table is the core's.
        let counted = unsafe { shim_counted_new(below.as_ptr()) };
        assert!(!counted.is_null(), "out of memory");
        Counted(counted)
    }

    /// A key whose use is counted here. It borrows the table.
    pub fn key(&self, mode: Mode, raw: &[u8]) -> Result<Key<'_>> {
        // SAFETY: self.0 is valid, and the key does not outlive it.
        unsafe { Key::with_table(mode, shim_counted_backend(self.0), raw) }
    }

    /// Calls and bytes that a backend's code did for an operation.
    pub fn read(&self, backend: Backend, op: Op) -> (u64, u64) {
        let (mut calls, mut bytes) = (0, 0);
        let index = backend.index() as c_uint;
        // SAFETY: the pointers are valid.
        unsafe { shim_counted_read(self.0, index, op.0, &mut calls, &mut bytes) };
        (calls, bytes)
    }
}

impl Backend {
    /// This backend behind a counting table, which counts for the host `pkcs11` in the counters
    /// file at a path (openssl/common/counters_file.h). None if there is no such file, or no
    /// memory. The table lives as long as the process, and so do its counters.
    pub fn counted_in_file(self, path: &CStr) -> Option<Backend> {
        // SAFETY: the table is the core's, and the path ends in a zero byte.
        let table = unsafe { shim_counted_in_file(self.as_ptr(), path.as_ptr()) };
        // SAFETY: a table that lives for ever.
        (!table.is_null()).then(|| unsafe { Backend::of(table) })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        // SAFETY: it came from shim_counted_new(), and no key borrows it any more.
        unsafe { shim_counted_free(self.0) };
    }
}
