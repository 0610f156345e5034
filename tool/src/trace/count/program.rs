// SPDX-License-Identifier: BSD-2-Clause
//! The BPF program that the kernel runs at each call of a counted function: it adds the call to an
//! entry of a map. Assembled by hand: the compilers for BPF are larger than this command, and the
//! program has no loop.
//!
//! The numbers are those of the kernel's Documentation/bpf/standardization/instruction-set.rst and
//! of linux/bpf.h.

use super::functions::{Algorithm, Function, Length};

/// struct bpf_insn.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    /// The destination in the low half, the source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// An entry's key, as the program writes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Key {
    pub pid: u32,
    /// The index of the probe.
    pub probe: u32,
    /// The NID; 0 if it is not known.
    pub algorithm: u32,
    /// The bits of the length, as a number: 0 of 0, 5 of 16 to 31.
    pub bits: u16,
    /// A `Placement`.
    pub placement: u16,
}

/// An entry's value.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    pub calls: u64,
    pub bytes: u64,
}

/// Where the output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Placement {
    Elsewhere,
    /// Over the input.
    InPlace,
    /// Nowhere: additional data, a question for a length, or a call without an input.
    None,
}

/// Offsets of the arguments in the registers of a call (struct pt_regs; on Arm user_pt_regs).
#[cfg(target_arch = "x86_64")]
const ARGUMENTS: [i16; 6] = [112, 104, 96, 88, 72, 64];
#[cfg(target_arch = "x86_64")]
const STACK_POINTER: i16 = 152;
/// At the entry of a function the return address lies below the arguments on the stack.
#[cfg(target_arch = "x86_64")]
const FIRST_ON_STACK: i32 = 8;
#[cfg(not(target_arch = "x86_64"))]
const ARGUMENTS: [i16; 8] = [0, 8, 16, 24, 32, 40, 48, 56];
#[cfg(not(target_arch = "x86_64"))]
const STACK_POINTER: i16 = 248;
#[cfg(not(target_arch = "x86_64"))]
const FIRST_ON_STACK: i32 = 0;

/// Registers: 0 is a result, 1 to 5 are arguments and lost in calls, 6 to 9 are kept.
const CONTEXT: u8 = 6;
const LENGTH: u8 = 7;
const OUTPUT: u8 = 8;
const INPUT: u8 = 9;
const FRAME: u8 = 10;

/// Places below the frame pointer.
const KEY: i16 = -24;
const SUM: i16 = -40;
const SCRATCH: i16 = -48;

const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const CURRENT_PID_TGID: i32 = 14;
const NAMESPACE_PID_TGID: i32 = 120;
const PROBE_READ_USER: i32 = 112;
/// BPF_NOEXIST.
const NEW: i32 = 1;

/// Operations on 64-bit registers, with an immediate or (| X) a register.
const ADD: u8 = 0x07;
const MOVE: u8 = 0xb7;
const RIGHT: u8 = 0x77;
const LEFT: u8 = 0x67;
const OR: u8 = 0x47;
const X: u8 = 0x08;
/// Jumps.
const EQUAL: u8 = 0x15;
const UNEQUAL: u8 = 0x55;
const GREATER: u8 = 0x25;
const ALWAYS: u8 = 0x05;
/// Loads and stores.
const LOAD64: u8 = 0x79;
const LOAD32: u8 = 0x61;
const STORE32: u8 = 0x63;
const STORE32_IMMEDIATE: u8 = 0x62;
const STORE64_IMMEDIATE: u8 = 0x7a;
const ATOMIC_ADD64: u8 = 0xdb;

#[derive(Default)]
struct Assembler {
    code: Vec<Instruction>,
    /// Jumps to the end.
    to_end: Vec<usize>,
}

impl Assembler {
    fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> usize {
        self.code.push(Instruction {
            code,
            registers: from << 4 | to,
            offset,
            immediate,
        });
        self.code.len() - 1
    }

    fn immediate(&mut self, code: u8, to: u8, value: i32) {
        self.put(code, to, 0, 0, value);
    }

    fn registers(&mut self, code: u8, to: u8, from: u8) {
        self.put(code | X, to, from, 0, 0);
    }

    fn load(&mut self, code: u8, to: u8, from: u8, offset: i16) {
        self.put(code, to, from, offset, 0);
    }

    fn address(&mut self, to: u8, offset: i16) {
        self.registers(MOVE, to, FRAME);
        self.immediate(ADD, to, offset.into());
    }

    fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    /// A jump that `here` ends.
    fn jump(&mut self, code: u8, register: u8, value: i32) -> usize {
        self.put(code, register, 0, 0, value)
    }

    fn jump_registers(&mut self, code: u8, first: u8, second: u8) -> usize {
        self.put(code | X, first, second, 0, 0)
    }

    fn here(&mut self, jump: usize) {
        self.code[jump].offset = (self.code.len() - jump - 1) as i16;
    }

    fn jump_to_end(&mut self, code: u8, register: u8, value: i32) {
        let jump = self.jump(code, register, value);
        self.to_end.push(jump);
    }

    /// Loads 64 bits, in two places.
    fn wide(&mut self, to: u8, value: u64) {
        self.put(0x18, to, 0, 0, value as u32 as i32);
        self.put(0, 0, 0, 0, (value >> 32) as i32);
    }

    /// Writes the PID into the key. A process that is not in the namespace is not counted.
    fn process(&mut self, namespace: Option<Namespace>) {
        let Some(namespace) = namespace else {
            self.call(CURRENT_PID_TGID);
            self.immediate(RIGHT, 0, 32);
            self.put(STORE32, FRAME, 0, KEY, 0);
            return;
        };
        self.wide(1, namespace.device);
        self.wide(2, namespace.inode);
        // struct bpf_pidns_info: the PID of the thread, and that of the process.
        self.put(STORE64_IMMEDIATE, FRAME, 0, SCRATCH, 0);
        self.address(3, SCRATCH);
        self.immediate(MOVE, 4, 8);
        self.call(NAMESPACE_PID_TGID);
        self.jump_to_end(UNEQUAL, 0, 0);
        self.load(LOAD32, 0, FRAME, SCRATCH + 4);
        self.put(STORE32, FRAME, 0, KEY, 0);
    }

    fn load_map(&mut self, to: u8, map: i32) {
        // BPF_PSEUDO_MAP_FD; the instruction takes two places.
        self.put(0x18, to, 1, 0, map);
        self.put(0, 0, 0, 0, 0);
    }

    /// Copies user memory at register 3 to the scratch place. Register 0 is 0 if it could be read.
    fn read_user(&mut self, size: i32) {
        self.address(1, SCRATCH);
        self.immediate(MOVE, 2, size);
        self.call(PROBE_READ_USER);
    }

    /// Loads an argument of the function. What cannot be read is 0.
    fn argument(&mut self, to: u8, number: u8) {
        if let Some(offset) = ARGUMENTS.get(usize::from(number)) {
            return self.load(LOAD64, to, CONTEXT, *offset);
        }
        let place = FIRST_ON_STACK + 8 * (i32::from(number) - ARGUMENTS.len() as i32);
        self.put(STORE64_IMMEDIATE, FRAME, 0, SCRATCH, 0);
        self.load(LOAD64, 3, CONTEXT, STACK_POINTER);
        self.immediate(ADD, 3, place);
        self.read_user(8);
        self.load(LOAD64, to, FRAME, SCRATCH);
    }

    fn length(&mut self, length: Length) {
        match length {
            Length::Size(number) => self.argument(LENGTH, number),
            Length::Int(number) => {
                self.argument(LENGTH, number);
                self.immediate(LEFT, LENGTH, 32);
                self.immediate(RIGHT, LENGTH, 32);
                // A negative length is an error of the caller.
                let negative = self.jump(GREATER, LENGTH, i32::MAX);
                let over = self.jump(ALWAYS, 0, 0);
                self.here(negative);
                self.immediate(MOVE, LENGTH, 0);
                self.here(over);
            }
            Length::Either(number, other) => {
                self.argument(LENGTH, number);
                let over = self.jump(UNEQUAL, INPUT, 0);
                self.argument(LENGTH, other);
                self.registers(MOVE, INPUT, OUTPUT);
                self.here(over);
                return;
            }
        }
        // Without an input the call processes nothing, as if it had no output: it announces a
        // length (CCM), or ends a message.
        let over = self.jump(UNEQUAL, INPUT, 0);
        self.immediate(MOVE, LENGTH, 0);
        self.immediate(MOVE, OUTPUT, 0);
        self.here(over);
    }

    /// Writes the length's bits and the placement into the key.
    fn class(&mut self) {
        const VALUE: u8 = 2;
        const BITS: u8 = 3;
        const HIGH: u8 = 4;
        self.registers(MOVE, VALUE, LENGTH);
        self.immediate(MOVE, BITS, 0);
        let zero = self.jump(EQUAL, VALUE, 0);
        self.immediate(MOVE, BITS, 1);
        for step in [32, 16, 8, 4, 2, 1] {
            self.registers(MOVE, HIGH, VALUE);
            self.immediate(RIGHT, HIGH, step);
            let low = self.jump(EQUAL, HIGH, 0);
            self.registers(MOVE, VALUE, HIGH);
            self.immediate(ADD, BITS, step);
            self.here(low);
        }
        self.here(zero);
        const PLACEMENT: u8 = 1;
        self.immediate(MOVE, PLACEMENT, Placement::None as i32);
        let nowhere = self.jump(EQUAL, OUTPUT, 0);
        self.immediate(MOVE, PLACEMENT, Placement::InPlace as i32);
        let same = self.jump_registers(EQUAL, OUTPUT, INPUT);
        self.immediate(MOVE, PLACEMENT, Placement::Elsewhere as i32);
        self.here(nowhere);
        self.here(same);
        self.immediate(LEFT, PLACEMENT, 16);
        self.registers(OR, PLACEMENT, BITS);
        self.put(STORE32, FRAME, PLACEMENT, KEY + 12, 0);
    }

    /// Writes the NID of the cipher into the key.
    fn algorithm(&mut self, algorithm: Algorithm) {
        self.put(STORE32_IMMEDIATE, FRAME, 0, KEY + 8, 0);
        if algorithm != Algorithm::Evp {
            return;
        }
        self.argument(3, 0);
        self.read_user(8);
        let unreadable = self.jump(UNEQUAL, 0, 0);
        self.load(LOAD64, 3, FRAME, SCRATCH);
        self.read_user(4);
        let unknown = self.jump(UNEQUAL, 0, 0);
        self.load(LOAD32, 1, FRAME, SCRATCH);
        self.put(STORE32, FRAME, 1, KEY + 8, 0);
        self.here(unreadable);
        self.here(unknown);
    }

    /// Sets register 0 to the entry's value, or 0.
    fn look_up(&mut self, map: i32) {
        self.load_map(1, map);
        self.address(2, KEY);
        self.call(MAP_LOOKUP);
    }

    /// Adds the call to the entry, which may be new. Another processor may make it at the same
    /// time.
    fn add(&mut self, map: i32) {
        self.look_up(map);
        let known = self.jump(UNEQUAL, 0, 0);
        self.put(STORE64_IMMEDIATE, FRAME, 0, SUM, 0);
        self.put(STORE64_IMMEDIATE, FRAME, 0, SUM + 8, 0);
        self.load_map(1, map);
        self.address(2, KEY);
        self.address(3, SUM);
        self.immediate(MOVE, 4, NEW);
        self.call(MAP_UPDATE);
        self.look_up(map);
        self.jump_to_end(EQUAL, 0, 0);
        self.here(known);
        self.immediate(MOVE, 1, 1);
        self.put(ATOMIC_ADD64, 0, 1, 0, 0);
        self.put(ATOMIC_ADD64, 0, LENGTH, 8, 0);
    }
}

/// The namespace of process IDs that this process is in, if it is not the first one: its file.
#[derive(Debug, Clone, Copy)]
pub struct Namespace {
    pub device: u64,
    pub inode: u64,
}

/// The program of one probe, for a map of `Key` to `Sum`.
pub fn program(
    function: &Function,
    probe: u32,
    map: i32,
    namespace: Option<Namespace>,
) -> Vec<Instruction> {
    let mut a = Assembler::default();
    a.registers(MOVE, CONTEXT, 1);
    a.process(namespace);
    a.put(STORE32_IMMEDIATE, FRAME, 0, KEY + 4, probe as i32);
    a.argument(OUTPUT, function.output);
    a.argument(INPUT, function.input);
    a.length(function.length);
    a.class();
    a.algorithm(function.algorithm);
    a.add(map);
    for jump in std::mem::take(&mut a.to_end) {
        a.here(jump);
    }
    // 0: perf takes no sample of the call.
    a.immediate(MOVE, 0, 0);
    a.put(0x95, 0, 0, 0, 0);
    a.code
}
