// SPDX-License-Identifier: BSD-2-Clause
//! What tenrounds executes in traced processes, by the counters of `run --count`. All processes of
//! such a command share them.

use super::super::result::Executed;
use crate::counters::running::{find, owner, Found};
use crate::counters::{memory, Counters};
use crate::inventory::processes::{self, value};
use crate::root::Root;
use crate::trace::bpftrace::Sum;
use crate::trace::is_alive;
use std::collections::{BTreeSet, HashMap};
use std::io::ErrorKind;
use std::path::Path;
use tenrounds_sys::Op;
use terminal::style::clean;

/// The counters of more commands are not read: each takes a file descriptor, and any user may start
/// many.
pub const MOST_MEMORIES: usize = 256;
/// A process that starts is looked at within milliseconds, so that older ones may be forgotten.
const MOST_PARENTS: usize = 1 << 14;

/// What holds the core, by a function that only it has; the last one is any other file.
pub const HOSTS: [(&str, &str); 4] = [
    ("provider", "OSSL_provider_init"),
    ("engine", "bind_engine"),
    ("pkcs11", "C_GetFunctionList"),
    ("library", ""),
];

#[derive(Default)]
pub struct Ours {
    memories: Vec<Memory>,
    /// Who started a process, of those that started since the trace began.
    parents: HashMap<u32, u32>,
    /// Processes whose environment was empty when they were looked at.
    unread: BTreeSet<u32>,
    /// There are counters that are not read.
    is_full: bool,
}

struct Memory {
    found: Found,
    /// The process by whose descriptor it was found, usually `run --count`. It may have ended.
    owner: Option<u32>,
    /// The counts when the trace began.
    before: Counters,
    /// What was executed since then, once counting has ended.
    executed: Option<Counters>,
    /// The traced processes that count here.
    pids: BTreeSet<u32>,
    /// Those that may, if there are no others: children of `run --count`, which also tries what it
    /// sets before it starts the command, and then their children; in the order of their start.
    guessed: Vec<u32>,
    /// Those of `guessed` that `run --count` started.
    children: BTreeSet<u32>,
}

impl Memory {
    fn is_shared_by(&self, pid: u32) -> bool {
        self.pids.contains(&pid) || self.guessed.contains(&pid)
    }

    fn guess(&mut self, pid: u32, parent: u32) {
        if self.owner == Some(parent) {
            self.children.insert(pid);
        }
        if !self.guessed.contains(&pid) {
            self.guessed.push(pid);
        }
    }

    /// Those that share it, the command first, without the tool that tries what it sets, unless
    /// there is no other.
    fn commands(&self, names: &HashMap<u32, String>) -> Vec<u32> {
        let is_other = |pid: &u32| names.get(pid).is_none_or(|name| name != "tenrounds");
        let seen: Vec<u32> = self.pids.iter().copied().collect();
        // The command is the last child of `run --count`.
        let mut guessed = self.guessed.clone();
        guessed.reverse();
        guessed.sort_by_key(|pid| !self.children.contains(pid));
        let others = |all: &[u32]| all.iter().copied().filter(is_other).collect();
        [others(&seen), others(&guessed), seen, guessed]
            .into_iter()
            .find(|pids| !pids.is_empty())
            .unwrap_or_default()
    }
}

impl Ours {
    /// The counters of these processes.
    pub fn of(pids: impl IntoIterator<Item = u32>) -> Ours {
        let mut ours = Ours::default();
        // A command that is traced inherits the counters of this process.
        let own = environment(std::process::id()).unwrap_or_default();
        ours.known(&own, true);
        for pid in pids {
            ours.look(pid, environment(pid).ok().as_deref(), true);
        }
        ours
    }

    /// The result begins now for those that are known.
    pub fn begin(&mut self) {
        for memory in &mut self.memories {
            if let Some(now) = memory.found.read() {
                memory.before = now;
            }
        }
    }

    /// Whether a process counts itself, as those under `run --count` do.
    pub fn counts(&self, pid: u32) -> bool {
        self.memories.iter().any(|memory| memory.is_shared_by(pid))
    }

    pub fn is_full(&self) -> bool {
        self.is_full
    }

    pub fn is_empty(&self) -> bool {
        let mut all = self.memories.iter();
        all.all(|memory| memory.pids.is_empty() && memory.guessed.is_empty())
    }

    /// A process has started another one.
    pub fn forked(&mut self, pid: u32, parent: u32) {
        if self.parents.len() >= MOST_PARENTS {
            self.parents.clear();
        }
        self.parents.insert(pid, parent);
        // An earlier process had this PID.
        for memory in &mut self.memories {
            if memory.owner == Some(pid) {
                memory.owner = None;
            }
        }
        self.started(pid);
    }

    /// A process has started, or has executed a program. Counters that were not known before were
    /// created since the trace began.
    pub fn started(&mut self, pid: u32) {
        self.seen(pid, environment(pid).ok());
    }

    /// A process has this environment; None if it cannot be read. It is read once: what is empty
    /// now may not be a moment later.
    fn seen(&mut self, pid: u32, environment: Option<Vec<u8>>) {
        self.unread.remove(&pid);
        if self.look(pid, environment.as_deref(), false) {
            return;
        }
        if has_ended(pid) {
            self.inherit(pid);
        } else if environment.is_some_and(|all| all.is_empty()) {
            if self.unread.len() >= MOST_PARENTS {
                self.unread.clear();
            }
            self.unread.insert(pid);
        }
    }

    /// A process has mapped a file. The kernel tells that a program is executed a moment before the
    /// process has the environment of that program (begin_new_exec() and create_elf_tables() of
    /// Linux). The dynamic linker maps its files later.
    pub fn mapped(&mut self, pid: u32) {
        if self.unread.contains(&pid) {
            self.started(pid);
        }
    }

    /// A process ended before anybody saw its environment, as many do that live less than 10 ms.
    /// It had the counters that its parent, `run --count`, has open, or else those of its parent.
    fn inherit(&mut self, pid: u32) -> Option<()> {
        let parent = *self.parents.get(&pid)?;
        if let Some(index) = self.open_in(parent) {
            self.memories[index].guess(pid, parent);
            return Some(());
        }
        let mut memories = self.memories.iter_mut();
        if let Some(memory) = memories.find(|memory| memory.pids.contains(&parent)) {
            memory.pids.insert(pid);
            return Some(());
        }
        // If the parent has ended, too, the last counters that it had open.
        let mut latest = self.memories.iter_mut().rev();
        let memory = latest
            .find(|memory| memory.guessed.contains(&parent) || memory.owner == Some(parent))?;
        memory.guess(pid, parent);
        Some(())
    }

    /// The counters that a process has open.
    fn open_in(&mut self, pid: u32) -> Option<usize> {
        let descriptors = format!("/proc/{pid}/fd");
        let numbers = Root::machine().names(&descriptors);
        let mut paths = numbers
            .iter()
            .map(|number| format!("{descriptors}/{number}"));
        // A descriptor may be closed before it is opened here.
        paths.find_map(|path| {
            let is_named = memory::is_named(Path::new(&path));
            is_named.then(|| self.at(&path, false)).flatten()
        })
    }

    fn look(&mut self, pid: u32, environment: Option<&[u8]>, has_counted: bool) -> bool {
        let index = environment.and_then(|all| self.known(all, has_counted));
        if let Some(index) = index {
            self.memories[index].pids.insert(pid);
        }
        index.is_some()
    }

    /// The counters that an environment names.
    fn known(&mut self, environment: &[u8], has_counted: bool) -> Option<usize> {
        let path = value(environment, memory::VARIABLE)?;
        self.at(&path, has_counted)
    }

    /// The counters that a path leads to.
    fn at(&mut self, path: &str, has_counted: bool) -> Option<usize> {
        let found = find(path)?;
        let same = |memory: &Memory| memory.found.identity == found.identity;
        if let Some(index) = self.memories.iter().position(same) {
            return Some(index);
        }
        let now = found.read()?;
        if self.memories.len() >= MOST_MEMORIES {
            self.is_full = true;
            return None;
        }
        self.memories.push(Memory {
            found,
            owner: owner(path),
            before: if has_counted {
                now
            } else {
                Counters::default()
            },
            executed: None,
            pids: BTreeSet::new(),
            guessed: Vec::new(),
            children: BTreeSet::new(),
        });
        Some(self.memories.len() - 1)
    }

    /// The row of a host, process and operation that static probes counted, unless the process
    /// counts itself. A program with libtenrounds never does.
    pub fn by_probe(
        &self,
        [host, pid, operation]: [u64; 3],
        backend: &str,
        sum: Sum,
        name: Option<String>,
    ) -> Option<Executed> {
        let (host, pid) = (host as usize, pid as u32);
        let is_program = host + 1 == HOSTS.len();
        // A module of another version may have other operations.
        let known = Op::all().nth(operation as usize);
        let row = Executed {
            pid,
            name,
            processes: 1,
            host: HOSTS.get(host)?.0,
            backend: clean(backend),
            operation: known.map_or("other".to_owned(), |op| op.name().to_owned()),
            calls: sum.calls,
            bytes: sum.bytes,
        };
        (is_program || !self.counts(pid)).then_some(row)
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        for memory in &mut self.memories {
            if memory.executed.is_none() {
                let now = memory.found.read();
                memory.executed = now.map(|now| now.since(&memory.before));
            }
        }
    }

    /// The rows, the most bytes first.
    pub fn rows(&self, names: &HashMap<u32, String>) -> Vec<Executed> {
        let mut rows = Vec::new();
        for memory in &self.memories {
            let sharing = memory.commands(names);
            let (Some(pid), Some(counters)) = (sharing.first(), &memory.executed) else {
                continue;
            };
            let executed = counters.executed.iter();
            rows.extend(executed.map(|one| Executed {
                pid: *pid,
                name: names.get(pid).cloned(),
                processes: sharing.len(),
                host: one.host,
                backend: one.backend.clone(),
                operation: one.operation.clone(),
                calls: one.calls,
                bytes: one.bytes,
            }));
        }
        sort(&mut rows);
        rows
    }
}

fn environment(pid: u32) -> std::io::Result<Vec<u8>> {
    processes::environment(&Root::machine(), pid)
}

/// Whether a process has ended, or is about to: it gives its memory back some time before it is a
/// zombie (do_exit() of Linux), and has neither environment nor program from then on.
fn has_ended(pid: u32) -> bool {
    let program = std::fs::read_link(format!("/proc/{pid}/exe"));
    !is_alive(pid) || program.is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The most bytes first.
pub fn sort(rows: &mut [Executed]) {
    rows.sort_by(|a, b| {
        let key = |row: &Executed| (row.bytes, row.calls);
        key(b).cmp(&key(a)).then(a.operation.cmp(&b.operation))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::memory::Memory;
    use std::fs::File;
    use std::process::{Child, Command};

    /// A process that has ended.
    fn ended() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    /// A process that has counters open, as `run --count` has.
    fn owner(memory: &Memory) -> Child {
        let mut sleep = Command::new("sleep");
        memory.pass_to(&mut sleep);
        let path = sleep.get_envs().find(|(name, _)| *name == memory::VARIABLE);
        let path = path.and_then(|(_, path)| path).unwrap().to_owned();
        sleep.env_remove(memory::VARIABLE).arg("60");
        sleep.stdin(File::open(path).unwrap()).spawn().unwrap()
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_ended_at_once_shares_the_counters_of_its_parent() {
        let memory = Memory::new().unwrap();
        let run = owner(&memory);
        let (first, second, stranger) = (ended(), ended(), ended());
        let mut ours = Ours::default();
        ours.forked(first, run.id());
        // Its parent is known.
        ours.forked(second, first);
        ours.started(stranger);
        assert_eq!(ours.memories.len(), 1);
        assert_eq!(ours.memories[0].guessed, [first, second]);
        assert!(!ours.is_empty());
        // The last child of `run --count` is the command.
        let nobody = HashMap::new();
        assert_eq!(ours.memories[0].commands(&nobody), [first, second]);
        // The tool is the command only if there is no other.
        let named = |pid: u32, name: &str| (pid, name.to_owned());
        let tool = HashMap::from([named(first, "tenrounds")]);
        assert_eq!(ours.memories[0].commands(&tool), [second]);
        let both = HashMap::from([named(first, "tenrounds"), named(second, "tenrounds")]);
        assert_eq!(ours.memories[0].commands(&both).len(), 2);
        // One that was seen counts alone.
        ours.memories[0].pids.insert(stranger);
        let third = ended();
        ours.forked(third, stranger);
        assert_eq!(
            ours.memories[0].commands(&nobody),
            Vec::from_iter(BTreeSet::from([stranger, third]))
        );
        end(run);
    }

    /// `run --count` tries what it sets before it starts the command. All may have ended when the
    /// trace looks at the command.
    #[test]
    fn a_command_shares_the_counters_of_a_parent_that_has_ended() {
        let memory = Memory::new().unwrap();
        let run = owner(&memory);
        let pid = run.id();
        let (tool, command) = (ended(), ended());
        let mut ours = Ours::default();
        ours.forked(tool, pid);
        end(run);
        ours.forked(command, pid);
        let names = HashMap::from([(tool, "tenrounds".to_owned())]);
        assert_eq!(ours.memories.len(), 1);
        assert_eq!(ours.memories[0].commands(&names), [command]);
        // Another process has the PID now.
        ours.forked(pid, ended());
        let stranger = ended();
        ours.forked(stranger, pid);
        assert!(!ours.counts(stranger));
    }

    /// A process may have several counters in turn, and may itself share others.
    #[test]
    fn counters_that_are_open_come_before_those_of_the_parent() {
        let (outer, inner) = (Memory::new().unwrap(), Memory::new().unwrap());
        let (before, run) = (owner(&outer), owner(&inner));
        let (first, second) = (ended(), ended());
        let mut ours = Ours::default();
        ours.forked(first, before.id());
        ours.memories[0].owner = Some(run.id());
        ours.memories[0].pids.insert(run.id());
        ours.forked(second, run.id());
        assert_eq!(ours.memories.len(), 2);
        assert_eq!(ours.memories[1].guessed, [second]);
        end(before);
        end(run);
    }

    /// A process that executes a program has no environment for a moment.
    #[test]
    fn an_environment_that_was_empty_is_read_again() {
        let memory = Memory::new().unwrap();
        let mut sleep = Command::new("sleep");
        memory.pass_to(&mut sleep);
        let mut child = sleep.arg("60").spawn().unwrap();
        let pid = child.id();
        let mut ours = Ours::default();
        ours.seen(pid, Some(Vec::new()));
        assert!(ours.is_empty());
        // Until the program is there, spawn() may have returned, and the environment is empty.
        while environment(pid).unwrap().is_empty() {
            std::thread::yield_now();
        }
        ours.mapped(pid);
        assert!(ours.counts(pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A child that lives has an environment of its own.
    #[test]
    fn a_process_without_the_variable_shares_nothing() {
        let _memory = Memory::new().unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut ours = Ours::default();
        ours.forked(child.id(), std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(ours.is_empty());
    }
}
