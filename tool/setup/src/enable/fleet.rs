// SPDX-License-Identifier: BSD-2-Clause
//! What `status` tells about a machine beside its configurations, so that many machines can be
//! watched: the selection, the processor's findings, the processes, and the counters of commands
//! that run counted.

use crate::counters::{memory, running, Counters};
use base::inventory::processes;
use base::processor;
use base::root::Root;
use machine::selection;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Fleet {
    /// The backend that programs started from here select.
    pub backend: Option<&'static str>,
    /// Backends that failed their known-answer tests.
    pub failed: Vec<&'static str>,
    /// The doctor's findings about the processor and its hypervisor, by their names.
    pub processor: Vec<&'static str>,
    /// None if there is no /proc.
    pub processes: Option<Processes>,
    /// The sum over the commands of `run --count` that are running.
    pub counters: Counters,
}

/// Processes with OpenSSL 3 or later.
#[derive(Debug, Default, Serialize)]
pub struct Processes {
    /// They have loaded tenrounds.
    pub loaded: usize,
    pub not_loaded: usize,
    /// The number of processes that this user may not inspect.
    pub unreadable: usize,
}

impl Fleet {
    pub fn look(root: &Root) -> Fleet {
        let selection = selection::here();
        let (maps, unreadable) = processes::maps(root);
        let mut found = Processes {
            unreadable,
            ..Processes::default()
        };
        for (pid, maps) in &maps {
            let mapped = processes::openssl(root, *pid, maps);
            match mapped.libcrypto.iter().any(|path| !is_old(path)) {
                // Also by an OpenSSL inside a program or another library.
                _ if mapped.tenrounds => found.loaded += 1,
                true => found.not_loaded += 1,
                false => {}
            }
        }
        Fleet {
            backend: selection.backend.map(|backend| backend.name()),
            failed: selection.failed.iter().map(|b| b.name()).collect(),
            processor: processor::check(root).iter().map(|f| f.id).collect(),
            processes: root.has_proc().then_some(found),
            counters: counted(root, maps.iter().map(|(pid, _)| *pid)),
        }
    }
}

fn is_old(path: &str) -> bool {
    base::inventory::is_old(path.rsplit('/').next().unwrap_or_default())
}

/// Adds up the counters of all commands that processes belong to. All processes of a command name
/// the same memory. A tree that stands for a machine has none.
fn counted(root: &Root, pids: impl Iterator<Item = u32>) -> Counters {
    let mut sum = Counters::default();
    if !root.is_machine() {
        return sum;
    }
    let mut seen = Vec::new();
    for path in pids.filter_map(|pid| processes::variable(root, pid, memory::VARIABLE)) {
        let Some(found) = running::find(&path).filter(|found| !seen.contains(&found.identity))
        else {
            continue;
        };
        seen.push(found.identity);
        if let Some(counters) = found.read() {
            sum.add_all(counters);
        }
    }
    sum
}
