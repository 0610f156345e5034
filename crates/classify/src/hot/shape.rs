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

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    /// An instruction of 4 bytes.
    fn step(index: u64) -> Step {
        Step {
            address: 0x1000 + 4 * index,
            next: 0x1004 + 4 * index,
            does: Does::Other,
            crosswise: None,
            decrypts: None,
            padding: false,
            jump: None,
            lookup: None,
            write: None,
            vector: None,
        }
    }

    fn function(count: u64) -> Function {
        Function {
            steps: (0..count).map(step).collect(),
        }
    }

    const fn address(index: u64) -> u64 {
        0x1000 + 4 * index
    }

    #[test]
    fn places_mean_addresses() {
        let mut registers = Registers::default();
        registers.0[3] = 0x1_0000_0000;
        registers.0[31] = 0x50;
        let addresses = |first, second, distance, narrow| -> Vec<u64> {
            let place = Place {
                registers: [first, second],
                distance,
                narrow,
            };
            place.addresses(&registers).collect()
        };
        assert_eq!(addresses(None, None, 0x40, false), [0x40]);
        assert_eq!(addresses(Some(3), None, 8, false), [0x1_0000_0008]);
        assert_eq!(addresses(Some(3), None, 8, true), [8]);
        let both = addresses(Some(3), Some(31), 0, false);
        assert_eq!(both, [0x1_0000_0000, 0x50]);
        // An address wraps around, and there is no such register.
        assert_eq!(addresses(Some(31), None, u64::MAX, false), [0x4f]);
        assert_eq!(addresses(Some(32), None, 1, false), [1]);
    }

    #[test]
    fn ranges_of_functions() {
        assert_eq!(function(0).range(), 0..0);
        assert_eq!(function(30).range(), address(0)..address(30));
    }

    #[test]
    fn loops_are_what_backward_jumps_span() {
        let mut all = function(300);
        let at = address(100);
        let near = at - 256..at + 256;
        assert_eq!(all.extents(at), std::slice::from_ref(&near));
        // The neighbourhood ends with the function.
        assert_eq!(all.extents(address(1)), [address(0)..address(1) + 256]);
        let last = address(299);
        assert_eq!(all.extents(last), [last - 256..address(300)]);
        let mut jump = |from: u64, to: u64| all.steps[from as usize].jump = Some(to);
        jump(120, address(90));
        jump(110, address(100));
        jump(130, address(90));
        jump(131, address(90));
        // Forward, to itself, and out of the function; before and behind the address.
        jump(50, address(150));
        jump(140, address(141));
        jump(141, address(0) - 4);
        jump(99, address(80));
        jump(150, address(101));
        let expected = [
            at..address(111),
            address(90)..address(121),
            address(90)..address(131),
            address(90)..address(132),
            near,
        ];
        assert_eq!(all.extents(at), expected);
        // A loop that two jumps end is one; the first instruction of a function may begin it.
        let mut all = function(10);
        all.steps[5].jump = Some(address(0));
        assert_eq!(all.extents(address(3))[0], address(0)..address(6));
        // A jump to the next instruction is none.
        all.steps[5].jump = Some(address(6));
        assert_eq!(all.extents(address(5)).len(), 1);
        let mut many = function(200);
        for from in 100..200 {
            many.steps[from].jump = Some(address(0));
        }
        assert_eq!(many.extents(address(50)).len(), 65);
    }

    #[test]
    fn padding_ends_a_function() {
        let cut = |paddings: &[usize], at: u64| {
            let mut all = function(10);
            paddings.iter().for_each(|at| all.steps[*at].padding = true);
            all.cut(at);
            all.range()
        };
        assert_eq!(cut(&[], address(5)), address(0)..address(10));
        let between = address(3)..address(8);
        assert_eq!(cut(&[0, 2, 8, 9], address(5)), between);
        assert_eq!(cut(&[0, 2, 8, 9], address(3)), between);
        assert_eq!(cut(&[0, 2, 8, 9], address(7) + 3), between);
        // At padding there is no function, and behind the last instruction its rest.
        assert_eq!(cut(&[5], address(5)), address(0)..address(5));
        assert_eq!(cut(&[4, 5], address(5)), 0..0);
        assert_eq!(cut(&[4], address(10)), address(5)..address(10));
    }

    /// MOV EAX, [RSI + RCX].
    fn lookup() -> Option<Lookup> {
        Some(Lookup {
            place: Place {
                registers: [Some(6), Some(1)],
                distance: 0,
                narrow: false,
            },
            indices: [Some(1), Some(6)],
        })
    }

    /// The same behind and before other instructions.
    fn kept(changes: &[(usize, Write)], jump: Option<(usize, u64)>) -> Option<[Option<u8>; 2]> {
        const AT: usize = 300;
        let mut all = function(5000);
        all.steps[AT].lookup = lookup();
        for (at, write) in changes {
            all.steps[*at].write = Some(*write);
        }
        if let Some((from, to)) = jump {
            all.steps[from].jump = Some(address(to));
        }
        all.keep_lookups();
        all.steps[AT].lookup.map(|lookup| lookup.place.registers)
    }

    #[test]
    fn an_index_has_bits_of_a_word() {
        let write = |register, value| Write { register, value };
        let bits = write(1, Value::Bits);
        let table = Some([Some(6), None]);
        assert_eq!(kept(&[], None), None);
        assert_eq!(kept(&[(299, bits)], None), table);
        // The other one may be the index, or both.
        let second = write(6, Value::Bits);
        assert_eq!(kept(&[(299, second)], None), Some([None, Some(1)]));
        let both = [(298, second), (299, bits)];
        assert_eq!(kept(&both, None), Some([Some(6), Some(1)]));
        // Another register; the load itself; a counter behind it.
        assert_eq!(kept(&[(299, write(2, Value::Bits))], None), None);
        assert_eq!(kept(&[(300, bits)], None), None);
        let counts = write(1, Value::Other);
        assert_eq!(kept(&[(298, bits), (299, counts)], None), None);
        assert_eq!(kept(&[(298, counts), (299, bits)], None), table);
        // Mixed and copied.
        let mixed = [(297, bits), (298, write(1, Value::Same))];
        assert_eq!(kept(&mixed, None), table);
        let copied = [(297, write(2, Value::Bits)), (298, write(1, Value::Of(2)))];
        assert_eq!(kept(&copied, None), table);
        // So far back, and no further.
        assert_eq!(kept(&[(300 - 256, bits)], None), table);
        assert_eq!(kept(&[(299 - 256, bits)], None), None);
        // At the end of a loop around the load, whose jump may go to the load itself.
        assert_eq!(kept(&[(310, bits)], Some((311, 250))), table);
        assert_eq!(kept(&[(310, bits)], Some((311, 300))), table);
        assert_eq!(kept(&[(310, bits)], Some((311, 301))), None);
        assert_eq!(kept(&[(310, bits)], None), None);
        assert_eq!(kept(&[(310, bits)], Some((309, 250))), None);
        // Two loops around it, and no third one.
        let around = |third: usize| {
            let mut all = function(400);
            all.steps[300].lookup = lookup();
            all.steps[third].write = Some(bits);
            for at in [310, 320, 330] {
                all.steps[at].jump = Some(address(250));
            }
            all.keep_lookups();
            all.steps[300].lookup.is_some()
        };
        assert!(around(319) && !around(329));
        let end = 300 + 4096;
        assert_eq!(kept(&[(end - 2, bits)], Some((end - 1, 250))), table);
        assert_eq!(kept(&[(end - 1, bits)], Some((end, 250))), None);
    }

    #[test]
    fn a_lookup_by_an_address_alone() {
        let kept = |index, value| {
            let mut all = function(2);
            all.steps[0].write = Some(Write { register: 1, value });
            all.steps[1].lookup = Some(Lookup {
                place: Place {
                    registers: [None; 2],
                    distance: 0x4000,
                    narrow: true,
                },
                indices: [index, None],
            });
            all.keep_lookups();
            all.steps[1].lookup.is_some()
        };
        assert!(kept(Some(1), Value::Bits) && !kept(Some(1), Value::Other));
        // An index that is not followed may be anything.
        assert!(kept(None, Value::Other) && !kept(Some(2), Value::Bits));
    }

    #[test]
    fn sums_over_a_range() {
        let mut all = function(20);
        let does = [
            Does::Crypto(Kind::Round, 128),
            Does::Shuffle,
            Does::NibbleShift,
            Does::Permute,
            Does::Logic,
            Does::Move,
            Does::Arithmetic,
            Does::Other,
        ];
        for (at, does) in does.into_iter().enumerate() {
            all.steps[at + 2].does = does;
            all.steps[at + 10].does = does;
        }
        all.steps[2].decrypts = Some(false);
        all.steps[10].decrypts = Some(true);
        let counts = |range| {
            let s = all.shape(&range);
            let rest = [s.shuffles, s.nibble_shifts, s.permutes, s.logic];
            let more = [s.moves, s.arithmetic, s.total];
            let all = [&[s.tally.count(Kind::Round) as usize], &rest[..], &more].concat();
            (all, s.encrypts, s.decrypts)
        };
        let once = vec![1, 1, 1, 1, 1, 1, 1, 8];
        assert_eq!(counts(address(2)..address(10)), (once.clone(), true, false));
        assert_eq!(counts(address(10)..address(18)), (once, false, true));
        let twice = vec![2, 2, 2, 2, 2, 2, 2, 20];
        assert_eq!(counts(0..u64::MAX), (twice, true, true));
        let none = vec![0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(counts(address(1)..address(2)), (none, false, false));
    }

    #[test]
    fn places_are_collected_once() {
        let place = |distance| Place {
            registers: [None; 2],
            distance,
            narrow: false,
        };
        let mut all = function(522);
        for (at, step) in all.steps.iter_mut().enumerate() {
            step.vector = Some(place(at as u64));
            step.lookup = Some(Lookup {
                place: place(at as u64 / 2),
                indices: [None; 2],
            });
        }
        let shape = all.shape(&(0..u64::MAX));
        assert_eq!(shape.vectors.len(), 512);
        assert_eq!(shape.lookups.len(), 261);
    }

    #[test]
    fn products_in_a_loop_take_halves_both_ways() {
        // A straight product at 3, a crosswise one at 6, and a jump from 9.
        let multiplies = |jump: u64, range: Range<u64>| {
            let mut all = function(20);
            all.steps[3].crosswise = Some(false);
            all.steps[6].crosswise = Some(true);
            all.steps[9].jump = Some(address(jump));
            all.multiplies_crosswise(&range)
        };
        let whole = address(0)..address(20);
        assert!(multiplies(0, whole.clone()) && multiplies(3, whole.clone()));
        assert!(!multiplies(4, whole.clone()) && !multiplies(7, whole));
        // The loop is in the range, or ends with it.
        assert!(multiplies(3, address(3)..address(10)));
        assert!(!multiplies(3, address(3)..address(9)));
        assert!(!multiplies(2, address(3)..address(10)));
        // Products behind the loop.
        let mut all = function(20);
        all.steps[3].crosswise = Some(false);
        all.steps[10].crosswise = Some(true);
        all.steps[9].jump = Some(address(2));
        assert!(!all.multiplies_crosswise(&(0..u64::MAX)));
    }

    #[test]
    fn the_shape_of_other_implementations() {
        let nibbles = |shuffles, nibble_shifts| {
            let shape = Shape {
                shuffles,
                nibble_shifts,
                ..Shape::default()
            };
            shape.shuffles_nibbles()
        };
        assert!(nibbles(6, 1) && !nibbles(5, 1) && !nibbles(6, 0));
        let place = Place {
            registers: [None; 2],
            distance: 0,
            narrow: false,
        };
        let sliced = |logic, others, moves, arithmetic, lookups| {
            let shape = Shape {
                total: logic + others + moves + arithmetic,
                logic,
                moves,
                arithmetic,
                lookups: vec![place; lookups],
                ..Shape::default()
            };
            shape.is_sliced()
        };
        assert!(sliced(100, 0, 0, 0, 0) && !sliced(99, 0, 0, 0, 0));
        // Half of all but moves are logic.
        assert!(sliced(100, 100, 500, 0, 0) && !sliced(100, 101, 500, 0, 0));
        // At most one sum of 25 instructions, and three lookups.
        assert!(sliced(120, 0, 0, 5, 0) && !sliced(119, 0, 0, 5, 0));
        assert!(sliced(100, 0, 0, 0, 3) && !sliced(100, 0, 0, 0, 4));
    }
}
