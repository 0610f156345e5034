// SPDX-License-Identifier: BSD-2-Clause
//! One timed window: some milliseconds of the same work, by the wall clock, with the thread's CPU time
//! beside it.

use crate::error::{Error, Result};
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::{Deserialize, Serialize};

/// Calls of a sample: more than one, so that what is carried from call to call is compared, too.
pub const SAMPLE_CALLS: usize = 3;

/// Work that can be repeated any number of times.
pub trait Job: Send {
    /// Does it `calls` times and returns the bytes that were processed.
    fn run(&mut self, calls: u64) -> Result<u64>;

    /// Called before each window: its data move to another place.
    fn move_on(&mut self) {}

    /// Starts afresh and returns what comes out for an input that is the same everywhere.
    fn sample(&mut self) -> Result<Vec<u8>>;
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Window {
    pub bytes: u64,
    pub wall_ns: u64,
    pub cpu_ns: u64,
    /// The thread's CPU time in user space and in the kernel, as far as the kernel tells them apart: many
    /// kernels do by clock ticks, so that only sums over many windows mean anything.
    pub user_ns: u64,
    pub system_ns: u64,
}

/// The clocks may disagree by so much; more, and somebody else had the processor.
pub const MAX_DISAGREEMENT: f64 = 0.05;

/// Untimed work right before a window: caches, branch predictors and the clock frequency find back to
/// this job after another process had the core.
const WARM_UP_NS: u64 = 200_000;

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

/// Nanoseconds of a clock.
pub fn clock(id: libc::clockid_t) -> Result<u64> {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    if unsafe { libc::clock_gettime(id, &mut now) } != 0 {
        let why = std::io::Error::last_os_error();
        return Err(Error::failure(format!("cannot read clock {id}: {why}")));
    }
    Ok(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// User and system time of this thread.
fn spent() -> Result<(u64, u64)> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)
        .map_err(|why| Error::failure(format!("cannot read the CPU time of a thread: {why}")))?;
    let ns = |time: TimeVal| time.num_microseconds() as u64 * 1000;
    Ok((ns(usage.user_time()), ns(usage.system_time())))
}

fn timed(job: &mut dyn Job, calls: u64) -> Result<Window> {
    let (user, system) = spent()?;
    let cpu = clock(libc::CLOCK_THREAD_CPUTIME_ID)?;
    let wall = clock(libc::CLOCK_MONOTONIC)?;
    let bytes = job.run(calls)?;
    let wall_ns = clock(libc::CLOCK_MONOTONIC)? - wall;
    let cpu_ns = clock(libc::CLOCK_THREAD_CPUTIME_ID)? - cpu;
    let (user_after, system_after) = spent()?;
    Ok(Window {
        bytes,
        wall_ns,
        cpu_ns,
        user_ns: user_after.saturating_sub(user),
        system_ns: system_after.saturating_sub(system),
    })
}

/// A job and how long a call of it takes.
pub struct Runner {
    pub job: Box<dyn Job>,
    call_ns: f64,
}

impl Runner {
    pub fn new(job: Box<dyn Job>) -> Runner {
        Runner {
            job,
            call_ns: WARM_UP_NS as f64,
        }
    }

    fn calls_for(&self, ns: u64) -> u64 {
        ((ns as f64 / self.call_ns) as u64).max(1)
    }

    /// Warms up and learns how long a call takes.
    pub fn warm_up(&mut self) -> Result<()> {
        self.job.move_on();
        loop {
            let calls = self.calls_for(WARM_UP_NS);
            let window = timed(&mut *self.job, calls)?;
            self.call_ns = (window.wall_ns as f64 / calls as f64).max(0.1);
            if window.wall_ns >= WARM_UP_NS / 2 {
                return Ok(());
            }
        }
    }

    /// A window of about that length.
    pub fn window(&mut self, microseconds: u64) -> Result<Window> {
        let calls = self.calls_for(microseconds * 1000);
        timed(&mut *self.job, calls)
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

    struct Sleepless(u64);
    impl Job for Sleepless {
        fn run(&mut self, calls: u64) -> Result<u64> {
            for i in 0..calls * 100 {
                self.0 = std::hint::black_box(self.0 ^ i);
            }
            Ok(calls * 100)
        }
        fn sample(&mut self) -> Result<Vec<u8>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn a_window_counts_what_was_done() {
        let mut runner = Runner::new(Box::new(Sleepless(0)));
        runner.warm_up().unwrap();
        let window = runner.window(1000).unwrap();
        assert!(window.bytes >= 100 && window.bytes % 100 == 0 && window.wall_ns > 0);
    }
}
