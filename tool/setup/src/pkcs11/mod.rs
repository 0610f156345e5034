// SPDX-License-Identifier: BSD-2-Clause
//! The PKCS#11 module: where it lies, whether it works, and how a JDK takes it.

pub mod java;
pub mod look;

use std::path::PathBuf;
use terminal::error::{Error, Result};

pub const MODULE: &str = "TENROUNDS_PKCS11";
const FILE: &str = "tenrounds-pkcs11.so";

/// Debian's name of this architecture in paths of libraries.
const MULTIARCH: &str = match () {
    () if cfg!(target_arch = "x86_64") => "x86_64-linux-gnu",
    () if cfg!(target_arch = "x86") => "i386-linux-gnu",
    () if cfg!(target_arch = "aarch64") => "aarch64-linux-gnu",
    () => "unknown-linux-gnu",
};

/// The places to look in, in this order: what TENROUNDS_PKCS11 names, and nothing else; or beside
/// this program, and where distributions keep modules.
pub fn places() -> Vec<PathBuf> {
    if let Some(path) = environment::variable(MODULE) {
        return vec![PathBuf::from(path)];
    }
    let program = std::env::current_exe().ok();
    let prefix = program
        .as_deref()
        .and_then(|program| program.parent()?.parent());
    let beside = prefix.map(|prefix| prefix.join("lib/pkcs11"));
    let debian = PathBuf::from("/usr/lib").join(MULTIARCH).join("pkcs11");
    let usual = ["/usr/lib64/pkcs11", "/usr/local/lib/pkcs11"].map(PathBuf::from);
    let all = beside.into_iter().chain([debian]).chain(usual);
    all.map(|folder| folder.join(FILE)).collect()
}

/// The absolute path of the module.
pub fn find() -> Result<PathBuf> {
    let places = places();
    let Some(path) = places.iter().find(|path| path.is_file()) else {
        let list: Vec<String> = places
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return Err(Error::failure(format!(
            "the PKCS#11 module is missing: looked for {}; install the package tenrounds-pkcs11, or \
             name the module in {MODULE}",
            list.join(", ")
        )));
    };
    path.canonicalize()
        .map_err(|error| Error::failure(format!("{}: {error}", path.display())))
}
