// SPDX-License-Identifier: BSD-2-Clause
//! The directory of generated files. Only its owner can write there. Root's can be read by all,
//! because daemons that root starts read them as another user; the files hold no secret.

use base::replaced::{self, Look};
use base::trust::is_root;
use nix::unistd::geteuid;
use std::fs::{self, OpenOptions, Permissions};
use std::hash::{Hash, Hasher};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// Where to try, best first. Under sudo these variables may still lead to the caller's directories,
/// which are left alone.
fn candidates() -> Vec<PathBuf> {
    let own = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute() && is_mine(path))
    };
    let cache = own("XDG_CACHE_HOME").or_else(|| match is_root() {
        true => Some(PathBuf::from("/var/cache")),
        false => Some(own("HOME")?.join(".cache")).filter(|dir| is_mine(dir)),
    });
    let temporary = std::env::var_os("TMPDIR").map(PathBuf::from);
    let temporary = temporary.filter(|path| path.is_absolute());
    let temporary = temporary.unwrap_or_else(|| PathBuf::from("/tmp"));
    let cache = cache.map(|dir| dir.join("tenrounds"));
    let cache = cache.into_iter();
    cache
        .chain([temporary.join(format!("tenrounds-{}", geteuid()))])
        .collect()
}

/// The modes of the directory and of its files.
fn modes() -> (u32, u32) {
    match is_root() {
        true => (0o755, 0o644),
        false => (0o700, 0o600),
    }
}

/// Whether the directory, or where it would be created, belongs to this user.
fn is_mine(dir: &Path) -> bool {
    let nearest = dir.ancestors().find_map(|dir| fs::metadata(dir).ok());
    nearest.is_some_and(|meta| meta.uid() == geteuid().as_raw())
}

/// Writes a file named after its content, and returns its path. Nobody else can write there.
pub fn put(prefix: &str, suffix: &str, content: &[u8]) -> Result<PathBuf> {
    let mut hash = std::hash::DefaultHasher::new();
    content.hash(&mut hash);
    let name = format!("{prefix}-{:016x}{suffix}", hash.finish());
    in_directory(|dir| {
        let path = dir.join(&name);
        let mode = fs::symlink_metadata(&path).map(|meta| meta.mode() & 0o7777);
        if mode.is_ok_and(|mode| mode == modes().1) && fs::read(&path)? == content {
            return Ok(path);
        }
        let look = Look::Mode(modes().1);
        replaced::replace(&path, &replaced::unique_suffix(), content, look)?;
        Ok(path)
    })
}

/// Does something in the first directory where it can be done.
fn in_directory<T>(action: impl Fn(&Path) -> io::Result<T>) -> Result<T> {
    let mut reasons = Vec::new();
    for dir in candidates() {
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
fn prepare(dir: &Path) -> io::Result<()> {
    let refuse = |why: &str| Err(io::Error::new(ErrorKind::PermissionDenied, why));
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Not through a symbolic link, which may lead into another user's directory.
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY);
    let opened = match options.open(dir) {
        Err(error) if fs::symlink_metadata(dir).is_ok_and(|meta| !meta.is_dir()) => {
            return refuse(&format!("is not a directory ({error})"));
        }
        opened => opened?,
    };
    let meta = opened.metadata()?;
    if meta.uid() != geteuid().as_raw() {
        return refuse("belongs to another user");
    }
    if meta.mode() & 0o022 != 0 {
        return refuse("others can write to it");
    }
    match meta.mode() & 0o7777 == modes().0 {
        true => Ok(()),
        false => opened.set_permissions(Permissions::from_mode(modes().0)),
    }
}
