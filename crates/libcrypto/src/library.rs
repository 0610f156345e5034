// SPDX-License-Identifier: BSD-2-Clause
//! Shared libraries that are opened at run time, each with names of its own (RTLD_LOCAL), so that
//! several versions of one library can be in the process. They stay open to its end.

use libloading::os::unix::{self, RTLD_LOCAL, RTLD_NOW};
use std::ffi::{c_void, CStr, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

pub struct Library {
    library: unix::Library,
    name: OsString,
}

impl Library {
    /// Opens a library by its path, or by its soname where the dynamic linker looks.
    pub fn open(name: impl AsRef<OsStr>) -> Result<&'static Library> {
        let name = name.as_ref();
        // SAFETY: its initialisers run; they are those of a library that is made to be loaded.
        let library = unsafe { unix::Library::open(Some(name), RTLD_NOW | RTLD_LOCAL) }
            .map_err(|error| Error::absent(error.to_string()))?;
        Ok(Box::leak(Box::new(Library {
            library,
            name: name.to_owned(),
        })))
    }

    /// A function, or the address of data.
    ///
    /// # Safety
    /// T is a pointer to what the library's header declares under this name.
    pub unsafe fn symbol<T: Copy>(&'static self, name: &str) -> Result<T> {
        // SAFETY: the caller vouches for T, and the library is never closed.
        let symbol = unsafe { self.library.get::<T>(name.as_bytes()) };
        symbol.map(|symbol| *symbol).map_err(|_| {
            let library = Path::new(&self.name).display();
            Error::absent(format!("{library} has no function {name}"))
        })
    }

    /// The file that a function of it came from, without symbolic links.
    pub fn file(&'static self, function: &str) -> Result<PathBuf> {
        // SAFETY: only the address is used.
        let address: *const c_void = unsafe { self.symbol(function) }?;
        file_of(address as usize)
            .and_then(|file| file.canonicalize().ok())
            .ok_or_else(|| Error::absent(format!("no file has the function {function}")))
    }
}

/// The file that a loaded function came from.
pub fn file_of(address: usize) -> Option<PathBuf> {
    // SAFETY: all zeros is a valid Dl_info.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: info is valid; any address is allowed.
    if unsafe { libc::dladdr(address as *const c_void, &mut info) } == 0 || info.dli_fname.is_null()
    {
        return None;
    }
    // SAFETY: dladdr() has set it to a C string.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Declares a structure of the functions of a C library, under their own names, and `load()`, which
/// finds them all. The declarations must be those of the library's header.
#[macro_export]
macro_rules! functions {
    ($(#[$meta:meta])* $name:ident { $(fn $function:ident($($argument:ty),* $(,)?) $(-> $result:ty)?;)* }) => {
        $(#[$meta])*
        #[allow(non_snake_case)]
        #[derive(Clone, Copy)]
        pub struct $name { $(pub $function: unsafe extern "C" fn($($argument),*) $(-> $result)?),* }
        impl $name {
            pub fn load(library: &'static $crate::library::Library) -> terminal::error::Result<$name> {
                // SAFETY: the types are those of the library's header.
                Ok($name { $($function: unsafe { library.symbol(stringify!($function)) }?),* })
            }
        }
    };
}
