// SPDX-License-Identifier: BSD-2-Clause
//! The counters file and the probe tenrounds:bulk: what the module executes appears in its section
//! of the file and in no other, and a tracer at the probe sees the same calls. One test, because
//! the environment and the module are the process's.

// The arguments of ck! may be unsafe.
#![allow(clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::ptr::null_mut;
use support::{bytes_of, mechanism, Session, Way};

const FILE: usize = 65536;
const SECTION: usize = 16384;
/// The module is the third host (enum trossl_host).
const MODULE: usize = 2 * SECTION;

/// An empty counters file, as openssl/common/counters_file.h wants it.
fn counters_file() -> File {
    // SAFETY: the name ends in a zero byte, and the descriptor is nobody else's.
    let mut file = unsafe {
        let fd = libc::memfd_create(c"counters".as_ptr(), libc::MFD_ALLOW_SEALING);
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        File::from_raw_fd(fd)
    };
    file.write_all(b"TRCOUNT0").expect("a memfd is written");
    file.set_len(FILE as u64).expect("a memfd grows");
    // SAFETY: the descriptor is open.
    let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_SHRINK) };
    assert_eq!(sealed, 0, "{}", std::io::Error::last_os_error());
    file
}

fn word(file: &[u8], at: usize) -> usize {
    u32::from_le_bytes(file[at..at + 4].try_into().expect("four bytes")) as usize
}

fn long(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().expect("eight bytes"))
}

/// Calls and bytes of one operation of one backend.
type Counts = std::collections::BTreeMap<(String, usize), (u64, u64)>;

fn read(file: &File) -> Vec<u8> {
    let mut data = vec![0; FILE];
    file.read_exact_at(&mut data, 0).expect("a memfd is read");
    data
}

fn name(file: &[u8], at: usize) -> String {
    let text = file[at..at + 16].split(|byte| *byte == 0).next();
    String::from_utf8(text.unwrap().to_vec()).expect("a name")
}

/// What the module counted, without zeros, and the names of the operations.
fn counts(file: &[u8]) -> (Counts, Vec<String>) {
    let (backends, ops) = (word(file, MODULE + 8), word(file, MODULE + 12));
    let names = MODULE + 24 + 16 * backends;
    let at = |backend, op| names + 16 * ops + 16 * (backend * ops + op);
    let pairs = (0..backends).flat_map(|backend| (0..ops).map(move |op| (backend, op)));
    let cells = pairs.map(|(backend, op)| {
        let at = at(backend, op);
        let key = (name(file, MODULE + 24 + 16 * backend), op);
        (key, (long(file, at), long(file, at + 8)))
    });
    let operations = (0..ops).map(|op| name(file, names + 16 * op));
    let counted = cells.filter(|(_, (calls, _))| *calls > 0);
    (counted.collect(), operations.collect())
}

/// The bytes that all backends together processed in an operation.
fn executed((counts, operations): &(Counts, Vec<String>), operation: &str) -> u64 {
    let of = |op: &usize| operations[*op] == operation;
    let cells = counts.iter().filter(|((_, op), _)| of(op));
    cells.map(|(_, (_, bytes))| bytes).sum()
}

/// A tracer in the form of a debugger: a breakpoint at each place of the probe.
#[cfg(target_arch = "x86_64")]
mod tracer {
    use super::{Counts, File, FileExt};
    use object::{elf::PF_X, Object, ObjectSection, ObjectSegment, SegmentFlags};
    use std::collections::HashMap;
    use std::ffi::c_void;
    use std::ptr::null_mut;

    const NOP: u8 = 0x90;
    const BREAKPOINT: u8 = 0xcc;

    /// Where this program has the probe, in memory, and the descriptions of its arguments there.
    pub type Sites = HashMap<u64, Vec<String>>;

    /// Reads the notes of sys/sdt.h in this program.
    pub fn sites() -> Sites {
        let program = std::fs::read("/proc/self/exe").unwrap();
        let program = object::File::parse(&program[..]).unwrap();
        // SAFETY: the function only reads.
        let entry = unsafe { libc::getauxval(libc::AT_ENTRY) };
        let base = entry - program.entry();
        let is_code = |at: u64| {
            let mut segments = program.segments();
            segments.any(|segment| {
                let executable = matches!(segment.flags(),
                    SegmentFlags::Elf { p_flags } if p_flags & PF_X != 0);
                executable && (segment.address()..segment.address() + segment.size()).contains(&at)
            })
        };
        let Some(notes) = program.section_by_name(".note.stapsdt") else {
            return Sites::new();
        };
        let (mut rest, mut sites) = (notes.data().unwrap(), Sites::new());
        while !rest.is_empty() {
            let word =
                |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
            let (owner, description) = (word(0).next_multiple_of(4), word(4));
            assert_eq!(&rest[12..20], b"stapsdt\0");
            let note = &rest[12 + owner..][..description];
            rest = &rest[12 + owner + description.next_multiple_of(4)..];
            let address = |at: usize| u64::from_le_bytes(note[at..at + 8].try_into().unwrap());
            let mut texts = note[24..].split(|byte| *byte == 0);
            let mut text = || String::from_utf8(texts.next().unwrap().to_vec()).unwrap();
            assert_eq!(
                (text(), text()),
                ("tenrounds".to_owned(), "bulk".to_owned())
            );
            assert_eq!(address(16), 0, "a semaphore, which nobody counts up");
            // A tracer that attaches to all places refuses the program for one bad one.
            assert!(is_code(address(0)), "no code at {:#x}", address(0));
            let arguments: Vec<String> = text().split(' ').map(str::to_owned).collect();
            assert_eq!(arguments.len(), 3, "{arguments:?}");
            sites.insert(base + address(0), arguments);
        }
        sites
    }

    /// Lets the parent trace this process from here on.
    pub fn let_trace() {
        // SAFETY: the request has no arguments; the signal stops this process.
        unsafe {
            assert_eq!(
                libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<c_void>(), 0),
                0
            );
            libc::raise(libc::SIGSTOP);
        }
    }

    fn wait(child: libc::pid_t) -> i32 {
        let mut status = 0;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        status
    }

    fn proceed(child: libc::pid_t, signal: i32) {
        let none = null_mut::<c_void>();
        // SAFETY: the child is stopped.
        let done =
            unsafe { libc::ptrace(libc::PTRACE_CONT, child, none, libc::c_long::from(signal)) };
        assert_eq!(done, 0);
    }

    /// Counts what passes the probe in a child that called let_trace().
    pub fn trace(child: libc::pid_t, sites: &Sites) -> Counts {
        assert!(libc::WIFSTOPPED(wait(child)));
        let mut options = File::options();
        options.read(true).write(true);
        let memory = options.open(format!("/proc/{child}/mem")).unwrap();
        for at in sites.keys() {
            let mut byte = [0];
            memory.read_exact_at(&mut byte, *at).unwrap();
            assert_eq!(byte, [NOP]);
            memory.write_all_at(&[BREAKPOINT], *at).unwrap();
        }
        let mut counts = Counts::new();
        proceed(child, 0);
        loop {
            let status = wait(child);
            if !libc::WIFSTOPPED(status) {
                assert_eq!(status, 0, "the child failed");
                return counts;
            }
            let signal = libc::WSTOPSIG(status);
            if signal != libc::SIGTRAP {
                proceed(child, signal);
                continue;
            }
            // SAFETY: the struct is of numbers.
            let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
            let to: *mut libc::user_regs_struct = &mut registers;
            // SAFETY: the child is stopped, and there is room.
            let got =
                unsafe { libc::ptrace(libc::PTRACE_GETREGS, child, null_mut::<c_void>(), to) };
            assert_eq!(got, 0);
            // The breakpoint is as long as the nop, so the child just goes on.
            let arguments = &sites[&(registers.rip - 1)];
            let value = |n: usize| argument(&arguments[n], &registers, &memory);
            let (op, backend, bytes) = (value(0), value(1), value(2));
            let mut name = [0; 16];
            memory.read_exact_at(&mut name, backend).unwrap();
            let name = name.split(|byte| *byte == 0).next().unwrap();
            let name = String::from_utf8(name.to_vec()).unwrap();
            let cell = counts.entry((name, op as usize)).or_default();
            *cell = (cell.0 + 1, cell.1 + bytes);
            proceed(child, 0);
        }
    }

    /// The value of an argument: SIZE@$NUMBER, SIZE@%REGISTER or SIZE@NUMBER(%BASE,%INDEX,SCALE).
    fn argument(text: &str, registers: &libc::user_regs_struct, memory: &File) -> u64 {
        let (size, operand) = text.split_once('@').unwrap();
        let size = size.trim_start_matches('-').parse::<usize>().unwrap();
        if let Some(number) = operand.strip_prefix('$') {
            return number.parse::<i64>().unwrap() as u64;
        }
        let Some((offset, places)) = operand.split_once('(') else {
            let value = register(operand, registers);
            return if size == 4 {
                value & 0xffff_ffff
            } else {
                value
            };
        };
        let mut places = places.trim_end_matches(')').split(',');
        let offset = offset.parse::<i64>().unwrap_or_default() as u64;
        let base = register(places.next().unwrap(), registers);
        let index = places.next().map_or(0, |index| register(index, registers));
        let scale: u64 = places.next().map_or(1, |scale| scale.parse().unwrap());
        let at = offset
            .wrapping_add(base)
            .wrapping_add(index.wrapping_mul(scale));
        let mut value = [0; 8];
        memory.read_exact_at(&mut value[..size], at).unwrap();
        u64::from_le_bytes(value)
    }

    fn register(name: &str, r: &libc::user_regs_struct) -> u64 {
        match name {
            "%rax" | "%eax" => r.rax,
            "%rbx" | "%ebx" => r.rbx,
            "%rcx" | "%ecx" => r.rcx,
            "%rdx" | "%edx" => r.rdx,
            "%rsi" | "%esi" => r.rsi,
            "%rdi" | "%edi" => r.rdi,
            "%rbp" | "%ebp" => r.rbp,
            "%rsp" => r.rsp,
            "%r8" | "%r8d" => r.r8,
            "%r9" | "%r9d" => r.r9,
            "%r10" | "%r10d" => r.r10,
            "%r11" | "%r11d" => r.r11,
            "%r12" | "%r12d" => r.r12,
            "%r13" | "%r13d" => r.r13,
            "%r14" | "%r14d" => r.r14,
            "%r15" | "%r15d" => r.r15,
            other => panic!("an argument in {other}"),
        }
    }
}

/// Messages of several modes, whole and in pieces.
#[cfg(target_arch = "x86_64")]
fn some_messages() {
    assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
    let session = Session::open();
    let key = session.key(CKK_AES, &[7; 32]);
    let mut random = fastrand::Rng::with_seed(1);
    let iv = [1; 16];
    let counter = CK_AES_CTR_PARAMS {
        ulCounterBits: 128,
        cb: iv,
    };
    let gcm = CK_GCM_PARAMS {
        pIv: iv.as_ptr().cast_mut(),
        ulIvLen: 12,
        ulIvBits: 96,
        pAAD: iv.as_ptr().cast_mut(),
        ulAADLen: 16,
        ulTagBits: 128,
    };
    let mechanisms = [
        mechanism(CKM_AES_ECB, &[]),
        mechanism(CKM_AES_CBC, &iv),
        mechanism(CKM_AES_CTR, bytes_of(&counter)),
        mechanism(CKM_AES_GCM, bytes_of(&gcm)),
    ];
    for m in &mechanisms {
        for len in [16, 4096, 80_000] {
            let data = vec![9; len];
            let sealed = session.crypt(Way::Encrypt, m, key, &data).unwrap();
            let opened = session.pieces(Way::Decrypt, m, key, &sealed, &mut random);
            assert_eq!(opened.as_ref(), Ok(&data));
        }
    }
}

/// A tracer that attaches to the probe sees what the counters say.
#[cfg(target_arch = "x86_64")]
fn the_probe_tells_what_is_counted(file: &File) {
    let sites = tracer::sites();
    if sites.is_empty() {
        return support::skip("the PKCS#11 module was built without sys/sdt.h");
    }
    let (before, _) = counts(&read(file));
    let child = support::child(|| {
        tracer::let_trace();
        some_messages();
    });
    let traced = tracer::trace(child, &sites);
    let (mut counted, _) = counts(&read(file));
    for (cell, (calls, bytes)) in before {
        let cell = counted.get_mut(&cell).unwrap();
        *cell = (cell.0 - calls, cell.1 - bytes);
    }
    counted.retain(|_, (calls, _)| *calls > 0);
    assert_eq!(traced, counted);
    assert!(traced.len() >= 5, "{traced:?}");
}

#[test]
fn the_module_counts_in_its_own_section() {
    let file = counters_file();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::env::set_var("TENROUNDS_COUNTERS", path);
    let session = Session::open();
    let key = session.key(CKK_AES, &[7; 16]);
    let ecb = mechanism(CKM_AES_ECB, &[]);
    let sealed = session.crypt(Way::Encrypt, &ecb, key, &[0; 4096]);
    assert_eq!(sealed.map(|sealed| sealed.len()), Ok(4096));

    let data = read(&file);
    assert_eq!(&data[MODULE..MODULE + 8], b"TRCOUNT1");
    assert_eq!(word(&data, MODULE + 16), 1, "C_Initialize counts once");
    assert_eq!(executed(&counts(&data), "ecb_encrypt"), 4096);
    assert_eq!(&data[..8], b"TRCOUNT0", "the provider was not loaded");
    assert!(data[8..MODULE].iter().all(|byte| *byte == 0));
    #[cfg(target_arch = "x86_64")]
    the_probe_tells_what_is_counted(&file);
}
