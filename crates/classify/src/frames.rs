// SPDX-License-Identifier: BSD-2-Clause
//! Finds the callers of a function in a copy of its stack, by .eh_frame (LSB Core 5.0, 10.6), for
//! x86-64. Frame pointers do not lead to them: distributions compile without.
//!
//! Files are untrusted: tables that take long to read are ignored.

use crate::{image, Machine, Refusal};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, Evaluation, EvaluationResult,
    FrameDescriptionEntry, LittleEndian, Location, Register, RegisterRule, UnwindContext,
    UnwindExpression, UnwindSection, Value,
};
use std::ops::Range;

type Slice<'d> = EndianSlice<'d, LittleEndian>;

/// The frames of the functions of a file.
pub struct Frames {
    /// The section .eh_frame.
    data: Vec<u8>,
    bases: BaseAddresses,
    /// Functions and the places of their entries in the section, sorted by their beginning.
    entries: Vec<(Range<u64>, usize)>,
}

/// A longer entry, which no compiler writes, is ignored: reading it for each sample takes long.
const LONGEST: usize = 1 << 16;
/// Steps of an expression.
const MOST_STEPS: u32 = 1000;

/// RSP, and the return address, by the numbers of the System V ABI (x86-64, 3.6.2).
const STACK: usize = 7;
const RETURN: Register = Register(16);
/// Of these registers callers find their values again: RBX, RBP, R12 to R15.
const KEPT: [usize; 6] = [3, 6, 12, 13, 14, 15];

/// A function that is being executed, or waits for one that it has called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Of the next instruction, in the process.
    pub address: u64,
    /// General registers by the ABI's numbers, as far as they are known.
    registers: [Option<u64>; 16],
    /// Whether a call comes before the address. Not so where a sample or a signal interrupted it.
    called: bool,
}

/// The stack cannot be followed further: there is no entry for the code, or the copy ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unknown;

impl Frame {
    /// The function of a sample. The registers are numbered as in machine code.
    pub fn sampled(address: u64, registers: &[u64; 16]) -> Frame {
        // By the ABI's numbers: RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8 to R15.
        const NUMBERS: [usize; 16] = [0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
        Frame {
            address,
            registers: NUMBERS.map(|number| Some(registers[number])),
            called: false,
        }
    }

    /// An address within the instruction that is executed.
    pub fn within(&self) -> u64 {
        self.address.wrapping_sub(self.called.into())
    }

    /// Where its part of the stack ends.
    pub fn stack(&self) -> Option<u64> {
        self.registers[STACK]
    }
}

impl Frames {
    pub fn read(data: &[u8]) -> Result<Frames, Refusal> {
        let image = image::read(data)?;
        let (address, data) = image
            .eh_frame
            .filter(|_| image.machine == Machine::X86_64)
            .unwrap_or_default();
        let mut frames = Frames {
            data: data.to_vec(),
            bases: BaseAddresses::default().set_eh_frame(address),
            entries: Vec::new(),
        };
        frames.entries = frames.list();
        Ok(frames)
    }

    fn section(&self) -> EhFrame<Slice<'_>> {
        EhFrame::new(&self.data, LittleEndian)
    }

    fn list(&self) -> Vec<(Range<u64>, usize)> {
        let section = self.section();
        let mut all = section.entries(&self.bases);
        let mut found = Vec::new();
        // A damaged entry ends the list.
        while let Ok(Some(next)) = all.next() {
            let CieOrFde::Fde(partial) = next else {
                continue;
            };
            let Ok(entry) = partial.parse(EhFrame::cie_from_offset) else {
                continue;
            };
            let is_long = entry.entry_len() > LONGEST || entry.cie().entry_len() > LONGEST;
            let start = entry.initial_address();
            if let (Some(end), false) = (start.checked_add(entry.len()), is_long) {
                found.push((start..end, entry.offset()));
            }
        }
        found.sort_by_key(|(range, _)| range.start);
        found
    }

    fn entry(&self, address: u64) -> Option<FrameDescriptionEntry<Slice<'_>>> {
        let next = self
            .entries
            .partition_point(|(range, _)| range.start <= address);
        let (range, offset) = self.entries.get(next.checked_sub(1)?)?;
        let section = self.section();
        let entry = range.contains(&address).then(|| {
            section.fde_from_offset(&self.bases, (*offset).into(), EhFrame::cie_from_offset)
        })?;
        entry.ok()
    }

    /// The caller of a frame, whose file is loaded so far behind its own addresses; None of the
    /// first function of a thread. `read` reads a word of the stack.
    pub fn caller(
        &self,
        frame: &Frame,
        shift: u64,
        read: &dyn Fn(u64) -> Option<u64>,
    ) -> Result<Option<Frame>, Unknown> {
        self.step(frame, shift, read).ok_or(Unknown)
    }

    fn step(
        &self,
        frame: &Frame,
        shift: u64,
        read: &dyn Fn(u64) -> Option<u64>,
    ) -> Option<Option<Frame>> {
        let address = frame.within().wrapping_sub(shift);
        let entry = self.entry(address)?;
        let section = self.section();
        let mut context = UnwindContext::new();
        let row = entry
            .unwind_info_for_address(&section, &self.bases, &mut context, address)
            .ok()?;
        let expression = |expression: &UnwindExpression<usize>, initial: Option<u64>| {
            let code = expression.get(&section).ok()?;
            evaluate(
                code.evaluation(entry.cie().encoding()),
                frame,
                initial,
                read,
            )
        };
        let end = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                frame.known(*register)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(code) => expression(code, None)?,
        };
        // The stack grows downwards. This also ends circles.
        if end <= frame.stack()? {
            return None;
        }
        let value = |register: Register| match row.register(register) {
            RegisterRule::Undefined => {
                let is_kept = KEPT.contains(&usize::from(register.0));
                is_kept.then(|| frame.known(register)).flatten()
            }
            RegisterRule::SameValue => frame.known(register),
            RegisterRule::Offset(offset) => read(end.wrapping_add_signed(offset)),
            RegisterRule::ValOffset(offset) => Some(end.wrapping_add_signed(offset)),
            RegisterRule::Register(other) => frame.known(other),
            RegisterRule::Expression(code) => read(expression(&code, Some(end))?),
            RegisterRule::ValExpression(code) => expression(&code, Some(end)),
            RegisterRule::Constant(value) => Some(value),
            _ => None,
        };
        if row.register(RETURN) == RegisterRule::Undefined {
            return Some(None);
        }
        let mut registers: [Option<u64>; 16] =
            std::array::from_fn(|number| value(Register(number as u16)));
        registers[STACK] = match row.register(Register(STACK as u16)) {
            RegisterRule::Undefined => Some(end),
            _ => registers[STACK],
        };
        Some(match value(RETURN)? {
            0 => None,
            address => Some(Frame {
                address,
                registers,
                called: !entry.is_signal_trampoline(),
            }),
        })
    }
}

impl Frame {
    fn known(&self, register: Register) -> Option<u64> {
        match register {
            RETURN => Some(self.address),
            other => *self.registers.get(usize::from(other.0))?,
        }
    }
}

fn evaluate(
    mut code: Evaluation<Slice>,
    frame: &Frame,
    initial: Option<u64>,
    read: &dyn Fn(u64) -> Option<u64>,
) -> Option<u64> {
    code.set_max_iterations(MOST_STEPS);
    if let Some(initial) = initial {
        code.set_initial_value(initial);
    }
    let mut wanted = code.evaluate().ok()?;
    loop {
        wanted = match wanted {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory {
                address,
                size: 8,
                space: None,
                ..
            } => code.resume_with_memory(Value::Generic(read(address)?)),
            EvaluationResult::RequiresRegister { register, .. } => {
                code.resume_with_register(Value::Generic(frame.known(register)?))
            }
            _ => return None,
        }
        .ok()?;
    }
    match code.as_result() {
        [piece] => match piece.location {
            Location::Address { address } => Some(address),
            Location::Value { value } => value.to_u64(u64::MAX).ok(),
            _ => None,
        },
        _ => None,
    }
}
