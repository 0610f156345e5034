// SPDX-License-Identifier: BSD-2-Clause
//! Finds the callers of a function in a copy of its stack, by .eh_frame (LSB Core 5.0, 10.6), for
//! x86-64. Frame pointers do not lead to them: distributions compile without.
//!
//! Files are untrusted: tables that take long to read are ignored.

use crate::{image, Machine, Refusal};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, CommonInformationEntry, EhFrame, EhFrameOffset, EndianSlice,
    Evaluation, EvaluationResult, FrameDescriptionEntry, LittleEndian, Location, Register,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection, Value,
};
use std::collections::HashMap;
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
/// The same of a CIE, which gimli reads up to its end. Compilers write 24 bytes.
const LONGEST_CIE: usize = 4 << 10;
/// A larger section is ignored: that of the largest browsers has 20 MB.
const LARGEST: usize = 64 << 20;
/// What is read of one section: the time and the memory that this takes must be bounded.
const MOST: Budget = Budget {
    entries: 1 << 21,
    cies: 16 << 20,
};
/// Steps of an expression.
const MOST_STEPS: u32 = 1000;

/// What may still be read of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget {
    /// Entries of functions.
    entries: usize,
    /// Bytes of CIEs, with `COST` for each.
    cies: usize,
}

/// A CIE that was read takes so much memory besides its bytes, which are counted for the time.
const COST: usize = 64;

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
        let data = if data.len() > LARGEST { &[] } else { data };
        let mut left = MOST;
        Ok(Frames::of_section(address, data, &mut left))
    }

    fn of_section(address: u64, data: &[u8], left: &mut Budget) -> Frames {
        let mut frames = Frames {
            data: data.to_vec(),
            bases: BaseAddresses::default().set_eh_frame(address),
            entries: Vec::new(),
        };
        frames.entries = frames.list(left);
        frames
    }

    /// The memory that they take, in bytes.
    pub fn size(&self) -> usize {
        self.data.len() + std::mem::size_of_val(&self.entries[..])
    }

    fn section(&self) -> EhFrame<Slice<'_>> {
        EhFrame::new(&self.data, LittleEndian)
    }

    fn list(&self, left: &mut Budget) -> Vec<(Range<u64>, usize)> {
        let section = self.section();
        let mut all = section.entries(&self.bases);
        let mut cies = Cies {
            data: &self.data,
            read: HashMap::new(),
        };
        let mut found = Vec::new();
        // A damaged entry ends the list.
        while let (Ok(Some(next)), 1..) = (all.next(), left.entries) {
            let CieOrFde::Fde(partial) = next else {
                continue;
            };
            let cie = |section: &_, bases: &_, offset| cies.get(section, bases, offset, left);
            let Ok(entry) = partial.parse(cie) else {
                continue;
            };
            let is_long = entry.entry_len() > LONGEST;
            let start = entry.initial_address();
            if let (Some(end), false) = (start.checked_add(entry.len()), is_long) {
                found.push((start..end, entry.offset()));
                left.entries -= 1;
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
        // A rule of its own must not lead back, either.
        if registers[STACK].is_some_and(|stack| Some(stack) <= frame.stack()) {
            return None;
        }
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

/// The CIEs of a section. Each is read once, however many entries refer to it.
struct Cies<'d> {
    data: &'d [u8],
    /// By their places; None for those that are damaged or too long.
    read: HashMap<usize, Option<CommonInformationEntry<Slice<'d>>>>,
}

impl<'d> Cies<'d> {
    fn get(
        &mut self,
        section: &EhFrame<Slice<'d>>,
        bases: &BaseAddresses,
        offset: EhFrameOffset<usize>,
        left: &mut Budget,
    ) -> gimli::Result<CommonInformationEntry<Slice<'d>>> {
        let refused = gimli::Error::NotCieId;
        if let Some(known) = self.read.get(&offset.0) {
            return known.clone().ok_or(refused);
        }
        let length = self
            .length(offset.0)
            .filter(|length| *length <= LONGEST_CIE);
        let cost = COST + length.unwrap_or(0);
        // They may overlap, so the section does not bound their sum.
        left.cies = left.cies.checked_sub(cost).ok_or(refused)?;
        let cie = length.and_then(|_| section.cie_from_offset(bases, offset).ok());
        self.read.insert(offset.0, cie.clone());
        cie.ok_or(refused)
    }

    /// The length that a CIE says it has. Lengths of 64 bits count as too long.
    fn length(&self, offset: usize) -> Option<usize> {
        let length = self.data.get(offset..)?.first_chunk()?;
        Some(u32::from_le_bytes(*length) as usize)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of a section, whose length comes first.
    fn record(section: &mut Vec<u8>, id: u32, content: &[u8]) {
        section.extend(((4 + content.len()) as u32).to_le_bytes());
        section.extend(id.to_le_bytes());
        section.extend(content);
    }

    /// A CIE whose record has this length.
    fn cie(section: &mut Vec<u8>, length: usize) {
        // Version 1, an augmentation of "zRSS...", factors 1 and 120, register 16, and its data.
        let mut content = vec![1, b'z', b'R'];
        content.resize(length - 4 - 6, b'S');
        content.extend([0, 1, 120, 16, 1, 0x04]);
        record(section, 0, &content);
    }

    /// The entry of a function of 8 bytes, whose CIE is at this place.
    fn entry(section: &mut Vec<u8>, cie: usize, start: u64) {
        let mut content = Vec::new();
        content.extend(start.to_le_bytes());
        content.extend(8u64.to_le_bytes());
        content.push(0);
        let id = section.len() + 4 - cie;
        record(section, id as u32, &content);
    }

    #[test]
    fn a_cie_is_read_once() {
        const COUNT: usize = 1000;
        let mut section = Vec::new();
        cie(&mut section, LONGEST_CIE);
        for number in 0..COUNT {
            entry(&mut section, 0, 0x1000 + 16 * number as u64);
        }
        let mut left = MOST;
        let frames = Frames::of_section(0, &section, &mut left);
        assert_eq!(frames.entries.len(), COUNT);
        assert_eq!(left.entries, MOST.entries - COUNT);
        assert_eq!(left.cies, MOST.cies - LONGEST_CIE - COST);
        assert!(frames.entry(0x1000).is_some() && frames.entry(0x1008).is_none());
        assert_eq!(frames.size(), section.len() + COUNT * 24);
        // No more entries than that.
        let mut left = Budget {
            entries: 10,
            ..MOST
        };
        let frames = Frames::of_section(0, &section, &mut left);
        assert_eq!((frames.entries.len(), left.entries), (10, 0));
    }

    /// An entry can say where the caller's RSP is saved. Found by fuzzing: it led in circles.
    #[test]
    fn a_stack_that_does_not_grow_is_not_followed() {
        const STACK: u64 = 0x7000;
        let mut section = Vec::new();
        // The frame has 16 bytes: RSP, then the return address (DW_CFA_def_cfa, DW_CFA_offset).
        let rules = [0x0c, 7, 16, 0x90, 1, 0x87, 2];
        let head = [1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x04];
        record(&mut section, 0, &[&head[..], &rules].concat());
        entry(&mut section, 0, 0x1000);
        let mut left = MOST;
        let frames = Frames::of_section(0, &section, &mut left);
        let frame = Frame::sampled(0x1004, &[STACK; 16]);
        for (saved, is_followed) in [(STACK - 8, false), (STACK, false), (STACK + 8, true)] {
            let read = |address| match address - STACK {
                0 => Some(saved),
                _ => Some(0x1006),
            };
            let caller = frames.caller(&frame, 0, &read);
            let stack = caller.map(|caller| caller.and_then(|caller| caller.stack()));
            assert_eq!(stack.ok(), is_followed.then_some(Some(saved)), "{saved:#x}");
        }
    }

    #[test]
    fn a_long_cie_is_not_read() {
        let mut section = Vec::new();
        cie(&mut section, LONGEST_CIE + 1);
        for number in 0..1000 {
            entry(&mut section, 0, 0x1000 + 16 * number);
        }
        let mut left = MOST;
        let frames = Frames::of_section(0, &section, &mut left);
        assert_eq!(frames.entries, []);
        assert_eq!(left.cies, MOST.cies - COST);
    }

    /// CIEs may overlap: each of these entries has another one.
    #[test]
    fn the_bytes_of_cies_are_bounded() {
        let mut section = Vec::new();
        // Within an entry that is no CIE, many beginnings of one. All have the same end.
        let mut inside = Vec::new();
        let mut starts = Vec::new();
        while inside.len() < 3000 {
            starts.push(8 + inside.len());
            let end = LONGEST_CIE - inside.len() - 4;
            inside.extend((end as u32).to_le_bytes());
            inside.extend([0, 0, 0, 0, 1]);
            inside.extend(b"zR\0\x01\x78\x10\x01\x04");
        }
        inside.resize(LONGEST_CIE, 0);
        // It refers to itself, which is no CIE.
        record(&mut section, 4, &inside);
        for (number, start) in starts.iter().enumerate() {
            entry(&mut section, *start, 0x1000 + 16 * number as u64);
        }
        let mut left = MOST;
        let frames = Frames::of_section(0, &section, &mut left);
        assert_eq!(frames.entries.len(), starts.len());
        let cost = |start: &usize| COST + LONGEST_CIE + 4 - start;
        let first = COST + starts[..10].iter().map(cost).sum::<usize>();
        assert_eq!(
            left.cies,
            MOST.cies - COST - starts.iter().map(cost).sum::<usize>()
        );
        let mut left = Budget {
            cies: first,
            ..MOST
        };
        let frames = Frames::of_section(0, &section, &mut left);
        assert_eq!((frames.entries.len(), left.cies), (10, 0));
    }
}
