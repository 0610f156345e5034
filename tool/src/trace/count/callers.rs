// SPDX-License-Identifier: BSD-2-Clause
//! Which counted library called another one: where each process has those that do.

use super::functions::calls_others;
use crate::trace::target::maps::Mapping;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// More processes, and more mappings of one, are not remembered: a process may make any number.
const MOST_PROCESSES: usize = 1 << 14;
const MOST_MAPPINGS: usize = 64;

/// The executable mappings of these libraries, by process. One that is gone stays: the counts are
/// read when the process may have ended.
#[derive(Default)]
pub struct Callers(HashMap<u32, Vec<(Range<u64>, String)>>);

impl Callers {
    pub fn mapped(&mut self, pid: u32, mapping: &Mapping) {
        let name = Path::new(&mapping.path).file_name();
        if !name
            .and_then(|name| name.to_str())
            .is_some_and(calls_others)
        {
            return;
        }
        if self.0.len() >= MOST_PROCESSES && !self.0.contains_key(&pid) {
            return;
        }
        let own = self.0.entry(pid).or_default();
        if own.len() < MOST_MAPPINGS {
            own.push((mapping.range.clone(), mapping.path.clone()));
        }
    }

    pub fn forked(&mut self, pid: u32, parent: u32) {
        match self.0.get(&parent).cloned() {
            Some(own) if self.0.len() < MOST_PROCESSES => {
                self.0.insert(pid, own);
            }
            // An earlier process had this ID.
            _ => {
                self.0.remove(&pid);
            }
        }
    }

    /// The library at an address, the one that was mapped last.
    pub fn at(&self, pid: u32, address: u64) -> Option<&str> {
        let own = self.0.get(&pid)?;
        let found = own.iter().rev().find(|(range, _)| range.contains(&address));
        found.map(|(_, path)| path.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::target::maps::File;

    fn mapping(start: u64, path: &str) -> Mapping {
        let file = File {
            device: (0, 0),
            inode: 1,
        };
        Mapping::new(start..start + 0x1000, 0, file, path)
    }

    #[test]
    fn a_child_has_the_libraries_of_its_parent() {
        let mut callers = Callers::default();
        callers.mapped(7, &mapping(0x1000, "/lib/libgnutls.so.30"));
        callers.mapped(7, &mapping(0x3000, "/lib/libgnutls-dane.so.0"));
        callers.forked(8, 7);
        assert_eq!(callers.at(8, 0x1fff), Some("/lib/libgnutls.so.30"));
        assert_eq!(callers.at(8, 0x2000), None);
        assert_eq!(callers.at(8, 0x3000), None);
        assert_eq!(callers.at(9, 0x1000), None);
        // Another process with the ID.
        callers.forked(8, 6);
        assert_eq!(callers.at(8, 0x1000), None);
        for start in 0..100 {
            callers.mapped(7, &mapping(start << 12, "/lib/libgnutls.so.30"));
        }
        assert_eq!(callers.0[&7].len(), MOST_MAPPINGS);
    }
}
