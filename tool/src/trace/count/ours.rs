// SPDX-License-Identifier: BSD-2-Clause
//! What tenrounds executes in traced processes, by the counters of `run --count`. All processes of
//! such a command share them.

use super::super::result::Executed;
use crate::counters::running::{find, Found};
use crate::counters::{memory, Counters};
use crate::inventory::processes::variable;
use crate::root::Root;
use std::collections::{BTreeSet, HashMap};

/// The counters of more commands are not read: each takes a file descriptor, and any user may start
/// many.
pub const MOST_MEMORIES: usize = 256;

#[derive(Default)]
pub struct Ours {
    memories: Vec<Memory>,
    /// There are counters that are not read.
    is_full: bool,
}

struct Memory {
    found: Found,
    /// The counts when the trace began.
    before: Counters,
    /// What was executed since then, once counting has ended.
    executed: Option<Counters>,
    /// The traced processes that count here.
    pids: BTreeSet<u32>,
}

impl Ours {
    /// The counters of these processes.
    pub fn of(pids: impl IntoIterator<Item = u32>) -> Ours {
        let mut ours = Ours::default();
        // A command that is traced inherits the counters of this process.
        ours.known(std::process::id(), true);
        for pid in pids {
            ours.look(pid, true);
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

    pub fn is_full(&self) -> bool {
        self.is_full
    }

    pub fn is_empty(&self) -> bool {
        self.memories.iter().all(|memory| memory.pids.is_empty())
    }

    /// A process has started, or has executed a program. Counters that were not known before were
    /// created since the trace began.
    pub fn started(&mut self, pid: u32) {
        self.look(pid, false);
    }

    fn look(&mut self, pid: u32, has_counted: bool) {
        if let Some(index) = self.known(pid, has_counted) {
            self.memories[index].pids.insert(pid);
        }
    }

    /// The counters that a process names in its environment.
    fn known(&mut self, pid: u32, has_counted: bool) -> Option<usize> {
        let path = variable(&Root::machine(), pid, memory::VARIABLE)?;
        let found = find(&path)?;
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
            before: if has_counted {
                now
            } else {
                Counters::default()
            },
            executed: None,
            pids: BTreeSet::new(),
        });
        Some(self.memories.len() - 1)
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
            let (Some(pid), Some(counters)) = (memory.pids.first(), &memory.executed) else {
                continue;
            };
            let executed = counters.executed.iter();
            rows.extend(executed.map(|one| Executed {
                pid: *pid,
                name: names.get(pid).cloned(),
                processes: memory.pids.len(),
                host: one.host,
                backend: one.backend.clone(),
                operation: one.operation.clone(),
                calls: one.calls,
                bytes: one.bytes,
            }));
        }
        rows.sort_by(|a, b| {
            let key = |row: &Executed| (row.bytes, row.calls);
            key(b).cmp(&key(a)).then(a.operation.cmp(&b.operation))
        });
        rows
    }
}
