// SPDX-License-Identifier: BSD-2-Clause
//! An ELF file, whose last 8 bytes are also an address.

use classify::{examine, loaded, may_have_crypto, Machine, Program};

pub fn fuzz(data: &[u8]) {
    let address = data
        .last_chunk()
        .map_or(0, |last| u64::from_le_bytes(*last));
    if let Ok(module) = examine(data) {
        let functions = &module.functions;
        assert!(functions
            .windows(2)
            .all(|two| two[0].address <= two[1].address));
        assert!(functions
            .iter()
            .all(|function| !function.instructions.is_empty()));
        assert_eq!(module.class, functions.iter().filter_map(|f| f.class).max());
        assert!(module
            .tables
            .windows(2)
            .all(|two| two[0].address <= two[1].address));
        // Arm's instructions have to be aligned, which a section of a damaged file need not be.
        let x86 = module.machine != Machine::Arm64;
        assert!(functions.is_empty() || !x86 || may_have_crypto(module.machine, data));
    }
    let _ = loaded(data);
    let Ok(program) = Program::read(data) else {
        return;
    };
    let entries: Vec<u64> = program
        .entries()
        .map(|(_, offset)| offset)
        .take(8)
        .collect();
    let found = entries
        .iter()
        .filter_map(|offset| program.address_of(*offset));
    for address in found.chain([address, address & 0xffff, 0x1000, 0]) {
        if let Some(around) = program.around(address) {
            assert!(around.range.contains(&address), "{around:x?} {address:#x}");
        }
        if let Some(offset) = program.offset_of(address) {
            assert!(program.address_of(offset).is_some(), "{offset:#x}");
        }
    }
}
