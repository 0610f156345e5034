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

/// A window of one thread.
impl AsRef<[Window]> for Window {
    fn as_ref(&self) -> &[Window] {
        std::slice::from_ref(self)
    }
}

/// The wall clock.
pub(crate) const WALL: ClockId = ClockId::CLOCK_MONOTONIC;

pub(crate) fn clock(id: ClockId) -> Result<u64> {
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

    /// Warms up, and learns the time of a unit. `work` does a number of units and returns their
    /// bytes.
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

    /// Warms up, then takes a window of about that length.
    pub fn warm_window(
        &mut self,
        microseconds: u64,
        work: &mut dyn FnMut(u64) -> Result<u64>,
    ) -> Result<Window> {
        self.warm_up(work)?;
        self.window(microseconds, work)
    }
}

/// A disturbed window is repeated this many times at most.
const REPEATS: usize = 4;

/// Takes a window, of one thread or several, and repeats it while it is disturbed. Returns the last
/// one, and the number of repetitions.
pub fn undisturbed<W: AsRef<[Window]>>(take: &mut dyn FnMut() -> Result<W>) -> Result<(W, usize)> {
    let mut repeated = 0;
    loop {
        let windows = take()?;
        let quiet = windows.as_ref().iter().all(Window::undisturbed);
        if quiet || repeated == REPEATS {
            return Ok((windows, repeated));
        }
        repeated += 1;
    }
}

/// Times parts of a window.
pub struct Stopwatch {
    timed_ns: u64,
}

/// The time that it takes to read the clock twice.
fn clock_ns() -> Result<u64> {
    let mut costs = (0..101)
        .map(|_| {
            let begin = clock(ClockId::CLOCK_MONOTONIC)?;
            Ok(clock(ClockId::CLOCK_MONOTONIC)? - begin)
        })
        .collect::<Result<Vec<u64>>>()?;
    costs.sort_unstable();
    Ok(costs[costs.len() / 2])
}

impl Stopwatch {
    /// Does some work and adds its time.
    pub fn time(&mut self, work: impl FnOnce()) -> Result<()> {
        let begin = clock(ClockId::CLOCK_MONOTONIC)?;
        work();
        self.timed_ns += clock(ClockId::CLOCK_MONOTONIC)? - begin;
        Ok(())
    }
}

/// Takes a window of calls that need a prepared state each. `batch` prepares some states untimed,
/// times the calls once, and returns the number of calls. The first batch warms up. Subtracts the
/// time of reading the clock. The CPU time is that of all work, scaled to the timed part.
pub fn batches(
    microseconds: u64,
    batch: &mut dyn FnMut(&mut Stopwatch) -> Result<u64>,
) -> Result<Window> {
    let read_ns = clock_ns()?;
    let mut watch = Stopwatch { timed_ns: 0 };
    batch(&mut watch)?;
    let (mut calls, mut timed_ns) = (0, 0);
    let whole = timed(1, &mut |_| {
        while timed_ns < microseconds * 1000 {
            watch.timed_ns = 0;
            calls += batch(&mut watch)?;
            timed_ns += watch.timed_ns.saturating_sub(read_ns).max(1);
        }
        Ok(calls)
    })?;
    let part = timed_ns as f64 / whole.wall_ns.max(1) as f64;
    Ok(Window {
        wall_ns: timed_ns,
        cpu_ns: (whole.cpu_ns as f64 * part) as u64,
        ..whole
    })
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
    fn disturbed_windows_are_repeated() {
        let window = |cpu_ns| Window {
            bytes: 1,
            wall_ns: 1000,
            cpu_ns,
            user_ns: 0,
            system_ns: 0,
        };
        let mut times = [100, 200, 990, 300].into_iter();
        let (taken, repeated) = undisturbed(&mut || Ok(window(times.next().unwrap()))).unwrap();
        assert_eq!((taken.cpu_ns, repeated), (990, 2));
        let (taken, repeated) = undisturbed(&mut || Ok(window(500))).unwrap();
        assert_eq!((taken.cpu_ns, repeated), (500, REPEATS));
    }

    #[test]
    fn only_the_timed_part_of_a_batch_counts() {
        use std::time::{Duration, Instant};
        const UNTIMED: Duration = Duration::from_millis(5);
        let mut done = 0;
        let begin = Instant::now();
        let mut batch = |watch: &mut Stopwatch| {
            done += 1;
            std::thread::sleep(UNTIMED);
            watch.time(|| std::thread::sleep(Duration::from_millis(1)))?;
            Ok(4)
        };
        let window = batches(3000, &mut batch).unwrap();
        let all = begin.elapsed();
        assert_eq!(
            window.bytes,
            4 * (u64::from(done) - 1),
            "the first warms up"
        );
        assert!(window.wall_ns >= 3_000_000, "{window:?}");
        // A sleep is never shorter than asked for, so this holds on a busy machine, too.
        assert!(
            Duration::from_nanos(window.wall_ns) + UNTIMED * done <= all,
            "{window:?} {all:?}"
        );
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

    fn window(bytes: u64, wall_ns: u64, cpu_ns: u64) -> Window {
        Window {
            bytes,
            wall_ns,
            cpu_ns,
            user_ns: 0,
            system_ns: 0,
        }
    }

    #[test]
    fn clocks_may_differ_by_a_twentieth() {
        let quiet = |cpu_ns| window(1, 1000, cpu_ns).undisturbed();
        let found = [949, 950, 1000, 1050, 1051].map(quiet);
        assert_eq!(found, [false, true, true, true, false]);
        assert!(window(1, 0, 0).undisturbed() && !window(1, 0, 1).undisturbed());
        assert_eq!(window(3, 2, 2).rate(), 1.5e9);
        assert_eq!(window(3, 0, 0).rate(), 3e9, "a clock that has not moved");
        let one = window(3, 2, 2);
        assert_eq!(one.as_ref().len(), 1);
    }

    #[test]
    fn a_disturbed_window_is_taken_five_times() {
        let mut taken = 0;
        let mut take = || {
            taken += 1;
            Ok(window(taken, 1000, 0))
        };
        let (last, repeated) = undisturbed(&mut take).unwrap();
        assert_eq!((last.bytes, repeated), (5, 4));
        // One thread of two is disturbed.
        let mut times = [[1000, 900], [900, 1000], [1000, 1000]].into_iter();
        let mut take = || {
            let times = times.next().unwrap();
            Ok(times.map(|cpu_ns| window(1, 1000, cpu_ns)))
        };
        let (_, repeated) = undisturbed(&mut take).unwrap();
        assert_eq!(repeated, 2);
    }

    #[test]
    fn a_pace_gives_units_of_work() {
        let pace = Pace {
            unit_ns: 100.0,
            known: true,
        };
        let units = [0.0, 99.0, 199.0, 1000.0, 1099.0].map(|ns| pace.units_in(ns));
        assert_eq!(units, [1, 1, 1, 10, 10]);
        // Units that sleep for 50 µs: the first warm-up learns that it takes several of them, and
        // a later one does these at once.
        let calls = std::cell::RefCell::new(Vec::new());
        let mut work = |units: u64| {
            calls.borrow_mut().push(units);
            std::thread::sleep(std::time::Duration::from_micros(50 * units));
            Ok(7 * units)
        };
        let mut pace = Pace::default();
        assert!(!pace.known && pace.units_in(WARM_UP_NS) == 1);
        pace.warm_up(&mut work).unwrap();
        assert!(pace.known && pace.unit_ns >= 50_000.0, "{}", pace.unit_ns);
        assert_eq!(calls.borrow()[0], 1);
        let before = calls.borrow().len();
        let window = pace.window(1000, &mut work).unwrap();
        let units = *calls.borrow().last().unwrap();
        assert_eq!(calls.borrow().len(), before + 1);
        assert_eq!(
            (units, window.bytes),
            (pace.units_in(1_000_000.0), 7 * units)
        );
        assert!((1..=20).contains(&units) && window.wall_ns >= 50_000 * units);
        // Sleep is no CPU time.
        assert!(
            window.cpu_ns < window.wall_ns && !window.undisturbed(),
            "{window:?}"
        );
        pace.warm_window(1000, &mut work).unwrap();
        assert_eq!(calls.borrow().len(), before + 3);
    }

    #[test]
    fn cpu_time_is_that_of_the_thread() {
        let spin = |_| {
            let begin = spent().unwrap();
            let sum = |(user, system): (u64, u64)| user + system;
            while sum(spent().unwrap()) - sum(begin) < 30_000_000 {
                std::hint::spin_loop();
            }
            Ok(5)
        };
        let window = timed(1, &mut |units| spin(units)).unwrap();
        assert_eq!(window.bytes, 5);
        let parts = window.user_ns + window.system_ns;
        assert!((30_000_000..10_000_000_000).contains(&parts), "{window:?}");
        assert!(
            (20_000_000..10_000_000_000).contains(&window.cpu_ns),
            "{window:?}"
        );
        assert!(window.wall_ns >= 20_000_000 && window.wall_ns < 60_000_000_000);
    }

    #[test]
    fn batches_time_their_parts() {
        let mut watch = Stopwatch { timed_ns: 0 };
        let nap = || std::thread::sleep(std::time::Duration::from_millis(2));
        watch.time(nap).unwrap();
        watch.time(nap).unwrap();
        assert!(watch.timed_ns >= 4_000_000 && watch.timed_ns < 60_000_000_000);
        assert!(clock_ns().unwrap() < 1_000_000);
        // 3 batches of 2 ms make 5 ms. The CPU time is a part of that of all, so hardly any.
        let mut done = 0;
        let window = batches(5000, &mut |watch| {
            done += 1;
            watch.time(nap)?;
            Ok(10)
        });
        let window = window.unwrap();
        assert!(
            (2..=4).contains(&done) && window.bytes == 10 * (done - 1),
            "{done}"
        );
        assert!(window.wall_ns >= 5_000_000 - 300_000 && window.cpu_ns < window.wall_ns);
    }
}
