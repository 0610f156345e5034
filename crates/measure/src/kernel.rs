// SPDX-License-Identifier: BSD-2-Clause
//! The operations of the core's own kernels without their dependencies (c/kernels.h), and which
//! kernels a call uses.

use crate::limit::Limit;
use catalogue::{Bound, Cipher, Direction, Mode, BLOCK};
use std::ffi::{c_int, c_uint};
use tenrounds_sys::{feature, Backend, Cpu, Features, Tuning};

extern "C" {
    fn tr_kernel_features(width: c_int) -> Features;
    fn tr_kernel_run(width: c_int, kernel: c_int, rounds: c_uint, blocks: u64) -> u64;
}

/// enum tr_kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Ecb,
    Shifted,
    CtrBytes,
    Ctr,
    CtrFill,
    CtrTable,
    Gcm,
    GcmPrepared,
    GcmFill,
    GcmTable,
    Xts,
    XtsChain,
    XtsRing,
    Ocb,
}

/// The kernels that a call uses, each with its blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations {
    width: Limit,
    rounds: u32,
    parts: Vec<(Kernel, usize)>,
}

/// The width of a backend's registers; None for one without AES instructions, or not of x86-64.
pub fn width(backend: Backend) -> Option<Limit> {
    let has = |wanted| backend.features() & wanted != 0;
    match () {
        _ if !has(feature::AES) || has(feature::NEON) => None,
        _ if has(feature::AVX512) => Some(Limit::Zmm),
        _ if has(feature::VAES) => Some(Limit::Ymm),
        _ => Some(Limit::Xmm),
    }
}

/// Blocks that share a table of states: CTR_PERIOD, GCM_PERIOD.
const PERIOD: usize = 256;
/// Blocks of the loops for calls that have only one kernel: whole groups at every width.
const BLOCKS: usize = 14 * 16 * 4;

impl Operations {
    /// Those of one call of `bytes`, where the blocks of the mode are independent; None for other
    /// modes. The sizes at which the kernels change are those of core/simd, named here.
    pub fn of(
        cipher: Cipher,
        direction: Direction,
        bytes: usize,
        width: Limit,
        tuning: &Tuning,
    ) -> Option<Operations> {
        let independent = [Bound::Throughput, Bound::Hashed].contains(&cipher.bound(direction));
        if !independent || width == Limit::Chain {
            return None;
        }
        let (blocks, vector) = (bytes / BLOCK, width.register_bytes() / BLOCK);
        let group = 8 * vector;
        // A table replaces rounds from the second period on.
        let table = |fill, rest| vec![(fill, PERIOD), (rest, blocks.saturating_sub(PERIOD))];
        let one = |kernel| vec![(kernel, BLOCKS)];
        // CTR_LONG_FROM (ctr_states.h)
        let ctr_long = PERIOD + group + if vector == 1 { 32 } else { 112 };
        // GCM_LONG_FROM (gcm/long.h)
        let gcm_long = [96, 128, 192][vector.ilog2() as usize];
        // XTS_LONG_FROM (xts/long.h), XTS_RING_FROM, xts_prefers_ring() (xts/ring.h)
        let xts_long = if width == Limit::Zmm { 3 } else { 9 } * group;
        let ring = tuning.separate_clmul || (vector == 4 && tuning.aes512_per_cycle == 2);
        let parts = match cipher.mode() {
            Mode::Ecb => one(Kernel::Ecb),
            Mode::Cbc | Mode::Cfb128 => one(Kernel::Shifted),
            // SHORT_CTR (ctr.h)
            Mode::Ctr if blocks < 128 => one(Kernel::CtrBytes),
            Mode::Ctr if blocks < ctr_long => one(Kernel::Ctr),
            Mode::Ctr => table(Kernel::CtrFill, Kernel::CtrTable),
            Mode::Gcm if blocks < gcm_long => one(Kernel::Gcm),
            // GCM_TABLE_FROM (gcm/long.h)
            Mode::Gcm if blocks < 3 * PERIOD / 2 => one(Kernel::GcmPrepared),
            Mode::Gcm => table(Kernel::GcmFill, Kernel::GcmTable),
            Mode::Xts if ring && blocks >= 64 + group => one(Kernel::XtsRing),
            Mode::Xts if !ring && blocks >= xts_long => one(Kernel::XtsChain),
            Mode::Xts => one(Kernel::Xts),
            Mode::Ocb => one(Kernel::Ocb),
            _ => return None,
        };
        Some(Operations {
            width,
            rounds: cipher.rounds(),
            parts,
        })
    }

    pub fn runs(&self, cpu: &Cpu) -> bool {
        // SAFETY: the function takes any number.
        let needed = unsafe { tr_kernel_features(self.width as c_int) };
        needed != 0 && needed & !cpu.usable == 0
    }

    /// Executes the operations of so many calls, kernel by kernel, so that no loop is short.
    /// Returns the bytes. They must run here.
    pub fn run(&self, times: u64) -> u64 {
        let run = |&(kernel, blocks): &(Kernel, usize)| {
            // SAFETY: runs() is true, so the processor has the instructions.
            unsafe {
                tr_kernel_run(
                    self.width as c_int,
                    kernel as c_int,
                    self.rounds,
                    blocks as u64 * times,
                )
            }
        };
        self.parts.iter().map(run).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Kernel; 14] = [
        Kernel::Ecb,
        Kernel::Shifted,
        Kernel::CtrBytes,
        Kernel::Ctr,
        Kernel::CtrFill,
        Kernel::CtrTable,
        Kernel::Gcm,
        Kernel::GcmPrepared,
        Kernel::GcmFill,
        Kernel::GcmTable,
        Kernel::Xts,
        Kernel::XtsChain,
        Kernel::XtsRing,
        Kernel::Ocb,
    ];
    const WIDTHS: [Limit; 3] = [Limit::Xmm, Limit::Ymm, Limit::Zmm];

    fn generic() -> Tuning {
        let rows = Tuning::all();
        *rows.iter().find(|row| row.name == "generic").unwrap()
    }

    fn parts(name: &str, direction: Direction, bytes: usize, width: Limit) -> Vec<(Kernel, usize)> {
        let cipher = Cipher::by_name(name).unwrap();
        let tuning = Tuning {
            separate_clmul: false,
            ..generic()
        };
        Operations::of(cipher, direction, bytes, width, &tuning)
            .map_or(Vec::new(), |found| found.parts)
    }

    #[test]
    fn every_kernel_that_runs_does_whole_groups() {
        let cpu = Cpu::detect();
        for width in WIDTHS {
            for kernel in ALL {
                for rounds in [10, 12, 14] {
                    let operations = Operations {
                        width,
                        rounds,
                        parts: vec![(kernel, BLOCKS)],
                    };
                    if operations.runs(&cpu) {
                        assert_eq!(operations.run(2), 2 * BLOCKS as u64 * 16, "{operations:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn nonsense_does_nothing() {
        for (width, kernel, rounds, blocks) in [
            (0, 0, 11, 1),
            (0, 0, 10, 0),
            (0, 14, 10, 1),
            (3, 0, 10, 1),
            (4, 0, 10, 1),
        ] {
            // SAFETY: such arguments execute nothing.
            let done = unsafe { tr_kernel_run(width, kernel, rounds, blocks) };
            assert_eq!(done, 0);
        }
    }

    #[test]
    fn the_length_of_a_call_chooses_its_kernel() {
        use Direction::{Decrypt, Encrypt};
        let only = |name, direction, bytes, width| match &*parts(name, direction, bytes, width) {
            [(kernel, BLOCKS)] => Some(*kernel),
            _ => None,
        };
        let ymm = |name, bytes| only(name, Encrypt, bytes, Limit::Ymm);
        assert_eq!(ymm("aes-128-ecb", 16), Some(Kernel::Ecb));
        assert_eq!(ymm("aes-128-ctr", 2032), Some(Kernel::CtrBytes));
        assert_eq!(ymm("aes-128-ctr", 4096), Some(Kernel::Ctr));
        assert_eq!(ymm("aes-128-gcm", 1024), Some(Kernel::Gcm));
        assert_eq!(ymm("aes-128-gcm", 4096), Some(Kernel::GcmPrepared));
        assert_eq!(ymm("aes-128-xts", 2288), Some(Kernel::Xts));
        assert_eq!(ymm("aes-128-xts", 2304), Some(Kernel::XtsChain));
        assert_eq!(ymm("aes-128-ocb", 4096), Some(Kernel::Ocb));
        assert_eq!(ymm("aes-128-cbc", 4096), None, "a chain");
        let back = |name| only(name, Decrypt, 4096, Limit::Xmm);
        let shifted = Some(Kernel::Shifted);
        assert_eq!(
            (back("aes-256-cbc"), back("aes-256-cfb")),
            (shifted, shifted)
        );
        assert_eq!(only("aes-128-cbc", Decrypt, 4096, Limit::Chain), None);
        let long = parts("aes-128-ctr", Encrypt, 16384, Limit::Zmm);
        assert_eq!(long, [(Kernel::CtrFill, 256), (Kernel::CtrTable, 768)]);
        let long = parts("aes-128-gcm", Decrypt, 6144, Limit::Ymm);
        assert_eq!(long, [(Kernel::GcmFill, 256), (Kernel::GcmTable, 128)]);
    }

    #[test]
    fn the_processor_chooses_how_xts_finds_its_tweaks() {
        let cipher = Cipher::by_name("aes-256-xts").unwrap();
        let at = |width, tuning| {
            Operations::of(cipher, Direction::Encrypt, 16384, width, &tuning)
                .map(|found| found.parts[0].0)
        };
        let of = |separate_clmul, aes512_per_cycle| Tuning {
            separate_clmul,
            aes512_per_cycle,
            ..generic()
        };
        assert_eq!(at(Limit::Ymm, of(false, 2)), Some(Kernel::XtsChain));
        assert_eq!(at(Limit::Zmm, of(false, 2)), Some(Kernel::XtsRing));
        assert_eq!(at(Limit::Zmm, of(false, 1)), Some(Kernel::XtsChain));
        assert_eq!(at(Limit::Ymm, of(true, 1)), Some(Kernel::XtsRing));
    }

    #[test]
    fn backends_have_widths() {
        for (name, expected) in [
            ("vaes512", Some(Limit::Zmm)),
            ("vaes256", Some(Limit::Ymm)),
            ("aesni", Some(Limit::Xmm)),
            ("armce", None),
            ("portable", None),
        ] {
            if let Some(backend) = Backend::by_name(name) {
                assert_eq!(width(backend), expected, "{name}");
            }
        }
    }

    /// The last length of a kernel and the first of the next, at each width (core/simd).
    #[test]
    fn kernels_change_at_their_lengths() {
        let at = |name, blocks: usize, width| {
            let found = parts(name, Direction::Encrypt, 16 * blocks, width);
            (found[0].0, found.len())
        };
        let (bytes, ctr, table) = (Kernel::CtrBytes, Kernel::Ctr, Kernel::CtrFill);
        for (width, long) in [(Limit::Xmm, 296), (Limit::Ymm, 384), (Limit::Zmm, 400)] {
            let found = [127, 128, long - 1, long].map(|blocks| at("aes-128-ctr", blocks, width));
            assert_eq!(
                found,
                [(bytes, 1), (ctr, 1), (ctr, 1), (table, 2)],
                "{width:?}"
            );
        }
        let (gcm, prepared, table) = (Kernel::Gcm, Kernel::GcmPrepared, Kernel::GcmFill);
        for (width, long) in [(Limit::Xmm, 96), (Limit::Ymm, 128), (Limit::Zmm, 192)] {
            let found = [long - 1, long, 383, 384].map(|blocks| at("aes-128-gcm", blocks, width));
            assert_eq!(
                found,
                [(gcm, 1), (prepared, 1), (prepared, 1), (table, 2)],
                "{width:?}"
            );
        }
        let (xts, chain) = ((Kernel::Xts, 1), (Kernel::XtsChain, 1));
        for (width, long) in [(Limit::Xmm, 72), (Limit::Ymm, 144)] {
            let found = [long - 1, long].map(|blocks| at("aes-128-xts", blocks, width));
            assert_eq!(found, [xts, chain], "{width:?}");
        }
        let ring = |blocks: usize, width, separate_clmul, aes512_per_cycle| {
            let tuning = Tuning {
                separate_clmul,
                aes512_per_cycle,
                ..generic()
            };
            let cipher = Cipher::by_name("aes-128-xts").unwrap();
            let found = Operations::of(cipher, Direction::Encrypt, 16 * blocks, width, &tuning);
            found.unwrap().parts[0].0
        };
        for (width, from) in [(Limit::Xmm, 72), (Limit::Ymm, 80), (Limit::Zmm, 96)] {
            let found = [from - 1, from].map(|blocks| ring(blocks, width, true, 0));
            assert_eq!(found, [Kernel::Xts, Kernel::XtsRing], "{width:?}");
        }
        let found = [95, 96].map(|blocks| ring(blocks, Limit::Zmm, false, 1));
        assert_eq!(found, [Kernel::Xts, Kernel::XtsChain]);
        // The loops of a kernel alone have whole groups at each width: 14, 16 and 64 blocks.
        let rests = [14, 16, 64].map(|group| BLOCKS % group);
        assert_eq!(rests, [0, 0, 0]);
        let long = parts("aes-128-gcm", Direction::Encrypt, 16 * 1000, Limit::Zmm);
        assert_eq!(long, [(Kernel::GcmFill, 256), (Kernel::GcmTable, 744)]);
    }
}
