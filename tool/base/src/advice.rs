// SPDX-License-Identifier: BSD-2-Clause
//! When a better backend is only a setting away, the exact setting.

use crate::finding::Cure;
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
    pub settings: Vec<Cure>,
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
        let names = tenrounds_sys::feature_names();
        let bit = |name: &String| {
            names
                .iter()
                .position(|n| n == name)
                .map_or(0, |bit| 1 << bit)
        };
        let hidden = |removes: &[String]| removes.iter().map(bit).fold(0, |all, b| all | b);
        let masks = host.masks.iter();
        let (vendor, family, model) = (host.cpu.vendor.clone(), host.cpu.family, host.cpu.model);
        Facts {
            present: selection.cpu.present,
            usable: selection.cpu.usable,
            masked: selection.masked,
            avoided: selection.avoided | avoided_unless_wanted(&vendor, family, model),
            xcr0: selection.cpu.xcr0,
            vendor,
            family,
            model,
            hypervisor: host.hypervisor.is_some(),
            masks: masks
                .map(|(name, mask)| (name.clone(), hidden(&mask.removes)))
                .collect(),
            kernel_command_line: std::fs::read_to_string("/proc/cmdline").unwrap_or_default(),
        }
    }

    /// The backend that more features would give, if it is a better one.
    fn gain(&self, strongest: Strongest, now: Features, then: Features) -> Option<&'static str> {
        let rank = |features: Features| strongest(features & !self.avoided);
        let ((rank_now, _), (rank_then, name)) = (rank(now), rank(then));
        (rank_then < rank_now).then_some(name)
    }
}

/// By the processor alone, for what a mask or a hypervisor hides cannot be seen to be avoided.
fn avoided_unless_wanted(vendor: &str, family: u16, model: u16) -> Features {
    let mask = std::env::var(masks::TENROUNDS_MASK).unwrap_or_default();
    avoided_on(vendor, family, model) & !parse_mask(&mask).unwrap_or_default().wanted
}

/// Ranks a set of usable features: the place of the strongest backend (0 is best), and its name.
pub type Strongest = fn(Features) -> (usize, &'static str);

/// Linux reports an Arm processor's instructions only if programs can use them. A program cannot
/// tell whether a hypervisor or the firmware hides others, so only masks are advised on there.
pub fn advise(facts: &Facts, strongest: Strongest) -> Vec<Advice> {
    let obstacles: &[fn(&Facts, Strongest) -> Option<Advice>] = match cfg!(target_arch = "aarch64")
    {
        true => &[mask],
        false => &[mask, operating_system, virtual_machine, firmware],
    };
    let advice = |obstacle: &fn(&Facts, Strongest) -> Option<Advice>| obstacle(facts, strongest);
    obstacles.iter().filter_map(advice).collect()
}

fn setting(at: &str, set: impl Into<String>) -> Cure {
    Cure {
        at: at.to_owned(),
        set: set.into(),
    }
}

fn mask(facts: &Facts, strongest: Strongest) -> Option<Advice> {
    let gives = facts.gain(strongest, facts.usable & !facts.masked, facts.usable)?;
    let masks = facts.masks.iter();
    let in_the_way: Vec<&(String, Features)> = masks
        .filter(|(_, hides)| hides & facts.usable != 0)
        .collect();
    let names: Vec<&str> = in_the_way.iter().map(|(name, _)| name.as_str()).collect();
    let hidden = in_the_way.iter().fold(0, |all, (_, hides)| all | hides) & facts.usable;
    let verb = if names.len() == 1 { "hides" } else { "hide" };
    let unset = |name: &&str| setting("shell", format!("unset {name}"));
    Some(Advice {
        kind: "masks",
        problem: format!(
            "{} {verb} {}",
            names.join(" and "),
            names_of(hidden).join(", ")
        ),
        gives: Some(gives),
        settings: names.iter().map(unset).collect(),
    })
}

/// Register state by Intel SDM volume 1, section 13.3: SSE and AVX; opmask and the two parts of
/// ZMM.
const XCR0_AVX: u64 = 0x6;
const XCR0_AVX512: u64 = 0xe6;

fn operating_system(facts: &Facts, strongest: Strongest) -> Option<Advice> {
    let gives = facts.gain(strongest, facts.usable, facts.present)?;
    let (missing, wanted) = match facts.xcr0 & XCR0_AVX == XCR0_AVX {
        true => ("AVX-512", XCR0_AVX512),
        false => ("AVX", XCR0_AVX),
    };
    let is_guilty = |word: &&str| word.starts_with("noxsave") || word.starts_with("clearcpuid=");
    let words = facts.kernel_command_line.split_whitespace();
    let guilty: Vec<&str> = words.filter(is_guilty).collect();
    let set = match guilty.is_empty() {
        false => format!("boot without '{}'", guilty.join(" ")),
        true => "boot without noxsave and clearcpuid=, or with a kernel that saves these registers"
            .into(),
    };
    let xcr0 = facts.xcr0;
    Some(Advice {
        kind: "registers",
        problem: format!("the operating system does not save the {missing} registers (XCR0 is {xcr0:#x}, needed is {wanted:#x})"),
        gives: Some(gives),
        settings: vec![setting("kernel command line", set)],
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
    let known = known_features(&facts.vendor, facts.family, facts.model);
    // A bundle that no processor has by itself: a CPU model that was put together by hand.
    let torn = match () {
        _ if facts.present & feature::AES == 0 => feature::AES | feature::CLMUL | feature::SSSE3,
        _ if facts.present & feature::CLMUL == 0 => feature::CLMUL,
        _ if facts.present & feature::VAES != 0 => feature::VCLMUL,
        _ => 0,
    };
    let missing = (known & !facts.avoided | torn) & !facts.present;
    let settings = CPU_MODEL.map(|(at, set)| setting(at, set)).into();
    if missing != 0 {
        return Some(Advice {
            kind: "cpu-model",
            problem: format!(
                "the virtual machine's CPU model hides {}",
                names_of(missing).join(", ")
            ),
            gives: facts.gain(strongest, facts.present, facts.present | missing),
            settings,
        });
    }
    (known == 0 && facts.present & feature::VAES == 0).then(|| Advice {
        kind: "cpu-model-unknown",
        problem: "a virtual machine without vaes, of a CPU model that does not tell whether the host has \
                  it; on the host: grep -m1 -o vaes /proc/cpuinfo. If it does:"
            .to_owned(),
        gives: None,
        settings,
    })
}

/// The settings that show a virtual machine the host's processor.
const CPU_MODEL: [(&str, &str); 3] = [
    ("QEMU", "-cpu host"),
    ("libvirt", "<cpu mode='host-passthrough'/>"),
    ("Proxmox", "qm set VMID --cpu host"),
];

fn firmware(facts: &Facts, strongest: Strongest) -> Option<Advice> {
    let base = feature::AES | feature::CLMUL | feature::SSSE3;
    let known = known_features(&facts.vendor, facts.family, facts.model);
    if facts.hypervisor || known & feature::AES == 0 || facts.present & feature::AES != 0 {
        return None;
    }
    let set = "enable 'AES-NI' (also called 'Intel AES New Instructions')";
    Some(Advice {
        kind: "firmware",
        problem: "this processor has AES instructions, and its firmware has switched them off"
            .to_owned(),
        gives: facts.gain(strongest, facts.present, facts.present | base),
        settings: vec![setting("firmware setup", set)],
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
                masked: feature::CLMUL,
                masks: vec![("OPENSSL_armcap".to_owned(), feature::CLMUL)],
                ..with(ALL)
            },
            strongest,
        );
        assert_eq!(advice.len(), 1, "{advice:?}");
        assert_eq!(advice[0].problem, "OPENSSL_armcap hides clmul");
        assert_eq!(advice[0].settings[0].set, "unset OPENSSL_armcap");
        assert_eq!(advice[0].gives, Some("armce"));
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
        assert!(advice.problem.ends_with("hides vaes, vclmul"), "{advice:?}");
        assert_eq!(advice.settings[0].set, "-cpu host");
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
        assert!(advice.problem.ends_with("hides clmul"), "{advice:?}");
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
