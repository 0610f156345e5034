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
