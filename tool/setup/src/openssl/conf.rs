// SPDX-License-Identifier: BSD-2-Clause
//! libcrypto's own parser of configuration files.

use libcrypto::functions::{ConfValue, Ptr};
use libcrypto::{string, LibCrypto};
use std::ffi::{c_long, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use terminal::error::{Error, Result};

/// Why libcrypto cannot parse a configuration file.
#[derive(Debug)]
pub struct Refusal {
    /// The line, counted through the files that the configuration includes; 0: none in particular.
    pub line: usize,
    pub said: String,
}

/// A configuration file as libcrypto itself reads it.
pub struct Conf<'a> {
    libcrypto: &'a LibCrypto,
    conf: Ptr,
}

impl<'a> Conf<'a> {
    /// Parses a file.
    pub fn load(libcrypto: &'a LibCrypto, file: &Path) -> std::result::Result<Conf<'a>, Refusal> {
        let mut line = 0;
        Conf::parse(libcrypto, file, &mut line).map_err(|error| {
            // libcrypto repeats the line in its own words.
            let said = error.to_string();
            let said = said.replace(&format!("line {line})"), ")");
            Refusal {
                line: usize::try_from(line).unwrap_or(0),
                said: said.replace(" ()", ""),
            }
        })
    }

    fn parse(libcrypto: &'a LibCrypto, file: &Path, line: &mut c_long) -> Result<Conf<'a>> {
        libcrypto.init_without_config()?;
        let f = &libcrypto.functions;
        let name = CString::new(file.as_os_str().as_bytes())
            .map_err(|_| Error::failure("a zero byte in the name"))?;
        let conf = Conf {
            libcrypto,
            // SAFETY: NULL stands for the default method.
            conf: unsafe { (f.NCONF_new)(std::ptr::null()) },
        };
        if conf.conf.is_null() {
            return Err(Error::failure("out of memory"));
        }
        // SAFETY: the configuration is new, and the name is a C string.
        match unsafe { (f.NCONF_load)(conf.conf, name.as_ptr(), line) } {
            1 => Ok(conf),
            _ => Err(Error::failure(libcrypto.take_error())),
        }
    }

    /// The names and values of a section in order; None if there is no such section.
    pub fn section(&self, section: &str) -> Option<Vec<(String, String)>> {
        let f = &self.libcrypto.functions;
        let name = CString::new(section).ok()?;
        // SAFETY: the configuration lives, and the name is a C string.
        let stack = unsafe { (f.NCONF_get_section)(self.conf, name.as_ptr()) };
        if stack.is_null() {
            self.libcrypto.take_error();
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

impl Drop for Conf<'_> {
    fn drop(&mut self) {
        // SAFETY: this value owns the configuration, which may be NULL; nothing uses it later.
        unsafe { (self.libcrypto.functions.NCONF_free)(self.conf) }
    }
}
