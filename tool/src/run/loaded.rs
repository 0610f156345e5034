// SPDX-License-Identifier: BSD-2-Clause
//! The files that a command and what it starts have mapped for execution. They are looked up in
//! /proc while the command runs, so those of a command that ends soon may be missing.

use crate::inventory::processes;
use crate::root::Root;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// The pauses between two looks: they double from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// A thread that looks until it is told to end.
pub struct Watch {
    end: Sender<()>,
    thread: JoinHandle<BTreeSet<String>>,
}

impl Watch {
    /// Watches a process and its descendants. None if no thread can be started.
    pub fn start(pid: u32) -> Option<Watch> {
        let (end, told) = mpsc::channel();
        let work = move || {
            let mut found = BTreeSet::new();
            let mut pause = PAUSES.0;
            loop {
                look(pid, &mut found);
                // The sender says nothing: it is dropped.
                if told.recv_timeout(pause) != Err(mpsc::RecvTimeoutError::Timeout) {
                    return found;
                }
                pause = (2 * pause).min(PAUSES.1);
            }
        };
        let thread = std::thread::Builder::new().spawn(work).ok()?;
        Some(Watch { end, thread })
    }

    /// What was mapped.
    pub fn finish(self) -> Vec<PathBuf> {
        drop(self.end);
        let found = self.thread.join().unwrap_or_default();
        found.into_iter().map(PathBuf::from).collect()
    }
}

/// Looks at a process, and at its descendants where the kernel lists them (CONFIG_PROC_CHILDREN).
fn look(pid: u32, found: &mut BTreeSet<String>) {
    let root = Root::machine();
    let mut waiting = vec![pid];
    while let Some(pid) = waiting.pop() {
        let mapped = processes::files(&root, pid).unwrap_or_default();
        found.extend(mapped.into_iter().map(|(path, _)| path));
        let tasks = format!("/proc/{pid}/task");
        for task in root.names(Path::new(&tasks)) {
            let children = root.text(format!("{tasks}/{task}/children"));
            let children = children.unwrap_or_default();
            waiting.extend(
                children
                    .split_whitespace()
                    .filter_map(|c| c.parse::<u32>().ok()),
            );
        }
    }
}
