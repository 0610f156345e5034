// SPDX-License-Identifier: BSD-2-Clause
//! A key that was removed is in memory no more, although sessions keep the key of their last
//! message for the next one. One test, because it searches the memory of the process.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::hint::black_box;
use support::{bytes_of, mechanism, Session, Way};
use zeroize::Zeroizing;

const LEN: usize = 32;
/// The secret is in this program only under a mask, so that the search finds no copy of its own.
const MASK: u8 = 0xa5;

fn masked(i: usize) -> u8 {
    black_box((i * 89 + 57) as u8)
}

/// How often the secret is in memory that this process may write.
fn copies() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut found = 0;
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        if !rest.starts_with("rw") {
            continue;
        }
        let (begin, end) = range.split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        for at in number(begin)..=number(end) - LEN {
            // SAFETY: the memory is mapped, and this program has one thread that frees memory.
            let byte = |i| unsafe { std::ptr::read_volatile((at + i) as *const u8) };
            found += usize::from((0..LEN).all(|i| byte(i) ^ MASK == masked(i)));
        }
    }
    found
}

/// A key with the secret as its value.
fn key(session: &Session) -> CK_ULONG {
    let value: Zeroizing<Vec<u8>> = Zeroizing::new((0..LEN).map(|i| masked(i) ^ MASK).collect());
    session.key(CKK_AES, &value)
}

#[test]
fn a_removed_key_is_cleansed() {
    let params = CK_AES_CTR_PARAMS {
        ulCounterBits: 128,
        cb: [7; 16],
    };
    let m = mechanism(CKM_AES_CTR, bytes_of(&params));
    let (idle, busy) = (Session::open(), Session::open());
    let uses = |key| {
        for session in [&idle, &busy] {
            session.crypt(Way::Encrypt, &m, key, &[1; 100]).unwrap();
            session.crypt(Way::Decrypt, &m, key, &[1; 100]).unwrap();
        }
    };
    assert_eq!(copies(), 0, "before there is a key");

    let owner = Session::open();
    let destroyed = key(&owner);
    uses(destroyed);
    assert!(copies() > 0, "the search does not find the key");
    assert_eq!(ck!(C_DestroyObject(owner.0, destroyed)), CKR_OK);
    assert_eq!(copies(), 0, "after C_DestroyObject");
    let gone = idle.crypt(Way::Encrypt, &m, destroyed, &[1; 100]);
    assert_eq!(gone, Err(CKR_KEY_HANDLE_INVALID));

    // A message that uses the key goes on to its end.
    let in_use = key(&owner);
    uses(in_use);
    busy.init(Way::Encrypt, &m, in_use).unwrap();
    busy.update(Way::Encrypt, &[1; 100], &mut [0; 100]).unwrap();
    assert_eq!(ck!(C_DestroyObject(owner.0, in_use)), CKR_OK);
    assert!(copies() > 0, "the message has lost its key");
    busy.finish(Way::Encrypt, Some(&mut [0; 16])).unwrap();
    assert_eq!(copies(), 0, "after the end of the message");

    // A message that does not begin keeps no key.
    let refused_key = key(&owner);
    uses(refused_key);
    let wrong = mechanism(CKM_AES_CTR, &[0; 3]);
    let refused = idle.init(Way::Encrypt, &wrong, refused_key);
    assert_eq!(refused, Err(CKR_MECHANISM_PARAM_INVALID));
    assert!(copies() > 0);
    assert_eq!(ck!(C_DestroyObject(owner.0, refused_key)), CKR_OK);
    assert_eq!(copies(), 0, "after a message that did not begin");

    // A changed object takes the place of the old one, with the same value.
    let changed = key(&owner);
    uses(changed);
    let label = support::attribute(CKA_LABEL, b"another");
    let mut template = [label];
    let set = ck!(C_SetAttributeValue(
        owner.0,
        changed,
        template.as_mut_ptr(),
        1
    ));
    assert_eq!(set, CKR_OK);
    uses(changed);
    drop(owner);
    assert_eq!(copies(), 0, "after C_CloseSession of the key's session");

    let last = key(&idle);
    uses(last);
    assert!(copies() > 0);
    assert_eq!(ck!(C_Finalize(std::ptr::null_mut())), CKR_OK);
    assert_eq!(copies(), 0, "after C_Finalize");
}
