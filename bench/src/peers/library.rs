// SPDX-License-Identifier: BSD-2-Clause
//! Shared libraries that are opened at run time, each with names of its own (RTLD_LOCAL), so that several
//! versions of one library can be in the process. They stay open to its end.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_void, CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

pub struct Shared {
    library: Library,
    name: OsString,
}

impl Shared {
    /// Opens a library by its path, or by its soname where the dynamic linker looks.
    pub fn open(name: impl AsRef<OsStr>) -> Result<&'static Shared> {
        let name = name.as_ref();
        // SAFETY: its initialisers run; they are those of a library that is made to be loaded.
        let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|e| Error::absent(format!("cannot be opened: {e}")))?;
        Ok(Box::leak(Box::new(Shared {
            library,
            name: name.to_owned(),
        })))
    }

    /// A function; T is its type, for which the caller vouches.
    pub fn symbol<T: Copy>(&'static self, name: &str) -> Result<T> {
        // SAFETY: the library is never closed; T is a pointer to a function, as the caller vouches.
        unsafe { self.library.get::<T>(name.as_bytes()) }
            .map(|symbol| *symbol)
            .map_err(|_| {
                Error::absent(format!("{} has no {name}", Path::new(&self.name).display()))
            })
    }

    /// The file that a function of it came from.
    pub fn file(&'static self, function: &str) -> Result<PathBuf> {
        let address: *const c_void = self.symbol(function)?;
        file_of(address)
            .ok_or_else(|| Error::absent(format!("no file has the function {function}")))
    }
}

/// The file that a loaded function came from, without symbolic links.
pub fn file_of(address: *const c_void) -> Option<PathBuf> {
    // SAFETY: dladdr() takes any address, and fills in the structure if it returns non-zero; dli_fname is then a C string.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(address, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    std::fs::canonicalize(OsStr::from_bytes(name.to_bytes())).ok()
}

/// A structure of the functions of a C library, under their own names, and `load()`, which finds them all.
macro_rules! functions {
    ($(#[$meta:meta])* $name:ident { $(fn $function:ident($($argument:ty),* $(,)?) $(-> $result:ty)?;)* }) => {
        $(#[$meta])*
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub struct $name { $(pub $function: unsafe extern "C" fn($($argument),*) $(-> $result)?),* }
        impl $name {
            fn load(library: &'static $crate::peers::library::Shared) -> terminal::error::Result<$name> {
                Ok($name { $($function: library.symbol(stringify!($function))?),* })
            }
        }
    };
}
pub(crate) use functions;
