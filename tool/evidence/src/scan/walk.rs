// SPDX-License-Identifier: BSD-2-Clause
//! The files below directories. `walkdir` finds them. `ignore` adds threads and filters to it, and
//! brings ten crates more; searching /usr takes a tenth of the time of a scan.

use super::targets::Target;
use super::Trouble;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use terminal::style::clean;
use walkdir::{DirEntry, DirEntryExt, WalkDir};

/// A search. It stays on the file system of each directory, because /proc has no end, and follows
/// no symbolic links.
#[derive(Default)]
pub struct Walk {
    /// Files whose names are not like those of programs and libraries come last, and in each part
    /// those that are close to each other on the disk, by their inodes.
    found: Vec<(bool, u64, PathBuf)>,
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
            let mut entries = WalkDir::new(directory).same_file_system(true).into_iter();
            while let Some(entry) = entries.next() {
                match entry.and_then(|entry| walk.take(entry, device)) {
                    Ok(true) if end.is_some_and(|end| Instant::now() >= end) => {
                        walk.left += 1;
                        entries.skip_current_dir();
                    }
                    Ok(_) => {}
                    Err(error) => walk.trouble(&error),
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

    /// Notes an entry. Whether it is a directory that is entered.
    fn take(&mut self, entry: DirEntry, device: Option<u64>) -> walkdir::Result<bool> {
        let kind = entry.file_type();
        if kind.is_file() {
            let is_likely = is_likely(entry.file_name());
            self.found
                .push((!is_likely, entry.ino(), entry.into_path()));
        } else if kind.is_dir() {
            let is_entered = Some(entry.metadata()?.dev()) == device;
            if !is_entered {
                self.not_entered.push(clean(entry.path().display()));
            }
            return Ok(is_entered);
        }
        Ok(false)
    }

    /// Keeps what could not be read, unless it was removed meanwhile. A path can be longer than the
    /// kernel takes.
    fn trouble(&mut self, error: &walkdir::Error) {
        let why = error
            .io_error()
            .filter(|why| why.kind() != ErrorKind::NotFound);
        if let Some(why) = why {
            self.troubles.push(Trouble {
                path: clean(error.path().unwrap_or(Path::new("")).display()),
                why: why.to_string(),
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
