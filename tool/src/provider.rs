// SPDX-License-Identifier: BSD-2-Clause
//! Where the provider module lies.

use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use std::path::PathBuf;

pub const MODULE: &str = "TENROUNDS_MODULE";
const FILE: &str = "tenrounds.so";

/// The places to look in, in this order: what TENROUNDS_MODULE names, and nothing else; or beside this
/// program, and where libcrypto keeps its modules.
pub fn places(libcrypto: Option<&LibCrypto>) -> Vec<PathBuf> {
    if let Some(path) = std::env::var_os(MODULE) {
        return vec![PathBuf::from(path)];
    }
    let program = std::env::current_exe().ok();
    let beside = program
        .as_deref()
        .and_then(|program| program.parent()?.parent())
        .map(|prefix| prefix.join("lib/ossl-modules").join(FILE));
    let modules = libcrypto
        .and_then(LibCrypto::modules_dir)
        .map(|dir| dir.join(FILE));
    beside.into_iter().chain(modules).collect()
}

/// The absolute path of the module.
pub fn find(libcrypto: Option<&LibCrypto>) -> Result<PathBuf> {
    let places = places(libcrypto);
    match places.iter().find(|path| path.is_file()) {
        Some(path) => path
            .canonicalize()
            .map_err(|e| Error::failure(format!("{}: {e}", path.display()))),
        None => Err(missing(&places)),
    }
}

fn missing(places: &[PathBuf]) -> Error {
    let list: Vec<String> = places
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Error::failure(format!(
        "the provider is missing: looked for {}; build it with 'make', or name it in {MODULE}",
        list.join(" and ")
    ))
}
