// SPDX-License-Identifier: BSD-2-Clause
//! perf_event_open(2).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// perf_event_attr up to PERF_ATTR_SIZE_VER5 (linux/perf_event.h), without its size.
#[derive(Default)]
pub struct Attributes {
    pub kind: u32,
    pub config: u64,
    pub frequency: u64,
    pub sample_type: u64,
    pub flags: u64,
    pub config1: u64,
    pub config2: u64,
    pub sample_regs_user: u64,
}

#[repr(C)]
#[derive(Default)]
struct Raw {
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
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

/// PERF_FLAG_FD_CLOEXEC.
const CLOEXEC: libc::c_ulong = 8;

impl Attributes {
    /// Opens a counter of a thread (-1: of all) on a processor (-1: on all). What config1 points to
    /// must be valid.
    pub fn open(&self, pid: i32, processor: i32) -> io::Result<OwnedFd> {
        let raw = Raw {
            kind: self.kind,
            size: std::mem::size_of::<Raw>() as u32,
            config: self.config,
            frequency: self.frequency,
            sample_type: self.sample_type,
            flags: self.flags,
            config1: self.config1,
            config2: self.config2,
            sample_regs_user: self.sample_regs_user,
            sample_stack_user: 0,
            ..Raw::default()
        };
        // SAFETY: the structure is valid and has the size that it says.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw as *const Raw,
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
}

/// Counters leave so many descriptors for the files that are read.
const RESERVE: u64 = 64;

/// The descriptors that counters may have.
fn most() -> u64 {
    use nix::sys::resource::{getrlimit, Resource};
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
    limit - RESERVE.min(limit / 2)
}

/// An ioctl(2) of a counter that takes a number.
pub fn control(counter: &OwnedFd, request: libc::c_ulong, argument: i32) -> io::Result<()> {
    // SAFETY: the requests that are used take a number.
    match unsafe { libc::ioctl(counter.as_raw_fd(), request, argument) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
