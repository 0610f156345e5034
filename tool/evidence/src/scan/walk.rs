// SPDX-License-Identifier: BSD-2-Clause
//! The files below directories. The crate `ignore` searches in several threads, but brings ten
//! others, and searching /usr takes a tenth of the time of a scan.

use super::targets::Target;
use super::Trouble;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;
use terminal::style::clean;

/// A search. It stays on the file system of each directory, because /proc has no end, and follows
/// no symbolic links.
#[derive(Default)]
pub struct Walk {
    /// Files whose names are not like those of programs and libraries come last, and in each part
    /// those that are close to each other on the disk, by their inodes.
    found: Vec<(bool, u64, PathBuf)>,
    waiting: Vec<PathBuf>,
    pub troubles: Vec<Trouble>,
    pub not_entered: Vec<String>,
    /// The directories for which there was no time.
    pub left: usize,
}

impl Walk {
    pub fn of(directories: &[PathBuf], end: Option<Instant>) -> Walk {
        let mut walk = Walk::default();
        for directory in directories {
            let device = directory.metadata().map(|meta| meta.dev()).ok();
            walk.waiting.push(directory.clone());
            while let Some(next) = walk.waiting.pop() {
                if end.is_some_and(|end| Instant::now() >= end) {
                    walk.left += walk.waiting.len() + 1;
                    walk.waiting.clear();
                } else if let Err(error) = walk.search(&next, device) {
                    walk.trouble(&next, &error);
                }
            }
        }
        walk.found.sort_unstable();
        walk.not_entered.sort();
        walk
    }

    /// In the order in which they should be examined.
    pub fn targets(&mut self) -> Vec<Target> {
        let found = std::mem::take(&mut self.found).into_iter();
        let target = |(_, _, path)| Target {
            is_regular: true,
            ..Target::new(path, false)
        };
        found.map(target).collect()
    }

    fn search(&mut self, directory: &Path, device: Option<u64>) -> std::io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_file() => {
                    let is_likely = is_likely(&entry.file_name());
                    self.found.push((!is_likely, entry.ino(), path));
                }
                Ok(kind) if kind.is_dir() => match path.symlink_metadata() {
                    Ok(meta) if Some(meta.dev()) == device => self.waiting.push(path),
                    Ok(_) => self.not_entered.push(clean(path.display())),
                    Err(error) => self.trouble(&path, &error),
                },
                Ok(_) => {}
                Err(error) => self.trouble(&path, &error),
            }
        }
        Ok(())
    }

    /// Keeps what could not be read, unless it was removed meanwhile. A path can be longer than the
    /// kernel takes.
    fn trouble(&mut self, path: &Path, error: &std::io::Error) {
        if error.kind() != ErrorKind::NotFound {
            self.troubles.push(Trouble {
                path: clean(path.display()),
                why: error.to_string(),
            });
        }
    }
}

/// Whether a name is like those of programs and libraries. The others are examined, too, but later.
fn is_likely(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let has = |part: &[u8]| name.windows(part.len()).any(|window| window == part);
    !name.contains(&b'.') || has(b".so") || name.ends_with(b".ko") || name.ends_with(b".o")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_files_come_first_and_none_is_lost() {
        let top = std::env::temp_dir().join(format!("tenrounds-walk-{}", std::process::id()));
        std::fs::create_dir_all(top.join("below")).unwrap();
        for name in [
            "page.html",
            "below/libx.so.1",
            "below/picture.png",
            "program",
        ] {
            std::fs::write(top.join(name), "").unwrap();
        }
        let directories = [top.clone()];
        let mut all = Walk::of(&directories, None);
        let none = Walk::of(&directories, Some(Instant::now()));
        std::fs::remove_dir_all(&top).unwrap();
        let targets = all.targets();
        let name = |target: &Target| target.path.file_name().unwrap().to_owned();
        let mut names: Vec<_> = targets.iter().map(name).collect();
        names[..2].sort();
        names[2..].sort();
        assert_eq!(names, ["libx.so.1", "program", "page.html", "picture.png"]);
        assert_eq!((all.left, none.left), (0, 1));
    }

    #[test]
    fn names() {
        for name in ["bash", "libc.so.6", "x.so", "xfs.ko", "crt1.o", "python3"] {
            assert!(is_likely(OsStr::new(name)), "{name}");
        }
        for name in ["a.py", "a.html", "so.txt", "a.h", "x.ko.xz"] {
            assert!(!is_likely(OsStr::new(name)), "{name}");
        }
    }
}
