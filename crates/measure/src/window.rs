// SPDX-License-Identifier: BSD-2-Clause
//! One timed window: about a millisecond of the same work, by the wall clock, with the thread's CPU
//! time beside it.

use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeVal;
use nix::sys::time::TimeValLike;
use nix::time::{clock_gettime, ClockId};
use serde::{Deserialize, Serialize};
use terminal::error::{Error, Result};

/// The wall clock and the CPU clock may differ by this fraction. Beyond it, something else had the
/// processor.
pub const MAX_DISAGREEMENT: f64 = 0.05;

/// Untimed work right before a window. Caches, branch predictors and the clock frequency adapt to
/// the work after something else had the core.
const WARM_UP_NS: f64 = 200_000.0;

/// What happened in a window.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Window {
    pub bytes: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
    /// The thread's CPU time in user space and in the kernel. Many kernels count it by clock ticks,
    /// so that only sums over many windows mean anything.
    pub user_ns: u64,
    pub system_ns: u64,
}

impl Window {
    /// Bytes per second by the wall clock.
    pub fn rate(&self) -> f64 {
        self.bytes as f64 * 1e9 / self.wall_ns.max(1) as f64
    }

    /// Whether the thread ran all the time.
    pub fn undisturbed(&self) -> bool {
        let (wall, cpu) = (self.wall_ns as f64, self.cpu_ns as f64);
        (wall - cpu).abs() <= MAX_DISAGREEMENT * wall
    }
}

fn clock(id: ClockId) -> Result<u64> {
    let now = clock_gettime(id)
        .map_err(|why| Error::failure(format!("cannot read clock {id}: {why}")))?;
    Ok(now.num_nanoseconds() as u64)
}

/// User and system time of this thread.
fn spent() -> Result<(u64, u64)> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)
        .map_err(|why| Error::failure(format!("cannot read the CPU time of a thread: {why}")))?;
    let ns = |time: TimeVal| time.num_microseconds() as u64 * 1000;
    Ok((ns(usage.user_time()), ns(usage.system_time())))
}

fn timed(units: u64, work: &mut dyn FnMut(u64) -> Result<u64>) -> Result<Window> {
    let (user, system) = spent()?;
    let cpu = clock(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
    let wall = clock(ClockId::CLOCK_MONOTONIC)?;
    let bytes = work(units)?;
    let wall_ns = clock(ClockId::CLOCK_MONOTONIC)? - wall;
    let cpu_ns = clock(ClockId::CLOCK_THREAD_CPUTIME_ID)? - cpu;
    let (user_after, system_after) = spent()?;
    Ok(Window {
        bytes,
        wall_ns,
        cpu_ns,
        user_ns: user_after.saturating_sub(user),
        system_ns: system_after.saturating_sub(system),
    })
}

/// The time that a unit of some work takes, learned while it runs.
pub struct Pace {
    unit_ns: f64,
    known: bool,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            unit_ns: WARM_UP_NS,
            known: false,
        }
    }
}

impl Pace {
    fn units_in(&self, ns: f64) -> u64 {
        ((ns / self.unit_ns) as u64).max(1)
    }

    /// Warms up, and learns the time of a unit. `work` does a number of units and returns their bytes.
    pub fn warm_up(&mut self, work: &mut dyn FnMut(u64) -> Result<u64>) -> Result<()> {
        loop {
            let units = self.units_in(WARM_UP_NS);
            let warm = timed(units, work)?;
            let enough = self.known || warm.wall_ns as f64 >= WARM_UP_NS / 2.0;
            self.unit_ns = (warm.wall_ns as f64 / units as f64).max(0.1);
            if enough {
                self.known = true;
                return Ok(());
            }
        }
    }

    /// Takes a window of about that length. Warm up first.
    pub fn window(
        &mut self,
        microseconds: u64,
        work: &mut dyn FnMut(u64) -> Result<u64>,
    ) -> Result<Window> {
        timed(self.units_in(microseconds as f64 * 1000.0), work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_windows_are_recognised() {
        let window = |wall_ns, cpu_ns| Window {
            bytes: 1000,
            wall_ns,
            cpu_ns,
            user_ns: 0,
            system_ns: 0,
        };
        assert!(window(1000, 960).undisturbed());
        assert!(window(1000, 1040).undisturbed());
        assert!(!window(1000, 900).undisturbed());
        assert_eq!(window(1000, 1000).rate(), 1e9);
    }

    #[test]
    fn a_window_takes_about_the_time_asked_for() {
        let mut pace = Pace::default();
        let mut sum = 0u64;
        let mut work = |units: u64| {
            for i in 0..units * 50 {
                sum = std::hint::black_box(sum ^ i);
            }
            Ok(units * 50)
        };
        let mut one = || {
            pace.warm_up(&mut work).unwrap();
            pace.window(1000, &mut work).unwrap()
        };
        // The best of several: the machine may be busy.
        let windows: Vec<Window> = (0..20).map(|_| one()).collect();
        let best = windows.iter().min_by_key(|w| w.wall_ns.abs_diff(1_000_000));
        let best = best.unwrap();
        assert!((500_000..2_000_000).contains(&best.wall_ns), "{best:?}");
        assert!(best.bytes > 0 && best.bytes % 50 == 0);
    }
}
