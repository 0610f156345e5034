// SPDX-License-Identifier: BSD-2-Clause
//! The limit probe by itself, and the bounds of a cell of the grid.

use crate::answer::{Figure, CEILING, LIMIT};
use crate::peer::Spec;
use measure::limit::{self, Limit, Work};
use measure::noise;
use measure::rounds::take;
use measure::window::Pace;
use tenrounds_sys::Cpu;
use terminal::error::Result;

/// The rounds of a cell's blocks alone; None without AES instructions, and for key wrap.
pub fn work(spec: Spec, cpu: &Cpu) -> Option<Work> {
    // Key wrap encrypts 6 blocks for each 8 bytes (SP 800-38F section 6.1); the model has 1 for 16.
    if spec.wraps() {
        return None;
    }
    let widest = Limit::widest(cpu)?;
    let work = limit::limit(spec.cipher(), spec.direction, spec.streams > 1, widest)?;
    work.runs(cpu).then_some(work)
}

/// Loops: executes them so many times, and returns the bytes of the calls whose work that is.
pub type Loops = Box<dyn Fn(u64) -> u64>;

/// All bounds of a cell, by their ids.
pub fn bounds(spec: Spec, bytes: usize, cpu: &Cpu) -> Vec<(&'static str, Loops)> {
    let run = |work: Work| Box::new(move |n| work.run(n)) as Loops;
    let limit = work(spec, cpu).map(|work| (LIMIT, run(work)));
    let hashed = ceiling(spec, cpu).map(|work| (CEILING, run(work)));
    let more = hashed.or_else(|| {
        let (work, times) = longest_chain(spec, bytes, cpu)?;
        let run = move |n| (work.run(n) as f64 * times) as u64;
        Some((CEILING, Box::new(run) as Loops))
    });
    limit.into_iter().chain(more).collect()
}

/// The same with the multiplications of the mode's hash.
fn ceiling(spec: Spec, cpu: &Cpu) -> Option<Work> {
    let work = limit::ceiling(spec.cipher(), spec.direction, Limit::widest(cpu)?)?;
    work.runs(cpu).then_some(work)
}

/// The chain of the longest of unequal streams, and the bytes of all streams per byte of it: no
/// call ends before it. None for streams that have no chain.
fn longest_chain(spec: Spec, bytes: usize, cpu: &Cpu) -> Option<(Work, f64)> {
    if !spec.is_ragged() || spec.cipher().bound(spec.direction) != catalogue::Bound::Latency {
        return None;
    }
    let work = limit::limit(spec.cipher(), spec.direction, false, Limit::widest(cpu)?)?;
    let longest = spec.lengths(bytes).into_iter().max()?;
    let times = spec.total(bytes) as f64 / longest as f64;
    work.runs(cpu).then_some((work, times))
}

/// The limits by themselves on this processor, in rounds of windows.
pub fn probe(windows: usize, window_us: u64) -> Result<Vec<Figure>> {
    let cpu = Cpu::detect();
    let rounds = Limit::usable(&cpu).into_iter().map(|on| {
        let what = match on {
            Limit::Chain => "AES rounds, each on the result of the one before".into(),
            _ => format!("independent AES rounds, {} bits", on.register_bytes() * 8),
        };
        (format!("aes-{}", on.name()), what, Work::round(on), 1)
    });
    let hashing = Limit::usable(&cpu).into_iter().filter(|on| on.hashes(&cpu));
    // Three products for each 16 bytes.
    let products = hashing.map(|on| {
        let bits = on.register_bytes() * 8;
        let what = "independent carry-less multiplications";
        let what = format!("{what}, {bits} bits: bytes of the registers");
        (format!("clmul-{}", on.name()), what, Work::products(on), 3)
    });
    let probes: Vec<(String, String, Work, u64)> = rounds.chain(products).collect();
    let mut paces: Vec<Pace> = probes.iter().map(|_| Pace::default()).collect();
    let taken = take(
        probes.len(),
        0..windows,
        noise::unprobed,
        &mut |_, which| {
            let (_, _, work, factor) = &probes[which];
            paces[which].warm_window(window_us, &mut |times| Ok(factor * work.run(times)))
        },
    )?;
    let probed = probes.into_iter().zip(taken.rates);
    let figures = probed.map(|((name, what, ..), rates)| Figure {
        name,
        what,
        rates: vec![rates],
    });
    Ok(figures.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{spec, Direction, Mode, RAGGED};

    #[test]
    fn the_longest_of_unequal_streams_bounds_them() {
        let cpu = Cpu::detect();
        let of = |streams, mode, bytes| {
            longest_chain(spec(mode, Direction::Encrypt, streams), bytes, &cpu)
        };
        assert!(of(16, Mode::Cbc, 16384).is_none());
        if Limit::widest(&cpu).is_some() {
            let (work, times) = of(RAGGED, Mode::Cbc, crate::peer::RAGGED_BYTES).unwrap();
            assert_eq!(work.describe(), "chain");
            assert!((11.0..13.0).contains(&times), "{times}");
        }
    }

    #[test]
    fn a_cell_has_one_bound_beside_the_limit() {
        use Direction::{Decrypt, Encrypt};
        let cpu = Cpu::detect();
        if cpu.usable & tenrounds_sys::feature::CLMUL == 0 || Limit::widest(&cpu).is_none() {
            return;
        }
        let ids = |mode, direction, streams| -> Vec<&str> {
            let bytes = if streams == RAGGED {
                crate::peer::RAGGED_BYTES
            } else {
                512
            };
            let found = bounds(spec(mode, direction, streams), bytes, &cpu);
            assert!(found.iter().all(|(_, run)| run(1) > 0));
            found.into_iter().map(|(id, _)| id).collect()
        };
        assert_eq!(ids(Mode::Ctr, Encrypt, 1), [LIMIT]);
        assert_eq!(ids(Mode::Gcm, Decrypt, 1), [LIMIT, CEILING]);
        assert_eq!(ids(Mode::Cbc, Encrypt, 1), [LIMIT]);
        assert_eq!(ids(Mode::Cbc, Encrypt, 16), [LIMIT]);
        assert_eq!(ids(Mode::Cbc, Encrypt, RAGGED), [LIMIT, CEILING]);
        assert_eq!(ids(Mode::GcmSiv, Decrypt, 1), [LIMIT, CEILING]);
    }

    #[test]
    fn the_probe_has_figures_of_all_kinds() {
        let figures = probe(1, 50).unwrap();
        if Cpu::detect().usable & tenrounds_sys::feature::CLMUL != 0 {
            for name in ["aes-xmm", "aes-chain", "clmul-xmm"] {
                assert!(figures.iter().any(|f| f.name == name), "{name}");
            }
        }
        assert!(figures.iter().all(|f| f.summary().unwrap().median > 0.0));
    }
}
