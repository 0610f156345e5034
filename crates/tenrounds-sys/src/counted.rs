// SPDX-License-Identifier: BSD-2-Clause
//! A backend behind the core's counting table: which code ran, how often, on how many bytes.

use crate::backend::{Backend, Op};
use crate::key::Key;
use crate::raw::tr_backend;
use crate::status::Result;
use catalogue::Mode;
use std::ffi::{c_uint, c_void};

extern "C" {
    fn shim_counted_new(below: *const tr_backend) -> *mut c_void;
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

impl Drop for Counted {
    fn drop(&mut self) {
        // SAFETY: it came from shim_counted_new(), and no key borrows it any more.
        unsafe { shim_counted_free(self.0) };
    }
}
