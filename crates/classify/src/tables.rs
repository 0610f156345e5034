// SPDX-License-Identifier: BSD-2-Clause
//! Lookup tables of AES in data: S-boxes, and the T-tables that combine an S-box with MixColumns.
//! Code that uses them leaks the key through the cache. The tables alone do not say that it is
//! used.

use crate::chunk::Chunk;
use memchr::memmem;
use serde::Serialize;

/// A table of a kind, in any rotation and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableKind {
    Sbox,
    InverseSbox,
    /// S-box and MixColumns (Te0 to Te3).
    Te,
    /// The inverse S-box and InvMixColumns (Td0 to Td3).
    Td,
    /// The remainders of GHASH's polynomial, of 4 or 8 bits. Only `near` looks for them.
    Ghash,
    /// The inverses in a field of 16 elements, from which vector permutation code makes the S-box.
    /// Only `near` looks for them.
    Inversion,
}

impl TableKind {
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Sbox => "S-box",
            TableKind::InverseSbox => "inverse S-box",
            TableKind::Te => "Te",
            TableKind::Td => "Td",
            TableKind::Ghash => "GHASH remainder",
            TableKind::Inversion => "GF(16) inversion",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    pub kind: TableKind,
    pub address: u64,
    /// The section that holds it; null if the file has no section headers.
    pub section: Option<String>,
    #[serde(skip)]
    pub length: u64,
}

/// Multiplication in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
const fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = a << 1 ^ (if a & 0x80 != 0 { 0x1b } else { 0 });
        b >>= 1;
    }
    product
}

/// The S-box (FIPS 197, 5.1.1) from the powers of a generator and of its inverse, and its inverse.
const fn boxes() -> ([u8; 256], [u8; 256]) {
    let (mut forward, mut inverse) = ([0; 256], [0; 256]);
    let (mut power, mut inverse_power) = (1, 1);
    let mut step = 0;
    while step < 256 {
        // The last step is 0, which has no inverse.
        let (at, x): (u8, u8) = if step < 255 {
            (power, inverse_power)
        } else {
            (0, 0)
        };
        let mixed = x ^ x.rotate_left(1) ^ x.rotate_left(2) ^ x.rotate_left(3) ^ x.rotate_left(4);
        forward[at as usize] = mixed ^ 0x63;
        inverse[(mixed ^ 0x63) as usize] = at;
        power = times(power, 3);
        inverse_power = times(inverse_power, 0xf6);
        step += 1;
    }
    (forward, inverse)
}

const BOXES: ([u8; 256], [u8; 256]) = boxes();

/// Entry `index` of Te0 or Td0 as big-endian bytes.
fn entry(kind: TableKind, index: usize) -> [u8; 4] {
    match kind {
        TableKind::Te => {
            let s = BOXES.0[index];
            [times(s, 2), s, s, times(s, 3)]
        }
        _ => {
            let s = BOXES.1[index];
            [times(s, 14), times(s, 9), times(s, 13), times(s, 11)]
        }
    }
}

/// No file has more tables that matter: OpenSSL's have 12.
const MOST: usize = 64;

/// Adds the tables in a chunk of data.
pub fn find(chunk: &Chunk, found: &mut Vec<Table>) {
    let mut add = |kind: TableKind, at: usize, length: usize| {
        if found.len() < MOST {
            found.push(Table {
                kind,
                address: chunk.address.wrapping_add(at as u64),
                section: chunk.name.map(str::to_owned),
                length: length as u64,
            });
        }
    };
    for (kind, table) in [
        (TableKind::Sbox, BOXES.0),
        (TableKind::InverseSbox, BOXES.1),
    ] {
        for at in memmem::find_iter(chunk.data, &table[..16]) {
            if chunk.data[at..].starts_with(&table) {
                add(kind, at, table.len());
            }
        }
    }
    let firsts = [TableKind::Te, TableKind::Td].map(|kind| (kind, orders(entry(kind, 0))));
    let mut after = 0;
    for (place, word) in chunk.data.chunks_exact(4).enumerate() {
        if !may_be_first([word[0], word[1], word[2], word[3]]) {
            continue;
        }
        let at = 4 * place;
        let first = firsts.iter().find_map(|(kind, firsts)| {
            let order = firsts.iter().position(|first| first == word)?;
            Some((*kind, order))
        });
        if let Some((kind, order)) = first.filter(|_| at >= after) {
            if let Some(length) = table(&chunk.data[at..], kind, order) {
                add(kind, at, length);
                after = at + length;
            }
        }
    }
}

/// Whether the XOR of the bytes is that of Te0[0] or of Td0[0]. It does not depend on their order.
fn may_be_first([a, b, c, d]: [u8; 4]) -> bool {
    const TE: u8 = 0xc6 ^ 0x63 ^ 0x63 ^ 0xa5;
    const TD: u8 = 0x51 ^ 0xf4 ^ 0xa7 ^ 0x50;
    let xor = a ^ b ^ c ^ d;
    (xor == TE) | (xor == TD)
}

/// The tables in a piece of a process' memory: those of `find`, and those that mean nothing unless
/// code refers to them. The address is a multiple of 4, so that T-tables are found.
pub fn near(address: u64, data: &[u8]) -> Vec<Table> {
    let chunk = Chunk {
        name: None,
        address,
        data,
    };
    let mut found = Vec::new();
    find(&chunk, &mut found);
    for at in 0..data.len() {
        let rest = &data[at..];
        let (kind, length) = match (ghash(rest), is_inversion(rest)) {
            (Some(length), _) => (TableKind::Ghash, length),
            (None, true) => (TableKind::Inversion, 16),
            (None, false) => continue,
        };
        found.push(Table {
            kind,
            address: address.wrapping_add(at as u64),
            section: None,
            length: length as u64,
        });
    }
    found
}

/// The length of a table of GHASH's remainders at the beginning of the data: 16-bit words, or the
/// same in the upper bits of 64-bit words. Each is linear in its index.
fn ghash(data: &[u8]) -> Option<usize> {
    let remainder = |first: u32, index: usize| -> u16 {
        let bits = (0..8).filter(|bit| index >> bit & 1 == 1);
        bits.fold(0, |sum, bit| sum ^ (first << bit) as u16)
    };
    let is_table = |first: u32, count: usize, width: usize| {
        (0..count).all(|index| {
            let stored = data.get(width * index..width * (index + 1));
            let word = remainder(first, index).to_le_bytes();
            stored.is_some_and(|stored| {
                stored.ends_with(&word) && stored[..width - 2].iter().all(|byte| *byte == 0)
            })
        })
    };
    // 0x01c2 is x^8 reduced, reflected; 0x1c20 the same for 4 bits. Most data ends here.
    let (first, count, width) = match data {
        [0, 0, 0xc2, 0x01, ..] => (0x01c2, 256, 2),
        [0, 0, 0x20, 0x1c, ..] => (0x1c20, 16, 2),
        [0, 0, _, _, _, _, _, _, _, _, _, _, _, _, 0x20, 0x1c, ..] => (0x1c20, 16, 8),
        _ => return None,
    };
    is_table(first, count, width).then_some(count * width)
}

/// Whether a table of 16 inverses begins the data. The inverse of 0 has the highest bit set, by
/// which a byte shuffle makes 0 of it; the others are 1 to 15 in some order.
fn is_inversion(data: &[u8]) -> bool {
    let Some([0x80, others @ ..]) = data.get(..16) else {
        return false;
    };
    let seen = others.iter().fold(0u32, |seen, byte| {
        seen | 1u32.checked_shl((*byte).into()).unwrap_or(0)
    });
    seen == 0xfffe && others.iter().all(|byte| *byte < 16)
}

/// The rotations of an entry, big-endian and little-endian.
fn orders([a, b, c, d]: [u8; 4]) -> [[u8; 4]; 8] {
    let big = [[a, b, c, d], [d, a, b, c], [c, d, a, b], [b, c, d, a]];
    let little = big.map(|[a, b, c, d]| [d, c, b, a]);
    [
        big[0], big[1], big[2], big[3], little[0], little[1], little[2], little[3],
    ]
}

/// The length of a whole table at the beginning of the data. OpenSSL's assembly stores each entry
/// twice.
fn table(data: &[u8], kind: TableKind, order: usize) -> Option<usize> {
    [4, 8].into_iter().find_map(|stride| {
        let fits = |index: usize| {
            let stored = data.get(stride * index..).and_then(|rest| rest.get(..4));
            stored == Some(&orders(entry(kind, index))[order])
        };
        (0..256).all(fits).then_some(256 * stride)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(data: &[u8]) -> Vec<(TableKind, u64)> {
        let mut found = Vec::new();
        find(&Chunk::of(data), &mut found);
        found
            .iter()
            .map(|table| (table.kind, table.address))
            .collect()
    }

    #[test]
    fn the_boxes_are_those_of_the_standard() {
        assert_eq!(
            BOXES.0[..8],
            [0x63, 0x7c, 0x77, 0x7b, 0xf2, 0x6b, 0x6f, 0xc5]
        );
        assert_eq!((BOXES.0[0x53], BOXES.0[255]), (0xed, 0x16));
        assert_eq!(BOXES.1[..4], [0x52, 0x09, 0x6a, 0xd5]);
        assert_eq!(entry(TableKind::Te, 0), [0xc6, 0x63, 0x63, 0xa5]);
        assert_eq!(entry(TableKind::Td, 0), [0x51, 0xf4, 0xa7, 0x50]);
    }

    #[test]
    fn every_form_is_found() {
        for kind in [TableKind::Te, TableKind::Td] {
            for order in 0..8 {
                for times in [1, 2] {
                    let mut data = vec![0xa5; 12];
                    for index in 0..256 {
                        data.extend(orders(entry(kind, index))[order].repeat(times));
                    }
                    assert_eq!(tables(&data), [(kind, 12)], "{order} {times}");
                    data.truncate(data.len() - 4 * times);
                    assert_eq!(tables(&data), [], "{order} {times}");
                }
            }
        }
        let boxes = [&[1, 2, 3][..], &BOXES.1, &BOXES.0].concat();
        assert_eq!(
            tables(&boxes),
            [(TableKind::Sbox, 259), (TableKind::InverseSbox, 3)]
        );
        assert_eq!(tables(&BOXES.0[..255]), []);
    }

    #[test]
    fn tables_that_only_code_gives_a_meaning() {
        let kinds = |data: &[u8]| -> Vec<(TableKind, u64)> {
            near(0x1000, data)
                .iter()
                .map(|t| (t.kind, t.address))
                .collect()
        };
        // rem_4bit of OpenSSL's gcm128.c, and the beginning of rem_8bit of its assembly.
        let words: [u16; 16] = [
            0x0000, 0x1c20, 0x3840, 0x2460, 0x7080, 0x6ca0, 0x48c0, 0x54e0, 0xe100, 0xfd20, 0xd940,
            0xc560, 0x9180, 0x8da0, 0xa9c0, 0xb5e0,
        ];
        let wide: Vec<u8> = words
            .iter()
            .flat_map(|w| (u64::from(*w) << 48).to_le_bytes())
            .collect();
        assert_eq!(kinds(&wide), [(TableKind::Ghash, 0x1000)]);
        let narrow: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(
            kinds(&[&[1, 2], &narrow[..]].concat()),
            [(TableKind::Ghash, 0x1002)]
        );
        assert_eq!(kinds(&narrow[..31]), []);
        // k_inv of OpenSSL's vpaes-x86_64.pl.
        let mut inverses = [
            0x80, 0x01, 0x08, 0x0d, 0x0f, 0x06, 0x05, 0x0e, 0x02, 0x0c, 0x0b, 0x0a, 0x09, 0x03,
            0x07, 0x04,
        ];
        assert_eq!(kinds(&inverses), [(TableKind::Inversion, 0x1000)]);
        inverses[15] = 0x07;
        assert_eq!(kinds(&inverses), []);
    }

    #[test]
    fn remainders_of_8_bits() {
        // rem_8bit of OpenSSL's ghash-x86_64.pl: the remainder of each byte, bit by bit.
        let words = (0u32..256).map(|byte| {
            let bits = (0..8).filter(|bit| byte >> bit & 1 == 1);
            bits.fold(0u16, |sum, bit| sum ^ 0x01c2 << bit)
        });
        let table: Vec<u8> = words.flat_map(u16::to_le_bytes).collect();
        assert_eq!(table[2 * 2..3 * 2], 0x0384u16.to_le_bytes());
        assert_eq!(table[255 * 2..], 0xbebeu16.to_le_bytes());
        let found = |data: &[u8]| -> Vec<(TableKind, u64, u64)> {
            let found = near(0x1000, data);
            found
                .iter()
                .map(|t| (t.kind, t.address, t.length))
                .collect()
        };
        let shifted = [&[9; 3][..], &table].concat();
        assert_eq!(found(&shifted), [(TableKind::Ghash, 0x1003, 512)]);
        assert_eq!(found(&table[..511]), []);
        for at in [0, 1, 2, 3, 4, 5, 300, 510, 511] {
            let mut wrong = table.clone();
            wrong[at] ^= 1;
            assert_eq!(found(&wrong), [], "{at}");
        }
    }

    #[test]
    fn remainders_of_4_bits_have_nothing_between_them() {
        let word = |byte: u32| {
            let bits = (0..4).filter(|bit| byte >> bit & 1 == 1);
            bits.fold(0u16, |sum, bit| sum ^ (0x1c20 << bit) as u16)
        };
        let wide: Vec<u8> = (0..16)
            .flat_map(|byte| (u64::from(word(byte)) << 48).to_le_bytes())
            .collect();
        let length = |data: &[u8]| near(0, data).first().map(|table| table.length);
        assert_eq!(length(&wide), Some(128));
        for at in (0..16)
            .map(|byte| 8 * byte + 5)
            .chain([0, 1, 6, 7, 8, 14, 15, 126, 127])
        {
            let mut wrong = wide.clone();
            wrong[at] ^= 1;
            assert_eq!(length(&wrong), None, "{at}");
        }
        let narrow: Vec<u8> = (0..16).flat_map(|byte| word(byte).to_le_bytes()).collect();
        assert_eq!(length(&narrow), Some(32));
        for at in 0..32 {
            let mut wrong = narrow.clone();
            wrong[at] ^= 1;
            assert_eq!(length(&wrong), None, "{at}");
        }
    }

    #[test]
    fn inverses_are_1_to_15_in_some_order() {
        let mut table: [u8; 16] = std::array::from_fn(|at| if at == 0 { 0x80 } else { at as u8 });
        assert!(is_inversion(&table) && !is_inversion(&table[..15]));
        let found = near(0x1000, &[&[7], &table[..], &[7]].concat());
        assert_eq!(
            (found.len(), found[0].address, found[0].length),
            (1, 0x1001, 16)
        );
        table.swap(1, 15);
        assert!(is_inversion(&table));
        for (at, value) in [(0, 0x81), (0, 0), (3, 16), (3, 32), (3, 35), (3, 0), (3, 4)] {
            let mut wrong = table;
            wrong[at] = value;
            assert!(!is_inversion(&wrong), "{at} {value}");
        }
    }

    /// Wherever a table begins within the bytes that are searched together.
    #[test]
    fn tables_begin_anywhere() {
        let table: Vec<u8> = (0..256).flat_map(|at| entry(TableKind::Td, at)).collect();
        for before in (0..128).step_by(4) {
            let data = [&vec![0; before][..], &table].concat();
            assert_eq!(tables(&data), [(TableKind::Td, before as u64)]);
            let data = [&data[..], &[0; 4 * 15]].concat();
            assert_eq!(tables(&data), [(TableKind::Td, before as u64)]);
        }
        // Each entry counts, and each byte of it.
        for at in 0..table.len() {
            let mut wrong = table.clone();
            wrong[at] ^= 0x10;
            assert_eq!(tables(&wrong), [], "{at}");
        }
    }

    #[test]
    fn tables_stand_behind_each_other() {
        let te: Vec<u8> = (0..256).flat_map(|at| entry(TableKind::Te, at)).collect();
        let twice: Vec<u8> = te.chunks(4).flat_map(|entry| entry.repeat(2)).collect();
        let found = |data: &[u8]| {
            let mut found = Vec::new();
            let chunk = Chunk {
                name: Some(".rodata"),
                address: 0x1000,
                data,
            };
            find(&chunk, &mut found);
            assert!(found
                .iter()
                .all(|t| t.section.as_deref() == Some(".rodata")));
            let places = found.iter().map(|table| (table.address, table.length));
            places.collect::<Vec<_>>()
        };
        // The second half of each entry of the first table is no table of its own.
        let both = [&twice[..], &te].concat();
        assert_eq!(found(&both), [(0x1000, 2048), (0x1800, 1024)]);
        let many = te.repeat(65);
        let found = found(&many);
        assert_eq!((found.len(), found[63]), (64, (0x1000 + 63 * 1024, 1024)));
        let boxes = [BOXES.0, BOXES.0].concat();
        assert_eq!(
            tables(&boxes),
            [(TableKind::Sbox, 0), (TableKind::Sbox, 256)]
        );
        let mut wrong = BOXES.0;
        wrong[255] ^= 1;
        assert_eq!(tables(&wrong), []);
    }
}
