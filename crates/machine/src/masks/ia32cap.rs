// SPDX-License-Identifier: BSD-2-Clause
//! OPENSSL_ia32cap, libcrypto's mask on x86: features are added to a value. The features that a
//! value removes come from the provider's own code (openssl/common/ia32cap.c).

use tenrounds_sys::{feature, Features};

pub const VARIABLE: &str = "OPENSSL_ia32cap";

/// The features that a value removes.
pub fn removed_by(value: &str) -> Features {
    tenrounds_sys::ia32cap_masked(value)
}

/// The words of OPENSSL_ia32cap that libcrypto 3.5 and later reads; earlier ones read two.
const WORDS: usize = 5;

/// The bits of each feature: word, mask.
const BITS: [(Features, usize, u64); 9] = [
    (feature::AES, 0, 1 << (32 + 25)),
    (feature::CLMUL, 0, 1 << (32 + 1)),
    (feature::SSSE3, 0, 1 << (32 + 9)),
    (feature::AVX, 0, 1 << (32 + 28)),
    (feature::AVX2, 1, 1 << 5),
    (feature::AVX512, 1, 1 << 16 | 1 << 30 | 1 << 31),
    (feature::VAES, 1, 1 << (32 + 9)),
    (feature::VCLMUL, 1, 1 << (32 + 10)),
    (feature::SHA, 1, 1 << 29),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Clear(u64),
    Replace(u64),
}

const KEEP: Word = Word::Clear(0);

impl Word {
    fn parse(text: &str) -> Word {
        match text.strip_prefix('~') {
            Some(bits) => Word::Clear(number(bits)),
            None if text.is_empty() => KEEP,
            None => Word::Replace(number(text)),
        }
    }

    fn also_clear(self, bits: u64) -> Word {
        match self {
            Word::Clear(mask) => Word::Clear(mask | bits),
            Word::Replace(value) => Word::Replace(value & !bits),
        }
    }
}

/// A number as libcrypto reads it: 0x… or decimal or 0…, up to the first other character.
fn number(text: &str) -> u64 {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => (hex, 16),
        None if text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    digits
        .chars()
        .map_while(|c| c.to_digit(radix))
        .fold(0u64, |n, digit| {
            n.wrapping_mul(u64::from(radix))
                .wrapping_add(u64::from(digit))
        })
}

/// A value of OPENSSL_ia32cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ia32cap([Word; WORDS]);

impl Ia32cap {
    /// The value that changes nothing.
    pub fn none() -> Ia32cap {
        Ia32cap([KEEP; WORDS])
    }

    pub fn parse(text: &str) -> Ia32cap {
        let mut words = [Word::Replace(0); WORDS];
        for (word, text) in words.iter_mut().zip(text.split(':')) {
            *word = Word::parse(text);
        }
        if text.ends_with(':') || text.is_empty() {
            // An empty word at the very end is a missing one; an empty value is the number 0.
            let last = text.split(':').count().min(WORDS) - 1;
            words[last] = Word::Replace(0);
        }
        Ia32cap(words)
    }

    /// The same, and these features away.
    pub fn also_without(mut self, features: Features) -> Ia32cap {
        for (_, word, bits) in BITS
            .iter()
            .filter(|(feature, _, _)| features & feature != 0)
        {
            self.0[*word] = self.0[*word].also_clear(*bits);
        }
        self
    }
}

impl std::fmt::Display for Ia32cap {
    /// All words are written, because a missing one would take everything away.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = self.0.map(|word| match word {
            Word::Clear(mask) => format!("~{mask:#x}"),
            Word::Replace(value) => format!("{value:#x}"),
        });
        f.write_str(&words.join(":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_added_to_any_value() {
        let wide = feature::AVX2 | feature::AVX512 | feature::VAES | feature::VCLMUL;
        for value in [
            "~0x200000200000000",
            "~0x200000200000000:~0",
            ":~0x60000000000",
            ":0",
            ":",
            "",
            "0",
            "~0x1000000:~0",
            "0x7fffffffffffffff::~1",
        ] {
            let before = removed_by(value);
            for added in [0, feature::AES, feature::VAES, wide] {
                let written = Ia32cap::parse(value).also_without(added).to_string();
                assert_eq!(
                    removed_by(&written),
                    before | added,
                    "{value} and {added}: {written}"
                );
            }
        }
    }

    #[test]
    fn a_mask_removes_what_it_names_and_nothing_else() {
        for bit in 0..9 {
            let written = Ia32cap::none().also_without(1 << bit).to_string();
            assert_eq!(removed_by(&written), 1 << bit, "{written}");
        }
    }

    #[test]
    fn numbers_as_in_c() {
        assert_eq!(
            [number("0x1F"), number("31"), number("037"), number("7;8")],
            [31, 31, 31, 7]
        );
    }

    /// The bits of CPUID in the words that libcrypto reads (OPENSSL_ia32cap(3)).
    #[test]
    fn values_as_they_are_written() {
        for (feature, expected) in [
            (feature::AES, "~0x200000000000000:~0x0"),
            (feature::CLMUL, "~0x200000000:~0x0"),
            (feature::SSSE3, "~0x20000000000:~0x0"),
            (feature::AVX, "~0x1000000000000000:~0x0"),
            (feature::AVX2, "~0x0:~0x20"),
            // AVX512F, AVX512BW and AVX512VL.
            (feature::AVX512, "~0x0:~0xc0010000"),
            (feature::VAES, "~0x0:~0x20000000000"),
            (feature::VCLMUL, "~0x0:~0x40000000000"),
            (feature::SHA, "~0x0:~0x20000000"),
        ] {
            let value = Ia32cap::none().also_without(feature).to_string();
            assert_eq!(value, format!("{expected}:~0x0:~0x0:~0x0"));
        }
        let same = |value: &str| Ia32cap::parse(value).to_string();
        assert_eq!(same("~0x2:0x3::1:~4"), "~0x2:0x3:~0x0:0x1:~0x4");
        assert_eq!(same("~0x2"), "~0x2:0x0:0x0:0x0:0x0");
        assert_eq!(same("1:2:3:4:5:6:7"), "0x1:0x2:0x3:0x4:0x5");
        assert_eq!(same("1:"), "0x1:0x0:0x0:0x0:0x0");
        assert_eq!(same(""), "0x0:0x0:0x0:0x0:0x0");
        // A value keeps what else it says.
        let value = Ia32cap::parse("~0x1:0xffffffff").also_without(feature::AES | feature::AVX2);
        assert_eq!(
            value.to_string(),
            "~0x200000000000001:0xffffffdf:0x0:0x0:0x0"
        );
    }

    #[test]
    fn numbers_end_at_the_first_other_character() {
        let numbers = ["0X1f", "0", "", "08", "0xg", "-1", "18446744073709551616"].map(number);
        assert_eq!(numbers, [31, 0, 0, 0, 0, 0, 0]);
        assert_eq!(number("0xffffffffffffffff"), u64::MAX);
    }
}
