// SPDX-License-Identifier: BSD-2-Clause
//! The processor's clock.

use base::finding::{Finding, Group};
use base::root::Root;

/// intel_pstate and amd-pstate raise the clock under their "powersave", too.
pub fn check(root: &Root) -> Option<Finding> {
    let read = |file| root.line(format!("/sys/devices/system/cpu/cpu0/cpufreq/{file}"));
    let (governor, driver) = (read("scaling_governor")?, read("scaling_driver")?);
    if governor != "powersave" || driver.contains("pstate") {
        return None;
    }
    let says = "the processor is kept at its lowest clock";
    let all = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
    let finding = Finding::warning(Group::Kernel, "cpu-governor", says);
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
