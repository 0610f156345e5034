// SPDX-License-Identifier: BSD-2-Clause
//! Runs BPF programs in tests, with a memory and maps of its own. It knows the instructions and the
//! helpers that the programs use. A read of memory that a program may not read is a panic.

use super::assembler::{Instruction, ARGUMENTS, STACK_POINTER};
use std::collections::BTreeMap;

/// Addresses of what the kernel gives a program.
const CONTEXT: u64 = 1 << 40;
const STACK_END: u64 = (1 << 41) + 512;
const VALUES: u64 = 1 << 42;
const ROOM: u64 = 1 << 10;

pub struct Machine {
    pid: u32,
    task: u64,
    /// Memory that helpers read.
    memory: BTreeMap<u64, u8>,
    /// The stack, the context and the values of maps, which a program reads itself.
    own: BTreeMap<u64, u8>,
    /// Where the value of a key is, and its size.
    maps: BTreeMap<i32, BTreeMap<Vec<u8>, u64>>,
    sizes: BTreeMap<i32, (u64, u64)>,
}

impl Machine {
    /// Maps have the descriptors of `maps`: the first has keys of 160 and values of 32 bytes, the
    /// others keys of 8 and values of 16 bytes.
    pub fn new(pid: u32, task: u64, maps: &[i32]) -> Machine {
        let sizes = maps.iter().enumerate();
        Machine {
            pid,
            task,
            memory: BTreeMap::new(),
            own: BTreeMap::new(),
            maps: maps.iter().map(|map| (*map, BTreeMap::new())).collect(),
            sizes: sizes
                .map(|(index, map)| (*map, if index == 0 { (160, 32) } else { (8, 16) }))
                .collect(),
        }
    }

    pub fn store(&mut self, at: u64, bytes: &[u8]) {
        self.memory.extend((at..).zip(bytes.iter().copied()));
    }

    /// The keys and values of a map.
    pub fn entries(&self, map: i32) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> + '_ {
        let size = self.sizes[&map].1;
        self.maps[&map]
            .iter()
            .map(move |(key, at)| (key.clone(), self.bytes(*at, size)))
    }

    fn bytes(&self, at: u64, size: u64) -> Vec<u8> {
        let byte = |at| *self.own.get(&at).unwrap_or_else(|| panic!("reads {at:#x}"));
        (at..at + size).map(byte).collect()
    }

    fn load(&self, at: u64, size: u64) -> u64 {
        let bytes = self.bytes(at, size);
        bytes
            .iter()
            .rev()
            .fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    fn put(&mut self, at: u64, value: u64, size: u64) {
        let bytes = value.to_le_bytes();
        self.own.extend((at..at + size).zip(bytes.iter().copied()));
    }

    /// Runs a program at a call of a function with these arguments.
    pub fn call(&mut self, code: &[Instruction], arguments: [u64; 3], stack: u64, link: u64) {
        self.own.retain(|at, _| *at >= VALUES);
        for (offset, value) in ARGUMENTS.iter().zip(arguments) {
            self.put(CONTEXT + *offset as u64, value, 8);
        }
        self.put(CONTEXT + STACK_POINTER as u64, stack, 8);
        #[cfg(not(target_arch = "x86_64"))]
        self.put(CONTEXT + super::assembler::LINK as u64, link, 8);
        let _ = link;
        let mut registers = [None; 11];
        registers[1] = Some(CONTEXT);
        registers[10] = Some(STACK_END);
        let mut at = 0;
        while let Some(next) = self.step(code, at, &mut registers) {
            assert!(next > at, "a jump back at {at}");
            at = next;
        }
        assert_eq!(registers[0], Some(0), "the result");
    }

    /// The index of the next instruction, or none at the end.
    fn step(
        &mut self,
        code: &[Instruction],
        at: usize,
        r: &mut [Option<u64>; 11],
    ) -> Option<usize> {
        let (operation, to, from, offset, immediate) = code[at].fields();
        let value = |register: usize, r: &[Option<u64>; 11]| {
            r[register].unwrap_or_else(|| panic!("register {register} has no value at {at}"))
        };
        let place = |base: u64| base.wrapping_add(offset as u64);
        let jump = |is: bool| Some(if is { at + 1 + offset as usize } else { at + 1 });
        let second = |r: &[Option<u64>; 11]| match operation & 0x08 {
            0 => immediate as i64 as u64,
            _ => value(from, r),
        };
        match operation {
            0x95 => return None,
            0x85 => self.help(immediate, r),
            0x18 => {
                let high = code[at + 1].fields().4 as u32;
                r[to] = Some(u64::from(high) << 32 | u64::from(immediate as u32));
                return Some(at + 2);
            }
            0x07 | 0x0f => r[to] = Some(value(to, r).wrapping_add(second(r))),
            0x1f | 0x17 => r[to] = Some(value(to, r).wrapping_sub(second(r))),
            0xb7 | 0xbf => r[to] = Some(second(r)),
            0x77 => r[to] = Some(value(to, r) >> immediate),
            0x67 => r[to] = Some(value(to, r) << immediate),
            0x47 | 0x4f => r[to] = Some(value(to, r) | second(r)),
            0x05 => return jump(true),
            0x15 | 0x1d => return jump(value(to, r) == second(r)),
            0x55 | 0x5d => return jump(value(to, r) != second(r)),
            0x25 | 0x2d => return jump(value(to, r) > second(r)),
            0x35 | 0x3d => return jump(value(to, r) >= second(r)),
            0xb5 | 0xbd => return jump(value(to, r) <= second(r)),
            0x45 => return jump(value(to, r) & second(r) != 0),
            0x79 => r[to] = Some(self.load(place(value(from, r)), 8)),
            0x61 => r[to] = Some(self.load(place(value(from, r)), 4)),
            0x7b => self.put(place(value(to, r)), value(from, r), 8),
            0x63 => self.put(place(value(to, r)), value(from, r), 4),
            0x7a => self.put(place(value(to, r)), immediate as i64 as u64, 8),
            0x62 => self.put(place(value(to, r)), immediate as u64, 4),
            0xdb => {
                let sum = place(value(to, r));
                self.put(sum, self.load(sum, 8).wrapping_add(value(from, r)), 8);
            }
            other => panic!("an instruction {other:#x} at {at}"),
        }
        Some(at + 1)
    }

    /// A helper. The registers of its arguments have no value afterwards.
    fn help(&mut self, helper: i32, r: &mut [Option<u64>; 11]) {
        let argument = |number: usize| r[number].expect("an argument of a helper");
        let result = match helper {
            1 => {
                let map = argument(1) as i32;
                let key = self.bytes(argument(2), self.sizes[&map].0);
                self.maps[&map].get(&key).copied().unwrap_or(0)
            }
            2 => self.update(argument(1) as i32, argument(2), argument(3), argument(4)),
            8 => 1,
            14 => u64::from(self.pid) << 32 | 9,
            16 => {
                let name = argument(1);
                let text = *b"test\0\0\0\0\0\0\0\0\0\0\0\0";
                assert_eq!(argument(2), 16);
                self.own.extend((name..).zip(text));
                0
            }
            35 => self.task,
            113 => self.read(argument(1), argument(2), argument(3)),
            115 => {
                let (to, from) = (argument(1), argument(3));
                let text = (from..from + argument(2)).map(|at| self.memory.get(&at).copied());
                let text: Vec<u8> = text
                    .map_while(|byte| byte.filter(|byte| *byte != 0))
                    .collect();
                self.own.extend((to..).zip(text));
                0
            }
            other => panic!("helper {other}"),
        };
        r[1..6].fill(None);
        r[0] = Some(result);
    }

    fn update(&mut self, map: i32, key: u64, value: u64, how: u64) -> u64 {
        let (key_size, value_size) = self.sizes[&map];
        let (key, value) = (self.bytes(key, key_size), self.bytes(value, value_size));
        let number: usize = self.maps.values().map(BTreeMap::len).sum();
        let entries = self.maps.get_mut(&map).unwrap();
        if how == 1 && entries.contains_key(&key) {
            return u64::MAX;
        }
        let at = *entries.entry(key).or_insert(VALUES + ROOM * number as u64);
        self.own.extend((at..).zip(value));
        0
    }

    /// Copies memory, all of it or zeros.
    fn read(&mut self, to: u64, size: u64, from: u64) -> u64 {
        let bytes: Option<Vec<u8>> = (from..from + size)
            .map(|at| self.memory.get(&at).copied())
            .collect();
        let result = if bytes.is_some() { 0 } else { u64::MAX };
        let bytes = bytes.unwrap_or_else(|| vec![0; size as usize]);
        self.own.extend((to..).zip(bytes));
        result
    }
}
