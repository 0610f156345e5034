// SPDX-License-Identifier: BSD-2-Clause
//! `trace --count`: exact calls and bytes of the functions that encrypt and decrypt, by bpftrace's
//! probes at their beginnings; and what tenrounds executes, by the counters of `run --count` or by
//! its static probes.

mod callers;
mod files;
mod functions;
mod names;
mod ours;
mod script;

use super::bpftrace::{self, Bpftrace, Maps as Rows, Sum};
use super::result::{Counted, Counts, SizeClass};
use super::target::maps::{Mapping, Maps};
use super::target::module;
use crate::needed;
use crate::root::Root;
use callers::Callers;
use files::{Entry, Files};
use functions::{Algorithm, FUNCTIONS};
use libcrypto::LibCrypto;
use ours::Ours;
pub use script::printed as script;
use script::{CALLS, EXECUTED};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};
use terminal::style::clean;

/// More files are not examined, and more troubles not listed: a process may map any number of
/// files. Each program counts, so that the number must be above that of the programs of a machine.
const MOST_FILES: usize = 4096;
const MOST_TROUBLES: usize = 64;

/// What a probe counts.
struct Target {
    file: PathBuf,
    function: usize,
}

/// A file with functions that are not probed yet.
struct Waiting {
    /// The path by which bpftrace finds it.
    path: PathBuf,
    /// The name for messages.
    shown: PathBuf,
    entries: Vec<Entry>,
    /// Of tenrounds, with static probes.
    host: Option<usize>,
}

/// The named processes, or all if none is named.
fn or_running(named: &BTreeSet<u32>) -> BTreeSet<u32> {
    if !named.is_empty() {
        return named.clone();
    }
    let names = Root::machine().names("/proc");
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Whether this is our process or a child of it, such as bpftrace.
fn is_own(pid: u32) -> bool {
    let own = std::process::id();
    let parent = format!("PPid:\t{own}");
    let status = Root::machine().text(format!("/proc/{pid}/status"));
    pid == own || status.is_ok_and(|status| status.lines().any(|line| line == parent))
}

/// Counts calls, once `enable` was called.
pub struct Counter {
    /// Only what tenrounds executes is counted.
    is_refused: bool,
    bpftrace: Option<Bpftrace>,
    /// What bpftrace counted, once it has ended.
    counted: Rows,
    /// The processes that are counted; none for all.
    pids: BTreeSet<u32>,
    files: Files,
    waiting: Vec<Waiting>,
    targets: Vec<Target>,
    ours: Ours,
    /// Whether static probes of tenrounds count, too. A command is better run under `run --count`.
    by_probes: bool,
    callers: Callers,
    /// Names of the processes that the trace has seen, the latest of each.
    names: HashMap<u32, String>,
    troubles: Vec<String>,
}

impl Counter {
    /// Counts in processes, or in all if none is named. The files are those that they have mapped.
    pub fn of_processes(ids: &[u32]) -> Result<Counter> {
        // The ID of a thread stands for its process.
        let named: BTreeSet<u32> = ids.iter().map(|id| process_of(*id)).collect();
        let pids = or_running(&named);
        let mut counter = Counter::new(Ours::of(pids.iter().copied()), named);
        if let Err(why) = bpftrace::able() {
            counter.refuse(&why)?;
        }
        counter.by_probes = !counter.is_refused;
        for pid in pids {
            counter.add_files_of(pid);
        }
        Ok(counter)
    }

    /// Counts in a program that is about to start, and in what it starts. The files are the
    /// program, the libraries that are loaded with it, and libcrypto, which it may load later.
    pub fn of_command(program: &Path) -> Result<Counter> {
        bpftrace::able().map_err(|why| refusal(&why))?;
        let mut counter = Counter::new(Ours::of([]), BTreeSet::new());
        let libcrypto = files::installed().into_iter();
        let libcrypto = libcrypto.filter(|file| files::is_libcrypto(file));
        let needed = needed::of(program).found.into_iter();
        let needed = needed.map(|library| library.path);
        let libraries = needed.filter(|file| files::is_library(file));
        for file in libcrypto.chain(libraries).chain([program.to_owned()]) {
            // The name that a process maps it by.
            let shown = std::fs::canonicalize(&file).unwrap_or(file);
            if let Ok(file) = Root::machine().open(&shown) {
                counter.add(&file, &shown, None);
            }
        }
        Ok(counter)
    }

    fn new(ours: Ours, pids: BTreeSet<u32>) -> Counter {
        Counter {
            is_refused: false,
            bpftrace: None,
            counted: Rows::default(),
            pids,
            files: Files::default(),
            waiting: Vec::new(),
            targets: Vec::new(),
            ours,
            by_probes: false,
            callers: Callers::default(),
            names: HashMap::new(),
            troubles: Vec::new(),
        }
    }

    /// Counts only what tenrounds executes. Fails if nothing does.
    fn refuse(&mut self, why: &str) -> Result<()> {
        let error = refusal(why);
        if self.ours.is_empty() {
            return Err(error);
        }
        self.is_refused = true;
        self.targets.clear();
        self.waiting.clear();
        self.trouble(format!("Only what tenrounds executes is counted: {error}"));
        Ok(())
    }

    /// The functions that `enable` will count, and the files that have them.
    pub fn extent(&self) -> (usize, usize) {
        let functions = self.waiting.iter().map(|file| file.entries.len());
        let files = self.waiting.iter().filter(|file| !file.entries.is_empty());
        (functions.sum(), files.count())
    }

    /// Whether `enable` will put probes of tenrounds.
    pub fn has_sites(&self) -> bool {
        self.waiting.iter().any(|file| file.host.is_some())
    }

    /// Whether bpftrace counts nothing.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Begins to count, by probes that the calls pay for.
    pub fn enable(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let condition = script::condition(&self.pids);
        let (mut calls, mut executed) = (String::new(), String::new());
        for file in waiting {
            for entry in file.entries {
                calls += &script::probe(&file.path, self.targets.len(), &entry, &condition);
                self.targets.push(Target {
                    file: file.shown.clone(),
                    function: entry.function,
                });
            }
            if let Some(host) = file.host {
                executed += &script::executed(&file.path, host, &condition);
            }
        }
        let parts = [(CALLS, calls), (EXECUTED, executed)];
        let parts = parts.iter().filter(|(_, text)| !text.is_empty());
        let (maps, texts): (Vec<&str>, Vec<&str>) =
            parts.map(|(map, text)| (*map, text.as_str())).unzip();
        if !maps.is_empty() {
            match Bpftrace::start(&texts.concat(), &maps) {
                Ok(started) => self.bpftrace = Some(started),
                Err(why) => self.refuse(&why)?,
            }
        }
        // Probes take a while to be put.
        self.ours.begin();
        Ok(())
    }

    fn trouble(&mut self, text: String) {
        if self.troubles.len() < MOST_TROUBLES && !self.troubles.contains(&text) {
            self.troubles.push(text);
        }
    }

    fn add_files_of(&mut self, pid: u32) {
        if let Some(name) = Root::machine().line(format!("/proc/{pid}/comm")) {
            self.names.insert(pid, clean(name.trim_end()));
        }
        let maps = Root::machine().text(format!("/proc/{pid}/maps"));
        let maps = Maps::parse(&maps.unwrap_or_default());
        // This program contains the core, too.
        let program = (pid != std::process::id())
            .then(|| Root::machine().link(format!("/proc/{pid}/exe")))
            .flatten();
        for mapping in maps.all() {
            self.callers.mapped(pid, mapping);
            let path = Path::new(&mapping.path);
            if self.is_counted(pid, path) || program.as_deref() == Some(path) {
                self.add_mapped(pid, mapping);
            }
        }
    }

    /// Looks for files that processes have loaded since the counter was made: bpftrace may take
    /// seconds to put its probes, and from now on the kernel tells of new files.
    pub fn loaded_meanwhile(&mut self) {
        for pid in or_running(&self.pids) {
            if is_own(pid) {
                continue;
            }
            let maps = Root::machine().text(format!("/proc/{pid}/maps"));
            for mapping in Maps::parse(&maps.unwrap_or_default()).all() {
                self.mapped(pid, mapping);
            }
        }
    }

    /// Whether a file that a process maps may have what is counted, by its name.
    fn is_counted(&self, pid: u32, path: &Path) -> bool {
        let is_ours = self.by_probes && files::is_ours(path) && !self.ours.counts(pid);
        files::is_library(path) || is_ours
    }

    /// A process has mapped a file. If it was not known before, its calls are not counted.
    pub fn mapped(&mut self, pid: u32, mapping: &Mapping) {
        self.callers.mapped(pid, mapping);
        self.ours.mapped(pid);
        let path = Path::new(&mapping.path);
        if !self.is_counted(pid, path) {
            return;
        }
        self.add_mapped(pid, mapping);
        for late in std::mem::take(&mut self.waiting) {
            self.trouble(format!(
                "{}: not counted, because a process loaded it after counting had begun. To count \
                 it, name the process with -p",
                clean(late.shown.display())
            ));
        }
    }

    /// A process has this name from now on, and perhaps another environment.
    pub fn named(&mut self, pid: u32, name: &str) {
        self.names.insert(pid, clean(name));
        self.ours.started(pid);
    }

    /// A process has the name of its parent until it executes a program.
    pub fn forked(&mut self, pid: u32, parent: u32) {
        if let Some(name) = self.names.get(&parent) {
            self.names.insert(pid, name.clone());
        }
        self.callers.forked(pid, parent);
        self.ours.forked(pid, parent);
    }

    fn add_mapped(&mut self, pid: u32, mapping: &Mapping) {
        if self.is_refused {
            return;
        }
        match module::open(pid, mapping) {
            Some((file, _)) => self.add(&file, Path::new(&mapping.path), Some(pid)),
            None => self.trouble(format!(
                "{}: not counted, because the file that process {pid} has mapped cannot be opened",
                clean(&mapping.path)
            )),
        }
    }

    /// Adds the functions of a file, which messages call `shown`, and which a process has mapped.
    fn add(&mut self, file: &File, shown: &Path, pid: Option<u32>) {
        if self.files.count() >= MOST_FILES {
            self.trouble(format!(
                "Files after the first {MOST_FILES} are not counted."
            ));
            return;
        }
        if !self.files.is_new(file) {
            return;
        }
        let found = match files::examine(file, files::is_library(shown), self.by_probes) {
            Ok(found) => found,
            Err(why) => {
                return self.trouble(format!("{}: not counted: {why}", clean(shown.display())))
            }
        };
        if !found.bad.is_empty() {
            self.trouble(format!(
                "{}: {} not counted, because a probe on its first instruction can hurt the program",
                clean(shown.display()),
                found.bad.join(", ")
            ));
        }
        if self.by_probes && files::is_ours(shown) && found.host.is_none() {
            self.trouble(format!(
                "{}: what tenrounds executes is not counted: the file has no static probes that \
                 can be. `tenrounds run --count` counts it",
                clean(shown.display())
            ));
        }
        if found.entries.is_empty() && found.host.is_none() {
            return;
        }
        match path_of(file, shown, pid) {
            Some(path) => self.waiting.push(Waiting {
                path,
                shown: shown.to_owned(),
                entries: found.entries,
                host: found.host,
            }),
            None => self.trouble(format!(
                "{}: not counted, because bpftrace cannot find it by a name",
                clean(shown.display())
            )),
        }
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        self.ours.stop();
        match self.bpftrace.take().map(Bpftrace::finish) {
            Some(Ok(counted)) => self.counted = counted,
            Some(Err(why)) => self.trouble(format!("Calls are not counted: {why}.")),
            None => {}
        }
    }

    /// The counts. Of a command, the processes count that the trace has seen; if records of the
    /// trace were lost, some of them may be missing.
    pub fn finish(mut self, only_seen: bool, lost: bool) -> Counts {
        self.stop();
        if [CALLS, EXECUTED]
            .iter()
            .any(|map| self.counted.is_full(map))
        {
            self.trouble("A table of counts was full: some calls are not counted.".to_owned());
        }
        if only_seen && lost {
            self.trouble(
                "Records of the trace were lost: processes that the command started may be missing."
                    .to_owned(),
            );
        }
        if self.ours.is_full() {
            self.trouble(format!(
                "What tenrounds executes is counted for the first {} commands under `run --count`.",
                ours::MOST_MEMORIES
            ));
        }
        let libcrypto = LibCrypto::open().ok();
        let mut rows: BTreeMap<(u32, usize, u32, Option<&str>), Counted> = BTreeMap::new();
        for ([probe, pid, algorithm, bits, placement, page], _, sum) in self.counted.sums(CALLS) {
            let (pid, probe, algorithm) = (pid as u32, probe as usize, algorithm as u32);
            let is_left_out = match only_seen {
                true => !self.names.contains_key(&pid),
                false => !self.pids.is_empty() && !self.pids.contains(&pid),
            };
            if is_left_out {
                continue;
            }
            let caller = self.callers.at(pid, page << script::PAGE_BITS);
            let row = rows.entry((pid, probe, algorithm, caller));
            let row =
                row.or_insert_with(|| self.row(pid, probe, algorithm, caller, libcrypto.as_ref()));
            count(row, bits, placement, sum);
        }
        let mut calls: Vec<Counted> = rows.into_values().collect();
        calls.sort_by_key(|row| std::cmp::Reverse((row.bytes, row.calls)));
        let mut executed = self.ours.rows(&self.names);
        let by_probes = self.counted.sums(EXECUTED);
        executed.extend(by_probes.iter().filter_map(|(numbers, backend, sum)| {
            let pid = numbers[1] as u32;
            let is_named = self.pids.is_empty() || self.pids.contains(&pid);
            let name = self.names.get(&pid).cloned();
            let row = self.ours.by_probe(*numbers, backend, *sum, name);
            row.filter(|_| is_named)
        }));
        ours::sort(&mut executed);
        Counts {
            refused: self.is_refused,
            functions: self.targets.len(),
            calls,
            executed,
            troubles: self.troubles,
        }
    }

    fn row(
        &self,
        pid: u32,
        probe: usize,
        algorithm: u32,
        caller: Option<&str>,
        libcrypto: Option<&LibCrypto>,
    ) -> Counted {
        let target = self.targets.get(probe);
        let function = target.map(|target| &FUNCTIONS[target.function]);
        let name = self.names.get(&pid).cloned();
        let name = name.or_else(|| {
            let line = Root::machine().line(format!("/proc/{pid}/comm"))?;
            Some(clean(line.trim_end()))
        });
        Counted {
            pid,
            name,
            file: target.map_or(String::new(), |t| clean(t.file.display())),
            function: function.map_or("", |function| function.name),
            algorithm: match function.map(|function| function.algorithm) {
                Some(Algorithm::Named(name)) => Some(name.to_owned()),
                Some(Algorithm::Read(_, names)) => names.of(algorithm, libcrypto),
                Some(Algorithm::Hidden) | None => None,
            },
            called_by: caller.map(clean),
            calls: 0,
            bytes: 0,
            in_place: 0,
            without_output: 0,
            sizes: Vec::new(),
        }
    }
}

/// Adds a row of bpftrace's map. The traced program chooses the lengths.
fn count(row: &mut Counted, bits: u64, placement: u64, sum: Sum) {
    let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
    add(&mut row.calls, sum.calls);
    add(&mut row.bytes, sum.bytes);
    match placement {
        1 => add(&mut row.in_place, sum.calls),
        2 => add(&mut row.without_output, sum.calls),
        _ => {}
    }
    SizeClass::add(&mut row.sizes, bits, sum.calls, sum.bytes);
}

/// The path by which bpftrace finds a file, perhaps below the root of a process that has mapped it.
fn path_of(file: &File, shown: &Path, pid: Option<u32>) -> Option<PathBuf> {
    let identity = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
    let wanted = file.metadata().map(identity).ok()?;
    let below = pid.map(|pid| PathBuf::from(format!("/proc/{pid}/root{}", shown.display())));
    let mut places = [Some(shown.to_owned()), below].into_iter().flatten();
    places.find(|path| {
        bpftrace::is_plain(path) && std::fs::metadata(path).is_ok_and(|it| identity(it) == wanted)
    })
}

/// The process of a thread.
fn process_of(id: u32) -> u32 {
    let status = Root::machine().text(format!("/proc/{id}/status"));
    let status = status.unwrap_or_default();
    let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    tgid.and_then(|tgid| tgid.trim().parse().ok()).unwrap_or(id)
}

fn refusal(why: &str) -> Error {
    Error::failure(format!(
        "cannot count calls: {why}. `tenrounds run --count -- COMMAND` needs neither root nor \
         bpftrace, but counts only what tenrounds executes"
    ))
}
