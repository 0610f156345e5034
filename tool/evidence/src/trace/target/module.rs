// SPDX-License-Identifier: BSD-2-Clause
//! The files whose code is sampled: each is read once, however many processes run it.

use super::memory;
use base::root::Root;
use classify::{Program, Refusal};
use mappings::Mapping;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A file with code. What it is, is examined only for the report, because that takes longer.
pub struct Module {
    pub path: String,
    pub deleted: bool,
    /// None if it cannot be read, with the reason.
    pub program: Result<Program, String>,
    /// Whether it is the kernel or a module of it, in memory.
    pub of_kernel: bool,
    /// Where its bytes come from later, unless it has changed. It is opened again, so that it costs
    /// no descriptor. None if it could not be opened.
    source: Option<(PathBuf, Stamp)>,
}

/// The state of a file: a program may be built again under the same name and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &File) -> Option<Stamp> {
        let meta = file.metadata().ok()?;
        Some(Stamp {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

impl Module {
    /// What the file holds; None if it was not read.
    pub fn examined(&self) -> Option<classify::Module> {
        self.program.as_ref().ok()?;
        classify::examine(&self.bytes()?).ok()
    }

    /// Whether its code comes from a file. Just-in-time compilers also write code into files that
    /// exist in memory alone, where it is no ELF file.
    pub fn is_file(&self) -> bool {
        self.program.is_ok() || !self.path.starts_with("/memfd:")
    }

    /// The whole file.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        bytes(&self.file()?).ok()
    }

    fn file(&self) -> Option<File> {
        let (path, stamp) = self.source.as_ref()?;
        let file = Root::machine().open(path).ok()?;
        (Stamp::of(&file)? == *stamp).then_some(file)
    }

    /// Bytes of the file, for a process that has ended.
    pub fn code(&self, offset: u64, length: u64) -> Option<Vec<u8>> {
        memory::read(&self.file()?, offset, length)
    }
}

#[derive(Default)]
pub struct Modules {
    pub list: Vec<Module>,
    /// The bytes of files that were read: samples wait meanwhile, and sparse files can be long at
    /// no cost for whoever makes them.
    read: u64,
    by_file: HashMap<(mappings::File, String), usize>,
    /// The kernel and its modules.
    of_kernel: HashMap<String, usize>,
}

impl Modules {
    /// The file of a mapping. Looks whether it has changed, so ask once for each process.
    pub fn of(&mut self, pid: u32, mapping: &Mapping) -> usize {
        let key = (mapping.file, mapping.path.clone());
        let opened = open(pid, mapping);
        let stamped = |(file, path): &(File, PathBuf)| Some((path.clone(), Stamp::of(file)?));
        let source = opened.as_ref().and_then(stamped);
        let stamp = source.as_ref().map(|(_, stamp)| *stamp);
        if let Some(known) = self.by_file.get(&key) {
            let module = &mut self.list[*known];
            // Of a process that has ended, it cannot be told.
            if source.is_none() {
                return *known;
            }
            if module.source.as_ref().map(|(_, stamp)| *stamp) == stamp {
                // The process by which it was found before may have ended.
                module.source = source;
                return *known;
            }
        }
        let program = match (opened, stamp) {
            (Some((file, _)), Some(stamp)) => {
                let read = self.read + stamp.size.min(LARGEST);
                match read > MOST_BYTES {
                    true => Err(format!(
                        "its {} MiB were not read, because the trace reads at most {} MiB of files",
                        stamp.size >> 20,
                        MOST_BYTES >> 20
                    )),
                    false => {
                        self.read = read;
                        examine(&file)
                    }
                }
            }
            _ => Err("the file cannot be read, or was replaced since".to_owned()),
        };
        self.list.push(Module {
            path: mapping.path.clone(),
            deleted: mapping.deleted,
            program,
            of_kernel: false,
            source,
        });
        self.by_file.insert(key, self.list.len() - 1);
        self.list.len() - 1
    }

    /// The kernel ("kernel"), or a module of it.
    pub fn of_kernel(&mut self, name: &str) -> usize {
        if let Some(known) = self.of_kernel.get(name) {
            return *known;
        }
        self.list.push(Module {
            path: name.to_owned(),
            deleted: false,
            program: Err(String::new()),
            of_kernel: true,
            source: None,
        });
        self.of_kernel.insert(name.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

/// A trace reads so many bytes of files: a browser, and the libraries of many programs.
const MOST_BYTES: u64 = 768 << 20;
/// A larger file is not read, because samples wait meanwhile: the largest browsers have 300 MB.
const LARGEST: u64 = 320 << 20;

fn examine(file: &File) -> Result<Program, String> {
    let bytes = bytes(file)?;
    Program::read(&bytes).map_err(|refusal: Refusal| refusal.to_string())
}

/// The content of a file that is not too large.
pub fn bytes(mut file: &File) -> Result<Vec<u8>, String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err("it is larger than 320 MiB and was not read".to_owned());
    }
    let mut bytes = Vec::with_capacity(size as usize);
    let read = file
        .rewind()
        .and_then(|()| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Opens the file of a mapping, and says where: below the root of its process; by the mapping
/// itself, which needs CAP_CHECKPOINT_RESTORE, if it was deleted; or as the program of the process.
pub fn open(pid: u32, mapping: &Mapping) -> Option<(File, PathBuf)> {
    let root = Root::machine();
    let view = root.of_process(pid).unwrap_or_else(Root::machine);
    let Range { start, end } = mapping.range;
    let places = [
        view.path(&mapping.path),
        PathBuf::from(format!("/proc/{pid}/map_files/{start:x}-{end:x}")),
        PathBuf::from(format!("/proc/{pid}/exe")),
    ];
    places.into_iter().find_map(|path| {
        let file = root.open(&path).ok()?;
        let is_it = file.metadata().ok()?.ino() == mapping.file.inode;
        is_it.then_some((file, path))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file at the limit would take its size of memory; a larger one takes none.
    #[test]
    fn a_file_that_is_too_large_is_not_read() {
        let path = std::env::temp_dir().join(format!("tenrounds-large-{}", std::process::id()));
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        file.set_len(4096).unwrap();
        assert_eq!(bytes(&file).unwrap().len(), 4096);
        // Sparse, so that it takes no disk either.
        file.set_len(LARGEST + 1).unwrap();
        let why = bytes(&file).unwrap_err();
        assert_eq!(why, "it is larger than 320 MiB and was not read");
        assert_eq!(examine(&file).unwrap_err(), why);
        file.set_len(u64::MAX >> 24).unwrap();
        assert!(bytes(&file).is_err());
    }

    /// Files that are not read any more are those that do not fit, not all that come later.
    #[test]
    fn files_are_read_within_a_budget_of_bytes() {
        let path = std::env::current_exe().unwrap();
        let meta = std::fs::metadata(&path).unwrap();
        let file = mappings::File {
            device: (0, 0),
            inode: meta.ino(),
        };
        let mapping = Mapping::new(0..4096, 0, file, path.to_str().unwrap());
        let read = |budget: u64| {
            let mut modules = Modules {
                read: MOST_BYTES - budget,
                ..Modules::default()
            };
            let index = modules.of(std::process::id(), &mapping);
            let program = &modules.list[index].program;
            (program.as_ref().err().cloned(), MOST_BYTES - modules.read)
        };
        assert_eq!(read(meta.size() + 7), (None, 7));
        let (why, rest) = read(meta.size() - 1);
        assert_eq!(rest, meta.size() - 1);
        let why = why.unwrap();
        assert!(
            why.contains("were not read, because the trace reads at most 768 MiB"),
            "{why}"
        );
    }

    /// A program that is built again under the same inode is read again, and only then.
    #[test]
    fn a_file_that_changes_is_another_module() {
        let own = std::env::current_exe().unwrap();
        let path = std::env::temp_dir().join(format!("tenrounds-module-{}", std::process::id()));
        std::fs::copy(&own, &path).unwrap();
        let meta = std::fs::metadata(&path).unwrap();
        let file = mappings::File {
            device: (0, 0),
            inode: meta.ino(),
        };
        let mapping = Mapping::new(0..4096, 0, file, path.to_str().unwrap());
        let mut modules = Modules::default();
        let of = |modules: &mut Modules| modules.of(std::process::id(), &mapping);
        let first = of(&mut modules);
        assert!(modules.list[first].program.is_ok());
        assert_eq!(of(&mut modules), first);
        assert!(modules.list[first].bytes().is_some());
        // Into the same file.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(100);
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().ino(), meta.ino());
        let second = of(&mut modules);
        assert!(second != first && modules.list[second].program.is_err());
        assert!(modules.list[first].bytes().is_none());
        assert_eq!(modules.list[second].bytes().map(|it| it.len()), Some(100));
        assert_eq!(of(&mut modules), second);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(of(&mut modules), second);
    }
}
