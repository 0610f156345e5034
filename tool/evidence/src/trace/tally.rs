// SPDX-License-Identifier: BSD-2-Clause
//! What samples have shown.

use super::spots::{Place, Seen};
use classify::hot::Work;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Samples, and the processes that have them.
#[derive(Default)]
pub struct Tally {
    pub samples: u64,
    pub kernel: u64,
    pub lost: u64,
    pub aes: u64,
    /// Samples in user space whose mapping or code could not be read.
    pub unexamined: u64,
    /// Those of them that there was no time for.
    pub skipped: u64,
    /// Samples in a kernel whose code can be read, but in no known function, or in code that cannot
    /// be read.
    pub unexamined_in_kernel: u64,
    /// Samples in code that can be AES without being recognised: code that was written at run time,
    /// unless it is known to be AES, and long Boolean code.
    pub unclear: u64,
    /// Files with samples that could not be read.
    pub unreadable: BTreeSet<usize>,
    /// Only processes with samples.
    pub processes: Vec<Activity>,
}

/// The samples of a process, from its start or exec to its end or next exec.
#[derive(Clone, Default)]
pub struct Activity {
    pub pid: u32,
    pub name: String,
    /// Whether it has mapped a Java virtual machine, so that code without a file is Java's.
    pub runs_java: bool,
    pub samples: u64,
    pub kernel: u64,
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
#[derive(Clone, Default)]
pub struct Found {
    pub samples: u64,
    pub threads: HashSet<u32>,
    pub places: HashMap<Place, u64>,
    /// Of the first sample.
    pub first: Option<Seen>,
    pub stitched: bool,
    pub decrypts: HashSet<Option<bool>>,
}

impl Activity {
    pub fn new(pid: u32, name: String) -> Activity {
        Activity {
            pid,
            name,
            ..Activity::default()
        }
    }
}

impl Found {
    pub fn merge(&mut self, other: &Found) {
        self.first = self.first.take().or_else(|| other.first.clone());
        self.samples += other.samples;
        self.threads.extend(&other.threads);
        for (place, samples) in &other.places {
            *self.places.entry(place.clone()).or_default() += samples;
        }
        self.stitched |= other.stitched;
        self.decrypts.extend(&other.decrypts);
    }
}
