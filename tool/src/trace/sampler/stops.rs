// SPDX-License-Identifier: BSD-2-Clause
//! Samples by ptrace(2), where perf_event_open(2) is refused, as in many containers. Each thread is
//! stopped for a moment after every `PERIOD` ticks of its processor time, its registers are read,
//! and it goes on.
//!
//! A thread is attached for one sample only (PTRACE_SEIZE), so signals, debuggers and the status of
//! a child stay what they are otherwise. Only threads that run are stopped: a stop can end a system
//! call that waits with EINTR (signal(7)).
//!
//! At most one thread of a process is attached. When a thread calls execve(2), the kernel waits
//! until the tracer has released the others, and lets nobody attach to it meanwhile: a tracer of
//! two threads could wait for the first while the kernel waits for the second.
//!
//! The thread that calls execve takes the ID of its process, and stays attached.

use super::perf::{Wanted, STACK};
use super::records::{Event, Sample};
use crate::root::Root;
use crate::run::child::is_end;
use crate::trace::target::memory::Space;
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::unistd::{gettid, Pid};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// Samples a second of processor time, at most: /proc counts processor time in ticks of 10 ms.
pub const MOST: u32 = 100;
/// How long a call waits for threads to stop. Those that stop later count with a later call.
const PATIENCE: Duration = Duration::from_millis(5);
/// A thread that was not sampled for so many periods does not catch up.
const LATE: u64 = 3;

/// Whether this process may trace another one. The thread that asks ends at once, and so the kernel
/// lets go of the process without a stop.
pub fn allowed(pid: u32) -> nix::Result<()> {
    let seize = move || {
        ptrace::seize(raw(pid), ptrace::Options::empty())?;
        Ok(gettid())
    };
    let asked = std::thread::spawn(seize).join();
    let tracer = asked.unwrap_or(Err(Errno::EPERM))?;
    // The kernel detaches a little after join() returns. Until then nobody else can attach.
    let begun = Instant::now();
    let is_attached = || state(pid).is_some_and(|state| state.tracer == tracer);
    while is_attached() && begun.elapsed() < Duration::from_secs(1) {
        std::thread::sleep(Duration::from_micros(20));
    }
    Ok(())
}

/// The processes that are sampled, with all that they start. All calls come from one thread,
/// because the kernel knows a tracer by its thread.
pub struct Stops {
    processes: BTreeSet<u32>,
    /// The program of each process.
    programs: HashMap<u32, Program>,
    threads: HashMap<u32, Clock>,
    /// Ticks of processor time between two samples of a thread.
    period: u64,
    /// Whether the stack is copied.
    stack: bool,
    /// Threads that are attached and were told to stop, with their processes.
    attached: Vec<(u32, u32)>,
    /// Processes whose first thread ended while it was attached, and others still run. The kernel
    /// tells the parent of their end only when the tracer has waited for it.
    headless: Vec<u32>,
}

/// The processor time of a thread, in ticks.
#[derive(Default)]
struct Clock {
    total: u64,
    since_sample: u64,
}

impl Stops {
    /// Samples these processes, which this one may trace.
    pub fn new(wanted: Wanted, pids: impl IntoIterator<Item = u32>) -> Stops {
        Stops {
            processes: pids.into_iter().collect(),
            programs: HashMap::new(),
            threads: HashMap::new(),
            period: u64::from(MOST / wanted.rate.clamp(1, MOST)),
            stack: wanted.stack,
            attached: Vec::new(),
            headless: Vec::new(),
        }
    }

    pub fn add(&mut self, pid: u32) {
        self.processes.insert(pid);
    }

    /// Whether a thread is attached that has not stopped yet.
    pub fn is_waiting(&self) -> bool {
        !self.attached.is_empty()
    }

    /// What happened since the last call, with one sample of each thread that has run for a period
    /// since its last one.
    pub fn events(&mut self) -> Vec<Event> {
        let mut events = self.find_children();
        let mut due = self.due(&mut events);
        // There may be no time for all.
        fastrand::shuffle(&mut due);
        let begun = Instant::now();
        loop {
            due.retain(|(pid, tid)| {
                let is_busy = self.attached.iter().any(|(other, _)| other == pid);
                if !is_busy {
                    self.attach(*pid, *tid);
                }
                is_busy
            });
            events.extend(self.stopped());
            if due.is_empty() && !self.is_waiting() || begun.elapsed() > PATIENCE {
                return events;
            }
            std::thread::sleep(Duration::from_micros(20));
        }
    }

    /// The samples of attached threads that have stopped. Lets them go on.
    pub fn stopped(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        for (pid, tid) in std::mem::take(&mut self.attached) {
            match stop(tid) {
                Stop::Pending => self.attached.push((pid, tid)),
                Stop::Stopped { signal } => {
                    let taken = sample(pid, tid, self.stack);
                    events.extend(taken.map(Event::Sample));
                    detach(tid, signal);
                }
                Stop::Ended { parent } if pid == tid && parent == std::process::id() => {
                    // Those who started this child wait for it.
                }
                Stop::Ended { .. } if pid == tid => self.headless.push(pid),
                Stop::Ended { .. } => {
                    released(tid);
                    self.follow(pid);
                }
                Stop::Gone if pid == tid => {}
                Stop::Gone => self.follow(pid),
            }
        }
        self.headless.retain(|pid| !released(*pid));
        events
    }

    /// Waits for the first thread of a process if this tracer is attached to it. An attached thread
    /// that has called execve(2) has become the first one.
    fn follow(&mut self, pid: u32) {
        let is_ours = |state: State| state.tracer == gettid() && !state.has_ended;
        if state(pid).is_some_and(is_ours) {
            // An order from before execve may have been by an ID that was no longer its own.
            let _ = ptrace::interrupt(raw(pid));
            self.attached.push((pid, pid));
        }
    }

    /// Adds what the processes have started. Removes those that have ended, and returns their ends.
    fn find_children(&mut self) -> Vec<Event> {
        let root = Root::machine();
        let has_ended = |pid: &u32| !root.exists(format!("/proc/{pid}"));
        let ended: Vec<u32> = self.processes.iter().copied().filter(has_ended).collect();
        for pid in &ended {
            self.processes.remove(pid);
            self.programs.remove(pid);
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

    /// The threads that run and have a sample due. Adds an event for each process with a new
    /// program or name.
    fn due(&mut self, events: &mut Vec<Event>) -> Vec<(u32, u32)> {
        let mut before = std::mem::take(&mut self.threads);
        let mut due = Vec::new();
        for pid in &self.processes {
            for tid in tasks(*pid) {
                let Some(status) = status(*pid, tid) else {
                    continue;
                };
                if tid == *pid {
                    let before = self.programs.insert(*pid, status.program.clone());
                    events.extend(before.and_then(|before| renamed(*pid, before, status.program)));
                }
                let known = before.remove(&tid);
                let known = known.filter(|clock| clock.total <= status.total);
                let mut clock = known.unwrap_or(Clock {
                    total: status.total,
                    since_sample: 0,
                });
                clock.since_sample += status.total - clock.total;
                clock.since_sample = clock.since_sample.min(LATE * self.period);
                clock.total = status.total;
                let is_attached = self.attached.iter().any(|(_, attached)| *attached == tid);
                if status.runs && clock.since_sample >= self.period && !is_attached {
                    due.push((*pid, tid));
                }
                self.threads.insert(tid, clock);
            }
        }
        due
    }

    /// Attaches to a thread and tells it to stop, unless it has ended or is traced.
    fn attach(&mut self, pid: u32, tid: u32) {
        if let Some(clock) = self.threads.get_mut(&tid) {
            clock.since_sample = clock.since_sample.saturating_sub(self.period);
        }
        if ptrace::seize(raw(tid), ptrace::Options::empty()).is_ok() {
            // This fails if it was killed, or has another ID after execve. `stopped` finds out.
            let _ = ptrace::interrupt(raw(tid));
            self.attached.push((pid, tid));
        }
    }
}

/// The event that a process executed another program, or has another name.
fn renamed(pid: u32, before: Program, now: Program) -> Option<Event> {
    let executed = before.place != now.place && now.place != (0, 0);
    (executed || before.name != now.name).then_some(Event::Named {
        pid,
        tid: pid,
        name: now.name,
        executed,
    })
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
    program: Program,
    runs: bool,
    /// Its processor time, in ticks.
    total: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    name: String,
    /// Where its code and its stack begin, which differs from one execve(2) to the next; 0 of a
    /// process that is ending.
    place: (u64, u64),
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
    let number = |index: usize| fields.get(index)?.trim_end().parse::<u64>().ok();
    Some(Status {
        program: Program {
            name: name.to_owned(),
            place: (number(23)?, number(25)?),
        },
        runs: fields[0] == "R",
        total: number(11)?.saturating_add(number(12)?),
    })
}

enum Stop {
    Pending,
    /// With the signal that is to be delivered when the thread goes on; 0 if there is none.
    Stopped {
        signal: i32,
    },
    /// It has ended, and the kernel keeps it until somebody waits for it.
    Ended {
        parent: u32,
    },
    Gone,
}

/// Whether an attached thread has stopped. Leaves the end of a child to those who wait for it.
fn stop(tid: u32) -> Stop {
    // The stop is left where it is: should this thread end before it detaches, the kernel delivers
    // the signal.
    let stopped = waited(tid, libc::WSTOPPED | libc::WNOWAIT);
    match stopped {
        // An event of ptrace is in the second byte. Otherwise the thread is about to get a signal.
        Some(Wait {
            pid: 1.., status, ..
        }) => Stop::Stopped {
            signal: if status >> 8 == 0 { status } else { 0 },
        },
        // A thread that has ended cannot stop any more, and waitid(2) may not tell it from none.
        _ => match state(tid) {
            Some(State {
                has_ended: true,
                parent,
                ..
            }) => Stop::Ended { parent },
            // After execve in another thread, that one has this ID, and is not attached. waitid(2)
            // knows it all the same if it is a child.
            Some(state) if stopped.is_some() && state.tracer == gettid() => Stop::Pending,
            // It is there, but this process has no descriptor or memory left to read of it.
            None if stopped.is_some() && Root::machine().exists(format!("/proc/{tid}")) => {
                Stop::Pending
            }
            _ => Stop::Gone,
        },
    }
}

/// What waitid(2) says of a thread.
struct Wait {
    /// Its ID, or 0 if nothing happened.
    pid: i32,
    /// What happened: CLD_EXITED and so on.
    code: i32,
    status: i32,
}

/// What waitid(2) says, without waiting; None if this process has no such child and traces no such
/// thread.
fn waited(tid: u32, what: libc::c_int) -> Option<Wait> {
    // SAFETY: all zeros is a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = what | libc::WNOHANG | libc::__WALL;
    // SAFETY: the structure is valid.
    let result = unsafe { libc::waitid(libc::P_PID, tid, &mut info, flags) };
    // SAFETY: waitid() has filled in these fields, or left them 0.
    (result == 0).then(|| unsafe {
        Wait {
            pid: info.si_pid(),
            code: info.si_code,
            status: info.si_status(),
        }
    })
}

/// What /proc/TID/status says of a thread (proc_pid_status(5)).
struct State {
    /// Whether it has ended, and somebody has yet to wait for it.
    has_ended: bool,
    /// The process that its process is a child of.
    parent: u32,
    /// The thread that is attached to it, or 0.
    tracer: Pid,
}

fn state(tid: u32) -> Option<State> {
    let status = Root::machine().text(format!("/proc/{tid}/status")).ok()?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start())
    };
    Some(State {
        has_ended: field("State:")?.starts_with(['Z', 'X']),
        parent: field("PPid:")?.parse().ok()?,
        tracer: Pid::from_raw(field("TracerPid:")?.parse().ok()?),
    })
}

/// A thread that ended while it was attached is kept by the kernel until its tracer waits for it.
/// Whether it is released, or lives: another thread has its ID after execve. The first thread of a
/// process is not released while others run.
fn released(tid: u32) -> bool {
    // waitid(2) may say that it is stopped, although that was not asked for.
    match waited(tid, libc::WEXITED | libc::WNOWAIT) {
        Some(Wait { pid: 0, .. }) => false,
        Some(Wait { code, .. }) => {
            if is_end(code) {
                waited(tid, libc::WEXITED);
            }
            true
        }
        None => true,
    }
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
fn sample(pid: u32, tid: u32, with_stack: bool) -> Option<Sample> {
    let words = general(tid)?;
    let (address, registers) = registers(&words)?;
    let top = words[STACK_POINTER] as u64;
    let stack = with_stack
        .then(|| Space::Process(pid).read(top..top.saturating_add(STACK.into())))
        .flatten();
    Some(Sample {
        stack,
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
const STACK_POINTER: usize = 19;
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
const STACK_POINTER: usize = 31;
#[cfg(target_arch = "aarch64")]
const CALL: Option<usize> = None;

#[cfg(target_arch = "x86")]
const WORDS: usize = 17;
#[cfg(target_arch = "x86")]
const PLACES: [usize; 0] = [];
#[cfg(target_arch = "x86")]
const POINTER: usize = 12;
#[cfg(target_arch = "x86")]
const STACK_POINTER: usize = 15;
#[cfg(target_arch = "x86")]
const CALL: Option<usize> = Some(11);

/// The instruction pointer and the registers of a sample. None in a system call, where the
/// instruction that follows says nothing.
fn registers(words: &[usize]) -> Option<(u64, Vec<u64>)> {
    let is_outside = |call: usize| words[call] == usize::MAX;
    let pointer = CALL.is_none_or(is_outside).then_some(words[POINTER])?;
    let registers = PLACES.iter().map(|place| words[*place] as u64);
    Some((pointer as u64, registers.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};

    fn at(rate: u32) -> Wanted {
        Wanted {
            rate,
            kernel: false,
            stack: false,
        }
    }

    #[test]
    fn the_status_of_a_thread() {
        let stat = |name: &str, state: &str| {
            format!("7 ({name}) {state} 1 7 7 0 -1 4194304 1 0 0 0 12 30 0 0 20 0 1 0 5 1 1 9 40 41 50 0\n")
        };
        let seen = |name: &str, runs| {
            Some(Status {
                program: Program {
                    name: name.to_owned(),
                    place: (40, 50),
                },
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
            stack: None,
        };
        // RAX, RCX, RBX, RSP and R15 by their numbers in machine code.
        let numbered = [0, 1, 3, 4, 15].map(|number| sample.numbered().0[number]);
        assert_eq!(numbered, [10, 11, 5, 19, 0]);
    }

    /// The first thread of a process may end before the others, and while it is attached. Its
    /// parent is told when the others have ended, too.
    #[test]
    fn the_parent_is_told_of_an_end_that_the_tracer_sees_first() {
        let exit = libc::SYS_exit;
        let program = format!(
            "import ctypes, os, threading\n\
             end = threading.Event()\n\
             def other(): end.wait(); os.read(0, 1)\n\
             threading.Thread(target=other).start()\n\
             print(os.getpid(), flush=True)\n\
             os.read(0, 1)\n\
             end.set()\n\
             ctypes.CDLL(None).syscall({exit}, 0)"
        );
        // A grandchild: the end of a child is for those who started it.
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "python3 -c \"$0\"; echo ended", &program])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let pid: u32 = lines.next().unwrap().unwrap().parse().unwrap();
        let mut stops = Stops::new(at(100), [pid]);
        // Without an order to stop, which would come first.
        ptrace::seize(raw(pid), ptrace::Options::empty()).unwrap();
        stops.attached.push((pid, pid));
        let mut stdin = shell.stdin.take();
        stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut was_headless = false;
        let told = std::thread::spawn(move || lines.next().unwrap().unwrap());
        let begun = Instant::now();
        while !told.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nobody is told");
            stops.stopped();
            // The other thread lives until its input ends.
            if !stops.headless.is_empty() {
                was_headless = true;
                drop(stdin.take());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(told.join().unwrap(), "ended");
        assert!(was_headless && stops.headless.is_empty() && !stops.is_waiting());
        shell.wait().unwrap();
    }

    #[test]
    fn the_rate() {
        assert_eq!(
            [1, 50, 99, 100, 499].map(|rate| Stops::new(at(rate), []).period),
            [100, 2, 1, 1, 1]
        );
    }
}
