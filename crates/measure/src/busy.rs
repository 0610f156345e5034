// SPDX-License-Identifier: BSD-2-Clause
//! Whether the machine was busy while something was measured: other programs, the hypervisor, and
//! the rounds that they disturbed.

use crate::rounds::Disturbed;
use nix::sys::resource::{getrusage, UsageWho};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use std::time::Instant;

/// CPU time of all processors since boot (proc_stat(5)), in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    processors: usize,
    busy: u64,
    stolen: u64,
    all: u64,
}

impl Ticks {
    fn now() -> Option<Ticks> {
        Ticks::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    fn parse(stat: &str) -> Option<Ticks> {
        let first = stat.lines().next()?.strip_prefix("cpu ")?;
        let fields = first.split_whitespace().map(str::parse);
        // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user.
        let fields: Vec<u64> = fields.take(8).collect::<Result<_, _>>().ok()?;
        let &[user, nice, system, idle, iowait, irq, softirq, stolen] = &fields[..] else {
            return None;
        };
        let busy = user + nice + system + irq + softirq;
        Some(Ticks {
            processors: stat.lines().filter(|l| l.starts_with("cpu")).count() - 1,
            busy,
            stolen,
            all: busy + idle + iowait + stolen,
        })
    }
}

/// CPU seconds of this process and of its children that have ended.
fn own_seconds() -> Option<f64> {
    let spent = |who| {
        let usage = getrusage(who).ok()?;
        let time = usage.user_time() + usage.system_time();
        Some(time.num_microseconds() as f64 / 1e6)
    };
    Some(spent(UsageWho::RUSAGE_SELF)? + spent(UsageWho::RUSAGE_CHILDREN)?)
}

/// Looks at the machine from here to the end of a measurement.
pub struct Watch {
    began: Instant,
    ticks: Option<Ticks>,
    own: Option<f64>,
}

impl Watch {
    pub fn start() -> Watch {
        Watch {
            began: Instant::now(),
            ticks: Ticks::now(),
            own: own_seconds(),
        }
    }

    /// What others did. The measuring processes must have ended, or they count among the others.
    pub fn end(&self) -> Option<Load> {
        // SAFETY: sysconf() takes any number and touches no memory of ours.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        let own = own_seconds()? - self.own?;
        let seconds = self.began.elapsed().as_secs_f64();
        Load::between(self.ticks?, Ticks::now()?, per_second, own, seconds)
    }
}

/// What else ran on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Load {
    pub processors: usize,
    /// How many of them other programs used, on average.
    pub others: f64,
    /// The fraction of all CPU time that the hypervisor gave to other machines.
    pub stolen: f64,
}

impl Load {
    fn between(a: Ticks, b: Ticks, per_second: f64, own: f64, seconds: f64) -> Option<Load> {
        let all = b.all.checked_sub(a.all).filter(|all| *all > 0)?;
        let busy = b.busy.saturating_sub(a.busy) as f64 / per_second;
        Some(Load {
            processors: b.processors,
            others: ((busy - own) / seconds).max(0.0),
            stolen: b.stolen.saturating_sub(a.stolen) as f64 / all as f64,
        })
    }
}

/// Beyond these the machine counts as busy: the fraction of its processors that others use, of its
/// time that the hypervisor takes, of windows that are repeated, and of disturbed windows that
/// count.
const OTHERS: f64 = 0.1;
const STOLEN: f64 = 0.01;
const REPEATED: f64 = 0.1;
const DOUBTFUL: f64 = 0.001;

/// How a measurement was disturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disturbance {
    pub load: Option<Load>,
    pub windows: usize,
    /// Those in which wall clock and CPU time disagreed.
    pub clocks: Disturbed,
}

impl Disturbance {
    pub fn is_busy(&self) -> bool {
        !self.reasons().is_empty()
    }

    fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        if let Some(load) = self.load {
            if load.others > OTHERS * load.processors as f64 {
                reasons.push(format!(
                    "other programs used {:.1} of {} processors",
                    load.others, load.processors
                ));
            }
            if load.stolen > STOLEN {
                reasons.push(format!(
                    "the hypervisor took {:.0} % of the time",
                    100.0 * load.stolen
                ));
            }
        }
        if self.clocks.repeated as f64 > REPEATED * self.windows as f64 {
            reasons.push(format!("{} windows were repeated", self.clocks.repeated));
        }
        if self.clocks.doubtful as f64 > DOUBTFUL * self.windows as f64 {
            reasons.push(format!(
                "wall clock and CPU time disagree by more than 5 % in {} of {} windows",
                self.clocks.doubtful, self.windows
            ));
        }
        reasons
    }

    /// What `bench` says after a busy run.
    pub fn warning(&self) -> Option<String> {
        let reasons = self.reasons();
        (!reasons.is_empty()).then(|| {
            format!(
                "Warning: the machine was busy: {}. Ratios are more reliable than rates.",
                reasons.join("; ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "cpu  100 0 50 1000 10 0 5 20 0 0\ncpu0 1 0 0 0 0 0 0 0 0 0\ncpu1 1\nintr 7\n";
    const AFTER: &str =
        "cpu  400 0 150 1500 10 0 5 120 0 0\ncpu0 1 0 0 0 0 0 0 0 0 0\ncpu1 1\nintr 9\n";

    #[test]
    fn others_are_what_this_process_did_not_use() {
        let (before, after) = (Ticks::parse(BEFORE).unwrap(), Ticks::parse(AFTER).unwrap());
        // 400 ticks in 5 seconds on two processors, of which 150 are ours; 100 of 1000 were stolen.
        let load = Load::between(before, after, 100.0, 1.5, 5.0).unwrap();
        assert_eq!((load.processors, load.others, load.stolen), (2, 0.5, 0.1));
        assert_eq!(Load::between(after, before, 100.0, 1.5, 5.0), None);
        assert_eq!(Ticks::parse("intr 7"), None);
    }

    /// A process that computes in another thread is not another program.
    #[test]
    fn own_work_is_no_load() {
        let watch = Watch::start();
        let own = own_seconds().unwrap();
        while own_seconds().unwrap() - own < 0.05 {}
        let load = watch.end().unwrap();
        assert!(
            load.others <= load.processors as f64 && load.stolen <= 1.0,
            "{load:?}"
        );
    }

    #[test]
    fn every_reason_is_named() {
        let quiet = Disturbance {
            load: Some(Load {
                processors: 64,
                others: 1.0,
                stolen: 0.001,
            }),
            windows: 100,
            clocks: Disturbed {
                repeated: 3,
                doubtful: 0,
            },
        };
        assert!(!quiet.is_busy());
        assert_eq!(quiet.warning(), None);
        let said = |change: &dyn Fn(&mut Disturbance)| {
            let mut busy = quiet;
            change(&mut busy);
            busy.warning().unwrap_or_default()
        };
        let load = |others, stolen| {
            Some(Load {
                processors: 2,
                others,
                stolen,
            })
        };
        for (said, part) in [
            (
                said(&|d| d.load = load(1.3, 0.0)),
                "used 1.3 of 2 processors",
            ),
            (said(&|d| d.load = load(0.0, 0.04)), "took 4 % of the time"),
            (
                said(&|d| d.clocks.repeated = 40),
                "40 windows were repeated",
            ),
            (said(&|d| d.clocks.doubtful = 2), "in 2 of 100 windows"),
        ] {
            assert!(
                said.starts_with("Warning: the machine was busy: "),
                "{said}"
            );
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn each_kind_of_time_is_counted() {
        let stat = "cpu  1 20 300 4000 50000 600000 7000000 80000000 9 9\n\
                    cpu0 1\ncpu1 1\ncpu2 1\nintr 7\n";
        let ticks = Ticks::parse(stat).unwrap();
        let busy = 1 + 20 + 300 + 600_000 + 7_000_000;
        let expected = Ticks {
            processors: 3,
            busy,
            stolen: 80_000_000,
            all: busy + 4000 + 50_000 + 80_000_000,
        };
        assert_eq!(ticks, expected);
        assert_eq!(
            Ticks::parse("cpu  1 2 3 4 5 6 7\n"),
            None,
            "no time that is stolen"
        );
        assert_eq!(Ticks::parse("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert!(Ticks::now().is_some_and(|now| now.busy > 0 && now.all >= now.busy));
        // Nothing of it is negative, and nothing has passed between two equal looks.
        assert_eq!(Load::between(ticks, ticks, 100.0, 0.0, 1.0), None);
        let later = Ticks {
            all: ticks.all + 1,
            ..ticks
        };
        let load = Load::between(ticks, later, 100.0, 5.0, 1.0).unwrap();
        assert_eq!((load.others, load.stolen), (0.0, 0.0));
    }

    /// What is allowed is not busy, a little more is.
    #[test]
    fn bounds_of_busy() {
        let load = |others, stolen| {
            Some(Load {
                processors: 10,
                others,
                stolen,
            })
        };
        let is_busy = |load, repeated, doubtful| {
            let disturbance = Disturbance {
                load,
                windows: 1000,
                clocks: Disturbed { repeated, doubtful },
            };
            disturbance.is_busy()
        };
        assert!(!is_busy(load(1.0, 0.01), 100, 1) && !is_busy(None, 0, 0));
        assert!(is_busy(load(1.01, 0.0), 0, 0) && is_busy(load(0.0, 0.011), 0, 0));
        assert!(is_busy(None, 101, 0) && is_busy(None, 0, 2));
    }

    #[test]
    fn own_time_counts_user_and_system() {
        let before = own_seconds().unwrap();
        let begin = Instant::now();
        while begin.elapsed().as_millis() < 50 {
            // SAFETY: the call has no arguments.
            unsafe { libc::getppid() };
        }
        let spent = own_seconds().unwrap() - before;
        // Other tests run beside this one.
        assert!(spent > 0.0 && spent < 600.0, "{spent}");
    }
}
