// SPDX-License-Identifier: BSD-2-Clause
//! The operations of one build of the core: the structures of bench/paired/ops.h.

use libcrypto::library::Library;
use std::ffi::{c_char, c_uint, c_void, CStr};
use terminal::error::{Error, Result};

/// PAIRED_TAG
pub const TAG: usize = 16;

#[repr(C)]
pub struct Op {
    name: *const c_char,
    streams: c_uint,
    whole_blocks: bool,
    pub prepare: unsafe extern "C" fn(*mut c_void, *const c_char, usize, *mut u8, usize),
    pub run: unsafe extern "C" fn(*mut c_void, *mut u8, *const u8, usize, usize),
}

impl Op {
    pub fn name(&self) -> &str {
        // SAFETY: the name is a C string.
        let name = unsafe { CStr::from_ptr(self.name) };
        name.to_str().expect("names are ASCII")
    }

    /// The messages of a call.
    pub fn streams(&self) -> usize {
        self.streams as usize
    }

    /// The length of each message.
    pub fn length(&self, bytes: usize) -> usize {
        match self.whole_blocks {
            true => bytes / 16 * 16,
            false => bytes,
        }
    }
}

#[repr(C)]
pub struct Build {
    pub state_size: usize,
    count: c_uint,
    ops: *const Op,
    usable: unsafe extern "C" fn(*const c_char) -> bool,
}

impl Build {
    /// Loads a shared object.
    pub fn open(file: &str) -> Result<&'static Build> {
        let named = |why: Error| Error::failure(format!("{file}: {why}"));
        let library = Library::open(file).map_err(named)?;
        // SAFETY: scripts/bench-commits compiled the object with ops.h; it stays loaded.
        unsafe {
            let build: *const Build = library.symbol("paired_ops").map_err(named)?;
            Ok(&*build)
        }
    }

    pub fn ops(&self) -> &[Op] {
        // SAFETY: ops.c sets the number of its table's rows.
        unsafe { std::slice::from_raw_parts(self.ops, self.count as usize) }
    }

    pub fn op(&self, name: &str) -> Option<&Op> {
        self.ops().iter().find(|op| op.name() == name)
    }

    /// Whether this build has the backend, and this processor its features.
    pub fn usable(&self, backend: &CStr) -> bool {
        // SAFETY: the function takes any C string.
        unsafe { (self.usable)(backend.as_ptr()) }
    }
}
