// SPDX-License-Identifier: BSD-2-Clause
//! The processor's features, and masks.

use crate::raw;
use crate::status::text;
use std::ffi::{c_char, c_int, c_uint, CStr, CString};

/// A set of features: the bits of TR_FEATURE_* in tenrounds.h.
pub type Features = u32;

/// Single features.
pub mod feature {
    use super::Features;
    pub const AES: Features = 1 << 0;
    pub const CLMUL: Features = 1 << 1;
    pub const SSSE3: Features = 1 << 2;
    pub const AVX: Features = 1 << 3;
    pub const AVX2: Features = 1 << 4;
    pub const AVX512: Features = 1 << 5;
    pub const VAES: Features = 1 << 6;
    pub const VCLMUL: Features = 1 << 7;
    pub const SHA: Features = 1 << 8;
    pub const NEON: Features = 1 << 9;
    pub const SHA3: Features = 1 << 10;
}

extern "C" {
    fn tr_mask_read(
        text: *const c_char,
        masked: *mut u32,
        wanted: *mut u32,
        bad: *mut *const c_char,
    ) -> c_int;
    fn trossl_ia32cap_masked(value: *const c_char) -> u32;
    fn trossl_armcap_masked(value: *const c_char) -> u32;
    fn shim_clock_drops(vendor: *const c_char, family: c_uint, model: c_uint) -> c_int;
}

/// The names of all features, by bit.
pub fn feature_names() -> Vec<&'static str> {
    // SAFETY: any index is allowed.
    (0..)
        .map_while(|i| text(unsafe { raw::tr_feature_name(i) }))
        .collect()
}

/// The names of the features in a set.
pub fn names_of(features: Features) -> Vec<&'static str> {
    let names = feature_names().into_iter().enumerate();
    names
        .filter(|(bit, _)| features >> bit & 1 != 0)
        .map(|(_, name)| name)
        .collect()
}

/// The processor's features, and those that the operating system lets programs use.
pub use raw::tr_cpu as Cpu;

impl Cpu {
    pub fn detect() -> Cpu {
        let mut cpu = Cpu::default();
        // SAFETY: the pointer is valid.
        unsafe { raw::tr_cpu_detect(&mut cpu) };
        cpu
    }
}

/// A mask: features not to be used, and features to be used although selection would avoid them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mask {
    pub masked: Features,
    pub wanted: Features,
}

/// Reads a mask such as "noavx512,novaes". The error is the text from the first wrong word on.
pub fn parse_mask(mask: &str) -> Result<Mask, String> {
    let c_mask = CString::new(mask).map_err(|_| mask.to_owned())?;
    let (mut masked, mut wanted) = (0, 0);
    let mut bad = std::ptr::null();
    // SAFETY: the pointers are valid; `bad` will point into c_mask.
    let status = unsafe { tr_mask_read(c_mask.as_ptr(), &mut masked, &mut wanted, &mut bad) };
    match status {
        raw::TR_OK => Ok(Mask { masked, wanted }),
        _ if bad.is_null() => Err(mask.to_owned()),
        // SAFETY: `bad` points into c_mask.
        _ => Err(unsafe { CStr::from_ptr(bad) }
            .to_string_lossy()
            .into_owned()),
    }
}

/// The features that selection avoids on such a processor: 512 bits where they lower the clock.
pub fn avoided_on(vendor: &str, family: u16, model: u16) -> Features {
    let mut name = [0u8; 12];
    if vendor.len() == name.len() {
        name.copy_from_slice(vendor.as_bytes());
    }
    // SAFETY: the name has the twelve bytes that the call reads; any numbers are allowed.
    match unsafe { shim_clock_drops(name.as_ptr().cast(), family.into(), model.into()) } {
        0 => 0,
        _ => feature::AVX512,
    }
}

/// The features that libcrypto would not see with this OPENSSL_ia32cap.
pub fn ia32cap_masked(value: &str) -> Features {
    let value = CString::new(value).unwrap_or_default();
    // SAFETY: the string is valid.
    unsafe { trossl_ia32cap_masked(value.as_ptr()) }
}

/// The same with this OPENSSL_armcap.
pub fn armcap_masked(value: &str) -> Features {
    let value = CString::new(value).unwrap_or_default();
    // SAFETY: the string is valid.
    unsafe { trossl_armcap_masked(value.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        let mask = |masked, wanted| Ok(Mask { masked, wanted });
        assert_eq!(
            parse_mask("noaes,noclmul"),
            mask(feature::AES | feature::CLMUL, 0)
        );
        assert_eq!(
            parse_mask("novaes avx512"),
            mask(feature::VAES, feature::AVX512)
        );
        assert_eq!(parse_mask(""), mask(0, 0));
        assert_eq!(
            parse_mask("noaes,nonsense,novaes"),
            Err("nonsense,novaes".into())
        );
    }

    /// The bits of tenrounds.h, by the names that the core gives them.
    #[test]
    fn features_have_the_bits_of_the_core() {
        use feature::*;
        let bits = [
            AES, CLMUL, SSSE3, AVX, AVX2, AVX512, VAES, VCLMUL, SHA, NEON, SHA3,
        ];
        let names = [
            "aes", "clmul", "ssse3", "avx", "avx2", "avx512", "vaes", "vclmul", "sha", "neon",
            "sha3",
        ];
        assert_eq!(feature_names(), names);
        for (bit, name) in bits.into_iter().zip(names) {
            assert_eq!(names_of(bit), [name]);
            assert_eq!(parse_mask(&format!("no{name}")).unwrap().masked, bit);
        }
        assert_eq!(names_of(AES | SHA3), ["aes", "sha3"]);
        assert_eq!((names_of(0), names_of(1 << 11)), (vec![], vec![]));
    }

    #[test]
    fn wide_registers_are_avoided_where_they_lower_the_clock() {
        // Skylake-X and Ice Lake lower it; Zen 4 and an unknown vendor do not.
        assert_eq!(avoided_on("GenuineIntel", 6, 0x55), feature::AVX512);
        assert_eq!(avoided_on("AuthenticAMD", 25, 0x61), 0);
        assert_eq!(avoided_on("nobody", 6, 0x55), 0);
        let detected = Cpu::detect();
        assert_eq!(detected.usable & !detected.present, 0);
        assert_eq!(ia32cap_masked("~0x200000000000000:~0"), feature::AES);
        assert_eq!(armcap_masked("0x1") & feature::AES, feature::AES);
        // A text that C would cut says nothing.
        assert_eq!(parse_mask("noaes\0"), Err("noaes\0".into()));
    }
}
