// SPDX-License-Identifier: BSD-2-Clause
//! A decoded instruction with what it reads and writes.

use crate::table::{self, Entry, Table};
use iced_x86::{
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
    UsedRegister,
};

pub struct Decoded {
    pub instruction: Instruction,
    /// Its mnemonic, in lower case.
    pub name: String,
    /// None if the table does not have it.
    pub entry: Option<Entry>,
    pub registers: Vec<UsedRegister>,
    /// What it reads or writes of memory, and not what LEA computes.
    pub memory: Vec<UsedMemory>,
    /// How it uses the first operand.
    pub destination: OpAccess,
    /// The result does not depend on the operands: x ^ x, x - x, x == x and the like.
    pub constant: bool,
    /// Bytes for which a bit of the write mask stands.
    pub mask_element: usize,
    /// Times that it ran.
    pub runs: u64,
}

impl Decoded {
    pub fn new(
        instruction: Instruction,
        factory: &mut InstructionInfoFactory,
        table: &Table,
    ) -> Decoded {
        let info = factory.info(&instruction);
        let is_accessed = |used: &&UsedMemory| used.access() != OpAccess::NoMemAccess;
        let accessed = info.used_memory().iter().filter(is_accessed);
        let name = table::name(instruction.mnemonic());
        let entry = match instruction.mnemonic() {
            // A string instruction and one for vectors share the name.
            Mnemonic::Movsd if !instruction.is_string_instruction() => table.get(Mnemonic::Vmovsd),
            Mnemonic::Cmpsd if !instruction.is_string_instruction() => None,
            mnemonic => table.get(mnemonic),
        };
        Decoded {
            constant: is_constant(&name, &instruction),
            mask_element: mask_element(&name, entry),
            name,
            entry,
            registers: info.used_registers().to_vec(),
            memory: accessed.copied().collect(),
            destination: info.op0_access(),
            instruction,
            runs: 0,
        }
    }

    /// Operands that are registers or memory.
    pub fn operands(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.instruction.op_count()).filter(|op| {
            matches!(
                self.instruction.op_kind(*op),
                OpKind::Register | OpKind::Memory
            )
        })
    }

    /// The immediate, if the last operand is one.
    pub fn immediate(&self) -> Option<u64> {
        let last = self.instruction.op_count().checked_sub(1)?;
        is_immediate(self.instruction.op_kind(last)).then(|| self.instruction.immediate(last))
    }

    pub fn register(&self, op: u32) -> Register {
        self.instruction.op_register(op)
    }

    /// The size in bytes of an operand.
    pub fn size(&self, op: u32) -> usize {
        if self.instruction.op_kind(op) == OpKind::Register {
            self.register(op).size()
        } else {
            self.instruction.memory_size().size()
        }
    }

    pub fn is_memory(&self, op: u32) -> bool {
        self.instruction.op_kind(op) == OpKind::Memory
    }

    pub fn is_legacy(&self) -> bool {
        self.instruction.encoding() == iced_x86::EncodingKind::Legacy
    }

    /// Whether a write mask selects its elements.
    pub fn masked(&self) -> bool {
        self.instruction.op_mask() != Register::None
    }

    pub fn accesses_memory(&self) -> bool {
        !self.memory.is_empty()
    }

    pub fn memory_read(&self) -> impl Iterator<Item = &UsedMemory> {
        self.memory.iter().filter(|used| reads(used.access()))
    }

    pub fn memory_written(&self) -> impl Iterator<Item = &UsedMemory> {
        self.memory.iter().filter(|used| writes(used.access()))
    }

    pub fn registers_written(&self) -> impl Iterator<Item = &UsedRegister> {
        self.registers.iter().filter(|used| writes(used.access()))
    }
}

pub fn is_immediate(kind: OpKind) -> bool {
    use OpKind as K;
    matches!(
        kind,
        K::Immediate8
            | K::Immediate8_2nd
            | K::Immediate16
            | K::Immediate32
            | K::Immediate64
            | K::Immediate8to16
            | K::Immediate8to32
            | K::Immediate8to64
            | K::Immediate32to64
    )
}

pub fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

pub fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

fn is_constant(name: &str, instruction: &Instruction) -> bool {
    let name = name.strip_prefix('v').unwrap_or(name);
    let last = instruction.op_count().saturating_sub(1);
    if last == 0 || instruction.op_mask() != Register::None {
        return false;
    }
    if name.starts_with("pternlog") {
        return matches!(instruction.immediate(last) & 0xff, 0 | 0xff);
    }
    let register = |op: u32| match instruction.op_kind(op) {
        OpKind::Register => instruction.op_register(op),
        _ => Register::None,
    };
    let same = register(last) != Register::None && register(last) == register(last - 1);
    let whole = [
        "xor", "sub", "pxor", "xorps", "xorpd", "pandn", "andnps", "andnpd",
    ];
    let with_element = ["pxor", "pandn", "psub", "pcmpeq", "pcmpgt"];
    let rest = |start: &&str| {
        name.strip_prefix(*start)
            .is_some_and(|rest| rest.len() == 1)
    };
    same && (whole.contains(&name) || with_element.iter().any(rest))
}

/// Of VINSERTI32X4 and the like a bit of the mask stands for 4 bytes, not for the inserted lane.
fn mask_element(name: &str, entry: Option<Entry>) -> usize {
    let element = entry.map_or(1, |entry| entry.element).max(1);
    match name {
        _ if name.contains("32x") => 4,
        _ if name.contains("64x") => 8,
        _ if name.contains("pack") => element / 2,
        _ => element,
    }
}
