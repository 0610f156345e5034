// SPDX-License-Identifier: BSD-2-Clause
//! The counters of a command that runs, found by what its processes have in their environment.
//!
//! Any user's process can name anything there, and root reads it: nothing but the memory of
//! `run --count` is opened, because opening a device alone can have an effect.

use super::{memory, Counters};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The device and inode of the memory.
pub type Identity = (u64, u64);

/// Shared memory of a running command. It is not yet open for reading.
pub struct Found {
    pub identity: Identity,
    file: File,
}

/// The memory that a path leads to; None if it is not of the form /proc/PID/fd/N, or leads to
/// something else.
pub fn find(path: &str) -> Option<Found> {
    if !is_descriptor(path) {
        return None;
    }
    // This opens nothing: neither a device nor a pipe notices.
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.ok()?;
    let target = std::fs::read_link(own(&file)).ok()?;
    let is_memory = target.as_os_str().as_bytes().starts_with(b"/memfd:");
    let meta = is_memory.then(|| file.metadata().ok())??;
    meta.is_file().then_some(Found {
        identity: (meta.dev(), meta.ino()),
        file,
    })
}

impl Found {
    /// Reads the counts so far; None if the memory is not sealed or is not of counters.
    pub fn read(&self) -> Option<Counters> {
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(own(&self.file))
            .ok()?;
        // SAFETY: a plain system call on an open descriptor.
        let seals = unsafe { libc::fcntl(opened.as_raw_fd(), libc::F_GET_SEALS) };
        if seals == -1 || seals & libc::F_SEAL_SHRINK == 0 {
            return None;
        }
        let mut bytes = Vec::new();
        let mut begin = opened.take(memory::ROOM as u64);
        begin.read_to_end(&mut bytes).ok()?;
        Counters::parse(&bytes).ok().map(Counters::of_known_names)
    }
}

/// The path under which this process has a descriptor.
fn own(file: &File) -> PathBuf {
    Path::new("/proc/self/fd").join(file.as_raw_fd().to_string())
}

/// Whether a path is /proc/PID/fd/N. Only its last component is a link then, and the kernel's own.
fn is_descriptor(path: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts = path.strip_prefix("/proc/");
    let parts = parts.and_then(|rest| rest.split_once("/fd/"));
    parts.is_some_and(|(pid, descriptor)| number(pid) && number(descriptor))
}

#[cfg(test)]
mod tests {
    use super::super::NEW;
    use super::*;
    use std::os::fd::FromRawFd;

    fn memfd(seals: i32) -> File {
        // SAFETY: the name ends in a zero byte, and the descriptor is ours.
        unsafe {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            let file = File::from_raw_fd(libc::memfd_create(c"test".as_ptr(), flags));
            std::io::Write::write_all(&mut &file, NEW).unwrap();
            assert_eq!(libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals), 0);
            file
        }
    }

    fn named(file: &File) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
    }

    #[test]
    fn only_sealed_memory_is_read() {
        let sealed = memfd(libc::F_SEAL_SHRINK);
        let found = find(&named(&sealed)).expect("it is found");
        assert_eq!(found.read(), Some(Counters::default()));
        let loose = memfd(0);
        assert!(find(&named(&loose)).expect("it is found").read().is_none());
    }

    #[test]
    fn nothing_else_is_opened() {
        let path = std::env::temp_dir().join(format!("tenrounds-counters-{}", std::process::id()));
        std::fs::write(&path, NEW).unwrap();
        let file = File::open(&path).unwrap();
        let zero = File::open("/dev/zero").unwrap();
        let direct = find(path.to_str().unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(direct.is_none() && find(&named(&file)).is_none() && find(&named(&zero)).is_none());
        for path in [
            "/dev/watchdog",
            "/dev/zero",
            "/proc/self/fd/0",
            "/proc/1/fd/../fd/0",
            "/proc/1/root/proc/1/fd/0",
            "/proc//fd/0",
            "",
        ] {
            assert!(!is_descriptor(path) && find(path).is_none(), "{path}");
        }
    }
}
