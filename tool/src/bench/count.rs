// SPDX-License-Identifier: BSD-2-Clause
//! The system calls that some work makes, and the bytes that cross into the kernel by them: counted
//! by tracing a child that does the work (ptrace(2)), not assumed.

use super::job::Job;
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::{raise, Signal};
use nix::sys::uio::{process_vm_readv, RemoteIoVec};
use nix::sys::wait::{waitpid, WaitStatus};
use nix::unistd::{fork, ForkResult, Pid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::c_long;
use std::io::IoSliceMut;
use terminal::error::{Error, Result};
use terminal::output;

/// What so many calls did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub calls: u64,
    /// By name, how many.
    pub system_calls: BTreeMap<String, u64>,
    /// Bytes that the kernel copied, and bytes of pages that it was only shown.
    pub copied: Bytes,
    pub referenced: Bytes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes {
    /// Into the kernel.
    pub r#in: u64,
    /// Out of it.
    pub out: u64,
}

/// How the bytes of a system call cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossing {
    CopiedIn,
    CopiedOut,
    ReferencedIn,
    /// The kernel writes to pages of the caller directly.
    ReferencedOut,
    /// The same, with the numbers of bytes in an array of struct io_event.
    Events,
    /// Between two places in the kernel, or none.
    Within,
}

/// Those that may occur. The only recv() and asynchronous reads here are those of AF_ALG sockets.
const KNOWN: [(c_long, &str, Crossing); 11] = [
    (libc::SYS_sendto, "sendto", Crossing::CopiedIn),
    (libc::SYS_sendmsg, "sendmsg", Crossing::CopiedIn),
    (libc::SYS_write, "write", Crossing::CopiedIn),
    (libc::SYS_read, "read", Crossing::CopiedOut),
    (libc::SYS_vmsplice, "vmsplice", Crossing::ReferencedIn),
    (libc::SYS_splice, "splice", Crossing::Within),
    (libc::SYS_recvfrom, "recvfrom", Crossing::ReferencedOut),
    (libc::SYS_recvmsg, "recvmsg", Crossing::ReferencedOut),
    (libc::SYS_io_submit, "io_submit", Crossing::Within),
    (libc::SYS_io_getevents, "io_getevents", Crossing::Events),
    (libc::SYS_futex, "futex", Crossing::Within),
];

/// Begins and ends what is counted: nothing else makes this call.
const MARK: c_long = libc::SYS_getppid;

fn mark() {
    // SAFETY: getppid() takes no arguments and touches no memory of ours.
    unsafe { libc::syscall(MARK) };
}

fn failed(what: &str) -> impl Fn(Errno) -> Error + '_ {
    move |errno| Error::absent(format!("{what}: {} (errno {})", errno.desc(), errno as i32))
}

/// Does so many calls of a job in a child that is traced. The job is made there, and does its
/// sample before. The process must have no other threads.
pub fn count(make: impl FnOnce() -> Result<Box<dyn Job>>, calls: u64) -> Result<Counts> {
    // SAFETY: the process has no other threads (see above), so the child finds no lock held.
    match unsafe { fork() }.map_err(failed("fork"))? {
        ForkResult::Child => {
            let status = match work(make, calls) {
                Ok(()) => 0,
                Err(error) => {
                    output::complain(format!("counting system calls: {error}"));
                    1
                }
            };
            // SAFETY: _exit() takes any number and does not return.
            unsafe { libc::_exit(status) }
        }
        ForkResult::Parent { child } => {
            let mut tracer = Tracer::new(child, calls);
            let counted = tracer.trace();
            if counted.is_err() {
                let _ = nix::sys::signal::kill(child, Signal::SIGKILL);
                let _ = waitpid(child, None);
            }
            counted.map(|()| tracer.counts)
        }
    }
}

fn work(make: impl FnOnce() -> Result<Box<dyn Job>>, calls: u64) -> Result<()> {
    ptrace::traceme().map_err(failed("ptrace"))?;
    raise(Signal::SIGSTOP).map_err(failed("raise"))?;
    let mut job = make()?;
    job.sample()?;
    mark();
    job.run(calls)?;
    mark();
    Ok(())
}

struct Tracer {
    child: Pid,
    counting: bool,
    /// The call that was entered, and its arguments.
    entered: Option<(c_long, [u64; 6])>,
    counts: Counts,
}

impl Tracer {
    fn new(child: Pid, calls: u64) -> Tracer {
        Tracer {
            child,
            counting: false,
            entered: None,
            counts: Counts {
                calls,
                ..Counts::default()
            },
        }
    }

    fn trace(&mut self) -> Result<()> {
        let mut signal = None;
        let mut first = true;
        loop {
            match waitpid(self.child, None).map_err(failed("waitpid"))? {
                WaitStatus::Exited(_, 0) => return Ok(()),
                WaitStatus::PtraceSyscall(_) => self.stopped()?,
                WaitStatus::Stopped(_, Signal::SIGSTOP) if first => {
                    use ptrace::Options;
                    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL;
                    ptrace::setoptions(self.child, options).map_err(failed("ptrace"))?;
                    first = false;
                }
                WaitStatus::Stopped(_, other) => signal = Some(other),
                other => {
                    return Err(Error::failure(format!(
                        "the process whose system calls are counted ended: {other:?}"
                    )))
                }
            }
            ptrace::syscall(self.child, signal.take()).map_err(failed("ptrace"))?;
        }
    }

    /// Before or after a system call.
    fn stopped(&mut self) -> Result<()> {
        let info = ptrace::syscall_info(self.child).map_err(failed("PTRACE_GET_SYSCALL_INFO"))?;
        match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY => {
                // SAFETY: the kernel fills this member of the union when it sets `op` to ENTRY.
                let entry = unsafe { info.u.entry };
                self.entered = Some((entry.nr as c_long, entry.args));
                Ok(())
            }
            libc::PTRACE_SYSCALL_INFO_EXIT => match self.entered.take() {
                // SAFETY: the kernel fills this member of the union when it sets `op` to EXIT.
                Some((number, args)) => self.done(number, &args, unsafe { info.u.exit.sval }),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn done(&mut self, number: c_long, args: &[u64; 6], result: i64) -> Result<()> {
        if number == MARK {
            self.counting = !self.counting;
            return Ok(());
        }
        if !self.counting {
            return Ok(());
        }
        let known = KNOWN.iter().find(|(known, _, _)| *known == number);
        let (name, crossing) = match known {
            Some((_, name, crossing)) => ((*name).to_owned(), *crossing),
            None => (format!("number {number}"), Crossing::Within),
        };
        *self.counts.system_calls.entry(name).or_default() += 1;
        let bytes = match crossing {
            Crossing::Events => self.events(args[3], result)?,
            _ => u64::try_from(result).unwrap_or(0),
        };
        let (copied, referenced) = (&mut self.counts.copied, &mut self.counts.referenced);
        match crossing {
            Crossing::CopiedIn => copied.r#in += bytes,
            Crossing::CopiedOut => copied.out += bytes,
            Crossing::ReferencedIn => referenced.r#in += bytes,
            Crossing::ReferencedOut | Crossing::Events => referenced.out += bytes,
            Crossing::Within => {}
        }
        Ok(())
    }

    /// The bytes that finished operations report, in so many struct io_event (linux/aio_abi.h):
    /// data, obj, res, res2, of 8 bytes each.
    fn events(&self, address: u64, count: i64) -> Result<u64> {
        let mut words = vec![0_u8; usize::try_from(count).unwrap_or(0) * 32];
        if words.is_empty() {
            return Ok(0);
        }
        let remote = RemoteIoVec {
            base: address as usize,
            len: words.len(),
        };
        process_vm_readv(self.child, &mut [IoSliceMut::new(&mut words)], &[remote])
            .map_err(failed("process_vm_readv"))?;
        let result = |event: &[u8]| {
            let word = event[16..24].try_into().expect("eight bytes");
            u64::try_from(i64::from_le_bytes(word)).unwrap_or(0)
        };
        Ok(words.chunks_exact(32).map(result).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::super::crossing::CrossingJob;
    use super::super::jobs::CoreJob;
    use super::*;
    use crate::ciphers::Cipher;
    use catalogue::Direction;
    use tenrounds_sys::Backend;

    // The tests' harness has threads, which fork() leaves behind; what is counted here needs none
    // of them.
    #[test]
    fn a_pipe_takes_two_calls_for_each_64_kib_and_one_copy() {
        let make = || -> Result<Box<dyn Job>> { Ok(Box::new(CrossingJob::new(160 << 10)?)) };
        let counts = count(make, 5).unwrap();
        let expected = [("splice".to_owned(), 15), ("write".to_owned(), 15)];
        assert_eq!(counts.system_calls, BTreeMap::from(expected));
        let bytes = |r#in, out| Bytes { r#in, out };
        assert_eq!(counts.copied, bytes(5 * (160 << 10), 0));
        assert_eq!(counts.referenced, bytes(0, 0));
    }

    #[test]
    fn the_core_makes_no_system_calls() {
        let cipher = Cipher::by_name("aes-128-cbc").unwrap();
        let backend = Backend::by_name("bitslice").unwrap();
        let make = || -> Result<Box<dyn Job>> {
            let job = CoreJob::new(backend, cipher, Direction::Encrypt, 1024);
            Ok(Box::new(job?))
        };
        let counts = count(make, 7).unwrap();
        assert_eq!((counts.calls, counts.system_calls.len()), (7, 0));
    }

    #[test]
    fn work_that_fails_is_an_error() {
        assert!(count(|| Err(Error::failure("no such work")), 1).is_err());
    }
}
