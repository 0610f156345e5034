// SPDX-License-Identifier: BSD-2-Clause
//! The module with 10,000 messages at once, with threads that end in the middle of a message, with
//! little memory, and in a signal handler. One test, because signals and memory are the process's.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use support::{mechanism, result, Session, Way};

const KEY: [u8; 16] = [9; 16];
const IV: [u8; 16] = [3; 16];
const TEXT: [u8; 320] = [5; 320];
const HALF: usize = 160;

/// A message in the middle.
struct Begun {
    session: Session,
    out: [u8; 336],
}

fn begin(key: CK_ULONG) -> Begun {
    let (session, mut out) = (Session::open(), [0; 336]);
    session
        .init(Way::Encrypt, &mechanism(CKM_AES_CBC, &IV), key)
        .unwrap();
    let n = session.update(Way::Encrypt, &TEXT[..HALF], &mut out);
    assert_eq!(n, Ok(HALF));
    Begun { session, out }
}

fn end(mut begun: Begun, expected: &[u8]) {
    let rest = &mut begun.out[HALF..];
    let n = begun.session.update(Way::Encrypt, &TEXT[HALF..], rest);
    assert_eq!(n, Ok(TEXT.len() - HALF));
    let n = begun.session.finish(Way::Encrypt, Some(&mut [0; 16]));
    assert_eq!(n, Ok(0));
    assert_eq!(&begun.out[..TEXT.len()], expected);
}

fn many_sessions(key: CK_ULONG, expected: &[u8]) {
    let begun: Vec<_> = (0..10_000).map(|_| begin(key)).collect();
    begun.into_iter().rev().for_each(|one| end(one, expected));
}

/// A thread begins messages and ends; another one ends them.
fn threads_end(key: CK_ULONG, expected: &[u8]) {
    for _ in 0..50 {
        let begin_some = || (0..4).map(|_| begin(key)).collect::<Vec<_>>();
        let begun = std::thread::scope(|scope| scope.spawn(begin_some).join().unwrap());
        let end_all = || begun.into_iter().for_each(|one| end(one, expected));
        std::thread::scope(|scope| scope.spawn(end_all).join().unwrap());
    }
}

/// Opens sessions until the limit of the address space (ulimit -v) leaves no memory. Runs in a
/// child, because the limit cannot be undone.
fn within_limit(expected: &[u8]) {
    // SAFETY: the child only calls the module, and leaves by _exit().
    let child = unsafe { libc::fork() };
    if child == 0 {
        let passed = std::panic::catch_unwind(|| {
            assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
            let first = Session::open();
            let key = first.key(CKK_AES, &KEY);
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            let pages: u64 = statm.split(' ').next().unwrap().parse().unwrap();
            let most = pages * 4096 + (4 << 20);
            let limit = libc::rlimit {
                rlim_cur: most,
                rlim_max: most,
            };
            // SAFETY: the pointer is valid.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
            let mut sessions = Vec::with_capacity(100_000);
            let refused = loop {
                match Session::of_kind(false) {
                    Ok(session) => sessions.push(session),
                    Err(rv) => break rv,
                }
            };
            assert_eq!(refused, CKR_HOST_MEMORY);
            assert!(sessions.len() > 100);
            sessions.truncate(100);
            end(begin(key), expected);
        })
        .is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!passed)) };
    }
    let mut status = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed");
}

/// The session of the signal handler, its key, and what it saw.
static HANDLERS: AtomicUsize = AtomicUsize::new(0);
static HANDLERS_KEY: AtomicUsize = AtomicUsize::new(0);
static SIGNALS: AtomicUsize = AtomicUsize::new(0);
static WRONG: AtomicUsize = AtomicUsize::new(0);
static FIRST_BYTES: AtomicU64 = AtomicU64::new(0);

fn first_bytes(out: &[u8]) -> u64 {
    u64::from_ne_bytes(out[..8].try_into().unwrap())
}

/// Encrypts in a session of its own, with the key of its last message: this allocates nothing, and
/// takes only the session's lock.
extern "C" fn handle(_: i32) {
    let session = std::mem::ManuallyDrop::new(Session(HANDLERS.load(Relaxed) as CK_ULONG));
    let (m, mut out) = (mechanism(CKM_AES_CBC, &IV), [0; 320]);
    let right = session.init(Way::Encrypt, &m, HANDLERS_KEY.load(Relaxed) as CK_ULONG) == Ok(())
        && session.whole(Way::Encrypt, &TEXT, Some(&mut out)) == Ok(TEXT.len())
        && first_bytes(&out) == FIRST_BYTES.load(Relaxed);
    WRONG.fetch_add(usize::from(!right), Relaxed);
    SIGNALS.fetch_add(1, Relaxed);
}

/// Interrupts messages by a timer of CPU time.
fn signals_interrupt(session: &Session, key: CK_ULONG, expected: &[u8]) {
    let own = Session::open();
    let m = mechanism(CKM_AES_CBC, &IV);
    own.crypt(Way::Encrypt, &m, key, &TEXT).unwrap();
    HANDLERS.store(own.0 as usize, Relaxed);
    HANDLERS_KEY.store(key as usize, Relaxed);
    FIRST_BYTES.store(first_bytes(expected), Relaxed);
    let timer = |micros| {
        let every = libc::timeval {
            tv_sec: 0,
            tv_usec: micros,
        };
        let timer = libc::itimerval {
            it_interval: every,
            it_value: every,
        };
        // SAFETY: the pointers are valid or NULL.
        let set = unsafe { libc::setitimer(libc::ITIMER_PROF, &timer, null_mut()) };
        assert_eq!(set, 0);
    };
    // SAFETY: the handler only calls the module, and changes atomic numbers.
    unsafe {
        libc::signal(
            libc::SIGPROF,
            handle as extern "C" fn(i32) as libc::sighandler_t,
        )
    };
    timer(1000);
    let mut out = [0; 320];
    while SIGNALS.load(Relaxed) < 200 {
        session.init(Way::Encrypt, &m, key).unwrap();
        let n = session.whole(Way::Encrypt, &TEXT, Some(&mut out));
        assert_eq!((n, &out[..]), (Ok(TEXT.len()), expected));
    }
    timer(0);
    assert_eq!(WRONG.load(Relaxed), 0);
}

#[test]
fn faults_of_a_program() {
    let session = Session::open();
    let key = session.key(CKK_AES, &KEY);
    let m = mechanism(CKM_AES_CBC, &IV);
    let expected = session.crypt(Way::Encrypt, &m, key, &TEXT).unwrap();
    within_limit(&expected);
    many_sessions(key, &expected);
    threads_end(key, &expected);
    signals_interrupt(&session, key, &expected);
    result(ck!(C_Finalize(null_mut()))).unwrap();
}
