// SPDX-License-Identifier: BSD-2-Clause
//! The kernel's own AES: which driver it takes for each algorithm.

use base::finding::{Finding, Group};
use base::kernel::drivers::{is_software, selected, Driver, FILE};
use base::kernel::module::Module;
use base::kernel::Kernel;
use base::processor::Cpuinfo;
use base::root::Root;

const GROUP: Group = Group::Kernel;

pub fn check(root: &Root, kernel: &Kernel) -> Vec<Finding> {
    let Some(drivers) = kernel.drivers.as_deref() else {
        let says = "this kernel does not tell about its ciphers: no /proc/crypto";
        let finding = Finding::note(GROUP, "kernel-no-crypto", says);
        return vec![finding.seen(FILE, "cannot be read")];
    };
    let mut found = failed(drivers);
    if let Some(cpuinfo) = Cpuinfo::read(root) {
        found.extend(software(root, &kernel.module, &cpuinfo, drivers));
        found.extend(narrow(&kernel.module, &cpuinfo, drivers));
    }
    found
}

fn failed(drivers: &[Driver]) -> Vec<Finding> {
    let failed = drivers.iter().filter(|driver| !driver.passed());
    failed
        .map(|driver| {
            let says = format!(
                "the kernel's driver {} has not passed its self-test and is not used",
                driver.driver
            );
            let instead = match selected(drivers, &driver.algorithm) {
                Some(other) => format!("{}, priority {}", other.driver, other.priority),
                None => "none".to_owned(),
            };
            Finding::warning(GROUP, "kernel-selftest", says)
                .seen(FILE, driver.shown())
                .seen(format!("{FILE}, selected for {}", driver.algorithm), instead)
                .cure("shell", "dmesg | grep 'alg:'   (says which test; a fault of the processor, the hypervisor or the driver)")
        })
        .collect()
}

/// The processor has the instructions and the kernel does not use them.
fn software(root: &Root, ours: &Module, cpuinfo: &Cpuinfo, drivers: &[Driver]) -> Option<Finding> {
    let is_slow = |d: &&Driver| d.selected && is_software(&d.driver);
    let slow: Vec<&Driver> = drivers.iter().filter(is_slow).collect();
    if slow.is_empty() || !cpuinfo.has("aes") {
        return None;
    }
    let says = "the kernel does AES in software (for disks, IPsec and kernel TLS), although the processor has AES instructions";
    let mut finding = Finding::note(GROUP, "kernel-software", says);
    for driver in slow.iter().take(4) {
        finding = finding.seen(FILE, driver.shown());
    }
    let (module, option) = match cpuinfo.has("pmull") {
        true => ("aes_ce_blk", "CONFIG_CRYPTO_AES_ARM64_CE_BLK"),
        false => ("aesni_intel", "CONFIG_CRYPTO_AES_NI_INTEL"),
    };
    Some(
        match ours.loadable && is_listed(root, &ours.release, module) {
            true => finding.cure(
                "shell",
                format!("modprobe {module}   (then close and open encrypted disks again)"),
            ),
            false => finding.cure("system", format!("boot a kernel with {option}")),
        },
    )
}

/// Whether the package of the running kernel has a module, so that modprobe finds it.
fn is_listed(root: &Root, release: &str, module: &str) -> bool {
    let list = root.text(format!("/lib/modules/{release}/modules.dep"));
    let name = format!("/{module}.ko").replace('_', "-");
    list.is_ok_and(|list| list.replace('_', "-").contains(&name))
}

/// VAES is there, and the kernel's XTS, which disks use, is narrow.
fn narrow(ours: &Module, cpuinfo: &Cpuinfo, drivers: &[Driver]) -> Option<Finding> {
    let xts = selected(drivers, "xts(aes)")?;
    let narrow = xts.driver.contains("aesni") || xts.driver.ends_with("-avx");
    if !narrow || xts.backend().is_some() || !cpuinfo.has("vaes") {
        return None;
    }
    let says = "the kernel encrypts disks with AES-NI although the processor has VAES";
    let finding = Finding::note(GROUP, "kernel-no-vaes", says)
        .seen(FILE, xts.shown())
        .cure(
            "system",
            "boot Linux 6.10 or later, which has XTS with VAES; 6.11 has GCM, 6.15 CTR",
        );
    Some(match ours.loadable {
        true => finding.cure(
            "system",
            "or install the package tenrounds-dkms, then: modprobe tenrounds   (man tenrounds-kernel)",
        ),
        false => finding,
    })
}
