// SPDX-License-Identifier: BSD-2-Clause
//! The processes that arguments name by ID or by name, and their descendants.

use super::sampler::Target;
use crate::trace::args::TraceArgs;
use base::inventory::processes;
use base::root::Root;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::style::clean;

/// The processes that the arguments name, or all. A name without a process is an error. A server's
/// workers are children of the process that its PID file names.
pub fn target(args: &TraceArgs) -> Result<Target> {
    if args.all || args.pid.is_empty() && args.names.is_empty() {
        return Ok(Target::Everybody);
    }
    let mut pids = args.pid.clone();
    for name in &args.names {
        let found = with_name(&Root::machine(), name);
        if found.is_empty() {
            return Err(Error::failure(nobody(name, &args.names)));
        }
        pids.extend(found);
    }
    let all = with_descendants(&Root::machine(), &pids);
    Ok(Target::Processes(all))
}

/// Explains that no process has a name.
fn nobody(name: &OsStr, names: &[OsString]) -> String {
    let shown = clean(name.to_string_lossy());
    let advice = match shown.parse::<u32>() {
        Ok(pid) => format!("to name a process by its ID, use -p {pid}"),
        Err(_) => {
            let line: Vec<String> = names.iter().map(|it| clean(it.to_string_lossy())).collect();
            format!(
                "to start a command, write -- before it: -- {}",
                line.join(" ")
            )
        }
    };
    format!("no process has the name '{shown}'; {advice}")
}

/// The processes of this machine but this one.
fn others(root: &Root) -> impl Iterator<Item = u32> {
    let pids = processes::pids(root).into_iter();
    pids.filter(|pid| *pid != std::process::id())
}

/// The processes whose name, or the name of whose program, is this one. The kernel keeps 15 bytes
/// of a process's name; and Node.js calls its first thread MainThread.
fn with_name(root: &Root, name: &OsStr) -> Vec<u32> {
    const KEPT: usize = 15;
    let kept = &name.as_bytes()[..name.len().min(KEPT)];
    let is_it = |pid: &u32| {
        let comm = root.bytes(format!("/proc/{pid}/comm")).unwrap_or_default();
        comm.strip_suffix(b"\n").unwrap_or(&comm) == kept || runs(root, *pid, name)
    };
    others(root).filter(is_it).collect()
}

/// Whether the process runs a program of this name.
fn runs(root: &Root, pid: u32, name: &OsStr) -> bool {
    let link = root.link(format!("/proc/{pid}/exe"));
    link.is_some_and(|link| {
        let path = link.as_os_str().as_bytes();
        let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
        Path::new(OsStr::from_bytes(path)).file_name() == Some(name)
    })
}

/// These processes and their descendants, each once, parents first. A process that is started while
/// this looks can be missed. Those that are started later inherit the sampling of their parents.
fn with_descendants(root: &Root, pids: &[u32]) -> Vec<u32> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in others(root) {
        if let Some(parent) = parent(root, pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    let mut next = pids.to_vec();
    while !next.is_empty() {
        next.retain(|pid| seen.insert(*pid));
        all.extend_from_slice(&next);
        let below = next.iter().filter_map(|pid| children.get(pid));
        next = below.flatten().copied().collect();
    }
    all
}

pub fn parent(root: &Root, pid: u32) -> Option<u32> {
    processes::status(root, pid, "PPid")
}
