// SPDX-License-Identifier: BSD-2-Clause
//! Reading, writing and removing files under the lock of the state, with errors that say what to
//! do.

pub use crate::home::at;
use base::replaced::{self, beside, Look};
use base::trust::is_root;
use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::TempDir;
use terminal::error::{Error, Result};

/// The largest configuration that is looked at.
const LARGEST: u64 = 4 << 20;
/// The name of a file before it takes its place.
const NEW: &str = "tenrounds-new";

/// A regular file's content; None if there is none.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let meta = match fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        meta => meta.map_err(|error| at(path, explain(&error)))?,
    };
    if !meta.is_file() {
        return Err(at(path, "is not a regular file"));
    }
    if meta.len() > LARGEST {
        let why = format!("has {} bytes, which is no configuration", meta.len());
        return Err(at(path, why));
    }
    let content = fs::read(path).map_err(|error| at(path, explain(&error)))?;
    Ok(Some(content))
}

/// The file that a path leads to through all symbolic links. It need not exist.
pub fn real(path: &Path) -> Result<PathBuf> {
    replaced::real(path, explain).map_err(|error| at(path, error))
}

/// Refuses a path on which a symbolic link of another user lies.
pub fn refuse_foreign_link(path: &Path) -> Result<()> {
    replaced::refuse_foreign_link(path).map_err(|error| at(path, error))
}

/// A temporary directory that only this user can enter, whatever the umask.
pub fn private_directory() -> std::io::Result<TempDir> {
    let mode = Permissions::from_mode(0o700);
    tempfile::Builder::new().permissions(mode).tempdir()
}

/// Explains a system error, and says what to do.
pub fn explain(error: &std::io::Error) -> String {
    let code = error.raw_os_error().unwrap_or(0);
    let advice = match code {
        libc::EACCES | libc::EPERM if is_root() => {
            "this is root already, so check its attributes (lsattr, chattr -i), the mount options, \
             and the log of SELinux or AppArmor"
        }
        libc::EACCES | libc::EPERM => {
            "for --system, run it as root (sudo); for your account, make it writable, or set \
             XDG_CONFIG_HOME and XDG_STATE_HOME to writable directories"
        }
        libc::EROFS => {
            "make that file system writable; for your account, you can also set XDG_CONFIG_HOME \
             and XDG_STATE_HOME to writable directories"
        }
        libc::ENOSPC | libc::EDQUOT => "make room there",
        libc::EBUSY => {
            "a file that is a mount point cannot be replaced: change it where it is mounted from"
        }
        libc::ELOOP => "fix the symbolic links",
        _ => return error.to_string(),
    };
    format!("{error}; {advice}")
}

/// Removes what a run that was killed has left beside a file.
pub fn sweep(path: &Path) {
    let _ = fs::remove_file(beside(path, NEW));
}

/// Replaces a file, or creates it. The caller holds the lock, so nobody else uses the name beside
/// it.
pub fn replace(path: &Path, content: &[u8], look: Look<'_>) -> Result<()> {
    replaced::replace(path, NEW, content, look).map_err(|error| {
        let why = explain(&error);
        Error::failure(format!("writing {}: {why}", path.display()))
    })
}

/// Removes a file. It is no error if there is none.
pub fn remove(path: &Path) -> Result<()> {
    replaced::remove(path).map_err(|error| {
        let why = explain(&error);
        Error::failure(format!("removing {}: {why}", path.display()))
    })
}

/// Sets when a file was last changed, where that is known and possible.
pub fn set_modified(path: &Path, time: Option<SystemTime>) {
    if let Some(time) = time {
        let opened = File::options().write(true).open(path);
        let _ = opened.and_then(|file| file.set_modified(time));
    }
}

/// Makes a directory, and those above it.
pub fn make_directory(dir: &Path, mode: u32) -> Result<()> {
    replaced::step();
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(dir);
    made.map_err(|error| at(dir, explain(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_enters_a_private_directory() {
        let dir = private_directory().unwrap();
        let mode = fs::metadata(dir.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
    }
}
