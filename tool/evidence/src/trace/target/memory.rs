// SPDX-License-Identifier: BSD-2-Clause
//! Reads the memory of a traced process or of the kernel: code under samples, and data that this
//! code refers to. It looks for nothing but tables of constants, and keeps only code.

use super::kernel::Kernel;
use classify::hot::Memory;
use classify::{tables_near, Table};
use nix::sys::uio::{process_vm_readv, RemoteIoVec};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::io::IoSliceMut;
use std::ops::Range;

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
            Space::Process(pid) => read(pid, range),
            Space::Kernel(kernel) => kernel.bytes(range),
        }
    }
}

fn read(pid: u32, range: Range<u64>) -> Option<Vec<u8>> {
    const LONGEST: u64 = 1 << 20;
    let length = range.end.checked_sub(range.start)?.min(LONGEST) as usize;
    let mut bytes = vec![0; length];
    // Each page is an element of its own, because the call reads only whole elements.
    let mut remote = Vec::new();
    let mut base = usize::try_from(range.start).ok()?;
    let mut rest = length;
    while rest > 0 {
        let len = rest.min(PAGE - base % PAGE);
        remote.push(RemoteIoVec { base, len });
        base = base.checked_add(len)?;
        rest -= len;
    }
    let pid = Pid::from_raw(i32::try_from(pid).ok()?);
    let count = process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &remote).ok()?;
    bytes.truncate(count);
    (count > 0).then_some(bytes)
}

/// The smallest page of the processors that are supported.
const PAGE: usize = 4096;
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
