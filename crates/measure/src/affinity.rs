// SPDX-License-Identifier: BSD-2-Clause
//! The processors of a measuring process. A thread stays on one of them.

use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use std::sync::OnceLock;
use terminal::error::{Error, Result};

/// The processors that the process could use when it first asked, the last one first: most
/// interrupts go to the first.
pub fn processors() -> &'static [usize] {
    static PROCESSORS: OnceLock<Vec<usize>> = OnceLock::new();
    PROCESSORS.get_or_init(|| {
        let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else {
            return Vec::new();
        };
        let usable = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
        (0..CpuSet::count()).filter(usable).rev().collect()
    })
}

/// Keeps the calling thread on one processor.
pub fn pin(processor: usize) -> Result<()> {
    let mut set = CpuSet::new();
    let pinned = set
        .set(processor)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    pinned.map_err(|why| Error::failure(format!("cannot stay on processor {processor}: {why}")))
}

/// Keeps the calling thread on the processor of this number: 0 is the last one.
pub fn pin_to_number(number: usize) -> Result<()> {
    match processors().get(number) {
        Some(&processor) => pin(processor),
        None => Err(Error::failure(format!(
            "thread {} has no processor of its own: {} are allowed",
            number + 1,
            processors().len()
        ))),
    }
}
