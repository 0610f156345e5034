// SPDX-License-Identifier: BSD-2-Clause
//! Reads the memory of a traced process or of the kernel: code under samples, and data that this
//! code refers to. It looks for nothing but tables of constants, and keeps only code.

use super::kernel::Kernel;
use classify::hot::Memory;
use classify::{tables_near, Table};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Whose memory is read.
#[derive(Clone, Copy)]
pub enum Space<'k> {
    Process(u32),
    Kernel(&'k Kernel),
}

impl Space<'_> {
    /// Reads up to the first address that cannot be read; None if that is the first one.
    pub fn read(self, range: Range<u64>) -> Option<Vec<u8>> {
        match self {
            Space::Process(pid) => {
                let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
                read(&memory, range.start, range.end.checked_sub(range.start)?)
            }
            Space::Kernel(kernel) => kernel.bytes(range),
        }
    }
}

/// Up to 1 MiB of a file, or of memory by a file of /proc, up to what cannot be read; None if that
/// is the first byte.
pub fn read(file: &File, offset: u64, length: u64) -> Option<Vec<u8>> {
    const MOST: u64 = 1 << 20;
    let mut bytes = vec![0; length.min(MOST) as usize];
    let count = file.read_at(&mut bytes, offset).ok()?;
    bytes.truncate(count);
    (count > 0).then_some(bytes)
}

/// The longest table.
const LONGEST: u64 = 2048;

/// The tables of one process or of the kernel, as samples ask for them.
#[derive(Debug, Default)]
pub struct Tables {
    seen: HashMap<(u64, u64), Vec<Table>>,
}

/// The tables of a process, while it can be read; else those of the file whose code was sampled.
pub struct View<'v> {
    pub space: Space<'v>,
    pub tables: &'v mut Tables,
    /// Reads the file by addresses of the process.
    pub file: &'v dyn Fn(Range<u64>) -> Option<Vec<u8>>,
}

impl Memory for View<'_> {
    fn tables(&mut self, range: Range<u64>) -> Vec<Table> {
        let key = (range.start, range.end);
        if let Some(known) = self.tables.seen.get(&key) {
            return known.clone();
        }
        let start = range.start & !7;
        let around = start..range.end.saturating_add(LONGEST);
        let bytes = self
            .space
            .read(around.clone())
            .or_else(|| (self.file)(around));
        let mut found = tables_near(start, &bytes.unwrap_or_default());
        found.retain(|table| range.contains(&table.address));
        self.tables.seen.insert(key, found.clone());
        found
    }
}
