// SPDX-License-Identifier: BSD-2-Clause
//! What the machine is: processor, microcode, hypervisor, operating system.

#[cfg(target_arch = "aarch64")]
#[path = "arm.rs"]
mod arch;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[path = "x86.rs"]
mod arch;

use crate::{masks, schema};
use libcrypto::LibCrypto;
use std::fs::read_to_string;

/// Reads all of it. libcrypto is None where there is none.
pub fn read(libcrypto: Option<&LibCrypto>) -> schema::Host {
    schema::Host {
        cpu: arch::processor(),
        microcode: cpuinfo_field("microcode"),
        governor: first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        hypervisor: arch::hypervisor(machine()),
        os: os(),
        kernel: kernel(),
        openssl: libcrypto.map(openssl),
        masks: masks::in_force(),
    }
}

/// The logical processors that this process may use.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn openssl(libcrypto: &LibCrypto) -> schema::OpenSsl {
    schema::OpenSsl {
        version: libcrypto.version(),
        library: libcrypto.path.display().to_string(),
        modules: libcrypto.modules_dir().map(|dir| dir.display().to_string()),
        sees: libcrypto
            .cpu_settings()
            .map_or(Vec::new(), |s| masks::seen(&s)),
        cpu_settings: libcrypto.cpu_settings(),
    }
}

/// The machine's vendor and product by DMI; None where they cannot be read.
fn machine() -> Option<String> {
    let dmi = |file| first_line(&format!("/sys/class/dmi/id/{file}"));
    match (dmi("sys_vendor"), dmi("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (one, other) => one.or(other),
    }
}

fn os() -> Option<String> {
    let release =
        read_to_string("/etc/os-release").or_else(|_| read_to_string("/usr/lib/os-release"));
    let name = release
        .ok()?
        .lines()
        .find_map(|l| l.strip_prefix("PRETTY_NAME=").map(str::to_owned))?;
    Some(name.trim_matches(&['"', '\''][..]).to_owned())
}

fn kernel() -> String {
    let part = |file| first_line(&format!("/proc/sys/kernel/{file}")).unwrap_or_default();
    format!("{} {}", part("ostype"), part("osrelease"))
}

fn first_line(path: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

fn cpuinfo_field(field: &str) -> Option<String> {
    let cpuinfo = read_to_string("/proc/cpuinfo").ok()?;
    let line = cpuinfo.lines().find(|line| line.starts_with(field))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
