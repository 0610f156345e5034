// SPDX-License-Identifier: BSD-2-Clause
//! The processor and the hypervisor of a 64-bit Arm machine.
//!
//! The processor's name is in MIDR_EL1, the Main ID Register. Linux lets programs read it since
//! 4.11, which HWCAP_CPUID says (Documentation/arch/arm64/cpu-feature-registers.rst). Where cores
//! differ, it is that of the core that executes the read.

use crate::schema::Cpu;
use std::fs::read_to_string;

/// HWCAP_CPUID of Linux's asm/hwcap.h.
const HWCAP_CPUID: u64 = 1 << 11;

/// Implementer codes (Arm ARM, MIDR_EL1).
const IMPLEMENTERS: [(u8, &str); 10] = [
    (0x41, "Arm"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0xc0, "Ampere"),
];

/// Part numbers of Linux's asm/cputype.h, by implementer: servers, and small computers for Linux.
/// Others are shown by their number.
const PARTS: [(u8, u16, &str); 19] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x43, 0x0af, "ThunderX2"),
    (0x46, 0x001, "A64FX"),
    (0x48, 0xd01, "Kunpeng-920"),
    (0x61, 0x022, "M1 (Icestorm)"),
    (0x61, 0x023, "M1 (Firestorm)"),
    (0xc0, 0xac3, "Ampere-1"),
];

/// The fields of MIDR_EL1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Midr {
    implementer: u8,
    variant: u8,
    part: u16,
    revision: u8,
}

impl Midr {
    fn of_register(midr: u64) -> Midr {
        let bits = |from: u32, count: u32| (midr >> from) & ((1 << count) - 1);
        Midr {
            implementer: bits(24, 8) as u8,
            variant: bits(20, 4) as u8,
            part: bits(4, 12) as u16,
            revision: bits(0, 4) as u8,
        }
    }

    fn here() -> Option<Midr> {
        // SAFETY: getauxval() takes any number.
        let hwcap = unsafe { libc::getauxval(libc::AT_HWCAP) };
        if hwcap & HWCAP_CPUID == 0 {
            return None;
        }
        let midr: u64;
        // SAFETY: with HWCAP_CPUID the kernel lets programs read this register.
        unsafe {
            std::arch::asm!("mrs {}, MIDR_EL1", out(reg) midr, options(nomem, nostack, preserves_flags));
        }
        Some(Midr::of_register(midr))
    }

    fn vendor(self) -> String {
        let known = IMPLEMENTERS
            .iter()
            .find(|(code, _)| *code == self.implementer);
        match known {
            Some((_, name)) => (*name).to_owned(),
            None => format!("implementer {:#04x}", self.implementer),
        }
    }

    /// "Arm Neoverse-N1", "Arm part 0xd99".
    fn brand(self) -> String {
        let key = (self.implementer, self.part);
        let known = PARTS
            .iter()
            .find(|(vendor, part, _)| (*vendor, *part) == key);
        match known {
            Some((_, _, name)) => format!("{} {name}", self.vendor()),
            None => format!("{} part {:#05x}", self.vendor(), self.part),
        }
    }
}

/// The family is the version of the architecture, the model the part number; the stepping has the
/// variant in its upper 4 bits and the revision in the lower ones.
pub fn processor() -> Cpu {
    let Some(midr) = Midr::here() else {
        return Cpu {
            vendor: "unknown".into(),
            brand: "unknown".into(),
            family: 8,
            model: 0,
            stepping: 0,
            threads: super::threads(),
        };
    };
    Cpu {
        vendor: midr.vendor(),
        brand: midr.brand(),
        family: 8,
        model: midr.part,
        stepping: midr.variant << 4 | midr.revision,
        threads: super::threads(),
    }
}

/// A program cannot ask an Arm processor for its hypervisor. Linux names one that the device tree
/// or the firmware's tables announce; None if they name none, which does not prove that there is
/// none.
pub fn hypervisor(machine: Option<String>) -> Option<String> {
    let announced = read_to_string("/sys/hypervisor/type").ok();
    let announced =
        announced.or_else(|| read_to_string("/proc/device-tree/hypervisor/compatible").ok());
    named(announced.as_deref(), machine)
}

/// Machine names that only virtual machines have (sys_vendor and product_name of DMI).
const VIRTUAL: [&str; 6] = [
    "QEMU",
    "KVM",
    "Virtual Machine",
    "VMware",
    "Google Compute Engine",
    "OpenStack",
];

fn named(announced: Option<&str>, machine: Option<String>) -> Option<String> {
    let name = announced.map(|name| name.trim_matches(&['\0', '\n', ' '][..]).to_owned());
    match (name, machine) {
        (Some(name), Some(machine)) => Some(format!("{name} ({machine})")),
        (Some(name), None) => Some(name),
        (None, Some(machine)) if VIRTUAL.iter().any(|part| machine.contains(part)) => Some(machine),
        // Amazon's machines without a hypervisor are named *.metal.
        (None, Some(machine))
            if machine.starts_with("Amazon EC2") && !machine.ends_with(".metal") =>
        {
            Some(machine)
        }
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N1: Midr = Midr {
        implementer: 0x41,
        variant: 3,
        part: 0xd0c,
        revision: 1,
    };

    #[test]
    fn fields() {
        assert_eq!(Midr::of_register(0x413f_d0c1), N1);
    }

    #[test]
    fn names() {
        assert_eq!(N1.brand(), "Arm Neoverse-N1");
        let unknown = Midr { part: 0xfff, ..N1 };
        assert_eq!(unknown.brand(), "Arm part 0xfff");
        let nobody = Midr {
            implementer: 0x7e,
            ..N1
        };
        assert_eq!(nobody.brand(), "implementer 0x7e part 0xd0c");
    }

    #[test]
    fn this_processor_has_an_implementer() {
        let midr = Midr::here().expect("HWCAP_CPUID");
        assert_ne!(midr.part, 0, "{midr:?}");
    }

    #[test]
    fn virtual_machines_by_their_names() {
        let machine = |name: &str| named(None, Some(name.to_owned()));
        assert_eq!(
            machine("QEMU KVM Virtual Machine").as_deref(),
            Some("QEMU KVM Virtual Machine")
        );
        assert_eq!(
            machine("Amazon EC2 c7g.large").as_deref(),
            Some("Amazon EC2 c7g.large")
        );
        assert_eq!(machine("Amazon EC2 c7g.metal"), None);
        assert_eq!(machine("GIGABYTE R272-P30-JG"), None);
        assert_eq!(named(Some("xen\n"), None).as_deref(), Some("xen"));
        assert_eq!(named(None, None), None);
    }
}
