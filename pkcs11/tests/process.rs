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

#[test]
fn in_a_process() {
    // SAFETY: the struct is of numbers and bytes.
    let mut info = unsafe { std::mem::zeroed() };
    assert_eq!(ck!(C_GetInfo(&mut info)), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_eq!(ck!(C_Finalize(null_mut())), CKR_CRYPTOKI_NOT_INITIALIZED);
    let session = Session::open();
    let key = session.key(CKK_AES, &[1; 16]);
    let iv = [0; 16];
    let m = mechanism(CKM_AES_CBC, &iv);
    session.init(Way::Encrypt, &m, key).unwrap();
    // SAFETY: the child only calls the module, and leaves by _exit().
    let child = unsafe { libc::fork() };
    if child == 0 {
        let passed = std::panic::catch_unwind(|| in_child(session.0)).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!passed)) };
    }
    let mut status = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed");
    // The parent's operation goes on.
    let mut out = [0; 16];
    assert_eq!(
        session.whole(Way::Encrypt, &[0; 16], Some(&mut out)),
        Ok(16)
    );
    threads();
    assert_eq!(ck!(C_Finalize(null_mut())), CKR_OK);
    assert_eq!(ck!(C_CloseSession(session.0)), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
    assert_eq!(ck!(C_CloseSession(session.0)), CKR_SESSION_HANDLE_INVALID);
}
