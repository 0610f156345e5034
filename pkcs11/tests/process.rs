// SPDX-License-Identifier: BSD-2-Clause
//! The module in a process: C_Initialize and C_Finalize, fork() in the middle of operations, and
//! threads. One test, because it ends the module for the whole process.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ptr::null_mut;
use support::{mechanism, Session, Way};

fn round_trip(session: &Session, key: CK_ULONG, fill: u8) {
    let iv = [fill; 16];
    let m = mechanism(CKM_AES_CBC_PAD, &iv);
    let data = vec![fill; 100 + usize::from(fill)];
    let sealed = session.crypt(Way::Encrypt, &m, key, &data).unwrap();
    assert_eq!(
        session.crypt(Way::Decrypt, &m, key, &sealed).as_ref(),
        Ok(&data)
    );
}

fn threads() {
    let shared = Session::open();
    let shared_key = shared.key(CKK_AES, &[9; 32]);
    std::thread::scope(|scope| {
        for thread in 0..64u8 {
            scope.spawn(move || {
                let session = Session::open();
                for i in 0..100u8 {
                    let key = session.key(CKK_AES, &[thread ^ i; 16]);
                    round_trip(&session, key, i);
                    round_trip(&session, shared_key, thread);
                    assert_eq!(ck!(C_DestroyObject(session.0, key)), CKR_OK);
                }
            });
        }
    });
}

/// What a child does: it has nothing until it initialises the module itself.
fn in_child(parents: CK_SESSION_HANDLE) {
    // SAFETY: the struct is of numbers and bytes.
    let mut info = unsafe { std::mem::zeroed() };
    assert_eq!(ck!(C_GetInfo(&mut info)), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
    assert_eq!(ck!(C_CloseSession(parents)), CKR_SESSION_HANDLE_INVALID);
    let mut handle = 0;
    let rv = ck!(C_OpenSession(
        0,
        CKF_SERIAL_SESSION,
        null_mut(),
        None,
        &mut handle
    ));
    assert_eq!(rv, CKR_OK);
    let session = Session(handle);
    let key = session.key(CKK_AES, &[1; 16]);
    round_trip(&session, key, 5);
    assert_eq!(ck!(C_Finalize(null_mut())), CKR_OK);
}

/// Runs something in a child, which has to pass.
fn forked(what: &str, run: impl FnOnce()) {
    // SAFETY: the child only calls the module, and leaves by _exit().
    let child = unsafe { libc::fork() };
    if child == 0 {
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!passed)) };
    }
    let mut status = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed: {what}");
}

/// Forks while every operation of a session is active, and goes on with all in the parent.
fn in_the_middle_of_operations() {
    let session = Session::open();
    let s = session.0;
    let key = session.key(CKK_AES, &[1; 16]);
    let iv = [0; 16];
    let m = mechanism(CKM_AES_CBC, &iv);
    let (mut sha, mut cmac) = (mechanism(CKM_SHA256, &[]), mechanism(CKM_AES_CMAC, &[]));
    let data = [7u8; 32];
    let at = data.as_ptr().cast_mut();
    let expected = session.crypt(Way::Encrypt, &m, key, &data).unwrap();

    // Begun, without data.
    session.init(Way::Encrypt, &m, key).unwrap();
    forked("begun", || in_child(s));
    let mut out = [0; 32];
    assert_eq!(session.update(Way::Encrypt, &data[..16], &mut out), Ok(16));
    session.init(Way::Decrypt, &m, key).unwrap();
    let mut back = [0; 32];
    let half = session.update(Way::Decrypt, &expected[..16], &mut back);
    assert_eq!(half, Ok(16));
    assert_eq!(ck!(C_DigestInit(s, &mut sha)), CKR_OK);
    assert_eq!(ck!(C_DigestUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_SignInit(s, &mut cmac, key)), CKR_OK);
    assert_eq!(ck!(C_SignUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_VerifyInit(s, &mut cmac, key)), CKR_OK);
    assert_eq!(ck!(C_VerifyUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_FindObjectsInit(s, null_mut(), 0)), CKR_OK);
    forked("in pieces", || in_child(s));

    let rest = session.update(Way::Encrypt, &data[16..], &mut out[16..]);
    assert_eq!((rest, &out[..]), (Ok(16), &expected[..]));
    assert_eq!(session.finish(Way::Encrypt, Some(&mut [0; 16])), Ok(0));
    let rest = session.update(Way::Decrypt, &expected[16..], &mut back[16..]);
    assert_eq!((rest, back), (Ok(16), data));
    assert_eq!(session.finish(Way::Decrypt, Some(&mut [0; 16])), Ok(0));
    let (mut hash, mut again, mut n) = ([0u8; 32], [0u8; 32], 32);
    assert_eq!(ck!(C_DigestUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_DigestFinal(s, hash.as_mut_ptr(), &mut n)), CKR_OK);
    assert_eq!(ck!(C_DigestInit(s, &mut sha)), CKR_OK);
    let whole = ck!(C_Digest(s, at, 32, again.as_mut_ptr(), &mut n));
    assert_eq!((whole, hash), (CKR_OK, again));
    let mut mac = [0u8; 16];
    n = 16;
    assert_eq!(ck!(C_SignUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_SignFinal(s, mac.as_mut_ptr(), &mut n)), CKR_OK);
    assert_eq!(ck!(C_VerifyUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_VerifyFinal(s, mac.as_mut_ptr(), 16)), CKR_OK);
    let (mut found, mut count) = (0, 0);
    assert_eq!(ck!(C_FindObjects(s, &mut found, 1, &mut count)), CKR_OK);
    assert_eq!((found, count), (key, 1));
    assert_eq!(ck!(C_FindObjectsFinal(s)), CKR_OK);
}

#[test]
fn in_a_process() {
    // SAFETY: the struct is of numbers and bytes.
    let mut info = unsafe { std::mem::zeroed() };
    assert_eq!(ck!(C_GetInfo(&mut info)), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_eq!(ck!(C_Finalize(null_mut())), CKR_CRYPTOKI_NOT_INITIALIZED);
    forked("before C_Initialize", || in_child(1));
    in_the_middle_of_operations();
    let session = Session::open();
    threads();
    assert_eq!(ck!(C_Finalize(null_mut())), CKR_OK);
    forked("after C_Finalize", || in_child(session.0));
    assert_eq!(ck!(C_CloseSession(session.0)), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
    assert_eq!(ck!(C_CloseSession(session.0)), CKR_SESSION_HANDLE_INVALID);
}
