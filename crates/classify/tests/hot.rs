// SPDX-License-Identifier: BSD-2-Clause
//! What runs at an address, by code written as bytes and a process made of a few numbers.

use classify::hot::{look, Code, Confidence, Memory, Registers, Running, Work};
use classify::{Machine, Table, TableKind};
use std::ops::Range;

const AESENC: &[u8] = &[0x66, 0x0f, 0x38, 0xdc, 0xc1];
const AESENCLAST: &[u8] = &[0x66, 0x0f, 0x38, 0xdd, 0xc1];
/// VAESENC and VAESENCLAST of zmm0 by zmm1.
const VAESENC: &[u8] = &[0x62, 0xf2, 0x7d, 0x48, 0xdc, 0xc1];
const VAESENCLAST: &[u8] = &[0x62, 0xf2, 0x7d, 0x48, 0xdd, 0xc1];
/// MOVZX EAX, byte [RDI + RAX].
const LOOKUP: &[u8] = &[0x0f, 0xb6, 0x04, 0x07];
const RET: &[u8] = &[0xc3];

fn pclmul(halves: u8) -> Vec<u8> {
    vec![0x66, 0x0f, 0x3a, 0x44, 0xc1, halves]
}

/// JNZ back over so many bytes.
fn back(bytes: usize) -> Vec<u8> {
    vec![0x75, (-(bytes as i64) - 2) as u8]
}

fn looped(parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    let jump = back(body.len());
    [body, jump].concat()
}

/// One table at one address.
struct Process(Option<(TableKind, u64)>);

impl Memory for Process {
    fn tables(&mut self, range: Range<u64>) -> Vec<Table> {
        let here = self.0.filter(|(_, address)| range.contains(address));
        let table = |(kind, address)| Table {
            kind,
            address,
            section: None,
            length: 256,
        };
        here.map(table).into_iter().collect()
    }
}

const BASE: u64 = 0x40_1000;

fn running(code: &[u8], offset: u64, table: Option<(TableKind, u64)>, rdi: u64) -> Running {
    let code = Code {
        machine: Machine::X86_64,
        address: BASE,
        bytes: code,
        whole: true,
    };
    let mut registers = Registers::default();
    registers.0[7] = rdi;
    look(&code, BASE + offset).running(&registers, &mut Process(table))
}

fn work(code: &[u8], offset: u64) -> Work {
    running(code, offset, None, 0).work
}

#[test]
fn the_loop_has_the_width_and_the_function_the_last_round() {
    let narrow = looped(&[AESENC]);
    let cipher = [&narrow[..], AESENCLAST, RET].concat();
    assert_eq!(work(&cipher, 0), Work::AesNi);
    // The same loop in a function without a last round.
    let hash = [&narrow[..], RET].concat();
    assert_eq!(work(&hash, 0), Work::Hash);
    let sbox = [&looped(&[AESENCLAST])[..], RET].concat();
    assert_eq!(work(&sbox, 0), Work::Sbox);
    // A wide loop, and far behind it a narrow one for the rest.
    let wide = looped(&[VAESENC]);
    let far = vec![0x90; 600];
    let both = [&wide[..], VAESENCLAST, &far, &narrow, AESENCLAST, RET].concat();
    assert_eq!(work(&both, 0), Work::Vaes512);
    assert_eq!(work(&both, (both.len() - 8) as u64), Work::AesNi);
    // Between them, the function decides.
    assert_eq!(work(&both, 300), Work::Vaes512);
    let found = running(&both, 0, None, 0);
    assert_eq!(found.range, BASE..BASE + wide.len() as u64);
    assert_eq!(found.decrypts, Some(false));
}

#[test]
fn a_table_counts_if_a_lookup_goes_to_its_first_entry() {
    let code = [&looped(&[LOOKUP])[..], RET].concat();
    let place = 0x7f00_1234_5000;
    let table = Some((TableKind::Sbox, place));
    let found = running(&code, 0, table, place);
    assert_eq!(
        (found.work, found.table.unwrap().address),
        (Work::Tables, place)
    );
    assert_eq!(running(&code, 0, table, place + 7).work, Work::Tables);
    for elsewhere in [place + 8, place - 1, 0] {
        assert_eq!(running(&code, 0, table, elsewhere).work, Work::Other);
    }
    let ghash = Some((TableKind::Ghash, place));
    assert_eq!(running(&code, 0, ghash, place).work, Work::GhashTables);
    // Vector code may keep such a table in registers; a lookup in it means nothing.
    let inversion = Some((TableKind::Inversion, place));
    assert_eq!(running(&code, 0, inversion, place).work, Work::Other);
    // A register that points to a table, but is not used for a lookup: MOV EAX, [RSI].
    let idle = [&looped(&[&[0x8b, 0x06]])[..], RET].concat();
    assert_eq!(running(&idle, 0, table, place).work, Work::Other);
    // AES instructions outweigh a table.
    let both = [&looped(&[LOOKUP, AESENC])[..], AESENCLAST, RET].concat();
    assert_eq!(running(&both, 0, table, place).work, Work::AesNi);
}

/// A program that searches for an S-box compares text with it. Only loads by bytes of a state are
/// those of a cipher.
#[test]
fn a_table_that_is_read_in_order_is_no_lookup() {
    let place = 0x7f00_1234_5000;
    let table = Some((TableKind::Sbox, place));
    let work = |parts: &[&[u8]]| {
        let code = [&looped(parts)[..], RET].concat();
        running(&code, 0, table, place).work
    };
    // MOV EAX, [RDI + RCX] and the text with the same counter: CMP EAX, [RSI + RCX].
    let compare: &[u8] = &[0x8b, 0x04, 0x0f, 0x3b, 0x04, 0x0e];
    // ADD RCX, 4; INC ECX; LEA RCX, [RCX + 4].
    for count in [
        &[0x48, 0x83, 0xc1, 0x04][..],
        &[0xff, 0xc1],
        &[0x48, 0x8d, 0x49, 0x04],
    ] {
        assert_eq!(work(&[compare, count]), Work::Other, "{count:x?}");
    }
    // The index is the same in each pass.
    assert_eq!(work(&[compare]), Work::Other);
    // The byte before is of another register: MOVZX EDX, DL.
    assert_eq!(work(&[&[0x0f, 0xb6, 0xd2], compare]), Work::Other);
    // Bytes of the state: MOVZX ECX, AH; MOVZX ECX, byte [RSI]; AND ECX, 0x3fc; SHR ECX, 24.
    let bytes: [&[u8]; 4] = [
        &[0x0f, 0xb6, 0xcc],
        &[0x0f, 0xb6, 0x0e],
        &[0x81, 0xe1, 0xfc, 0x03, 0, 0],
        &[0xc1, 0xe9, 24],
    ];
    for byte in bytes {
        assert_eq!(work(&[byte, compare]), Work::Tables, "{byte:x?}");
        // At the end of the loop, for the next pass.
        assert_eq!(work(&[compare, byte]), Work::Tables, "{byte:x?}");
        // With a part of the key, XOR ECX, EDX; and copied: MOV ECX, EDX behind MOVZX EDX, CL.
        assert_eq!(work(&[byte, &[0x31, 0xd1], compare]), Work::Tables);
        let copied: &[&[u8]] = &[byte, &[0x0f, 0xb6, 0xd1], &[0x89, 0xd1], compare];
        assert_eq!(work(copied), Work::Tables);
    }
}

#[test]
fn products_of_128_bits_are_ghash_and_folding_is_not() {
    let ghash = [
        &looped(&[&pclmul(0x00), &pclmul(0x11), &pclmul(0x10)])[..],
        RET,
    ]
    .concat();
    assert_eq!(work(&ghash, 0), Work::GhashClmul);
    // A CRC reduces behind its loop.
    let fold = looped(&[&pclmul(0x00), &pclmul(0x11)]);
    let crc = [&fold[..], &pclmul(0x10), &pclmul(0x00), RET].concat();
    assert_eq!(work(&crc, 0), Work::Clmul);
    assert_eq!(work(&crc, fold.len() as u64), Work::Clmul);
    // In one function with AES, multiplication is that of GCM.
    let gcm = [
        &looped(&[&pclmul(0x00), &pclmul(0x10)])[..],
        &[0x90; 600],
        AESENC,
        AESENCLAST,
        RET,
    ]
    .concat();
    let found = running(&gcm, 0, None, 0);
    assert_eq!((found.work, found.stitched), (Work::AesNi, true));
}

#[test]
fn long_runs_of_boolean_operations() {
    // PAND, PXOR, POR of xmm0 by xmm1.
    let logic = [
        [0x66, 0x0f, 0xdb, 0xc1],
        [0x66, 0x0f, 0xef, 0xc1],
        [0x66, 0x0f, 0xeb, 0xc1],
    ]
    .concat();
    let sliced = [&logic.repeat(60)[..], RET].concat();
    assert_eq!(work(&sliced, 300), Work::Bitslice);
    let short = [&logic.repeat(10)[..], RET].concat();
    assert_eq!(work(&short, 60), Work::Other);
    // As much again of copies: MOVDQA of xmm2 by xmm0, as two operands need.
    let copies = [&logic[..], &[0x66, 0x0f, 0x6f, 0xd0].repeat(4)].concat();
    let copied = [&copies.repeat(40)[..], RET].concat();
    assert_eq!(work(&copied, 300), Work::Bitslice);
    // Lookups between them, MOV EDX, [RSI + RCX * 8] behind MOVZX ECX, AL: another cipher.
    let lookups: Vec<u8> = (0..8)
        .flat_map(|at| [0x0f, 0xb6, 0xc8, 0x8b, 0x54, 0xce, at])
        .collect();
    let cipher = [&logic.repeat(60)[..], &lookups, RET].concat();
    assert_eq!(work(&cipher, 720), Work::Other);
    // With PADDD between them, as in hash functions and stream ciphers.
    let sums = [&logic[..], &[0x66, 0x0f, 0xfe, 0xc1]].concat();
    let stream = [&sums.repeat(60)[..], RET].concat();
    assert_eq!(work(&stream, 300), Work::Other);
}

/// Code whose beginning is not known: decoding begins where it meets the address.
#[test]
fn code_without_bounds() {
    // Ends inside an instruction of 10 bytes: MOV RAX, imm64.
    let before = [&[0x48, 0xb8][..], &[0x66; 8], &[0xcc; 4]].concat();
    let cipher = [&looped(&[AESENC])[..], AESENCLAST, RET, &[0xcc; 4]].concat();
    // Behind the padding another function follows.
    let bytes = [&before[3..], &cipher, &looped(&[VAESENC]), VAESENCLAST, RET].concat();
    let at = BASE + (before.len() - 3) as u64;
    let code = Code {
        machine: Machine::X86_64,
        address: BASE,
        bytes: &bytes,
        whole: false,
    };
    let found = look(&code, at).running(&Registers::default(), &mut Process(None));
    assert_eq!(found.work, Work::AesNi);
    assert_eq!(found.range.start, at);
}

#[test]
fn any_bytes_have_an_answer() {
    let mut random = fastrand::Rng::with_seed(3);
    let parts = [
        AESENC,
        AESENCLAST,
        VAESENC,
        LOOKUP,
        RET,
        &[0xcc],
        &[0x75, 0xf0],
        &[0xeb, 0x80],
    ];
    for round in 0..3000 {
        let mut bytes: Vec<u8> = (0..random.usize(0..200)).map(|_| random.u8(..)).collect();
        for _ in 0..random.usize(0..8) {
            bytes.extend(parts[random.usize(..parts.len())]);
        }
        let machine = [Machine::X86_64, Machine::I386, Machine::Arm64][round % 3];
        let address = [BASE, 0, u64::MAX - 100, random.u64(..)][random.usize(..4)];
        let code = Code {
            machine,
            address,
            bytes: &bytes,
            whole: random.bool(),
        };
        let at = [address.wrapping_add(random.u64(0..300)), random.u64(..)][random.usize(..2)];
        let mut registers = Registers::default();
        registers.0.fill_with(|| random.u64(..));
        let spot = look(&code, at);
        let table = Some((TableKind::Te, random.u64(..)));
        let _ = spot.running(&registers, &mut Process(table));
    }
}

/// As many loops as a function can have must not cost a pass over it each.
#[test]
fn a_function_of_jumps_back() {
    // Short ones, whose loops have no multiplication.
    let short = [&pclmul(0x00)[..], &back(0).repeat(46_000), RET].concat();
    assert_eq!(work(&short, 40_000), Work::Clmul);
    // JNZ to the beginning, from everywhere.
    let mut long = pclmul(0x00);
    while long.len() < 92 << 10 {
        let distance = -(long.len() as i32) - 6;
        long.extend([0x0f, 0x85]);
        long.extend(distance.to_le_bytes());
    }
    assert_eq!(work(&long, 3), Work::Clmul);
}

#[test]
fn works_are_grouped() {
    use Work::*;
    let aes = [Vaes512, Vaes256, AesNi, ArmCe, Vperm, Tables];
    let others = [GhashClmul, GhashTables, Bitslice, Clmul, Hash, Sbox, Other];
    assert!(aes.iter().all(|work| work.is_aes()) && !others.iter().any(|work| work.is_aes()));
    let ghash: Vec<Work> = aes
        .into_iter()
        .chain(others)
        .filter(|w| w.is_ghash())
        .collect();
    assert_eq!(ghash, [GhashClmul, GhashTables]);
    let names: std::collections::BTreeSet<_> =
        aes.iter().chain(&others).map(|work| work.name()).collect();
    assert_eq!(names.len(), 13);
}

#[test]
fn how_sure_a_result_is() {
    let found = |code: &[&[u8]]| {
        let code = [&looped(code)[..], RET].concat();
        let found = running(&code, 0, None, 0);
        (found.work, found.confidence, found.decrypts, found.stitched)
    };
    let (certain, likely) = (Confidence::Certain, Confidence::Likely);
    let aesdec: &[u8] = &[0x66, 0x0f, 0x38, 0xde, 0xc1];
    let expected = (Work::AesNi, certain, Some(false), false);
    assert_eq!(found(&[AESENC, AESENCLAST]), expected);
    let aesdeclast: &[u8] = &[0x66, 0x0f, 0x38, 0xdf, 0xc1];
    let expected = (Work::AesNi, certain, Some(true), false);
    assert_eq!(found(&[aesdec, aesdeclast]), expected);
    // Both ways in one loop, and keys alone: AESIMC.
    let expected = (Work::AesNi, certain, None, false);
    assert_eq!(found(&[aesdec, AESENCLAST]), expected);
    assert_eq!(found(&[&[0x66, 0x0f, 0x38, 0xdb, 0xc1]]), expected);
    assert_eq!(found(&[AESENC]), (Work::Hash, likely, Some(false), false));
    assert_eq!(
        found(&[AESENCLAST]),
        (Work::Sbox, likely, Some(false), false)
    );
    let expected = (Work::GhashClmul, likely, None, false);
    assert_eq!(found(&[&pclmul(0x00), &pclmul(0x01)]), expected);
    let expected = (Work::Clmul, Confidence::Possible, None, false);
    assert_eq!(found(&[&pclmul(0x00)]), expected);
    // Rounds and multiplications in one function, but no cipher.
    let expected = (Work::Hash, likely, Some(false), false);
    assert_eq!(found(&[AESENC, &pclmul(0x00)]), expected);
    let (work, .., stitched) = found(&[AESENC, AESENCLAST, &pclmul(0x00)]);
    assert_eq!((work, stitched), (Work::AesNi, true));
    let nothing = (Work::Other, Confidence::Possible, None, false);
    assert_eq!(found(&[&[0x90]]), nothing);
}

#[test]
fn each_width_has_its_work() {
    // VAESENC and VAESENCLAST of ymm0 by ymm1 and ymm2.
    let ymm = [
        [0xc4, 0xe2, 0x75, 0xdc, 0xc2],
        [0xc4, 0xe2, 0x75, 0xdd, 0xc2],
    ];
    let code = [&looped(&[&ymm[0], &ymm[1]])[..], RET].concat();
    assert_eq!(work(&code, 0), Work::Vaes256);
    // VAESENCLAST alone is wide, the rounds are not; and AESKEYGENASSIST alone.
    let code = [&looped(&[AESENC, VAESENCLAST])[..], RET].concat();
    assert_eq!(work(&code, 0), Work::Vaes512);
    let keys: &[u8] = &[0x66, 0x0f, 0x3a, 0xdf, 0xc1, 0x01];
    assert_eq!(work(&[keys, RET].concat(), 0), Work::AesNi);
}

#[test]
fn tables_tell_the_direction() {
    let code = [&looped(&[LOOKUP])[..], RET].concat();
    for (kind, work, decrypts) in [
        (TableKind::Sbox, Work::Tables, None),
        (TableKind::InverseSbox, Work::Tables, Some(true)),
        (TableKind::Te, Work::Tables, Some(false)),
        (TableKind::Td, Work::Tables, Some(true)),
        (TableKind::Ghash, Work::GhashTables, None),
    ] {
        let found = running(&code, 0, Some((kind, 0x7000)), 0x7000);
        assert_eq!((found.work, found.decrypts), (work, decrypts), "{kind:?}");
        assert_eq!(found.confidence, Confidence::Likely);
        assert_eq!((found.stitched, found.range), (false, BASE..BASE + 6));
    }
}

/// Byte shuffles mean the S-box of a table of inverses, and permutations that of an S-box in
/// registers, if the table lies near.
#[test]
fn shuffles_mean_aes_with_a_table_near() {
    // PSHUFB xmm0, xmm1; PSRLD xmm0, 4; MOVDQA xmm0, [RDI]; VPERMI2B zmm0, zmm1, zmm2.
    let shuffle: &[u8] = &[0x66, 0x0f, 0x38, 0x00, 0xc1];
    let shift: &[u8] = &[0x66, 0x0f, 0x72, 0xd0, 0x04];
    let load: &[u8] = &[0x66, 0x0f, 0x6f, 0x07];
    let permute: &[u8] = &[0x62, 0xf2, 0x75, 0x48, 0x75, 0xc2];
    let table = 0x7f00_1234_5000;
    let found = |parts: &[&[u8]], kind, rdi| {
        let code = [&looped(parts)[..], RET].concat();
        let found = running(&code, 0, Some((kind, table)), rdi);
        assert_eq!(found.table.is_some(), found.work == Work::Vperm);
        found.work
    };
    let nibbles = [
        load, shift, shuffle, shuffle, shuffle, shuffle, shuffle, shuffle,
    ];
    let inversion = TableKind::Inversion;
    for near in [0, 1024, -1023] {
        let rdi = table.wrapping_add_signed(near);
        assert_eq!(found(&nibbles, inversion, rdi), Work::Vperm, "{near}");
    }
    for far in [1025, -1024] {
        let rdi = table.wrapping_add_signed(far);
        assert_eq!(found(&nibbles, inversion, rdi), Work::Other, "{far}");
    }
    assert_eq!(found(&nibbles[..7], inversion, table), Work::Other);
    assert_eq!(found(&nibbles, TableKind::Sbox, table), Work::Other);
    for sbox in [TableKind::Sbox, TableKind::InverseSbox] {
        assert_eq!(found(&[load, permute], sbox, table), Work::Vperm);
    }
    assert_eq!(found(&[load, permute], inversion, table), Work::Other);
    // The table may be loaded elsewhere in the function.
    let code = [load, &looped(&nibbles[1..]), RET].concat();
    let found = running(&code, load.len() as u64, Some((inversion, table)), table);
    assert_eq!(
        (found.work, found.confidence),
        (Work::Vperm, Confidence::Likely)
    );
    assert_eq!((found.stitched, found.decrypts), (false, None));
}

/// Code far from any cryptographic instruction belongs to a function that has some, unless its
/// own lookups go to a table.
#[test]
fn a_function_decides_for_code_between_its_parts() {
    let loop_of_lookups = looped(&[LOOKUP]);
    let far = vec![0x90; 600];
    let code = [&loop_of_lookups[..], &far, AESENC, AESENCLAST, RET].concat();
    let table = Some((TableKind::Te, 0x7000));
    assert_eq!(running(&code, 0, table, 0x7000).work, Work::Tables);
    let found = running(&code, 0, table, 0x9000);
    let whole = BASE..BASE + code.len() as u64;
    assert_eq!((found.work, found.range), (Work::AesNi, whole));
}

#[test]
fn a_long_function_may_be_sliced_as_a_whole() {
    // 60 Boolean operations within the neighbourhood of the address, 200 in all: PXOR.
    let function = [&[0x66, 0x0f, 0xef, 0xc1].repeat(200)[..], RET].concat();
    let found = running(&function, 0, None, 0);
    let whole = BASE..BASE + function.len() as u64;
    assert_eq!((found.work, found.range), (Work::Bitslice, whole));
    let found = running(&function, 400, None, 0);
    let near = BASE + 400 - 256..BASE + 400 + 256;
    assert_eq!((found.work, found.range), (Work::Bitslice, near));
}

#[test]
fn code_of_each_processor() {
    let found = |machine, bytes: &[u8]| {
        let code = Code {
            machine,
            address: BASE,
            bytes,
            whole: true,
        };
        let spot = look(&code, BASE);
        let running = spot.running(&Registers::default(), &mut Process(None));
        (running.work, running.range)
    };
    let aes = [AESENC, AESENCLAST].concat();
    let expected = (Work::AesNi, BASE..BASE + aes.len() as u64);
    assert_eq!(found(Machine::X86_64, &aes), expected);
    assert_eq!(found(Machine::I386, &aes), expected);
    // AESE, AESMC, AESE and EOR.
    let words = [0x4e28_4840u32, 0x4e28_6800, 0x4e28_4840, 0x6e23_1c00];
    let arm: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(found(Machine::Arm64, &arm), (Work::ArmCe, BASE..BASE + 16));
    // INC EAX with 32 bits is a prefix with 64: 40.
    let counted = [&[0x40][..], &aes].concat();
    let (_, range) = found(Machine::I386, &counted);
    assert_eq!(range, BASE..BASE + counted.len() as u64);
}
