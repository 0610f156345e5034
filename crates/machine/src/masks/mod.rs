// SPDX-License-Identifier: BSD-2-Clause
//! Masks: TENROUNDS_MASK by the names of features, and libcrypto's own variable by bits:
//! OPENSSL_ia32cap on x86 (`ia32cap`), OPENSSL_armcap on 64-bit Arm (`armcap`).

// Both compile everywhere, so that every machine tests both.
pub mod armcap;
pub mod ia32cap;

#[cfg(target_arch = "aarch64")]
pub use armcap::{removed_by, Armcap as CpuMask, VARIABLE as LIBCRYPTO_MASK};
#[cfg(not(target_arch = "aarch64"))]
pub use ia32cap::{removed_by, Ia32cap as CpuMask, VARIABLE as LIBCRYPTO_MASK};

use crate::schema;
use std::collections::BTreeMap;
use tenrounds_sys::{feature_names, names_of, parse_mask, Features, Mask};
use terminal::error::{suggestion, Error, Kind, Result};

pub const TENROUNDS_MASK: &str = "TENROUNDS_MASK";

/// The features in what libcrypto says of the processor: "OPENSSL_ia32cap=0x...:0x... env:...",
/// "OPENSSL_armcap=0x...".
pub fn seen(cpu_settings: &str) -> Vec<&'static str> {
    let said = cpu_settings.split(' ').next().unwrap_or_default();
    let value = said.strip_prefix(LIBCRYPTO_MASK);
    let value = value.and_then(|value| value.strip_prefix('='));
    let known = removed_by("0"); // to the variable: not those of another architecture
    names_of(known & !removed_by(value.unwrap_or("0")))
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

/// The features that this process's environment removes: those of both variables.
pub fn masked() -> Result<Features> {
    let ours = match environment::text(TENROUNDS_MASK) {
        Some(mask) => parse(&mask, TENROUNDS_MASK)?.masked,
        None => 0,
    };
    Ok(ours | environment::text(LIBCRYPTO_MASK).map_or(0, |value| removed_by(&value)))
}

/// libcrypto's mask in this process's environment.
pub fn libcrypto_mask() -> Option<CpuMask> {
    environment::text(LIBCRYPTO_MASK).map(|value| CpuMask::parse(&value))
}

/// Both variables, as reported.
pub fn in_force() -> BTreeMap<String, schema::Mask> {
    let mut masks = BTreeMap::new();
    if let Some(value) = environment::text(TENROUNDS_MASK) {
        let mask = parse_mask(&value).unwrap_or_default();
        if mask != Mask::default() {
            let hex = CpuMask::none().also_without(mask.masked);
            masks.insert(TENROUNDS_MASK.into(), report(value, mask.masked, &hex));
        }
    }
    if let Some(value) = environment::text(LIBCRYPTO_MASK) {
        let mask = CpuMask::parse(&value);
        masks.insert(
            LIBCRYPTO_MASK.into(),
            report(value.clone(), removed_by(&value), &mask),
        );
    }
    masks
}

fn report(value: String, removes: Features, hex: &CpuMask) -> schema::Mask {
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
    fn what_libcrypto_sees() {
        let x86 = "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab env:~0";
        let narrow = "OPENSSL_ia32cap=0x7ed8320b078bffff:0x20";
        let arm = "OPENSSL_armcap=0x87d env:0x87d";
        if cfg!(target_arch = "aarch64") {
            assert_eq!(seen(arm), ["aes", "clmul", "neon", "sha3"]);
            assert_eq!(seen("OPENSSL_armcap=0x1"), ["neon"]);
            assert_eq!(seen(x86), Vec::<&str>::new());
        } else {
            assert_eq!(seen(x86).len(), 9);
            assert_eq!(seen(narrow), ["aes", "clmul", "ssse3", "avx", "avx2"]);
            assert_eq!(seen(arm), Vec::<&str>::new());
        }
        assert_eq!(seen("nothing known"), Vec::<&str>::new());
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

    #[test]
    fn masks_as_words() {
        let words = |text| words_of(parse(text, "--mask").unwrap());
        assert_eq!(words("noaes,novaes avx512"), "noaes,novaes,avx512");
        assert_eq!(words(""), "");
        let kind = |origin| parse("x", origin).unwrap_err();
        assert!(kind("--mask").is_usage() && !kind(TENROUNDS_MASK).is_usage());
        assert_eq!(kind(TENROUNDS_MASK).exit_code(), 2);
        let report = report("value".into(), 0b11, &CpuMask::none());
        assert_eq!(report.value, "value");
        assert_eq!(report.removes, ["aes", "clmul"]);
    }
}
