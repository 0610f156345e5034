// SPDX-License-Identifier: BSD-2-Clause
//! The shared memory in which the processes of a command count. openssl/common/counters_file.h says why it is
//! a sealed memfd and no file on a disk. It leaves nothing behind, however this process ends.

use super::counters::{Counters, NEW};
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Error as IoError;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

const VARIABLE: &str = "TENROUNDS_COUNTERS";

/// openssl/common/counters_file.h: TROSSL_COUNTERS_ROOM.
const ROOM: usize = 64 << 10;

pub struct Memory {
    file: File,
    /// /proc/PID/fd/N.
    path: PathBuf,
    /// Whether the path leads to the memory. Without /proc the command inherits the descriptor instead.
    reachable: bool,
}

impl Memory {
    /// Memory that begins with `NEW`, above zeros, and that nobody can shrink.
    pub fn new() -> Result<Memory> {
        let failed = |what: &str, error: IoError| {
            Error::failure(format!("no shared memory to count in: {what}: {error}"))
        };
        let file = create().map_err(|error| failed("memfd_create", error))?;
        allocate(&file).map_err(|error| failed("fallocate of 64 KiB", error))?;
        file.write_all_at(NEW, 0)
            .map_err(|error| failed("writing to it", error))?;
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;
        // SAFETY: plain system calls on a descriptor that is ours.
        let sealed = unsafe {
            libc::fchmod(file.as_raw_fd(), 0o600) == 0
                && libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) == 0
        };
        if !sealed {
            return Err(failed("sealing it", IoError::last_os_error()));
        }
        // By /proc's own number for this process, which can be of another PID namespace.
        let itself = std::fs::read_link("/proc/self").unwrap_or_default();
        let descriptor = file.as_raw_fd().to_string();
        let path = PathBuf::from("/proc")
            .join(itself)
            .join("fd")
            .join(descriptor);
        let reachable = leads_to(&path, &file);
        Ok(Memory {
            file,
            path,
            reachable,
        })
    }

    /// Has a command count here.
    pub fn pass_to(&self, command: &mut Command) {
        command.env(VARIABLE, &self.path);
        if !self.reachable {
            let descriptor = self.file.as_raw_fd();
            // SAFETY: fcntl(2) is async-signal-safe.
            unsafe { command.pre_exec(move || keep_over_exec(descriptor)) };
        }
    }

    /// What was counted so far.
    pub fn read(&self) -> Result<Counters> {
        let mut bytes = vec![0; ROOM];
        self.file
            .read_exact_at(&mut bytes, 0)
            .map_err(|error| error.to_string())
            .and_then(|()| Counters::parse(&bytes))
            .map_err(|why| Error::failure(format!("reading the counters: {why}")))
    }
}

fn create() -> std::io::Result<File> {
    // linux/memfd.h, since Linux 6.3, where sysctl vm.memfd_noexec can demand it.
    const MFD_NOEXEC_SEAL: u32 = 8;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    let name = b"tenrounds-counters\0".as_ptr().cast();
    // SAFETY: the name ends in a zero byte.
    let create = |flags| unsafe { libc::memfd_create(name, flags) };
    let descriptor = match create(flags | MFD_NOEXEC_SEAL) {
        -1 => create(flags),
        descriptor => descriptor,
    };
    match descriptor {
        -1 => Err(IoError::last_os_error()),
        // SAFETY: it is open, and nobody else has it.
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    }
}

/// Gives the memory its size and all its pages. Beyond RLIMIT_FSIZE that is an error, and not the end of this
/// process by SIGXFSZ.
fn allocate(file: &File) -> std::io::Result<()> {
    // SAFETY: plain system calls; the old disposition comes back.
    let allocated = unsafe {
        let before = libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        let allocated = libc::posix_fallocate(file.as_raw_fd(), 0, ROOM as libc::off_t);
        libc::signal(libc::SIGXFSZ, before);
        allocated
    };
    match allocated {
        0 => Ok(()),
        error => Err(IoError::from_raw_os_error(error)),
    }
}

fn leads_to(path: &std::path::Path, file: &File) -> bool {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    let identity = |file: &File| file.metadata().map(|meta| (meta.dev(), meta.ino())).ok();
    opened.is_ok_and(|opened| identity(&opened) == identity(file))
}

fn keep_over_exec(descriptor: RawFd) -> std::io::Result<()> {
    // SAFETY: a plain system call.
    match unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) } {
        -1 => Err(IoError::last_os_error()),
        _ => Ok(()),
    }
}
