// SPDX-License-Identifier: BSD-2-Clause
//! Cryptographic instructions of 64-bit Arm, by the bits of each 32-bit word (Arm ARM, C4.1, "Data
//! Processing -- Scalar Floating-Point and Advanced SIMD").

use crate::chunk::{Bounds, Chunk, Stretch};
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

/// Whether code holds AES instructions or multiplications.
pub fn may_hold(code: &[u8]) -> bool {
    let mut words = code.chunks_exact(4);
    words.any(|word| {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        is_aes(word) || other(word).is_some()
    })
}

/// AESE, AESD, AESMC or AESIMC.
pub fn is_aes(word: u32) -> bool {
    word & 0xffff_cc00 == 0x4e28_4800
}

/// Registers that hold the result of an AESE or AESD. AESMC or AESIMC makes a middle round of it. A
/// cipher's last round XORs it with a round key or with data. Hash functions XOR two such results,
/// or none. Code that only probes the processor does nothing with it.
#[derive(Default)]
pub struct Rounds(u32);

impl Rounds {
    fn holds(&self, register: u32) -> bool {
        self.0 >> register & 1 == 1
    }

    fn set(&mut self, register: u32, holds: bool) {
        self.0 = self.0 & !(1 << register) | u32::from(holds) << register;
    }

    /// The kind of round that an instruction ends.
    pub fn take(&mut self, word: u32) -> Option<Kind> {
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

/// The kind of an instruction for multiplication or a digest.
pub fn other(word: u32) -> Option<Kind> {
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

    #[test]
    fn every_instruction_has_its_kind() {
        for (word, expected) in [
            (0x0ee2_e020, Some(Kind::Clmul)),  // pmull v0.1q
            (0x4ee2_e020, Some(Kind::Clmul)),  // pmull2 v0.1q
            (0x5e02_0020, Some(Kind::Sha1)),   // sha1c
            (0x5e02_1020, Some(Kind::Sha1)),   // sha1p
            (0x5e02_2020, Some(Kind::Sha1)),   // sha1m
            (0x5e02_3020, Some(Kind::Sha1)),   // sha1su0
            (0x5e02_4020, Some(Kind::Sha256)), // sha256h
            (0x5e02_5020, Some(Kind::Sha256)), // sha256h2
            (0x5e02_6020, Some(Kind::Sha256)), // sha256su1
            (0x5e02_7020, None),               // not allocated
            (0x5e28_0820, Some(Kind::Sha1)),   // sha1h
            (0x5e28_1820, Some(Kind::Sha1)),   // sha1su1
            (0x5e28_2820, Some(Kind::Sha256)), // sha256su0
            (0x5e28_3820, None),               // not allocated
            (0xcec0_8020, Some(Kind::Sha512)), // sha512su0
            (0xce62_8020, Some(Kind::Sha512)), // sha512h
            (0xce62_8420, Some(Kind::Sha512)), // sha512h2
            (0xce62_8820, Some(Kind::Sha512)), // sha512su1
            (0xce22_0c20, None),               // bcax
            (0x4e28_4820, None),               // aese
        ] {
            assert_eq!(other(word), expected, "{word:#x}");
            assert_eq!(
                may_hold(&word.to_le_bytes()),
                expected.is_some() || is_aes(word)
            );
        }
        let aes = [0x4e28_4820, 0x4e28_5820, 0x4e28_6800, 0x4e28_7800];
        assert!(aes.into_iter().all(is_aes) && !is_aes(0x4e28_0820));
        // Behind another instruction, and cut off.
        let both = [0xd280_0020u32.to_le_bytes(), aes[0].to_le_bytes()].concat();
        assert!(may_hold(&both) && !may_hold(&both[..7]));
    }

    #[test]
    fn registers_hold_results_until_they_change() {
        let aese = |to: u32, with: u32| 0x4e28_4800 | with << 5 | to;
        let aesmc = |to: u32, from: u32| 0x4e28_6800 | from << 5 | to;
        let eor = |to: u32, left: u32, right: u32| 0x6e20_1c00 | right << 16 | left << 5 | to;
        let eor3 = |to: u32, a: u32, b: u32, c: u32| 0xce00_0000 | b << 16 | c << 10 | a << 5 | to;
        let kinds = |words: &[u32]| -> Vec<Option<Kind>> {
            let mut rounds = Rounds::default();
            words.iter().map(|word| rounds.take(*word)).collect()
        };
        let (round, last) = (Some(Kind::Round), Some(Kind::LastRound));
        // Registers 0 and 31, in place and to another one.
        assert_eq!(kinds(&[aese(0, 1), aesmc(0, 0)]), [None, round]);
        assert_eq!(kinds(&[aese(31, 1), aesmc(2, 31)]), [None, round]);
        // AESMC takes the result away, and AESE of the key's register gives none.
        let twice = [aese(3, 1), aesmc(3, 3), aesmc(3, 3)];
        assert_eq!(kinds(&twice), [None, round, None]);
        let key = [aese(3, 1), aese(4, 3), eor(5, 3, 6)];
        assert_eq!(kinds(&key), [None, None, None]);
        // The result on either side, in both and in none.
        assert_eq!(kinds(&[aese(3, 1), eor(5, 3, 6)]), [None, last]);
        assert_eq!(kinds(&[aese(3, 1), eor(5, 6, 3)]), [None, last]);
        let both = [aese(3, 1), aese(4, 1), eor(5, 3, 4)];
        assert_eq!(kinds(&both), [None, None, None]);
        assert_eq!(kinds(&[eor(5, 6, 3)]), [None]);
        for place in [eor3(5, 3, 6, 7), eor3(5, 6, 3, 7), eor3(5, 6, 7, 3)] {
            assert_eq!(kinds(&[aese(3, 1), place]), [None, last]);
        }
        // An XOR takes the result from its own register.
        let over = [aese(3, 1), eor(3, 6, 7), eor(5, 3, 6)];
        assert_eq!(kinds(&over), [None, None, None]);
        // Another instruction changes nothing.
        let between = [aese(3, 1), 0xd280_0020, eor(5, 3, 6)];
        assert_eq!(kinds(&between), [None, None, last]);
    }

    #[test]
    fn functions_have_their_first_instruction() {
        let words = [
            0xd280_0020u32,
            0xd280_0020,
            0x4e28_4840,
            0x4e28_6800,
            0xd65f_03c0,
        ];
        let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let chunk = Chunk {
            address: 0x1000,
            ..Chunk::of(&data)
        };
        let found = |start, bounds| {
            let stretch = Stretch {
                start,
                end: data.len(),
                name: None,
                bounds,
            };
            let mut found = Vec::new();
            functions(&chunk, &[stretch], &mut found);
            found.first().map(|f| (f.address, f.size))
        };
        // AESE is the first, although only AESMC tells the kind.
        assert_eq!(found(0, Bounds::Unknown), Some((0x1008, None)));
        assert_eq!(found(5, Bounds::Unknown), Some((0x1008, None)));
        assert_eq!(found(9, Bounds::Unknown), None, "AESMC alone");
        assert_eq!(found(4, Bounds::Symbol), Some((0x1004, Some(16))));
        assert_eq!(found(0, Bounds::Data), None);
    }
}
