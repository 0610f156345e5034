// SPDX-License-Identifier: BSD-2-Clause
//! The processes whose counts are reported, with their names: bpftrace counts in all processes.

use super::sampler::{Event, Target};
use base::inventory::processes;
use base::root::Root;
use std::collections::{HashMap, HashSet};
use terminal::style::clean;

pub struct Traced {
    /// None for all.
    pids: Option<HashSet<u32>>,
    /// The latest of each.
    names: HashMap<u32, String>,
}

impl Traced {
    /// These processes, or all, and those that they start.
    pub fn new(target: &Target) -> Traced {
        let named = |pid| (pid, processes::name(&Root::machine(), pid));
        // The ID of a thread stands for its process.
        let process = |pid: &u32| processes::status(&Root::machine(), *pid, "Tgid").unwrap_or(*pid);
        Traced {
            pids: target.pids().map(|pids| pids.iter().map(process).collect()),
            names: target.running().into_iter().map(named).collect(),
        }
    }

    /// Learns from the records of the sampler, which has them of traced processes alone.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Named { pid, tid, name, .. } if pid == tid => {
                self.names.insert(*pid, clean(name));
                self.add(*pid);
            }
            // A process has the name of its parent until it executes a program.
            Event::Forked { pid, parent } if pid != parent => {
                if let Some(name) = self.names.get(parent).cloned() {
                    self.names.insert(*pid, name);
                }
                if self.has(*parent) {
                    self.add(*pid);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, pid: u32) {
        if let Some(pids) = &mut self.pids {
            pids.insert(pid);
        }
    }

    pub fn is_everybody(&self) -> bool {
        self.pids.is_none()
    }

    pub fn has(&self, pid: u32) -> bool {
        self.pids.as_ref().is_none_or(|pids| pids.contains(&pid))
    }

    /// None if the process has ended and was not seen.
    pub fn name(&self, pid: u32) -> Option<String> {
        let known = self.names.get(&pid).cloned();
        let name = known.unwrap_or_else(|| processes::name(&Root::machine(), pid));
        (!name.is_empty()).then_some(name)
    }
}
