// SPDX-License-Identifier: BSD-2-Clause
//! What samples have shown, in a whole trace or in a part of it. Parts can be added up.

use super::spots::{Place, Seen};
use classify::hot::Work;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Samples, and the processes that have them.
#[derive(Default)]
pub struct Tally {
    pub samples: u64,
    pub kernel: u64,
    /// Of the samples in the kernel, those in functions that copy between user space and the
    /// kernel.
    pub copies: u64,
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
#[derive(Clone)]
pub struct Activity {
    pub pid: u32,
    /// Tells processes with the same ID apart.
    pub serial: u64,
    pub name: String,
    /// Whether it has mapped a Java virtual machine, so that code without a file is Java's.
    pub runs_java: bool,
    pub samples: u64,
    pub kernel: u64,
    /// Those in functions of the kernel that copy.
    pub copies: u64,
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

impl Tally {
    pub fn merge(&mut self, other: &Tally) {
        self.samples += other.samples;
        self.kernel += other.kernel;
        self.copies += other.copies;
        self.lost += other.lost;
        self.aes += other.aes;
        self.unexamined += other.unexamined;
        self.unexamined_in_kernel += other.unexamined_in_kernel;
        self.unclear += other.unclear;
        self.skipped += other.skipped;
        self.unreadable.extend(&other.unreadable);
        let known = self.processes.iter().map(|known| known.serial);
        let mut places: HashMap<u64, usize> = known.zip(0..).collect();
        for process in &other.processes {
            match places.entry(process.serial) {
                Entry::Occupied(place) => self.processes[*place.get()].merge(process),
                Entry::Vacant(place) => {
                    place.insert(self.processes.len());
                    self.processes.push(process.clone());
                }
            }
        }
    }
}

impl Activity {
    pub fn new(pid: u32, serial: u64, name: String) -> Activity {
        Activity {
            pid,
            serial,
            name,
            runs_java: false,
            samples: 0,
            kernel: 0,
            copies: 0,
            aes: 0,
            threads: HashSet::new(),
            found: HashMap::new(),
        }
    }

    /// Adds what the same process did later.
    fn merge(&mut self, later: &Activity) {
        self.name.clone_from(&later.name);
        self.runs_java |= later.runs_java;
        self.samples += later.samples;
        self.kernel += later.kernel;
        self.copies += later.copies;
        self.aes += later.aes;
        self.threads.extend(&later.threads);
        for (key, found) in &later.found {
            match self.found.entry(*key) {
                Entry::Occupied(mut known) => known.get_mut().merge(found),
                Entry::Vacant(new) => drop(new.insert(found.clone())),
            }
        }
    }
}

impl Found {
    pub fn new(seen: &Seen) -> Found {
        Found {
            samples: 0,
            threads: HashSet::new(),
            places: HashMap::new(),
            first: seen.clone(),
            stitched: false,
            decrypts: HashSet::new(),
        }
    }

    pub fn merge(&mut self, other: &Found) {
        self.samples += other.samples;
        self.threads.extend(&other.threads);
        for (place, samples) in &other.places {
            *self.places.entry(place.clone()).or_default() += samples;
        }
        self.stitched |= other.stitched;
        self.decrypts.extend(&other.decrypts);
    }
}
