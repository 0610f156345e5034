// SPDX-License-Identifier: BSD-2-Clause
//! `trace --count`: exact calls and bytes of the functions that encrypt and decrypt, by probes at
//! their beginnings.

mod files;
mod functions;
mod kernel;
mod program;

use super::result::{Counted, Counts, SizeClass};
use crate::error::{Error, Result};
use crate::libcrypto::{string, LibCrypto};
use crate::root::Root;
use crate::style::clean;
use files::{Entry, Files};
use functions::{Algorithm, FUNCTIONS};
use kernel::{Probe, Sums, Whose};
use program::{Key, Placement, Sum};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

/// Entries of the kernel's map: a process, function, algorithm, size class and placement each.
const MOST_ENTRIES: u32 = 1 << 16;

/// What a probe counts.
struct Target {
    file: PathBuf,
    function: usize,
}

/// Probes that count.
pub struct Counter {
    sums: Sums,
    whose: Vec<Whose>,
    files: Files,
    targets: Vec<Target>,
    probes: Vec<Probe>,
    /// Names of the processes that the trace has seen, the latest of each.
    names: HashMap<u32, String>,
    troubles: Vec<String>,
}

impl Counter {
    /// Counts in processes, or in all. Then the files are those that they have mapped.
    pub fn of_processes(pids: &[u32]) -> Result<Counter> {
        let whose = match pids {
            [] => vec![Whose::Everybody],
            pids => pids.iter().map(|pid| Whose::Process(*pid)).collect(),
        };
        let mut counter = Counter::new(whose)?;
        let pids = match pids {
            [] => Root::machine()
                .names("/proc")
                .iter()
                .filter_map(|name| name.parse().ok())
                .collect(),
            pids => pids.to_vec(),
        };
        for pid in pids {
            counter.add_files_of(pid)?;
        }
        Ok(counter)
    }

    /// Counts in a program that is about to start, and in what it starts. The files are those that
    /// are installed; others are added when they are mapped.
    pub fn of_command(program: &Path) -> Result<Counter> {
        let mut counter = Counter::new(vec![Whose::Everybody])?;
        for file in files::installed()
            .iter()
            .map(PathBuf::as_path)
            .chain([program])
        {
            // The name that a process maps it by.
            let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
            counter.add(&file, &file)?;
        }
        Ok(counter)
    }

    fn new(whose: Vec<Whose>) -> Result<Counter> {
        Ok(Counter {
            sums: Sums::new(MOST_ENTRIES).map_err(|error| refusal(&error))?,
            whose,
            files: Files::default(),
            targets: Vec::new(),
            probes: Vec::new(),
            names: HashMap::new(),
            troubles: Vec::new(),
        })
    }

    /// The functions that are counted, and the files that have them.
    pub fn extent(&self) -> (usize, usize) {
        let files: BTreeSet<&Path> = self.targets.iter().map(|t| t.file.as_path()).collect();
        (self.targets.len(), files.len())
    }

    fn add_files_of(&mut self, pid: u32) -> Result<()> {
        if let Some(name) = Root::machine().line(format!("/proc/{pid}/comm")) {
            self.names.insert(pid, clean(name.trim_end()));
        }
        let maps = Root::machine().text(format!("/proc/{pid}/maps"));
        let maps = super::target::maps::Maps::parse(&maps.unwrap_or_default());
        let program = Root::machine().link(format!("/proc/{pid}/exe"));
        let paths: BTreeSet<PathBuf> = maps.paths().map(PathBuf::from).collect();
        for path in paths {
            if files::is_library(&path) || program.as_ref() == Some(&path) {
                self.add(&seen_by(pid, &path), &path)?;
            }
        }
        Ok(())
    }

    /// A process has mapped a file. What it called before the probes were there is not counted.
    pub fn mapped(&mut self, pid: u32, path: &str) {
        let path = Path::new(path);
        if !files::is_library(path) {
            return;
        }
        let before = self.targets.len();
        if let Err(error) = self.add(&seen_by(pid, path), path) {
            self.troubles.push(error.to_string());
        }
        if self.targets.len() > before {
            self.troubles.push(format!(
                "{}: counted from some milliseconds after a process had mapped it",
                clean(path.display())
            ));
        }
    }

    /// A process has this name from now on.
    pub fn named(&mut self, pid: u32, name: &str) {
        self.names.insert(pid, clean(name));
    }

    /// A process has the name of its parent until it executes a program.
    pub fn forked(&mut self, pid: u32, parent: u32) {
        if let Some(name) = self.names.get(&parent) {
            self.names.insert(pid, name.clone());
        }
    }

    /// Adds the functions of a file, which messages call `shown`.
    fn add(&mut self, file: &Path, shown: &Path) -> Result<()> {
        if !self.files.is_new(file) {
            return Ok(());
        }
        let (entries, bad) = files::entries(file);
        if !bad.is_empty() {
            self.troubles.push(format!(
                "{}: {} not counted, because a probe on its first instruction can hurt the program",
                clean(shown.display()),
                bad.join(", ")
            ));
        }
        for entry in entries {
            self.probe(file, shown, entry)?;
        }
        Ok(())
    }

    fn probe(&mut self, file: &Path, shown: &Path, entry: Entry) -> Result<()> {
        let index = self.targets.len() as u32;
        let function = &FUNCTIONS[entry.function];
        let code = program::program(function, index, self.sums.descriptor());
        for whose in &self.whose {
            match Probe::new(*whose, file, entry.offset, &code) {
                Ok(probe) => self.probes.push(probe),
                // It has ended.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(refusal(&error)),
            }
        }
        self.targets.push(Target {
            file: shown.to_owned(),
            function: entry.function,
        });
        Ok(())
    }

    /// Ends counting. Of a command, the processes that the trace has seen count.
    pub fn finish(mut self, only_seen: bool) -> Counts {
        self.probes.clear();
        let all = self.sums.all();
        if all.len() as u32 >= MOST_ENTRIES {
            self.troubles
                .push("The table of counts was full: some calls are not counted.".to_owned());
        }
        let libcrypto = LibCrypto::open().ok();
        let mut rows: BTreeMap<(u32, u32, u32), Counted> = BTreeMap::new();
        for (key, sum) in all {
            if only_seen && !self.names.contains_key(&key.pid) {
                continue;
            }
            let row = rows.entry((key.pid, key.probe, key.algorithm));
            let row = row.or_insert_with(|| self.row(key, libcrypto.as_ref()));
            count(row, key, sum);
        }
        let mut calls: Vec<Counted> = rows.into_values().collect();
        calls
            .iter_mut()
            .for_each(|row| row.sizes.sort_by_key(|class| class.from));
        calls.sort_by_key(|row| std::cmp::Reverse((row.bytes, row.calls)));
        Counts {
            functions: self.targets.len(),
            calls,
            troubles: self.troubles,
        }
    }

    fn row(&self, key: Key, libcrypto: Option<&LibCrypto>) -> Counted {
        let target = self.targets.get(key.probe as usize);
        let function = target.map(|target| &FUNCTIONS[target.function]);
        let name = self.names.get(&key.pid).cloned();
        let name = name.or_else(|| {
            let line = Root::machine().line(format!("/proc/{}/comm", key.pid))?;
            Some(clean(line.trim_end()))
        });
        Counted {
            pid: key.pid,
            name,
            file: target.map_or(String::new(), |t| clean(t.file.display())),
            function: function.map_or("", |function| function.name),
            algorithm: match function.map(|function| function.algorithm) {
                Some(Algorithm::Named(name)) => Some(name.to_owned()),
                Some(Algorithm::Evp) => cipher(key.algorithm, libcrypto),
                _ => None,
            },
            calls: 0,
            bytes: 0,
            in_place: 0,
            without_output: 0,
            sizes: Vec::new(),
        }
    }
}

/// Adds an entry of the kernel's map to its row.
fn count(row: &mut Counted, key: Key, sum: Sum) {
    row.calls += sum.calls;
    row.bytes += sum.bytes;
    match key.placement {
        p if p == Placement::InPlace as u16 => row.in_place += sum.calls,
        p if p == Placement::None as u16 => row.without_output += sum.calls,
        _ => {}
    }
    let from = match key.bits {
        0 => 0,
        bits => 1u64 << (bits - 1).min(63),
    };
    match row.sizes.iter_mut().find(|class| class.from == from) {
        Some(class) => {
            class.calls += sum.calls;
            class.bytes += sum.bytes;
        }
        None => row.sizes.push(SizeClass {
            from,
            to: from.saturating_mul(2).saturating_sub(1),
            calls: sum.calls,
            bytes: sum.bytes,
        }),
    }
}

/// The name of an algorithm by its number in OpenSSL, which stays the same in all versions.
fn cipher(nid: u32, libcrypto: Option<&LibCrypto>) -> Option<String> {
    let nid = i32::try_from(nid).ok().filter(|nid| *nid != 0)?;
    let known = libcrypto.and_then(|libcrypto| {
        // SAFETY: OBJ_nid2ln() takes any number, and returns a C string or NULL.
        unsafe { string((libcrypto.functions.OBJ_nid2ln)(nid)) }
    });
    Some(known.unwrap_or_else(|| format!("NID {nid}")))
}

/// A file of a process, as this process finds it.
fn seen_by(pid: u32, path: &Path) -> PathBuf {
    let root = Root::machine();
    root.of_process(pid)
        .map_or(path.to_owned(), |view| view.path(path))
}

fn refusal(error: &io::Error) -> Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "this needs root (CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN); `tenrounds run --count -- COMMAND` counts without it what tenrounds executes".to_owned()
        }
        Some(libc::EOPNOTSUPP | libc::ENOSYS) => {
            "this kernel has no uprobes or no BPF (CONFIG_UPROBE_EVENTS, CONFIG_BPF_SYSCALL)".to_owned()
        }
        Some(libc::EMFILE) => {
            "each function and process takes two open files; raise the limit (ulimit -n), or count fewer processes".to_owned()
        }
        _ => error.to_string(),
    };
    Error::failure(format!("cannot count calls: {why}"))
}
