// SPDX-License-Identifier: BSD-2-Clause
//! What tenrounds executes in processes that do not count it themselves, by the static probe at
//! each bulk call (core/dispatch/probe.h). The code is that of the provider, the engine, the
//! PKCS#11 module, or of a program with libtenrounds.

use super::super::result::Executed;
use super::program::{Sum, SCRATCH};
use crate::style::clean;
use crate::trace::bpf::assembler::*;
use crate::trace::bpf::system::Map;
use classify::{Argument, Place, Program, Register};
use std::collections::{BTreeMap, HashMap};
use tenrounds_sys::Op;

/// A name of a backend, as the program copies it.
const NAME: usize = 16;

/// An entry's key, as the program writes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Key {
    pub pid: u32,
    /// The index in `HOSTS`.
    pub host: u32,
    /// enum tr_op.
    pub operation: u32,
    pub pad: u32,
    pub backend: [u8; NAME],
}

/// What holds the core, by a function that only it has; the last one is any other file.
const HOSTS: [(&str, &str); 4] = [
    ("provider", "OSSL_provider_init"),
    ("engine", "bind_engine"),
    ("pkcs11", "C_GetFunctionList"),
    ("library", ""),
];

/// A probe in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    pub offset: u64,
    /// The index in `HOSTS`.
    pub host: u32,
    /// The operation, the address of the backend's name, and the bytes.
    pub arguments: [Argument; 3],
}

/// The probes of a file, and how many others it has that cannot be counted.
pub fn sites(bytes: &[u8], program: &Program) -> (Vec<Site>, usize) {
    let has = |name: &str| program.entries().any(|(known, _)| known == name);
    let host = HOSTS.iter().position(|(_, name)| has(name));
    let host = host.unwrap_or(HOSTS.len() - 1) as u32;
    let probes = classify::probes(bytes);
    let ours = probes
        .iter()
        .filter(|probe| (&*probe.provider, &*probe.name) == ("tenrounds", "bulk"));
    let all: Vec<Option<Site>> = ours
        .map(|probe| {
            let offset = program.offset_of(probe.address)?;
            // Linux 6.18 damages data at NOPs of several bytes.
            let is_safe = bytes.get(usize::try_from(offset).ok()?) == Some(&ONE_BYTE_NOP);
            let arguments = probe.arguments.clone()?.try_into().ok()?;
            let is_counted = is_safe && !probe.has_semaphore && cfg!(target_arch = "x86_64");
            is_counted.then_some(Site {
                offset,
                host,
                arguments,
            })
        })
        .collect();
    let count = all.len();
    let good: Vec<Site> = all.into_iter().flatten().collect();
    let bad = count - good.len();
    (good, bad)
}

const ONE_BYTE_NOP: u8 = 0x90;

/// Offsets of general registers in struct pt_regs, by their numbers in instructions.
const REGISTERS: [i16; 16] = [
    80, 88, 96, 40, 152, 32, 104, 112, 72, 64, 56, 48, 24, 16, 8, 0,
];

/// Places below the frame pointer.
const KEY: i16 = -96;
const SUM: i16 = -40;

const PROBE_READ_USER_STR: i32 = 114;

impl Assembler {
    fn register(&mut self, to: u8, register: Register) {
        let offset = REGISTERS[usize::from(register.0 & 15)];
        self.load(LOAD64, to, CONTEXT, offset);
    }

    /// Loads an argument of a static probe. What cannot be read is 0. Uses registers 1 to 3.
    fn static_argument(&mut self, to: u8, argument: &Argument) {
        match &argument.place {
            Place::Constant(number) => self.wide(to, *number as u64),
            Place::Register(register) => self.register(to, *register),
            Place::Memory {
                base,
                index,
                displacement,
            } => {
                self.put(STORE64_IMMEDIATE, FRAME, 0, SCRATCH, 0);
                self.register(3, *base);
                if let Some((index, scale)) = index {
                    self.register(2, *index);
                    self.immediate(LEFT, 2, scale.trailing_zeros() as i32);
                    self.registers(ADD, 3, 2);
                }
                self.immediate(ADD, 3, *displacement);
                self.read_user(argument.size.into());
                self.load(LOAD64, to, FRAME, SCRATCH);
            }
        }
        let unused = 64 - 8 * i32::from(argument.size);
        if unused > 0 {
            self.immediate(LEFT, to, unused);
            self.immediate(RIGHT, to, unused);
        }
    }
}

/// The program of probes in one host, for a map of `Key` to `Sum`. Each probe has the place of its
/// arguments in `arguments` as its cookie.
pub fn program(
    host: u32,
    arguments: &[&[Argument; 3]],
    map: i32,
    whose: Whose,
) -> Vec<Instruction> {
    const VALUE: u8 = 8;
    let mut a = Assembler::default();
    a.registers(MOVE, CONTEXT, 1);
    a.by_cookie(arguments, |a, [operation, backend, bytes]| {
        a.process(whose, KEY, SCRATCH);
        a.put(STORE32_IMMEDIATE, FRAME, 0, KEY + 4, host as i32);
        a.static_argument(VALUE, operation);
        a.put(STORE32, FRAME, VALUE, KEY + 8, 0);
        a.put(STORE32_IMMEDIATE, FRAME, 0, KEY + 12, 0);
        for at in [16, 24] {
            a.put(STORE64_IMMEDIATE, FRAME, 0, KEY + at, 0);
        }
        a.static_argument(3, backend);
        a.address(1, KEY + 16);
        a.immediate(MOVE, 2, NAME as i32);
        a.call(PROBE_READ_USER_STR);
        a.static_argument(LENGTH, bytes);
        a.add(map, KEY, SUM, |_| ());
    });
    a.finish()
}

/// Whether a host is a program with libtenrounds, which never counts itself.
pub fn is_program(host: u32) -> bool {
    host as usize == HOSTS.len() - 1
}

/// The calls of processes in other PID namespaces.
pub fn elsewhere(sums: &Map<Key, Sum>) -> u64 {
    let all = sums.all().into_iter();
    let calls = all
        .filter(|(key, _)| key.pid == 0)
        .map(|(_, sum)| sum.calls);
    calls.fold(0, u64::saturating_add)
}

/// The rows, without those of processes that count themselves, or are in other PID namespaces.
pub fn rows(
    sums: &Map<Key, Sum>,
    names: &HashMap<u32, String>,
    counts_itself: impl Fn(u32) -> bool,
) -> Vec<Executed> {
    let mut all: BTreeMap<(u32, u32, u32, String), Sum> = BTreeMap::new();
    for (key, sum) in sums.all() {
        let is_own = !is_program(key.host) && counts_itself(key.pid);
        if is_own || key.pid == 0 {
            continue;
        }
        // Before Linux 5.11, anything may follow the end of a text.
        let name = key.backend.split(|byte| *byte == 0).next();
        let name = clean(String::from_utf8_lossy(name.unwrap_or_default()));
        let row = all.entry((key.pid, key.host, key.operation, name));
        let row = row.or_default();
        row.calls = row.calls.saturating_add(sum.calls);
        row.bytes = row.bytes.saturating_add(sum.bytes);
    }
    let row = |((pid, host, operation, backend), sum): ((u32, u32, u32, String), Sum)| Executed {
        pid,
        name: names.get(&pid).cloned(),
        processes: 1,
        host: HOSTS.get(host as usize).map_or("library", |host| host.0),
        backend,
        operation: operation_name(operation),
        calls: sum.calls,
        bytes: sum.bytes,
    };
    all.into_iter().map(row).collect()
}

/// A module of another version may have other operations.
fn operation_name(number: u32) -> String {
    let mut all = Op::all();
    let known = usize::try_from(number).ok().and_then(|at| all.nth(at));
    known.map_or("other".to_owned(), |op| op.name().to_owned())
}
