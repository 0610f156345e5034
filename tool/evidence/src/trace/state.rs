// SPDX-License-Identifier: BSD-2-Clause
//! Follows the traced processes through their events, and classifies each sampled address once.

use super::sampler::{Event, Sample};
use super::spots::{Seen, Spot, Where};
use super::tally::{Activity, Found, Key, Tally};
use super::target::kernel::Kernel;
use super::target::memory::{Space, Tables};
use super::target::module::Modules;
use base::root::Root;
use classify::hot::{Registers, Work};
use mappings::{File, Mapping, Maps};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

/// A process that runs.
#[derive(Default)]
struct Subject {
    activity: Activity,
    maps: Maps,
    /// The modules of its mappings.
    modules: HashMap<(File, String), usize>,
    /// When /proc/PID/maps was read last.
    read: Option<Instant>,
    tables: Tables,
    /// Classified addresses of memory without a file.
    anonymous: HashMap<(usize, u64), Spot>,
    /// Its first thread has ended. Others may still run.
    has_ended: bool,
}

#[derive(Default)]
pub struct State {
    current: BTreeMap<u32, Subject>,
    pub modules: Modules,
    /// Classified addresses of files.
    spots: HashMap<(usize, u64), Spot>,
    /// Since the last one was taken; its processes are those that have ended or executed another
    /// program.
    pub tally: Tally,
    /// The kernel's code, which is read when its first sample comes.
    kernel: Option<Result<Kernel, String>>,
    kernel_tables: Tables,
    /// When code without a file was forgotten last.
    refreshed: Option<Instant>,
}

/// /proc/PID/maps is read again for an unknown address, but not more often.
const PATIENCE: Duration = Duration::from_millis(200);
/// Code without a file is classified again after this time: a just-in-time compiler may have
/// replaced it.
const FRESH: Duration = Duration::from_secs(2);
/// So many classified addresses of files are kept from one tally to the next.
const MOST_SPOTS: usize = 20_000;

impl State {
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Lost(count) => self.tally.lost += count,
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
            Event::Mapped { pid, mapping } => self.mapped(pid, mapping),
            Event::Sample(sample) => self.sampled(&sample),
        }
    }

    /// Counts an event that there is no time to handle.
    pub fn skip(&mut self, event: &Event) {
        match event {
            Event::Lost(count) => self.tally.lost += count,
            Event::Sample(sample) if !is_ignored(sample) => {
                self.tally.samples += 1;
                self.tally.unexamined += 1;
                self.tally.skipped += 1;
            }
            _ => {}
        }
    }

    /// Takes what was seen since the last call. The state goes on with what it knows of processes
    /// and files.
    pub fn take_tally(&mut self) -> Tally {
        let mut tally = std::mem::take(&mut self.tally);
        let taken = self.current.values_mut().filter_map(Subject::take);
        tally.processes.extend(taken);
        self.current.retain(|pid, subject| {
            !subject.has_ended || Root::machine().exists(format!("/proc/{pid}"))
        });
        if self.spots.len() > MOST_SPOTS {
            self.spots.clear();
        }
        tally
    }

    /// Forgets all files if there are many. Returns whether it did. Tallies that were taken then do
    /// not fit to the state any more.
    pub fn forget_if_full(&mut self) -> bool {
        const MOST_FILES: usize = 2000;
        if self.modules.list.len() <= MOST_FILES {
            return false;
        }
        self.modules = Modules::default();
        self.spots.clear();
        self.tally = Tally::default();
        for subject in self.current.values_mut() {
            subject.modules.clear();
            subject.take();
        }
        true
    }

    /// Forgets code without a file from time to time, so that it is classified anew when its next
    /// samples come. To be called often.
    pub fn refresh(&mut self) {
        let begun = *self.refreshed.get_or_insert_with(Instant::now);
        if begun.elapsed() >= FRESH {
            self.refreshed = Some(Instant::now());
            for subject in self.current.values_mut() {
                subject.anonymous.clear();
                subject.tables = Tables::default();
            }
        }
    }

    fn add(&mut self, pid: u32, subject: Subject) {
        self.retire(pid);
        self.current.insert(pid, subject);
    }

    /// Keeps the samples of a subject that gets no more, if it has any.
    fn retire(&mut self, pid: u32) {
        if let Some(mut ended) = self.current.remove(&pid) {
            self.tally.processes.extend(ended.take());
        }
    }

    fn forked(&mut self, pid: u32, parent: u32) {
        // The process ID may have belonged to a process that has ended.
        self.retire(pid);
        if let Some(parent) = self.current.get(&parent) {
            let name = parent.activity.name.clone();
            let child = Subject::new(pid, name, parent.maps.clone());
            self.add(pid, child);
        }
    }

    /// Forgets a process without samples. One with samples may get more, from its other threads.
    fn ended(&mut self, pid: u32) {
        match self.current.get_mut(&pid) {
            Some(subject) if subject.activity.samples > 0 => {
                subject.has_ended = true;
            }
            _ => self.retire(pid),
        }
    }

    fn named(&mut self, pid: u32, tid: u32, name: String, executed: bool) {
        let name = terminal::style::clean(name);
        match executed {
            true => {
                self.add(pid, Subject::new(pid, name, Maps::default()));
            }
            false if pid == tid => {
                subject(&mut self.current, pid).activity.name = name;
            }
            false => {}
        }
    }

    fn mapped(&mut self, pid: u32, mapping: Mapping) {
        // Other code may be there now.
        let subject = subject(&mut self.current, pid);
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
        self.tally.samples += 1;
        subject.activity.samples += 1;
        subject.activity.threads.insert(sample.tid);
        if sample.kernel {
            self.tally.kernel += 1;
            subject.activity.kernel += 1;
            return self.sampled_in_kernel(sample);
        }
        let Some(mapping) = subject.mapping(sample.address) else {
            self.tally.unexamined += 1;
            return;
        };
        let module = mapping
            .has_file()
            .then(|| subject.module(&mut self.modules, &mapping));
        let unreadable = module.filter(|module| self.modules.list[*module].program.is_err());
        self.tally.unreadable.extend(unreadable);
        let offset = mapping.offset_of(sample.address);
        let at = Where {
            space: Space::Process(sample.pid),
            address: sample.address,
            offset,
            mapping: &mapping,
            module: module.map(|module| &self.modules.list[module]),
            function: None,
        };
        let spot = match module {
            Some(module) => self.spots.entry((module, offset)),
            None => subject.anonymous.entry((0, sample.address)),
        };
        let spot = spot.or_insert_with(|| Spot::new(&at));
        let Some(seen) = spot.seen(&at, &sample.registers, &mut subject.tables) else {
            self.tally.unexamined += 1;
            return;
        };
        self.tally.aes += u64::from(count(&mut subject.activity.found, sample, module, seen));
        let is_file = module.is_some_and(|module| self.modules.list[module].is_file());
        self.tally.unclear += u64::from(match seen.running.work {
            Work::Bitslice => true,
            Work::Other => !is_file && !mapping.is_of_kernel(),
            _ => false,
        });
    }

    fn sampled_in_kernel(&mut self, sample: &Sample) {
        let Ok(kernel) = self.kernel.get_or_insert_with(Kernel::read) else {
            return;
        };
        let Some((function, module)) = kernel.function(sample.address) else {
            self.tally.unexamined_in_kernel += 1;
            return;
        };
        let module = self.modules.of_kernel(module);
        let memory = File {
            device: (0, 0),
            inode: 0,
        };
        let range = function.range.clone();
        let mapping = Mapping::new(range.clone(), range.start, memory, "");
        let at = Where {
            space: Space::Kernel(kernel),
            address: sample.address,
            offset: sample.address,
            mapping: &mapping,
            module: None,
            function: Some(&function),
        };
        let spot = self.spots.entry((module, sample.address));
        let spot = spot.or_insert_with(|| Spot::new(&at));
        // The registers of the sample are those of user space.
        let Some(seen) = spot.seen(&at, &Registers::default(), &mut self.kernel_tables) else {
            self.tally.unexamined_in_kernel += 1;
            return;
        };
        let found = &mut subject(&mut self.current, sample.pid).activity.found;
        self.tally.aes += u64::from(count(found, sample, Some(module), seen));
    }

    /// Why the kernel's code was not classified; None if it was, or had no samples.
    pub fn kernel_refusal(&self) -> Option<&str> {
        let read = self.kernel.as_ref()?;
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
    let found = found.entry(Key { module, work }).or_default();
    found.first.get_or_insert_with(|| seen.clone());
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

impl Subject {
    /// A process whose start was not seen.
    fn of(pid: u32) -> Subject {
        let name = base::inventory::processes::name(&Root::machine(), pid);
        Subject::new(pid, name, Maps::default())
    }

    fn new(pid: u32, name: String, maps: Maps) -> Subject {
        Subject {
            activity: Activity::new(pid, name),
            maps,
            ..Subject::default()
        }
    }

    /// What it did since the last call; None if it has no samples.
    fn take(&mut self) -> Option<Activity> {
        if self.activity.samples == 0 {
            return None;
        }
        let next = Activity::new(self.activity.pid, self.activity.name.clone());
        let mut taken = std::mem::replace(&mut self.activity, next);
        taken.runs_java = self.maps.files().any(|file| file.name() == "libjvm.so");
        Some(taken)
    }

    fn module(&mut self, modules: &mut Modules, mapping: &Mapping) -> usize {
        let key = (mapping.file, mapping.path.clone());
        let find = || modules.of(self.activity.pid, mapping);
        *self.modules.entry(key).or_insert_with(find)
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
        let read = Maps::of(self.activity.pid);
        if read.is_empty() {
            return None;
        }
        self.maps = read;
        self.maps.at(address).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::report::{self, Files};
    use crate::trace::Trace;
    use mappings::File;

    /// Larger than any process ID.
    const NOBODY: u32 = 1 << 23;

    fn sample(address: u64) -> Event {
        Event::Sample(Sample {
            pid: NOBODY,
            tid: NOBODY,
            address,
            kernel: false,
            registers: Box::default(),
        })
    }

    fn mapped(pid: u32, inode: u64, path: &str) -> Event {
        let file = File {
            device: (0, 0),
            inode,
        };
        let mapping = Mapping::new(0x1000..0x2000, 0, file, path);
        Event::Mapped { pid, mapping }
    }

    fn trace(state: &mut State) -> Trace {
        let mut trace = Trace {
            seconds: 1.0,
            rate: 1,
            ..Trace::default()
        };
        let tally = state.take_tally();
        report::complete(&mut trace, &tally, state, &mut Files::default());
        trace
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
        assert_eq!((state.tally.samples, state.tally.unexamined), (3, 3));
        let all = trace(&mut state);
        assert_eq!(all.unseen_below, Some(1.0));
        assert!(all.verdict[0].contains("cannot tell"), "{all:?}");
        assert_eq!(all.processes[0].name, "?", "{all:?}");
        assert!(all.troubles[0].starts_with("2 of 3 samples"), "{all:?}");
        assert!(
            all.troubles[1].starts_with("1 of 3 samples was not examined, because the time"),
            "{all:?}"
        );
        (state.tally.samples, state.tally.unexamined) = (1000, 3);
        assert_eq!(trace(&mut state).unseen_below, Some(0.006));
        state.tally.samples = 1000;
        let none = trace(&mut state);
        assert_eq!(none.unseen_below, Some(0.003));
        assert!(none.troubles.is_empty(), "{none:?}");
    }

    #[test]
    fn a_process_id_that_is_used_again() {
        let mut state = State::default();
        let samples = |state: &State| -> Vec<u64> {
            let current = state.current.values().map(|subject| &subject.activity);
            let all = state.tally.processes.iter().chain(current);
            all.map(|it| it.samples).collect()
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
