// SPDX-License-Identifier: BSD-2-Clause
//! The processor and the hypervisor, by CPUID.

use crate::schema::Cpu;
use raw_cpuid::{CpuId, Hypervisor};

pub fn processor() -> Cpu {
    let cpuid = CpuId::new();
    let feature = cpuid.get_feature_info();
    Cpu {
        vendor: cpuid
            .get_vendor_info()
            .map_or("unknown".into(), |v| v.as_str().to_owned()),
        brand: cpuid
            .get_processor_brand_string()
            .map_or("unknown".into(), |b| b.as_str().trim().to_owned()),
        family: feature.as_ref().map_or(0, |f| u16::from(f.family_id())),
        model: feature.as_ref().map_or(0, |f| u16::from(f.model_id())),
        stepping: feature.as_ref().map_or(0, |f| f.stepping_id()),
        threads: super::threads(),
    }
}

/// The hypervisor by CPUID leaf 0x40000000, with the machine's name by DMI where it can be read.
pub fn hypervisor(machine: Option<String>) -> Option<String> {
    let cpuid = CpuId::new();
    if !cpuid.get_feature_info()?.has_hypervisor() {
        return None;
    }
    let name = cpuid
        .get_hypervisor_info()
        .map_or("unknown".to_owned(), |info| match info.identify() {
            Hypervisor::Unknown(ebx, ecx, edx) => {
                let bytes = [ebx, ecx, edx].map(u32::to_le_bytes).concat();
                String::from_utf8_lossy(&bytes)
                    .trim_end_matches('\0')
                    .to_owned()
            }
            Hypervisor::HyperV => "Hyper-V".into(),
            Hypervisor::QEMU => "QEMU (TCG)".into(),
            known => format!("{known:?}"),
        });
    Some(match machine {
        Some(machine) => format!("{name} ({machine})"),
        None => name,
    })
}
