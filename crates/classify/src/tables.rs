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
}

impl TableKind {
    pub fn name(self) -> &'static str {
        match self {
            TableKind::Sbox => "S-box",
            TableKind::InverseSbox => "inverse S-box",
            TableKind::Te => "Te",
            TableKind::Td => "Td",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Table {
    pub kind: TableKind,
    pub address: u64,
    /// The section that holds it; null if the file has no section headers.
    pub section: Option<String>,
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

/// Adds the tables in a chunk of read-only data.
pub fn find(chunk: &Chunk, found: &mut Vec<Table>) {
    let mut add = |kind: TableKind, at: usize| {
        if found.len() < MOST {
            found.push(Table {
                kind,
                address: chunk.address.wrapping_add(at as u64),
                section: chunk.name.map(str::to_owned),
            });
        }
    };
    for (kind, table) in [
        (TableKind::Sbox, BOXES.0),
        (TableKind::InverseSbox, BOXES.1),
    ] {
        for at in memmem::find_iter(chunk.data, &table[..16]) {
            if chunk.data[at..].starts_with(&table) {
                add(kind, at);
            }
        }
    }
    let firsts = [TableKind::Te, TableKind::Td].map(|kind| (kind, orders(entry(kind, 0))));
    let mut after = 0;
    for (index, word) in chunk.data.chunks_exact(4).enumerate() {
        // The bytes of both first entries. Most words end here.
        if !matches!(word[0], 0xc6 | 0x63 | 0xa5 | 0x51 | 0xf4 | 0xa7 | 0x50) {
            continue;
        }
        let at = 4 * index;
        let first = firsts.iter().find_map(|(kind, firsts)| {
            let order = firsts.iter().position(|first| first == word)?;
            Some((*kind, order))
        });
        if let Some((kind, order)) = first.filter(|_| at >= after) {
            if let Some(length) = table(&chunk.data[at..], kind, order) {
                add(kind, at);
                after = at + length;
            }
        }
    }
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
}
