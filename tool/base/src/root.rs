// SPDX-License-Identifier: BSD-2-Clause
//! Reading files of this machine, or of a tree that is laid out like one. Whatever lies there,
//! reading ends: what is no regular file is not opened for long, and what is too long is not read.

use crate::memory::with_memory;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// The largest text that is read: no configuration and no /proc file that matters here is longer.
const LIMIT: u64 = 16 << 20;
/// As deep as the kernel follows symbolic links (path_resolution(7)).
const LINKS: usize = 40;

#[derive(Debug, Clone)]
pub struct Root(PathBuf);

impl Root {
    pub fn new(prefix: &Path) -> Root {
        Root(prefix.to_owned())
    }

    /// The running machine itself.
    pub fn machine() -> Root {
        Root::new(Path::new("/"))
    }

    /// Whether this is the running machine itself.
    pub fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Whether /proc is mounted. A directory without processes is not it.
    pub fn has_proc(&self) -> bool {
        self.exists(match self.is_machine() {
            true => "/proc/self",
            false => "/proc",
        })
    }

    /// Where an absolute path lies really. Symbolic links are followed within the tree.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        match self.is_machine() {
            true => path.to_owned(),
            false => self.follow(path),
        }
    }

    /// The root of a process, which can be that of a container or chroot; None if the process has
    /// ended. A tree that stands for a machine can lack /proc/PID/root: the root is then the tree
    /// itself.
    pub fn of_process(&self, pid: u32) -> Option<Root> {
        let inside = format!("/proc/{pid}/root");
        if !self.is_machine() {
            return Some(match self.exists(&inside) {
                true => Root(self.path(&inside)),
                false => self.clone(),
            });
        }
        let space = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let there = Root(PathBuf::from(&inside));
        let same = there.identity("/")? == self.identity("/")?
            && space(&pid.to_string()).is_some_and(|theirs| Some(theirs) == space("self"));
        Some(if same { self.clone() } else { there })
    }

    /// The device and inode of a file, which identify it; None if the file does not exist.
    pub fn identity(&self, path: impl AsRef<Path>) -> Option<(u64, u64)> {
        let meta = std::fs::metadata(self.path(path)).ok()?;
        Some((meta.dev(), meta.ino()))
    }

    /// The directory that stands for "/".
    pub fn top(&self) -> &Path {
        &self.0
    }

    fn follow(&self, path: &Path) -> PathBuf {
        let mut wanted = path.to_owned();
        for _ in 0..LINKS {
            match self.first_link(&wanted) {
                Some(next) => wanted = next,
                None => break,
            }
        }
        self.0.join(relative(&wanted))
    }

    /// The path with its first symbolic link replaced by what that names.
    fn first_link(&self, path: &Path) -> Option<PathBuf> {
        let relative = relative(path);
        let parts: Vec<_> = relative.components().collect();
        for at in 0..parts.len() {
            let head: PathBuf = parts[..=at].iter().collect();
            if let Ok(target) = std::fs::read_link(self.0.join(&head)) {
                let tail: PathBuf = parts[at + 1..].iter().collect();
                let dir = Path::new("/").join(head.parent().unwrap_or(Path::new("")));
                return Some(dir.join(target).join(tail));
            }
        }
        None
    }

    /// Opens a regular file. Anything else, a pipe or a device, is an error at once.
    pub fn open(&self, path: impl AsRef<Path>) -> io::Result<File> {
        let path = self.path(path);
        let open = |flags, path: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(flags).open(path)
        };
        // To open a device can have effects. O_PATH does not open what it finds.
        let found = open(libc::O_PATH, &path)?;
        regular(&found)?;
        let again = format!("/proc/self/fd/{}", found.as_raw_fd());
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        match open(flags, Path::new(&again)) {
            // /proc is not mounted.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let file = open(flags, &path)?;
                regular(&file)?;
                Ok(file)
            }
            other => other,
        }
    }

    pub fn bytes(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let file = with_memory(self.open(path))?;
        with_memory(file.take(LIMIT + 1).read_to_end(&mut bytes))?;
        match bytes.len() as u64 > LIMIT {
            true => Err(io::Error::other(format!("longer than {LIMIT} bytes"))),
            false => Ok(bytes),
        }
    }

    pub fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    /// The first line of a file of /proc or /sys; None if it cannot be read or is empty.
    pub fn line(&self, path: impl AsRef<Path>) -> Option<String> {
        let text = self.text(path).ok()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// The names in a directory, sorted; none if it cannot be read.
    pub fn names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let mut names = self.unsorted_names(path);
        names.sort();
        names
    }

    /// The same in the order of readdir(3).
    pub fn unsorted_names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let entries = with_memory(std::fs::read_dir(self.path(path)));
        let entries = entries.into_iter().flatten();
        entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// The directories of a place, in which "*" stands for every name: "/opt/*/lib".
    pub fn directories(&self, place: &str) -> Vec<PathBuf> {
        let Some((before, after)) = place.split_once("/*") else {
            return Some(PathBuf::from(place))
                .filter(|dir| self.path(dir).is_dir())
                .into_iter()
                .collect();
        };
        let names = self.names(before).into_iter();
        names
            .flat_map(|name| self.directories(&format!("{before}/{name}{after}")))
            .collect()
    }

    /// What a symbolic link says; None if it is none.
    pub fn link(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        let path = path.as_ref();
        let (dir, name) = (path.parent()?, path.file_name()?);
        std::fs::read_link(self.path(dir).join(name)).ok()
    }

    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).exists()
    }
}

fn regular(file: &File) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("no regular file")),
    }
}

/// The path below the root. ".." does not leave it.
fn relative(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_within_the_tree() {
        let dir = std::env::temp_dir().join(format!("tenrounds-root-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("etc/ssl")).unwrap();
        std::fs::create_dir_all(dir.join("usr/lib")).unwrap();
        std::fs::write(dir.join("etc/ssl/a"), "inside\n").unwrap();
        symlink("/etc/ssl", dir.join("usr/lib/ssl")).unwrap();
        symlink("../../../../../etc/ssl/a", dir.join("usr/lib/up")).unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        let root = Root::new(&dir);
        let read =
            ["/usr/lib/ssl/a", "/usr/lib/up", "/loop", "/etc/ssl"].map(|path| root.line(path));
        std::fs::remove_dir_all(&dir).unwrap();
        let inside = Some("inside".to_owned());
        assert_eq!(read, [inside.clone(), inside, None, None]);
    }

    #[test]
    fn a_device_is_not_read() {
        let said = |path: &str| Root::machine().bytes(path).unwrap_err().to_string();
        // The second cannot even be opened without a controlling terminal.
        for path in ["/dev/zero", "/dev/tty"] {
            assert_eq!(said(path), "no regular file");
        }
        assert!(Root::machine().text("/proc/self/maps").is_ok());
    }
}
