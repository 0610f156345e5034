// SPDX-License-Identifier: BSD-2-Clause
//! Whether users other than root and this one could replace a file: by its owner and mode, and by
//! those of every directory of its path.

use crate::memory::with_memory;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// A component of a path through which another user could replace the file, or which keeps other
/// users from reading it.
#[derive(Debug, Clone)]
pub struct Loose {
    pub part: PathBuf,
    /// "belongs to user 1000", "can be written to by others (mode 777)".
    pub why: String,
    /// The command that corrects it, if one command does.
    pub cure: Option<String>,
}

impl std::fmt::Display for Loose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.part.display(), self.why)
    }
}

impl Loose {
    /// The same, with the cure.
    pub fn advice(&self) -> String {
        match &self.cure {
            Some(cure) => format!("{self}; to correct it: {cure}"),
            None => self.to_string(),
        }
    }
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
        // All users can write to /dev/null, and nothing of it can be read.
        if part == Path::new("/dev/null") {
            return None;
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

/// The component that keeps users other than its owner from reading a file below `top`; None if
/// they can read it. Groups and access control lists are not considered.
pub fn hidden(top: &Path, path: &Path) -> Option<Loose> {
    let real = path.canonicalize().ok()?;
    let below = |part: &&Path| part.starts_with(top);
    let mut parts: Vec<&Path> = real.ancestors().filter(below).collect();
    parts.reverse();
    parts.into_iter().find_map(|part| {
        let meta = fs::metadata(part).ok()?;
        let (needed, cannot, cure) = match meta.is_dir() {
            true => (0o001, "searched", "a+rx"),
            false => (0o004, "read", "a+r"),
        };
        let mode = meta.mode() & 0o7777;
        // Nobody should open a home to all for the sake of one file.
        let home = part == Path::new("/root") || part.parent() == Some(Path::new("/home"));
        (mode & needed == 0).then(|| Loose {
            part: part.to_owned(),
            why: format!("cannot be {cannot} by others (mode {mode:o})"),
            cure: (!home).then(|| format!("chmod {cure} {}", part.display())),
        })
    })
}

/// The symbolic link of another user through which root would write a path; None for others than
/// root, for whom the kernel decides (protected_symlinks, proc_sys_fs(5)).
pub fn foreign_link(path: &Path) -> Option<Loose> {
    let mut users = vec![0];
    // In a user namespace root has another number.
    users.extend(fs::metadata("/").map(|meta| meta.uid()));
    let path = std::env::current_dir().ok()?.join(path);
    is_root().then(|| link_of_others(&path, &users)).flatten()
}

/// As deep as the kernel follows symbolic links (path_resolution(7)).
const LINKS: usize = 40;

/// The first symbolic link on the way of an absolute path that belongs to none of these users.
fn link_of_others(path: &Path, users: &[u32]) -> Option<Loose> {
    let parts = |path: &Path| -> Vec<OsString> {
        let parts = path.components().rev();
        parts.map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut waiting = parts(path);
    let mut at = PathBuf::new();
    let mut links = 0;
    while let Some(part) = waiting.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&part);
        let meta = fs::symlink_metadata(&next).ok()?;
        // Links in /proc are the kernel's.
        if !meta.is_symlink() || next.starts_with("/proc") {
            at = next;
            continue;
        }
        if !users.contains(&meta.uid()) {
            return Some(Loose {
                why: format!("is a symbolic link of user {}", meta.uid()),
                part: next,
                cure: None,
            });
        }
        links += 1;
        if links > LINKS {
            return None;
        }
        waiting.extend(parts(&fs::read_link(&next).ok()?));
    }
    None
}

/// Whether this process is root.
pub fn is_root() -> bool {
    // SAFETY: it has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way() {
        let dir = std::env::temp_dir().join(format!("tenrounds-trust-{}", std::process::id()));
        fs::create_dir_all(dir.join("real")).unwrap();
        let dir = dir.canonicalize().unwrap();
        symlink("real", dir.join("folder")).unwrap();
        symlink("../real/file", dir.join("real/link")).unwrap();
        let users = [fs::metadata(&dir).unwrap().uid()];
        let found = |name: &str, users: &[u32]| {
            let found = link_of_others(&dir.join(name), users);
            found.map(|link| link.part.strip_prefix(&dir).unwrap().to_owned())
        };
        let link = |name: &str| Some(PathBuf::from(name));
        assert_eq!(found("folder/link", &users), None);
        assert_eq!(found("folder/link", &[]), link("folder"));
        assert_eq!(found("real/link", &[]), link("real/link"));
        assert_eq!(found("real/file", &[]), None);
        fs::remove_dir_all(&dir).unwrap();
    }
}
