// SPDX-License-Identifier: BSD-2-Clause
//! The kernel's own AES: which driver it takes for each algorithm (/proc/crypto).

use super::finding::{Finding, Group};
use crate::root::Root;
use serde::Serialize;

const FILE: &str = "/proc/crypto";

#[derive(Debug, Clone, Serialize)]
pub struct Driver {
    /// "xts(aes)".
    pub algorithm: String,
    /// "xts-aes-vaes-avx512".
    pub driver: String,
    pub priority: i64,
    /// Its self-test: "passed", "unknown".
    pub selftest: String,
    /// The kernel takes it when the algorithm is asked for.
    pub selected: bool,
}

/// All drivers with AES that others may use, the algorithms in order and the strongest of each first; None
/// if the kernel does not tell.
pub fn drivers(root: &Root) -> Option<Vec<Driver>> {
    let text = root.text(FILE).ok()?;
    let mut drivers: Vec<Driver> = text.split("\n\n").filter_map(driver).collect();
    drivers.sort_by(|a, b| (&a.algorithm, -a.priority).cmp(&(&b.algorithm, -b.priority)));
    for at in 0..drivers.len() {
        let first = at == 0
            || drivers[..at]
                .iter()
                .all(|d| d.algorithm != drivers[at].algorithm || d.selftest != "passed");
        drivers[at].selected = first && drivers[at].selftest == "passed";
    }
    Some(drivers)
}

fn driver(entry: &str) -> Option<Driver> {
    let field = |name: &str| {
        let mut lines = entry.lines().filter_map(|line| line.split_once(':'));
        lines
            .find(|(key, _)| key.trim() == name)
            .map(|(_, value)| value.trim().to_owned())
    };
    let algorithm = field("name")?;
    let internal = field("internal").is_some_and(|value| value == "yes");
    if internal || algorithm.starts_with("__") || !algorithm.contains("aes") {
        return None;
    }
    Some(Driver {
        algorithm,
        driver: field("driver")?,
        priority: field("priority")?.parse().ok()?,
        selftest: field("selftest").unwrap_or_else(|| "unknown".to_owned()),
        selected: false,
    })
}

/// Whether a driver is software without AES instructions.
pub fn is_software(driver: &str) -> bool {
    ["generic", "fixed-time", "aes-lib", "-asm"]
        .iter()
        .any(|word| driver.contains(word))
}

pub fn check(root: &Root, drivers: Option<&[Driver]>) -> Vec<Finding> {
    let Some(drivers) = drivers else {
        let says = "this kernel does not tell about its ciphers: no /proc/crypto";
        return vec![
            Finding::note(Group::Kernel, "kernel-no-crypto", says).seen(FILE, "cannot be read")
        ];
    };
    let mut found = Vec::new();
    found.extend(failed(drivers));
    found.extend(software(root, drivers));
    found.extend(narrow(root, drivers));
    found.extend(absent(root));
    found
}

fn shown(driver: &Driver) -> String {
    format!(
        "{}: {}, priority {}, self-test {}",
        driver.algorithm, driver.driver, driver.priority, driver.selftest
    )
}

fn failed(drivers: &[Driver]) -> Vec<Finding> {
    drivers
        .iter()
        .filter(|driver| driver.selftest != "passed")
        .map(|driver| {
            let says = format!("the kernel's driver {} has not passed its self-test and is not used", driver.driver);
            Finding::warning(Group::Kernel, "kernel-selftest", says)
                .seen(FILE, shown(driver))
                .cure("shell", "dmesg | grep 'alg:'   (says which test; a fault of the processor, the hypervisor or the driver)")
        })
        .collect()
}

fn cpu_has(root: &Root, flag: &str) -> bool {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let flags = lines.find(|(name, _)| name.trim() == "flags" || name.trim() == "Features");
    flags.is_some_and(|(_, flags)| flags.split_whitespace().any(|f| f == flag))
}

/// The processor has the instructions and the kernel does not use them.
fn software(root: &Root, drivers: &[Driver]) -> Option<Finding> {
    let slow: Vec<&Driver> = drivers
        .iter()
        .filter(|d| d.selected && is_software(&d.driver))
        .collect();
    if slow.is_empty() || !cpu_has(root, "aes") {
        return None;
    }
    let says = "the kernel does AES in software although the processor has the instructions (disks, IPsec, kernel TLS)";
    let mut finding = Finding::note(Group::Kernel, "kernel-software", says);
    for driver in slow.iter().take(4) {
        finding = finding.seen(FILE, shown(driver));
    }
    let module = if cpu_has(root, "pmull") {
        "aes_ce_blk"
    } else {
        "aesni_intel"
    };
    Some(finding.cure(
        "shell",
        format!("modprobe {module}   (if there is no such module: a kernel with CONFIG_CRYPTO_AES_NI_INTEL)"),
    ))
}

/// VAES is there, and the kernel's XTS, which disks use, is narrow.
fn narrow(root: &Root, drivers: &[Driver]) -> Option<Finding> {
    let xts = drivers
        .iter()
        .find(|d| d.selected && d.algorithm == "xts(aes)")?;
    let narrow = xts.driver.contains("aesni") || xts.driver.ends_with("-avx");
    if !narrow || !cpu_has(root, "vaes") {
        return None;
    }
    let says = "the kernel encrypts disks with AES-NI although the processor has VAES";
    Some(
        Finding::note(Group::Kernel, "kernel-no-vaes", says)
            .seen(FILE, shown(xts))
            .cure(
                "system",
                "Linux 6.10 or later has XTS with VAES, 6.11 GCM, 6.15 CTR",
            ),
    )
}

/// What this kernel does not have at all.
fn absent(root: &Root) -> Option<Finding> {
    let protocols = root.text("/proc/net/protocols").unwrap_or_default();
    let has_af_alg = protocols.lines().any(|line| line.starts_with("ALG "));
    let has_modules = root.exists("/proc/modules");
    let parts: Vec<&str> = [
        (
            has_af_alg,
            "AF_ALG (the kernel's ciphers for programs) is not loaded or not built",
        ),
        (has_modules, "loadable modules are not supported"),
    ]
    .into_iter()
    .filter_map(|(has, text)| (!has).then_some(text))
    .collect();
    if parts.is_empty() {
        return None;
    }
    let says = format!("of this kernel: {}", parts.join("; "));
    Some(
        Finding::note(Group::Kernel, "kernel-absent", says)
            .seen(
                "/proc/net/protocols",
                if has_af_alg { "ALG" } else { "no ALG" },
            )
            .seen(
                "/proc/modules",
                if has_modules { "exists" } else { "absent" },
            ),
    )
}
