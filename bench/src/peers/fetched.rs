// SPDX-License-Identifier: BSD-2-Clause
//! The libraries of today, in the folder that scripts/peers prints and TENROUNDS_BENCH_PEERS names.
//! They need a newer C library than many systems have, so the measuring processes start with the
//! folder's own dynamic linker.

use crate::answer::Origin;
use libcrypto::library::Library;
use std::path::PathBuf;
use terminal::error::{Error, Result};

const FOLDER: &str = "TENROUNDS_BENCH_PEERS";

fn folder() -> Result<PathBuf> {
    let absent = || Error::absent(format!("{FOLDER} names no folder; use scripts/bench"));
    // scripts/bench sets it to nothing if scripts/peers fails.
    std::env::var_os(FOLDER)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
        .ok_or_else(absent)
}

/// The program that starts a measuring process with these libraries.
pub fn launcher() -> Option<PathBuf> {
    folder().ok().map(|folder| folder.join("run"))
}

/// A file of the folder.
pub fn path(file: &str) -> Result<PathBuf> {
    Ok(folder()?.join(file))
}

pub fn open(file: &str) -> Result<&'static Library> {
    Library::open(path(file)?)
}

/// The version of a library, its day of release and its licence.
pub fn about(id: &str) -> Option<(String, Origin)> {
    let text = std::fs::read_to_string(path("about").ok()?).ok()?;
    let mut lines = text.lines().map(|line| line.split('\t'));
    let mut line = lines.find_map(|mut line| (line.next() == Some(id)).then_some(line))?;
    let mut next = || Some(line.next()?.to_owned());
    let (version, released) = (next()?, next());
    let licence = next();
    Some((version, Origin { released, licence }))
}

/// The same of a library that the folder has.
pub fn known(id: &str) -> Result<(String, Origin)> {
    about(id).ok_or_else(|| Error::absent(format!("the folder of {FOLDER} says nothing of {id}")))
}
