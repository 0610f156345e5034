// SPDX-License-Identifier: BSD-2-Clause
//! Samples: where the threads of some processes are, many times a second, and what their processes
//! map, start and execute meanwhile.

mod perf;
mod records;

use super::is_alive;
use base::inventory::processes;
use base::root::Root;
use perf::{Ring, Wanted, Whom};
pub use records::{Event, Sample};
use std::io;
use terminal::error::{Error, Result};

/// What is sampled.
pub enum Target {
    /// The program that this process starts next, and its descendants.
    Children,
    /// All threads of these processes, and what they start.
    Processes(Vec<u32>),
    Everybody,
}

impl Target {
    /// None for all.
    pub fn pids(&self) -> Option<&[u32]> {
        match self {
            Target::Children => Some(&[]),
            Target::Processes(pids) => Some(pids),
            Target::Everybody => None,
        }
    }

    /// Those that run now.
    pub fn running(&self) -> Vec<u32> {
        let all = || processes::pids(&Root::machine());
        self.pids().map_or_else(all, <[u32]>::to_vec)
    }

    /// Whether none of the named processes runs any more.
    pub fn has_ended(&self) -> bool {
        matches!(self, Target::Processes(pids) if !pids.iter().any(|pid| is_alive(*pid)))
    }
}

/// Counters that run, or wait for the program to start.
#[derive(Default)]
pub struct Sampler {
    rings: Vec<Ring>,
    /// Whether kernel code is sampled, too.
    pub kernel: bool,
    /// The processes, if they were named.
    pub sampled: Vec<u32>,
    /// What is not sampled, and why.
    pub refused: Vec<String>,
}

impl Sampler {
    /// Opens the counters. If the kernel's own code may not be sampled, samples only user code. If
    /// all processes may not be sampled, samples those of this user.
    pub fn open(target: &Target, rate: u32) -> Result<Sampler> {
        raise_limit();
        let failed = |error: io::Error| refusal(&error, target);
        let user = Wanted {
            rate,
            kernel: false,
        };
        let opened = Sampler::with(target, Wanted { rate, kernel: true });
        let opened = match opened {
            Err(error) if is_refusal(&error) => Sampler::with(target, user),
            opened => opened,
        };
        match (opened, target) {
            (Ok(mut sampler), Target::Processes(_)) if sampler.rings.is_empty() => {
                match Sampler::with(&Target::Children, user) {
                    Err(error) if is_unavailable(&error) => Err(failed(error)),
                    _ => Err(Error::failure(sampler.refused.swap_remove(0))),
                }
            }
            (Err(error), Target::Everybody) if is_refusal(&error) => {
                let own = Target::Processes(own_processes());
                let mut sampler = Sampler::with(&own, user).map_err(failed)?;
                if sampler.rings.is_empty() {
                    return Err(failed(error));
                }
                // They end and change their user all the time. Other refusals are worth a word.
                sampler.refused.retain(|line| line.ends_with(TOO_MANY));
                let more = sampler.refused.len().saturating_sub(1);
                sampler.refused.truncate(1);
                let more = (more > 0).then(|| format!("Nor are {more} more processes."));
                sampler.refused.extend(more);
                sampler.refused.push("Only your own processes are traced: those of others need root, or CAP_PERFMON and CAP_SYS_PTRACE.".to_owned());
                sampler.sampled.clear();
                Ok(sampler)
            }
            (opened, _) => opened.map_err(failed),
        }
    }

    /// With the largest ring buffers that all processors can have. If the first ones took all the
    /// memory that they may have, nothing would be left for the last.
    fn with(target: &Target, wanted: Wanted) -> io::Result<Sampler> {
        for pages in perf::PAGES {
            let mut sampler = Sampler {
                kernel: wanted.kernel,
                ..Sampler::default()
            };
            match sampler.add(target, wanted, pages) {
                Err(error) if is_full(&error) => {}
                result => return result.map(|()| sampler),
            }
        }
        Err(io::Error::from_raw_os_error(libc::ENOMEM))
    }

    fn add(&mut self, target: &Target, wanted: Wanted, pages: usize) -> io::Result<()> {
        let whom = match target {
            Target::Children => Whom::Children,
            Target::Everybody => Whom::Everybody,
            Target::Processes(pids) => return self.add_processes(pids, wanted, pages),
        };
        for processor in processors() {
            let counter = perf::open(whom, processor, wanted)?;
            self.rings.push(Ring::new(counter, pages)?);
        }
        match target {
            Target::Everybody => self.start(),
            _ => Ok(()),
        }
    }

    fn add_processes(&mut self, pids: &[u32], wanted: Wanted, pages: usize) -> io::Result<()> {
        let processors = processors();
        for pid in pids {
            let is_first = self.rings.is_empty();
            match self.add_process(*pid, &processors, wanted, pages) {
                Ok(()) => self.sampled.push(*pid),
                Err(error) if is_refusal(&error) && wanted.kernel => return Err(error),
                Err(error) if is_full(&error) && is_first => return Err(error),
                Err(error) => {
                    let why = explained(&error, *pid);
                    self.refused
                        .push(format!("process {pid} is not traced: {why}"));
                }
            }
        }
        self.start()
    }

    /// Opens a counter for each thread on each processor.
    fn add_process(
        &mut self,
        pid: u32,
        processors: &[u32],
        wanted: Wanted,
        pages: usize,
    ) -> io::Result<()> {
        let threads = Root::machine().names(format!("/proc/{pid}/task"));
        let threads: Vec<u32> = threads.iter().filter_map(|tid| tid.parse().ok()).collect();
        if threads.is_empty() {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // If one fails, the others are closed.
        let mut counters = Vec::new();
        for tid in threads {
            for (index, processor) in processors.iter().enumerate() {
                match perf::open(Whom::Thread(tid), *processor, wanted) {
                    Ok(counter) => counters.push((index, counter)),
                    // It has ended since.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) && tid != pid => break,
                    Err(error) => return Err(error),
                }
            }
        }
        for (index, counter) in counters {
            match self.rings.get_mut(index) {
                Some(ring) => ring.add(counter)?,
                None => self.rings.push(Ring::new(counter, pages)?),
            }
        }
        Ok(())
    }

    fn start(&self) -> io::Result<()> {
        self.rings.iter().try_for_each(Ring::start)
    }

    pub fn stop(&self) {
        self.rings.iter().for_each(Ring::stop);
    }

    /// All that happened since the last call, in order.
    pub fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for ring in &self.rings {
            ring.drain(&mut events);
        }
        events.sort_by_key(|(time, _)| *time);
        events.into_iter().map(|(_, event)| event).collect()
    }
}

/// Whether the kernel says that this is not allowed.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}

/// Whether there is no memory for ring buffers of this size.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOMEM)
}

/// Whether perf_event_open cannot be had: it is refused, or hidden by a filter of system calls.
fn is_unavailable(error: &io::Error) -> bool {
    is_refusal(error) || error.raw_os_error() == Some(libc::ENOSYS)
}

/// The processes of this user but this one.
fn own_processes() -> Vec<u32> {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: it has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    let is_own = |pid: &u32| {
        let meta = std::fs::metadata(format!("/proc/{pid}"));
        *pid != std::process::id() && meta.is_ok_and(|meta| meta.uid() == user)
    };
    let pids = processes::pids(&Root::machine()).into_iter();
    pids.filter(is_own).collect()
}

/// The processors that run: "0-3,6" in a file of /sys.
pub fn processors() -> Vec<u32> {
    let online = Root::machine().line("/sys/devices/system/cpu/online");
    let found = online.map(|line| ranges(&line)).unwrap_or_default();
    match found.is_empty() {
        true => {
            let count = std::thread::available_parallelism().map_or(1, usize::from);
            (0..count as u32).collect()
        }
        false => found,
    }
}

fn ranges(line: &str) -> Vec<u32> {
    const MOST: u32 = 1 << 16;
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (last < MOST).then_some(first..=last)
    };
    line.trim().split(',').filter_map(range).flatten().collect()
}

/// Allows as many open files as this user may have: each thread takes one a processor.
fn raise_limit() {
    use nix::sys::resource::{getrlimit, setrlimit, Resource};
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Why a process with too many threads is not sampled.
const TOO_MANY: &str =
    "it has more threads than files may be open; raise the limit (ulimit -n), or use --all as root";

/// Why a process is not sampled.
fn explained(error: &io::Error, pid: u32) -> String {
    match error.raw_os_error() {
        Some(libc::ESRCH) => "there is no such process, or it has ended".to_owned(),
        // SAFETY: it has no arguments and cannot fail.
        Some(libc::EACCES | libc::EPERM) if unsafe { libc::geteuid() } == 0 => {
            "root lacks CAP_PERFMON or CAP_SYS_PTRACE here, as in many containers; add them, or run the command outside"
                .to_owned()
        }
        Some(libc::EACCES | libc::EPERM) if Root::machine().exists(format!("/proc/{pid}")) => {
            "it belongs to another user: run the command as root, or with CAP_PERFMON and CAP_SYS_PTRACE"
                .to_owned()
        }
        Some(libc::EMFILE) => TOO_MANY.to_owned(),
        _ => error.to_string(),
    }
}

fn refusal(error: &io::Error, target: &Target) -> Error {
    let paranoid = Root::machine().line("/proc/sys/kernel/perf_event_paranoid");
    let level = paranoid.map_or(String::new(), |level| {
        format!(" (kernel.perf_event_paranoid is {level})")
    });
    let why = match (error.raw_os_error(), target) {
        (Some(libc::EACCES | libc::EPERM), Target::Everybody) => format!(
            "the kernel does not let this user sample all processes{level}; run the command as root, give it CAP_PERFMON and CAP_SYS_PTRACE, or name your own processes with -p"
        ),
        (Some(libc::EACCES | libc::EPERM), _) => format!(
            "the kernel refuses perf_event_open{level}, as many containers do, so `trace` cannot tell what runs; run it as root, outside of the container, or set kernel.perf_event_paranoid to 2 or less"
        ),
        (Some(libc::ENOSYS), _) => {
            "this kernel has no perf_event_open, or a filter of system calls hides it, so `trace` cannot tell what runs; run it outside of the container".to_owned()
        }
        (Some(libc::ESRCH), Target::Processes(pids)) => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            format!("there is no process {}, or it has ended", pids.join(", "))
        }
        (Some(libc::ENOMEM), _) => {
            "there is no memory for the ring buffers; end other tracers, or raise kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l)".to_owned()
        }
        _ => format!("perf_event_open: {error}"),
    };
    Error::failure(format!("cannot trace: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!(ranges("0-2,5\n"), [0, 1, 2, 5]);
        assert_eq!(ranges("3"), [3]);
        assert!(ranges("").is_empty());
        assert!(ranges("0-99999999999,x,1-").is_empty());
    }
}
