// SPDX-License-Identifier: BSD-2-Clause
//! What the machine is: processor, microcode, hypervisor, operating system.

use crate::{masks, schema};
use libcrypto::LibCrypto;
use raw_cpuid::CpuId;
use std::fs::read_to_string;

/// Reads all of it. libcrypto is None where there is none.
pub fn read(libcrypto: Option<&LibCrypto>) -> schema::Host {
    schema::Host {
        cpu: cpu(),
        microcode: cpuinfo_field("microcode"),
        governor: first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        hypervisor: hypervisor(),
        os: os(),
        kernel: kernel(),
        openssl: libcrypto.map(openssl),
        masks: masks::in_force(),
    }
}

fn cpu() -> schema::Cpu {
    let cpuid = CpuId::new();
    let feature = cpuid.get_feature_info();
    schema::Cpu {
        vendor: cpuid
            .get_vendor_info()
            .map_or("unknown".into(), |v| v.as_str().to_owned()),
        brand: cpuid
            .get_processor_brand_string()
            .map_or("unknown".into(), |b| b.as_str().trim().to_owned()),
        family: feature.as_ref().map_or(0, |f| u16::from(f.family_id())),
        model: feature.as_ref().map_or(0, |f| u16::from(f.model_id())),
        stepping: feature.as_ref().map_or(0, |f| f.stepping_id()),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    }
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

/// The hypervisor by CPUID leaf 0x40000000, with the machine's name by DMI where it can be read.
fn hypervisor() -> Option<String> {
    let cpuid = CpuId::new();
    if !cpuid.get_feature_info()?.has_hypervisor() {
        return None;
    }
    let name = cpuid
        .get_hypervisor_info()
        .map_or("unknown".to_owned(), |info| {
            use raw_cpuid::Hypervisor::*;
            match info.identify() {
                Xen => "Xen".into(),
                VMware => "VMware".into(),
                HyperV => "Hyper-V".into(),
                KVM => "KVM".into(),
                QEMU => "QEMU (TCG)".into(),
                Bhyve => "bhyve".into(),
                QNX => "QNX".into(),
                ACRN => "ACRN".into(),
                Unknown(ebx, ecx, edx) => {
                    let bytes = [ebx, ecx, edx].map(u32::to_le_bytes).concat();
                    String::from_utf8_lossy(&bytes)
                        .trim_end_matches('\0')
                        .to_owned()
                }
            }
        });
    let dmi = |file| first_line(&format!("/sys/class/dmi/id/{file}"));
    Some(match (dmi("sys_vendor"), dmi("product_name")) {
        (Some(vendor), Some(product)) => format!("{name} ({vendor} {product})"),
        (None, Some(machine)) | (Some(machine), None) => format!("{name} ({machine})"),
        (None, None) => name,
    })
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
