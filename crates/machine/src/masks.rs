// SPDX-License-Identifier: BSD-2-Clause
//! Masks: TENROUNDS_MASK by the names of features, OPENSSL_ia32cap by bits of CPUID. What a value of the
//! latter takes away is decided by the same code as in the provider (openssl/common/ia32cap.c); here
//! features are added to one.

use crate::schema;
use std::collections::BTreeMap;
use tenrounds_sys::{feature, feature_names, names_of, parse_mask, Features, Mask};
use terminal::error::{suggestion, Error, Kind, Result};

pub const TENROUNDS_MASK: &str = "TENROUNDS_MASK";
pub const IA32CAP: &str = "OPENSSL_ia32cap";

/// The words of OPENSSL_ia32cap that libcrypto 3.5 and later reads; earlier ones read two.
const WORDS: usize = 5;

/// The bits of each feature: word, mask.
const BITS: [(Features, usize, u64); 10] = [
    (feature::AES, 0, 1 << (32 + 25)),
    (feature::CLMUL, 0, 1 << (32 + 1)),
    (feature::SSSE3, 0, 1 << (32 + 9)),
    (feature::AVX, 0, 1 << (32 + 28)),
    (feature::AVX2, 1, 1 << 5),
    (feature::AVX512, 1, 1 << 16 | 1 << 30 | 1 << 31),
    (feature::AVX512VBMI, 1, 1 << (32 + 1)),
    (feature::VAES, 1, 1 << (32 + 9)),
    (feature::VCLMUL, 1, 1 << (32 + 10)),
    (feature::SHA, 1, 1 << 29),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Keep,
    Clear(u64),
    Replace(u64),
}

impl Word {
    fn parse(text: &str) -> Word {
        match text.strip_prefix('~') {
            Some(bits) => Word::Clear(number(bits)),
            None if text.is_empty() => Word::Keep,
            None => Word::Replace(number(text)),
        }
    }

    fn also_clear(self, bits: u64) -> Word {
        match self {
            Word::Keep => Word::Clear(bits),
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
        Ia32cap([Word::Keep; WORDS])
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
            Word::Keep => "~0x0".to_owned(),
            Word::Clear(mask) => format!("~{mask:#x}"),
            Word::Replace(value) => format!("{value:#x}"),
        });
        f.write_str(&words.join(":"))
    }
}

/// The features that a value of OPENSSL_ia32cap takes away.
fn removed_by(value: &str) -> Features {
    tenrounds_sys::ia32cap_masked(value)
}

/// The features in what libcrypto says of the processor: "OPENSSL_ia32cap=0x...:0x... env:...".
pub fn seen(cpu_settings: &str) -> Vec<&'static str> {
    let words = cpu_settings.strip_prefix("OPENSSL_ia32cap=").unwrap_or("");
    let known = removed_by("0"); // to the variable, which is of x86: not Arm's
    names_of(known & !removed_by(words.split(' ').next().unwrap_or("")))
}

/// A mask as text: "noaes,novaes,avx512".
pub fn words_of(mask: Mask) -> String {
    let masked = names_of(mask.masked).into_iter();
    let wanted = names_of(mask.wanted).into_iter().map(str::to_owned);
    let words: Vec<String> = masked
        .map(|name| format!("no{name}"))
        .chain(wanted)
        .collect();
    words.join(",")
}

/// Reads a mask; an error lists what exists and suggests the nearest.
pub fn parse(mask: &str, origin: &str) -> Result<Mask> {
    parse_mask(mask).map_err(|rest| {
        let bad = rest.split([',', ' ', '\t']).next().unwrap_or_default();
        let words: Vec<String> = feature_names()
            .iter()
            .map(|name| format!("no{name}"))
            .chain(["avx512".to_owned()])
            .collect();
        let kind = match origin {
            TENROUNDS_MASK => Kind::Environment,
            _ => Kind::Usage,
        };
        let message = format!(
            "{origin}: there is no mask '{bad}'{}; there are {}",
            suggestion(bad, words.iter().map(String::as_str)),
            words.join(", ")
        );
        Error::new(kind, message)
    })
}

/// The features that this process's environment takes away: those of both variables.
pub fn masked() -> Result<Features> {
    let ours = match std::env::var(TENROUNDS_MASK) {
        Ok(mask) => parse(&mask, TENROUNDS_MASK)?.masked,
        Err(_) => 0,
    };
    Ok(ours | std::env::var(IA32CAP).map_or(0, |value| removed_by(&value)))
}

/// OPENSSL_ia32cap of this process's environment.
pub fn ia32cap() -> Option<Ia32cap> {
    std::env::var(IA32CAP)
        .ok()
        .map(|value| Ia32cap::parse(&value))
}

/// Both variables, as reported.
pub fn in_force() -> BTreeMap<String, schema::Mask> {
    let mut masks = BTreeMap::new();
    if let Ok(value) = std::env::var(TENROUNDS_MASK) {
        let mask = parse_mask(&value).unwrap_or_default();
        if mask != Mask::default() {
            let hex = Ia32cap::none().also_without(mask.masked);
            masks.insert(TENROUNDS_MASK.into(), report(value, mask.masked, &hex));
        }
    }
    if let Ok(value) = std::env::var(IA32CAP) {
        let ia32cap = Ia32cap::parse(&value);
        masks.insert(
            IA32CAP.into(),
            report(value.clone(), removed_by(&value), &ia32cap),
        );
    }
    masks
}

fn report(value: String, removes: Features, hex: &Ia32cap) -> schema::Mask {
    schema::Mask {
        value,
        hex: hex.to_string(),
        removes: names_of(removes).into_iter().map(str::to_owned).collect(),
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
        for bit in (0..9).chain([feature::AVX512VBMI.trailing_zeros()]) {
            let written = Ia32cap::none().also_without(1 << bit).to_string();
            assert_eq!(removed_by(&written), 1 << bit, "{written}");
        }
    }

    #[test]
    fn what_libcrypto_sees() {
        let settings = "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab env:~0";
        assert_eq!(seen(settings).len(), 10);
        let settings = "OPENSSL_ia32cap=0x7ed8320b078bffff:0x20";
        assert_eq!(seen(settings), ["aes", "clmul", "ssse3", "avx", "avx2"]);
        assert_eq!(seen("nothing known"), Vec::<&str>::new());
    }

    #[test]
    fn numbers_as_in_c() {
        assert_eq!(
            [number("0x1F"), number("31"), number("037"), number("7;8")],
            [31, 31, 31, 7]
        );
    }

    #[test]
    fn an_unknown_word_is_named() {
        let error = parse("noaes,novase", "--mask").unwrap_err().to_string();
        assert!(
            error.contains("'novase'; did you mean 'novaes'?"),
            "{error}"
        );
        assert!(error.contains("noavx512"), "{error}");
    }
}
