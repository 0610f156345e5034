// SPDX-License-Identifier: BSD-2-Clause
//! Follows the traced processes through their events, and classifies each sampled address once.

use super::sampler::{Event, Mapped, Sample};
use super::spots::{Place, Seen, Spot, Where};
use super::target::kernel::{self, Kernel};
use super::target::maps::{File, Mapping, Maps};
use super::target::memory::{Space, Tables};
use super::target::module::Modules;
use crate::root::Root;
use classify::hot::{Registers, Work};
use classify::{Around, Bounds};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

/// A process, from its start or exec to its end or next exec.
pub struct Subject {
    pub pid: u32,
    pub name: String,
    maps: Maps,
    /// When /proc/PID/maps was read last.
    read: Option<Instant>,
    tables: Tables,
    /// Classified addresses of memory without a file.
    anonymous: HashMap<(usize, u64), Spot>,
    pub samples: u64,
    pub kernel: u64,
    pub aes: u64,
    pub threads: HashSet<u32>,
    pub found: HashMap<Key, Found>,
}

/// The file, if there is one, and what its code does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub module: Option<usize>,
    pub work: Work,
}

/// Samples of one kind of work in one file.
#[derive(Clone)]
pub struct Found {
    pub samples: u64,
    pub threads: HashSet<u32>,
    pub places: HashMap<Place, u64>,
    /// Of the first sample.
    pub first: Seen,
    pub stitched: bool,
    pub decrypts: HashSet<Option<bool>>,
}

#[derive(Default)]
pub struct State {
    /// Whether instructions around samples are listed.
    evidence: bool,
    current: BTreeMap<u32, Subject>,
    /// Those that have ended or executed another program, with samples.
    past: Vec<Subject>,
    pub modules: Modules,
    /// Classified addresses of files.
    spots: HashMap<(usize, u64), Spot>,
    pub samples: u64,
    pub kernel: u64,
    /// Of the samples in the kernel, those in functions that copy between user space and the
    /// kernel.
    pub copies: u64,
    pub lost: u64,
    pub aes: u64,
    /// Samples in user space whose mapping or code could not be read.
    pub unexamined: u64,
    /// Samples in a kernel whose code can be read, but in no known function, or in code that cannot
    /// be read.
    pub unexamined_in_kernel: u64,
    system: System,
}

/// The kernel's code, which is read when its first sample comes.
#[derive(Default)]
struct System {
    kernel: Option<Result<Kernel, String>>,
    tables: Tables,
}

/// /proc/PID/maps is read again for an unknown address, but not more often.
const PATIENCE: Duration = Duration::from_millis(200);

impl State {
    pub fn new(evidence: bool) -> State {
        State {
            evidence,
            ..State::default()
        }
    }

    pub fn take(&mut self, event: Event) {
        match event {
            Event::Lost(count) => self.lost += count,
            Event::Forked { pid, parent } if pid != parent => self.forked(pid, parent),
            Event::Forked { .. } => {}
            Event::Ended { pid, tid } if pid == tid => self.ended(pid),
            Event::Ended { .. } => {}
            Event::Named {
                pid,
                tid,
                name,
                executed,
            } => self.named(pid, tid, name, executed),
            Event::Mapped(mapped) => self.mapped(mapped),
            Event::Sample(sample) => self.sampled(&sample),
        }
    }

    /// Counts an event that there is no time to handle.
    pub fn skip(&mut self, event: &Event) {
        match event {
            Event::Lost(count) => self.lost += count,
            Event::Sample(sample) if !is_ignored(sample) => {
                self.samples += 1;
                self.unexamined += 1;
            }
            _ => {}
        }
    }

    /// The work of AES with the most samples.
    pub fn strongest(&self) -> Option<Work> {
        let found = self.subjects().flat_map(|subject| &subject.found);
        let aes = found.filter(|(key, _)| key.work.is_aes());
        aes.max_by_key(|(_, found)| found.samples)
            .map(|(key, _)| key.work)
    }

    pub fn subjects(&self) -> impl Iterator<Item = &Subject> {
        self.past.iter().chain(self.current.values())
    }

    fn add(&mut self, subject: Subject) {
        self.retire(subject.pid);
        self.current.insert(subject.pid, subject);
    }

    /// Keeps a subject that gets no more samples, if it has any.
    fn retire(&mut self, pid: u32) {
        let ended = self.current.remove(&pid);
        self.past.extend(ended.filter(|ended| ended.samples > 0));
    }

    fn forked(&mut self, pid: u32, parent: u32) {
        // The process ID may have belonged to a process that has ended.
        self.retire(pid);
        if let Some(parent) = self.current.get(&parent) {
            let child = Subject::new(pid, parent.name.clone(), parent.maps.clone());
            self.add(child);
        }
    }

    /// Forgets a process without samples. One with samples may get more, from its other threads.
    fn ended(&mut self, pid: u32) {
        if self.current.get(&pid).is_some_and(|it| it.samples == 0) {
            self.retire(pid);
        }
    }

    fn named(&mut self, pid: u32, tid: u32, name: String, executed: bool) {
        let name = crate::style::clean(name);
        match executed {
            true => {
                self.add(Subject::new(pid, name, Maps::default()));
            }
            false if pid == tid => {
                subject(&mut self.current, pid).name = name;
            }
            false => {}
        }
    }

    fn mapped(&mut self, new: Mapped) {
        let mapping = new.mapping();
        // Other code may be there now.
        let subject = subject(&mut self.current, new.pid);
        subject
            .anonymous
            .retain(|(_, address), _| !mapping.range.contains(address));
        subject.maps.add(mapping);
    }

    fn sampled(&mut self, sample: &Sample) {
        if is_ignored(sample) {
            return;
        }
        let subject = subject(&mut self.current, sample.pid);
        self.samples += 1;
        subject.samples += 1;
        subject.threads.insert(sample.tid);
        if sample.kernel {
            self.kernel += 1;
            subject.kernel += 1;
            return self.sampled_in_kernel(sample);
        }
        let Some(mapping) = subject.mapping(sample.address) else {
            self.unexamined += 1;
            return;
        };
        let module = mapping
            .has_file()
            .then(|| self.modules.of(sample.pid, &mapping));
        let offset = mapping.offset_of(sample.address);
        let at = Where {
            space: Space::Process(sample.pid),
            address: sample.address,
            offset,
            mapping: &mapping,
            module: module.map(|module| &self.modules.list[module]),
            function: None,
            listed: self.evidence,
        };
        let spot = match module {
            Some(module) => self.spots.entry((module, offset)),
            None => subject.anonymous.entry((0, sample.address)),
        };
        let spot = spot.or_insert_with(|| Spot::new(&at));
        let Some(seen) = spot.seen(&at, &sample.numbered(), &mut subject.tables) else {
            self.unexamined += 1;
            return;
        };
        if count(&mut subject.found, sample, module, seen) {
            self.aes += 1;
            subject.aes += 1;
        }
    }

    fn sampled_in_kernel(&mut self, sample: &Sample) {
        let System { kernel, tables } = &mut self.system;
        let Ok(kernel) = kernel.get_or_insert_with(Kernel::read) else {
            return;
        };
        let Some(known) = kernel.function(sample.address) else {
            self.unexamined_in_kernel += 1;
            return;
        };
        self.copies += u64::from(kernel::copies(known.name));
        let module = self.modules.of_kernel(known.module);
        let function = Around {
            range: known.range.clone(),
            name: Some(known.name.to_owned()),
            bounds: Bounds::Symbol,
        };
        let memory = File {
            device: (0, 0),
            inode: 0,
        };
        let range = known.range;
        let mapping = Mapping::new(range.clone(), range.start, memory, "");
        let at = Where {
            space: Space::Kernel(kernel),
            address: sample.address,
            offset: sample.address,
            mapping: &mapping,
            module: None,
            function: Some(&function),
            listed: self.evidence,
        };
        let spot = self.spots.entry((module, sample.address));
        let spot = spot.or_insert_with(|| Spot::new(&at));
        // The registers of the sample are those of user space.
        let Some(seen) = spot.seen(&at, &Registers::default(), tables) else {
            self.unexamined_in_kernel += 1;
            return;
        };
        let subject = subject(&mut self.current, sample.pid);
        if count(&mut subject.found, sample, Some(module), seen) {
            self.aes += 1;
            subject.aes += 1;
        }
    }

    /// Why the kernel's code was not classified; None if it was, or had no samples.
    pub fn kernel_refusal(&self) -> Option<&str> {
        let read = self.system.kernel.as_ref()?;
        read.as_ref().err().map(String::as_str)
    }
}

/// Counts what a sample ran. Returns whether it is AES.
fn count(
    found: &mut HashMap<Key, Found>,
    sample: &Sample,
    module: Option<usize>,
    seen: &Seen,
) -> bool {
    let work = seen.running.work;
    if work == Work::Other {
        return false;
    }
    let found = found
        .entry(Key { module, work })
        .or_insert_with(|| Found::new(seen));
    found.samples += 1;
    found.threads.insert(sample.tid);
    found.stitched |= seen.running.stitched;
    found.decrypts.insert(seen.running.decrypts);
    *found.places.entry(seen.place.clone()).or_default() += 1;
    work.is_aes()
}

/// The subject of a process, which is new if the process was not seen before.
fn subject(current: &mut BTreeMap<u32, Subject>, pid: u32) -> &mut Subject {
    current.entry(pid).or_insert_with(|| Subject::of(pid))
}

/// Whether it is a sample of the idle task or of this process.
fn is_ignored(sample: &Sample) -> bool {
    sample.pid == 0 || sample.pid == std::process::id()
}

impl Found {
    pub fn merge(&mut self, other: &Found) {
        self.samples += other.samples;
        self.threads.extend(&other.threads);
        for (place, samples) in &other.places {
            *self.places.entry(place.clone()).or_default() += samples;
        }
        self.stitched |= other.stitched;
        self.decrypts.extend(&other.decrypts);
    }

    fn new(seen: &Seen) -> Found {
        Found {
            samples: 0,
            threads: HashSet::new(),
            places: HashMap::new(),
            first: seen.clone(),
            stitched: false,
            decrypts: HashSet::new(),
        }
    }
}

impl Subject {
    /// A process whose start was not seen.
    fn of(pid: u32) -> Subject {
        let name = crate::inventory::processes::name(&Root::machine(), pid);
        Subject::new(pid, name, Maps::default())
    }

    fn new(pid: u32, name: String, maps: Maps) -> Subject {
        Subject {
            pid,
            name,
            maps,
            read: None,
            tables: Tables::default(),
            anonymous: HashMap::new(),
            samples: 0,
            kernel: 0,
            aes: 0,
            threads: HashSet::new(),
            found: HashMap::new(),
        }
    }

    /// Whether it has mapped a Java virtual machine, so that code without a file is Java's.
    pub fn runs_java(&self) -> bool {
        self.maps.paths().any(|path| path.ends_with("/libjvm.so"))
    }

    /// The mapping of an address. One that is not known was made before the trace began, or by
    /// mprotect(2).
    fn mapping(&mut self, address: u64) -> Option<Mapping> {
        if let Some(known) = self.maps.at(address) {
            return Some(known.clone());
        }
        if self.read.is_some_and(|read| read.elapsed() < PATIENCE) {
            return None;
        }
        self.read = Some(Instant::now());
        let text = Root::machine()
            .text(format!("/proc/{}/maps", self.pid))
            .ok()?;
        self.maps = Maps::parse(&text);
        self.maps.at(address).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::report::{self, Circumstances};
    use crate::trace::target::maps::File;
    use crate::trace::Trace;

    /// Larger than any process ID.
    const NOBODY: u32 = 1 << 23;

    fn sample(address: u64) -> Event {
        Event::Sample(Sample {
            pid: NOBODY,
            tid: NOBODY,
            address,
            kernel: false,
            registers: None,
        })
    }

    fn mapped(pid: u32, inode: u64, path: &str) -> Event {
        Event::Mapped(Mapped {
            pid,
            start: 0x1000,
            length: 0x1000,
            offset: 0,
            file: File {
                device: (0, 0),
                inode,
            },
            path: path.to_owned(),
        })
    }

    fn trace(state: &State) -> Trace {
        let circumstances = Circumstances {
            seconds: 1.0,
            rate: 1,
            kernel: true,
            troubles: Vec::new(),
            evidence: false,
            counts: None,
        };
        report::trace(state, circumstances)
    }

    #[test]
    fn samples_that_cannot_be_examined_widen_the_bound() {
        let mut state = State::default();
        state.take(mapped(NOBODY, 0, "//anon"));
        // Memory that cannot be read, and an address without a mapping.
        for address in [0x1800, 0x9000] {
            state.take(sample(address));
        }
        state.skip(&sample(0x1800));
        assert_eq!((state.samples, state.unexamined), (3, 3));
        let all = trace(&state);
        assert_eq!(all.unseen_below, Some(1.0));
        assert!(all.verdict[0].contains("cannot tell"), "{all:?}");
        assert!(all.troubles[0].starts_with("3 of 3 samples"), "{all:?}");
        state.samples = 1000;
        assert_eq!(trace(&state).unseen_below, Some(0.006));
        state.unexamined = 0;
        let none = trace(&state);
        assert_eq!(none.unseen_below, Some(0.003));
        assert!(none.troubles.is_empty(), "{none:?}");
    }

    #[test]
    fn a_process_id_that_is_used_again() {
        let mut state = State::default();
        let samples = |state: &State| -> Vec<u64> {
            state.subjects().map(|subject| subject.samples).collect()
        };
        let ended = Event::Ended {
            pid: NOBODY,
            tid: NOBODY,
        };
        state.take(sample(0x1800));
        // Its parent is not known.
        state.take(Event::Forked {
            pid: NOBODY,
            parent: NOBODY + 1,
        });
        state.take(sample(0x1800));
        assert_eq!(samples(&state), [1, 1]);
        // Another thread may still run.
        state.take(ended.clone());
        state.take(sample(0x1800));
        assert_eq!(samples(&state), [1, 2]);
        state.take(Event::Forked {
            pid: NOBODY,
            parent: NOBODY + 1,
        });
        state.take(mapped(NOBODY, 0, "//anon"));
        assert_eq!(samples(&state), [1, 2, 0]);
        state.take(ended);
        assert_eq!(samples(&state), [1, 2]);
    }
}
