// SPDX-License-Identifier: BSD-2-Clause
//! OPENSSL_armcap, libcrypto's mask on 64-bit Arm: one number, which replaces what libcrypto found
//! out about the processor. The features that a value removes come from the provider's own code
//! (openssl/common/armcap.c).

use libcrypto::LibCrypto;
use std::ffi::CString;
use tenrounds_sys::{feature, Cpu, Features};

pub const VARIABLE: &str = "OPENSSL_armcap";

/// The bit of each feature (OpenSSL, crypto/arm_arch.h).
const BITS: [(Features, u64); 4] = [
    (feature::NEON, 1 << 0),
    (feature::AES, 1 << 2),
    (feature::CLMUL, 1 << 5),
    (feature::SHA3, 1 << 11),
];

/// The features that a value removes.
pub fn removed_by(value: &str) -> Features {
    tenrounds_sys::armcap_masked(value)
}

/// A value of OPENSSL_armcap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Armcap(u64);

impl Armcap {
    /// The value that changes nothing: what libcrypto says of this processor, and the features
    /// that tenrounds knows. OpenSSL 3.0 does not report SHA3, and a value without that bit would
    /// disable EOR3 in a later libcrypto.
    pub fn none() -> Armcap {
        let settings = LibCrypto::open().ok().and_then(|lib| lib.cpu_settings());
        let says = settings.as_deref().and_then(value_in).map(Armcap::parse);
        let Armcap(says) = says.unwrap_or(Armcap(0));
        let Armcap(known) = Armcap::of(Cpu::detect().present);
        Armcap(says | known)
    }

    fn of(features: Features) -> Armcap {
        let named = BITS.iter().filter(|(feature, _)| features & feature != 0);
        Armcap(named.fold(0, |value, (_, bit)| value | bit))
    }

    /// Reads a number as libcrypto does, which keeps the lower 32 bits, so that -1 sets all of
    /// them.
    pub fn parse(text: &str) -> Armcap {
        let text = CString::new(text).unwrap_or_default();
        // SAFETY: it is a C string, and nobody asks where the number ends.
        let number = unsafe { libc::strtoul(text.as_ptr(), std::ptr::null_mut(), 0) };
        Armcap(u64::from(number as u32))
    }

    /// The same value without these features.
    pub fn also_without(self, features: Features) -> Armcap {
        let Armcap(removed) = Armcap::of(features);
        Armcap(self.0 & !removed)
    }
}

/// The number in libcrypto's "OPENSSL_armcap=0x..., env:...".
pub fn value_in(cpu_settings: &str) -> Option<&str> {
    let (name, value) = cpu_settings.split(' ').next()?.split_once('=')?;
    (name == VARIABLE).then_some(value)
}

impl std::fmt::Display for Armcap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Features = feature::NEON | feature::AES | feature::CLMUL | feature::SHA3;

    #[test]
    fn a_mask_removes_what_it_names_and_nothing_else() {
        for removed in [
            0,
            feature::AES,
            feature::CLMUL,
            feature::AES | feature::SHA3,
            ALL,
        ] {
            let written = Armcap(0x8fd).also_without(removed).to_string();
            assert_eq!(removed_by(&written), removed, "{written}");
        }
        // Bits that tenrounds does not know stay as they are.
        let hashes = Armcap(0x87d).also_without(ALL);
        assert_eq!(hashes, Armcap(0x58));
    }

    #[test]
    fn numbers_as_in_c() {
        for (text, value) in [
            ("0x1F", 31),
            ("31", 31),
            ("037", 31),
            ("7;8", 7),
            ("", 0),
            (" 5", 5),
            ("+5", 5),
            ("-1", 0xffff_ffff),
            ("-0x3", 0xffff_fffd),
            ("99999999999999999999", 0xffff_ffff),
        ] {
            let parsed = Armcap::parse(text);
            assert_eq!(parsed, Armcap(value), "{text}");
            assert_eq!(removed_by(text), removed_by(&parsed.to_string()), "{text}");
        }
    }

    #[test]
    fn what_libcrypto_says() {
        assert_eq!(value_in("OPENSSL_armcap=0x7d"), Some("0x7d"));
        assert_eq!(value_in("OPENSSL_armcap=0x1 env:1"), Some("0x1"));
        assert_eq!(value_in("OPENSSL_ia32cap=0x1:0x2"), None);
        assert_eq!(value_in("nothing known"), None);
    }
}
