// SPDX-License-Identifier: BSD-2-Clause
//! The module in a process: C_Initialize and C_Finalize, threads, and fork() in the middle of
//! operations and of other threads' calls. One test, because it ends the module for the whole
//! process.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{forked, mechanism, Session, Way};

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

/// Forks while every operation of a session is active, and goes on with all in the parent.
fn in_the_middle_of_operations() {
    let session = Session::open();
    let s = session.0;
    let key = session.key(CKK_AES, &[1; 16]);
    let iv = [0; 16];
    let m = mechanism(CKM_AES_CBC, &iv);
    let mut cmac = mechanism(CKM_AES_CMAC, &[]);
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
    let (mut mac, mut n) = ([0u8; 16], 16);
    assert_eq!(ck!(C_SignUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_SignFinal(s, mac.as_mut_ptr(), &mut n)), CKR_OK);
    assert_eq!(ck!(C_VerifyUpdate(s, at, 16)), CKR_OK);
    assert_eq!(ck!(C_VerifyFinal(s, mac.as_mut_ptr(), 16)), CKR_OK);
    let (mut found, mut count) = (0, 0);
    assert_eq!(ck!(C_FindObjects(s, &mut found, 1, &mut count)), CKR_OK);
    assert_eq!((found, count), (key, 1));
    assert_eq!(ck!(C_FindObjectsFinal(s)), CKR_OK);
}

/// Ends threads, also after a panic.
struct AtEnd<'a>(&'a AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Forks while other threads are inside calls, so that the child's copy has locks that are held.
fn in_the_middle_of_calls() {
    let shared = Session::open();
    let key = shared.key(CKK_AES, &[9; 32]);
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (ends, shared) = (&ends, &shared);
            scope.spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    let session = Session::open();
                    let own = session.key(CKK_AES, &[thread; 16]);
                    round_trip(&session, own, thread);
                    round_trip(&session, key, thread);
                    assert_eq!(ck!(C_FindObjectsInit(session.0, null_mut(), 0)), CKR_OK);
                    // A call on the session that the main thread forks with.
                    let unknown = ck!(C_DestroyObject(shared.0, 12345));
                    assert_eq!(unknown, CKR_OBJECT_HANDLE_INVALID);
                    assert_eq!(ck!(C_DestroyObject(session.0, own)), CKR_OK);
                }
            });
        }
        let _ends = AtEnd(&ends);
        for _ in 0..100 {
            forked("other threads in calls", || in_child(shared.0));
        }
        round_trip(&shared, key, 1);
    });
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
    in_the_middle_of_calls();
    assert_eq!(ck!(C_Finalize(null_mut())), CKR_OK);
    forked("after C_Finalize", || in_child(session.0));
    assert_eq!(ck!(C_CloseSession(session.0)), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
    assert_eq!(ck!(C_CloseSession(session.0)), CKR_SESSION_HANDLE_INVALID);
}
