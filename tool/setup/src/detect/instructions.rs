// SPDX-License-Identifier: BSD-2-Clause
//! The instructions that AES is made of, and the register widths they come in.

use serde::Serialize;
use tenrounds_sys::{feature, names_of, Cpu, Features};

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

/// Intel SDM volume 2, and for what each is used here: FIPS-197 and SP 800-38D.
#[cfg(not(target_arch = "aarch64"))]
#[rustfmt::skip]
const INSTRUCTIONS: [(&str, Features, &str); 14] = [
    ("AESENC", feature::AES, "one round of encryption on one block"),
    ("AESENCLAST", feature::AES, "the last round of encryption, which has no MixColumns"),
    ("AESDEC", feature::AES, "one round of decryption on one block"),
    ("AESDECLAST", feature::AES, "the last round of decryption"),
    ("AESKEYGENASSIST", feature::AES, "a step of the key expansion"),
    ("AESIMC", feature::AES, "turns an encryption round key into a decryption one"),
    ("PCLMULQDQ", feature::CLMUL, "carry-less multiplication, for GCM's GHASH"),
    ("VAES", feature::VAES, "the four rounds on 2 blocks at once, with AVX-512 on 4"),
    ("VPCLMULQDQ", feature::VCLMUL, "PCLMULQDQ on 2 pairs at once, with AVX-512 on 4"),
    ("SHA", feature::SHA, "SHA-1 and SHA-256, beside AES-CBC in suites of TLS 1.2"),
    ("SSSE3", feature::SSSE3, "PSHUFB, which reverses the bytes of counters"),
    ("AVX", feature::AVX, "three-operand forms, and registers of 256 bits"),
    ("AVX2", feature::AVX2, "integer arithmetic on 256 bits: 2 blocks a register"),
    ("AVX-512 F+BW+VL", feature::AVX512, "registers of 512 bits: 4 blocks each, 32 of them"),
];

/// The same of the Arm ARM, section C7.2.
#[cfg(target_arch = "aarch64")]
#[rustfmt::skip]
const INSTRUCTIONS: [(&str, Features, &str); 7] = [
    ("AESE", feature::AES, "AddRoundKey, SubBytes and ShiftRows on one block"),
    ("AESMC", feature::AES, "MixColumns, the rest of a round of encryption"),
    ("AESD", feature::AES, "the inverses of AESE's steps, for decryption"),
    ("AESIMC", feature::AES, "InvMixColumns, for decryption and its round keys"),
    ("PMULL", feature::CLMUL, "carry-less multiplication, for GCM's GHASH"),
    ("EOR3", feature::SHA3, "XOR of 3 registers, for GHASH and keystreams"),
    ("NEON", feature::NEON, "registers of 128 bits; TBL, the S-box without AES instructions"),
];

pub fn list(cpu: &Cpu, masked: Features) -> Vec<Instruction> {
    let line = |(name, bit, does)| Instruction {
        name,
        feature: names_of(bit).first().copied().unwrap_or("?"),
        present: cpu.present & bit != 0,
        usable: cpu.usable & bit != 0,
        masked: masked & bit != 0,
        does,
    };
    INSTRUCTIONS.into_iter().map(line).collect()
}
