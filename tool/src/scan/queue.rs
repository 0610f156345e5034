// SPDX-License-Identifier: BSD-2-Clause
//! What is left to do for the threads that examine files. They search directories, too, so that
//! examining begins with the first file that is found.

use super::targets::{Directory, Origin, Target};
use super::Trouble;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirEntryExt, MetadataExt};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Instant;
use terminal::style::clean;

pub enum Work {
    Directory(Directory),
    Files(Vec<Target>),
}

#[derive(Default)]
pub struct Queue {
    waiting: Mutex<Waiting>,
    /// Wakes threads when a directory was searched.
    searched: Condvar,
}

/// In the order in which they are taken, each from its end.
#[derive(Default)]
struct Waiting {
    /// Files that are known from the start, and those whose name is that of a program or library.
    first: Vec<Target>,
    directories: Vec<Directory>,
    /// Other files, with their inodes.
    others: Vec<(u64, Target)>,
    is_sorted: bool,
    /// Directories that are being searched.
    searching: usize,
    troubles: Vec<Trouble>,
    not_entered: Vec<String>,
}

/// What is left when the time is over, and what went wrong in directories.
pub struct Left {
    pub waiting: usize,
    pub troubles: Vec<Trouble>,
    pub not_entered: Vec<String>,
}

impl Queue {
    pub fn new(files: Vec<Target>, directories: Vec<Directory>) -> Queue {
        let waiting = Waiting {
            first: files.into_iter().rev().collect(),
            directories: directories.into_iter().rev().collect(),
            ..Waiting::default()
        };
        Queue {
            waiting: Mutex::new(waiting),
            searched: Condvar::new(),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no thread panics")
    }

    /// The files that are known.
    pub fn files(&self) -> usize {
        let waiting = self.waiting();
        waiting.first.len() + waiting.others.len()
    }

    /// The next work; None if all is done, or the time is over.
    pub fn next(&self, end: Option<Instant>) -> Option<Work> {
        /// At once: few of the files that take long, and many of those that take microseconds.
        const FEW: usize = 8;
        const MANY: usize = 64;
        let mut waiting = self.waiting();
        loop {
            if end.is_some_and(|end| Instant::now() >= end) {
                return None;
            }
            if !waiting.first.is_empty() {
                let from = waiting.first.len().saturating_sub(FEW);
                return Some(Work::Files(waiting.first.drain(from..).rev().collect()));
            }
            if let Some(directory) = waiting.directories.pop() {
                waiting.searching += 1;
                return Some(Work::Directory(directory));
            }
            if waiting.searching == 0 {
                return waiting.others(MANY).map(Work::Files);
            }
            waiting = self.searched.wait(waiting).expect("no thread panics");
        }
    }

    /// Searches a directory from `next`. Returns how many files it has. Symbolic links are not
    /// followed.
    pub fn search(&self, directory: Directory) -> usize {
        let mut found = Waiting::default();
        found.read(&directory);
        // Files of one directory are close to each other on the disk, in this order.
        found.others.sort_unstable_by_key(|(inode, _)| *inode);
        let files = found.others.len();
        let mut waiting = self.waiting();
        for (inode, target) in found.others.into_iter().rev() {
            match is_likely(target.path.file_name().unwrap_or_default()) {
                true => waiting.first.push(target),
                false => waiting.others.push((inode, target)),
            }
        }
        waiting.directories.append(&mut found.directories);
        waiting.troubles.append(&mut found.troubles);
        waiting.not_entered.append(&mut found.not_entered);
        waiting.searching -= 1;
        self.searched.notify_all();
        files
    }

    pub fn left(self) -> Left {
        let mut left = self.waiting.into_inner().expect("no thread panics");
        left.not_entered.sort();
        Left {
            waiting: left.first.len() + left.directories.len() + left.others.len(),
            troubles: left.troubles,
            not_entered: left.not_entered,
        }
    }
}

impl Waiting {
    /// Some of the other files, in the order of the disk.
    fn others(&mut self, most: usize) -> Option<Vec<Target>> {
        if !self.is_sorted {
            self.others
                .sort_unstable_by_key(|(inode, _)| std::cmp::Reverse(*inode));
            self.is_sorted = true;
        }
        let from = self.others.len().saturating_sub(most);
        let next = self.others.drain(from..).rev();
        let next: Vec<Target> = next.map(|(_, target)| target).collect();
        (!next.is_empty()).then_some(next)
    }

    fn read(&mut self, directory: &Directory) {
        let entries = match std::fs::read_dir(&directory.path) {
            Ok(entries) => entries,
            Err(error) => return self.trouble(&directory.path, &error),
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.trouble(&directory.path, &error);
                    continue;
                }
            };
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_file() => {
                    let target = Target {
                        at: path.clone(),
                        path,
                        origin: Origin::Directory,
                    };
                    self.others.push((entry.ino(), target));
                }
                Ok(kind) if kind.is_dir() => self.add_directory(&path, directory.device),
                Ok(_) => {}
                Err(error) => self.trouble(&path, &error),
            }
        }
    }

    fn add_directory(&mut self, path: &Path, device: Option<u64>) {
        match path.symlink_metadata().map(|meta| meta.dev()) {
            Ok(own) if Some(own) == device => self.directories.push(Directory {
                path: path.to_owned(),
                device,
            }),
            Ok(_) => self.not_entered.push(clean(path.display())),
            Err(error) => self.trouble(path, &error),
        }
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

    /// Names of files, or "/" for a directory, in the order in which one thread takes them.
    fn taken(queue: &Queue, most: usize) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(work) = queue.next((names.len() >= most).then(Instant::now)) {
            match work {
                Work::Directory(directory) => {
                    names.push("/".to_owned());
                    queue.search(directory);
                }
                Work::Files(files) => names.extend(files.iter().map(|target| {
                    let name = target.path.file_name().unwrap();
                    name.to_str().unwrap().to_owned()
                })),
            }
        }
        names
    }

    fn queue(top: &Path) -> Queue {
        let named = Target {
            path: "/named.txt".into(),
            at: "/named.txt".into(),
            origin: Origin::Named,
        };
        let device = top.metadata().map(|meta| meta.dev()).ok();
        let path = top.to_owned();
        Queue::new(vec![named], vec![Directory { path, device }])
    }

    #[test]
    fn likely_files_come_first_and_none_is_lost() {
        let top = std::env::temp_dir().join(format!("tenrounds-queue-{}", std::process::id()));
        std::fs::create_dir_all(top.join("below")).unwrap();
        for name in [
            "page.html",
            "below/libx.so.1",
            "below/picture.png",
            "program",
        ] {
            std::fs::write(top.join(name), "").unwrap();
        }
        let all = taken(&queue(&top), usize::MAX);
        let short = queue(&top);
        let some = taken(&short, 3);
        let left = short.left().waiting;
        std::fs::remove_dir_all(&top).unwrap();
        assert_eq!(all[..5], ["named.txt", "/", "program", "/", "libx.so.1"]);
        let mut others = all[5..].to_vec();
        others.sort();
        assert_eq!(others, ["page.html", "picture.png"]);
        // A page and the directory below remain.
        assert_eq!((some, left), (all[..3].to_vec(), 2));
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
