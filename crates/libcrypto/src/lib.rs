// SPDX-License-Identifier: BSD-2-Clause
//! The system's libcrypto, opened at run time: its version and its masks (here), the provider module
//! (`module`), and what ELF files say about the cryptography in them (`elf`).

pub mod elf;
pub mod module;

use libloading::Library;
use std::ffi::{c_char, c_int, c_ulong, c_void, CStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The names under which OpenSSL 3 and later is installed, the most usual first.
const SONAMES: [&str; 3] = ["libcrypto.so.3", "libcrypto.so.4", "libcrypto.so"];

// include/openssl/crypto.h
const OPENSSL_VERSION: c_int = 0;
const OPENSSL_INFO_CONFIG_DIR: c_int = 1001;
const OPENSSL_INFO_MODULES_DIR: c_int = 1003;
const OPENSSL_INFO_CPU_SETTINGS: c_int = 1008;
const OPENSSL_INIT_NO_LOAD_CONFIG: u64 = 0x80;
// include/openssl/err.h, ERR_SYSTEM_FLAG: with this bit the rest of an error is errno.
const SYSTEM_ERROR: c_ulong = 1 << 31;

/// An opened libcrypto.
pub struct LibCrypto {
    library: Library,
    /// Where the dynamic loader found it.
    pub path: PathBuf,
}

impl LibCrypto {
    /// Opens the system's libcrypto, or the one that TENROUNDS_LIBCRYPTO names.
    pub fn open() -> Result<LibCrypto> {
        let names: Vec<OsString> = match std::env::var_os("TENROUNDS_LIBCRYPTO") {
            Some(path) => vec![path],
            None => SONAMES.iter().map(OsString::from).collect(),
        };
        let mut reasons = Vec::new();
        for name in &names {
            // SAFETY: libcrypto's initialisation has no requirements.
            match unsafe { Library::new(name) } {
                Ok(library) => return LibCrypto::checked(library, Path::new(name)),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(Error::failure(format!(
            "found no OpenSSL 3 or later ({}); install libssl3, or name it in TENROUNDS_LIBCRYPTO",
            reasons.join("; ")
        )))
    }

    fn checked(library: Library, name: &Path) -> Result<LibCrypto> {
        let mut opened = LibCrypto {
            library,
            path: name.to_owned(),
        };
        let major: extern "C" fn() -> u32 = opened.symbol("OPENSSL_version_major").map_err(|_| {
            Error::failure(format!(
                "{} is older than OpenSSL 3 and knows no providers; name a newer one in TENROUNDS_LIBCRYPTO",
                name.display()
            ))
        })?;
        if let Some(path) = file_of(major as *const c_void) {
            opened.path = path;
        }
        Ok(opened)
    }

    /// A function of libcrypto. T is its type, an `extern "C" fn`, as OpenSSL's headers declare it.
    pub fn symbol<T: Copy>(&self, name: &str) -> Result<T> {
        // SAFETY: the caller names the type of the header. The library stays loaded.
        unsafe { self.library.get::<T>(name.as_bytes()) }
            .map(|symbol| *symbol)
            .map_err(|_| Error::failure(format!("{} has no function {name}", self.path.display())))
    }

    /// Initialises libcrypto without reading any configuration.
    pub fn init_without_config(&self) -> Result<()> {
        let init: extern "C" fn(u64, *const c_void) -> c_int =
            self.symbol("OPENSSL_init_crypto")?;
        match init(OPENSSL_INIT_NO_LOAD_CONFIG, std::ptr::null()) {
            1 => Ok(()),
            _ => Err(Error::failure(format!(
                "{} does not initialise",
                self.path.display()
            ))),
        }
    }

    fn version_text(&self, which: c_int) -> String {
        match self.symbol::<extern "C" fn(c_int) -> *const c_char>("OpenSSL_version") {
            // SAFETY: OpenSSL_version() returns a C string.
            Ok(version) => unsafe { string(version(which)) }.unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    fn info(&self, which: c_int) -> Option<String> {
        let info: extern "C" fn(c_int) -> *const c_char = self.symbol("OPENSSL_info").ok()?;
        // SAFETY: OPENSSL_info() returns a C string or NULL.
        unsafe { string(info(which)) }
    }

    /// "OpenSSL 3.0.22 25 Aug 2026".
    pub fn version(&self) -> String {
        self.version_text(OPENSSL_VERSION)
    }

    /// "OpenSSL 3.0.22".
    pub fn short_version(&self) -> String {
        let version = self.version();
        version.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }

    /// What it knows about the processor, "OPENSSL_ia32cap=0x...:0x..." and, if set, " env:...".
    pub fn cpu_settings(&self) -> Option<String> {
        self.info(OPENSSL_INFO_CPU_SETTINGS)
    }

    /// The directory of openssl.cnf.
    pub fn config_dir(&self) -> Option<PathBuf> {
        self.info(OPENSSL_INFO_CONFIG_DIR).map(PathBuf::from)
    }

    /// The directory of its provider modules.
    pub fn modules_dir(&self) -> Option<PathBuf> {
        self.info(OPENSSL_INFO_MODULES_DIR).map(PathBuf::from)
    }

    /// The text of the oldest error in its queue, which is then emptied.
    pub fn take_error(&self) -> String {
        self.take_error_text()
            .unwrap_or_else(|_| "unknown error".to_owned())
    }

    fn take_error_text(&self) -> Result<String> {
        type GetErrorAll = unsafe extern "C" fn(
            *mut *const c_char,
            *mut c_int,
            *mut *const c_char,
            *mut *const c_char,
            *mut c_int,
        ) -> c_ulong;
        let get: GetErrorAll = self.symbol("ERR_get_error_all")?;
        let reason: extern "C" fn(c_ulong) -> *const c_char =
            self.symbol("ERR_reason_error_string")?;
        let clear: extern "C" fn() = self.symbol("ERR_clear_error")?;
        let mut data = std::ptr::null();
        // SAFETY: the function accepts NULL, and writes only to data.
        let code = unsafe {
            use std::ptr::null_mut;
            get(null_mut(), null_mut(), null_mut(), &mut data, null_mut())
        };
        // SAFETY: ERR_reason_error_string() returns a C string or NULL; so is data.
        let (reason, data) = unsafe { (string(reason(code)), string(data)) };
        let reason = match reason {
            Some(reason) => reason,
            None if code & SYSTEM_ERROR != 0 => {
                std::io::Error::from_raw_os_error((code & !SYSTEM_ERROR) as i32).to_string()
            }
            None => format!("error {code:#x}"),
        };
        let message = match data.filter(|d| !d.is_empty()) {
            Some(data) => format!("{reason} ({data})"),
            None => reason,
        };
        clear();
        Ok(message)
    }
}

/// A C string of libcrypto; None for NULL.
///
/// # Safety
/// The pointer is NULL or a C string.
pub unsafe fn string(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    Some(
        // SAFETY: the caller passes a C string.
        unsafe { CStr::from_ptr(pointer) }
            .to_string_lossy()
            .into_owned(),
    )
}

/// The file that a loaded function came from.
fn file_of(address: *const c_void) -> Option<PathBuf> {
    // SAFETY: all zeros is a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: info is valid; any address is allowed.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr() has set it to a C string.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())))
}
