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
use functions::Function;
use libcrypto::LibCrypto;
use mappings::{Mapping, Maps};
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};
use terminal::output;
use terminal::style::{clean, item};

/// More files are not examined, and more troubles not listed: a process may map any number of
/// files. Each program counts, so that the number must be above that of the programs of a machine.
const MOST_FILES: usize = 4096;
const MOST_TROUBLES: usize = 64;

/// The map of the script that has the calls.
const CALLS: &str = "@calls";

/// A function in a file.
#[derive(Serialize)]
struct Probe {
    /// The path by which bpftrace finds the file.
    path: PathBuf,
    /// Its name for messages.
    #[serde(skip)]
    shown: PathBuf,
    function: &'static Function,
}

/// Counts calls.
#[derive(Default)]
pub struct Counter {
    /// None without functions to count.
    bpftrace: Option<Bpftrace>,
    /// Whether bpftrace was started: files that are found later are not counted.
    has_begun: bool,
    files: Files,
    probes: Vec<Probe>,
    troubles: Vec<String>,
}

impl Counter {
    fn able() -> Result<Counter> {
        bpftrace::able().map_err(|why| refusal(&why))?;
        Ok(Counter::default())
    }

    /// Counts in the files that these processes have mapped.
    pub fn of_processes(pids: &[u32]) -> Result<Counter> {
        let mut counter = Counter::able()?;
        for pid in pids.iter().filter(|pid| **pid != std::process::id()) {
            let program = Root::machine().link(format!("/proc/{pid}/exe"));
            for mapping in Maps::of(*pid).all() {
                let path = Path::new(&mapping.path);
                if files::is_libcrypto(path) || program.as_deref() == Some(path) {
                    counter.add_mapped(*pid, mapping);
                }
            }
        }
        counter.begin()
    }

    /// Counts in a program that is about to start, and in what it starts. The files are the
    /// program, the libraries that are loaded with it, and libcrypto, which it may load later.
    pub fn of_command(program: &Path) -> Result<Counter> {
        let mut counter = Counter::able()?;
        let libcrypto = LibCrypto::open().ok().map(|libcrypto| libcrypto.path);
        let needed = needed::of(program).found.into_iter();
        let needed = needed.map(|library| library.path);
        let libraries = needed.filter(|file| files::is_libcrypto(file));
        let program = program.to_owned();
        for file in libcrypto.into_iter().chain(libraries).chain([program]) {
            // The name that a process maps it by.
            let shown = std::fs::canonicalize(&file).unwrap_or(file);
            if let Ok(file) = Root::machine().open(&shown) {
                counter.add(&file, &shown, None);
            }
        }
        counter.begin()
    }

    /// Says what counting costs, and begins, by probes that the calls pay for.
    fn begin(mut self) -> Result<Counter> {
        let functions = self.probes.len();
        let text = match functions {
            0 => "No library with counted functions was found yet.".to_owned(),
            _ => {
                let files: BTreeSet<&Path> = self.probes.iter().map(|it| &*it.shown).collect();
                format!("Counting {functions} functions in {} files. Until the trace ends, each of their calls takes about 1 to 3 µs longer, in all processes: calls of 16 bytes become 20 to 30 times as slow.", files.len())
            }
        };
        output::err(item("", text));
        if functions > 0 {
            let context = json!({ "probes": self.probes });
            let text = bpftrace::script(include_str!("calls.bt"), &context);
            let started = Bpftrace::start(&text, &[CALLS]).map_err(|why| refusal(&why))?;
            self.bpftrace = Some(started);
        }
        self.has_begun = true;
        Ok(self)
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
        if files::is_libcrypto(Path::new(&mapping.path)) {
            self.add_mapped(pid, mapping);
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
        if self.has_begun {
            return self.trouble(format!(
                "{name}: not counted, because a process loaded it after counting had begun. To \
                 count it, name the process with -p"
            ));
        }
        let Some(path) = path_of(file, shown, pid) else {
            return self.trouble(format!(
                "{name}: not counted, because bpftrace cannot find it by a name"
            ));
        };
        self.probes
            .extend(found.functions.iter().map(|function| Probe {
                path: path.clone(),
                shown: shown.to_owned(),
                function,
            }));
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        self.bpftrace.iter_mut().for_each(Bpftrace::stop);
    }

    /// The counts of the traced processes. If records of the trace were lost, some processes may be
    /// missing that were started meanwhile.
    pub fn finish(mut self, traced: &Traced, lost: bool) -> Counts {
        let bpftrace = self.bpftrace.take();
        let counted = bpftrace.map(|it| it.finish(&mut self.troubles));
        let counted = counted.unwrap_or_default();
        if counted.is_full(CALLS) {
            self.trouble("A table of counts was full: some calls are not counted.".to_owned());
        }
        if lost && !traced.is_everybody() {
            let text = "Records of the trace were lost: processes that were started meanwhile may be missing.";
            self.trouble(text.to_owned());
        }
        Counts {
            functions: self.probes.len(),
            calls: calls(&counted, &self.probes, traced),
            troubles: self.troubles,
        }
    }
}

fn calls(counted: &Rows, probes: &[Probe], traced: &Traced) -> Vec<Counted> {
    let libcrypto = LibCrypto::open().ok();
    let mut rows: BTreeMap<(u32, usize, u32), Counted> = BTreeMap::new();
    for ([probe, pid, number, bits, placement], sum) in counted.sums(CALLS) {
        let (pid, probe, number) = (pid as u32, probe as usize, number as u32);
        let Some(known) = probes.get(probe).filter(|_| traced.has(pid)) else {
            continue;
        };
        let row = rows.entry((pid, probe, number)).or_insert_with(|| Counted {
            pid,
            name: traced.name(pid),
            file: clean(known.shown.display()),
            function: known.function.name,
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
