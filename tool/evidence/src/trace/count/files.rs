// SPDX-License-Identifier: BSD-2-Clause
//! The files in which functions are counted. What they hold is untrusted.

use super::functions::{Function, FUNCTIONS};
use crate::trace::target::module;
use classify::{Machine, Program};
use nix::sys::statfs::{fstatfs, OVERLAYFS_SUPER_MAGIC};
use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Files, each once, whatever its names are.
#[derive(Default)]
pub struct Files(HashSet<(u64, u64, i64, u64)>);

impl Files {
    /// Whether the file was not seen before.
    pub fn is_new(&mut self, file: &File) -> bool {
        // An overlay has a device of its own over files that others overlay, too.
        let is_overlay =
            fstatfs(file).is_ok_and(|found| found.filesystem_type() == OVERLAYFS_SUPER_MAGIC);
        file.metadata().is_ok_and(|meta| {
            let device = if is_overlay { 0 } else { meta.dev() };
            self.0
                .insert((device, meta.ino(), meta.ctime(), meta.size()))
        })
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// What a file has to count.
#[derive(Default)]
pub struct Found {
    pub functions: Vec<&'static Function>,
    /// Those at whose beginning no probe may be.
    pub bad: Vec<&'static str>,
}

/// What a library, or a program, has to count. Fails if the file cannot be read.
pub fn examine(file: &File) -> Result<Found, String> {
    let mut found = Found::default();
    let bytes = module::bytes(file)?;
    let Some(program) = read(&bytes) else {
        return Ok(found);
    };
    for function in &FUNCTIONS {
        let mut entries = program.entries();
        let Some((_, offset)) = entries.find(|(name, _)| *name == function.name) else {
            continue;
        };
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        match bytes.get(at..).is_some_and(may_be_probed) {
            true => found.functions.push(function),
            false => found.bad.push(function.name),
        }
    }
    Ok(found)
}

/// A 64-bit program or library for this processor.
fn read(bytes: &[u8]) -> Option<Program> {
    const OURS: Machine = match cfg!(target_arch = "aarch64") {
        true => Machine::Arm64,
        false => Machine::X86_64,
    };
    const CLASS: usize = 4;
    const CLASS64: u8 = 2;
    let program = Program::read(bytes).ok()?;
    let is_ours = program.machine == OURS && bytes.get(CLASS) == Some(&CLASS64);
    is_ours.then_some(program)
}

/// Linux 6.18 replaces some NOPs of several bytes under a uprobe by a call, which overwrites what
/// the program keeps below its stack pointer.
fn may_be_probed(code: &[u8]) -> bool {
    let prefixes = code.iter().take_while(|byte| **byte == 0x66).count();
    let operation = &code[prefixes..];
    let is_nop =
        operation.starts_with(&[0x0f, 0x1f]) || (prefixes > 0 && operation.starts_with(&[0x90]));
    !(cfg!(target_arch = "x86_64") && is_nop)
}

pub fn is_libcrypto(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(base::inventory::is_libcrypto)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn no_probe_on_a_long_nop() {
        let long: [&[u8]; 5] = [
            &[0x0f, 0x1f, 0x44, 0, 0, 0xc3],
            &[0x66, 0x0f, 0x1f, 0x40, 0],
            &[0x66, 0x66, 0x66, 0x66, 0x90],
            &[0x0f, 0x1f, 0x00],
            &[0x66, 0x90],
        ];
        assert!(long.iter().all(|code| !may_be_probed(code)));
        let good: [&[u8]; 5] = [
            &[0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0],
            &[0x55],
            &[0x90],
            &[0x66, 0x0f, 0x6f, 0x07],
            &[],
        ];
        assert!(good.iter().all(|code| may_be_probed(code)));
    }

    #[test]
    fn a_file_is_new_once() {
        let place = std::env::current_exe().unwrap();
        let mut files = Files::default();
        assert!(files.is_new(&File::open(&place).unwrap()));
        assert!(!files.is_new(&File::open(&place).unwrap()));
        assert_eq!(files.count(), 1);
    }
}
