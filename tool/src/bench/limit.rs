// SPDX-License-Identifier: BSD-2-Clause
//! The limit probe (bench/limit.h), safely.

use crate::core::{Cpu, Features};
use std::ffi::c_int;

extern "C" {
    fn tr_limit_features(limit: c_int) -> Features;
    fn tr_limit_run(limit: c_int, rounds: u64) -> u64;
}

/// What the probe can exercise: enum tr_limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Xmm,
    Ymm,
    Zmm,
    Chain,
}

impl Limit {
    pub const ALL: [Limit; 4] = [Limit::Xmm, Limit::Ymm, Limit::Zmm, Limit::Chain];

    pub fn name(self) -> &'static str {
        match self {
            Limit::Xmm => "xmm",
            Limit::Ymm => "ymm",
            Limit::Zmm => "zmm",
            Limit::Chain => "chain",
        }
    }

    /// The bytes of state that one instruction takes through a round.
    pub fn register_bytes(self) -> usize {
        match self {
            Limit::Xmm | Limit::Chain => 16,
            Limit::Ymm => 32,
            Limit::Zmm => 64,
        }
    }

    /// Those that this processor can run; none where it has no AES instructions.
    pub fn usable(cpu: &Cpu) -> Vec<Limit> {
        let runs = |l: &Limit| {
            let needed = unsafe { tr_limit_features(*l as c_int) };
            needed != 0 && needed & !cpu.usable == 0
        };
        Limit::ALL.into_iter().filter(runs).collect()
    }

    /// Executes about that many rounds and returns the bytes that passed through one each. The limit
    /// must be usable.
    pub fn run(self, rounds: u64) -> u64 {
        unsafe { tr_limit_run(self as c_int, rounds) }
    }
}
