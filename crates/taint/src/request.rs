// SPDX-License-Identifier: BSD-2-Clause
//! The program's requests: which memory is secret, which is published, how many leaks were found.
//! They are valgrind's client requests, so that one source serves both checkers. Such a request is
//! an instruction sequence that does nothing on a processor (valgrind.h, amd64).

use crate::process::Process;
use crate::symbols;
use std::collections::HashSet;
use std::io;
use std::ops::Range;

/// Four rotations of rdi, 128 bits in all, then xchg rbx, rbx. rax points to the number of the
/// request and five arguments; the answer goes to rdx.
const SEQUENCE: [u8; 19] = [
    0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33,
    0x48, 0x87, 0xdb,
];
/// The length of the exchange.
pub const LENGTH: u64 = 3;

// Numbers from valgrind.h and memcheck.h.
pub const RUNNING: u64 = 0x1001;
pub const COUNT_ERRORS: u64 = 0x1201;
pub const DISABLE_ERRORS: u64 = 0x1801;
pub const MAKE_UNDEFINED: u64 = 0x4d43_0001;
pub const MAKE_DEFINED: u64 = 0x4d43_0002;
// The tracker's own, to which valgrind answers with the default.
/// Answers 1.
pub const TAINT: u64 = 0x5441_0000;
/// Answers a hash of the addresses of all instructions and memory accesses since the last such
/// request.
pub const TRACE: u64 = 0x5441_0001;

/// Writes breakpoints over the requests in the code of all files that are mapped. Returns their
/// addresses.
pub fn plant(process: &Process) -> io::Result<HashSet<u64>> {
    let mut sites = HashSet::new();
    for Range { start, end } in symbols::code(process.pid()) {
        let mut code = vec![0u8; (end - start) as usize];
        let read = process.read(start, &mut code)?;
        for (index, window) in code[..read].windows(SEQUENCE.len()).enumerate() {
            if window == SEQUENCE {
                sites.insert(start + (index + SEQUENCE.len()) as u64 - LENGTH);
            }
        }
    }
    for site in &sites {
        process.write(*site, &[0xcc])?;
    }
    Ok(sites)
}

/// Where the program itself begins, after the dynamic linker.
pub fn entry(pid: i32) -> io::Result<u64> {
    const AT_ENTRY: u64 = 9;
    let auxiliary = std::fs::read(format!("/proc/{pid}/auxv"))?;
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    auxiliary
        .chunks_exact(16)
        .find(|pair| word(&pair[..8]) == AT_ENTRY)
        .map(|pair| word(&pair[8..]))
        .ok_or_else(|| io::Error::other("the kernel does not say where the program begins"))
}
