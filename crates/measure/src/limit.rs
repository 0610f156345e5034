// SPDX-License-Identifier: BSD-2-Clause
//! The limit probe (c/limit.h), and the model of what bounds a mode.
//!
//! The *limit* of a mode is what the core does when it executes only the AES rounds that the mode
//! needs. The *ceiling* of GCM adds the multiplications that its hash needs at least.

use crate::crew::Job;
use catalogue::{Bound, Cipher, Direction, Mode};
use serde::{Deserialize, Serialize};
use std::ffi::{c_int, c_uint};
use tenrounds_sys::{Cpu, Features, BLOCK};
use terminal::error::Result;

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
            // Arm's registers of 128 bits belong to NEON.
            Limit::Xmm if cfg!(target_arch = "aarch64") => "neon",
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
        // SAFETY: the function takes any number.
        let runs = |l: &Limit| has(cpu, unsafe { tr_limit_features(*l as c_int) });
        Limit::ALL.into_iter().filter(runs).collect()
    }

    /// The widest of those for independent rounds; None without AES instructions.
    pub fn widest(cpu: &Cpu) -> Option<Limit> {
        let usable = Limit::usable(cpu);
        [Limit::Zmm, Limit::Ymm, Limit::Xmm]
            .into_iter()
            .find(|l| usable.contains(l))
    }

    /// Whether this processor can also multiply without carries at this width.
    pub fn hashes(self, cpu: &Cpu) -> bool {
        // SAFETY: the function takes any number.
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
        // SAFETY: runs() is true, so the processor has the instructions.
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

    /// The multiplications of a hash alone.
    pub fn products(on: Limit) -> Work {
        Work(vec![Pass {
            on,
            rounds: 0,
            hash: true,
        }])
    }

    pub fn runs(&self, cpu: &Cpu) -> bool {
        self.0.iter().all(|pass| pass.runs(cpu))
    }

    /// Does the work of a message, so many times as long as the shortest that fits all loops, and
    /// returns its bytes. It must run here.
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

impl Job for Work {
    fn run(&mut self, calls: u64) -> Result<u64> {
        Ok(Work::run(self, calls))
    }
}

/// What bounds a cipher, given the fastest width. None for a cipher that is not AES. `several` says
/// that one call processes several messages, so that a chain does not wait for itself.
pub fn limit(cipher: Cipher, direction: Direction, several: bool, widest: Limit) -> Option<Work> {
    let pass = |on, rounds, hash| Pass { on, rounds, hash };
    let rounds = cipher.rounds();
    let wide = pass(widest, rounds, false);
    let chain = pass(Limit::Chain, rounds, false);
    let hash = pass(widest, 0, true);
    Some(Work(match cipher.bound(direction) {
        // CCM encrypts each block twice: for its MAC, and for the keystream.
        Bound::Latency if several && cipher.mode() == Mode::Ccm => vec![wide, wide],
        Bound::Latency if several => vec![wide],
        Bound::Throughput | Bound::Hashed => vec![wide],
        Bound::Latency => vec![chain],
        Bound::LatencyThenThroughput => vec![chain, wide],
        Bound::HashThenThroughput => vec![hash, wide],
        Bound::Unknown => return None,
    }))
}

/// The rounds with the multiplications of the hash, for modes that hash each block as they encrypt
/// it.
pub fn ceiling(cipher: Cipher, direction: Direction, widest: Limit) -> Option<Work> {
    let pass = Pass {
        on: widest,
        rounds: cipher.rounds(),
        hash: true,
    };
    (cipher.bound(direction) == Bound::Hashed).then(|| Work(vec![pass]))
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
                // SAFETY: the loop is usable.
                let done = unsafe { tr_limit_run(on as c_int, instructions) };
                assert_eq!(done, BLOCKS * 16 * rounds, "{on:?}");
            }
            for rounds in [0, 10, 12, 14] {
                if on.hashes(&cpu) {
                    // SAFETY: the loop is usable.
                    let done = unsafe { tr_limit_hash(on as c_int, rounds, BLOCKS) };
                    assert_eq!(done, BLOCKS * 16, "{on:?} {rounds}");
                }
            }
        }
    }

    #[test]
    fn nonsense_does_nothing() {
        for (limit, rounds) in [(2, 8), (2, 16), (2, 11), (2, 2), (3, 10), (4, 10)] {
            // SAFETY: such arguments execute nothing.
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

    fn described(name: &str, direction: Direction, several: bool) -> Option<String> {
        let cipher = Cipher::by_name(name).unwrap();
        limit(cipher, direction, several, Limit::Zmm).map(|work| work.describe())
    }

    #[test]
    fn every_mode_says_what_bounds_it() {
        use Direction::*;
        for (name, direction, several, expected) in [
            ("aes-128-cbc", Encrypt, false, "chain"),
            ("aes-128-cbc", Encrypt, true, "zmm"),
            ("aes-128-cbc", Decrypt, false, "zmm"),
            ("aes-256-ofb", Decrypt, false, "chain"),
            ("aes-256-ccm", Encrypt, false, "chain"),
            ("aes-256-ccm", Encrypt, true, "zmm then zmm"),
            ("aes-128-siv", Encrypt, false, "chain then zmm"),
            ("aes-128-gcm-siv", Encrypt, false, "zmm clmul then zmm"),
            ("aes-128-gcm-siv", Decrypt, false, "zmm"),
        ] {
            let found = described(name, direction, several);
            assert_eq!(found.as_deref(), Some(expected), "{name}");
        }
        assert_eq!(described("rc4", Encrypt, false), None);
        let rounds = |name| {
            let cipher = Cipher::by_name(name).unwrap();
            limit(cipher, Encrypt, false, Limit::Ymm).unwrap().0[0].rounds
        };
        let of = ["aes-128-gcm", "aes-192-gcm", "aes-256-gcm"].map(rounds);
        assert_eq!(of, [10, 12, 14]);
    }

    #[test]
    fn gcm_has_a_ceiling_besides() {
        let found = |name| {
            let cipher = Cipher::by_name(name).unwrap();
            ceiling(cipher, Direction::Encrypt, Limit::Zmm).map(|work| work.describe())
        };
        assert_eq!(found("aes-128-gcm").as_deref(), Some("zmm with clmul"));
        assert_eq!((found("aes-128-ocb"), found("rc4")), (None, None));
    }

    #[test]
    fn features_decide_what_runs() {
        let cpu = |usable| Cpu {
            present: usable,
            usable,
            xcr0: 0,
        };
        assert!(has(&cpu(0b111), 0b101) && has(&cpu(0b101), 0b101));
        assert!(!has(&cpu(0b100), 0b101) && !has(&cpu(0b111), 0));
        let none = cpu(0);
        assert_eq!((Limit::usable(&none), Limit::widest(&none)), (vec![], None));
        assert!(!Work::round(Limit::Xmm).runs(&none));
        let all = cpu(Features::MAX);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(Limit::usable(&all), Limit::ALL);
            assert_eq!(Limit::widest(&all), Some(Limit::Zmm));
        }
        let bytes = Limit::ALL.map(Limit::register_bytes);
        assert_eq!(bytes, [16, 32, 64, 16]);
    }

    #[test]
    fn work_returns_its_bytes() {
        let cpu = Cpu::detect();
        for on in Limit::usable(&cpu) {
            let round = Work::round(on);
            assert_eq!(
                round.0,
                [Pass {
                    on,
                    rounds: 1,
                    hash: false
                }]
            );
            // A multiple of the turns of the loops: 48 rounds on the widest registers.
            assert_eq!(round.run(3), 3 * 192 * 16);
        }
    }
}
