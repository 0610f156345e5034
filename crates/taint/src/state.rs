// SPDX-License-Identifier: BSD-2-Clause
//! Which bytes are secret: of registers and of memory. A bit of a mask stands for a byte. For mask
//! registers (k0 to k7), whose bits select elements, it stands for a bit.

use iced_x86::Register;
use std::collections::HashMap;

/// The lowest `bytes` bits.
pub fn low(bytes: usize) -> u64 {
    if bytes >= 64 {
        u64::MAX
    } else {
        (1 << bytes) - 1
    }
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Registers {
    general: [u8; 16],
    vectors: [u64; 32],
    masks: [u64; 8],
    /// Bits of iced_x86::RflagsBits.
    pub flags: u32,
}

impl Registers {
    /// The secret bytes of a register, the lowest byte first. Segment registers and the
    /// instruction pointer are public.
    pub fn read(&self, register: Register) -> u64 {
        let number = register.number();
        if register.is_gpr() {
            u64::from(self.general[full_number(register)] >> shift(register)) & low(register.size())
        } else if register.is_vector_register() {
            self.vectors[number] & low(register.size())
        } else if register.is_k() {
            self.masks[number]
        } else {
            0
        }
    }

    /// Writes a register. As the processor does, a write of 32 bits of a general-purpose register
    /// clears the rest. `clear` says that the rest of a vector register is cleared, too.
    pub fn write(&mut self, register: Register, secret: u64, clear: bool) {
        let number = register.number();
        let size = register.size();
        let secret = if register.is_k() {
            secret
        } else {
            secret & low(size)
        };
        if register.is_gpr() {
            let at = &mut self.general[full_number(register)];
            let kept = if size >= 4 {
                0
            } else {
                *at & !((low(size) << shift(register)) as u8)
            };
            *at = kept | (secret << shift(register)) as u8;
        } else if register.is_vector_register() {
            let kept = if clear {
                0
            } else {
                self.vectors[number] & !low(size)
            };
            self.vectors[number] = kept | secret;
        } else if register.is_k() {
            self.masks[number] = secret;
        }
    }

    /// Clears the bytes from `keep` on of the first 16 vector registers.
    pub fn clear_upper(&mut self, keep: usize) {
        for vector in &mut self.vectors[..16] {
            *vector &= low(keep);
        }
    }
}

fn full_number(register: Register) -> usize {
    register.full_register().number()
}

/// The second byte of rax, rcx, rdx and rbx has a name.
pub fn shift(register: Register) -> u32 {
    u32::from(matches!(
        register,
        Register::AH | Register::CH | Register::DH | Register::BH
    ))
}

const PAGE: u64 = 4096;

/// Memory, by the real addresses of the program.
#[derive(Default)]
pub struct Memory {
    pages: HashMap<u64, Box<[u64; 64]>>,
}

impl Memory {
    /// The secret bytes among at most 64 from this address.
    pub fn read(&self, address: u64, size: usize) -> u64 {
        let offset = address % 64;
        let mut secret = self.word(address) >> offset;
        if offset != 0 && offset as usize + size > 64 {
            secret |= self.word(address.wrapping_add(64)) << (64 - offset);
        }
        secret & low(size)
    }

    pub fn write(&mut self, address: u64, size: usize, secret: u64) {
        let (offset, all) = (address % 64, low(size));
        let secret = secret & all;
        self.set_word(address, all << offset, secret << offset);
        if offset != 0 && offset as usize + size > 64 {
            let rest = 64 - offset;
            self.set_word(address.wrapping_add(64), all >> rest, secret >> rest);
        }
    }

    pub fn fill(&mut self, address: u64, len: u64, secret: bool) {
        let mut done = 0;
        while done < len {
            let size = (len - done).min(64);
            self.write(
                address.wrapping_add(done),
                size as usize,
                if secret { u64::MAX } else { 0 },
            );
            done += size;
        }
    }

    /// Copies byte by byte, upwards.
    pub fn copy(&mut self, from: u64, to: u64, len: u64) {
        let read = |index: u64| self.read(from.wrapping_add(index), 1);
        let bytes: Vec<u64> = (0..len).map(read).collect();
        for (index, secret) in (0..len).zip(bytes) {
            self.write(to.wrapping_add(index), 1, secret);
        }
    }

    /// Stores an element so many times.
    pub fn repeat(&mut self, to: u64, count: u64, element: u64, secret: u64) {
        if secret == 0 {
            return self.fill(to, count * element, false);
        }
        for index in 0..count {
            self.write(to.wrapping_add(index * element), element as usize, secret);
        }
    }

    /// Whether any of these bytes is secret.
    pub fn any(&self, address: u64, len: u64) -> bool {
        (0..len.div_ceil(64)).any(|index| {
            let size = (len - index * 64).min(64) as usize;
            self.read(address.wrapping_add(index * 64), size) != 0
        })
    }

    /// The word whose bits stand for the 64 bytes around this address.
    fn word(&self, address: u64) -> u64 {
        self.pages
            .get(&(address / PAGE))
            .map_or(0, |page| page[(address % PAGE / 64) as usize])
    }

    fn set_word(&mut self, address: u64, which: u64, secret: u64) {
        let page = match self.pages.get_mut(&(address / PAGE)) {
            Some(page) => page,
            None if secret == 0 => return,
            None => self
                .pages
                .entry(address / PAGE)
                .or_insert_with(|| Box::new([0; 64])),
        };
        let word = &mut page[(address % PAGE / 64) as usize];
        *word = *word & !which | secret;
    }
}
