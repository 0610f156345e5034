// SPDX-License-Identifier: BSD-2-Clause
//! One timed window: about a millisecond of the same work, by the wall clock, with the thread's CPU time beside it.

use tenrounds::bench::window::{clock, MAX_DISAGREEMENT};
use tenrounds::error::Result;

/// Untimed work before a window: caches, predictors and the clock find back to it.
const WARM_UP_NS: f64 = 100_000.0;

/// What a unit of some work takes, as far as is known.
pub struct Time {
    unit_ns: f64,
    known: bool,
}

impl Time {
    pub fn unknown() -> Time {
        Time {
            unit_ns: WARM_UP_NS,
            known: false,
        }
    }

    fn units_in(&self, ns: f64) -> u64 {
        ((ns / self.unit_ns) as u64).max(1)
    }
}

pub struct Window {
    pub bytes: u64,
    pub units: u64,
    pub wall_ns: u64,
    pub undisturbed: bool,
}

impl Window {
    /// Bytes per second.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.wall_ns.max(1) as f64
    }
}

fn timed(units: u64, work: &mut dyn FnMut(u64) -> u64) -> Result<Window> {
    let cpu = clock(libc::CLOCK_THREAD_CPUTIME_ID)?;
    let wall = clock(libc::CLOCK_MONOTONIC)?;
    let bytes = work(units);
    let wall_ns = clock(libc::CLOCK_MONOTONIC)? - wall;
    let cpu_ns = clock(libc::CLOCK_THREAD_CPUTIME_ID)? - cpu;
    let apart = (wall_ns as f64 - cpu_ns as f64).abs();
    Ok(Window {
        bytes,
        units,
        wall_ns,
        undisturbed: apart <= MAX_DISAGREEMENT * wall_ns as f64,
    })
}

/// Warms up and takes a window. `work` does so many units and returns their bytes.
pub fn window(time: &mut Time, us: u64, work: &mut dyn FnMut(u64) -> u64) -> Result<Window> {
    loop {
        let warm = timed(time.units_in(WARM_UP_NS), work)?;
        let enough = time.known || warm.wall_ns as f64 >= WARM_UP_NS / 2.0;
        time.unit_ns = (warm.wall_ns as f64 / warm.units as f64).max(0.1);
        if enough {
            time.known = true;
            break;
        }
    }
    timed(time.units_in(us as f64 * 1000.0), work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_takes_about_what_was_asked() {
        let mut time = Time::unknown();
        let mut sum = 0u64;
        let mut work = |units: u64| {
            for i in 0..units * 50 {
                sum = std::hint::black_box(sum ^ i);
            }
            units * 50
        };
        let best = (0..20)
            .map(|_| window(&mut time, 1000, &mut work).unwrap())
            .min_by_key(|w| w.wall_ns.abs_diff(1_000_000))
            .unwrap();
        assert!(
            (500_000..2_000_000).contains(&best.wall_ns),
            "{}",
            best.wall_ns
        );
        assert_eq!(best.bytes, best.units * 50);
    }
}
