// SPDX-License-Identifier: BSD-2-Clause
//! Many threads at once.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::{bytes_of, mechanism, result, Session, Way};

const THREADS: usize = 64;
const TEXT: [u8; 200] = [5; 200];

/// A GCM mechanism and what it points at.
struct Gcm {
    _iv: Box<[u8; 12]>,
    params: CK_GCM_PARAMS,
}

impl Gcm {
    fn new() -> Gcm {
        let iv = Box::new([9; 12]);
        let params = CK_GCM_PARAMS {
            pIv: iv.as_ptr().cast_mut(),
            ulIvLen: 12,
            ulIvBits: 96,
            pAAD: std::ptr::null_mut(),
            ulAADLen: 0,
            ulTagBits: 128,
        };
        Gcm { _iv: iv, params }
    }

    fn mechanism(&self) -> CK_MECHANISM {
        mechanism(CKM_AES_GCM, bytes_of(&self.params))
    }
}

fn sealed(session: &Session, key: CK_ULONG) -> support::Rv {
    session.crypt(Way::Encrypt, &Gcm::new().mechanism(), key, &TEXT)
}

/// Sessions of their own, one key.
#[test]
fn threads_with_sessions_of_their_own() {
    let owner = Session::open();
    let key = owner.key(CKK_AES, &[1; 16]);
    let expected = sealed(&owner, key).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let session = Session::open();
                for _ in 0..100 {
                    assert_eq!(sealed(&session, key).as_ref(), Ok(&expected));
                    let own = session.key(CKK_AES, &[2; 32]);
                    assert_ne!(sealed(&session, own).as_ref(), Ok(&expected));
                    result(ck!(C_DestroyObject(session.0, own))).unwrap();
                }
            });
        }
    });
}

/// The standard leaves it to the program not to do this. Each call still either works or is
/// refused.
#[test]
fn threads_on_one_session() {
    let session = Session::open();
    let key = session.key(CKK_AES, &[1; 16]);
    let expected = sealed(&session, key).unwrap();
    let (right, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..100 {
                    match sealed(&session, key) {
                        Ok(out) => {
                            assert_eq!(out, expected);
                            right.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(CKR_OPERATION_ACTIVE | CKR_OPERATION_NOT_INITIALIZED) => {
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(code) => panic!("{code:#x}"),
                    }
                }
            });
        }
    });
    let (right, refused) = (right.into_inner(), refused.into_inner());
    println!("{right} messages, {refused} refused");
    assert!(right > 0 && right + refused == THREADS * 100);
}

/// A key is destroyed, changed and made anew while others use it.
#[test]
fn a_key_that_goes_while_it_is_used() {
    let owner = Session::open();
    let expected = sealed(&owner, owner.key(CKK_AES, &[1; 16])).unwrap();
    let (ends, handle) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let session = Session::open();
                while !ends.load(Ordering::Relaxed) {
                    match sealed(&session, handle.load(Ordering::Relaxed) as CK_ULONG) {
                        Ok(out) => assert_eq!(out, expected),
                        Err(code) => assert_eq!(code, CKR_KEY_HANDLE_INVALID),
                    }
                }
            });
        }
        for _ in 0..2000 {
            let key = owner.key(CKK_AES, &[1; 16]);
            handle.store(key as usize, Ordering::Relaxed);
            let mut label = [support::attribute(
                CKA_LABEL,
                b"another object in its place",
            )];
            result(ck!(C_SetAttributeValue(
                owner.0,
                key,
                label.as_mut_ptr(),
                1
            )))
            .unwrap();
            result(ck!(C_DestroyObject(owner.0, key))).unwrap();
        }
        ends.store(true, Ordering::Relaxed);
    });
}
