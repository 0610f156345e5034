// SPDX-License-Identifier: BSD-2-Clause
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
//! How each class of instructions passes secrets on: tests/rules.txt, assembled by the C compiler.

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Register, RflagsBits};
use object::{Object, ObjectSection};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use taint::decoded::Decoded;
use taint::rule::{execute, number, State, Values};
use taint::table::Table;

/// Where rbp and rsp point.
const FRAME: u64 = 0x1000;
const STACK: u64 = 0x2000;
/// What rsi and rdi point to.
const FROM: u64 = 0x3000;
const TO: u64 = 0x4000;

struct Case {
    line: usize,
    text: String,
    before: String,
    after: String,
    leaks: String,
    masks: Option<u64>,
}

/// A line: instruction | secret before | secret after | leaks. "k=N" before gives the value of k1.
fn cases() -> Vec<Case> {
    include_str!("rules.txt")
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| {
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            let number = |text: &str| u64::from_str_radix(text, 16).expect("hexadecimal");
            let masks = parts[1]
                .split_whitespace()
                .find_map(|w| w.strip_prefix("k="))
                .map(number);
            Case {
                line: index + 1,
                text: parts[0].to_string(),
                before: parts[1].to_string(),
                after: parts[2].to_string(),
                leaks: parts.get(3).unwrap_or(&"").to_string(),
                masks,
            }
        })
        .collect()
}

/// Assembles all instructions at once.
fn assemble(cases: &[Case]) -> Vec<u8> {
    let file = std::env::temp_dir().join(format!("taint-rules-{}.o", std::process::id()));
    let mut child = Command::new("cc")
        .args(["-c", "-x", "assembler", "-o"])
        .arg(&file)
        .arg("-")
        .stdin(Stdio::piped())
        .spawn()
        .expect("cc");
    let lines: Vec<&str> = cases.iter().map(|case| case.text.as_str()).collect();
    let text = format!(".intel_syntax noprefix\n.text\n{}\n", lines.join("\n"));
    child
        .stdin
        .take()
        .expect("stdin")
        .write_all(text.as_bytes())
        .expect("written");
    assert!(child.wait().expect("cc").success());
    let data = std::fs::read(&file).expect("object");
    std::fs::remove_file(&file).expect("removed");
    let elf = object::File::parse(&*data).expect("ELF");
    elf.section_by_name(".text")
        .expect("text")
        .data()
        .expect("data")
        .to_vec()
}

fn register(name: &str) -> Register {
    Register::values()
        .find(|register| format!("{register:?}").to_lowercase() == name)
        .unwrap_or_else(|| panic!("no register {name}"))
}

/// The places "reg", "reg.3", "reg.0-7", "mem.N" (at rsi for "from", at rdi for "to", "stack",
/// "frame") and "flags".
fn mark(state: &mut State, places: &str) {
    for place in places
        .split_whitespace()
        .filter(|place| !place.starts_with("k="))
    {
        let (name, range) = place.split_once('.').unwrap_or((place, ""));
        if name == "flags" {
            state.registers.flags = RflagsBits::CF
                | RflagsBits::ZF
                | RflagsBits::SF
                | RflagsBits::OF
                | RflagsBits::PF
                | RflagsBits::AF;
            continue;
        }
        let memory = BTreeMap::from([
            ("from", FROM),
            ("to", TO),
            ("stack", STACK),
            ("frame", FRAME),
        ]);
        let bits = bits(
            range,
            memory
                .get(name)
                .map_or_else(|| register(name).size(), |_| 64),
        );
        match memory.get(name) {
            Some(at) => state
                .memory
                .write(*at, 64, state.memory.read(*at, 64) | bits),
            None => {
                let old = state.registers.read(register(name));
                state.registers.write(register(name), old | bits, true);
            }
        }
    }
}

fn bits(range: &str, size: usize) -> u64 {
    if range.is_empty() {
        return if size >= 64 {
            u64::MAX
        } else {
            (1 << size) - 1
        };
    }
    range.split(',').fold(0, |all, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<u32>().expect("a number");
        (number(first)..=number(last)).fold(all, |all, bit| all | 1 << bit)
    })
}

/// All that is secret, as one text.
fn show(state: &State) -> String {
    let mut all = Vec::new();
    let names = [
        "rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9",
    ];
    let vectors = (0..32).map(|number| format!("zmm{number}"));
    let masks = (0..8).map(|number| format!("k{number}"));
    for name in names
        .iter()
        .map(ToString::to_string)
        .chain(vectors)
        .chain(masks)
    {
        let secret = state.registers.read(register(&name));
        if secret != 0 {
            all.push(format!("{name}:{secret:x}"));
        }
    }
    for (name, at) in [
        ("from", FROM),
        ("to", TO),
        ("stack", STACK),
        ("below", STACK - 64),
        ("frame", FRAME),
    ] {
        let secret = state.memory.read(at, 64);
        if secret != 0 {
            all.push(format!("{name}:{secret:x}"));
        }
    }
    if state.registers.flags != 0 {
        all.push("flags".to_string());
    }
    all.join(" ")
}

#[test]
fn each_class_passes_secrets_on() {
    let cases = cases();
    let code = assemble(&cases);
    let mut decoder = Decoder::with_ip(64, &code, 0, DecoderOptions::NONE);
    let (table, mut factory) = (Table::new(number), InstructionInfoFactory::new());
    let mut wrong = Vec::new();
    for case in &cases {
        let decoded = Decoded::new(decoder.decode(), &mut factory, &table);
        let mut values = Values {
            masks: case.masks.map(|k| [k; 8]),
            ..Values::default()
        };
        for (name, value) in [
            ("rsp", STACK),
            ("rbp", FRAME),
            ("rsi", FROM),
            ("rdi", TO),
            ("rcx", 3),
        ] {
            values.general[register(name).number()] = value;
        }
        let (mut state, mut expected, mut leaks) = (State::default(), State::default(), Vec::new());
        mark(&mut state, &case.before);
        mark(&mut expected, &case.after);
        execute(&decoded, &mut state, &values, &mut leaks);
        let mut found: Vec<String> = leaks.iter().map(|leak| format!("{leak:?}")).collect();
        found.dedup();
        // Flags count as a whole.
        let (is, should) = (show(&state), show(&expected));
        if is != should || found.join(" ") != case.leaks {
            wrong.push(format!(
                "line {}: {}: {is} [{}], not {should} [{}]",
                case.line,
                case.text,
                found.join(" "),
                case.leaks
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(cases.len() > 100);
}

/// Every mnemonic of the table that the assembler accepts in some form is decoded under its name:
/// the table's constructor checks the names themselves.
#[test]
fn the_table_is_complete_in_itself() {
    let table = Table::new(number);
    for mnemonic in [
        "Vaesenc",
        "Vpclmulqdq",
        "Vpternlogq",
        "Kmovq",
        "Vpermt2b",
        "Mov",
        "Jne",
    ] {
        let known = iced_x86::Mnemonic::values()
            .find(|m| format!("{m:?}") == mnemonic)
            .unwrap();
        assert!(table.get(known).is_some(), "{mnemonic}");
    }
    assert!(table.get(iced_x86::Mnemonic::Vgatherdps).is_none());
}
