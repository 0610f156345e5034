// SPDX-License-Identifier: BSD-2-Clause
//! Cryptographic instructions of 64-bit Arm, by the bits of each 32-bit word (Arm ARM, C4.1, "Data
//! Processing -- Scalar Floating-Point and Advanced SIMD").

use crate::chunk::{Bounds, Chunk, Stretch};
use crate::hot::shape::{self, Does, Place, Step};
use crate::hot::Code;
use crate::tally::{Kind, Tally};
use crate::Function;

/// Adds the functions that hold cryptographic instructions.
pub fn functions(chunk: &Chunk, stretches: &[Stretch], found: &mut Vec<Function>) {
    for stretch in stretches.iter().filter(|s| s.bounds != Bounds::Data) {
        let mut rounds = Rounds::default();
        let mut tally = Tally::default();
        let mut first = None;
        // Instructions are aligned to 4 bytes.
        let start = stretch.start.next_multiple_of(4).min(stretch.end);
        for (index, word) in chunk.data[start..stretch.end].chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if let Some(kind) = rounds.take(word).or_else(|| other(word)) {
                tally.add(kind, 128);
            }
            if is_aes(word) || !tally.is_empty() {
                first.get_or_insert(start + 4 * index);
            }
        }
        if !tally.is_empty() {
            let first = chunk.address.wrapping_add(first.unwrap_or(start) as u64);
            found.push(stretch.function(chunk, first, tally));
        }
    }
}

/// AESE, AESD, AESMC or AESIMC.
fn is_aes(word: u32) -> bool {
    word & 0xffff_cc00 == 0x4e28_4800
}

/// Registers that hold the result of an AESE or AESD. AESMC or AESIMC makes a middle round of it. A
/// cipher's last round XORs it with a round key or with data. Hash functions XOR two such results,
/// or none. Code that only probes the processor does nothing with it.
#[derive(Default)]
struct Rounds(u32);

impl Rounds {
    fn holds(&self, register: u32) -> bool {
        self.0 >> register & 1 == 1
    }

    fn set(&mut self, register: u32, holds: bool) {
        self.0 = self.0 & !(1 << register) | u32::from(holds) << register;
    }

    /// The kind of round that an instruction ends.
    fn take(&mut self, word: u32) -> Option<Kind> {
        let (to, left, right) = (word & 31, word >> 5 & 31, word >> 16 & 31);
        if is_aes(word) {
            let mixes = word & 0x2000 != 0;
            let result = mixes && self.holds(left);
            self.set(left, false);
            self.set(to, !mixes);
            return match mixes {
                true if result => Some(Kind::Round),
                // AESIMC of another register inverts a round key.
                true => (word & 0x1000 != 0).then_some(Kind::Key),
                false => None,
            };
        }
        let results = match word {
            // EOR of 16 bytes, and EOR3.
            _ if word & 0xffe0_fc00 == 0x6e20_1c00 => [left, right].map(|r| self.holds(r)).to_vec(),
            _ if word & 0xffe0_8000 == 0xce00_0000 => [left, right, word >> 10 & 31]
                .map(|r| self.holds(r))
                .to_vec(),
            _ => return None,
        };
        self.set(to, false);
        let ends = results.iter().filter(|holds| **holds).count() == 1;
        ends.then_some(Kind::LastRound)
    }
}

/// The instructions of a function in the terms of `hot`. Bytes that are no whole function end at
/// words that are no instructions.
pub fn decode(code: &Code, at: u64) -> shape::Function {
    let mut rounds = Rounds::default();
    let skipped = code.address.wrapping_neg() & 3;
    let words = code
        .bytes
        .get(skipped as usize..)
        .unwrap_or_default()
        .chunks_exact(4);
    let steps = words.enumerate().map(|(index, word)| {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let address = code.address.wrapping_add(skipped + 4 * index as u64);
        step(&mut rounds, address, word)
    });
    let mut function = shape::Function {
        steps: steps.collect(),
    };
    if !code.whole {
        function.cut(at);
    }
    function
}

fn step(rounds: &mut Rounds, address: u64, word: u32) -> Step {
    let aes = is_aes(word);
    let crypto = rounds
        .take(word)
        .or_else(|| other(word))
        .map(|kind| (kind, 128));
    let signed =
        |value: u32, bits: u32| i64::from((value << (32 - bits)) as i32 >> (32 - bits)) * 4;
    let distance = match word {
        // B; B.cond, CBZ and CBNZ; TBZ and TBNZ.
        _ if word >> 26 == 0x05 => Some(signed(word & 0x03ff_ffff, 26)),
        _ if word >> 24 == 0x54 || word >> 25 & 0x3f == 0x1a => {
            Some(signed(word >> 5 & 0x7_ffff, 19))
        }
        _ if word >> 25 & 0x3f == 0x1b => Some(signed(word >> 5 & 0x3fff, 14)),
        _ => None,
    };
    // LDR and LDRB of a general register, by a register.
    let is_lookup = word & 0x3f60_0c00 == 0x3860_0800;
    let register = |shift: u32| Some((word >> shift & 31) as u8).filter(|register| *register < 31);
    Step {
        address,
        next: address.wrapping_add(4),
        does: match crypto {
            Some((kind, width)) => Does::Crypto(kind, width),
            // TBL of 16 bytes; USHR of bytes by 4; AND, ORR, EOR and BIC, of vectors and registers.
            None if word & 0xffe0_9c00 == 0x4e00_0000 => Does::Shuffle,
            None if word & 0xffff_fc00 == 0x6f0c_0400 => Does::NibbleShift,
            None if word & 0x9f20_fc00 == 0x0e20_1c00 || word >> 24 & 0x1f == 0x0a => Does::Logic,
            None if word >> 24 & 0x1f == 0x0b || word >> 23 & 0x3f == 0x22 => Does::Arithmetic,
            None => Does::Other,
        },
        crosswise: None,
        decrypts: aes.then_some(word & 0x1000 != 0),
        padding: word == 0,
        jump: distance.map(|distance| address.wrapping_add(distance as u64)),
        lookup: is_lookup.then(|| Place {
            registers: [register(5), register(16)],
            distance: 0,
            narrow: false,
        }),
        // LDR and LDUR of 16 bytes.
        vector: (word & 0xffc0_0000 == 0x3dc0_0000).then(|| Place {
            registers: [register(5), None],
            distance: u64::from(word >> 10 & 0xfff) * 16,
            narrow: false,
        }),
    }
}

fn other(word: u32) -> Option<Kind> {
    if word & 0xbfe0_fc00 == 0x0ee0_e000 {
        return Some(Kind::Clmul);
    }
    if word & 0xffe0_8c00 == 0x5e00_0000 {
        return match word >> 12 & 7 {
            0..=3 => Some(Kind::Sha1),
            4..=6 => Some(Kind::Sha256),
            _ => None,
        };
    }
    match word & 0xffff_fc00 {
        0x5e28_0800 | 0x5e28_1800 => return Some(Kind::Sha1),
        0x5e28_2800 => return Some(Kind::Sha256),
        0xcec0_8000 => return Some(Kind::Sha512),
        _ => {}
    }
    matches!(word & 0xffe0_fc00, 0xce60_8000 | 0xce60_8400 | 0xce60_8800).then_some(Kind::Sha512)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(words: &[u32]) -> Tally {
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let chunk = Chunk::of(&data);
        let mut found = Vec::new();
        functions(&chunk, &chunk.stretches(&[]), &mut found);
        found.first().map_or(Tally::default(), |f| f.instructions)
    }

    #[test]
    fn a_cipher_ends_by_a_round_key_and_a_hash_does_not() {
        let (aese0, aesmc0, aese1) = (0x4e28_4840, 0x4e28_6800, 0x4e28_4861);
        let eor = |to: u32, left: u32, right: u32| 0x6e20_1c00 | right << 16 | left << 5 | to;
        let cipher = tally(&[aese0, aesmc0, aese0, eor(0, 0, 3)]);
        assert_eq!(cipher.class(true), Some(crate::Class::ArmCe));
        let counts = [Kind::Round, Kind::LastRound].map(|kind| cipher.count(kind));
        assert_eq!(counts, [1, 1]);
        // Two lanes, whose results are XORed with each other, as in Go's memhash.
        let hash = tally(&[aese0, aesmc0, aese0, aese1, eor(0, 0, 1), eor(0, 0, 3)]);
        assert_eq!(hash.class(true), Some(crate::Class::Hash));
    }

    #[test]
    fn a_key_expansion_and_a_probe() {
        let (aese0, eor, aesimc1) = (0x4e28_4840, 0x6e23_1c00, 0x4e28_7821);
        assert_eq!(tally(&[aese0, eor]).class(true), Some(crate::Class::Sbox));
        assert_eq!(tally(&[aesimc1]).class(true), Some(crate::Class::ArmCe));
        assert!(tally(&[aese0]).is_empty());
    }

    #[test]
    fn multiplication_and_digests() {
        let words = [
            0x0ee0_e020,
            0x4ee0_e020,
            0x5e00_0020,
            0x5e28_0820,
            0x5e00_4020,
            0xce60_8020,
        ];
        let found = tally(&words);
        let kinds = [Kind::Clmul, Kind::Sha1, Kind::Sha256, Kind::Sha512];
        assert_eq!(kinds.map(|kind| found.count(kind)), [2, 2, 1, 1]);
        assert_eq!(found.class(true), None);
        // PMULL of bytes, and FADD.
        assert!(tally(&[0x0e20_e020, 0x1e20_2820]).is_empty());
    }
}
