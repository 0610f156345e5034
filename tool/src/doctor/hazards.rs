// SPDX-License-Identifier: BSD-2-Clause
//! Faults of the processor that reach keys or slow vector code down, and its clock.

use super::means::Means;
use crate::finding::{Finding, Group};
use crate::root::Root;

const DIR: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Those that can show the vector registers or random numbers of one program to another.
#[rustfmt::skip]
const FAULTS: [(&str, &str); 9] = [
    ("gather_data_sampling", "Downfall: vector registers, and so keys, leak to other programs"),
    ("reg_file_data_sampling", "vector registers leak to other programs"),
    ("mds", "data in the processor's buffers leak to other programs"),
    ("tsx_async_abort", "data in the processor's buffers leak to other programs"),
    ("mmio_stale_data", "data in the processor's buffers leak to other programs"),
    ("srbds", "what RDRAND gave one program leaks to others"),
    ("l1tf", "data in the first-level cache leak to other programs"),
    ("tsa", "data that was just stored leak to other programs"),
    ("old_microcode", "the processor's microcode is older than known corrections"),
];

pub fn check(root: &Root, means: &Means) -> Vec<Finding> {
    let mut found: Vec<Finding> = FAULTS
        .iter()
        .filter_map(|(file, does)| fault(root, means, file, does))
        .collect();
    found.extend(governor(root));
    found
}

fn fault(root: &Root, means: &Means, file: &str, does: &str) -> Option<Finding> {
    let path = format!("{DIR}/{file}");
    let value = root.line(&path)?;
    let group = Group::Kernel;
    let microcode = || {
        let text = root.text("/proc/cpuinfo").unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with("microcode"));
        let value = line
            .and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_owned());
        value.unwrap_or_else(|| "not shown".to_owned())
    };
    if value.starts_with("Vulnerable") {
        let finding = Finding::warning(group, "cpu-fault", format!("{file}: {does}"));
        let (at, update) = microcode_update(root, means);
        return Some(
            finding
                .seen(path, value)
                .seen("/proc/cpuinfo", format!("microcode {}", microcode()))
                .cure(at, update),
        );
    }
    let downfall = file == "gather_data_sampling";
    if downfall && value.starts_with("Unknown") {
        let says = "Downfall: only the host knows whether vector registers leak to other programs";
        let finding = Finding::note(group, "cpu-fault-unknown", says).seen(&path, value);
        return Some(finding.cure("on the host", format!("cat {path}")));
    }
    if downfall && value.starts_with("Mitigation") {
        let says = "Downfall is mitigated: gather instructions are slow, which AES does not use";
        return Some(Finding::note(group, "cpu-fault-mitigated", says).seen(path, value));
    }
    None
}

/// A virtual machine gets the microcode of its host.
fn microcode_update(root: &Root, means: &Means) -> (&'static str, String) {
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let (debian, fedora) = match cpuinfo.contains("GenuineIntel") {
        true => ("intel-microcode", "microcode_ctl"),
        false => ("amd64-microcode", "linux-firmware"),
    };
    match means.install(debian, fedora) {
        _ if means.hypervisor => (
            "on the host",
            "install the processor's current microcode, and reboot".to_owned(),
        ),
        Some(command) => ("shell", format!("{command}   (then reboot)")),
        None => (
            "system",
            "install the package with the processor's microcode, and reboot".to_owned(),
        ),
    }
}

/// intel_pstate and amd-pstate raise the clock under their "powersave", too.
fn governor(root: &Root) -> Option<Finding> {
    let dir = "/sys/devices/system/cpu/cpu0/cpufreq";
    let governor = root.line(format!("{dir}/scaling_governor"))?;
    let driver = root
        .line(format!("{dir}/scaling_driver"))
        .unwrap_or_default();
    if governor != "powersave" || driver.contains("pstate") {
        return None;
    }
    let says = "the processor is kept at its lowest clock";
    let finding = Finding::warning(Group::Kernel, "cpu-governor", says).seen(
        format!("{dir}/scaling_governor"),
        format!("{governor} ({driver})"),
    );
    let all = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let there = root.line(format!("{dir}/scaling_available_governors"));
    let there = there.unwrap_or_default();
    let better = ["schedutil", "ondemand", "performance"];
    let better = better
        .into_iter()
        .find(|g| there.split(' ').any(|t| t == *g));
    Some(match better {
        Some(better) => finding.cure("shell", format!("echo {better} | sudo tee {all}")),
        None => finding.cure("kernel", "load another governor than powersave"),
    })
}
