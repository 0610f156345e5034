// SPDX-License-Identifier: BSD-2-Clause
//! The instructions of a function in the terms of this classification, its loops, and sums over
//! parts of it.

use super::Registers;
use crate::tally::{Kind, Tally};
use std::ops::Range;

/// An address in an instruction: a register and a distance, or an address alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// By their number in machine code. With two, either can be the table.
    pub registers: [Option<u8>; 2],
    pub distance: u64,
    /// Addresses have 32 bits.
    pub narrow: bool,
}

impl Place {
    /// The addresses that it may mean.
    pub fn addresses(self, registers: &Registers) -> impl Iterator<Item = u64> + '_ {
        let alone = self.registers == [None, None];
        let of = move |register: u8| registers.0.get(usize::from(register)).copied().unwrap_or(0);
        let bases = self.registers.into_iter().flatten().map(of);
        bases.chain(alone.then_some(0)).map(move |base| {
            let address = base.wrapping_add(self.distance);
            match self.narrow {
                true => address & 0xffff_ffff,
                false => address,
            }
        })
    }
}

/// A load by an index, of whose registers either can be the table.
#[derive(Debug, Clone, Copy)]
pub struct Lookup {
    pub place: Place,
    /// For each register of the place that can be the table, the register that is the index then.
    /// For an address alone, the first is the index. None: the index is not followed.
    pub indices: [Option<u8>; 2],
}

/// What an instruction leaves in a general register, by its number in machine code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    pub register: u8,
    pub value: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// Some bits that were cut out of a word or loaded alone, as the index of a table is.
    Bits,
    /// The value of another register, perhaps scaled.
    Of(u8),
    /// Its own former value, scaled or mixed with another one.
    Same,
    /// Anything else: a counter, a pointer, a constant.
    Other,
}

/// What an instruction does, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    Other,
    Crypto(Kind, u16),
    /// A byte shuffle.
    Shuffle,
    /// A shift of vector elements by 4 bits.
    NibbleShift,
    /// A byte permutation of two registers.
    Permute,
    Logic,
    /// A copy between registers, or between a register and memory without an index.
    Move,
    /// What bitsliced code does not do: sums, products, rotations.
    Arithmetic,
}

#[derive(Debug, Clone, Copy)]
pub struct Step {
    pub address: u64,
    /// The address of the next instruction.
    pub next: u64,
    pub does: Does,
    /// Of a multiplication: it takes the halves crosswise.
    pub crosswise: Option<bool>,
    /// Of an AES instruction: whether it decrypts.
    pub decrypts: Option<bool>,
    /// Nothing that a function executes.
    pub padding: bool,
    /// The target of a jump.
    pub jump: Option<u64>,
    /// A load of a general register by an index.
    pub lookup: Option<Lookup>,
    /// The general register that it changes.
    pub write: Option<Write>,
    /// The memory operand of a vector instruction, or an address that is computed.
    pub vector: Option<Place>,
}

/// A function's instructions, in order.
#[derive(Debug, Default)]
pub struct Function {
    pub steps: Vec<Step>,
}

/// An index is followed back through so many instructions.
const BACK: usize = 256;
/// Of the loops around a load that end within so many instructions, so many are followed from their
/// end.
const FORTH: usize = 4096;
const ROUND: usize = 2;

/// More loops around one address are not looked at: each costs a pass over its instructions.
const MOST_LOOPS: usize = 64;
/// Instructions within this distance belong to an address outside all loops.
const NEAR: u64 = 256;

impl Function {
    pub fn range(&self) -> Range<u64> {
        let first = self.steps.first().map_or(0, |step| step.address);
        first..self.steps.last().map_or(first, |step| step.next)
    }

    /// An address with some instructions before and behind it.
    pub fn listing(&self, at: u64) -> Range<u64> {
        const COUNT: usize = 8;
        let here = self.steps.partition_point(|step| step.next <= at);
        let first = self.steps.get(here.saturating_sub(COUNT));
        let last = self
            .steps
            .get(here.saturating_add(COUNT))
            .or(self.steps.last());
        first.map_or(at, |step| step.address)..last.map_or(at, |step| step.next)
    }

    /// The loops around an address, from the smallest, and last its neighbourhood. A loop is what a
    /// backward jump spans.
    pub fn extents(&self, at: u64) -> Vec<Range<u64>> {
        let all = self.range();
        let jumps = self
            .steps
            .iter()
            .filter_map(|step| Some((step.jump?, step.next)));
        let mut loops: Vec<Range<u64>> = jumps
            .filter(|(target, next)| target < next && *target >= all.start)
            .map(|(target, next)| target..next)
            .filter(|range| range.contains(&at))
            .collect();
        loops.sort_by_key(|range| range.end - range.start);
        loops.dedup();
        loops.truncate(MOST_LOOPS);
        loops.push(at.saturating_sub(NEAR).max(all.start)..at.saturating_add(NEAR).min(all.end));
        loops
    }

    /// Keeps the instructions between the padding before and behind an address: those of one
    /// function.
    pub fn cut(&mut self, at: u64) {
        let here = self.steps.partition_point(|step| step.next <= at);
        let is_padding = |step: &Step| step.padding;
        let first = self.steps[..here]
            .iter()
            .rposition(is_padding)
            .map_or(0, |place| place + 1);
        let last = self.steps[here..]
            .iter()
            .position(is_padding)
            .map_or(self.steps.len(), |place| here + place);
        self.steps.truncate(last);
        self.steps.drain(..first.min(last));
    }

    /// Keeps of each load by an index the registers that can be a table. A table of AES is read at
    /// bytes of the state; text, and an S-box that a program searches for, by a counter.
    pub fn keep_lookups(&mut self) {
        for at in 0..self.steps.len() {
            let Some(lookup) = self.steps[at].lookup else {
                continue;
            };
            let Lookup { mut place, indices } = lookup;
            let is_index = |index: Option<u8>| index.is_none_or(|it| self.is_bits(at, it));
            let is_kept = match place.registers {
                [None, None] => is_index(indices[0]),
                _ => {
                    let both = place.registers.iter_mut().zip(indices);
                    both.for_each(|(register, index)| {
                        *register = register.filter(|_| is_index(index));
                    });
                    place.registers != [None, None]
                }
            };
            let kept = is_kept.then_some(Lookup { place, indices });
            self.steps[at].lookup = kept;
        }
    }

    /// Whether a register holds bits of a word when an instruction begins: by the last instruction
    /// before that changes it, or by the last one of a loop around.
    fn is_bits(&self, at: usize, register: u8) -> bool {
        let address = self.steps[at].address;
        let ends = (at..self.steps.len()).take(FORTH).filter(|end| {
            let target = self.steps[*end].jump;
            target.is_some_and(|target| target <= address)
        });
        self.was_bits(0..at, register)
            || ends.take(ROUND).any(|end| self.was_bits(at..end, register))
    }

    /// The same by the instructions of a range alone, from its end.
    fn was_bits(&self, range: Range<usize>, mut register: u8) -> bool {
        for step in self.steps[range].iter().rev().take(BACK) {
            match step.write.filter(|write| write.register == register) {
                None => {}
                Some(write) => match write.value {
                    Value::Bits => return true,
                    Value::Other => return false,
                    Value::Of(source) => register = source,
                    Value::Same => {}
                },
            }
        }
        false
    }

    fn within<'s>(&'s self, range: &Range<u64>) -> impl Iterator<Item = &'s Step> {
        let first = self
            .steps
            .partition_point(|step| step.address < range.start);
        let end = range.end;
        self.steps[first..]
            .iter()
            .take_while(move |step| step.address < end)
    }

    pub fn shape(&self, range: &Range<u64>) -> Shape {
        let mut shape = Shape::default();
        for step in self.within(range) {
            shape.add(step);
        }
        shape
    }

    /// Whether a loop of this range multiplies halves both straight and crosswise, as a product of
    /// 128 bits needs. A CRC folds by one of the two.
    pub fn multiplies_crosswise(&self, range: &Range<u64>) -> bool {
        let of = |wanted: bool| -> Vec<u64> {
            let steps = self.within(range);
            steps
                .filter(|step| step.crosswise == Some(wanted))
                .map(|step| step.address)
                .collect()
        };
        let (straight, crosswise) = (of(false), of(true));
        let has = |addresses: &[u64], part: &Range<u64>| {
            let first = addresses.partition_point(|address| *address < part.start);
            addresses.get(first).is_some_and(|first| *first < part.end)
        };
        // Outside a loop, the reduction at the end of a CRC has the other way.
        let mut loops = self
            .steps
            .iter()
            .filter_map(|step| Some(step.jump?..step.next))
            .filter(|part| range.start <= part.start && part.end <= range.end);
        loops.any(|part| has(&straight, &part) && has(&crosswise, &part))
    }
}

/// Sums over instructions.
#[derive(Debug, Default)]
pub struct Shape {
    pub tally: Tally,
    pub encrypts: bool,
    pub decrypts: bool,
    total: usize,
    shuffles: usize,
    nibble_shifts: usize,
    pub permutes: usize,
    logic: usize,
    moves: usize,
    arithmetic: usize,
    pub lookups: Vec<Place>,
    pub vectors: Vec<Place>,
}

/// No function refers to more places that matter.
const MOST: usize = 512;

impl Shape {
    fn add(&mut self, step: &Step) {
        self.total += 1;
        match step.does {
            Does::Other => {}
            Does::Crypto(kind, width) => self.tally.add(kind, width),
            Does::Shuffle => self.shuffles += 1,
            Does::NibbleShift => self.nibble_shifts += 1,
            Does::Permute => self.permutes += 1,
            Does::Logic => self.logic += 1,
            Does::Move => self.moves += 1,
            Does::Arithmetic => self.arithmetic += 1,
        }
        match step.decrypts {
            Some(true) => self.decrypts = true,
            Some(false) => self.encrypts = true,
            None => {}
        }
        for (place, list) in [
            (step.lookup.map(|lookup| lookup.place), &mut self.lookups),
            (step.vector, &mut self.vectors),
        ] {
            if let Some(place) = place.filter(|place| list.len() < MOST && !list.contains(place)) {
                list.push(place);
            }
        }
    }

    /// Shuffles by nibbles, as an S-box from tables of 16 bytes needs.
    pub fn shuffles_nibbles(&self) -> bool {
        self.shuffles >= 6 && self.nibble_shifts > 0
    }

    /// A long run of Boolean operations with hardly anything else but moves: two operands and few
    /// registers need many of them. The S-box of a bitsliced AES has about 113 operations. Its
    /// tables would be lookups.
    pub fn is_sliced(&self) -> bool {
        let rest = self.total - self.moves;
        let is_long = self.logic >= 100 && 2 * self.logic >= rest;
        is_long && 25 * self.arithmetic <= self.total && self.lookups.len() < 4
    }
}
