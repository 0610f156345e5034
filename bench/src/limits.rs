// SPDX-License-Identifier: BSD-2-Clause
//! The limit probe by itself, and the bounds of a cell of the grid.

use crate::answer::{Figure, CEILING, LIMIT, OPERATIONS};
use crate::peer::{Mode, Spec, RAGGED};
use measure::kernel::{self, Operations};
use measure::limit::{self, Limit, Pass, Work};
use measure::window::Pace;
use tenrounds_sys::{Backend, Cpu, Tuning};
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

/// All bounds of a cell, by their ids. The ceiling is measured only where the operations of the
/// core's kernel are not known.
pub fn bounds(spec: Spec, bytes: usize, backend: Backend, cpu: &Cpu) -> Vec<(&'static str, Loops)> {
    let run = |work: Work| Box::new(move |n| work.run(n)) as Loops;
    let limit = work(spec, cpu).map(|work| (LIMIT, run(work)));
    let more = operations(spec, bytes, backend, cpu)
        .map(|found| (OPERATIONS, Box::new(move |n| found.run(n)) as Loops))
        .or_else(|| Some((CEILING, run(ceiling(spec, cpu)?))))
        .or_else(|| {
            let (work, times) = longest_chain(spec, bytes, cpu)?;
            let run = move |n| (work.run(n) as f64 * times) as u64;
            Some((CEILING, Box::new(run) as Loops))
        });
    limit.into_iter().chain(more).collect()
}

/// The operations of the core's kernels for one message with `backend`.
fn operations(spec: Spec, bytes: usize, backend: Backend, cpu: &Cpu) -> Option<Operations> {
    if spec.streams > 1 && spec.mode != Mode::Xts {
        return None;
    }
    let width = kernel::width(backend)?;
    let (cipher, tuning) = (spec.cipher(), Tuning::selected());
    Operations::of(cipher, spec.direction, bytes, width, &tuning).filter(|o| o.runs(cpu))
}

/// The same with the multiplications of the mode's hash.
fn ceiling(spec: Spec, cpu: &Cpu) -> Option<Work> {
    let work = limit::ceiling(spec.cipher(), spec.direction, Limit::widest(cpu)?)?;
    work.runs(cpu).then_some(work)
}

/// The chain of the longest of unequal streams, and the bytes of all streams per byte of it: no
/// call ends before it. None for streams that have no chain.
fn longest_chain(spec: Spec, bytes: usize, cpu: &Cpu) -> Option<(Work, f64)> {
    if spec.streams != RAGGED || spec.cipher().bound(spec.direction) != catalogue::Bound::Latency {
        return None;
    }
    let work = limit::limit(spec.cipher(), spec.direction, false, Limit::widest(cpu)?)?;
    let longest = spec.lengths(bytes).into_iter().max()?;
    let times = spec.total(bytes) as f64 / longest as f64;
    work.runs(cpu).then_some((work, times))
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
        let mut pace = Pace::default();
        let mut rates = Vec::new();
        for _ in 0..windows {
            let window = pace.warm_window(window_us, &mut |n| Ok(run(n)))?;
            rates.push(window.rate());
        }
        let rates = vec![rates];
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
    if let Some(chain) = limit::clmul_chain(&cpu) {
        add(
            "clmul-chain".into(),
            "carry-less multiplications, each of the result of the one before: bytes of the registers".into(),
            &mut |n| chain(n),
        )?;
    }
    if let Some(width) = Limit::widest(&cpu) {
        for (bytes, place) in COPIES {
            let mut copy = limit::Copy::new(width, bytes);
            add(
                format!("copy-{}", terminal::size_name(bytes).replace(' ', "")),
                format!(
                    "loads and stores of {} bytes, {place}",
                    width.register_bytes()
                ),
                &mut |n| copy.run(n),
            )?;
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{spec, Direction};

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
        let Some(backend) = Backend::by_name("aesni").filter(|b| b.runs_with(cpu.usable)) else {
            return;
        };
        if cpu.usable & tenrounds_sys::feature::AVX == 0 {
            return;
        }
        let ids = |mode, direction, streams| -> Vec<&str> {
            let bytes = if streams == RAGGED {
                crate::peer::RAGGED_BYTES
            } else {
                512
            };
            let found = bounds(spec(mode, direction, streams), bytes, backend, &cpu);
            assert!(found.iter().all(|(_, run)| run(1) > 0));
            found.into_iter().map(|(id, _)| id).collect()
        };
        assert_eq!(ids(Mode::Ctr, Encrypt, 1), [LIMIT, OPERATIONS]);
        assert_eq!(ids(Mode::Gcm, Decrypt, 1), [LIMIT, OPERATIONS]);
        assert_eq!(ids(Mode::Xts, Encrypt, 8), [LIMIT, OPERATIONS]);
        assert_eq!(ids(Mode::Cbc, Encrypt, 1), [LIMIT]);
        assert_eq!(ids(Mode::Cbc, Encrypt, 16), [LIMIT]);
        assert_eq!(ids(Mode::Cbc, Encrypt, RAGGED), [LIMIT, CEILING]);
        assert_eq!(ids(Mode::GcmSiv, Decrypt, 1), [LIMIT, CEILING]);
    }

    #[test]
    fn the_probe_has_figures_of_all_kinds() {
        let figures = probe(1, 50).unwrap();
        if Cpu::detect().usable & tenrounds_sys::feature::CLMUL != 0 {
            for name in ["aes-xmm", "aes-chain", "clmul-chain", "copy-8KiB"] {
                assert!(figures.iter().any(|f| f.name == name), "{name}");
            }
        }
        assert!(figures.iter().all(|f| f.summary().unwrap().median > 0.0));
    }
}
