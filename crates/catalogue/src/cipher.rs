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

    #[test]
    fn lengths() {
        let has = |mode: Mode, bytes| mode.row().has_length(bytes);
        assert!(has(Mode::Ecb, 32) && !has(Mode::Ecb, 33));
        assert!(has(Mode::Xts, 17) && !has(Mode::Xts, 15) && !has(Mode::Xts, (1 << 24) + 1));
        assert!(has(Mode::Kw, 24) && !has(Mode::Kw, 20) && has(Mode::Kwp, 1));
    }

    /// Lengths in bytes by the standards: IVs, tags, messages and their unit. SP 800-38A to F,
    /// RFC 5297, 7253 and 8452, IEEE 1619.
    #[test]
    fn lengths_of_every_mode() {
        let any: Vec<usize> = (1..=16).collect();
        let even: Vec<usize> = (4..=16).step_by(2).collect();
        let (block, none, all) = ([16, 16], [0, 0], usize::MAX);
        let (wrapped, data_unit) = ((1usize << 31) - 8, 1usize << 24);
        for (name, ivs, tags, shortest, longest, unit) in [
            ("ecb", block, &[][..], 1, all, 16),
            ("cbc", block, &[], 1, all, 16),
            ("cbc-cts", block, &[], 16, all, 1),
            ("cfb", block, &[], 1, all, 1),
            ("cfb8", block, &[], 1, all, 1),
            ("cfb1", block, &[], 1, all, 1),
            ("ofb", block, &[], 1, all, 1),
            ("ctr", block, &[], 1, all, 1),
            ("gcm", [1, 128], &any, 1, all, 1),
            ("ccm", [7, 13], &even, 1, (1 << 24) - 1, 1),
            ("ocb", [1, 15], &any, 1, all, 1),
            ("siv", none, &[16], 1, all, 1),
            ("gcm-siv", [12, 12], &[16], 1, all, 1),
            ("xts", block, &[], 16, data_unit, 1),
            ("wrap", none, &[], 16, wrapped, 8),
            ("wrap-pad", none, &[], 1, wrapped, 1),
            ("cmac", none, &any, 0, all, 1),
        ] {
            let row = Mode::by_name(name).unwrap().row();
            let found = (row.ivs, row.tags, row.shortest, row.longest, row.unit);
            assert_eq!(found, (ivs, tags, shortest, longest, unit), "{name}");
        }
        assert_eq!(Mode::aes().count(), 17);
    }

    /// IV, length announced, empty AAD first, authenticated; None for what is no message.
    #[test]
    fn parts_of_messages() {
        for mode in Mode::aes() {
            let expected = match mode.name() {
                "gcm" | "ocb" => Some((12, false, false, true)),
                "ccm" => Some((12, true, false, true)),
                "siv" => Some((0, false, false, true)),
                "gcm-siv" => Some((12, false, true, true)),
                "xts" | "cbc-cts" => Some((16, false, false, false)),
                _ => None,
            };
            let found = match mode.row().call {
                Call::Message(s) => Some((s.iv, s.announced, s.empty_aad_first, s.authenticated)),
                _ => None,
            };
            assert_eq!(found, expected, "{mode:?}");
            assert_eq!(mode.is_aead(), expected.is_some_and(|(.., tag)| tag));
        }
        let of = |has: fn(Mode) -> bool| -> Vec<&str> {
            Mode::aes()
                .filter(|mode| has(*mode))
                .map(Mode::name)
                .collect()
        };
        assert_eq!(of(Mode::whole_blocks), ["ecb", "cbc"]);
        assert_eq!(of(Mode::wraps), ["wrap", "wrap-pad"]);
        let streams = ["ecb", "cbc", "cfb", "cfb8", "cfb1", "ofb", "ctr"];
        assert_eq!(of(Mode::streams), streams);
        let single = ["cfb8", "cfb1", "wrap", "wrap-pad"];
        assert_eq!(of(Mode::block_by_block), single);
        let kernel = ["ecb", "cbc", "ctr"];
        assert_eq!(of(|mode| mode.kernel_stream().is_some()), kernel);
    }

    #[test]
    fn keys_hosts_and_measurements() {
        let rows = |has: fn(&Row) -> bool| -> Vec<&str> {
            ROWS.iter()
                .filter(|row| has(row))
                .map(|row| row.name)
                .collect()
        };
        assert_eq!(rows(|row| row.double_key), ["siv", "xts"]);
        assert_eq!(rows(|row| row.hosts.mac), ["cmac"]);
        let engine = ["ecb", "cbc", "cfb", "ofb", "ctr", "gcm", "ccm", "xts"];
        assert_eq!(rows(|row| row.hosts.engine), engine);
        let unmeasured = ["cbc-cts", "cfb8", "cfb1", "wrap", "wrap-pad"];
        assert_eq!(rows(|row| !row.measured), unmeasured);
        let one = ["ofb", "ctr", "cmac", "rc4", "chacha20-poly1305"];
        assert_eq!(rows(|row| row.directions.len() == 1), one);
        let names: Vec<_> = all().into_iter().map(Cipher::name).collect();
        assert_eq!(names.len(), 17 + 16 + 17 + 2);
        assert_eq!(names[50..], ["rc4", "chacha20-poly1305"]);
        let bits = ["rc4", "chacha20-poly1305", "aes-128-xts"].map(|name| cipher(name).key_bits());
        assert_eq!(bits, [128, 256, 128]);
        let key_bytes =
            ["aes-128-cbc", "aes-256-cbc", "aes-128-xts"].map(|n| cipher(n).key_bytes());
        assert_eq!(key_bytes, [16, 32, 32]);
        let rounds = ["aes-128-ecb", "aes-192-ecb", "aes-256-ecb"].map(|n| cipher(n).rounds());
        assert_eq!(rounds, [10, 12, 14]);
        let titles = ["aes-128-gcm-siv", "rc4"].map(|name| cipher(name).title());
        assert_eq!(titles, ["AES-128-GCM-SIV", "RC4"]);
        let fetched = ["aes-192-cmac", "aes-128-gcm"].map(|name| cipher(name).fetched());
        assert_eq!(fetched, ["CMAC", "aes-128-gcm"]);
        let legacy: Vec<_> = all().into_iter().filter(|c| c.is_legacy()).collect();
        assert_eq!(legacy, [cipher("rc4")]);
        assert_eq!(cipher("aes-256-xts").lengths(), 16..=1 << 24);
        assert!(cipher("aes-256-ecb").whole_blocks() && !cipher("aes-256-ctr").whole_blocks());
    }
}
