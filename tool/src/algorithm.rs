// SPDX-License-Identifier: BSD-2-Clause
//! The fifteen streaming ciphers by name: aes-{128,192,256}-{ecb,cbc,cfb,ofb,ctr}.

use std::fmt;

/// A mode of operation of NIST SP 800-38A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Ecb,
    Cbc,
    Cfb,
    Ofb,
    Ctr,
}

impl Mode {
    pub const ALL: [Mode; 5] = [Mode::Ecb, Mode::Cbc, Mode::Cfb, Mode::Ofb, Mode::Ctr];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Ecb => "ecb",
            Mode::Cbc => "cbc",
            Mode::Cfb => "cfb",
            Mode::Ofb => "ofb",
            Mode::Ctr => "ctr",
        }
    }
}

/// Encryption or decryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    Encrypt,
    Decrypt,
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

    pub fn name(self) -> &'static str {
        match self {
            Direction::Encrypt => "encrypt",
            Direction::Decrypt => "decrypt",
        }
    }
}

/// AES with a key size in a mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Algorithm {
    pub key_bits: u16,
    pub mode: Mode,
}

impl Algorithm {
    pub const KEY_BITS: [u16; 3] = [128, 192, 256];

    /// All fifteen, by key size and then mode.
    pub fn all() -> Vec<Algorithm> {
        Algorithm::KEY_BITS
            .into_iter()
            .flat_map(|key_bits| Mode::ALL.map(|mode| Algorithm { key_bits, mode }))
            .collect()
    }

    pub fn key_bytes(self) -> usize {
        usize::from(self.key_bits) / 8
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("aes-{}-{}", self.key_bits, self.mode.name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_names() {
        let names: Vec<String> = Algorithm::all().iter().map(Algorithm::to_string).collect();
        assert_eq!(names.len(), 15);
        assert_eq!((&*names[0], &*names[14]), ("aes-128-ecb", "aes-256-ctr"));
    }
}
