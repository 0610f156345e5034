// SPDX-License-Identifier: BSD-2-Clause
//! Faults of the processor that reach keys or slow vector code down, and its clock.

use super::means::Means;
use crate::finding::{Finding, Group};
use crate::root::Root;

const GROUP: Group = Group::Kernel;
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
    let faults = FAULTS.iter();
    let faults = faults.filter_map(|(file, does)| fault(root, means, file, does));
    faults.chain(governor(root)).collect()
}

/// A virtual machine gets the microcode of its host.
fn fault(root: &Root, means: &Means, file: &str, does: &str) -> Option<Finding> {
    let path = format!("{DIR}/{file}");
    let value = root.line(&path)?;
    if value.starts_with("Vulnerable") {
        let says = format!("{file}: {does}");
        let at = match means.cpu_has("hypervisor") {
            true => "on the host",
            false => "system",
        };
        let microcode = means.cpu("microcode").unwrap_or("not shown");
        let finding = Finding::warning(GROUP, "cpu-fault", says).seen(path, value);
        let finding = finding.seen("/proc/cpuinfo", format!("microcode {microcode}"));
        let update = "install the processor's current microcode (in Debian intel-microcode or amd64-microcode), and reboot";
        return Some(finding.cure(at, update));
    }
    let is_unknown = file == "gather_data_sampling" && value.starts_with("Unknown");
    let says = "Downfall: only the host knows whether vector registers leak to other programs";
    let finding = Finding::note(GROUP, "cpu-fault-unknown", says).seen(&path, value);
    is_unknown.then(|| finding.cure("on the host", format!("cat {path}")))
}

/// intel_pstate and amd-pstate raise the clock under their "powersave", too.
fn governor(root: &Root) -> Option<Finding> {
    let read = |file| root.line(format!("/sys/devices/system/cpu/cpu0/cpufreq/{file}"));
    let (governor, driver) = (read("scaling_governor")?, read("scaling_driver")?);
    if governor != "powersave" || driver.contains("pstate") {
        return None;
    }
    let says = "the processor is kept at its lowest clock";
    let all = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let finding = Finding::warning(GROUP, "cpu-governor", says);
    let finding = finding.seen(all, format!("{governor} ({driver})"));
    let there = read("scaling_available_governors").unwrap_or_default();
    let mut better = ["schedutil", "ondemand", "performance"].into_iter();
    Some(
        match better.find(|name| there.split(' ').any(|t| t == *name)) {
            Some(better) => finding.cure("shell", format!("echo {better} | sudo tee {all}")),
            None => finding.cure("kernel", "load another governor than powersave"),
        },
    )
}
