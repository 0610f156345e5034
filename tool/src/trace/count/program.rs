// SPDX-License-Identifier: BSD-2-Clause
//! The BPF program that the kernel runs at each call of a counted function: it adds the call to an
//! entry of a map.

use super::functions::{Algorithm, Function, Length};
use crate::trace::bpf::assembler::*;

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

const OUTPUT: u8 = 8;
const INPUT: u8 = 9;

/// Helpers.
const PROBE_READ_USER: i32 = 112;

/// Places below the frame pointer.
const KEY: i16 = -24;
const SUM: i16 = -40;
const SCRATCH: i16 = -48;

impl Assembler {
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
    a.process(namespace, KEY, SCRATCH);
    a.put(STORE32_IMMEDIATE, FRAME, 0, KEY + 4, probe as i32);
    a.argument(OUTPUT, function.output);
    a.argument(INPUT, function.input);
    a.length(function.length);
    a.class();
    a.algorithm(function.algorithm);
    a.add(map, KEY, SUM, |_| ());
    a.finish()
}
