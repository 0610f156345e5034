// SPDX-License-Identifier: BSD-2-Clause
//! The probe (bench/limit.h) by itself, and as what bounds a cell of the grid.

use crate::peer::{Direction, Mode, Spec};
use crate::window::{window, Time};
use serde::{Deserialize, Serialize};
use std::ffi::c_int;
use tenrounds::bench::limit::{Limit, Pass, Work};
use tenrounds::bench::stats::Summary;
use tenrounds::core::{Cpu, Features};
use tenrounds::error::Result;

extern "C" {
    fn tr_limit_clmul_chain_features() -> Features;
    fn tr_limit_clmul_chain(products: u64) -> u64;
    fn tr_limit_copy(width: c_int, out: *mut u8, input: *const u8, bytes: usize, times: u64)
        -> u64;
}

/// Which of the two bounds a cell has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    Throughput,
    Latency,
}

/// One stream of a chained mode waits for itself; all else does not have to.
pub fn bound(spec: Spec) -> Bound {
    let chained = matches!(
        (spec.mode, spec.direction),
        (Mode::Cbc | Mode::Cfb128, Direction::Encrypt) | (Mode::Ofb | Mode::Cmac | Mode::Ccm, _)
    );
    match chained && spec.streams == 1 {
        true => Bound::Latency,
        false => Bound::Throughput,
    }
}

pub fn rounds(key_bits: u16) -> u32 {
    6 + u32::from(key_bits) / 32
}

/// The widest registers for rounds here; None where there are no AES instructions.
pub fn widest(cpu: &Cpu) -> Option<Limit> {
    let usable = Limit::usable(cpu);
    [Limit::Zmm, Limit::Ymm, Limit::Xmm]
        .into_iter()
        .find(|l| usable.contains(l))
}

/// The rounds of a cell's blocks and nothing else. Many messages of CCM are two passes over each block, which share the
/// same units.
pub fn work(spec: Spec, cpu: &Cpu) -> Option<Work> {
    let on = match bound(spec) {
        Bound::Throughput => widest(cpu)?,
        Bound::Latency => Limit::Chain,
    };
    let twice = spec.mode == Mode::Ccm && spec.streams > 1;
    let pass = Pass {
        on,
        rounds: rounds(spec.key_bits) * if twice { 2 } else { 1 },
        hash: false,
    };
    let work = match twice {
        // The probe has loops for the rounds of one pass.
        true => Work(vec![
            Pass {
                rounds: pass.rounds / 2,
                ..pass
            };
            2
        ]),
        false => Work(vec![pass]),
    };
    work.runs(cpu).then_some(work)
}

/// The same with the fewest multiplications that the mode's hash takes: what is left of the throughput where both wait
/// for the same units.
pub fn ceiling(spec: Spec, cpu: &Cpu) -> Option<Work> {
    let work = Work(vec![Pass {
        on: widest(cpu)?,
        rounds: rounds(spec.key_bits),
        hash: true,
    }]);
    (spec.mode == Mode::Gcm && work.runs(cpu)).then_some(work)
}

/// One figure of the probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub name: String,
    pub what: String,
    pub rates: Vec<f64>,
}

impl Figure {
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(self.rates.iter().copied())
    }
}

/// Bytes of a copy, and where they lie.
const COPIES: [(usize, &str); 3] = [
    (8 << 10, "first-level cache"),
    (128 << 10, "second-level cache"),
    (64 << 20, "memory"),
];

/// Takes windows of all that this processor has.
pub fn probe(windows: usize, window_us: u64) -> Result<Vec<Figure>> {
    let cpu = Cpu::detect();
    let mut figures = Vec::new();
    let mut add = |name: String, what: String, run: &mut dyn FnMut(u64) -> u64| -> Result<()> {
        let mut time = Time::unknown();
        let mut rates = Vec::new();
        for _ in 0..windows {
            rates.push(window(&mut time, window_us, &mut |n| run(n))?.rate());
        }
        figures.push(Figure { name, what, rates });
        Ok(())
    };
    for on in Limit::usable(&cpu) {
        let what = match on {
            Limit::Chain => "AES rounds, each on the result of the one before".into(),
            _ => format!("independent AES rounds, {} bits", on.register_bytes() * 8),
        };
        let work = Work::round(on);
        add(format!("aes-{}", on.name()), what, &mut |n| work.run(n))?;
    }
    for on in Limit::usable(&cpu) {
        if on.hashes(&cpu) {
            let pass = Pass {
                on,
                rounds: 0,
                hash: true,
            };
            let work = Work(vec![pass]);
            // Three products for each 16 bytes.
            add(
                format!("clmul-{}", on.name()),
                format!(
                    "independent carry-less multiplications, {} bits: bytes of the registers",
                    on.register_bytes() * 8
                ),
                &mut |n| 3 * work.run(n),
            )?;
        }
    }
    let needed = unsafe { tr_limit_clmul_chain_features() };
    if needed != 0 && needed & !cpu.usable == 0 {
        add(
            "clmul-chain".into(),
            "carry-less multiplications, each of the result of the one before: bytes of the registers".into(),
            &mut |n| 16 * unsafe { tr_limit_clmul_chain(n * 480) },
        )?;
    }
    if let Some(width) = widest(&cpu) {
        for (bytes, place) in COPIES {
            let (from, mut to) = (Lines::new(bytes), Lines::new(bytes));
            add(
                format!(
                    "copy-{}",
                    tenrounds::bench::size_name(bytes).replace(' ', "")
                ),
                format!(
                    "loads and stores of {} bytes, {place}",
                    width.register_bytes()
                ),
                &mut |n| unsafe {
                    tr_limit_copy(width as c_int, to.start(), from.start_of(), bytes, n)
                },
            )?;
        }
    }
    Ok(figures)
}

/// Memory aligned to cache lines.
struct Lines(Vec<[u8; 64]>, usize);

impl Lines {
    fn new(bytes: usize) -> Lines {
        let memory = vec![[1; 64]; bytes / 64 + 1];
        let skip = memory.as_ptr().cast::<u8>().align_offset(64);
        Lines(memory, skip)
    }

    fn start(&mut self) -> *mut u8 {
        unsafe { self.0.as_mut_ptr().cast::<u8>().add(self.1) }
    }

    fn start_of(&self) -> *const u8 {
        unsafe { self.0.as_ptr().cast::<u8>().add(self.1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(mode: Mode, direction: Direction, streams: usize) -> Spec {
        Spec {
            mode,
            key_bits: 256,
            direction,
            streams,
        }
    }

    #[test]
    fn chains_are_bound_by_latency() {
        use Direction::{Decrypt, Encrypt};
        assert_eq!(bound(spec(Mode::Cbc, Encrypt, 1)), Bound::Latency);
        assert_eq!(bound(spec(Mode::Cbc, Encrypt, 16)), Bound::Throughput);
        assert_eq!(bound(spec(Mode::Cbc, Decrypt, 1)), Bound::Throughput);
        assert_eq!(bound(spec(Mode::Ccm, Decrypt, 1)), Bound::Latency);
        assert_eq!(bound(spec(Mode::Gcm, Decrypt, 1)), Bound::Throughput);
        assert_eq!([128, 192, 256].map(rounds), [10, 12, 14]);
    }

    #[test]
    fn a_copy_is_whole() {
        let bytes = 4096;
        let mut from = Lines::new(bytes);
        let mut to = Lines::new(bytes);
        let cpu = Cpu::detect();
        for (value, width) in Limit::usable(&cpu).into_iter().enumerate() {
            if width == Limit::Chain {
                continue;
            }
            unsafe {
                std::ptr::write_bytes(from.start(), value as u8 + 7, bytes);
                let done = tr_limit_copy(width as c_int, to.start(), from.start_of(), bytes, 2);
                assert_eq!(done, 2 * bytes as u64);
                let copied = std::slice::from_raw_parts(to.start(), bytes);
                assert!(copied.iter().all(|b| *b == value as u8 + 7));
                assert_eq!(
                    tr_limit_copy(width as c_int, to.start(), from.start_of(), 100, 1),
                    0
                );
                assert_eq!(tr_limit_copy(9, to.start(), from.start_of(), bytes, 1), 0);
            }
        }
    }

    #[test]
    fn the_probe_has_figures_of_all_kinds() {
        let figures = probe(1, 50).unwrap();
        if Cpu::detect().usable & tenrounds::core::feature::CLMUL != 0 {
            for name in ["aes-xmm", "aes-chain", "clmul-chain", "copy-8KiB"] {
                assert!(figures.iter().any(|f| f.name == name), "{name}");
            }
        }
        assert!(figures.iter().all(|f| f.summary().unwrap().median > 0.0));
    }
}
