// SPDX-License-Identifier: BSD-2-Clause
//! The instructions that AES is made of, and the register widths they come in.

use serde::Serialize;
use std::collections::BTreeMap;
use tenrounds_sys::{feature_names, Cpu, Features};

#[derive(Debug, Serialize)]
pub struct Instruction {
    pub name: &'static str,
    /// The name of its feature, as in masks.
    pub feature: &'static str,
    /// The processor reports it: by CPUID, on Arm by AT_HWCAP.
    pub present: bool,
    /// The operating system saves the registers it needs, too.
    pub usable: bool,
    /// A mask hides it.
    pub masked: bool,
    pub does: &'static str,
}

/// The instructions with their features, and what they do here: Intel SDM volume 2 and the Arm ARM,
/// section C7.2; FIPS-197 and SP 800-38D.
const INSTRUCTIONS: &str = include_str!("instructions.json");

pub fn list(cpu: &Cpu, masked: Features) -> Vec<Instruction> {
    let architecture = if cfg!(target_arch = "aarch64") {
        "arm"
    } else {
        "x86"
    };
    let all = serde_json::from_str(INSTRUCTIONS);
    let mut all: BTreeMap<&str, Vec<(&str, &str, &str)>> = all.expect("it is a table");
    let features = feature_names();
    let line = |(name, feature, does)| {
        let bit = features.iter().position(|known| *known == feature);
        let bit: Features = 1 << bit.expect("a feature of this processor");
        Instruction {
            name,
            feature,
            present: cpu.present & bit != 0,
            usable: cpu.usable & bit != 0,
            masked: masked & bit != 0,
            does,
        }
    };
    let these = all.remove(architecture).unwrap_or_default();
    these.into_iter().map(line).collect()
}
