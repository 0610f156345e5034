// SPDX-License-Identifier: BSD-2-Clause
//! The limit probe (bench/limit.h), safely.

use crate::core::{Cpu, Features, BLOCK};
use serde::{Deserialize, Serialize};
use std::ffi::{c_int, c_uint};

extern "C" {
    fn tr_limit_features(limit: c_int) -> Features;
    fn tr_limit_run(limit: c_int, rounds: u64) -> u64;
    fn tr_limit_hash_features(limit: c_int) -> Features;
    fn tr_limit_hash(limit: c_int, rounds: c_uint, blocks: u64) -> u64;
}

/// What the probe can exercise: enum tr_limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
        let runs = |l: &Limit| has(cpu, unsafe { tr_limit_features(*l as c_int) });
        Limit::ALL.into_iter().filter(runs).collect()
    }

    /// Whether this processor can also multiply without carries at this width.
    pub fn hashes(self, cpu: &Cpu) -> bool {
        has(cpu, unsafe { tr_limit_hash_features(self as c_int) })
    }
}

fn has(cpu: &Cpu, needed: Features) -> bool {
    needed != 0 && needed & !cpu.usable == 0
}

/// The instructions that every block of a message needs in one pass over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    pub on: Limit,
    /// Of AES, for each block.
    pub rounds: u32,
    /// Whether the block is also multiplied for GHASH or POLYVAL.
    pub hash: bool,
}

impl Pass {
    fn runs(self, cpu: &Cpu) -> bool {
        Limit::usable(cpu).contains(&self.on) && (!self.hash || self.on.hashes(cpu))
    }

    /// The instructions for so many blocks, which fill whole turns of the loops.
    fn run(self, blocks: u64) {
        unsafe {
            if self.hash {
                tr_limit_hash(self.on as c_int, self.rounds, blocks);
            } else {
                let per_register = (self.on.register_bytes() / BLOCK) as u64;
                tr_limit_run(
                    self.on as c_int,
                    blocks / per_register * u64::from(self.rounds),
                );
            }
        }
    }

    /// "zmm", "chain", "zmm with clmul".
    pub fn describe(self) -> String {
        match (self.rounds, self.hash) {
            (0, _) => format!("{} clmul", self.on.name()),
            (_, true) => format!("{} with clmul", self.on.name()),
            (_, false) => self.on.name().into(),
        }
    }
}

/// A bound: passes one after the other, each of which waits for the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work(pub Vec<Pass>);

/// A multiple of what each loop does in a turn: 48 rounds, or 12 registers.
const BLOCKS: u64 = 48 * 4;

impl Work {
    /// One round on each block: the limit by itself.
    pub fn round(on: Limit) -> Work {
        Work(vec![Pass {
            on,
            rounds: 1,
            hash: false,
        }])
    }

    pub fn runs(&self, cpu: &Cpu) -> bool {
        self.0.iter().all(|pass| pass.runs(cpu))
    }

    /// Does the work of a message, so many times as long as the shortest that fits all loops, and returns
    /// its bytes. It must run here.
    pub fn run(&self, times: u64) -> u64 {
        let blocks = times * BLOCKS;
        self.0.iter().for_each(|pass| pass.run(blocks));
        blocks * BLOCK as u64
    }

    /// "zmm", "chain then zmm".
    pub fn describe(&self) -> String {
        let passes: Vec<String> = self.0.iter().map(|pass| pass.describe()).collect();
        passes.join(" then ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_that_runs_does_whole_turns() {
        let cpu = Cpu::detect();
        for on in Limit::usable(&cpu) {
            for rounds in [10, 12, 14] {
                let instructions = BLOCKS / (on.register_bytes() / BLOCK) as u64 * rounds;
                let done = unsafe { tr_limit_run(on as c_int, instructions) };
                assert_eq!(done, BLOCKS * 16 * rounds, "{on:?}");
            }
            for rounds in [0, 10, 12, 14] {
                if on.hashes(&cpu) {
                    let done = unsafe { tr_limit_hash(on as c_int, rounds, BLOCKS) };
                    assert_eq!(done, BLOCKS * 16, "{on:?} {rounds}");
                }
            }
        }
    }

    #[test]
    fn nonsense_does_nothing() {
        for (limit, rounds) in [(2, 8), (2, 16), (2, 11), (2, 2), (3, 10), (4, 10)] {
            assert_eq!(unsafe { tr_limit_hash(limit, rounds, 1) }, 0);
        }
        assert!(!Limit::Chain.hashes(&Cpu::detect()));
    }

    #[test]
    fn passes_have_names() {
        let pass = |on, rounds, hash| Pass { on, rounds, hash };
        let siv = Work(vec![
            pass(Limit::Chain, 10, false),
            pass(Limit::Zmm, 10, false),
        ]);
        assert_eq!(siv.describe(), "chain then zmm");
        assert_eq!(
            Work(vec![pass(Limit::Ymm, 10, true)]).describe(),
            "ymm with clmul"
        );
        assert_eq!(
            Work(vec![pass(Limit::Ymm, 0, true)]).describe(),
            "ymm clmul"
        );
    }
}
