// SPDX-License-Identifier: BSD-2-Clause
//! Instructions of 64-bit Arm in the terms of this classification.

use super::shape::{Does, Function, Lookup, Place, Step};
use super::Code;
use crate::arm::{is_aes, other, Rounds};

/// The instructions of a function in the terms of this classification. They end at the first word
/// that is no instruction.
pub fn decode(code: &Code, at: u64) -> Function {
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
    let mut function = Function {
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
        lookup: is_lookup.then(|| Lookup {
            place: Place {
                registers: [register(5), register(16)],
                distance: 0,
                narrow: false,
            },
            indices: [None, None],
        }),
        write: None,
        // LDR and LDUR of 16 bytes.
        vector: (word & 0xffc0_0000 == 0x3dc0_0000).then(|| Place {
            registers: [register(5), None],
            distance: u64::from(word >> 10 & 0xfff) * 16,
            narrow: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Kind;

    const AT: u64 = 0x1000;

    fn steps(address: u64, bytes: &[u8], whole: bool, at: u64) -> Vec<Step> {
        let code = Code {
            machine: crate::Machine::Arm64,
            address,
            bytes,
            whole,
        };
        decode(&code, at).steps
    }

    fn one(word: u32) -> Step {
        let steps = steps(AT, &word.to_le_bytes(), true, AT);
        assert_eq!((steps.len(), steps[0].next), (1, AT + 4));
        steps[0]
    }

    #[test]
    fn jumps_have_targets_and_calls_have_none() {
        for (word, distance) in [
            (0x1400_0040, Some(0x100)), // b
            (0x17ff_ffff, Some(-4)),    // b
            (0x54ff_ff00, Some(-0x20)), // b.eq
            (0xb4ff_ffc3, Some(-8)),    // cbz x3
            (0x3500_0203, Some(0x40)),  // cbnz w3
            (0xb647_ffa3, Some(-12)),   // tbz x3, #40
            (0x3710_0103, Some(0x20)),  // tbnz w3, #2
            (0x9400_0040, None),        // bl
            (0xd61f_0060, None),        // br x3
            (0xd65f_03c0, None),        // ret
        ] {
            let target = distance.map(|distance| AT.wrapping_add_signed(distance));
            assert_eq!(one(word).jump, target, "{word:#x}");
        }
    }

    #[test]
    fn what_instructions_do() {
        for (word, expected) in [
            (0x4e02_0020, Does::Shuffle),                   // tbl of one register
            (0x4e03_2020, Does::Shuffle),                   // tbl of two
            (0x4e02_1020, Does::Other),                     // tbx
            (0x0e02_0020, Does::Other),                     // tbl of 8 bytes
            (0x6f0c_0420, Does::NibbleShift),               // ushr v0.16b, v1.16b, #4
            (0x6f0d_0420, Does::Other),                     // ushr v0.16b, v1.16b, #3
            (0x4e22_1c20, Does::Logic),                     // and v0.16b
            (0x4ea2_1c20, Does::Logic),                     // orr v0.16b
            (0x4e62_1c20, Does::Logic),                     // bic v0.16b
            (0x6e22_1c20, Does::Logic),                     // eor v0.16b
            (0x0a02_0020, Does::Logic),                     // and w0, w1, w2
            (0xca02_0020, Does::Logic),                     // eor x0, x1, x2
            (0x0a22_0020, Does::Logic),                     // bic w0, w1, w2
            (0x0b02_0020, Does::Arithmetic),                // add w0, w1, w2
            (0xcb02_0020, Does::Arithmetic),                // sub x0, x1, x2
            (0x1100_1020, Does::Arithmetic),                // add w0, w1, #4
            (0xd100_1020, Does::Arithmetic),                // sub x0, x1, #4
            (0x4ea2_8420, Does::Other),                     // add v0.4s
            (0xd280_0020, Does::Other),                     // mov x0, #1
            (0x4ee2_e020, Does::Crypto(Kind::Clmul, 128)),  // pmull2 v0.1q
            (0x5e02_4020, Does::Crypto(Kind::Sha256, 128)), // sha256h
        ] {
            assert_eq!(one(word).does, expected, "{word:#x}");
        }
        // aese, aesd, aesmc, aesimc: whether they decrypt.
        for (word, expected) in [
            (0x4e28_4820, Some(false)),
            (0x4e28_5820, Some(true)),
            (0x4e28_6800, Some(false)),
            (0x4e28_7800, Some(true)),
            (0x4e22_1c20, None),
        ] {
            assert_eq!(one(word).decrypts, expected, "{word:#x}");
        }
        assert!(one(0).padding && !one(1).padding);
    }

    #[test]
    fn loads_by_an_index_and_of_vectors() {
        let of = |step: Step| {
            let lookup = step.lookup.map(|lookup| lookup.place);
            let place = lookup.or(step.vector)?;
            assert!(!place.narrow);
            Some((lookup.is_some(), place.registers, place.distance))
        };
        let either = Some((true, [Some(1), Some(2)], 0));
        for (word, expected) in [
            (0xb862_6820, either),                                 // ldr w0, [x1, x2]
            (0xf862_7820, either),                                 // ldr x0, [x1, x2, lsl #3]
            (0xb862_5820, either),                                 // ldr w0, [x1, w2, uxtw #2]
            (0x3862_6820, either),                                 // ldrb w0, [x1, x2]
            (0xb862_6be0, Some((true, [None, Some(2)], 0))),       // ldr w0, [sp, x2]
            (0x3dc0_0820, Some((false, [Some(1), None], 32))),     // ldr q0, [x1, #32]
            (0x3dff_fc20, Some((false, [Some(1), None], 0xfff0))), // ldr q0, [x1, #65520]
            (0x3dc0_03e0, Some((false, [None, None], 0))),         // ldr q0, [sp]
            (0xb822_6820, None),                                   // str w0, [x1, x2]
            (0xb940_0420, None),                                   // ldr w0, [x1, #4]
            (0xfd40_1020, None),                                   // ldr d0, [x1, #32]
            (0x3d80_0820, None),                                   // str q0, [x1, #32]
        ] {
            assert_eq!(of(one(word)), expected, "{word:#x}");
        }
    }

    #[test]
    fn instructions_begin_at_multiples_of_4() {
        let bytes = [0xd2; 11];
        let addresses = |address, whole, at| -> Vec<u64> {
            let steps = steps(address, &bytes, whole, at);
            steps.iter().map(|step| step.address).collect()
        };
        assert_eq!(addresses(0x1000, true, 0), [0x1000, 0x1004]);
        assert_eq!(addresses(0x1001, true, 0), [0x1004, 0x1008]);
        assert_eq!(addresses(0x1003, true, 0), [0x1004, 0x1008]);
        // Words of 0 end a function, unless its bounds are known.
        let mut padded = [0xd2; 20];
        padded[4..8].fill(0);
        padded[16..].fill(0);
        let count = |whole| steps(AT, &padded, whole, AT + 8).len();
        assert_eq!((count(true), count(false)), (5, 2));
    }
}
