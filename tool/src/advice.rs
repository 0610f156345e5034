// SPDX-License-Identifier: BSD-2-Clause
//! When a better backend is only a setting away, the exact setting.

use machine::masks;
use machine::schema::Host;
use serde::Serialize;
use tenrounds_sys::{avoided_on, feature, names_of, parse_mask, Features, Selection};

#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Advice {
    /// What kind of obstacle it is, for the doctor.
    #[serde(skip)]
    pub kind: &'static str,
    /// What stands in the way.
    pub problem: String,
    /// The backend that the setting would give; null where this cannot be known from here.
    pub gives: Option<&'static str>,
    pub settings: Vec<Setting>,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Setting {
    /// Where to set it.
    pub at: &'static str,
    /// What to set, literally.
    pub set: String,
}

/// What advice rests on.
#[derive(Debug, Clone)]
pub struct Facts {
    pub present: Features,
    pub usable: Features,
    pub masked: Features,
    /// What selection does without on this processor, even if nothing hides it.
    pub avoided: Features,
    pub xcr0: u64,
    pub vendor: String,
    pub family: u16,
    pub model: u16,
    pub hypervisor: bool,
    /// The variables that hide features, each with what it hides.
    pub masks: Vec<(String, Features)>,
    pub kernel_command_line: String,
}

impl Facts {
    pub fn of(host: &Host, selection: &Selection) -> Facts {
        let bit = |name: &String| {
            let names = tenrounds_sys::feature_names();
            names
                .iter()
                .position(|n| n == name)
                .map_or(0, |bit| 1 << bit)
        };
        let hidden = |removes: &Vec<String>| removes.iter().map(bit).fold(0, |all, b| all | b);
        let masks = host
            .masks
            .iter()
            .map(|(name, mask)| (name.clone(), hidden(&mask.removes)));
        Facts {
            present: selection.cpu.present,
            usable: selection.cpu.usable,
            masked: selection.masked,
            avoided: selection.avoided
                | avoided_unless_wanted(&host.cpu.vendor, host.cpu.family, host.cpu.model),
            xcr0: selection.cpu.xcr0,
            vendor: host.cpu.vendor.clone(),
            family: host.cpu.family,
            model: host.cpu.model,
            hypervisor: host.hypervisor.is_some(),
            masks: masks.collect(),
            kernel_command_line: std::fs::read_to_string("/proc/cmdline").unwrap_or_default(),
        }
    }
}

/// By the processor alone, for what a mask or a hypervisor hides cannot be seen to be avoided.
fn avoided_unless_wanted(vendor: &str, family: u16, model: u16) -> Features {
    let mask = std::env::var(masks::TENROUNDS_MASK).unwrap_or_default();
    avoided_on(vendor, family, model) & !parse_mask(&mask).unwrap_or_default().wanted
}

/// "a, b", or "nothing".
fn listed(features: Features) -> String {
    match names_of(features).join(", ") {
        names if names.is_empty() => "nothing".to_owned(),
        names => names,
    }
}

/// Ranks a set of usable features: the place of the strongest backend (0 is best), and its name.
pub type Strongest = fn(Features) -> (usize, &'static str);

pub fn advise(facts: &Facts, strongest: Strongest) -> Vec<Advice> {
    let mut all = Vec::new();
    all.extend(mask(facts, strongest));
    // Linux reports an Arm processor's instructions only if programs can use them. A program cannot
    // tell whether a hypervisor or the firmware hides others, so there is no such advice on Arm.
    if cfg!(not(target_arch = "aarch64")) {
        all.extend(operating_system(facts, strongest));
        all.extend(virtual_machine(facts, strongest));
        all.extend(firmware(facts, strongest));
    }
    all
}

impl Facts {
    /// The backend that more features would give, if it is a better one.
    fn gain(&self, strongest: Strongest, now: Features, then: Features) -> Option<&'static str> {
        let rank = |features: Features| strongest(features & !self.avoided);
        let ((rank_now, _), (rank_then, name)) = (rank(now), rank(then));
        (rank_then < rank_now).then_some(name)
    }
}

fn mask(facts: &Facts, strongest: Strongest) -> Option<Advice> {
    let gives = facts.gain(strongest, facts.usable & !facts.masked, facts.usable)?;
    let in_the_way: Vec<&(String, Features)> = facts
        .masks
        .iter()
        .filter(|(_, hides)| hides & facts.usable != 0)
        .collect();
    let names: Vec<&str> = in_the_way.iter().map(|(name, _)| name.as_str()).collect();
    let hidden = in_the_way.iter().fold(0, |all, (_, hides)| all | hides) & facts.usable;
    let verb = if names.len() == 1 { "hides" } else { "hide" };
    Some(Advice {
        kind: "masks",
        problem: format!("{} {verb} {}", names.join(" and "), listed(hidden)),
        gives: Some(gives),
        settings: in_the_way
            .iter()
            .map(|(name, _)| Setting {
                at: "shell",
                set: format!("unset {name}"),
            })
            .collect(),
    })
}

/// Register state by Intel SDM volume 1, section 13.3: SSE and AVX; opmask and the two parts of
/// ZMM.
const XCR0_AVX: u64 = 0x6;
const XCR0_AVX512: u64 = 0xe6;

fn operating_system(facts: &Facts, strongest: Strongest) -> Option<Advice> {
    let gives = facts.gain(strongest, facts.usable, facts.present)?;
    let missing = if facts.xcr0 & XCR0_AVX != XCR0_AVX {
        "AVX"
    } else {
        "AVX-512"
    };
    let wanted = if missing == "AVX" {
        XCR0_AVX
    } else {
        XCR0_AVX512
    };
    let guilty: Vec<&str> = facts
        .kernel_command_line
        .split_whitespace()
        .filter(|word| {
            *word == "noxsave" || word.starts_with("clearcpuid=") || word.starts_with("noxsave")
        })
        .collect();
    let set = match guilty.is_empty() {
        false => format!("boot without '{}'", guilty.join(" ")),
        true => "boot without noxsave and clearcpuid=, or with a kernel that saves these registers"
            .into(),
    };
    Some(Advice {
        kind: "registers",
        problem: format!(
            "the operating system does not save the {missing} registers (XCR0 is {:#x}, needed is {wanted:#x})",
            facts.xcr0
        ),
        gives: Some(gives),
        settings: vec![Setting { at: "kernel command line", set }],
    })
}

/// What processors of this family have, whatever a hypervisor shows of it; 0 if nothing is known.
pub fn known_features(vendor: &str, family: u16, model: u16) -> Features {
    let base = feature::AES | feature::CLMUL | feature::SSSE3;
    let wide = base | feature::AVX | feature::AVX2 | feature::VAES | feature::VCLMUL;
    match (vendor, family, model) {
        // Zen 5; Zen 4 (its models of family 25); Zen 3.
        ("AuthenticAMD", 26.., _) => wide | feature::AVX512,
        ("AuthenticAMD", 25, 0x10..=0x1f | 0x60..=0x7f | 0xa0..=0xaf) => wide | feature::AVX512,
        ("AuthenticAMD", 25, _) => wide,
        // Zen 1 and 2.
        ("AuthenticAMD", 23, _) => base | feature::AVX | feature::AVX2,
        // Ice Lake, Tiger Lake, Rocket Lake; Sapphire, Emerald and Granite Rapids.
        (
            "GenuineIntel",
            6,
            0x6a | 0x6c | 0x7d | 0x7e | 0x8c | 0x8d | 0xa7 | 0x8f | 0xcf | 0xad | 0xae,
        ) => wide | feature::AVX512,
        // Alder, Raptor, Meteor, Arrow and Lunar Lake; Sierra Forest.
        (
            "GenuineIntel",
            6,
            0x97 | 0x9a | 0xb7 | 0xba | 0xbf | 0xaa | 0xac | 0xaf | 0xb5 | 0xbd | 0xc5 | 0xc6,
        ) => wide,
        // Haswell to Comet Lake.
        (
            "GenuineIntel",
            6,
            0x3c | 0x3f | 0x45 | 0x46 | 0x3d | 0x47 | 0x4f | 0x56 | 0x4e | 0x5e | 0x55 | 0x8e
            | 0x9e | 0xa5 | 0xa6,
        ) => base | feature::AVX | feature::AVX2,
        _ => 0,
    }
}

fn virtual_machine(facts: &Facts, strongest: Strongest) -> Option<Advice> {
    if !facts.hypervisor {
        return None;
    }
    let hidden =
        known_features(&facts.vendor, facts.family, facts.model) & !facts.present & !facts.avoided;
    // A bundle that no processor has by itself: a CPU model that was put together by hand.
    let torn = match () {
        _ if facts.present & feature::AES == 0 => feature::AES | feature::CLMUL | feature::SSSE3,
        _ if facts.present & feature::CLMUL == 0 => feature::CLMUL,
        _ if facts.present & feature::VAES != 0 => feature::VCLMUL,
        _ => 0,
    } & !facts.present;
    let missing = hidden | torn;
    if missing != 0 {
        return Some(Advice {
            kind: "cpu-model",
            problem: format!("the virtual machine's CPU model hides {}", listed(missing)),
            gives: facts.gain(strongest, facts.present, facts.present | missing),
            settings: cpu_model_settings(missing),
        });
    }
    let wide = feature::VAES | feature::VCLMUL;
    let unknown = known_features(&facts.vendor, facts.family, facts.model) == 0;
    (unknown && facts.present & feature::VAES == 0).then(|| Advice {
        kind: "cpu-model-unknown",
        problem: "a virtual machine without vaes, of a CPU model that does not tell whether the host has \
                  it; on the host: grep -m1 -o vaes /proc/cpuinfo. If it does:"
            .to_owned(),
        gives: None,
        settings: cpu_model_settings(wide),
    })
}

/// QEMU's names of the CPUID bits (qemu-system-x86_64 -cpu help).
fn qemu_flags(features: Features) -> String {
    let flags = |name: &str| match name {
        "clmul" => "+pclmulqdq".to_owned(),
        "vclmul" => "+vpclmulqdq".to_owned(),
        "sha" => "+sha-ni".to_owned(),
        "avx512" => "+avx512f,+avx512bw,+avx512vl".to_owned(),
        name => format!("+{name}"),
    };
    names_of(features)
        .into_iter()
        .map(flags)
        .collect::<Vec<_>>()
        .join(",")
}

/// The same for a domain of libvirt, whose names are those of QEMU.
fn libvirt_features(features: Features) -> String {
    qemu_flags(features)
        .split(',')
        .map(|flag| {
            let name = flag.trim_start_matches('+');
            format!("<feature policy='require' name='{name}'/>")
        })
        .collect()
}

fn cpu_model_settings(missing: Features) -> Vec<Setting> {
    let setting = |at, set: &str| Setting {
        at,
        set: set.to_owned(),
    };
    vec![
        setting(
            "QEMU",
            &format!("-cpu host   (or -cpu MODEL,{})", qemu_flags(missing)),
        ),
        setting(
            "libvirt",
            &format!(
                "<cpu mode='host-passthrough'/>   (or in <cpu>: {})",
                libvirt_features(missing)
            ),
        ),
        setting(
            "Proxmox",
            &format!(
                "cpu: host   (qm set VMID --cpu host; or qm set VMID --args '-cpu MODEL,{}')",
                qemu_flags(missing)
            ),
        ),
    ]
}

fn firmware(facts: &Facts, strongest: Strongest) -> Option<Advice> {
    let base = feature::AES | feature::CLMUL | feature::SSSE3;
    let known = known_features(&facts.vendor, facts.family, facts.model);
    if facts.hypervisor || known & feature::AES == 0 || facts.present & feature::AES != 0 {
        return None;
    }
    Some(Advice {
        kind: "firmware",
        problem: "this processor has AES instructions, and its firmware has switched them off"
            .to_owned(),
        gives: facts.gain(strongest, facts.present, facts.present | base),
        settings: vec![Setting {
            at: "firmware setup",
            set: "enable 'AES-NI' (also called 'Intel AES New Instructions')".to_owned(),
        }],
    })
}

#[cfg(all(test, target_arch = "aarch64"))]
mod tests {
    use super::*;
    use tenrounds_sys::strongest;

    const ALL: Features = feature::NEON | feature::AES | feature::CLMUL | feature::SHA3;

    /// A virtual machine whose processor has these features.
    fn with(present: Features) -> Facts {
        Facts {
            present,
            usable: present,
            masked: 0,
            avoided: 0,
            xcr0: 0,
            vendor: "Arm".into(),
            family: 8,
            model: 0xd0c,
            hypervisor: true,
            masks: Vec::new(),
            kernel_command_line: "quiet".into(),
        }
    }

    #[test]
    fn nothing_is_advised_that_cannot_be_known() {
        for present in [ALL, ALL & !feature::SHA3, feature::NEON] {
            assert_eq!(advise(&with(present), strongest), []);
        }
    }

    #[test]
    fn a_mask_is_named() {
        let advice = advise(
            &Facts {
                masked: feature::SHA3,
                masks: vec![("OPENSSL_armcap".to_owned(), feature::SHA3)],
                ..with(ALL)
            },
            strongest,
        );
        assert_eq!(advice.len(), 1, "{advice:?}");
        assert_eq!(advice[0].problem, "OPENSSL_armcap hides sha3");
        assert_eq!(advice[0].settings[0].set, "unset OPENSSL_armcap");
        assert_eq!(advice[0].gives, Some("armce-eor3"));
    }
}

#[cfg(all(test, not(target_arch = "aarch64")))]
mod tests {
    use super::*;
    use tenrounds_sys::strongest;

    const ALL: Features = 0xff;

    fn zen4() -> Facts {
        Facts {
            present: ALL,
            usable: ALL,
            masked: 0,
            avoided: 0,
            xcr0: 0xe7,
            vendor: "AuthenticAMD".into(),
            family: 25,
            model: 0x11,
            hypervisor: true,
            masks: Vec::new(),
            kernel_command_line: "quiet".into(),
        }
    }

    fn only(facts: &Facts) -> Advice {
        let mut all = advise(facts, strongest);
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    #[test]
    fn nothing_to_say_where_all_is_well() {
        assert_eq!(advise(&zen4(), strongest), []);
    }

    #[test]
    fn a_mask_is_named() {
        let masks = vec![("TENROUNDS_MASK".to_owned(), feature::VAES)];
        let advice = only(&Facts {
            masked: feature::VAES,
            masks,
            ..zen4()
        });
        assert_eq!(advice.settings[0].set, "unset TENROUNDS_MASK");
        assert_eq!(advice.gives, Some("vaes512"));
    }

    // Where the clock drops at 512 bits, no setting is worth it that only brings those back.
    #[test]
    fn nothing_that_would_be_avoided_is_advised() {
        let hidden = |hidden: Features| Facts {
            present: ALL & !hidden,
            usable: ALL & !hidden,
            vendor: "GenuineIntel".into(),
            family: 6,
            model: 0x6a,
            avoided: feature::AVX512,
            ..zen4()
        };
        assert_eq!(advise(&hidden(0), strongest), []);
        assert_eq!(advise(&hidden(feature::AVX512), strongest), []);
        let advice = only(&hidden(feature::AVX512 | feature::VAES));
        assert_eq!(advice.gives, Some("vaes256"), "{advice:?}");
        let wanted = Facts {
            avoided: 0,
            ..hidden(feature::AVX512)
        };
        assert_eq!(only(&wanted).gives, Some("vaes512"));
    }

    #[test]
    fn the_kernel_option_is_named() {
        let away = feature::AVX | feature::AVX2 | feature::AVX512 | feature::VAES | feature::VCLMUL;
        let advice = only(&Facts {
            usable: ALL & !away,
            xcr0: 0,
            kernel_command_line: "ro noxsave quiet".into(),
            ..zen4()
        });
        assert_eq!(advice.settings[0].set, "boot without 'noxsave'");
        assert!(
            advice.problem.contains("needed is 0x6"),
            "{}",
            advice.problem
        );
    }

    #[test]
    fn a_cpu_model_that_hides_vaes() {
        let hidden = feature::VAES | feature::VCLMUL;
        let advice = only(&Facts {
            present: ALL & !hidden,
            usable: ALL & !hidden,
            ..zen4()
        });
        assert!(
            advice.settings[0].set.contains("MODEL,+vaes,+vpclmulqdq"),
            "{advice:?}"
        );
        assert!(advice.settings[1].set.contains("host-passthrough"));
        assert_eq!(advice.settings[2].at, "Proxmox");
        assert_eq!(advice.gives, Some("vaes512"));
    }

    #[test]
    fn aes_without_pclmulqdq() {
        let present = feature::AES | feature::SSSE3;
        let unknown = Facts {
            present,
            usable: present,
            family: 6,
            model: 1,
            ..zen4()
        };
        let advice = only(&unknown);
        assert!(advice.problem.contains("hides clmul"), "{}", advice.problem);
        assert!(advice.settings[0].set.contains("+pclmulqdq"));
    }

    #[test]
    fn an_old_processor_is_not_to_be_mended() {
        let present = ALL & !(feature::VAES | feature::VCLMUL | feature::AVX512);
        let zen2 = Facts {
            present,
            usable: present,
            family: 23,
            model: 0x31,
            ..zen4()
        };
        assert_eq!(advise(&zen2, strongest), []);
    }

    #[test]
    fn firmware_that_switched_aes_off() {
        let present = ALL & !(feature::AES | feature::VAES | feature::VCLMUL);
        let bare = Facts {
            present,
            usable: present,
            hypervisor: false,
            ..zen4()
        };
        assert_eq!(only(&bare).settings[0].at, "firmware setup");
    }
}
