// SPDX-License-Identifier: BSD-2-Clause
//! The kernel's own AES: which driver it takes for each algorithm.

use super::means::Means;
use crate::finding::{Finding, Group};
use crate::kernel::drivers::{is_software, selected, Driver, FILE};
use crate::root::Root;

pub fn check(root: &Root, means: &Means, drivers: Option<&[Driver]>) -> Vec<Finding> {
    let Some(drivers) = drivers else {
        let says = "this kernel does not tell about its ciphers: no /proc/crypto";
        return vec![
            Finding::note(Group::Kernel, "kernel-no-crypto", says).seen(FILE, "cannot be read")
        ];
    };
    let mut found = Vec::new();
    found.extend(failed(drivers));
    found.extend(software(root, means, drivers));
    found.extend(narrow(root, means, drivers));
    found.extend(absent(root));
    found
}

fn failed(drivers: &[Driver]) -> Vec<Finding> {
    drivers
        .iter()
        .filter(|driver| !driver.passed())
        .map(|driver| {
            let says = format!("the kernel's driver {} has not passed its self-test and is not used", driver.driver);
            let instead = match selected(drivers, &driver.algorithm) {
                Some(other) => format!("{}, priority {}", other.driver, other.priority),
                None => "none".to_owned(),
            };
            Finding::warning(Group::Kernel, "kernel-selftest", says)
                .seen(FILE, driver.shown())
                .seen(format!("{FILE}, selected for {}", driver.algorithm), instead)
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
fn software(root: &Root, means: &Means, drivers: &[Driver]) -> Option<Finding> {
    let slow: Vec<&Driver> = drivers
        .iter()
        .filter(|d| d.selected && is_software(&d.driver))
        .collect();
    if slow.is_empty() || !cpu_has(root, "aes") {
        return None;
    }
    let says = "the kernel does AES in software (for disks, IPsec and kernel TLS), although the processor has AES instructions";
    let mut finding = Finding::note(Group::Kernel, "kernel-software", says);
    for driver in slow.iter().take(4) {
        finding = finding.seen(FILE, driver.shown());
    }
    let module = if cpu_has(root, "pmull") {
        "aes_ce_blk"
    } else {
        "aesni_intel"
    };
    Some(match means.can_load(module) {
        true => finding.cure("shell", format!("modprobe {module}")),
        false => finding.cure(
            "system",
            "boot a kernel that has the driver for them, built in or as a module (CONFIG_CRYPTO_AES_NI_INTEL, on Arm CONFIG_CRYPTO_AES_ARM64_CE_BLK)",
        ),
    })
}

/// VAES is there, and the kernel's XTS, which disks use, is narrow.
fn narrow(root: &Root, means: &Means, drivers: &[Driver]) -> Option<Finding> {
    let xts = selected(drivers, "xts(aes)")?;
    let narrow = xts.driver.contains("aesni") || xts.driver.ends_with("-avx");
    let narrow = narrow && xts.backend().is_none();
    if !narrow || !cpu_has(root, "vaes") {
        return None;
    }
    let says = "the kernel encrypts disks with AES-NI although the processor has VAES";
    let finding = Finding::note(Group::Kernel, "kernel-no-vaes", says)
        .seen(FILE, xts.shown())
        .cure(
            "system",
            "boot Linux 6.10 or later, which has XTS with VAES; 6.11 has GCM, 6.15 CTR",
        );
    Some(match means.loads_modules {
        true => finding.cure(
            "system",
            "or install the package tenrounds-dkms, then: modprobe tenrounds   (man tenrounds-kernel)",
        ),
        false => finding,
    })
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
    let says = format!("this kernel lacks parts: {}", parts.join("; "));
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
