// SPDX-License-Identifier: BSD-2-Clause
//! How one instruction passes secrets on, and what it shows of them.

mod general;
mod vector;

use crate::decoded::{reads, Decoded};
use crate::state::{low, Memory, Registers};
use iced_x86::{Instruction, OpAccess, Register, RflagsBits};
use std::fmt;

/// What depends on a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Leak {
    Branch,
    Address,
    /// Which elements of memory a write mask selects.
    MemoryMask,
    ShiftCount,
    /// The count or the end of a string instruction.
    StringCount,
    /// An operand of an instruction that is not on the list of those with constant time.
    Operand,
    /// What a system call is given.
    SystemCall,
    /// Not a leak: an instruction that is not in the table, so nobody knows.
    Unknown,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Leak::Branch => "a branch depends on a secret",
            Leak::Address => "a memory address depends on a secret",
            Leak::MemoryMask => "a secret mask selects what memory is accessed",
            Leak::ShiftCount => "a shift count depends on a secret",
            Leak::StringCount => "the length of a string instruction depends on a secret",
            Leak::Operand => {
                "a secret operand of an instruction that is not known to take constant time"
            }
            Leak::SystemCall => "a system call is given a secret",
            Leak::Unknown => "an instruction that the tracker does not know",
        })
    }
}

/// The values that addresses are computed from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Values {
    /// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
    pub general: [u64; 16],
    pub fs: u64,
    pub gs: u64,
    /// The direction flag: strings run towards lower addresses.
    pub down: bool,
    /// The mask registers, if they were fetched.
    pub masks: Option<[u64; 8]>,
}

impl Values {
    pub fn get(&self, register: Register) -> Option<u64> {
        match register {
            Register::FS => Some(self.fs),
            Register::GS => Some(self.gs),
            _ if register.is_segment_register() || register == Register::None => Some(0),
            _ if register.is_gpr64() => Some(self.general[register.number()]),
            _ if register.is_gpr32() => Some(self.general[register.number()] & 0xffff_ffff),
            _ => None,
        }
    }
}

impl Values {
    /// The beginning and the length of what a string instruction uses by RSI or RDI, with all its
    /// repetitions.
    pub fn span(&self, instruction: &Instruction, by: Register) -> (u64, u64) {
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        let count = match repeated {
            true => self.general[Register::RCX.number()],
            false => 1,
        };
        let element = instruction.memory_size().size() as u64;
        let len = count.saturating_mul(element);
        let at = self.general[by.number()];
        match self.down {
            true => (at.wrapping_sub(len.saturating_sub(element)), len),
            false => (at, len),
        }
    }
}

/// Secrets in registers and memory.
#[derive(Default)]
pub struct State {
    pub registers: Registers,
    pub memory: Memory,
}

/// How secrets pass through an instruction, whose elements have so many bytes.
type Rule = for<'a> fn(&mut Step<'a>, usize);

/// The rules by their names in instructions.txt.
const RULES: [(&str, Rule); 19] = [
    // General-purpose registers, and copies of any.
    ("copy", |step, _| step.copy()),
    ("sign", |step, _| step.copy_general(true)),
    ("push", |step, _| step.push()),
    ("pop", |step, _| step.pop()),
    ("leave", |step, _| step.leave()),
    ("bits", |step, _| step.bits()),
    ("borrow", |step, _| step.borrow()),
    ("shift", |step, _| step.shift()),
    ("all", |step, _| step.all()),
    ("nothing", |_, _| ()),
    ("string", |step, _| step.string()),
    ("system", |step, _| step.system()),
    ("call", |step, _| step.call()),
    ("return", |step, _| step.return_()),
    ("jump", |step, _| step.jump()),
    // Vector registers.
    ("scalar", |step, element| step.scalar(element)),
    ("upper", |step, _| step.upper()),
    ("elements", |step, element| step.elements(element)),
    ("counts", |step, element| step.counts(element)),
];

/// The number of a rule.
pub fn number(name: &str) -> Option<usize> {
    RULES.iter().position(|rule| rule.0 == name)
}

/// One instruction at work on the state.
struct Step<'a> {
    decoded: &'a Decoded,
    state: &'a mut State,
    values: &'a Values,
    leaks: &'a mut Vec<Leak>,
}

/// Passes secrets through one instruction, which has not run yet. Adds what it shows of them.
pub fn execute(decoded: &Decoded, state: &mut State, values: &Values, leaks: &mut Vec<Leak>) {
    Step {
        decoded,
        state,
        values,
        leaks,
    }
    .run();
}

impl Step<'_> {
    fn run(&mut self) {
        self.addresses();
        let Some(entry) = self.decoded.entry else {
            self.leaks.push(Leak::Unknown);
            return self.all();
        };
        if self.decoded.constant {
            return self.write_public();
        }
        if entry.variable
            && !self.decoded.instruction.is_string_instruction()
            && self.reads_secret()
        {
            self.leaks.push(Leak::Operand);
        }
        RULES[entry.rule].1(self, entry.element);
    }

    /// Reports memory addresses and masks of memory that depend on a secret.
    fn addresses(&mut self) {
        let registers = &self.state.registers;
        for memory in &self.decoded.memory {
            if registers.read(memory.base()) != 0 || registers.read(memory.index()) != 0 {
                self.leaks.push(Leak::Address);
            }
        }
        let mask = self.decoded.instruction.op_mask();
        if self.decoded.accesses_memory() && registers.read(mask) != 0 {
            self.leaks.push(Leak::MemoryMask);
        }
    }

    /// The address of what the memory operand names.
    fn effective(&self) -> u64 {
        let values = self.values;
        self.decoded
            .memory
            .first()
            .and_then(|memory| address(memory, values))
            .unwrap_or(0)
    }

    /// The secret bytes of an operand. A broadcast repeats its element.
    fn source(&self, op: u32) -> u64 {
        let decoded = self.decoded;
        if !decoded.is_memory(op) {
            return self.state.registers.read(decoded.register(op));
        }
        if decoded.instruction.is_broadcast() {
            let element = decoded.instruction.memory_size().element_size();
            let one = self.state.memory.read(self.effective(), element);
            return (0..64 / element).fold(0, |all, index| all | one << (index * element));
        }
        self.state
            .memory
            .read(self.effective(), decoded.size(op).min(64))
            & self.active_bytes(64)
    }

    /// The bytes that a write mask selects, if its value is known and memory is accessed; otherwise
    /// all.
    fn active_bytes(&self, size: usize) -> u64 {
        let decoded = self.decoded;
        match self.values.masks {
            Some(masks) if decoded.masked() && decoded.accesses_memory() => {
                let k = masks[decoded.instruction.op_mask().number()];
                stretch(k, decoded.mask_element) & low(size)
            }
            _ => low(size),
        }
    }

    /// The bytes whose write depends on a secret mask.
    fn mask_bytes(&self) -> u64 {
        let k = self
            .state
            .registers
            .read(self.decoded.instruction.op_mask());
        stretch(k, self.decoded.mask_element)
    }

    /// Writes the first operand. With a write mask, its other elements stay or are cleared.
    fn write(&mut self, secret: u64) {
        let decoded = self.decoded;
        let size = decoded.size(0);
        if decoded.is_memory(0) {
            let at = self.effective();
            let active = self.active_bytes(size.min(64));
            let old = self.state.memory.read(at, size.min(64));
            return self
                .state
                .memory
                .write(at, size.min(64), old & !active | secret & active);
        }
        let register = decoded.register(0);
        let mut result = secret & low(size);
        if decoded.masked() {
            let old = self.state.registers.read(register);
            let active = self.active_bytes(size);
            let known = self.values.masks.is_some() && decoded.accesses_memory();
            let merging = !decoded.instruction.zeroing_masking();
            result = match (merging, known) {
                (true, true) => result & active | old & !active,
                (true, false) => result | old,
                (false, _) => result & active,
            };
            result |= self.mask_bytes() & low(size);
        }
        self.state
            .registers
            .write(register, result, !decoded.is_legacy());
    }

    fn write_public(&mut self) {
        self.write(0);
        self.set_flags(false);
    }

    /// Sets all flags that the instruction writes.
    fn set_flags(&mut self, secret: bool) {
        let instruction = &self.decoded.instruction;
        let computed = instruction.rflags_written() | instruction.rflags_undefined();
        let constant = instruction.rflags_cleared() | instruction.rflags_set();
        let flags = &mut self.state.registers.flags;
        *flags &= !(computed | constant);
        if secret {
            *flags |= computed & !constant;
        }
    }

    /// Whether a flag that the instruction reads is secret.
    fn flags(&self) -> bool {
        self.state.registers.flags & self.decoded.instruction.rflags_read() & !RflagsBits::DF != 0
    }

    /// Whether anything that the instruction reads is secret.
    fn reads_secret(&self) -> bool {
        let state = &*self.state;
        self.flags()
            || self
                .decoded
                .registers
                .iter()
                .any(|used| reads(used.access()) && state.registers.read(used.register()) != 0)
            || self.decoded.memory_read().any(|used| {
                let size = used.memory_size().size() as u64;
                address(used, self.values).is_none_or(|at| state.memory.any(at, size))
            })
    }

    /// Makes all outputs secret if an input is, otherwise public.
    fn all(&mut self) {
        let secret = self.reads_secret();
        let mask = if secret { u64::MAX } else { 0 };
        let clear = !self.decoded.is_legacy();
        for used in self.decoded.registers_written() {
            // A conditional write may leave the old value.
            let kept = match used.access() {
                OpAccess::CondWrite | OpAccess::ReadCondWrite => {
                    self.state.registers.read(used.register())
                }
                _ => 0,
            };
            let registers = &mut self.state.registers;
            registers.write(used.register(), mask | kept, clear);
        }
        for used in self.decoded.memory_written() {
            // A conditional write may leave the old value.
            let is_certain = matches!(used.access(), OpAccess::Write | OpAccess::ReadWrite);
            if let (Some(at), true) = (address(used, self.values), secret || is_certain) {
                self.state
                    .memory
                    .fill(at, used.memory_size().size() as u64, secret);
            }
        }
        self.set_flags(secret);
    }
}

/// The address of used memory. None if a vector register is its index.
pub fn address(memory: &iced_x86::UsedMemory, values: &Values) -> Option<u64> {
    memory.virtual_address(0, |register, _, _| values.get(register))
}

/// For each bit of k the bytes of an element.
fn stretch(k: u64, element: usize) -> u64 {
    (0..64 / element)
        .filter(|index| k >> index & 1 == 1)
        .fold(0, |all, index| all | low(element) << (index * element))
}

/// Makes an element secret if one of its bytes is.
fn whole_elements(secret: u64, element: usize) -> u64 {
    (0..64 / element)
        .map(|index| low(element) << (index * element))
        .filter(|bytes| secret & bytes != 0)
        .fold(0, |all, bytes| all | bytes)
}
