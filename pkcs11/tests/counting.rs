// SPDX-License-Identifier: BSD-2-Clause
//! The counters file: what the module executes appears in its section, and in no other. One test,
//! because the environment and the module are the process's.

// The arguments of ck! may be unsafe.
#![allow(clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use support::{mechanism, Session, Way};

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

/// The bytes that all backends together processed in an operation.
fn executed(file: &[u8], operation: &str) -> u64 {
    let (backends, ops) = (word(file, MODULE + 8), word(file, MODULE + 12));
    let names = MODULE + 24 + 16 * backends;
    let is_it = |op: &usize| file[names + 16 * op..].starts_with(operation.as_bytes());
    let op = (0..ops).find(is_it).expect("the operation has a name");
    let counts = names + 16 * ops;
    let bytes = |backend: usize| long(file, counts + 16 * (backend * ops + op) + 8);
    (0..backends).map(bytes).sum()
}

#[test]
fn the_module_counts_in_its_own_section() {
    let file = counters_file();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::env::set_var("TENROUNDS_COUNTERS", path);
    let session = Session::open();
    let key = session.key(CKK_AES, &[7; 16]);
    let mut data = vec![0; 4096];
    let ecb = mechanism(CKM_AES_ECB, &[]);
    let sealed = session.crypt(Way::Encrypt, &ecb, key, &data);
    assert_eq!(sealed.map(|sealed| sealed.len()), Ok(data.len()));

    data.resize(FILE, 0);
    file.read_exact_at(&mut data, 0).expect("a memfd is read");
    assert_eq!(&data[MODULE..MODULE + 8], b"TRCOUNT1");
    assert_eq!(word(&data, MODULE + 16), 1, "C_Initialize counts once");
    assert_eq!(executed(&data, "ecb_encrypt"), 4096);
    assert_eq!(&data[..8], b"TRCOUNT0", "the provider was not loaded");
    assert!(data[8..MODULE].iter().all(|byte| *byte == 0));
}
