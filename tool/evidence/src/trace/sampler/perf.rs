// SPDX-License-Identifier: BSD-2-Clause
//! perf_event_open(2): one ring buffer a processor, into which the kernel writes a sample at each
//! tick of the CPU clock. This clock needs no hardware counters, which virtual machines lack.

use super::records::{self, Event, REGISTERS};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{fence, AtomicU64, Ordering};

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
/// PERF_SAMPLE_IP, TID, TIME and REGS_USER.
const SAMPLED: u64 = 1 | 1 << 1 | 1 << 2;
const REGS_USER: u64 = 1 << 12;
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const EXCLUDE_IDLE: u64 = 1 << 7;
/// freq, and records of mappings (mmap, mmap2), names (comm, comm_exec) and forks (task), each with
/// its time (sample_id_all).
const RECORDS: u64 = 1 << 10 | 1 << 8 | 1 << 23 | 1 << 9 | 1 << 24 | 1 << 13 | 1 << 18;
const ENABLE_ON_EXEC: u64 = 1 << 12;
/// PERF_FLAG_FD_CLOEXEC.
const CLOEXEC: libc::c_ulong = 8;
const IOC_ENABLE: libc::c_ulong = 0x2400;
const IOC_DISABLE: libc::c_ulong = 0x2401;
const IOC_SET_OUTPUT: libc::c_ulong = 0x2405;

/// Whose code is sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The programs that this thread starts, from their exec on.
    Children,
    Thread(u32),
    Everybody,
}

#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    pub rate: u32,
    /// Also samples in the kernel.
    pub kernel: bool,
}

/// perf_event_attr up to PERF_ATTR_SIZE_VER3 (linux/perf_event.h).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    frequency: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    config1: u64,
    config2: u64,
    branches: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
}

/// A counter of one thread or of all, on one processor.
pub fn open(whom: Whom, processor: u32, wanted: Wanted) -> io::Result<OwnedFd> {
    let (pid, flags) = match whom {
        Whom::Children => (0, DISABLED | INHERIT | ENABLE_ON_EXEC),
        Whom::Thread(tid) => (i32::try_from(tid).unwrap_or(i32::MAX), DISABLED | INHERIT),
        Whom::Everybody => (-1, DISABLED),
    };
    let user_only = match wanted.kernel {
        true => 0,
        false => EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
    };
    let attributes = Attributes {
        kind: SOFTWARE,
        size: std::mem::size_of::<Attributes>() as u32,
        config: CPU_CLOCK,
        frequency: wanted.rate.into(),
        sample_type: SAMPLED | if REGISTERS == 0 { 0 } else { REGS_USER },
        flags: flags | user_only | EXCLUDE_IDLE | RECORDS,
        sample_regs_user: REGISTERS,
        ..Attributes::default()
    };
    let processor = i32::try_from(processor).unwrap_or(i32::MAX);
    // SAFETY: the structure is valid and has the size that it says.
    let fd = unsafe {
        let attributes: *const Attributes = &attributes;
        libc::syscall(
            libc::SYS_perf_event_open,
            attributes,
            pid,
            processor,
            -1,
            CLOEXEC,
        )
    };
    if fd == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else has it.
    let counter = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    // The kernel gives the lowest number that is free.
    match fd as u64 >= most() {
        true => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        false => Ok(counter),
    }
}

/// The descriptors that counters may have. They leave some for the files that are read.
fn most() -> u64 {
    const RESERVE: u64 = 64;
    use nix::sys::resource::{getrlimit, Resource};
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
    limit - RESERVE.min(limit / 2)
}

/// An ioctl(2) of a counter that takes a number.
fn control(counter: &OwnedFd, request: libc::c_ulong, argument: i32) -> io::Result<()> {
    // SAFETY: the requests that are used take a number.
    match unsafe { libc::ioctl(counter.as_raw_fd(), request, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The ring buffer of one processor, and the counters that write into it.
pub struct Ring {
    /// The first owns the buffer.
    counters: Vec<OwnedFd>,
    base: *mut u8,
    /// Bytes of the first page, and of all that is mapped.
    page: usize,
    mapped: usize,
}

/// Pages of a buffer, the first size that all processors can have. 256 KiB hold the samples of 2
/// seconds at 499 Hz. Without CAP_IPC_LOCK the kernel allows 516 KiB a processor, unless others of
/// this user trace, too; RLIMIT_MEMLOCK adds to the sum.
pub const PAGES: [usize; 3] = [64, 16, 4];

/// Offsets in the first page (struct perf_event_mmap_page).
const HEAD: usize = 1024;
const TAIL: usize = 1032;

impl Ring {
    /// The error is ENOMEM if this user cannot have so many pages.
    pub fn new(counter: OwnedFd, pages: usize) -> io::Result<Ring> {
        // SAFETY: sysconf() has no preconditions.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let mapped = (1 + pages) * page;
        // SAFETY: a new mapping, of a descriptor that is open.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                counter.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                // Too much locked memory (perf_event_open(2)), which is no refusal to sample.
                Some(libc::EPERM) => io::Error::from_raw_os_error(libc::ENOMEM),
                _ => error,
            });
        }
        Ok(Ring {
            counters: vec![counter],
            base: base.cast(),
            page,
            mapped,
        })
    }

    /// Adds a counter whose samples come into the same buffer.
    pub fn add(&mut self, counter: OwnedFd) -> io::Result<()> {
        control(&counter, IOC_SET_OUTPUT, self.counters[0].as_raw_fd())?;
        self.counters.push(counter);
        Ok(())
    }

    pub fn start(&self) -> io::Result<()> {
        self.counters
            .iter()
            .try_for_each(|counter| control(counter, IOC_ENABLE, 0))
    }

    pub fn stop(&self) {
        for counter in &self.counters {
            // It cannot fail for an open counter.
            let _ = control(counter, IOC_DISABLE, 0);
        }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped, and the offset is that of an aligned word in it, which
        // the kernel and this process only read and write as a whole.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    /// Takes all records that are there, with their times.
    pub fn drain(&self, into: &mut Vec<(u64, Event)>) {
        let size = self.mapped - self.page;
        let head = self.word(HEAD).load(Ordering::Acquire);
        fence(Ordering::Acquire);
        let mut tail = self.word(TAIL).load(Ordering::Relaxed);
        let count = usize::try_from(head.wrapping_sub(tail))
            .unwrap_or(0)
            .min(size);
        let mut bytes = Vec::with_capacity(count);
        let from = (tail % size as u64) as usize;
        let first = count.min(size - from);
        // SAFETY: both parts lie in the buffer, and the kernel writes no byte between tail
        // and head.
        unsafe {
            let data = self.base.add(self.page);
            bytes.extend_from_slice(std::slice::from_raw_parts(data.add(from), first));
            bytes.extend_from_slice(std::slice::from_raw_parts(data, count - first));
        }
        let mut rest = &bytes[..];
        while let Some(length) = records::length(rest) {
            into.extend(records::parse(&rest[..length]));
            rest = &rest[length..];
        }
        tail = tail.wrapping_add((bytes.len() - rest.len()) as u64);
        self.word(TAIL).store(tail, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `new` made; nothing refers to it any more.
        unsafe { libc::munmap(self.base.cast(), self.mapped) };
    }
}
