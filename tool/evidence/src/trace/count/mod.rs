// SPDX-License-Identifier: BSD-2-Clause
//! `trace --count`: exact calls and bytes of the functions that encrypt and decrypt, by bpftrace's
//! probes at their beginnings.

mod files;
mod functions;

use super::bpftrace::{self, Bpftrace, Maps as Rows};
use super::result::{Counted, Counts, Sums};
use super::target::module;
use super::traced::Traced;
use base::needed;
use base::root::Root;
use files::Files;
use functions::FUNCTIONS;
use libcrypto::LibCrypto;
use mappings::{Mapping, Maps};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};
use terminal::style::clean;

/// More files are not examined, and more troubles not listed: a process may map any number of
/// files. Each program counts, so that the number must be above that of the programs of a machine.
const MOST_FILES: usize = 4096;
const MOST_TROUBLES: usize = 64;

/// The map of the script that has the calls.
const CALLS: &str = "@calls";

/// A file with functions that are not probed yet.
struct Waiting {
    /// The path by which bpftrace finds it.
    path: PathBuf,
    /// The name for messages.
    shown: PathBuf,
    functions: Vec<usize>,
}

/// Counts calls, once `enable` was called.
#[derive(Default)]
pub struct Counter {
    bpftrace: Option<Bpftrace>,
    /// What bpftrace counted, once it has ended.
    counted: Rows,
    files: Files,
    waiting: Vec<Waiting>,
    /// The file and the function of each probe.
    probes: Vec<(PathBuf, usize)>,
    troubles: Vec<String>,
}

impl Counter {
    /// Counts in the files that these processes have mapped.
    pub fn of_processes(pids: &[u32]) -> Result<Counter> {
        bpftrace::able().map_err(|why| refusal(&why))?;
        let mut counter = Counter::default();
        for pid in pids.iter().filter(|pid| **pid != std::process::id()) {
            let program = Root::machine().link(format!("/proc/{pid}/exe"));
            for mapping in Maps::of(*pid).all() {
                let path = Path::new(&mapping.path);
                if files::is_libcrypto(path) || program.as_deref() == Some(path) {
                    counter.add_mapped(*pid, mapping);
                }
            }
        }
        Ok(counter)
    }

    /// Counts in a program that is about to start, and in what it starts. The files are the
    /// program, the libraries that are loaded with it, and libcrypto, which it may load later.
    pub fn of_command(program: &Path) -> Result<Counter> {
        bpftrace::able().map_err(|why| refusal(&why))?;
        let mut counter = Counter::default();
        let libcrypto = LibCrypto::open().ok().map(|libcrypto| libcrypto.path);
        let needed = needed::of(program).found.into_iter();
        let needed = needed.map(|library| library.path);
        let libraries = needed.filter(|file| files::is_libcrypto(file));
        let program = program.to_owned();
        let files = libcrypto.into_iter().chain(libraries).chain([program]);
        files.for_each(|file| counter.add_file(file));
        Ok(counter)
    }

    fn add_file(&mut self, file: PathBuf) {
        // The name that a process maps it by.
        let shown = std::fs::canonicalize(&file).unwrap_or(file);
        if let Ok(file) = Root::machine().open(&shown) {
            self.add(&file, &shown, None);
        }
    }

    /// The functions that `enable` will count, and the files that have them.
    pub fn extent(&self) -> (usize, usize) {
        let functions = self.waiting.iter().map(|file| file.functions.len());
        let files = self.waiting.iter().filter(|it| !it.functions.is_empty());
        (functions.sum(), files.count())
    }

    /// Begins to count, by probes that the calls pay for.
    pub fn enable(&mut self) -> Result<()> {
        let text = self.script();
        if !text.is_empty() {
            let started = Bpftrace::start(&text, &[CALLS]).map_err(|why| refusal(&why))?;
            self.bpftrace = Some(started);
        }
        Ok(())
    }

    /// The probes for the files that wait; empty if there are none.
    fn script(&mut self) -> String {
        let mut probes = Vec::new();
        for file in std::mem::take(&mut self.waiting) {
            for function in file.functions {
                let path = file.path.display().to_string();
                let index = self.probes.len();
                let known = &FUNCTIONS[function];
                probes.push(json!({"index": index, "path": path, "function": known}));
                self.probes.push((file.shown.clone(), function));
            }
        }
        bpftrace::script(include_str!("calls.bt"), &json!({ "probes": probes }))
    }

    fn trouble(&mut self, text: String) {
        if self.troubles.len() < MOST_TROUBLES && !self.troubles.contains(&text) {
            self.troubles.push(text);
        }
    }

    /// Looks for files that processes have loaded since the counter was made: bpftrace may take
    /// seconds to put its probes, and from now on the kernel tells of new files.
    pub fn loaded_meanwhile(&mut self, pids: &[u32]) {
        let own = std::process::id();
        let is_own =
            |pid: u32| pid == own || super::named::parent(&Root::machine(), pid) == Some(own);
        for pid in pids.iter().filter(|pid| !is_own(**pid)) {
            for mapping in Maps::of(*pid).all() {
                self.mapped(*pid, mapping);
            }
        }
    }

    /// A process has mapped a file. If it was not known before, its calls are not counted.
    pub fn mapped(&mut self, pid: u32, mapping: &Mapping) {
        if !files::is_libcrypto(Path::new(&mapping.path)) {
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

    fn add_mapped(&mut self, pid: u32, mapping: &Mapping) {
        match module::open(pid, mapping) {
            Some((file, _)) => self.add(&file, Path::new(&mapping.path), Some(pid)),
            None => self.trouble(format!(
                "{}: not counted, because the file that process {pid} has mapped cannot be opened",
                clean(&mapping.path)
            )),
        }
    }

    /// Adds the functions of a file, which messages call `shown`.
    fn add(&mut self, file: &File, shown: &Path, pid: Option<u32>) {
        if self.files.count() >= MOST_FILES {
            return self.trouble(format!(
                "Files after the first {MOST_FILES} are not counted."
            ));
        }
        if !self.files.is_new(file) {
            return;
        }
        let name = clean(shown.display());
        let found = match files::examine(file) {
            Ok(found) => found,
            Err(why) => return self.trouble(format!("{name}: not counted: {why}")),
        };
        if !found.bad.is_empty() {
            self.trouble(format!(
                "{name}: {} not counted, because a probe on its first instruction can hurt the program",
                found.bad.join(", ")
            ));
        }
        if found.functions.is_empty() {
            return;
        }
        match path_of(file, shown, pid) {
            Some(path) => self.waiting.push(Waiting {
                path,
                shown: shown.to_owned(),
                functions: found.functions,
            }),
            None => self.trouble(format!(
                "{name}: not counted, because bpftrace cannot find it by a name"
            )),
        }
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        match self.bpftrace.take().map(Bpftrace::finish) {
            Some(Ok(counted)) => self.counted = counted,
            Some(Err(why)) => self.trouble(format!("Calls are not counted: {why}.")),
            None => {}
        }
    }

    /// The counts of the traced processes. If records of the trace were lost, some processes may be
    /// missing that were started meanwhile.
    pub fn finish(mut self, traced: &Traced, lost: bool) -> Counts {
        self.stop();
        if self.counted.is_full(CALLS) {
            self.trouble("A table of counts was full: some calls are not counted.".to_owned());
        }
        if lost && !traced.is_everybody() {
            let text = "Records of the trace were lost: processes that were started meanwhile may be missing.";
            self.trouble(text.to_owned());
        }
        Counts {
            functions: self.probes.len(),
            calls: self.calls(traced),
            troubles: self.troubles,
        }
    }

    fn calls(&self, traced: &Traced) -> Vec<Counted> {
        let libcrypto = LibCrypto::open().ok();
        let mut rows: BTreeMap<(u32, usize, u32), Counted> = BTreeMap::new();
        for ([probe, pid, number, bits, placement], sum) in self.counted.sums(CALLS) {
            let (pid, probe, number) = (pid as u32, probe as usize, number as u32);
            let known = self.probes.get(probe).filter(|_| traced.has(pid));
            let Some((file, function)) = known else {
                continue;
            };
            let function = &FUNCTIONS[*function];
            let row = rows.entry((pid, probe, number)).or_insert_with(|| Counted {
                pid,
                name: traced.name(pid),
                file: clean(file.display()),
                function: function.name,
                algorithm: functions::name_of(number, libcrypto.as_ref()),
                sums: Sums::default(),
                in_place: 0,
                without_output: 0,
            });
            row.sums.add(bits, sum);
            match placement {
                1 => row.in_place = row.in_place.saturating_add(sum.calls),
                2 => row.without_output = row.without_output.saturating_add(sum.calls),
                _ => {}
            }
        }
        let mut calls: Vec<Counted> = rows.into_values().collect();
        calls.sort_by_key(|row| std::cmp::Reverse((row.sums.bytes, row.sums.calls)));
        calls
    }
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

fn refusal(why: &str) -> Error {
    Error::failure(format!(
        "cannot count calls: {why}. `tenrounds run --count -- COMMAND` needs neither root nor \
         bpftrace, but counts only what tenrounds executes"
    ))
}
