// SPDX-License-Identifier: BSD-2-Clause
//! A private directory for generated files.

use crate::error::{Error, Result};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How long a file has to last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as the user is logged in.
    Session,
    /// Until somebody deletes it.
    Persistent,
}

/// Where to try, best first. Under sudo these variables may still lead to the caller's directories,
/// which are left alone.
fn candidates(lifetime: Lifetime) -> Vec<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let runtime = absolute("XDG_RUNTIME_DIR").filter(|_| lifetime == Lifetime::Session);
    let home_cache = || absolute("HOME").map(|home| home.join(".cache"));
    let cache = absolute("XDG_CACHE_HOME").or_else(home_cache);
    let temporary = absolute("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
    let temporary = temporary.join(format!("tenrounds-{}", user()));
    let own = [runtime, cache]
        .into_iter()
        .flatten()
        .filter(|dir| is_mine(dir));
    own.map(|dir| dir.join("tenrounds"))
        .chain(std::iter::once(temporary))
        .collect()
}

fn user() -> u32 {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether the directory, or where it would be created, belongs to this user.
fn is_mine(dir: &Path) -> bool {
    let nearest = dir.ancestors().find_map(|dir| fs::metadata(dir).ok());
    nearest.is_some_and(|meta| meta.uid() == user())
}

/// Writes a file named after its content, and returns its path. Nobody else can write there.
pub fn put(lifetime: Lifetime, prefix: &str, suffix: &str, content: &[u8]) -> Result<PathBuf> {
    let name = format!("{prefix}-{:016x}{suffix}", hash(content));
    in_directory(lifetime, |dir| {
        let path = dir.join(&name);
        if fs::read(&path).is_ok_and(|old| old == content) {
            return Ok(path);
        }
        let temporary = dir.join(format!(".{name}.{}", std::process::id()));
        let written = create(&temporary, content).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map(|()| path)
    })
}

fn create(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path)?.write_all(content)
}

/// Does something in the first directory where it can be done.
fn in_directory<T>(lifetime: Lifetime, action: impl Fn(&Path) -> std::io::Result<T>) -> Result<T> {
    let mut reasons = Vec::new();
    for dir in candidates(lifetime) {
        match prepare(&dir).and_then(|()| action(&dir)) {
            Ok(value) => return Ok(value),
            Err(error) => reasons.push(format!("{}: {error}", dir.display())),
        }
    }
    Err(Error::failure(format!(
        "no directory for the generated configuration ({}); set XDG_CACHE_HOME to a writable one",
        reasons.join("; ")
    )))
}

/// Makes the directory if need be, and refuses one that others could tamper with.
fn prepare(dir: &Path) -> std::io::Result<()> {
    let refuse = |why: &str| {
        Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            why,
        ))
    };
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = fs::symlink_metadata(dir)?;
    if !meta.is_dir() {
        return refuse("is not a directory");
    }
    if meta.uid() != user() {
        return refuse("belongs to another user");
    }
    if meta.mode() & 0o022 != 0 {
        return refuse("others can write to it");
    }
    Ok(())
}

/// FNV-1a: tells contents apart, nothing more; nobody else can write the files.
fn hash(content: &[u8]) -> u64 {
    content.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
