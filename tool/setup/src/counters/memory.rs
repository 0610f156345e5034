// SPDX-License-Identifier: BSD-2-Clause
//! The shared memory in which the processes of a command count: a sealed memfd, not a file on disk
//! (openssl/common/counters_file.h says why). Nothing is left behind, however this process ends.

use super::{Counters, NEW};
use std::fs::{File, OpenOptions};
use std::io::Error as IoError;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use terminal::error::{Error, Result};

/// The variable that names the memory.
pub const VARIABLE: &str = "TENROUNDS_COUNTERS";

/// openssl/common/counters_file.h: TROSSL_COUNTERS_ROOM.
pub const ROOM: usize = 64 << 10;

/// Its name as a memfd.
const NAME: &std::ffi::CStr = c"tenrounds-counters";

pub struct Memory {
    file: File,
    /// /proc/PID/fd/N.
    path: PathBuf,
    /// Whether the path opens the memory. If not (no /proc), the command inherits the descriptor.
    reachable: bool,
}

impl Memory {
    /// Creates memory that begins with `NEW`, followed by zeros, sealed against shrinking and
    /// growing.
    pub fn new() -> Result<Memory> {
        let failed = |what: &str, error: IoError| {
            Error::failure(format!(
                "cannot create shared memory for the counters: {what}: {error}"
            ))
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
        // /proc/self gives this process's PID in the PID namespace of /proc, which can be another
        // one.
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

    /// Makes the processes of a command count here.
    pub fn pass_to(&self, command: &mut Command) {
        command.env(VARIABLE, &self.path);
        if !self.reachable {
            let descriptor = self.file.as_raw_fd();
            // SAFETY: fcntl(2) is async-signal-safe.
            unsafe { command.pre_exec(move || keep_over_exec(descriptor)) };
        }
    }

    /// Reads the counts so far.
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
    // From linux/memfd.h, since Linux 6.3. The sysctl vm.memfd_noexec can require it.
    const MFD_NOEXEC_SEAL: u32 = 8;
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name ends in a zero byte.
    let create = |flags| unsafe { libc::memfd_create(NAME.as_ptr(), flags) };
    let descriptor = match create(flags | MFD_NOEXEC_SEAL) {
        -1 => create(flags),
        descriptor => descriptor,
    };
    match descriptor {
        -1 => Err(IoError::last_os_error()),
        // SAFETY: the descriptor is open, and nothing else owns it.
        descriptor => Ok(unsafe { File::from_raw_fd(descriptor) }),
    }
}

/// Sets the size of the memory and allocates all its pages. Ignores SIGXFSZ meanwhile, so that a
/// lower RLIMIT_FSIZE is an error and does not kill this process.
fn allocate(file: &File) -> std::io::Result<()> {
    // SAFETY: plain system calls; the old signal disposition is restored.
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
