// SPDX-License-Identifier: BSD-2-Clause
//! What hypervisor, kernel and firmware leave of the processor's instructions. The advice is that
//! of `status`; here it gets its evidence.

use crate::advice::{advise, known_features, Advice, Facts};
use crate::finding::{Finding, Group};
use crate::root::Root;
use tenrounds_sys::{avoided_on, feature, names_of, Cpu, Features};

const CPUINFO: &str = "/proc/cpuinfo";

/// The field of /proc/cpuinfo with the kernel's names of features, those names (of x86:
/// arch/x86/include/asm/cpufeatures.h; of Arm: Documentation/arch/arm64/elf_hwcaps.rst), and the
/// features without all of which AES is software.
#[cfg(not(target_arch = "aarch64"))]
mod names {
    use super::{feature, Features};

    pub const FIELD: &str = "flags";
    pub const FLAGS: [(&str, Features); 8] = [
        ("aes", feature::AES),
        ("pclmulqdq", feature::CLMUL),
        ("ssse3", feature::SSSE3),
        ("avx", feature::AVX),
        ("avx2", feature::AVX2),
        ("vaes", feature::VAES),
        ("vpclmulqdq", feature::VCLMUL),
        ("sha_ni", feature::SHA),
    ];
    pub const BASE: Features = feature::AES | feature::CLMUL | feature::SSSE3;
}
#[cfg(target_arch = "aarch64")]
mod names {
    use super::{feature, Features};

    pub const FIELD: &str = "Features";
    pub const FLAGS: [(&str, Features); 4] = [
        ("asimd", feature::NEON),
        ("aes", feature::AES),
        ("pmull", feature::CLMUL),
        ("sha3", feature::SHA3),
    ];
    pub const BASE: Features = feature::AES;
}
use names::{BASE, FIELD, FLAGS};

const AVX512: [&str; 3] = ["avx512f", "avx512bw", "avx512vl"];

/// What needs the registers that XSAVE saves.
const WIDE: Features =
    feature::AVX | feature::AVX2 | feature::AVX512 | feature::VAES | feature::VCLMUL;

pub fn check(root: &Root) -> Vec<Finding> {
    let Some(cpuinfo) = Cpuinfo::read(root) else {
        return Vec::new();
    };
    let facts = facts(root, &cpuinfo);
    let advice = advise(&facts, tenrounds_sys::strongest);
    let mut found: Vec<Finding> = advice
        .iter()
        .map(|advice| finding(advice, &facts, &cpuinfo))
        .collect();
    found.extend(avoided(&facts, &cpuinfo));
    if found.is_empty() && facts.present & BASE == 0 {
        let says = "this processor has no AES instructions: AES is done in constant-time software";
        let finding = Finding::note(Group::Processor, "no-aes", says);
        found.push(finding.seen(CPUINFO, format!("{}, no 'aes' in {FIELD}", cpuinfo.named())));
    }
    found
}

/// Where selection prefers 256 bits although there are 512.
fn avoided(facts: &Facts, cpuinfo: &Cpuinfo) -> Option<Finding> {
    let (_, wide) = tenrounds_sys::strongest(facts.usable);
    let (_, narrow) = tenrounds_sys::strongest(facts.usable & !facts.avoided);
    if wide == narrow {
        return None;
    }
    let says = format!(
        "512-bit registers lower this processor's clock for all that runs on the core, and AES is no faster in them: \
         {narrow} is selected, not {wide}"
    );
    let finding = Finding::note(Group::Processor, "clock-drops", says);
    let finding = finding.seen(CPUINFO, cpuinfo.model(facts));
    let finding = finding.cure(
        "shell",
        "TENROUNDS_MASK=avx512   (if 512 bits are to be used nonetheless)",
    );
    Some(finding.cure("module parameter", "mask=avx512   (of tenrounds.ko)"))
}

fn finding(advice: &Advice, facts: &Facts, cpuinfo: &Cpuinfo) -> Finding {
    let group = Group::Processor;
    let mut finding = match advice.kind {
        "registers" => Finding::problem(group, "registers-not-saved", &advice.problem),
        "cpu-model-unknown" => Finding::note(group, "vm-maybe-hides", &advice.problem),
        "cpu-model" => Finding::warning(group, "vm-hides", &advice.problem),
        _ => Finding::warning(group, "firmware", &advice.problem),
    };
    finding = finding.seen(
        CPUINFO,
        format!(
            "{}; of AES's flags it has: {}",
            cpuinfo.model(facts),
            names_of(facts.present).join(", ")
        ),
    );
    if advice.kind == "registers" {
        finding = finding.seen("/proc/cmdline", facts.kernel_command_line.trim());
    }
    if let Some(backend) = advice.gives {
        finding = finding.seen("selection", format!("with the setting: {backend}"));
    }
    for setting in &advice.settings {
        finding = finding.cure(&setting.at, &setting.set);
    }
    finding
}

/// What the kernel says of the first processor.
pub struct Cpuinfo {
    vendor: String,
    family: u16,
    model: u16,
    /// Kernels for x86 have it, and 32-bit ones for Arm.
    model_name: Option<String>,
    /// Of Arm's MIDR_EL1, in hexadecimal.
    implementer: String,
    part: String,
    flags: Vec<String>,
}

impl Cpuinfo {
    /// None if it cannot be read or is not that of this tool's architecture.
    pub fn read(root: &Root) -> Option<Cpuinfo> {
        let text = root.text(CPUINFO).ok()?;
        let field = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            lines
                .find(|(key, _)| key.trim() == name)
                .map(|(_, value)| value.trim().to_owned())
        };
        let number = |name| {
            field(name)
                .and_then(|value| value.parse().ok())
                .unwrap_or(0)
        };
        let flags = field(FIELD)?;
        Some(Cpuinfo {
            vendor: field("vendor_id").unwrap_or_default(),
            family: number("cpu family"),
            model: number("model"),
            model_name: field("model name"),
            implementer: field("CPU implementer").unwrap_or_default(),
            part: field("CPU part").unwrap_or_default(),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
        })
    }

    /// The lines that name the processor.
    fn named(&self) -> String {
        match &self.model_name {
            Some(name) => format!("model name: {name}"),
            None => format!(
                "CPU implementer: {}, CPU part: {}",
                self.implementer, self.part
            ),
        }
    }

    fn model(&self, facts: &Facts) -> String {
        let name = self.model_name.as_deref().unwrap_or_default();
        format!("{name}, family {} model {}", facts.family, facts.model)
    }

    /// Whether the kernel shows this feature of the processor.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    fn features(&self) -> Features {
        let named = FLAGS.iter().filter(|(flag, _)| self.has(flag));
        let features = named.fold(0, |all, (_, bit)| all | bit);
        match AVX512.iter().all(|flag| self.has(flag)) {
            true => features | feature::AVX512,
            false => features,
        }
    }
}

/// On this machine by CPUID, which the kernel does not filter, or by Arm's AT_HWCAP. Of a tree, by
/// what the kernel said: on x86 without xsave it hides whatever needs it.
fn facts(root: &Root, cpuinfo: &Cpuinfo) -> Facts {
    let (vendor, family, model) = (cpuinfo.vendor.clone(), cpuinfo.family, cpuinfo.model);
    let (present, usable, xcr0) = match root.is_machine() {
        true => {
            let cpu = Cpu::detect();
            (cpu.present, cpu.usable, cpu.xcr0)
        }
        false => {
            let shown = cpuinfo.features();
            let known = known_features(&vendor, family, model);
            match cpuinfo.has("xsave") || cfg!(target_arch = "aarch64") {
                true => (shown, shown, 0xe7),
                false => (shown | known & WIDE, shown & !WIDE, 0),
            }
        }
    };
    Facts {
        present,
        usable,
        masked: 0,
        avoided: avoided_on(&vendor, family, model),
        xcr0,
        vendor,
        family,
        model,
        hypervisor: cpuinfo.has("hypervisor"),
        masks: Vec::new(),
        kernel_command_line: root.text("/proc/cmdline").unwrap_or_default(),
    }
}
