// SPDX-License-Identifier: BSD-2-Clause
//! General-purpose registers and control flow.

use super::{low, Leak, Step};
use iced_x86::{FlowControl, Mnemonic, OpKind, Register};

const RSP: Register = Register::RSP;

impl Step<'_> {
    pub(super) fn copy_general(&mut self, sign: bool) {
        let (from, to) = (self.decoded.size(1), self.decoded.size(0));
        let mut secret = self.source(1);
        if sign && secret >> (from - 1) & 1 == 1 {
            secret |= low(to) & !low(from);
        }
        self.write(secret);
    }

    fn stack(&self) -> u64 {
        self.values.general[RSP.number()]
    }

    pub(super) fn push(&mut self) {
        let (size, secret) = match self.decoded.instruction.op_kind(0) {
            OpKind::Register => (self.decoded.size(0).max(2), self.source(0)),
            OpKind::Memory => (8, self.loaded()),
            _ => (8, 0),
        };
        let at = self.stack().wrapping_sub(size as u64);
        self.state.memory.write(at, size, secret);
    }

    /// The memory operand of PUSH, CALL and JMP: of the two that they may use, the one that they
    /// read.
    fn loaded(&self) -> u64 {
        let mut read = self.decoded.memory_read();
        read.next()
            .and_then(|used| super::address(used, self.values))
            .map_or(0, |at| self.state.memory.read(at, 8))
    }

    pub(super) fn pop(&mut self) {
        if self.decoded.is_memory(0) {
            return self.all();
        }
        let size = self.decoded.size(0);
        let secret = self.state.memory.read(self.stack(), size);
        self.write(secret);
    }

    pub(super) fn leave(&mut self) {
        let frame = self.values.general[Register::RBP.number()];
        let secret = self.state.memory.read(frame, 8);
        let stack = self.state.registers.read(Register::RBP);
        self.state.registers.write(RSP, stack, false);
        self.state.registers.write(Register::RBP, secret, false);
    }

    /// And, or, xor, not, andn, test, for general-purpose and vector registers.
    pub(super) fn bits(&mut self) {
        let secret = self.union();
        let mnemonic = self.decoded.instruction.mnemonic();
        let secret = match (mnemonic, self.decoded.immediate()) {
            (Mnemonic::And | Mnemonic::Test, Some(constant)) => secret & nonzero_bytes(constant),
            (Mnemonic::Or, Some(constant)) => secret & nonzero_bytes(!constant),
            _ => secret,
        };
        if mnemonic != Mnemonic::Test {
            self.write(secret);
        }
        self.set_flags(secret & low(self.decoded.size(0)) != 0);
    }

    /// All source operands, with the destination if it is one.
    pub(super) fn union(&self) -> u64 {
        let first = u32::from(!self.reads_destination());
        let operands = self.decoded.operands().filter(|op| *op >= first);
        operands.fold(0, |all, op| all | self.source(op))
    }

    /// Whether the first operand is a source, apart from elements that a write mask leaves.
    pub(super) fn reads_destination(&self) -> bool {
        let decoded = self.decoded;
        if decoded.is_legacy() || decoded.instruction.op_count() == 1 {
            crate::decoded::reads(decoded.destination)
        } else {
            decoded.entry.is_some_and(|entry| entry.reads_destination)
        }
    }

    /// SBB of a register from itself spreads the carry alone.
    pub(super) fn borrow(&mut self) {
        if self.decoded.is_memory(0) || self.decoded.register(0) != self.decoded.register(1) {
            return self.all();
        }
        let secret = self.flags();
        self.write(if secret { u64::MAX } else { 0 });
        self.set_flags(secret);
    }

    pub(super) fn shift(&mut self) {
        let count = self.decoded.instruction.op_count() - 1;
        if self.decoded.immediate().is_some() {
            return self.all();
        }
        if self.source(count) & 1 != 0 {
            self.leaks.push(Leak::ShiftCount);
        }
        let old = self.state.registers.flags;
        self.all();
        self.state.registers.flags |= old; // a count of zero leaves the flags
    }

    pub(super) fn call(&mut self) {
        self.jump();
        let at = self.stack().wrapping_sub(8);
        self.state.memory.write(at, 8, 0);
    }

    pub(super) fn return_(&mut self) {
        if self.state.memory.read(self.stack(), 8) != 0 {
            self.leaks.push(Leak::Branch);
        }
    }

    pub(super) fn jump(&mut self) {
        let instruction = &self.decoded.instruction;
        let target = match instruction.op_kind(0) {
            OpKind::Memory => self.loaded() != 0,
            _ => self.source(0) != 0,
        };
        let counter = match instruction.mnemonic() {
            Mnemonic::Jrcxz => self.state.registers.read(Register::RCX),
            Mnemonic::Jecxz => self.state.registers.read(Register::ECX),
            _ => 0,
        };
        let condition =
            instruction.flow_control() == FlowControl::ConditionalBranch && self.flags();
        if target || counter != 0 || condition {
            self.leaks.push(Leak::Branch);
        }
    }

    /// A string instruction with all its repetitions.
    pub(super) fn string(&mut self) {
        let instruction = &self.decoded.instruction;
        let repeated = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        let registers = &self.state.registers;
        if repeated && registers.read(Register::RCX) != 0 {
            self.leaks.push(Leak::StringCount);
        }
        let element = instruction.memory_size().size() as u64;
        let (from, len) = self.values.span(instruction, Register::RSI);
        let (to, _) = self.values.span(instruction, Register::RDI);
        use Mnemonic::*;
        let memory = &mut self.state.memory;
        let accumulator = registers.read(Register::RAX) & low(element as usize);
        let compared = match instruction.mnemonic() {
            Movsb | Movsw | Movsd | Movsq => return memory.copy(from, to, len),
            Stosb | Stosw | Stosd | Stosq => {
                return memory.repeat(to, len / element, element, accumulator)
            }
            Lodsb | Lodsw | Lodsd | Lodsq => {
                let secret = memory.any(from, len);
                return self.write(if secret { u64::MAX } else { 0 });
            }
            Cmpsb | Cmpsw | Cmpsd | Cmpsq => memory.any(from, len),
            _ => accumulator != 0,
        };
        let secret = compared || memory.any(to, len);
        if secret && repeated {
            self.leaks.push(Leak::StringCount);
        }
        if secret {
            self.leaks.push(Leak::Operand);
        }
        self.set_flags(secret);
    }

    /// A system call. Its result is public. What it writes to memory keeps its marks, except for
    /// the calls that fill a buffer.
    pub(super) fn system(&mut self) {
        const READ: u64 = 0;
        const WRITE: u64 = 1;
        const PWRITE: u64 = 18;
        const SENDTO: u64 = 44;
        const GETRANDOM: u64 = 318;
        use Register::{R10, R8, R9, RAX, RDI, RDX, RSI};
        let registers = &mut self.state.registers;
        let value = |register: Register| self.values.general[register.number()];
        let arguments = arguments_of(value(RAX));
        let mut secret = registers.read(RAX) != 0
            || [RDI, RSI, RDX, R10, R8, R9][..arguments]
                .iter()
                .any(|r| registers.read(*r) != 0);
        match value(RAX) {
            WRITE | PWRITE | SENDTO => secret |= self.state.memory.any(value(RSI), value(RDX)),
            READ => self.state.memory.fill(value(RSI), value(RDX), false),
            GETRANDOM => self.state.memory.fill(value(RDI), value(RSI), false),
            _ => (),
        }
        if secret {
            self.leaks.push(Leak::SystemCall);
        }
        for register in [RAX, Register::RCX, Register::R11] {
            registers.write(register, 0, false);
        }
    }
}

/// How many arguments a system call reads. Other registers may hold anything.
fn arguments_of(number: u64) -> usize {
    match number {
        0 | 1 | 18 | 318 => 3, // read, write, pwrite64 (its offset is no secret), getrandom
        39 | 102 | 104 | 107 | 108 | 186 => 0, // getpid, getuid and the like, gettid
        3 | 11 | 12 | 10 => 2, // close, munmap, brk, mprotect
        231 | 60 => 1,         // exit_group, exit
        _ => 6,
    }
}

/// The bytes of a constant that are not zero.
fn nonzero_bytes(constant: u64) -> u64 {
    (0..8)
        .filter(|byte| constant >> (byte * 8) & 0xff != 0)
        .fold(0, |all, byte| all | 1 << byte)
}
