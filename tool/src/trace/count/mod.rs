// SPDX-License-Identifier: BSD-2-Clause
//! `trace --count`: exact calls and bytes of the functions that encrypt and decrypt, by probes at
//! their beginnings; and what tenrounds executes, by the counters of `run --count`.

mod bulk;
mod callers;
mod files;
mod functions;
mod names;
mod ours;
mod program;
mod script;

use super::bpf::assembler::Whose;
use super::bpf::system::{everybody, is_general, takes_many, Kind, Map, Probe};
use super::result::{Counted, Counts, SizeClass};
use super::target::maps::{Mapping, Maps};
use super::target::module;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::root::Root;
use crate::style::clean;
use bulk::Site;
use callers::Callers;
use classify::Argument;
use files::{Entry, Files};
use functions::{Algorithm, FUNCTIONS};
use ours::Ours;
use program::{Key, Placement, Sum};
pub use script::script;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Entries of the kernel's map: a process, function, algorithm, size class and placement each.
const MOST_ENTRIES: u32 = 1 << 16;
/// More files are not examined, and more troubles not listed: a process may map any number of
/// files. Each program counts, so that the number must be above that of the programs of a machine.
const MOST_FILES: usize = 4096;
const MOST_TROUBLES: usize = 64;
/// Entries of the map of what tenrounds executes: a process, host, operation and backend each.
const MOST_BULK: u32 = 1 << 14;

/// What a probe counts.
struct Target {
    file: PathBuf,
    function: usize,
}

/// A file with functions that are not probed yet.
struct Waiting {
    file: File,
    /// The name for messages.
    shown: PathBuf,
    entries: Vec<Entry>,
    /// Static probes of tenrounds.
    sites: Vec<Site>,
}

/// What the kernel needs to count.
struct Kernel {
    sums: Map<Key, Sum>,
    whose: Vec<Whose>,
    probes: Vec<Probe>,
    /// What tenrounds executes in processes that do not count it themselves.
    bulk: Option<Map<bulk::Key, Sum>>,
}

/// Counts calls, once `enable` was called.
pub struct Counter {
    /// None: the kernel refuses, and only what tenrounds executes is counted.
    kernel: Option<Kernel>,
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
        let whose = match named.is_empty() {
            true => vec![everybody()],
            false => named.iter().map(|pid| Whose::Process(*pid)).collect(),
        };
        let running = || {
            let names = Root::machine().names("/proc");
            names.iter().filter_map(|name| name.parse().ok()).collect()
        };
        let pids: BTreeSet<u32> = if named.is_empty() { running() } else { named };
        let ours = Ours::of(pids.iter().copied());
        let mut counter = match Kernel::new(whose) {
            Ok(kernel) => Counter::new(Some(kernel), ours),
            Err(error) if ours.is_empty() => return Err(error),
            Err(error) => {
                let mut counter = Counter::new(None, ours);
                counter.trouble(only_ours(&error));
                counter
            }
        };
        counter.by_probes = counter.kernel.is_some();
        for pid in pids {
            counter.add_files_of(pid);
        }
        Ok(counter)
    }

    /// Counts in a program that is about to start, and in what it starts. The files are those that
    /// are installed; others are added when they are mapped.
    pub fn of_command(program: &Path) -> Result<Counter> {
        let kernel = Kernel::new(vec![everybody()])?;
        let mut counter = Counter::new(Some(kernel), Ours::of([]));
        let installed = files::installed();
        for file in installed.iter().map(PathBuf::as_path).chain([program]) {
            // The name that a process maps it by.
            let shown = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
            if let Ok(file) = Root::machine().open(&shown) {
                counter.add(file, &shown);
            }
        }
        Ok(counter)
    }

    fn new(kernel: Option<Kernel>, ours: Ours) -> Counter {
        Counter {
            kernel,
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

    /// The functions that `enable` will count, and the files that have them.
    pub fn extent(&self) -> (usize, usize) {
        let functions = self.waiting.iter().map(|file| file.entries.len());
        let files = self.waiting.iter().filter(|file| !file.entries.is_empty());
        (functions.sum(), files.count())
    }

    /// Whether `enable` will put probes of tenrounds.
    pub fn has_sites(&self) -> bool {
        self.waiting.iter().any(|file| !file.sites.is_empty())
    }

    /// Whether processes are slowed down that are not traced.
    pub fn is_everywhere(&self) -> bool {
        let kernel = self.kernel.as_ref();
        kernel.is_some_and(|kernel| {
            let everybody = |whose: &Whose| matches!(whose, Whose::Everybody(_));
            kernel.whose.iter().any(everybody)
        })
    }

    /// Whether the kernel counts nothing.
    pub fn is_refused(&self) -> bool {
        self.kernel.is_none()
    }

    /// Begins to count, by probes that the calls pay for. Only what concerns all functions is an
    /// error.
    pub fn enable(&mut self) -> Result<()> {
        match self.put() {
            Err(error) if !self.ours.is_empty() => {
                self.kernel = None;
                self.targets.clear(); // their probes went with the kernel's part
                self.trouble(only_ours(&error));
            }
            other => other?,
        }
        // Probes take a while to be put.
        self.ours.begin();
        Ok(())
    }

    /// Puts the probes of the files that wait for them.
    fn put(&mut self) -> Result<()> {
        let mut waiting = std::mem::take(&mut self.waiting);
        // Those with many static probes, which only some kernels take, do not keep others waiting.
        waiting.sort_by_key(|file| !file.sites.is_empty());
        for file in waiting {
            self.probe_file(&file)?;
            self.probe_sites(&file)?;
        }
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
            let is_ours = self.by_probes && files::is_ours(path) && !self.ours.counts(pid);
            if files::is_library(path) || is_ours || program.as_deref() == Some(path) {
                self.add_mapped(pid, mapping);
            }
        }
    }

    /// A process has mapped a file. What it called before the probes were there is not counted.
    pub fn mapped(&mut self, pid: u32, mapping: &Mapping) {
        self.callers.mapped(pid, mapping);
        self.ours.mapped(pid);
        let path = Path::new(&mapping.path);
        let is_ours = self.by_probes && files::is_ours(path) && !self.ours.counts(pid);
        if !files::is_library(path) && !is_ours {
            return;
        }
        let count = |counter: &Counter| counter.kernel.as_ref().map_or(0, |it| it.probes.len());
        let before = count(self);
        self.add_mapped(pid, mapping);
        if let Err(error) = self.put() {
            self.trouble(error.to_string());
        }
        if count(self) > before {
            self.trouble(format!(
                "{}: counted from some milliseconds after a process had mapped it",
                clean(&mapping.path)
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
        if self.kernel.is_none() {
            return;
        }
        match module::open(pid, mapping) {
            Some((file, _)) => self.add(file, Path::new(&mapping.path)),
            None => self.trouble(format!(
                "{}: not counted, because the file that process {pid} has mapped cannot be opened",
                clean(&mapping.path)
            )),
        }
    }

    /// Adds the functions of a file, which messages call `shown`.
    fn add(&mut self, file: File, shown: &Path) {
        if self.files.count() >= MOST_FILES {
            self.trouble(format!(
                "Files after the first {MOST_FILES} are not counted."
            ));
            return;
        }
        if !self.files.is_new(&file) {
            return;
        }
        let found = match files::examine(&file, files::is_library(shown), self.by_probes) {
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
        let mut sites = found.sites;
        if self.by_probes && (files::is_ours(shown) || !sites.is_empty() || found.bad_sites > 0) {
            let why = match found.bad_sites {
                _ if !takes_many() => Some("this needs Linux 6.11".to_owned()),
                0 if sites.is_empty() => Some("the file has no static probes".to_owned()),
                0 => None,
                count => Some(format!("{count} of its static probes are of another kind")),
            };
            if let Some(why) = why {
                self.trouble(not_executed(shown, &why));
                sites.clear();
            }
        }
        if !found.entries.is_empty() || !sites.is_empty() {
            self.waiting.push(Waiting {
                file,
                shown: shown.to_owned(),
                entries: found.entries,
                sites,
            });
        }
    }

    /// Puts the static probes of a file, in processes that do not count themselves.
    fn probe_sites(&mut self, waiting: &Waiting) -> Result<()> {
        let Some(kernel) = self.kernel.as_mut().filter(|_| !waiting.sites.is_empty()) else {
            return Ok(());
        };
        if kernel.bulk.is_none() {
            kernel.bulk = Some(Map::new(MOST_BULK).map_err(|error| refusal(&error))?);
        }
        let map = kernel.bulk.as_ref().map_or(-1, Map::descriptor);
        let mut arguments: Vec<&[Argument; 3]> = Vec::new();
        let mut places = Vec::new();
        for site in &waiting.sites {
            let known = arguments.iter().position(|known| **known == site.arguments);
            let index = known.unwrap_or_else(|| {
                arguments.push(&site.arguments);
                arguments.len() - 1
            });
            places.push((site.offset, index as u64));
        }
        let host = waiting.sites[0].host;
        let mut troubles = Vec::new();
        for whose in &kernel.whose {
            let counts = matches!(whose, Whose::Process(pid) if self.ours.counts(*pid));
            if counts && !bulk::is_program(host) {
                continue;
            }
            let code = bulk::program(host, &arguments, map, *whose);
            match Probe::at_many(*whose, &waiting.file, &places, &code) {
                Ok(probe) => kernel.probes.push(probe),
                Err(error) if is_general(&error) => return Err(refusal(&error)),
                Err(error) => troubles.push(not_executed(&waiting.shown, &explained(&error))),
            }
        }
        troubles.into_iter().for_each(|text| self.trouble(text));
        Ok(())
    }

    /// Probes all functions of a file, at once where the kernel can.
    fn probe_file(&mut self, waiting: &Waiting) -> Result<()> {
        /// Fewer are put one by one.
        const FEW: usize = 5;
        let is_tried = waiting.entries.len() > FEW && takes_many();
        if !(is_tried && self.probe_at_once(waiting)) {
            for entry in &waiting.entries {
                self.probe(&waiting.file, &waiting.shown, entry)?;
            }
        }
        Ok(())
    }

    /// Probes all functions of a file, if the kernel can do so for each process.
    fn probe_at_once(&mut self, waiting: &Waiting) -> bool {
        let Some(kernel) = &mut self.kernel else {
            return false;
        };
        let first = self.targets.len() as u32;
        let sums = kernel.sums.descriptor();
        let entries = waiting.entries.iter().enumerate();
        let places: Vec<(u64, u64)> = entries.map(|(at, it)| (it.offset, at as u64)).collect();
        let put = |whose: &Whose| {
            let code = program::of_many(&waiting.entries, first, sums, *whose);
            Probe::at_many(*whose, &waiting.file, &places, &code)
        };
        let Ok(probes) = kernel.whose.iter().map(put).collect::<io::Result<Vec<_>>>() else {
            return false;
        };
        kernel.probes.extend(probes);
        self.targets
            .extend(waiting.entries.iter().map(|entry| Target {
                file: waiting.shown.clone(),
                function: entry.function,
            }));
        true
    }

    /// Probes a function.
    fn probe(&mut self, file: &File, shown: &Path, entry: &Entry) -> Result<()> {
        let Some(kernel) = &mut self.kernel else {
            return Ok(());
        };
        let index = self.targets.len() as u32;
        let function = &FUNCTIONS[entry.function];
        let sums = kernel.sums.descriptor();
        let before = kernel.probes.len();
        let mut troubles = Vec::new();
        for whose in kernel.whose.clone() {
            let code = program::program(entry, index, sums, whose);
            match Probe::in_file(whose, file, entry.offset, &code) {
                Ok(probe) => kernel.probes.push(probe),
                Err(error) if is_general(&error) => return Err(refusal(&error)),
                Err(error) => troubles.push(format!(
                    "{}: {} not counted{}: {}",
                    clean(shown.display()),
                    function.name,
                    match whose {
                        Whose::Process(pid) => format!(" in process {pid}"),
                        Whose::Everybody(_) => String::new(),
                    },
                    explained(&error)
                )),
            }
        }
        if kernel.probes.len() > before {
            self.targets.push(Target {
                file: shown.to_owned(),
                function: entry.function,
            });
        }
        troubles.into_iter().for_each(|text| self.trouble(text));
        Ok(())
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        self.ours.stop();
        if let Some(kernel) = &mut self.kernel {
            kernel.probes.clear();
        }
    }

    /// The counts. Of a command, the processes count that the trace has seen; if records of the
    /// trace were lost, some of them may be missing.
    pub fn finish(mut self, only_seen: bool, lost: bool) -> Counts {
        self.stop();
        let all = self.kernel.as_ref().map(|kernel| kernel.sums.all());
        let mut all = all.unwrap_or_default();
        if all.len() as u32 >= MOST_ENTRIES {
            self.trouble("The table of counts was full: some calls are not counted.".to_owned());
        }
        let calls = all.iter().filter(|(key, _)| key.pid == 0);
        let calls = calls.map(|(_, sum)| sum.calls).fold(0, u64::saturating_add);
        all.retain(|(key, _)| key.pid != 0);
        let bulk = self.kernel.as_ref().and_then(|kernel| kernel.bulk.as_ref());
        if bulk.is_some_and(|sums| sums.all().len() as u32 >= MOST_BULK) {
            self.trouble(
                "The table of what tenrounds executes was full: some of it is not counted."
                    .to_owned(),
            );
        }
        let bulk = self.kernel.as_ref().and_then(|kernel| kernel.bulk.as_ref());
        let operations = bulk.map_or(0, bulk::elsewhere);
        self.left_out(calls, "calls");
        self.left_out(operations, "operations of tenrounds");
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
        let mut rows: BTreeMap<(u32, u32, u32, Option<&str>), Counted> = BTreeMap::new();
        for (key, sum) in all {
            if only_seen && !self.names.contains_key(&key.pid) {
                continue;
            }
            let caller = self.callers.at(key.pid, key.caller << program::PAGE_BITS);
            let row = rows.entry((key.pid, key.probe, key.algorithm, caller));
            let row = row.or_insert_with(|| self.row(key, caller, libcrypto.as_ref()));
            count(row, key, sum);
        }
        let mut calls: Vec<Counted> = rows.into_values().collect();
        calls.sort_by_key(|row| std::cmp::Reverse((row.bytes, row.calls)));
        let mut executed = self.ours.rows(&self.names);
        if let Some(sums) = self.kernel.as_ref().and_then(|kernel| kernel.bulk.as_ref()) {
            executed.extend(bulk::rows(sums, &self.names, |pid| self.ours.counts(pid)));
            ours::sort(&mut executed);
        }
        Counts {
            refused: self.is_refused(),
            functions: self.targets.len(),
            calls,
            executed,
            troubles: self.troubles,
        }
    }

    /// Says what was counted in other PID namespaces.
    fn left_out(&mut self, count: u64, what: &str) {
        if count > 0 {
            self.trouble(format!(
                "{count} {what} in other PID namespaces are left out: the PIDs of their processes \
                 are not known in this one. To count a process of a namespace further in, name it \
                 with -p."
            ));
        }
    }

    fn row(&self, key: Key, caller: Option<&str>, libcrypto: Option<&LibCrypto>) -> Counted {
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
                Some(Algorithm::Read(_, names)) => names.of(key.algorithm, libcrypto),
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

impl Kernel {
    fn new(whose: Vec<Whose>) -> Result<Kernel> {
        Kind::User.number().map_err(|error| refusal(&error))?;
        Ok(Kernel {
            sums: Map::new(MOST_ENTRIES).map_err(|error| refusal(&error))?,
            whose,
            probes: Vec::new(),
            bulk: None,
        })
    }
}

/// Adds an entry of the kernel's map to its row. The traced program chooses the lengths.
fn count(row: &mut Counted, key: Key, sum: Sum) {
    let add = |to: &mut u64, more: u64| *to = to.saturating_add(more);
    add(&mut row.calls, sum.calls);
    add(&mut row.bytes, sum.bytes);
    match key.placement {
        p if p == Placement::InPlace as u16 => add(&mut row.in_place, sum.calls),
        p if p == Placement::None as u16 => add(&mut row.without_output, sum.calls),
        _ => {}
    }
    SizeClass::add(&mut row.sizes, key.bits.into(), sum.calls, sum.bytes);
}

fn only_ours(error: &Error) -> String {
    format!("Only what tenrounds executes is counted: {error}")
}

fn not_executed(file: &Path, why: &str) -> String {
    format!(
        "{}: what tenrounds executes is not counted: {why}. `tenrounds run --count` counts it",
        clean(file.display())
    )
}

/// The process of a thread.
fn process_of(id: u32) -> u32 {
    let status = Root::machine().text(format!("/proc/{id}/status"));
    let status = status.unwrap_or_default();
    let tgid = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    tgid.and_then(|tgid| tgid.trim().parse().ok()).unwrap_or(id)
}

fn explained(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ESRCH) => "it has ended".to_owned(),
        Some(libc::EMFILE) => {
            "too many files are open; raise the limit (ulimit -n), or count fewer processes"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

fn refusal(error: &io::Error) -> Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "this needs root (CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN). `tenrounds run --count -- COMMAND` needs no root, but counts only what tenrounds executes".to_owned()
        }
        Some(libc::EOPNOTSUPP | libc::ENOSYS) => {
            "this kernel has no uprobes or no BPF (CONFIG_UPROBE_EVENTS, CONFIG_BPF_SYSCALL)".to_owned()
        }
        _ => explained(error),
    };
    Error::failure(format!("cannot count calls: {why}"))
}
