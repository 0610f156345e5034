// SPDX-License-Identifier: BSD-2-Clause
//! Whether a PKCS#11 module loads and can be initialised: found out in a child process.

use base::limited;
use cryptoki_sys::*;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::ptr::null_mut;
use std::time::Duration;
use terminal::error::{Error, Result};

/// A module loads in milliseconds, its known-answer tests included.
const LIMIT: Duration = Duration::from_secs(10);

/// What the child saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The model of the first slot's token, which names the backend.
    pub model: String,
}

type GetFunctionList = unsafe extern "C" fn(*mut *mut CK_FUNCTION_LIST) -> CK_RV;

/// Calls a function of the list.
macro_rules! call {
    ($list:expr, $name:ident($($argument:expr),*)) => {{
        let function = $list.$name.ok_or_else(|| {
            Error::failure(concat!("it has no ", stringify!($name)))
        })?;
        // SAFETY: the arguments are valid, and the function is Cryptoki's.
        match unsafe { function($($argument),*) } {
            CKR_OK => Ok(()),
            code => Err(Error::failure(format!(
                concat!(stringify!($name), " returns {:#x}"), code
            ))),
        }
    }};
}

/// Looks, in this process.
pub fn look(path: &Path) -> Result<Seen> {
    // SAFETY: the caller has chosen the module; its constructors run.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(Error::from_reason)?;
    // SAFETY: the standard gives the function this type.
    let get = unsafe { library.get::<GetFunctionList>(b"C_GetFunctionList\0") };
    let get = get.map_err(Error::from_reason)?;
    let mut list = null_mut();
    // SAFETY: the pointer is valid.
    let code = unsafe { get(&mut list) };
    // SAFETY: the function returns a constant list, or nothing.
    let list = unsafe { list.as_ref() };
    let list = list
        .filter(|_| code == CKR_OK)
        .ok_or_else(|| Error::failure(format!("C_GetFunctionList returns {code:#x}")))?;
    call!(list, C_Initialize(null_mut()))?;
    let (mut slots, mut count) = ([0; 64], 64);
    call!(list, C_GetSlotList(CK_TRUE, slots.as_mut_ptr(), &mut count))?;
    // SAFETY: the struct is of numbers and bytes.
    let mut info: CK_TOKEN_INFO = unsafe { std::mem::zeroed() };
    call!(list, C_GetTokenInfo(slots[0], &mut info))?;
    call!(list, C_Finalize(null_mut()))?;
    Ok(Seen {
        model: String::from_utf8_lossy(&info.model).trim().to_owned(),
    })
}

/// Has a child look.
pub fn ask(path: &Path) -> Result<Seen> {
    let failed = |why: String| Error::failure(format!("it could not be tried: {why}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut probe = Command::new(program);
    probe.args([
        OsStr::new("probe"),
        OsStr::new("--pkcs11"),
        path.as_os_str(),
    ]);
    let output = limited::run(probe, b"", LIMIT).map_err(failed)?;
    if !output.success {
        let said = output.err.trim().trim_start_matches("tenrounds: ");
        return Err(match said {
            "" => failed(output.status),
            said => Error::failure(said),
        });
    }
    serde_json::from_slice(&output.raw).map_err(|error| failed(error.to_string()))
}
