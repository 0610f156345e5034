// SPDX-License-Identifier: BSD-2-Clause
//! Samples by ptrace(2), where perf_event_open(2) is refused, as in many containers. Each thread is
//! stopped for a moment after every `PERIOD` ticks of its processor time, its registers are read,
//! and it goes on.
//!
//! A thread is attached for one sample only (PTRACE_SEIZE), so signals, debuggers and the status of
//! a child stay what they are otherwise. Only threads that run are stopped: a stop can end a system
//! call that waits with EINTR (signal(7)).

use super::records::{Event, Sample};
use crate::root::Root;
use nix::sys::ptrace;
use nix::unistd::Pid;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// Samples a second of processor time, at most: /proc counts processor time in ticks of 10 ms.
pub const MOST: u32 = 100;
/// How long a call waits for threads to stop. Those that stop later count with the next call.
const PATIENCE: Duration = Duration::from_millis(5);
/// A thread that was not sampled for so many periods does not catch up.
const LATE: u64 = 3;

/// The processes that are sampled, with all that they start.
pub struct Stops {
    processes: BTreeSet<u32>,
    /// The name of each process. A new name is a new program.
    names: HashMap<u32, String>,
    threads: HashMap<u32, Clock>,
    /// Ticks of processor time between two samples of a thread.
    period: u64,
    /// Threads that are attached and were told to stop.
    attached: Vec<(u32, u32)>,
}

/// The processor time of a thread, in ticks.
#[derive(Default)]
struct Clock {
    total: u64,
    since_sample: u64,
}

impl Stops {
    pub fn new(rate: u32) -> Stops {
        Stops {
            processes: BTreeSet::new(),
            names: HashMap::new(),
            threads: HashMap::new(),
            period: u64::from(MOST / rate.clamp(1, MOST)),
            attached: Vec::new(),
        }
    }

    /// Adds a process, if this process may trace it.
    pub fn add(&mut self, pid: u32) -> nix::Result<()> {
        let id = raw(pid);
        ptrace::seize(id, ptrace::Options::empty())?;
        ptrace::interrupt(id)?;
        self.attached.push((pid, pid));
        self.processes.insert(pid);
        self.collect(&mut Vec::new());
        Ok(())
    }

    /// What happened since the last call, with one sample of each thread that has run for a period
    /// since its last one.
    pub fn events(&mut self) -> Vec<Event> {
        let mut samples = Vec::new();
        let mut events = self.find_children();
        for (pid, tid) in self.due(&mut events) {
            let is_attached = ptrace::seize(raw(tid), ptrace::Options::empty()).is_ok();
            if is_attached && ptrace::interrupt(raw(tid)).is_ok() {
                self.attached.push((pid, tid));
            }
        }
        self.collect(&mut samples);
        events.extend(samples.into_iter().map(Event::Sample));
        events
    }

    /// Adds what the processes have started. Removes those that have ended, and returns their ends.
    fn find_children(&mut self) -> Vec<Event> {
        let root = Root::machine();
        let has_ended = |pid: &u32| !root.exists(format!("/proc/{pid}"));
        let ended: Vec<u32> = self.processes.iter().copied().filter(has_ended).collect();
        for pid in &ended {
            self.processes.remove(pid);
            self.names.remove(pid);
        }
        let mut new: Vec<u32> = self.processes.iter().copied().collect();
        while let Some(pid) = new.pop() {
            for tid in tasks(pid) {
                let children = root.text(format!("/proc/{pid}/task/{tid}/children"));
                let children = children.unwrap_or_default();
                let children = children.split(' ').filter_map(|child| child.parse().ok());
                new.extend(children.filter(|child| self.processes.insert(*child)));
            }
        }
        let ended = ended.into_iter();
        ended.map(|pid| Event::Ended { pid, tid: pid }).collect()
    }

    /// The threads that run and have a sample due. Adds an event for each process with a new name.
    fn due(&mut self, events: &mut Vec<Event>) -> Vec<(u32, u32)> {
        let mut before = std::mem::take(&mut self.threads);
        let mut due = Vec::new();
        for pid in &self.processes {
            for tid in tasks(*pid) {
                let Some(Status { name, runs, total }) = status(*pid, tid) else {
                    continue;
                };
                if tid == *pid {
                    let before = self.names.insert(*pid, name.clone());
                    if before.is_some_and(|before| before != name) {
                        events.push(Event::Named {
                            pid: *pid,
                            tid,
                            name,
                            executed: true,
                        });
                    }
                }
                let known = before.remove(&tid).filter(|clock| clock.total <= total);
                let mut clock = known.unwrap_or(Clock {
                    total,
                    since_sample: 0,
                });
                clock.since_sample += total - clock.total;
                clock.since_sample = clock.since_sample.min(LATE * self.period);
                clock.total = total;
                let is_attached = self.attached.iter().any(|(_, attached)| *attached == tid);
                if runs && clock.since_sample >= self.period && !is_attached {
                    clock.since_sample -= self.period;
                    due.push((*pid, tid));
                }
                self.threads.insert(tid, clock);
            }
        }
        due
    }

    /// Takes the samples of the threads that have stopped, and lets them go on.
    fn collect(&mut self, samples: &mut Vec<Sample>) {
        let begun = Instant::now();
        loop {
            self.attached.retain(|(pid, tid)| match stop(*pid, *tid) {
                Stop::Pending => true,
                Stop::Gone => false,
                Stop::Stopped { signal } => {
                    samples.extend(sample(*pid, *tid));
                    detach(*tid, signal);
                    false
                }
            });
            if self.attached.is_empty() || begun.elapsed() > PATIENCE {
                return;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

impl Drop for Stops {
    fn drop(&mut self) {
        self.collect(&mut Vec::new());
    }
}

fn raw(id: u32) -> Pid {
    Pid::from_raw(i32::try_from(id).unwrap_or(i32::MAX))
}

fn tasks(pid: u32) -> Vec<u32> {
    let names = Root::machine().names(format!("/proc/{pid}/task"));
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// The status of a thread (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
struct Status {
    name: String,
    runs: bool,
    /// Its processor time, in ticks.
    total: u64,
}

fn status(pid: u32, tid: u32) -> Option<Status> {
    parsed(
        &Root::machine()
            .text(format!("/proc/{pid}/task/{tid}/stat"))
            .ok()?,
    )
}

fn parsed(stat: &str) -> Option<Status> {
    // The name may contain anything.
    let (before, rest) = stat.rsplit_once(") ")?;
    let (_, name) = before.split_once(" (")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Status {
        name: name.to_owned(),
        runs: fields[0] == "R",
        total: ticks(11)? + ticks(12)?,
    })
}

enum Stop {
    Pending,
    /// With the signal that is to be delivered when the thread goes on; 0 if there is none.
    Stopped {
        signal: i32,
    },
    Gone,
}

/// Whether an attached thread has stopped. Leaves the end of a child to those who wait for it.
fn stop(group: u32, tid: u32) -> Stop {
    // SAFETY: all zeros is a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
    // SAFETY: the structure is valid.
    let result = unsafe { libc::waitid(libc::P_PID, tid, &mut info, flags) };
    // SAFETY: waitid() has filled in these fields, or left them 0.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    match (result, pid) {
        (0, 0) => match state(tid) {
            Some(('Z' | 'X', parent)) => {
                release(group, tid, parent);
                Stop::Gone
            }
            Some(_) => Stop::Pending,
            None => Stop::Gone,
        },
        // An event of ptrace is in the second byte. Otherwise the thread is about to get a signal.
        (0, _) => Stop::Stopped {
            signal: if status >> 8 == 0 { status } else { 0 },
        },
        _ => Stop::Gone,
    }
}

/// The state of a thread, and the process that its process is a child of.
fn state(tid: u32) -> Option<(char, u32)> {
    let stat = Root::machine().text(format!("/proc/{tid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// A thread that ended while it was attached is kept by the kernel until its tracer waits for it.
/// The status of a child of this process is for those who started it.
fn release(pid: u32, tid: u32, parent: u32) {
    if pid == tid && parent == std::process::id() {
        return;
    }
    // SAFETY: all zeros is a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::__WALL;
    // SAFETY: the structure is valid.
    unsafe { libc::waitid(libc::P_PID, tid, &mut info, flags) };
}

/// Lets a stopped thread go on. It may have been killed meanwhile.
fn detach(tid: u32, signal: i32) {
    let null = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: PTRACE_DETACH reads no memory of this process.
    unsafe {
        libc::ptrace(
            libc::PTRACE_DETACH,
            raw(tid).as_raw(),
            null,
            signal as libc::c_long,
        )
    };
}

/// The sample of a stopped thread; None if it is in a system call.
fn sample(pid: u32, tid: u32) -> Option<Sample> {
    let (address, registers) = registers(&general(tid)?)?;
    Some(Sample {
        pid,
        tid,
        address,
        kernel: false,
        registers: Some(registers),
    })
}

/// The general registers of a stopped thread (NT_PRSTATUS), as words; None for a 32-bit program
/// on a 64-bit kernel.
fn general(tid: u32) -> Option<Vec<usize>> {
    const NT_PRSTATUS: usize = 1;
    let mut words = vec![0usize; WORDS];
    let mut vector = libc::iovec {
        iov_base: words.as_mut_ptr().cast(),
        iov_len: std::mem::size_of_val(&words[..]),
    };
    // SAFETY: the kernel writes at most iov_len bytes.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETREGSET,
            raw(tid).as_raw(),
            NT_PRSTATUS,
            &mut vector,
        )
    };
    (result == 0 && vector.iov_len == std::mem::size_of_val(&words[..])).then_some(words)
}

/// The words of user_regs_struct (sys/user.h), the places of the registers of a sample in their
/// order (records.rs), and those of the instruction pointer and of the number of a system call.
#[cfg(target_arch = "x86_64")]
const WORDS: usize = 27;
#[cfg(target_arch = "x86_64")]
const PLACES: [usize; 16] = [10, 5, 11, 12, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0];
#[cfg(target_arch = "x86_64")]
const POINTER: usize = 16;
#[cfg(target_arch = "x86_64")]
const CALL: Option<usize> = Some(15);

#[cfg(target_arch = "aarch64")]
const WORDS: usize = 34;
#[cfg(target_arch = "aarch64")]
const PLACES: [usize; 31] = {
    let mut places = [0; 31];
    let mut place = 0;
    while place < 31 {
        places[place] = place;
        place += 1;
    }
    places
};
#[cfg(target_arch = "aarch64")]
const POINTER: usize = 32;
#[cfg(target_arch = "aarch64")]
const CALL: Option<usize> = None;

#[cfg(target_arch = "x86")]
const WORDS: usize = 17;
#[cfg(target_arch = "x86")]
const PLACES: [usize; 0] = [];
#[cfg(target_arch = "x86")]
const POINTER: usize = 12;
#[cfg(target_arch = "x86")]
const CALL: Option<usize> = Some(11);

/// The instruction pointer and the registers of a sample. None in a system call, where the
/// instruction that follows says nothing.
fn registers(words: &[usize]) -> Option<(u64, Vec<u64>)> {
    let is_outside = |call: usize| words[call] == usize::MAX;
    let pointer = CALL.map_or(true, is_outside).then_some(words[POINTER])?;
    let registers = PLACES.iter().map(|place| words[*place] as u64);
    Some((pointer as u64, registers.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_thread() {
        let stat = |name: &str, state: &str| {
            format!("7 ({name}) {state} 1 7 7 0 -1 4194304 1 0 0 0 12 30 0 0 20 0 1 0 5 1 1\n")
        };
        let seen = |name: &str, runs| {
            Some(Status {
                name: name.to_owned(),
                runs,
                total: 42,
            })
        };
        assert_eq!(parsed(&stat("nginx", "R")), seen("nginx", true));
        assert_eq!(parsed(&stat("a) R 9 (b", "S")), seen("a) R 9 (b", false));
        for wrong in [
            "",
            "7 (x)",
            "7 (x) R 1 2",
            "7 (x) R 1 7 7 0 -1 4 1 0 0 0 x y",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_registers_of_a_sample() {
        // In a call of PTRACE_GETREGSET, with each word its own place.
        let mut words: Vec<usize> = (0..WORDS).collect();
        assert_eq!(registers(&words), None);
        words[15] = usize::MAX;
        let (pointer, registers) = registers(&words).unwrap();
        assert_eq!(pointer, 16);
        let sample = Sample {
            pid: 1,
            tid: 1,
            address: pointer,
            kernel: false,
            registers: Some(registers),
        };
        // RAX, RCX, RBX, RSP and R15 by their numbers in machine code.
        let numbered = [0, 1, 3, 4, 15].map(|number| sample.numbered().0[number]);
        assert_eq!(numbered, [10, 11, 5, 19, 0]);
    }

    #[test]
    fn the_rate() {
        assert_eq!(
            [1, 50, 99, 100, 499].map(|rate| Stops::new(rate).period),
            [100, 2, 1, 1, 1]
        );
    }
}
