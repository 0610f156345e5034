// SPDX-License-Identifier: BSD-2-Clause
//! The BPF program that the kernel runs at each call of a counted function: it adds the call to an
//! entry of a map.

use super::files::Entry;
use super::functions::{Algorithm, Function, Length, Source, FUNCTIONS, NONE};
use crate::trace::bpf::assembler::*;
use std::ops::Range;

/// An entry's key, as the program writes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Key {
    pub pid: u32,
    /// The index of the probe.
    pub probe: u32,
    /// The number that `Names` names; 0 if it is not known.
    pub algorithm: u32,
    /// The bits of the length, as a number: 0 of 0, 5 of 16 to 31.
    pub bits: u16,
    /// A `Placement`.
    pub placement: u16,
    /// The page to which the call returns, of a function that another counted library calls.
    pub caller: u64,
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

const OUTPUT: u8 = 8;
const INPUT: u8 = 9;

/// Helpers.
const PROBE_READ_USER: i32 = 112;

/// Places below the frame pointer.
const KEY: i16 = -24;
const SUM: i16 = -40;
pub(super) const SCRATCH: i16 = -48;

/// The bits of an address within a page, of the smallest size.
pub const PAGE_BITS: i32 = 12;

impl Assembler {
    /// Copies user memory at register 3 to the scratch place. Register 0 is 0 if it could be read.
    pub(super) fn read_user(&mut self, size: i32) {
        self.address(1, SCRATCH);
        self.immediate(MOVE, 2, size);
        self.call(PROBE_READ_USER);
    }

    /// Loads where the call returns to. What cannot be read is 0.
    fn return_address(&mut self, to: u8) {
        #[cfg(not(target_arch = "x86_64"))]
        self.load(LOAD64, to, CONTEXT, LINK);
        #[cfg(target_arch = "x86_64")]
        {
            self.put(STORE64_IMMEDIATE, FRAME, 0, SCRATCH, 0);
            self.load(LOAD64, 3, CONTEXT, STACK_POINTER);
            self.read_user(8);
            self.load(LOAD64, to, FRAME, SCRATCH);
        }
    }

    /// Ends the program if the call returns to the file's own code.
    fn leave_out_own(&mut self, own: &Range<i32>) {
        const DISTANCE: u8 = 1;
        const PLACE: u8 = 2;
        self.return_address(DISTANCE);
        self.load(LOAD64, PLACE, CONTEXT, INSTRUCTION_POINTER);
        self.registers(SUBTRACT, DISTANCE, PLACE);
        self.immediate(SUBTRACT, DISTANCE, own.start);
        self.jump_to_end(AT_MOST, DISTANCE, own.end.wrapping_sub(own.start) - 1);
    }

    /// Writes the page of the caller into the key.
    fn note_caller(&mut self, function: &Function) {
        self.put(STORE64_IMMEDIATE, FRAME, 0, KEY + 16, 0);
        if function.serves_another() {
            self.return_address(1);
            self.immediate(RIGHT, 1, PAGE_BITS);
            self.put(STORE64, FRAME, 1, KEY + 16, 0);
        }
    }

    /// Loads an argument of the function. What cannot be read is 0.
    fn argument(&mut self, to: u8, number: u8) {
        if number == NONE {
            return self.immediate(MOVE, to, 0);
        }
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
            Length::Less(number, other) => {
                self.argument(LENGTH, other);
                self.argument(1, number);
                // A shorter length is an error of the caller.
                let enough = self.jump_registers(AT_LEAST, 1, LENGTH);
                self.registers(MOVE, 1, LENGTH);
                self.here(enough);
                self.registers(SUBTRACT, 1, LENGTH);
                self.registers(MOVE, LENGTH, 1);
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
        self.bits();
        const PLACEMENT: u8 = 1;
        self.immediate(MOVE, PLACEMENT, Placement::None as i32);
        let nowhere = self.jump(EQUAL, OUTPUT, 0);
        self.immediate(MOVE, PLACEMENT, Placement::InPlace as i32);
        let same = self.jump_registers(EQUAL, OUTPUT, INPUT);
        self.immediate(MOVE, PLACEMENT, Placement::Elsewhere as i32);
        self.here(nowhere);
        self.here(same);
        self.immediate(LEFT, PLACEMENT, 16);
        self.registers(OR, PLACEMENT, 3);
        self.put(STORE32, FRAME, PLACEMENT, KEY + 12, 0);
    }

    /// Writes the number of the algorithm into the key.
    fn algorithm(&mut self, algorithm: Algorithm, ciphers: &[(i32, u32)]) {
        const NUMBER: u8 = 1;
        self.put(STORE32_IMMEDIATE, FRAME, 0, KEY + 8, 0);
        let Algorithm::Read(source, _) = algorithm else {
            return;
        };
        let mut unknown = Vec::new();
        match source {
            Source::Path(path) => {
                self.argument(3, 0);
                unknown = self.follow(path);
            }
            Source::Checked(magics, path) => {
                self.argument(3, 0);
                self.read_user(4);
                unknown.push(self.jump(UNEQUAL, 0, 0));
                self.load(LOAD32, 1, FRAME, SCRATCH);
                self.immediate(MOVE, 2, magics[0] as i32);
                let first = self.jump_registers(EQUAL, 1, 2);
                self.immediate(MOVE, 2, magics[1] as i32);
                unknown.push(self.jump_registers(UNEQUAL, 1, 2));
                self.here(first);
                self.argument(3, 0);
                unknown.extend(self.follow(path));
            }
            Source::Argument(number) => self.argument(NUMBER, number),
            Source::Cipher(number) => {
                const DISTANCE: u8 = 2;
                const PLACE: u8 = 3;
                self.argument(DISTANCE, number);
                self.load(LOAD64, PLACE, CONTEXT, INSTRUCTION_POINTER);
                self.registers(SUBTRACT, DISTANCE, PLACE);
                let mut found = Vec::new();
                for (distance, bits) in ciphers {
                    self.immediate(MOVE, NUMBER, *bits as i32);
                    found.push(self.jump(EQUAL, DISTANCE, *distance));
                }
                self.immediate(MOVE, NUMBER, 0);
                found.into_iter().for_each(|jump| self.here(jump));
            }
        }
        self.put(STORE32, FRAME, NUMBER, KEY + 8, 0);
        unknown.into_iter().for_each(|jump| self.here(jump));
    }

    /// Follows pointers from register 3 to 32 bits, which register 1 gets. Returns the jumps that
    /// are taken if memory cannot be read.
    fn follow(&mut self, path: &[i16]) -> Vec<usize> {
        let mut unreadable = Vec::new();
        for (index, offset) in path.iter().enumerate() {
            let is_last = index + 1 == path.len();
            self.immediate(ADD, 3, (*offset).into());
            self.read_user(if is_last { 4 } else { 8 });
            unreadable.push(self.jump(UNEQUAL, 0, 0));
            match is_last {
                true => self.load(LOAD32, 1, FRAME, SCRATCH),
                false => self.load(LOAD64, 3, FRAME, SCRATCH),
            }
        }
        unreadable
    }
}

/// The program of one probe, for a map of `Key` to `Sum`.
pub fn program(entry: &Entry, probe: u32, map: i32, whose: Whose) -> Vec<Instruction> {
    let mut a = Assembler::default();
    a.registers(MOVE, CONTEXT, 1);
    a.count(entry, probe, map, whose);
    a.finish()
}

/// The program of several probes with the numbers from `first` on. Each gets its place in `entries`
/// as its cookie.
pub fn of_many(entries: &[Entry], first: u32, map: i32, whose: Whose) -> Vec<Instruction> {
    let mut a = Assembler::default();
    a.registers(MOVE, CONTEXT, 1);
    let numbered: Vec<(u32, &Entry)> = (first..).zip(entries).collect();
    a.by_cookie(&numbered, |a, (probe, entry)| {
        a.count(entry, *probe, map, whose);
    });
    a.finish()
}

impl Assembler {
    fn count(&mut self, entry: &Entry, probe: u32, map: i32, whose: Whose) {
        let function = &FUNCTIONS[entry.function];
        if let Some(own) = &entry.own {
            self.leave_out_own(own);
        }
        self.process(whose, KEY, SCRATCH);
        self.put(STORE32_IMMEDIATE, FRAME, 0, KEY + 4, probe as i32);
        self.argument(OUTPUT, function.output);
        self.argument(INPUT, function.input);
        self.length(function.length);
        self.class();
        self.algorithm(function.algorithm, &entry.ciphers);
        self.note_caller(function);
        self.add(map, KEY, SUM, |_| ());
    }
}
