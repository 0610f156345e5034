// SPDX-License-Identifier: BSD-2-Clause
//! bpf(2) and probes: maps in the kernel, and programs that write to them. The kernel removes all
//! of it when this process ends, however it ends.

use super::assembler::{Instruction, Namespace, Whose};
use crate::root::Root;
use crate::trace::event::{control, Attributes};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_GET_NEXT_KEY: libc::c_int = 4;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
/// BPF_TRACE_UPROBE_MULTI.
const UPROBE_MULTI: u32 = 48;
/// BPF_MAP_TYPE_HASH and BPF_PROG_TYPE_KPROBE.
const HASH: u32 = 1;
const KPROBE: u32 = 2;
/// PERF_EVENT_IOC_SET_BPF and PERF_EVENT_IOC_ENABLE.
const IOC_SET_BPF: libc::c_ulong = 0x4004_2408;
const IOC_ENABLE: libc::c_ulong = 0x2400;

/// bpf(2) with the part of union bpf_attr that the command uses. What it points to must be valid.
fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_long> {
    let size = std::mem::size_of::<T>();
    // SAFETY: the caller passes the structure of the command; the kernel takes its size from here.
    match unsafe { libc::syscall(libc::SYS_bpf, command, attributes as *mut T, size) } {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    }
}

fn owned(fd: libc::c_long) -> OwnedFd {
    // SAFETY: the descriptor is new, and nobody else has it.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}

/// A hash map in the kernel. Both types must be structures without padding of which any bytes are
/// valid.
pub struct Map<K, V>(OwnedFd, PhantomData<(K, V)>);

#[repr(C)]
struct MapEntry {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

impl<K: Copy + Default, V: Copy + Default> Map<K, V> {
    pub fn new(most: u32) -> io::Result<Map<K, V>> {
        #[repr(C)]
        struct Create {
            kind: u32,
            key_size: u32,
            value_size: u32,
            most: u32,
            flags: u32,
        }
        raise_limit();
        let mut create = Create {
            kind: HASH,
            key_size: std::mem::size_of::<K>() as u32,
            value_size: std::mem::size_of::<V>() as u32,
            most,
            flags: 0,
        };
        Ok(Map(owned(bpf(MAP_CREATE, &mut create)?), PhantomData))
    }

    pub fn descriptor(&self) -> i32 {
        self.0.as_raw_fd()
    }

    /// Passes a key, or none, and the place for the answer.
    fn entry<T>(&self, command: libc::c_int, key: Option<&K>, answer: &mut T) -> io::Result<()> {
        let mut entry = MapEntry {
            map: self.descriptor() as u32,
            pad: 0,
            key: key.map_or(0, |key| key as *const K as u64),
            value: answer as *mut T as u64,
            flags: 0,
        };
        bpf(command, &mut entry).map(drop)
    }

    /// All entries, once nothing adds to them any more.
    pub fn all(&self) -> Vec<(K, V)> {
        let mut all = Vec::new();
        let mut key: Option<K> = None;
        let mut next = K::default();
        while self
            .entry(MAP_GET_NEXT_KEY, key.as_ref(), &mut next)
            .is_ok()
        {
            key = Some(next);
            let mut value = V::default();
            if self.entry(MAP_LOOKUP, key.as_ref(), &mut value).is_ok() {
                all.push((next, value));
            }
        }
        all
    }
}

/// Before Linux 5.11, maps count as locked memory.
fn raise_limit() {
    use nix::sys::resource::{getrlimit, setrlimit, Resource};
    const ENOUGH: u64 = 64 << 20;
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_MEMLOCK) {
        let _ = setrlimit(Resource::RLIMIT_MEMLOCK, soft.max(ENOUGH), hard.max(ENOUGH));
    }
}

pub fn load(code: &[Instruction]) -> io::Result<OwnedFd> {
    load_for(code, 0)
}

/// Loads a program for probes that are put in this way (enum bpf_attach_type; 0 is perf).
fn load_for(code: &[Instruction], attach_type: u32) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        code: u64,
        license: u64,
        log_level: u32,
        log_size: u32,
        log: u64,
        kernel_version: u32,
        flags: u32,
        name: [u8; 16],
        interface: u32,
        attach_type: u32,
    }
    let mut log = vec![0u8; 1 << 16];
    let mut load = Load {
        kind: KPROBE,
        count: code.len() as u32,
        code: code.as_ptr() as u64,
        // bpf_probe_read_user() is for programs under the GPL, which this one is, too.
        license: c"Dual BSD/GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel_version: 0,
        flags: 0,
        name: [0; 16],
        interface: 0,
        attach_type,
    };
    let error = match bpf(PROG_LOAD, &mut load) {
        Ok(fd) => return Ok(owned(fd)),
        Err(error) => error,
    };
    if matches!(error.raw_os_error(), Some(libc::EPERM)) {
        return Err(error);
    }
    // What the verifier says.
    (load.log_level, load.log_size, load.log) = (1, log.len() as u32, log.as_mut_ptr() as u64);
    if let Ok(fd) = bpf(PROG_LOAD, &mut load) {
        return Ok(owned(fd));
    }
    let text = String::from_utf8_lossy(&log);
    let text = text.trim_end_matches('\0').trim();
    match text.is_empty() {
        true => Err(error),
        false => Err(io::Error::other(format!("{error}: {text}"))),
    }
}

/// A probe. The event holds the program.
pub struct Probe(#[allow(dead_code)] OwnedFd);

impl Probe {
    /// A probe at a place of a file.
    pub fn in_file(
        whose: Whose,
        file: &File,
        offset: u64,
        code: &[Instruction],
    ) -> io::Result<Probe> {
        // Not by its name, which may mean another file by now.
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        Probe::new(whose, Kind::User, &path, offset, code)
    }

    /// Probes at many places of a file, each with the number that `Assembler::cookie` gets. The
    /// kernel removes them together; one by one, each takes it 20 to 100 ms.
    pub fn at_many(
        whose: Whose,
        file: &File,
        places: &[(u64, u64)],
        code: &[Instruction],
    ) -> io::Result<Probe> {
        #[repr(C)]
        struct Create {
            program: u32,
            target: u32,
            attach_type: u32,
            flags: u32,
            path: u64,
            offsets: u64,
            semaphores: u64,
            cookies: u64,
            count: u32,
            more_flags: u32,
            pid: u32,
            pad: u32,
        }
        let program = load_for(code, UPROBE_MULTI)?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        let (offsets, cookies): (Vec<u64>, Vec<u64>) = places.iter().copied().unzip();
        let mut create = Create {
            program: program.as_raw_fd() as u32,
            target: 0,
            attach_type: UPROBE_MULTI,
            flags: 0,
            path: path.as_ptr() as u64,
            offsets: offsets.as_ptr() as u64,
            semaphores: 0,
            cookies: cookies.as_ptr() as u64,
            count: places.len() as u32,
            more_flags: 0,
            pid: match whose {
                Whose::Process(pid) => pid,
                Whose::Everybody(_) => 0,
            },
            pad: 0,
        };
        bpf(LINK_CREATE, &mut create).map(|fd| Probe(owned(fd)))
    }

    /// A probe at the beginning of a function of the kernel.
    pub fn in_kernel(function: &str, code: &[Instruction]) -> io::Result<Probe> {
        let name = CString::new(function)?;
        Probe::new(Whose::Everybody(None), Kind::Kernel, &name, 0, code)
    }

    fn new(
        whose: Whose,
        kind: Kind,
        name: &CString,
        offset: u64,
        code: &[Instruction],
    ) -> io::Result<Probe> {
        let program = load(code)?;
        let attributes = Attributes {
            kind: kind.number()?,
            config1: name.as_ptr() as u64,
            config2: offset,
            ..Attributes::default()
        };
        let event = match whose {
            Whose::Process(pid) => attributes.open(i32::try_from(pid).unwrap_or(i32::MAX), -1),
            // The program of a probe runs on all processors, whichever the event is for.
            Whose::Everybody(_) => attributes.open(-1, first_processor()),
        }?;
        control(&event, IOC_SET_BPF, program.as_raw_fd())?;
        control(&event, IOC_ENABLE, 0)?;
        Ok(Probe(event))
    }
}

/// Whether the kernel puts many probes at once. Linux has this since 6.6; before 6.11 it left out
/// threads of a process but the first one.
pub fn takes_many() -> bool {
    let release = Root::machine().line("/proc/sys/kernel/osrelease");
    release.is_some_and(|release| is_at_least(&release, (6, 11)))
}

fn is_at_least(release: &str, wanted: (u32, u32)) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut next = || numbers.next().and_then(|number| number.parse().ok());
    let version: (Option<u32>, Option<u32>) = (next(), next());
    matches!(version, (Some(major), Some(minor)) if (major, minor) >= wanted)
}

/// Whether probes are in programs or in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    User,
    Kernel,
}

impl Kind {
    /// The file that has the kernel's number for such events.
    pub fn file(self) -> &'static str {
        match self {
            Kind::User => "/sys/bus/event_source/devices/uprobe/type",
            Kind::Kernel => "/sys/bus/event_source/devices/kprobe/type",
        }
    }

    pub fn number(self) -> io::Result<u32> {
        let line = Root::machine().line(self.file());
        let number = line.and_then(|line| line.trim().parse().ok());
        number.ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }
}

fn first_processor() -> i32 {
    let online = Root::machine().line("/sys/devices/system/cpu/online");
    let digits = |line: String| line.split(['-', ',']).next()?.trim().parse().ok();
    online.and_then(digits).unwrap_or(0)
}

/// All processes, with the PIDs that this process sees.
pub fn everybody() -> Whose {
    Whose::Everybody(namespace())
}

/// The namespace of PIDs that this process is in; None if it is the first one, which has all.
fn namespace() -> Option<Namespace> {
    /// PROC_PID_INIT_INO (linux/proc_ns.h).
    const FIRST: u64 = 0xefff_fffc;
    let meta = std::fs::metadata("/proc/self/ns/pid").ok()?;
    // The kernel's own form of a device number (linux/kdev_t.h).
    let (major, minor) = (libc::major(meta.dev()), libc::minor(meta.dev()));
    (meta.ino() != FIRST).then_some(Namespace {
        device: u64::from(major) << 20 | u64::from(minor),
        inode: meta.ino(),
    })
}

/// Whether it fails for every function, and not for what one file or process is.
pub fn is_general(error: &io::Error) -> bool {
    let numbers = [libc::EPERM, libc::EACCES, libc::ENOSYS, libc::EOPNOTSUPP];
    error
        .raw_os_error()
        .is_some_and(|number| numbers.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_of_the_kernel() {
        for release in ["6.11.0-9-generic", "6.18.5", "7.0-rc1", "10.0"] {
            assert!(is_at_least(release, (6, 11)), "{release}");
        }
        for release in ["6.10.14", "6.1.0-32-amd64", "5.15", "6", "", "x.y"] {
            assert!(!is_at_least(release, (6, 11)), "{release}");
        }
    }
}
