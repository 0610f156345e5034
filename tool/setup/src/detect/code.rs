// SPDX-License-Identifier: BSD-2-Clause
//! Kinds of AES code, by the instructions that they use: what a backend of tenrounds, OpenSSL's own
//! code and a driver of the kernel have in common.

use base::kernel::drivers::{is_software, Driver};
use catalogue::{Direction, Mode};
use serde::Serialize;

/// The slowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    Software,
    /// AES instructions; which of them is not known of this version of OpenSSL.
    Instructions,
    /// One block in a register: AES-NI.
    Aesni,
    /// The same on Arm.
    Armv8,
    Vaes256,
    Vaes512,
}

impl Code {
    /// "VAES at 512 bits".
    pub fn words(self) -> &'static str {
        match self {
            Code::Software => "software",
            Code::Instructions => "AES instructions",
            Code::Aesni => "128-bit AES-NI",
            Code::Armv8 => "Armv8 AES",
            Code::Vaes256 => "VAES at 256 bits",
            Code::Vaes512 => "VAES at 512 bits",
        }
    }

    /// What a backend of tenrounds is made of, by its name.
    pub fn of_backend(name: &str) -> Code {
        match name.split('-').next().unwrap_or_default() {
            "vaes512" => Code::Vaes512,
            "vaes256" => Code::Vaes256,
            "aesni" => Code::Aesni,
            "armce" => Code::Armv8,
            _ => Code::Software,
        }
    }

    /// What a driver of the kernel is made of, by its name (arch/x86/crypto, arch/arm64/crypto);
    /// None if the name does not say.
    pub fn of_driver(driver: &Driver) -> Option<Code> {
        let name = driver.driver.as_str();
        let has = |part: &str| name.contains(part);
        Some(match driver.backend() {
            Some(backend) => Code::of_backend(backend),
            None if is_software(name) => Code::Software,
            None if has("avx512") || has("avx10_512") => Code::Vaes512,
            None if has("vaes") => Code::Vaes256,
            None if has("aesni") || has("-avx") => Code::Aesni,
            None if has("-ce") => Code::Armv8,
            None => return None,
        })
    }
}

/// What OpenSSL's own code uses for a mode, by its version and by the features that it sees.
///
/// VAES needs AVX-512 in all of them: ossl_vaes_vpclmulqdq_capable() for GCM since 3.1,
/// aesni_xts_avx512_eligible() for XTS since 3.5, ossl_aes_cfb128_vaes_eligible() for CFB in 4.0.
pub fn stock(mode: Mode, direction: Direction, version: (u32, u32), sees: &[&str]) -> Code {
    let has = |feature: &str| sees.contains(&feature);
    if !has("aes") {
        return Code::Software;
    }
    if has("neon") {
        return Code::Armv8;
    }
    let wide = has("vaes") && has("vclmul") && has("avx512");
    let since = match mode {
        Mode::Gcm => (3, 1),
        Mode::Xts => (3, 5),
        Mode::Cfb128 => (4, 0),
        _ => (u32::MAX, 0),
    };
    // Its main branch had VAES for these two after 4.0, in no release that is known here.
    let maybe = mode == Mode::Ctr || (mode == Mode::Cbc && direction == Direction::Decrypt);
    // Between 3.5, which has none, and 4.0.
    let maybe_cfb = mode == Mode::Cfb128 && version > (3, 5) && version < (4, 0);
    match () {
        () if wide && version >= since => Code::Vaes512,
        () if wide && (maybe_cfb || maybe && version > (4, 0)) => Code::Instructions,
        () => Code::Aesni,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_openssl_has_by_version_and_features() {
        use Direction::{Decrypt, Encrypt};
        let wide = ["aes", "clmul", "avx2", "avx512", "vaes", "vclmul"];
        let no_avx512 = ["aes", "clmul", "avx2", "vaes", "vclmul"];
        for (mode, direction, version, sees, code) in [
            (Mode::Gcm, Encrypt, (3, 0), &wide[..], Code::Aesni),
            (Mode::Gcm, Encrypt, (3, 1), &wide, Code::Vaes512),
            (Mode::Gcm, Encrypt, (3, 5), &no_avx512, Code::Aesni),
            (Mode::Xts, Encrypt, (3, 4), &wide, Code::Aesni),
            (Mode::Xts, Decrypt, (3, 5), &wide, Code::Vaes512),
            (Mode::Cfb128, Decrypt, (3, 5), &wide, Code::Aesni),
            (Mode::Cfb128, Decrypt, (3, 6), &wide, Code::Instructions),
            (Mode::Cfb128, Decrypt, (4, 0), &wide, Code::Vaes512),
            (Mode::Ctr, Encrypt, (4, 0), &wide, Code::Aesni),
            (Mode::Ctr, Encrypt, (4, 1), &wide, Code::Instructions),
            (Mode::Cbc, Decrypt, (4, 1), &wide, Code::Instructions),
            (Mode::Cbc, Encrypt, (4, 1), &wide, Code::Aesni),
            (
                Mode::Gcm,
                Encrypt,
                (3, 5),
                &["ssse3", "avx2"],
                Code::Software,
            ),
            (
                Mode::Gcm,
                Encrypt,
                (3, 5),
                &["aes", "clmul", "neon"],
                Code::Armv8,
            ),
        ] {
            let found = stock(mode, direction, version, sees);
            assert_eq!(found, code, "{mode:?} {direction:?} {version:?} {sees:?}");
        }
    }

    #[test]
    fn backends() {
        for (name, code) in [
            ("vaes512-noclmul", Code::Vaes512),
            ("vaes256", Code::Vaes256),
            ("aesni", Code::Aesni),
            ("armce-noclmul", Code::Armv8),
            ("vperm", Code::Software),
            ("bitslice", Code::Software),
        ] {
            assert_eq!(Code::of_backend(name), code, "{name}");
        }
    }

    #[test]
    fn drivers_of_the_kernel() {
        for (name, code) in [
            ("xts-aes-vaes-avx512", Some(Code::Vaes512)),
            ("generic-gcm-vaes-avx10_512", Some(Code::Vaes512)),
            ("xts-aes-vaes-avx10_256", Some(Code::Vaes256)),
            ("ctr-aes-vaes-avx2", Some(Code::Vaes256)),
            ("xts-aes-aesni-avx", Some(Code::Aesni)),
            ("cbc-aes-aesni", Some(Code::Aesni)),
            ("xts(ecb(aes-generic))", Some(Code::Software)),
            ("xts-aes-tenrounds-vaes512", Some(Code::Vaes512)),
            ("xts-aes-ce", Some(Code::Armv8)),
            ("xts-aes-ccp", None),
        ] {
            let driver = Driver {
                algorithm: "xts(aes)".into(),
                driver: name.into(),
                module: "kernel".into(),
                priority: 400,
                selftest: "passed".into(),
                refcnt: 1,
                selected: true,
            };
            assert_eq!(Code::of_driver(&driver), code, "{name}");
        }
    }
}
