// SPDX-License-Identifier: BSD-2-Clause
//! Computes ahead of the stopped program what its general-purpose registers and flags will be. A
//! stop costs as much as a hundred instructions here, and the only values that the tracker needs
//! are addresses and directions. Where a value is not known, the program has to run up to there.
//! What was computed is compared with the real registers at each stop.

use crate::decoded::{is_immediate, Decoded};
use crate::process::{Process, Registers};
use crate::rule::{address, Values};
use crate::state::{low, shift};
use iced_x86::{ConditionCode, Mnemonic, OpKind, Register};
use std::collections::HashMap;

/// Flags, as far as conditions need them.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    carry: Option<bool>,
    zero: Option<bool>,
    sign: Option<bool>,
    overflow: Option<bool>,
}

/// 64 bytes of memory that were stored to since the program stopped.
struct Line {
    stored: u64,
    known: u64,
    bytes: [u8; 64],
}

pub struct Walk {
    pub values: Values,
    /// A bit for each general-purpose register.
    known: u16,
    flags: Flags,
    lines: HashMap<u64, Line>,
}

impl Walk {
    pub fn new(registers: &Registers) -> Walk {
        let r = registers;
        let flag = |bit: u32| Some(r.eflags >> bit & 1 == 1);
        Walk {
            values: Values {
                general: [
                    r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10,
                    r.r11, r.r12, r.r13, r.r14, r.r15,
                ],
                fs: r.fs_base,
                gs: r.gs_base,
                down: r.eflags >> 10 & 1 == 1,
                masks: None,
            },
            known: u16::MAX,
            flags: Flags {
                carry: flag(0),
                zero: flag(6),
                sign: flag(7),
                overflow: flag(11),
            },
            lines: HashMap::new(),
        }
    }

    /// A register that was computed otherwise than the program did.
    pub fn difference(&self, registers: &Registers) -> Option<String> {
        let real = Walk::new(registers).values.general;
        let number =
            (0..16).find(|n| self.known >> n & 1 == 1 && self.values.general[*n] != real[*n])?;
        let (computed, real) = (self.values.general[number], real[number]);
        Some(format!(
            "register {number} is {real:#x}, and was computed as {computed:#x}"
        ))
    }

    /// Whether every register that an address of the instruction needs is known, and what a string
    /// instruction needs besides.
    pub fn knows_addresses(&self, decoded: &Decoded) -> bool {
        let string = decoded.instruction.is_string_instruction();
        decoded
            .memory
            .iter()
            .all(|memory| self.knows(memory.base()) && self.knows(memory.index()))
            && (!string
                || [Register::RCX, Register::RSI, Register::RDI]
                    .iter()
                    .all(|r| self.knows(*r)))
    }

    fn knows(&self, register: Register) -> bool {
        !register.is_gpr() || self.known >> register.full_register().number() & 1 == 1
    }

    /// The value of a register, if it is known.
    fn register(&self, register: Register) -> Option<u64> {
        if !self.knows(register) {
            return None;
        }
        let all = self.values.general[register.full_register().number()];
        Some(all >> (8 * shift(register)) & bits(register.size()))
    }

    fn set(&mut self, register: Register, value: Option<u64>) {
        let number = register.full_register().number();
        match value {
            Some(value) if register.size() >= 4 => {
                self.values.general[number] = value & bits(register.size());
                self.known |= 1 << number;
            }
            Some(value) if self.knows(register) => {
                let (shift, mask) = (8 * shift(register), bits(register.size()));
                let kept = self.values.general[number] & !(mask << shift);
                self.values.general[number] = kept | (value & mask) << shift;
            }
            _ => self.known &= !(1 << number),
        }
    }

    /// Reads at most 8 bytes: what was stored since the program stopped, or the program's memory.
    pub fn load(&self, process: &Process, at: u64, size: usize) -> Option<u64> {
        let mut bytes = [0u8; 8];
        if size == 0 || size > 8 || process.read(at, &mut bytes[..size]).ok()? != size {
            return None;
        }
        for (index, byte) in bytes[..size].iter_mut().enumerate() {
            let at = at.wrapping_add(index as u64);
            if let Some(line) = self.lines.get(&(at / 64)) {
                let bit = at % 64;
                match (line.stored >> bit & 1, line.known >> bit & 1) {
                    (0, _) => (),
                    (_, 1) => *byte = line.bytes[bit as usize],
                    _ => return None,
                }
            }
        }
        Some(u64::from_le_bytes(bytes))
    }

    /// Notes that bytes are stored; `value` if it is known.
    fn store(&mut self, at: u64, size: usize, value: Option<u64>) {
        let mut done = 0;
        while done < size {
            let from = at.wrapping_add(done as u64);
            let (offset, part) = (
                (from % 64) as usize,
                (size - done).min(64 - (from % 64) as usize),
            );
            let line = self.lines.entry(from / 64).or_insert_with(|| Line {
                stored: 0,
                known: 0,
                bytes: [0; 64],
            });
            let which = low(part) << offset;
            line.stored |= which;
            line.known &= !which;
            if let (Some(value), true) = (value, size <= 8) {
                line.known |= which;
                let bytes = value.to_le_bytes();
                line.bytes[offset..offset + part].copy_from_slice(&bytes[done..done + part]);
            }
            done += part;
        }
    }

    /// The value of a source operand.
    fn operand(&self, process: &Process, decoded: &Decoded, op: u32) -> Option<u64> {
        match decoded.instruction.op_kind(op) {
            OpKind::Register if decoded.register(op).is_gpr() => {
                self.register(decoded.register(op))
            }
            OpKind::Memory => {
                let at = decoded.memory_read().next()?;
                self.load(process, address(at, &self.values)?, at.memory_size().size())
            }
            kind if is_immediate(kind) => Some(decoded.instruction.immediate(op)),
            _ => None,
        }
    }

    /// Whether the condition of a jump or CMOV holds.
    pub fn condition(&self, decoded: &Decoded) -> Option<bool> {
        let (carry, zero, sign) = (self.flags.carry, self.flags.zero, self.flags.sign);
        let overflow = self.flags.overflow;
        let less = || Some(sign? != overflow?);
        let either = |a: Option<bool>, b: Option<bool>| match (a, b) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        };
        use ConditionCode as C;
        let not = |value: Option<bool>| value.map(|value| !value);
        match decoded.instruction.condition_code() {
            C::b => carry,
            C::ae => not(carry),
            C::e => zero,
            C::ne => not(zero),
            C::be => either(carry, zero),
            C::a => not(either(carry, zero)),
            C::s => sign,
            C::ns => not(sign),
            C::o => overflow,
            C::no => not(overflow),
            C::l => less(),
            C::ge => not(less()),
            C::le => either(zero, less()),
            C::g => not(either(zero, less())),
            _ => None,
        }
    }

    /// Where an indirect jump or call, or a return, goes.
    pub fn target(&self, process: &Process, decoded: &Decoded) -> Option<u64> {
        if decoded.instruction.op_count() == 0 || is_immediate(decoded.instruction.op_kind(0)) {
            return self.load(process, self.register(Register::RSP)?, 8);
        }
        self.operand(process, decoded, 0)
    }

    /// Computes what the instruction does, apart from where it goes.
    pub fn advance(&mut self, process: &Process, decoded: &Decoded) {
        use Mnemonic as M;
        let mnemonic = decoded.instruction.mnemonic();
        match mnemonic {
            M::Push => {
                let size = match decoded.instruction.op_kind(0) {
                    OpKind::Register => decoded.size(0),
                    _ => 8,
                };
                let value = self.operand(process, decoded, 0);
                self.move_stack((size as u64).wrapping_neg());
                return self.store_stack(size, value);
            }
            M::Call => {
                self.move_stack(8u64.wrapping_neg());
                return self.store_stack(8, Some(decoded.instruction.next_ip()));
            }
            M::Pop if !decoded.is_memory(0) => {
                let value = self
                    .register(Register::RSP)
                    .and_then(|at| self.load(process, at, decoded.size(0)));
                self.move_stack(decoded.size(0) as u64);
                return self.set(decoded.register(0), value);
            }
            M::Ret => {
                return self.move_stack(8 + decoded.immediate().unwrap_or(0));
            }
            M::Leave => {
                let frame = self.register(Register::RBP);
                let value = frame.and_then(|at| self.load(process, at, 8));
                self.set(Register::RSP, frame.map(|at| at.wrapping_add(8)));
                return self.set(Register::RBP, value);
            }
            M::Syscall => {
                return [Register::RAX, Register::RCX, Register::R11]
                    .iter()
                    .for_each(|r| self.set(*r, None));
            }
            _ => (),
        }
        let result = self.result(process, decoded);
        self.write(decoded, result);
    }

    fn move_stack(&mut self, by: u64) {
        let stack = self.register(Register::RSP).map(|at| at.wrapping_add(by));
        self.set(Register::RSP, stack);
    }

    fn store_stack(&mut self, size: usize, value: Option<u64>) {
        self.store(self.values.general[Register::RSP.number()], size, value);
    }

    /// The result for the first operand, if it can be computed. Updates the flags.
    fn result(&mut self, process: &Process, decoded: &Decoded) -> Option<u64> {
        use Mnemonic as M;
        let instruction = &decoded.instruction;
        if instruction.op_count() == 0 || !is_general(decoded) {
            self.forget_flags(decoded);
            return None;
        }
        let size = decoded.size(0);
        let operand = |op: u32| self.operand(process, decoded, op);
        let last = operand(instruction.op_count() - 1);
        match instruction.mnemonic() {
            M::Mov | M::Movzx | M::Nop => last,
            M::Movsx | M::Movsxd => last.map(|value| extend(value, decoded.size(1))),
            M::Lea => self.effective(decoded),
            M::Bswap => last.map(|value| value.swap_bytes() >> (64 - 8 * size)),
            M::Not => last.map(|value| !value),
            M::Add | M::Sub | M::Cmp | M::And | M::Or | M::Xor | M::Test => {
                let same = instruction.op_kind(1) == OpKind::Register
                    && decoded.register(0) == decoded.register(1);
                let zero = same && matches!(instruction.mnemonic(), M::Xor | M::Sub);
                let pair = if zero {
                    Some((0, 0))
                } else {
                    operand(0).zip(last)
                };
                self.arithmetic(decoded, pair)
            }
            M::Inc | M::Dec => {
                let carry = self.flags.carry;
                let pair = last.map(|value| (value, 1));
                let result = self.arithmetic(decoded, pair);
                self.flags.carry = carry;
                result
            }
            M::Neg => self.arithmetic(decoded, last.map(|value| (0, value))),
            M::Shl | M::Shr | M::Sar if decoded.immediate().is_some() => {
                let value = operand(0);
                self.forget_flags(decoded);
                let count = last? & if size == 8 { 63 } else { 31 };
                let value = value?;
                let result = match instruction.mnemonic() {
                    M::Shl => value << count,
                    M::Shr => value >> count,
                    _ => (extend(value, size) as i64 >> count) as u64,
                };
                Some(result)
            }
            M::Imul if instruction.op_count() > 1 => {
                let first = operand(instruction.op_count() - 2);
                self.forget_flags(decoded);
                Some(first?.wrapping_mul(last?))
            }
            _ if decoded.name.starts_with("cmov") => match self.condition(decoded)? {
                true => last,
                false => operand(0),
            },
            _ => {
                self.forget_flags(decoded);
                None
            }
        }
    }

    fn effective(&self, decoded: &Decoded) -> Option<u64> {
        let instruction = &decoded.instruction;
        let base = instruction.memory_base();
        if base == Register::RIP || base == Register::EIP {
            return Some(instruction.memory_displacement64());
        }
        let value = |register: Register| match register {
            Register::None => Some(0),
            _ => self.register(register),
        };
        let index = value(instruction.memory_index())?;
        let scaled = index.wrapping_mul(u64::from(instruction.memory_index_scale()));
        Some(
            value(base)?
                .wrapping_add(scaled)
                .wrapping_add(instruction.memory_displacement64()),
        )
    }

    /// Computes a result with its flags.
    fn arithmetic(&mut self, decoded: &Decoded, pair: Option<(u64, u64)>) -> Option<u64> {
        use Mnemonic as M;
        self.flags = Flags::default();
        let (a, b) = pair?;
        let size = decoded.size(0);
        let (mask, top) = (bits(size), 1u64 << (8 * size - 1));
        let (a, b) = (a & mask, b & mask);
        let (result, carry, overflow) = match decoded.instruction.mnemonic() {
            M::Add | M::Inc => {
                let sum = a.wrapping_add(b) & mask;
                (sum, sum < a, (a ^ sum) & (b ^ sum) & top != 0)
            }
            M::And | M::Test => (a & b, false, false),
            M::Or => (a | b, false, false),
            M::Xor => (a ^ b, false, false),
            _ => {
                let difference = a.wrapping_sub(b) & mask;
                (difference, a < b, (a ^ b) & (a ^ difference) & top != 0)
            }
        };
        self.flags = Flags {
            carry: Some(carry),
            zero: Some(result == 0),
            sign: Some(result & top != 0),
            overflow: Some(overflow),
        };
        Some(result)
    }

    fn forget_flags(&mut self, decoded: &Decoded) {
        if decoded.instruction.rflags_modified() != 0 {
            self.flags = Flags::default();
        }
    }

    /// Writes the outputs: the result to the first operand, and nothing known to all others.
    fn write(&mut self, decoded: &Decoded, result: Option<u64>) {
        let computes = !matches!(
            decoded.instruction.mnemonic(),
            Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Nop
        );
        let to = if decoded.instruction.op_count() > 0
            && decoded.instruction.op_kind(0) == OpKind::Register
        {
            decoded.register(0)
        } else {
            Register::None
        };
        for used in decoded.registers_written() {
            if used.register().is_gpr()
                && !(to.is_gpr() && used.register().full_register() == to.full_register())
            {
                self.set(used.register().full_register(), None);
            }
        }
        if decoded.instruction.is_string_instruction() {
            let (to, len) = self.values.span(&decoded.instruction, Register::RDI);
            self.store(to, len as usize, None);
        } else {
            for used in decoded.memory_written() {
                if let Some(at) = address(used, &self.values) {
                    self.store(at, used.memory_size().size(), result);
                }
            }
        }
        if to.is_gpr() && computes && crate::decoded::writes(decoded.destination) {
            self.set(to, result);
        }
    }
}

fn is_general(decoded: &Decoded) -> bool {
    decoded
        .operands()
        .all(|op| decoded.is_memory(op) || decoded.register(op).is_gpr())
}

/// A mask of this many bytes.
fn bits(size: usize) -> u64 {
    if size >= 8 {
        u64::MAX
    } else {
        (1 << (8 * size)) - 1
    }
}

/// Extends the sign of a value of this many bytes.
fn extend(value: u64, size: usize) -> u64 {
    let shift = 64 - 8 * size as u32;
    ((value << shift) as i64 >> shift) as u64
}
