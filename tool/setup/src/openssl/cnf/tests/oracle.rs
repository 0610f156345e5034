// SPDX-License-Identifier: BSD-2-Clause
//! libcrypto's own parser of configuration files, which the reader has to agree with.

use libcrypto::functions::Ptr;
use libcrypto::{string, LibCrypto};
use std::ffi::{c_char, c_int, c_long, c_void, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

libcrypto::functions! {
    /// include/openssl/conf.h, stack.h
    Functions {
        fn NCONF_new(*const c_void) -> Ptr;
        fn NCONF_load(Ptr, *const c_char, *mut c_long) -> c_int;
        fn NCONF_get_section(Ptr, *const c_char) -> Ptr;
        fn NCONF_free(Ptr);
        fn OPENSSL_sk_num(Ptr) -> c_int;
        fn OPENSSL_sk_value(Ptr, c_int) -> Ptr;
    }
}

/// CONF_VALUE of include/openssl/conf.h.
#[repr(C)]
struct ConfValue {
    section: *mut c_char,
    name: *mut c_char,
    value: *mut c_char,
}

/// A configuration file as libcrypto itself reads it.
pub struct Conf {
    functions: Functions,
    conf: Ptr,
}

impl Conf {
    /// Parses a file. The error is libcrypto's.
    pub fn load(libcrypto: &LibCrypto, file: &Path) -> Result<Conf, String> {
        libcrypto.init_without_config().unwrap();
        let functions = Functions::load(libcrypto.library).unwrap();
        let name = CString::new(file.as_os_str().as_bytes()).unwrap();
        let conf = Conf {
            // SAFETY: NULL stands for the default method.
            conf: unsafe { (functions.NCONF_new)(null()) },
            functions,
        };
        assert!(!conf.conf.is_null());
        // SAFETY: the configuration is new, and the name is a C string; NULL asks for no number.
        match unsafe { (functions.NCONF_load)(conf.conf, name.as_ptr(), null_mut()) } {
            1 => Ok(conf),
            _ => Err(libcrypto.take_error()),
        }
    }

    /// The names and values of a section in order; None if there is no such section.
    pub fn section(&self, section: &str) -> Option<Vec<(String, String)>> {
        let f = &self.functions;
        let name = CString::new(section).ok()?;
        // SAFETY: the configuration lives, and the name is a C string.
        let stack = unsafe { (f.NCONF_get_section)(self.conf, name.as_ptr()) };
        if stack.is_null() {
            return None;
        }
        let entry = |i| {
            // SAFETY: the stack has this element, whose strings live as long as the configuration.
            unsafe {
                let entry = &*(f.OPENSSL_sk_value)(stack, i).cast::<ConfValue>();
                Some((string(entry.name)?, string(entry.value).unwrap_or_default()))
            }
        };
        // SAFETY: it is a stack.
        let count = unsafe { (f.OPENSSL_sk_num)(stack) };
        Some((0..count).filter_map(entry).collect())
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        // SAFETY: this value owns the configuration, and nothing uses it later.
        unsafe { (self.functions.NCONF_free)(self.conf) }
    }
}
