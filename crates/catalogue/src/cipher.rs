// SPDX-License-Identifier: BSD-2-Clause
//! A mode with a key size: "aes-128-gcm".

use crate::row::{Bound, Call, Direction, Mode, Row, BLOCK, KEY_BITS};
use crate::rows::ROWS;
use std::fmt;

/// A mode with one of its key sizes, or a cipher that is not AES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cipher {
    mode: Mode,
    key_bits: u16,
}

impl Cipher {
    /// None if the mode has no keys of that size.
    pub fn new(mode: Mode, key_bits: u16) -> Option<Cipher> {
        let has = mode.row().key_bits.contains(&key_bits);
        has.then_some(Cipher { mode, key_bits })
    }

    pub fn mode(self) -> Mode {
        self.mode
    }

    pub fn row(self) -> &'static Row {
        self.mode.row()
    }

    pub fn key_bits(self) -> u16 {
        self.key_bits
    }

    /// Bytes of the whole key: modes with two AES keys take twice as many.
    pub fn key_bytes(self) -> usize {
        usize::from(self.key_bits) / 8 * if self.row().double_key { 2 } else { 1 }
    }

    /// The rounds of AES: 10, 12 or 14 (FIPS-197 section 5).
    pub fn rounds(self) -> u32 {
        u32::from(self.key_bits) / 32 + 6
    }

    /// In small letters, as on the command line and in JSON.
    pub fn name(self) -> String {
        match self.is_aes() {
            true => format!("aes-{}-{}", self.key_bits, self.row().name),
            false => self.row().name.into(),
        }
    }

    /// As headings and OpenSSL's lists have it.
    pub fn title(self) -> String {
        match self.is_aes() {
            true => self.name().to_uppercase(),
            false => self.row().title.into(),
        }
    }

    /// The name that libcrypto fetches. That of a MAC has no key size.
    pub fn fetched(self) -> String {
        match self.row().call {
            Call::Mac => self.row().title.into(),
            _ => self.name(),
        }
    }

    /// The cipher of this name or alias, in any case.
    pub fn by_name(name: &str) -> Option<Cipher> {
        all().into_iter().find(|cipher| cipher.answers_to(name))
    }

    pub fn is_aes(self) -> bool {
        self.row().is_aes()
    }

    pub fn is_aead(self) -> bool {
        self.mode.is_aead()
    }

    /// Whether OpenSSL has it in the legacy provider.
    pub fn is_legacy(self) -> bool {
        self.mode == Mode::Rc4
    }

    pub fn call(self) -> Call {
        self.row().call
    }

    pub fn bound(self, direction: Direction) -> Bound {
        self.row().bound[direction as usize]
    }

    /// The directions that do different work.
    pub fn directions(self) -> &'static [Direction] {
        self.row().directions
    }

    /// Whether a call must be whole blocks.
    pub fn whole_blocks(self) -> bool {
        self.row().unit == BLOCK
    }

    /// Bytes of the shortest and the longest message.
    pub fn lengths(self) -> std::ops::RangeInclusive<usize> {
        self.row().shortest..=self.row().longest
    }

    /// Whether this is one of the cipher's names, in any case.
    pub fn answers_to(self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let bits = self.key_bits.to_string();
        let mut aliases = self.row().aliases.iter().map(|a| a.replace("{}", &bits));
        name == self.name() || aliases.any(|alias| alias == name)
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name())
    }
}

/// Every mode with every key size, by key size and then mode; other ciphers last.
pub fn all() -> Vec<Cipher> {
    let aes = KEY_BITS.into_iter().flat_map(|bits| {
        let with = move |mode| Cipher::new(mode, bits);
        Mode::aes().filter_map(with)
    });
    let others = ROWS.iter().filter(|row| !row.is_aes()).map(|row| Cipher {
        mode: row.mode,
        key_bits: row.key_bits[0],
    });
    aes.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher(name: &str) -> Cipher {
        Cipher::by_name(name).unwrap()
    }

    #[test]
    fn rows_are_in_the_order_of_the_modes() {
        for (index, row) in ROWS.iter().enumerate() {
            assert_eq!(row.mode as usize, index, "{}", row.name);
            assert_eq!(Mode::by_name(row.name), Some(row.mode));
        }
    }

    #[test]
    fn names_belong_to_one_cipher() {
        for wanted in all() {
            assert_eq!(Cipher::by_name(&wanted.name()), Some(wanted));
            assert_eq!(Cipher::by_name(&wanted.title()), Some(wanted));
        }
        for (alias, name) in [
            ("AES256", "aes-256-cbc"),
            ("aes-192-cfb128", "aes-192-cfb"),
            ("id-aes128-GCM", "aes-128-gcm"),
            ("id-aes192-wrap-pad", "aes-192-wrap-pad"),
        ] {
            assert_eq!(cipher(alias).name(), name);
        }
        assert_eq!(Cipher::by_name("aes-192-xts"), None);
    }

    #[test]
    fn two_keys_are_twice_as_long() {
        let bytes = ["aes-192-gcm", "aes-256-xts", "aes-192-siv"].map(|n| cipher(n).key_bytes());
        assert_eq!(bytes, [24, 64, 48]);
    }

    #[test]
    fn tags_and_ivs_fit_the_shape() {
        for mode in Mode::aes() {
            let (row, has_tag) = (mode.row(), mode.is_aead() || mode.row().call == Call::Mac);
            assert_eq!(!row.tags.is_empty(), has_tag, "{mode:?}");
            if let Call::Message(shape) = row.call {
                assert!((row.ivs[0]..=row.ivs[1]).contains(&shape.iv), "{mode:?}");
            }
        }
    }

    // NIST's register of objects, 2.16.840.1.101.3.4.1; IEEE 1619 for XTS.
    #[test]
    fn object_identifiers() {
        let oid = |name| cipher(name).row().oid(cipher(name).key_bits());
        let text = |s: &str| Some(s.to_owned());
        assert_eq!(oid("aes-192-gcm"), text("2.16.840.1.101.3.4.1.26"));
        assert_eq!(oid("aes-256-xts"), text("1.3.111.2.1619.0.1.2"));
        assert_eq!(oid("aes-256-wrap-pad"), text("2.16.840.1.101.3.4.1.48"));
        assert_eq!(oid("aes-128-ctr"), None);
    }

    #[test]
    fn lengths() {
        let has = |mode: Mode, bytes| mode.row().has_length(bytes);
        assert!(has(Mode::Ecb, 32) && !has(Mode::Ecb, 33));
        assert!(has(Mode::Xts, 17) && !has(Mode::Xts, 15) && !has(Mode::Xts, (1 << 24) + 1));
        assert!(has(Mode::Kw, 24) && !has(Mode::Kw, 20) && has(Mode::Kwp, 1));
    }
}
