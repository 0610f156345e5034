// SPDX-License-Identifier: BSD-2-Clause
//! The noise probe: a short loop of known work beside each window. A neighbour on the same core, or
//! another clock frequency, changes its time, although both clocks of the window agree.
//!
//! The loop executes two independent chains of LEA, 16 cycles a turn, and uses no memory. Loops of
//! three or more would notice a neighbour earlier, but their time varies too much: on a busy
//! Zen 4 in a virtual machine they would void 12 to 35 % of the windows, this one 1 %. Ratios are
//! computed within a round, so only a difference within the round voids a window.

use crate::stats;
use crate::window::{clock, WALL};
use terminal::error::Result;

/// A probe may differ from the median of its round by this fraction.
pub const MAX_DIFFERENCE: f64 = 0.02;

/// A void window is repeated this many times at most.
const REPEATS: usize = 2;

/// The fastest slice counts, so that an interrupt in another one does not. A slice takes 4 to 6 µs.
const SLICES: usize = 4;
const TURNS: u64 = 1000;

/// Runs the loop, and returns the nanoseconds of the fastest slice.
pub fn probe() -> Result<f64> {
    let mut fastest = u64::MAX;
    for _ in 0..SLICES {
        let begin = clock(WALL)?;
        spin(TURNS);
        fastest = fastest.min(clock(WALL)? - begin);
    }
    Ok(fastest as f64)
}

/// No probe: no window is void.
pub fn unprobed() -> Result<f64> {
    Ok(1.0)
}

#[cfg(target_arch = "x86_64")]
fn spin(turns: u64) {
    // The step is in a register, because some processors add constants when they rename registers.
    // SAFETY: the loop changes these registers and nothing else.
    unsafe {
        std::arch::asm!(
            "2:",
            ".rept 16",
            "lea {a}, [{a} + {step}]",
            "lea {b}, [{b} + {step}]",
            ".endr",
            "sub {turns}, 1",
            "jnz 2b",
            turns = inout(reg) turns => _,
            step = in(reg) 3u64,
            a = inout(reg) 0u64 => _,
            b = inout(reg) 0u64 => _,
            options(nomem, nostack)
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn spin(turns: u64) {
    let mut chains = [0u64; 2];
    for turn in 0..turns * 16 {
        for chain in &mut chains {
            *chain = chain.wrapping_add(std::hint::black_box(turn));
        }
    }
    std::hint::black_box(chains);
}

/// A window of a round, with the probes before and after it.
pub struct Beside<T> {
    pub window: T,
    before: f64,
    after: f64,
    /// How often it was void and taken again.
    pub repeated: usize,
    /// Whether the last one is void, too.
    pub void: bool,
}

impl<T> Beside<T> {
    /// Both probes differ: the conditions lasted for the whole window.
    fn differs(&self, median: f64) -> bool {
        let differs = |probe: f64| (probe / median - 1.0).abs() > MAX_DIFFERENCE;
        differs(self.before) && differs(self.after)
    }
}

/// Takes the windows of a round, with a probe between any two, and repeats those that are void.
pub fn round<T>(
    count: usize,
    probe: &mut dyn FnMut() -> Result<f64>,
    take: &mut dyn FnMut(usize) -> Result<T>,
) -> Result<Vec<Beside<T>>> {
    let mut probes = vec![probe()?];
    let mut taken = Vec::with_capacity(count);
    for index in 0..count {
        let before = probes[index];
        let window = take(index)?;
        let after = probe()?;
        probes.push(after);
        taken.push(Beside {
            window,
            before,
            after,
            repeated: 0,
            void: false,
        });
    }
    let median = stats::median(probes).unwrap_or(f64::NAN);
    for (index, one) in taken.iter_mut().enumerate() {
        while one.differs(median) && one.repeated < REPEATS {
            one.before = probe()?;
            one.window = take(index)?;
            one.after = probe()?;
            one.repeated += 1;
        }
        one.void = one.differs(median);
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of the windows, and for each its repetitions and whether it is void.
    fn played(count: usize, probes: &[f64]) -> (Vec<usize>, Vec<(usize, bool)>) {
        let (mut probes, mut order) = (probes.iter().copied(), Vec::new());
        let taken = round(
            count,
            &mut || Ok(probes.next().expect("no more probes are asked for")),
            &mut |index| {
                order.push(index);
                Ok(())
            },
        );
        let found = taken.unwrap();
        assert_eq!(probes.next(), None);
        (order, found.iter().map(|b| (b.repeated, b.void)).collect())
    }

    #[test]
    fn a_quiet_round_repeats_nothing() {
        // 2 % apart, and all of them slow.
        let (order, found) = played(3, &[1.5, 1.52, 1.49, 1.51]);
        assert_eq!((order, found), (vec![0, 1, 2], vec![(0, false); 3]));
    }

    #[test]
    fn one_probe_alone_voids_nothing() {
        let (order, _) = played(4, &[1.0, 1.0, 1.3, 1.0, 1.0]);
        assert_eq!(order, [0, 1, 2, 3]);
    }

    #[test]
    fn a_window_between_two_slow_probes_is_repeated() {
        let (order, found) = played(4, &[1.0, 1.0, 1.0, 1.05, 1.05, 1.0, 1.01]);
        assert_eq!(order, [0, 1, 2, 3, 3]);
        assert_eq!(found[2..], [(0, false), (1, false)]);
    }

    #[test]
    fn a_neighbour_who_stays_makes_a_window_doubtful() {
        let slow = [1.05; 4];
        let probes = [&[1.0, 1.0, 1.0, 1.05, 1.05][..], &slow].concat();
        let (order, found) = played(4, &probes);
        assert_eq!(order, [0, 1, 2, 3, 3, 3]);
        assert_eq!(found[3], (REPEATS, true));
    }

    /// A fiftieth more or less is no difference; the exact numbers lie beside it.
    #[test]
    fn probes_differ_by_more_than_a_fiftieth() {
        let differs = |before, after| {
            let beside = Beside {
                window: (),
                before,
                after,
                repeated: 0,
                void: false,
            };
            beside.differs(100.0)
        };
        assert!(differs(102.1, 102.1) && differs(97.9, 97.9) && differs(97.9, 102.1));
        assert!(!differs(101.9, 102.1) && !differs(102.1, 98.1) && !differs(100.0, 100.0));
    }

    #[test]
    fn a_void_window_is_repeated_twice() {
        let probes = [1.0, 1.0, 1.0, 1.1, 1.1, 1.1, 1.1, 1.1, 1.1];
        let (order, found) = played(4, &probes);
        assert_eq!(order, [0, 1, 2, 3, 3, 3]);
        assert_eq!(found[3], (2, true));
        // Only the last probe is quiet again.
        let probes = [1.0, 1.0, 1.0, 1.1, 1.1, 1.1, 1.0];
        let (order, found) = played(4, &probes);
        assert_eq!((order, found[3]), (vec![0, 1, 2, 3, 3], (1, false)));
        assert!(played(0, &[1.0]).0.is_empty());
    }

    #[test]
    fn a_probe_takes_microseconds() {
        let fastest = (0..50).map(|_| probe().unwrap()).fold(f64::MAX, f64::min);
        // 16,000 cycles at 1 to 10 GHz, or under an emulator more.
        assert!((1_600.0..10_000_000.0).contains(&fastest), "{fastest}");
    }
}
