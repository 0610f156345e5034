// SPDX-License-Identifier: BSD-2-Clause
//! Where the provider module lies.

use crate::elf::{self, Elf};
use crate::LibCrypto;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

pub const MODULE: &str = "TENROUNDS_MODULE";
const FILE: &str = "tenrounds.so";

/// The places to look in, in this order: what TENROUNDS_MODULE names, and nothing else; or beside
/// this program, and where libcrypto keeps its modules.
pub fn places(libcrypto: Option<&LibCrypto>) -> Vec<PathBuf> {
    if let Some(path) = environment::variable(MODULE) {
        return vec![PathBuf::from(path)];
    }
    let program = std::env::current_exe().ok();
    let prefix = program.as_deref().and_then(|it| it.parent()?.parent());
    let beside = ["lib", "lib64"].into_iter().filter_map(|folder| {
        let folder = prefix?.join(folder).join("ossl-modules");
        Some(folder.join(FILE))
    });
    let modules = libcrypto
        .and_then(LibCrypto::modules_dir)
        .map(|dir| dir.join(FILE));
    beside.chain(modules).collect()
}

/// The absolute path of the module.
pub fn find(libcrypto: Option<&LibCrypto>) -> Result<PathBuf> {
    let places = places(libcrypto);
    let Some(path) = places.iter().find(|path| path.is_file()) else {
        return Err(missing(&places));
    };
    let path = path
        .canonicalize()
        .map_err(|e| Error::failure(format!("{}: {e}", path.display())))?;
    match damage(&path) {
        None => Ok(path),
        Some(why) => Err(Error::failure(format!(
            "{why}; if it is enabled, 'tenrounds status' says how to disable it"
        ))),
    }
}

/// Says what is wrong with a damaged module, and what to do; None if it is sound.
pub fn damage(path: &Path) -> Option<String> {
    let name = path.display();
    let again =
        "install tenrounds again ('make install', or the package openssl-provider-tenrounds)";
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Some(format!("the provider {name} does not exist; {again}"))
        }
        Err(error) => return Some(format!("the provider {name} cannot be read: {error}")),
    };
    let what = whole(file).err()?;
    Some(format!(
        "the provider {name} is damaged: it {what}; {again}"
    ))
}

/// Reads the module of a provider, or says what it is instead. A truncated module can kill the
/// programs that load it, because the dynamic linker maps pages beyond its end.
pub fn whole(file: File) -> std::result::Result<Elf, String> {
    let cut = file.try_clone().ok().and_then(elf::cut);
    match (cut, Elf::read(file)) {
        (Some((size, whole)), _) => Err(format!(
            "is truncated to {size} of {whole} bytes, and can kill programs that load it (SIGBUS)"
        )),
        (None, None) => Err("is not a complete ELF file".to_owned()),
        (None, Some(elf)) if elf.is_provider => Ok(elf),
        (None, Some(_)) => Err("does not define OSSL_provider_init()".to_owned()),
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
