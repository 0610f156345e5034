// SPDX-License-Identifier: BSD-2-Clause
//! libcrypto's own parser of configuration files.

use libcrypto::{string, LibCrypto};
use std::ffi::{c_char, c_int, c_long, c_void, CString};
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
    conf: *mut c_void,
}

#[repr(C)]
struct ConfValue {
    section: *mut c_char,
    name: *mut c_char,
    value: *mut c_char,
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
        let new: extern "C" fn(*const c_void) -> *mut c_void = libcrypto.symbol("NCONF_new")?;
        let load: extern "C" fn(*mut c_void, *const c_char, *mut c_long) -> c_int =
            libcrypto.symbol("NCONF_load")?;
        let name = CString::new(file.as_os_str().as_bytes())
            .map_err(|_| Error::failure("a zero byte in the name"))?;
        let conf = Conf {
            libcrypto,
            conf: new(std::ptr::null()),
        };
        if conf.conf.is_null() {
            return Err(Error::failure("out of memory"));
        }
        match load(conf.conf, name.as_ptr(), line) {
            1 => Ok(conf),
            _ => Err(Error::failure(libcrypto.take_error())),
        }
    }

    /// The names and values of a section in order; None if there is no such section.
    pub fn section(&self, section: &str) -> Option<Vec<(String, String)>> {
        let get: extern "C" fn(*const c_void, *const c_char) -> *const c_void =
            self.libcrypto.symbol("NCONF_get_section").ok()?;
        let count: extern "C" fn(*const c_void) -> c_int =
            self.libcrypto.symbol("OPENSSL_sk_num").ok()?;
        let value: extern "C" fn(*const c_void, c_int) -> *const ConfValue =
            self.libcrypto.symbol("OPENSSL_sk_value").ok()?;
        let name = CString::new(section).ok()?;
        let stack = get(self.conf, name.as_ptr());
        if stack.is_null() {
            self.libcrypto.take_error();
            return None;
        }
        let entry = |i| {
            // SAFETY: the stack has this element, whose strings live as long as the configuration.
            unsafe {
                let entry = &*value(stack, i);
                Some((string(entry.name)?, string(entry.value).unwrap_or_default()))
            }
        };
        Some((0..count(stack)).filter_map(entry).collect())
    }
}

impl Drop for Conf<'_> {
    fn drop(&mut self) {
        if let Ok(free) = self
            .libcrypto
            .symbol::<extern "C" fn(*mut c_void)>("NCONF_free")
        {
            free(self.conf);
        }
    }
}
