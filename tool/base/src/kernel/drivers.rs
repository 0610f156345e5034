// SPDX-License-Identifier: BSD-2-Clause
//! The drivers of the kernel's ciphers (/proc/crypto), and which of them it takes.

use crate::root::Root;
use serde::Serialize;
use terminal::style::clean;

pub const FILE: &str = "/proc/crypto";
/// What is in the name of each driver of ours; the backend follows.
const OURS: &str = "-tenrounds-";

#[derive(Debug, Clone, Serialize)]
pub struct Driver {
    /// "xts(aes)".
    pub algorithm: String,
    /// "xts-aes-vaes-avx512".
    pub driver: String,
    /// The module it lies in, "kernel" for what is built in.
    pub module: String,
    pub priority: i64,
    /// Its self-test: "passed", "unknown".
    pub selftest: String,
    /// 1 where nobody uses it.
    pub refcnt: u64,
    /// The kernel takes it when the algorithm is asked for.
    pub selected: bool,
}

impl Driver {
    /// The backend of one of our drivers.
    pub fn backend(&self) -> Option<&str> {
        self.driver.split_once(OURS).map(|(_, backend)| backend)
    }

    pub fn passed(&self) -> bool {
        self.selftest == "passed"
    }

    /// As evidence.
    pub fn shown(&self) -> String {
        format!(
            "{}: {}, priority {}, self-test {}",
            self.algorithm, self.driver, self.priority, self.selftest
        )
    }
}

/// All drivers with AES that others may use, the algorithms in order and the strongest of each
/// first; None if the kernel does not tell. Of equal ones the first in the kernel's list counts
/// (crypto/api.c), so that the sort must be a stable one; what has not passed its self-test is not
/// found at all.
pub fn read(root: &Root) -> Option<Vec<Driver>> {
    let text = root.text(FILE).ok()?;
    let mut drivers: Vec<Driver> = text.split("\n\n").filter_map(driver).collect();
    drivers.sort_by(|a, b| (&a.algorithm, -a.priority).cmp(&(&b.algorithm, -b.priority)));
    let mut algorithm = None;
    for driver in drivers.iter_mut().filter(|driver| driver.passed()) {
        driver.selected = algorithm.as_ref() != Some(&driver.algorithm);
        algorithm = Some(driver.algorithm.clone());
    }
    Some(drivers)
}

fn driver(entry: &str) -> Option<Driver> {
    let field = |name: &str| {
        let mut lines = entry.lines().filter_map(|line| line.split_once(':'));
        lines
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| clean(value.trim()))
    };
    let algorithm = field("name")?;
    let internal = field("internal").is_some_and(|value| value == "yes");
    if internal || algorithm.starts_with("__") || !algorithm.contains("aes") {
        return None;
    }
    Some(Driver {
        algorithm,
        driver: field("driver")?,
        module: field("module").unwrap_or_else(|| "kernel".to_owned()),
        priority: field("priority")?.parse().ok()?,
        selftest: field("selftest").unwrap_or_else(|| "unknown".to_owned()),
        refcnt: field("refcnt").and_then(|n| n.parse().ok()).unwrap_or(0),
        selected: false,
    })
}

/// Whether a driver is software without AES instructions. The kernel's own driver of GCM with them
/// is called "generic-gcm-aesni", so these names come first.
pub fn is_software(driver: &str) -> bool {
    let uses_instructions = ["aesni", "vaes"].iter().any(|word| driver.contains(word));
    !uses_instructions
        && [
            "generic",
            "fixed-time",
            "aes-lib",
            "-asm",
            "-tenrounds-vperm",
            "-tenrounds-bitslice",
        ]
        .iter()
        .any(|word| driver.contains(word))
}

/// The driver that the kernel takes for an algorithm.
pub fn selected<'a>(drivers: &'a [Driver], algorithm: &str) -> Option<&'a Driver> {
    drivers
        .iter()
        .find(|driver| driver.selected && driver.algorithm == algorithm)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's own name for GCM with AES-NI has "generic" in it.
    #[test]
    fn software_is_known_by_its_name() {
        for driver in [
            "generic-gcm-aesni",
            "generic-gcm-vaes-avx10_512",
            "xts-aes-vaes-avx2",
            "gcm_base(ctr-aes-aesni,ghash-generic)",
            "cbc-aes-tenrounds-vaes512",
        ] {
            assert!(!is_software(driver), "{driver}");
        }
        for driver in [
            "aes-generic",
            "cbc(aes-generic)",
            "gcm_base(ctr(aes-generic),ghash-generic)",
            "aes-fixed-time",
            "ecb-aes-tenrounds-vperm",
            "xts-aes-tenrounds-bitslice",
        ] {
            assert!(is_software(driver), "{driver}");
        }
    }
}
