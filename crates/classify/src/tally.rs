// SPDX-License-Identifier: BSD-2-Clause
//! Counts of cryptographic instructions in a stretch of code, and the class that follows from them.

use serde::Serialize;
use std::collections::BTreeMap;

/// What an instruction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A middle round: AESENC, AESDEC; on Arm AESE or AESD with AESMC or AESIMC.
    Round,
    /// A last round: AESENCLAST, AESDECLAST; on Arm an AESE or AESD whose result is XORed with a
    /// round key.
    LastRound,
    /// Key expansion: AESKEYGENASSIST, AESIMC.
    Key,
    /// Carry-less multiplication: PCLMULQDQ; on Arm PMULL of 64-bit operands.
    Clmul,
    Sha1,
    Sha256,
    Sha512,
}

const KINDS: [Kind; 7] = [
    Kind::Round,
    Kind::LastRound,
    Kind::Key,
    Kind::Clmul,
    Kind::Sha1,
    Kind::Sha256,
    Kind::Sha512,
];

/// The bits of the registers that an instruction uses.
pub const WIDTHS: [u16; 3] = [128, 256, 512];

/// The code that does AES, from weakest to strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Middle rounds, but no last round and no key expansion: a hash function.
    Hash,
    /// Last rounds alone: the S-box of AES in another cipher, such as Camellia, or in a key
    /// expansion.
    Sbox,
    ArmCe,
    AesNi,
    Vaes256,
    Vaes512,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Hash => "hash",
            Class::Sbox => "S-box by AES",
            Class::ArmCe => "Arm CE",
            Class::AesNi => "AES-NI 128",
            Class::Vaes256 => "VAES 256",
            Class::Vaes512 => "VAES 512",
        }
    }

    pub fn is_encryption(self) -> bool {
        self > Class::Sbox
    }
}

/// The number of instructions of each kind and width.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally([[u32; WIDTHS.len()]; KINDS.len()]);

impl Tally {
    /// Counts one instruction. Register widths other than 256 and 512 bits count as 128.
    pub fn add(&mut self, kind: Kind, width: u16) {
        let column = WIDTHS.iter().position(|w| *w == width).unwrap_or(0);
        let cell = &mut self.0[kind as usize][column];
        *cell = cell.saturating_add(1);
    }

    pub fn merge(&mut self, other: &Tally) {
        for (row, others) in self.0.iter_mut().zip(other.0) {
            for (cell, count) in row.iter_mut().zip(others) {
                *cell = cell.saturating_add(count);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Tally::default()
    }

    pub fn count(&self, kind: Kind) -> u32 {
        let row = self.0[kind as usize];
        row.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The widths at which a kind occurs, narrowest first.
    pub fn widths(&self, kind: Kind) -> Vec<u16> {
        let row = self.0[kind as usize].into_iter().zip(WIDTHS);
        row.filter(|(count, _)| *count > 0)
            .map(|(_, w)| w)
            .collect()
    }

    /// The class of one function with these instructions; None if it has no AES instruction.
    pub fn class(&self, arm: bool) -> Option<Class> {
        let encryption = self.at_width(arm)?;
        let has = |kind: Kind| self.count(kind) > 0;
        Some(match has(Kind::Key) {
            false if !has(Kind::LastRound) => Class::Hash,
            false if !has(Kind::Round) => Class::Sbox,
            _ => encryption,
        })
    }

    /// The class by the widest AES instruction alone.
    pub fn at_width(&self, arm: bool) -> Option<Class> {
        let of_aes = [Kind::Round, Kind::LastRound, Kind::Key];
        let widest = of_aes.iter().flat_map(|kind| self.widths(*kind)).max()?;
        Some(match widest {
            _ if arm => Class::ArmCe,
            512 => Class::Vaes512,
            256 => Class::Vaes256,
            _ => Class::AesNi,
        })
    }

    /// Each kind and width that occurs, with its count.
    pub fn entries(&self) -> impl Iterator<Item = (Kind, u16, u32)> + '_ {
        let row = |kind: Kind| self.0[kind as usize].into_iter().zip(WIDTHS);
        let all = KINDS
            .iter()
            .flat_map(move |kind| row(*kind).map(move |cell| (*kind, cell)));
        all.filter(|(_, (count, _))| *count > 0)
            .map(|(kind, (count, width))| (kind, width, count))
    }
}

/// As {"round": {"128": 9}}.
impl Serialize for Tally {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut kinds: BTreeMap<Kind, BTreeMap<u16, u32>> = BTreeMap::new();
        for (kind, width, count) in self.entries() {
            kinds.entry(kind).or_default().insert(width, count);
        }
        kinds.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(all: &[(Kind, u16, u32)]) -> Tally {
        let mut tally = Tally::default();
        for (kind, width, count) in all {
            (0..*count).for_each(|_| tally.add(*kind, *width));
        }
        tally
    }

    #[test]
    fn instructions_are_counted_by_kind_and_width() {
        let entries = [
            (Kind::Round, 128, 9),
            (Kind::Round, 512, 2),
            (Kind::LastRound, 256, 1),
            (Kind::Sha512, 128, 3),
        ];
        let mut sum = tally(&entries);
        assert_eq!(sum.entries().collect::<Vec<_>>(), entries);
        assert_eq!((sum.count(Kind::Round), sum.count(Kind::Key)), (11, 0));
        assert_eq!(sum.widths(Kind::Round), [128, 512]);
        sum.merge(&tally(&[(Kind::Round, 512, 1), (Kind::Key, 128, 1)]));
        assert_eq!((sum.count(Kind::Round), sum.count(Kind::Key)), (12, 1));
        assert!(!sum.is_empty() && Tally::default().is_empty());
        // A width that no register has.
        assert_eq!(tally(&[(Kind::Key, 64, 1)]), tally(&[(Kind::Key, 128, 1)]));
        // Counts do not wrap around.
        let mut full = Tally::default();
        full.0[Kind::Round as usize] = [u32::MAX, u32::MAX, 1];
        full.add(Kind::Round, 128);
        full.merge(&full.clone());
        assert_eq!(full.count(Kind::Round), u32::MAX);
        assert_eq!(full.0[Kind::Round as usize], [u32::MAX, u32::MAX, 2]);
    }

    #[test]
    fn classes_follow_from_the_kinds() {
        let (round, last, key) = (Kind::Round, Kind::LastRound, Kind::Key);
        for (kinds, x86, arm) in [
            (&[][..], None, None),
            (&[(Kind::Clmul, 512, 1)], None, None),
            (&[(round, 512, 1)], Some(Class::Hash), Some(Class::Hash)),
            (&[(last, 256, 1)], Some(Class::Sbox), Some(Class::Sbox)),
            (&[(key, 128, 1)], Some(Class::AesNi), Some(Class::ArmCe)),
            (
                &[(round, 128, 1), (key, 128, 1)],
                Some(Class::AesNi),
                Some(Class::ArmCe),
            ),
            (
                &[(last, 128, 1), (key, 128, 1)],
                Some(Class::AesNi),
                Some(Class::ArmCe),
            ),
            (
                &[(round, 128, 1), (last, 128, 1)],
                Some(Class::AesNi),
                Some(Class::ArmCe),
            ),
            (
                &[(round, 256, 1), (last, 128, 1)],
                Some(Class::Vaes256),
                Some(Class::ArmCe),
            ),
            (
                &[(round, 128, 1), (last, 512, 1)],
                Some(Class::Vaes512),
                Some(Class::ArmCe),
            ),
        ] {
            let tally = tally(kinds);
            assert_eq!(
                (tally.class(false), tally.class(true)),
                (x86, arm),
                "{kinds:?}"
            );
        }
        let encrypting = [Class::ArmCe, Class::AesNi, Class::Vaes256, Class::Vaes512];
        assert!(encrypting.into_iter().all(Class::is_encryption));
        assert!(!Class::Hash.is_encryption() && !Class::Sbox.is_encryption());
    }
}
