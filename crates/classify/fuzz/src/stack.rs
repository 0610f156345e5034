// SPDX-License-Identifier: BSD-2-Clause
//! A section .eh_frame, and a stack that is followed by it. The input begins with an address and
//! `WORDS` words of the stack, of two bytes each; the rest is the section.

use classify::frames::{Frame, Frames};
use classify::Program;

const WORDS: usize = 24;
const HEAD: usize = 2 * (1 + WORDS);
/// The address of the first word of the stack, and of the section.
const STACK: u64 = 0x7000;
const SECTION: u64 = 0x2000;
const DEPTH: usize = 32;

pub fn fuzz(data: &[u8]) {
    if data.len() < HEAD {
        return;
    }
    let (head, section) = data.split_at(HEAD);
    let numbers = head.chunks_exact(2);
    let numbers = numbers.map(|two| u64::from(u16::from_le_bytes([two[0], two[1]])));
    let numbers: Vec<u64> = numbers.collect();
    let file = file(section);
    let frames = Frames::read(&file).expect("the file around the section is whole");
    let program = Program::read(&file).expect("the file around the section is whole");
    let read = |at: u64| {
        let index = usize::try_from(at.checked_sub(STACK)?).ok()?;
        numbers[1..]
            .get(index / 8)
            .filter(|_| index % 8 == 0)
            .copied()
    };
    let mut registers: [u64; 16] = std::array::from_fn(|number| STACK + 8 * number as u64);
    registers[4] = STACK; // RSP
    let mut frame = Frame::sampled(numbers[0], &registers);
    // As deep as trace looks. An expression can compute return addresses without end.
    for _ in 0..DEPTH {
        let Ok(Some(next)) = frames.caller(&frame, 0, &read) else {
            break;
        };
        let grows = next.stack().is_none_or(|_| next.stack() > frame.stack());
        assert!(grows, "a circle");
        let _ = program.around(next.within());
        frame = next;
    }
}

/// The smallest ELF file with this section.
fn file(section: &[u8]) -> Vec<u8> {
    const HEADER: u64 = 64;
    const NAMES: &[u8] = b"\0.eh_frame\0.shstrtab\0";
    let names = HEADER + section.len() as u64;
    // The reader wants them aligned.
    let headers = (names + NAMES.len() as u64).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // ET_DYN, EM_X86_64, version, entry, and no program headers.
    file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend(headers.to_le_bytes());
    file.extend([0; 4]);
    for half in [HEADER as u16, 56, 0, 64, 3, 2] {
        file.extend(half.to_le_bytes());
    }
    file.extend(section);
    file.extend(NAMES);
    file.resize(headers as usize, 0);
    let mut header = |name: u32, kind: u32, flags: u64, address: u64, offset: u64, size: u64| {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        for word in [flags, address, offset, size, 0, 1, 0] {
            file.extend(word.to_le_bytes());
        }
    };
    const PROGBITS: u32 = 1;
    const STRTAB: u32 = 3;
    const ALLOC: u64 = 2;
    header(0, 0, 0, 0, 0, 0);
    header(1, PROGBITS, ALLOC, SECTION, HEADER, section.len() as u64);
    header(11, STRTAB, 0, 0, names, NAMES.len() as u64);
    file
}
