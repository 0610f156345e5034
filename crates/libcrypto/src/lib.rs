// SPDX-License-Identifier: BSD-2-Clause
//! The system's libcrypto, opened at run time: its version and its masks (here), what is called in
//! it (`functions`) and timed (`evp`), the provider module (`module`), and what ELF files say about
//! the cryptography in them (`elf`). `library` opens other libraries in the same way.

pub mod elf;
pub mod evp;
pub mod functions;
pub mod library;
pub mod module;

use functions::{Functions, Ptr};
use library::{file_of, Library};
use std::ffi::{c_char, c_int, c_ulong, CStr, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
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
    pub library: &'static Library,
    pub functions: Functions,
    /// Where the dynamic loader found it.
    pub path: PathBuf,
}

impl LibCrypto {
    /// Opens the system's libcrypto, or the one that TENROUNDS_LIBCRYPTO names.
    pub fn open() -> Result<LibCrypto> {
        let names: Vec<OsString> = match environment::variable("TENROUNDS_LIBCRYPTO") {
            Some(path) => vec![path],
            None => SONAMES.iter().map(OsString::from).collect(),
        };
        let mut reasons = Vec::new();
        for name in &names {
            match Library::open(name) {
                Ok(library) => return LibCrypto::of(library, name),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(Error::failure(format!(
            "found no OpenSSL 3 or later ({}); install libssl3, or name it in TENROUNDS_LIBCRYPTO",
            reasons.join("; ")
        )))
    }

    /// Opens the libcrypto of that name or path.
    pub fn open_as(name: impl AsRef<OsStr>) -> Result<LibCrypto> {
        LibCrypto::of(Library::open(&name)?, name.as_ref())
    }

    fn of(library: &'static Library, name: &OsStr) -> Result<LibCrypto> {
        // SAFETY: OPENSSL_version_major() takes nothing.
        let major = unsafe { library.symbol::<extern "C" fn() -> u32>("OPENSSL_version_major") };
        let name = Path::new(name);
        let major = major.map_err(|_| {
            Error::failure(format!(
                "{} is older than OpenSSL 3 and knows no providers; name a newer one in TENROUNDS_LIBCRYPTO",
                name.display()
            ))
        })?;
        Ok(LibCrypto {
            library,
            functions: Functions::load(library)?,
            path: file_of(major as usize).unwrap_or_else(|| name.to_owned()),
        })
    }

    /// Initialises libcrypto without reading any configuration.
    pub fn init_without_config(&self) -> Result<()> {
        // SAFETY: with these arguments it may be called at any time.
        match unsafe { (self.functions.OPENSSL_init_crypto)(OPENSSL_INIT_NO_LOAD_CONFIG, null()) } {
            1 => Ok(()),
            _ => Err(Error::failure(format!(
                "{} does not initialise",
                self.path.display()
            ))),
        }
    }

    /// Loads a provider by name; the error is what libcrypto says.
    pub fn load_provider(&self, name: &CStr) -> Result<Ptr> {
        // SAFETY: the name is a C string, and NULL stands for the default library context.
        match unsafe { (self.functions.OSSL_PROVIDER_load)(null_mut(), name.as_ptr()) } {
            provider if provider.is_null() => Err(Error::failure(format!(
                "OpenSSL does not load the provider {name:?}: {}",
                self.take_error()
            ))),
            provider => Ok(provider),
        }
    }

    fn info(&self, which: c_int) -> Option<String> {
        // SAFETY: OPENSSL_info() takes any number, and returns a C string or NULL.
        unsafe { string((self.functions.OPENSSL_info)(which)) }
    }

    /// "OpenSSL 3.0.22 25 Aug 2026".
    pub fn version(&self) -> String {
        // SAFETY: OpenSSL_version() takes any number, and returns a C string.
        let version = unsafe { string((self.functions.OpenSSL_version)(OPENSSL_VERSION)) };
        version.unwrap_or_default()
    }

    /// "OpenSSL 3.0.22".
    pub fn short_version(&self) -> String {
        let version = self.version();
        version.split(' ').take(2).collect::<Vec<_>>().join(" ")
    }

    /// "3.0.22", as it calls itself.
    pub fn number(&self) -> String {
        let version = self.version();
        version.split(' ').nth(1).unwrap_or("?").to_owned()
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
        let f = &self.functions;
        let mut data = null();
        // SAFETY: the first function accepts NULL, and writes only to data; what it writes there is
        // a C string or NULL, and so is what the second one returns.
        let (code, reason, data) = unsafe {
            let code =
                (f.ERR_get_error_all)(null_mut(), null_mut(), null_mut(), &mut data, null_mut());
            (
                code,
                string((f.ERR_reason_error_string)(code)),
                string(data),
            )
        };
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
        // SAFETY: ERR_clear_error() takes nothing.
        unsafe { (f.ERR_clear_error)() };
        message
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The system's libcrypto, if there is one.
    fn libcrypto() -> Option<LibCrypto> {
        LibCrypto::open_as("libcrypto.so.3").ok()
    }

    #[test]
    fn what_libcrypto_says_of_itself() {
        let Some(libcrypto) = libcrypto() else {
            return;
        };
        let version = libcrypto.version();
        let words: Vec<&str> = version.split(' ').collect();
        assert!(words.len() >= 5 && words[0] == "OpenSSL", "{version}");
        assert_eq!(libcrypto.short_version(), format!("OpenSSL {}", words[1]));
        assert_eq!(libcrypto.number(), words[1]);
        let name = libcrypto.path.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("libcrypto.so"), "{name}");
        let modules = libcrypto.modules_dir().unwrap();
        assert!(modules.ends_with("ossl-modules"), "{}", modules.display());
        let config = libcrypto.config_dir().unwrap();
        assert!(
            config.is_absolute() && config != modules,
            "{}",
            config.display()
        );
        if cfg!(target_arch = "x86_64") {
            let settings = libcrypto.cpu_settings().unwrap();
            assert!(settings.starts_with("OPENSSL_ia32cap="), "{settings}");
        }
    }

    #[test]
    fn errors_are_told_and_forgotten() {
        let Some(libcrypto) = libcrypto() else {
            return;
        };
        libcrypto.init_without_config().unwrap();
        let missing = c"tenrounds-no-such-provider";
        let error = libcrypto.load_provider(missing).unwrap_err().to_string();
        assert!(error.contains("does not load the provider"), "{error}");
        // OpenSSL names the file that it looked for.
        assert!(error.contains("tenrounds-no-such-provider.so"), "{error}");
        assert_eq!(libcrypto.take_error(), "error 0x0");
        // A system error has the text of its number (ERR_SYSTEM_FLAG of include/openssl/err.h).
        let Ok(file) = libcrypto.library.file("ERR_new") else {
            return;
        };
        assert!(file.is_file());
        type SetError = unsafe extern "C" fn(c_int, c_int, *const c_char);
        // SAFETY: the types are those of include/openssl/err.h; NULL is no data.
        unsafe {
            let new = libcrypto
                .library
                .symbol::<unsafe extern "C" fn()>("ERR_new");
            let set = libcrypto.library.symbol::<SetError>("ERR_set_error");
            new.unwrap()();
            // ERR_LIB_SYS is 2: the reason is errno, here ENOENT.
            set.unwrap()(2, 2, null());
        }
        let error = libcrypto.take_error();
        assert!(error.to_lowercase().contains("no such file"), "{error}");
    }

    #[test]
    fn libraries_that_are_not_libcrypto() {
        let error = |name: &str| {
            LibCrypto::open_as(name)
                .map(|_| ())
                .unwrap_err()
                .to_string()
        };
        assert!(error("libc.so.6").contains("is older than OpenSSL 3"));
        assert!(error("libtenrounds-no-such.so").contains("libtenrounds-no-such.so"));
        // SAFETY: NULL and a C string.
        let strings = unsafe { [string(null()), string(c"x".as_ptr())] };
        assert_eq!(strings, [None, Some("x".to_owned())]);
        assert_eq!(library::file_of(0), None);
        assert!(library::file_of(libc::getpid as *const () as usize).is_some());
    }
}
