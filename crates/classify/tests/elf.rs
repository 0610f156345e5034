// SPDX-License-Identifier: BSD-2-Clause
//! ELF files that the system's assembler and linker make, and damaged ones.
#![cfg(target_arch = "x86_64")]
// Tests may print: the lint is for the tool's own output.
#![allow(clippy::disallowed_macros)]

use classify::{examine, Bounds, Class, Kind, Machine, Module, Program, Refusal, TableKind};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory of one test, removed at its end.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("elf-{}-{number}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Place(dir)
    }

    /// Assembles a source with these options of cc, and returns the path of the result.
    fn assembled(&self, source: &str, options: &[&str]) -> PathBuf {
        self.assembled_by("cc", source, options)
    }

    fn assembled_by(&self, cc: &str, source: &str, options: &[&str]) -> PathBuf {
        let (input, output) = (self.0.join("a.s"), self.0.join("a.so"));
        std::fs::write(&input, source).unwrap();
        run(Command::new(cc)
            .args(options)
            .arg("-o")
            .arg(&output)
            .arg(&input));
        output
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// For a shared library.
const SHARED: [&str; 2] = ["-shared", "-nostdlib"];
const OBJECT: [&str; 1] = ["-c"];

fn bytes(source: &str, options: &[&str]) -> Vec<u8> {
    let place = Place::new();
    std::fs::read(place.assembled(source, options)).unwrap()
}

fn module(source: &str) -> Module {
    examine(&bytes(source, &SHARED)).unwrap()
}

/// A function in assembly, with a symbol.
fn function(name: &str, body: &str) -> String {
    format!(".text\n.globl {name}\n.type {name},@function\n{name}:\n{body}\nret\n.size {name},.-{name}\n")
}

/// The class of a function.
fn class(module: &Module, name: &str) -> Option<Class> {
    let mut all = module.functions.iter();
    let found = all.find(|function| function.name.as_deref() == Some(name));
    found
        .unwrap_or_else(|| panic!("no {name} in {module:#?}"))
        .class
}

/// One function for each class.
fn every_class() -> String {
    [
        (
            "narrow",
            "aesenc %xmm1,%xmm0\naesenc %xmm9,%xmm8\naesenclast %xmm2,%xmm0",
        ),
        (
            "avx",
            "vaesdec %xmm1,%xmm0,%xmm0\nvaesdeclast (%rdi),%xmm0,%xmm0",
        ),
        (
            "ymm",
            "vaesenc %ymm1,%ymm0,%ymm0\nvaesenclast %ymm1,%ymm12,%ymm0",
        ),
        (
            "zmm",
            "vaesdec %zmm17,%zmm0,%zmm31\nvaesdeclast %zmm1,%zmm0,%zmm0",
        ),
        (
            "evex",
            "vaesenc %ymm17,%ymm30,%ymm20\nvaesenclast %ymm17,%ymm30,%ymm20",
        ),
        ("keys", "aeskeygenassist $1,%xmm0,%xmm1\naesimc %xmm1,%xmm1"),
        (
            "memhash",
            "aesenc %xmm1,%xmm0\naesenc %xmm0,%xmm0\naesenc %xmm0,%xmm0",
        ),
        (
            "camellia",
            "vaesenclast %ymm1,%ymm0,%ymm0\nvaesenclast %ymm1,%ymm2,%ymm2",
        ),
        (
            "ghash",
            "pclmulqdq $17,%xmm0,%xmm1\nvpclmulqdq $0,%zmm0,%zmm1,%zmm2",
        ),
        (
            "digests",
            "sha1rnds4 $0,%xmm1,%xmm0\nsha256rnds2 %xmm1,%xmm2\nsha256msg1 %xmm1,%xmm2",
        ),
        ("none", "mov $1,%eax"),
    ]
    .map(|(name, body)| function(name, body))
    .concat()
}

#[test]
fn each_width_is_told_apart() {
    let module = module(&every_class());
    for (name, expected) in [
        ("narrow", Some(Class::AesNi)),
        ("avx", Some(Class::AesNi)),
        ("ymm", Some(Class::Vaes256)),
        ("evex", Some(Class::Vaes256)),
        ("zmm", Some(Class::Vaes512)),
        ("keys", Some(Class::AesNi)),
        ("memhash", Some(Class::Hash)),
        ("camellia", Some(Class::Sbox)),
        ("ghash", None),
        ("digests", None),
    ] {
        assert_eq!(class(&module, name), expected, "{name}");
    }
    assert_eq!(module.functions.len(), 10);
    assert_eq!(
        (module.machine, module.class),
        (Machine::X86_64, Some(Class::Vaes512))
    );
    let all = &module.instructions;
    assert_eq!(all.count(Kind::Round), 2 + 1 + 1 + 1 + 1 + 3);
    assert_eq!(all.count(Kind::LastRound), 7);
    assert_eq!(all.widths(Kind::LastRound), [128, 256, 512]);
    assert_eq!(all.widths(Kind::Clmul), [128, 512]);
    assert_eq!(
        [Kind::Sha1, Kind::Sha256].map(|kind| all.count(kind)),
        [1, 2]
    );
    assert!(
        module.build_id.is_some() || module.functions.iter().all(|f| f.bounds == Bounds::Symbol)
    );
}

#[test]
fn a_hash_alone_does_not_encrypt() {
    let module = module(&function(
        "memhash",
        "aesenc %xmm1,%xmm0\naesenc %xmm0,%xmm0",
    ));
    assert_eq!(module.class, Some(Class::Hash));
    assert!(!module.encrypts());
}

/// AESENC %xmm1,%xmm0 is 66 0f 38 dc c1.
#[test]
fn opcode_bytes_inside_an_immediate_do_not_count() {
    let in_immediates = function(
        "f",
        "movabs $0x90c1dc380f669090,%rax\nmov $0xdc380f66,%ecx\nlea 0x38dc0f66(%rax),%rdx\nmovabs $0xc1dc380f66909090,%rbx",
    );
    let in_data = ".section .rodata\n.byte 0x66,0x0f,0x38,0xdc,0xc1\n";
    let found = module(&(in_immediates.clone() + in_data));
    assert_eq!(found.functions, []);
    // The same bytes as an instruction do.
    let found = module(&(in_immediates + &function("g", ".byte 0x66,0x0f,0x38,0xdc,0xc1")));
    assert_eq!(found.functions.len(), 1);
    assert_eq!(class(&found, "g"), Some(Class::Hash));
}

/// The address of a symbol, by nm.
fn address(file: &Path, symbol: &str) -> u64 {
    let list = run(Command::new("nm").arg(file));
    let mut lines = list.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let line = lines.find(|words| words.last() == Some(&symbol)).unwrap();
    u64::from_str_radix(line[0], 16).unwrap()
}

#[test]
fn a_planted_function_is_found_at_its_offset_in_a_stripped_file() {
    let mut random = fastrand::Rng::new();
    let seed = random.get_seed();
    println!("seed {seed}");
    for _ in 0..4 {
        let mut nops = || "nop\n".repeat(random.usize(1..9000));
        let source = format!(
            ".text\n{}.hidden planted\n.globl planted\nplanted:\nvaesenc %zmm1,%zmm0,%zmm0\nvaesenclast %zmm1,%zmm0,%zmm0\nret\nint3\n{}.hidden framed\n.globl framed\nframed:\n.cfi_startproc\nxor %eax,%eax\naesenc %xmm1,%xmm0\naesenclast %xmm1,%xmm0\nret\n.cfi_endproc\n{}",
            nops(), nops(), nops(),
        );
        let place = Place::new();
        let file = place.assembled(&source, &SHARED);
        let (planted, framed) = (address(&file, "planted"), address(&file, "framed"));
        run(Command::new("strip").arg(&file));
        let module = examine(&std::fs::read(&file).unwrap()).unwrap();
        let found: Vec<_> = module
            .functions
            .iter()
            .map(|f| (f.name.clone(), f.address, f.size, f.bounds, f.class))
            .collect();
        let unknown = (None, planted, None, Bounds::Unknown, Some(Class::Vaes512));
        let known = (None, framed, Some(13), Bounds::Unwind, Some(Class::AesNi));
        assert_eq!(found, [unknown, known], "seed {seed}");
    }
}

/// A stripped program of Go has no .eh_frame either.
#[test]
fn functions_of_a_stripped_go_program_have_names() {
    let table = ".section .gopclntab,\"a\"
base: .long 0xfffffff1
.byte 0,0,1,8
.quad 2,0,first,names-base,0,0,0,entries-base
names: .asciz \"aes.first\"
.asciz \"aes.second\"
entries: .long 0,d1-entries,second-first,d2-entries,end-first
d1: .long 0,0
d2: .long second-first,10
";
    let code = ".text\nnop\nfirst:\naesenc %xmm1,%xmm0\nret\nsecond:\nvaesenc %zmm1,%zmm0,%zmm0\nvaesenclast %zmm1,%zmm0,%zmm0\nret\nend:\n";
    let place = Place::new();
    let options = ["-static", "-no-pie", "-nostdlib", "-Wl,-e,0"];
    let file = place.assembled(&format!("{code}{table}"), &options);
    run(Command::new("strip").arg(&file));
    let module = examine(&std::fs::read(&file).unwrap()).unwrap();
    let found: Vec<_> = module
        .functions
        .iter()
        .map(|f| (f.name.as_deref().unwrap(), f.size, f.bounds, f.class))
        .collect();
    let of = |name, size, class| (name, Some(size), Bounds::Symbol, Some(class));
    let hash = of("aes.first", 6, Class::Hash);
    assert_eq!(found, [hash, of("aes.second", 13, Class::Vaes512)]);
}

#[test]
fn without_section_headers_the_segments_are_read() {
    let mut data = bytes(&every_class(), &SHARED);
    // e_shoff, e_shnum and e_shstrndx
    data[40..48].fill(0);
    data[60..64].fill(0);
    let module = examine(&data).unwrap();
    assert_eq!(module.class, Some(Class::Vaes512));
    assert!(module.functions.iter().all(|f| f.bounds == Bounds::Unknown));
}

#[test]
fn object_files_and_i386() {
    // Registers from 8 on need 64 bits.
    let high = ["mm9", "mm8", "mm12", "mm17", "mm20", "mm30", "mm31"];
    let low = |source: String, name: &&str| source.replace(name, "mm3");
    let source = high.iter().fold(every_class().replace("rdi", "edi"), low);
    let place = Place::new();
    let file = place.assembled(&source, &["-c", "-m32"]);
    let module = examine(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(
        (module.machine, module.class),
        (Machine::I386, Some(Class::Vaes512))
    );
    assert_eq!(class(&module, "narrow"), Some(Class::AesNi));
    assert_eq!(class(&module, "memhash"), Some(Class::Hash));
    // In an object file the address is the offset in the file: AESENC stands there.
    let data = bytes(
        &function("f", "aesenc %xmm1,%xmm0\naesenclast %xmm1,%xmm0"),
        &OBJECT,
    );
    let module = examine(&data).unwrap();
    let at = module.functions[0].address as usize;
    assert_eq!(data[at..at + 5], [0x66, 0x0f, 0x38, 0xdc, 0xc1]);
}

#[test]
fn arm64() {
    let cc = "aarch64-linux-gnu-gcc";
    // `make check` does not ask for it; `make check-full` does. Past the capture of output, so that
    // `make check` names the skipped test.
    if Command::new(cc).arg("--version").output().is_err() {
        let line = format!("# SKIP there is no {cc}, which make check-full installs\n");
        return std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let source = [
        ("cipher", "aese v0.16b,v1.16b\naesmc v0.16b,v0.16b\naese v0.16b,v2.16b\neor v0.16b,v0.16b,v3.16b"),
        ("eor3", "aesd v9.16b,v1.16b\naesimc v9.16b,v9.16b\naesd v9.16b,v1.16b\neor3 v0.16b,v9.16b,v2.16b,v3.16b"),
        ("memhash", "aese v2.16b,v0.16b\naesmc v2.16b,v2.16b\naese v3.16b,v1.16b\naesmc v3.16b,v3.16b\naese v2.16b,v0.16b\naese v3.16b,v1.16b\neor v2.16b,v2.16b,v3.16b"),
        ("others", "pmull v0.1q,v1.1d,v2.1d\nsha256h q0,q1,v2.4s\nsha512su0 v0.2d,v1.2d\npmull v0.8h,v1.8b,v2.8b"),
    ];
    let source = source.map(|(name, body)| function(name, body)).concat();
    let source = format!(".arch armv8.2-a+crypto+sha3\n{}", source.replace('@', "%"));
    let place = Place::new();
    let file = place.assembled_by(cc, &source, &SHARED);
    let module = examine(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(
        (module.machine, module.class),
        (Machine::Arm64, Some(Class::ArmCe))
    );
    assert_eq!(class(&module, "cipher"), Some(Class::ArmCe));
    assert_eq!(class(&module, "eor3"), Some(Class::ArmCe));
    assert_eq!(class(&module, "memhash"), Some(Class::Hash));
    assert_eq!(class(&module, "others"), None);
    let kinds = [Kind::Clmul, Kind::Sha256, Kind::Sha512];
    assert_eq!(kinds.map(|kind| module.instructions.count(kind)), [1, 1, 1]);
}

/// The S-box by its definition: the inverse by search, then the affine transformation.
fn sbox() -> Vec<u8> {
    let times = |mut a: u16, b: u16| {
        let mut product = 0;
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                product ^= a;
            }
            a <<= 1;
            if a & 0x100 != 0 {
                a ^= 0x11b;
            }
        }
        product
    };
    let inverse = |x: u16| (1..256).find(|y| times(x, *y) == 1).unwrap_or(0) as u8;
    let affine = |x: u8| (0..5).fold(0x63, |sum, turn| sum ^ x.rotate_left(turn));
    (0..256).map(|x| affine(inverse(x))).collect()
}

#[test]
fn tables_in_data() {
    let list = |bytes: &[u8]| {
        let numbers: Vec<String> = bytes.iter().map(u8::to_string).collect();
        numbers.join(",")
    };
    let sbox = sbox();
    let source = |writable: &str| {
        format!(
            ".section {writable}\n.hidden box\n.globl box\n.byte 1,2,3\nbox: .byte {}\n{}",
            list(&sbox),
            function("lookup", "movzbl box(%rip),%eax")
        )
    };
    let place = Place::new();
    let file = place.assembled(&source(".rodata"), &SHARED);
    let address = address(&file, "box");
    run(Command::new("strip").arg(&file));
    let module = examine(&std::fs::read(&file).unwrap()).unwrap();
    let tables: Vec<_> = module.tables.iter().map(|t| (t.kind, t.address)).collect();
    assert_eq!(tables, [(TableKind::Sbox, address)]);
    assert_eq!(module.tables[0].section.as_deref(), Some(".rodata"));
    assert!(module.functions.is_empty() && module.class.is_none());
    // One wrong entry.
    let wrong = source(".rodata").replacen(",22\n", ",23\n", 1);
    assert_eq!(examine(&bytes(&wrong, &SHARED)).unwrap().tables, []);
    // Data that the program could change, also without section headers.
    let file = place.assembled(&source(".data"), &SHARED);
    let writable = std::fs::read(&file).unwrap();
    let mut bare = writable.clone();
    // e_shoff, e_shnum and e_shstrndx
    bare[40..48].fill(0);
    bare[60..64].fill(0);
    for data in [&writable, &bare] {
        let tables = examine(data).unwrap().tables;
        let kinds: Vec<TableKind> = tables.iter().map(|table| table.kind).collect();
        assert_eq!(kinds, [TableKind::Sbox]);
    }
}

#[test]
fn what_is_no_elf_file_is_refused() {
    for data in [&b""[..], b"\x7fEL", b"#!/bin/sh\n"] {
        assert_eq!(examine(data), Err(Refusal::NoElf));
    }
    for data in [&b"\x7fELF"[..], b"\x7fELF\x02\x01\x01"] {
        assert!(matches!(
            examine(data),
            Err(Refusal::Damaged(_) | Refusal::NoElf)
        ));
    }
    let mut riscv = bytes(&function("f", "nop"), &SHARED);
    riscv[18] = 243;
    assert!(matches!(examine(&riscv), Err(Refusal::OtherProcessor(_))));
}

/// Reads a file and asks for random addresses.
fn open(data: &[u8], random: &mut fastrand::Rng) {
    let _ = examine(data);
    let Ok(program) = Program::read(data) else {
        return;
    };
    for _ in 0..4 {
        let address = [random.u64(..), random.u64(0..0x5000)][random.usize(..2)];
        let _ = program.address_of(address);
        if let Some(around) = program.around(address) {
            assert!(around.range.contains(&address), "{around:?} {address:#x}");
        }
    }
}

/// Truncated at every length, and with random bytes changed: an error or a result, never a panic.
#[test]
fn damaged_files_do_not_panic() {
    let framed = ".cfi_startproc\naesenc %xmm1,%xmm0\n.cfi_endproc\n";
    let source = every_class() + framed;
    let files = [
        bytes(&source, &SHARED),
        bytes(&source, &OBJECT),
        bytes(
            &(function("f", "aesenc %xmm1,%xmm0") + framed),
            &["-c", "-m32"],
        ),
    ];
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    for file in &files {
        for length in 0..file.len() {
            open(&file[..length], &mut random);
        }
        for _ in 0..4000 {
            let mut data = file.clone();
            for _ in 0..random.usize(1..12) {
                // The headers stand at the beginning and at the end.
                let at = match random.u8(0..3) {
                    0 => random.usize(0..64),
                    1 => data.len() - 1 - random.usize(0..data.len().min(1024)),
                    _ => random.usize(0..data.len()),
                };
                data[at] = match random.u8(0..4) {
                    0 => 0xff,
                    1 => 0x7f,
                    2 => 0,
                    _ => random.u8(..),
                };
            }
            if random.bool() {
                data.truncate(random.usize(0..data.len()));
            }
            open(&data, &mut random);
        }
    }
}

/// 32 bits have addresses of 32 bits in .eh_frame, too.
#[test]
fn unwind_tables_of_i386() {
    let framed =
        ".text\nnop\n.hidden framed\n.globl framed\nframed:\n.cfi_startproc\naesenc %xmm1,%xmm0\n\
                  aesenclast %xmm1,%xmm0\nret\n.cfi_endproc\nnop\n";
    let place = Place::new();
    let file = place.assembled(framed, &["-m32", "-shared", "-nostdlib"]);
    let at = address(&file, "framed");
    run(Command::new("strip").arg(&file));
    let module = examine(&std::fs::read(&file).unwrap()).unwrap();
    let found: Vec<_> = module
        .functions
        .iter()
        .map(|f| (f.address, f.size, f.bounds))
        .collect();
    assert_eq!(found, [(at, Some(11), Bounds::Unwind)]);
}

/// Of several names with one address, that with a size tells the bounds; data are no functions.
#[test]
fn symbols_tell_bounds() {
    let source = ".text\n.globl a\n.type a,@function\n.globl b\n.type b,@function\na:\nb:\n\
                  aesenc %xmm1,%xmm0\nret\n.size b,.-b\n.type d,@object\n.globl d\nd:\n\
                  aesenc %xmm1,%xmm0\n.size d,.-d\n";
    for options in [&SHARED[..], &OBJECT] {
        let module = examine(&bytes(source, options)).unwrap();
        let found: Vec<_> = module
            .functions
            .iter()
            .map(|f| (f.name.as_deref(), f.size, f.bounds))
            .collect();
        assert_eq!(found, [(Some("b"), Some(6), Bounds::Symbol)]);
    }
}

#[test]
fn a_file_names_its_library() {
    let library = |source: &str| {
        let library = module(source).library?;
        Some((library.name, library.version))
    };
    let text = ".section .rodata\n.asciz \"x\"\n.asciz \"1.0.18\"\n.asciz \"TENROUNDS_MASK\"\n";
    let version = || Some("1.0.18".to_owned());
    // By the name of a symbol; by a text, if there is AES in the file; or not at all.
    let named = function("sodium_init", "nop") + &text.replace("TENROUNDS_MASK", "y");
    assert_eq!(library(&named), Some(("libsodium", version())));
    let aes = function("f", "aesenc %xmm1,%xmm0") + text;
    assert_eq!(library(&aes), Some(("tenrounds", version())));
    assert_eq!(library(&(function("f", "nop") + text)), None);
    // A symbol that the file only uses says nothing.
    assert_eq!(library(&function("f", "call sodium_init@PLT")), None);
    // The one that stands first in the list, whatever their order.
    for (first, second) in [
        ("ring_core_x", "EVP_EncryptInit_ex"),
        ("EVP_EncryptInit_ex", "ring_core_x"),
    ] {
        let both = function(first, "nop") + &function(second, "nop");
        assert_eq!(library(&both), Some(("ring", None)));
    }
}

/// Parts that no program loads are not searched, nor those that only have a size.
#[test]
fn parts_that_are_not_loaded_do_not_count() {
    let numbers: Vec<String> = sbox().iter().map(u8::to_string).collect();
    let table = |section: &str| {
        let data = format!(".section {section}\n.byte {}\n", numbers.join(","));
        module(&(function("f", "nop") + &data)).tables.len()
    };
    assert_eq!(table(".notes,\"\",%progbits"), 0);
    assert_eq!(table(".loaded,\"a\",%progbits"), 1);
    let empty = function("f", "aesenc %xmm1,%xmm0") + ".bss\n.space 100000\n";
    assert_eq!(module(&empty).functions.len(), 1);
}
