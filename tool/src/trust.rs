// SPDX-License-Identifier: BSD-2-Clause
//! Whether users other than root and this one could replace a file: by its owner and mode, and by
//! those of every directory of its path.

use crate::error::{Error, Result};
use crate::memory::with_memory;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A component of a path through which another user could replace the file.
pub struct Loose {
    pub part: PathBuf,
    /// "belongs to user 1000", "can be written to by others (mode 777)".
    pub why: String,
    /// The command that makes it safe, if one command does.
    pub cure: Option<String>,
}

/// The users that may own a file below `top`, and the groups that may write to it.
pub struct Trusted<'a> {
    /// The directory that stands for "/".
    pub top: &'a Path,
    pub users: Vec<u32>,
    pub groups: Vec<u32>,
}

impl Trusted<'_> {
    /// Trusts root and one more user. In a user namespace root has another number, so the owner of
    /// `top` counts as root. The group with the user's number counts as the user's own.
    pub fn root_and(top: &Path, user: u32) -> Trusted<'_> {
        let root = fs::metadata(top).map_or((0, 0), |meta| (meta.uid(), meta.gid()));
        Trusted {
            top,
            users: vec![0, root.0, user],
            groups: vec![0, root.1, user],
        }
    }

    /// The components through which others could replace the file at a path. Symbolic links and the
    /// components of the real path count too.
    pub fn loose(&self, path: &Path) -> std::io::Result<Vec<Loose>> {
        let real = with_memory(path.canonicalize())?;
        let mut parts: Vec<&Path> = Vec::new();
        for part in real.ancestors().chain(path.ancestors()) {
            if part.starts_with(self.top) && !parts.contains(&part) {
                parts.push(part);
            }
        }
        let mut loose = Vec::new();
        for part in parts {
            // `top` itself can be a symbolic link, as /proc/PID/root is.
            let meta = match part == self.top {
                true => fs::metadata(part)?,
                false => fs::symlink_metadata(part)?,
            };
            loose.extend(self.check(part, &meta));
        }
        Ok(loose)
    }

    fn check(&self, part: &Path, meta: &fs::Metadata) -> Option<Loose> {
        let name = part.display();
        if !self.users.contains(&meta.uid()) {
            return Some(Loose {
                part: part.to_owned(),
                why: format!("belongs to user {}", meta.uid()),
                // No command changes the owner of a user's directory: the file belongs elsewhere.
                cure: meta.is_file().then(|| format!("chown root: {name}")),
            });
        }
        let others = match self.groups.contains(&meta.gid()) {
            true => 0o002,
            false => 0o022,
        };
        // In a sticky directory only the owner of a file, or of the directory, can replace the
        // file. A symbolic link's own mode has no effect.
        let sticky = meta.is_dir() && meta.mode() & 0o1000 != 0;
        (meta.mode() & others != 0 && !sticky && !meta.is_symlink()).then(|| Loose {
            part: part.to_owned(),
            why: format!(
                "can be written to by others (mode {:o})",
                meta.mode() & 0o7777
            ),
            cure: Some(format!("chmod go-w {name}")),
        })
    }
}

/// Why users other than its owner cannot read a file, as "/root cannot be searched by others (mode
/// 700)"; None if they can. Groups and access control lists are not considered.
pub fn hidden(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok()?;
    let mut parts: Vec<&Path> = real.ancestors().collect();
    parts.reverse();
    parts.into_iter().find_map(|part| {
        let meta = fs::metadata(part).ok()?;
        let (needed, cannot) = match meta.is_dir() {
            true => (0o001, "searched"),
            false => (0o004, "read"),
        };
        let (mode, name) = (meta.mode() & 0o7777, part.display());
        (mode & needed == 0).then(|| format!("{name} cannot be {cannot} by others (mode {mode:o})"))
    })
}

/// Refuses a file that users other than root and this one could replace, because every program of
/// the system is to load it.
pub fn only_mine(path: &Path) -> Result<()> {
    let top = Path::new("/");
    // SAFETY: it has no arguments and cannot fail.
    let trusted = Trusted::root_and(top, unsafe { libc::geteuid() });
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    let loose = trusted
        .loose(path)
        .map_err(|error| Error::failure(wrong(&error)))?;
    match loose.first() {
        None => Ok(()),
        Some(Loose { part, why, .. }) => Err(Error::failure(wrong(&format!(
            "{} {why}, and every program of the system would load code from there; install tenrounds first (sudo make install, or the package)",
            part.display()
        )))),
    }
}
