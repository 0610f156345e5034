// SPDX-License-Identifier: BSD-2-Clause
//! Objects and their attributes: what may be read, changed, copied, found and wrapped.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ptr::null_mut;
use support::{attribute, mechanism, result, Session, Way};

const TRUE: &[u8] = &[CK_TRUE];
const FALSE: &[u8] = &[CK_FALSE];

fn set(session: &Session, key: CK_ULONG, kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> CK_RV {
    let mut a = attribute(kind, value);
    ck!(C_SetAttributeValue(session.0, key, &mut a, 1))
}

fn find(session: &Session, template: &[(CK_ATTRIBUTE_TYPE, &[u8])]) -> Vec<CK_ULONG> {
    let mut list: Vec<_> = template.iter().map(|(k, v)| attribute(*k, v)).collect();
    let count = list.len() as CK_ULONG;
    let rv = ck!(C_FindObjectsInit(session.0, list.as_mut_ptr(), count));
    assert_eq!(rv, CKR_OK);
    let (mut found, mut n) = (Vec::new(), 1);
    while n != 0 {
        let mut some = [0; 3];
        assert_eq!(
            ck!(C_FindObjects(session.0, some.as_mut_ptr(), 3, &mut n)),
            CKR_OK
        );
        found.extend_from_slice(&some[..n as usize]);
    }
    assert_eq!(ck!(C_FindObjectsFinal(session.0)), CKR_OK);
    found
}

#[test]
fn defaults_and_history() {
    let session = Session::open();
    let key = session.key(CKK_AES, &[0; 16]);
    for (kind, value) in [
        (CKA_ENCRYPT, TRUE),
        (CKA_DECRYPT, TRUE),
        (CKA_DERIVE, FALSE),
        (CKA_TOKEN, FALSE),
        (CKA_PRIVATE, FALSE),
        (CKA_MODIFIABLE, TRUE),
        (CKA_EXTRACTABLE, TRUE),
        (CKA_SENSITIVE, FALSE),
        (CKA_ALWAYS_SENSITIVE, FALSE),
        (CKA_NEVER_EXTRACTABLE, FALSE),
        (CKA_LOCAL, FALSE),
        (CKA_LABEL, b""),
        (CKA_VALUE, &[0; 16]),
        // The encryption of a zero block under a zero key (FIPS-197, AESAVS KeySbox).
        (CKA_CHECK_VALUE, &[0x66, 0xe9, 0x4b]),
        (CKA_VALUE_LEN, &(16 as CK_ULONG).to_ne_bytes()),
        (
            CKA_KEY_GEN_MECHANISM,
            &CK_UNAVAILABLE_INFORMATION.to_ne_bytes(),
        ),
    ] {
        assert_eq!(session.read(key, kind).as_deref(), Ok(value), "{kind:#x}");
    }
    assert_eq!(
        session.read(key, CKA_APPLICATION),
        Err(CKR_ATTRIBUTE_TYPE_INVALID)
    );
    let len = (32 as CK_ULONG).to_ne_bytes();
    let mut template = [
        attribute(CKA_VALUE_LEN, &len),
        attribute(CKA_SENSITIVE, TRUE),
        attribute(CKA_EXTRACTABLE, FALSE),
    ];
    let (mut m, mut made) = (mechanism(CKM_AES_KEY_GEN, &[]), 0);
    let rv = ck!(C_GenerateKey(
        session.0,
        &mut m,
        template.as_mut_ptr(),
        3,
        &mut made
    ));
    assert_eq!(rv, CKR_OK);
    for kind in [CKA_LOCAL, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE] {
        assert_eq!(session.read(made, kind).as_deref(), Ok(TRUE));
    }
    assert_eq!(session.read(made, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
    assert_eq!(find(&session, &[(CKA_VALUE, &[0; 32])]), []);
}

#[test]
fn changes() {
    let session = Session::open();
    let key = session.key(CKK_AES, &[1; 16]);
    assert_eq!(set(&session, key, CKA_LABEL, b"a name"), CKR_OK);
    assert_eq!(session.read(key, CKA_LABEL).as_deref(), Ok(&b"a name"[..]));
    for (kind, value, expected) in [
        (CKA_SENSITIVE, TRUE, CKR_OK),
        (CKA_SENSITIVE, FALSE, CKR_ATTRIBUTE_READ_ONLY),
        (CKA_EXTRACTABLE, FALSE, CKR_OK),
        (CKA_EXTRACTABLE, TRUE, CKR_ATTRIBUTE_READ_ONLY),
        (CKA_WRAP_WITH_TRUSTED, TRUE, CKR_OK),
        (CKA_WRAP_WITH_TRUSTED, FALSE, CKR_ATTRIBUTE_READ_ONLY),
        (CKA_TRUSTED, TRUE, CKR_ATTRIBUTE_READ_ONLY),
        (CKA_LOCAL, TRUE, CKR_ATTRIBUTE_READ_ONLY),
        (CKA_VALUE, &[2; 16], CKR_ATTRIBUTE_READ_ONLY),
        (CKA_CLASS, &CKO_DATA.to_ne_bytes(), CKR_ATTRIBUTE_READ_ONLY),
        (CKA_TOKEN, TRUE, CKR_ATTRIBUTE_READ_ONLY),
        (CKA_ENCRYPT, &[2], CKR_ATTRIBUTE_VALUE_INVALID),
        (CKA_ENCRYPT, &[], CKR_ATTRIBUTE_VALUE_INVALID),
        (CKA_START_DATE, b"2026130", CKR_ATTRIBUTE_VALUE_INVALID),
        (CKA_MODULUS, &[1], CKR_ATTRIBUTE_TYPE_INVALID),
    ] {
        assert_eq!(
            set(&session, key, kind, value),
            expected,
            "{kind:#x} {value:?}"
        );
    }
    let fixed = session.key_with(CKK_AES, &[1; 16], &[(CKA_MODIFIABLE, FALSE)]);
    assert_eq!(
        set(&session, fixed.unwrap(), CKA_LABEL, b"x"),
        CKR_ACTION_PROHIBITED
    );
    let kept = session
        .key_with(CKK_AES, &[1; 16], &[(CKA_DESTROYABLE, FALSE)])
        .unwrap();
    assert_eq!(ck!(C_DestroyObject(session.0, kept)), CKR_ACTION_PROHIBITED);
}

#[test]
fn permissions() {
    let session = Session::open();
    let iv = [0; 16];
    let cbc = mechanism(CKM_AES_CBC, &iv);
    let key = session
        .key_with(CKK_AES, &[1; 16], &[(CKA_ENCRYPT, FALSE)])
        .unwrap();
    assert_eq!(
        session.init(Way::Encrypt, &cbc, key),
        Err(CKR_KEY_FUNCTION_NOT_PERMITTED)
    );
    assert_eq!(session.init(Way::Decrypt, &cbc, key), Ok(()));
    support::cancel(session.0, CKF_DECRYPT);
    // A change holds for the next operation, even if the session has just used the key.
    assert_eq!(set(&session, key, CKA_DECRYPT, FALSE), CKR_OK);
    assert_eq!(
        session.init(Way::Decrypt, &cbc, key),
        Err(CKR_KEY_FUNCTION_NOT_PERMITTED)
    );
    let only = CKM_AES_GCM.to_ne_bytes();
    let key = session.key_with(CKK_AES, &[1; 16], &[(CKA_ALLOWED_MECHANISMS, &only)]);
    let key = key.unwrap();
    assert_eq!(
        session.init(Way::Encrypt, &cbc, key),
        Err(CKR_MECHANISM_INVALID)
    );
    // A copy does not get rid of it.
    let (mut all, mut copy) = (attribute(CKA_ALLOWED_MECHANISMS, &[]), 0);
    let rv = ck!(C_CopyObject(session.0, key, &mut all, 1, &mut copy));
    assert_eq!(rv, CKR_ATTRIBUTE_READ_ONLY);
    assert_eq!(find(&session, &[(CKA_SUBJECT, b"x")]), []);
    let secret = session.key(CKK_GENERIC_SECRET, &[1; 16]);
    assert_eq!(
        session.init(Way::Encrypt, &cbc, secret),
        Err(CKR_KEY_TYPE_INCONSISTENT)
    );
    assert_eq!(
        session.init(Way::Encrypt, &cbc, 0),
        Err(CKR_KEY_HANDLE_INVALID)
    );
    assert_eq!(ck!(C_DestroyObject(session.0, secret)), CKR_OK);
    assert_eq!(
        session.init(Way::Encrypt, &cbc, secret),
        Err(CKR_KEY_HANDLE_INVALID)
    );
    assert_eq!(
        ck!(C_DestroyObject(session.0, secret)),
        CKR_OBJECT_HANDLE_INVALID
    );
}

#[test]
fn templates() {
    let session = Session::open();
    let (aes, secret) = (CKK_AES.to_ne_bytes(), CKO_SECRET_KEY.to_ne_bytes());
    let key = |more: &[(CK_ATTRIBUTE_TYPE, &[u8])]| {
        let mut template: Vec<(CK_ATTRIBUTE_TYPE, &[u8])> = vec![(CKA_CLASS, &secret)];
        template.extend_from_slice(more);
        session.create(&template).err()
    };
    let value: (CK_ATTRIBUTE_TYPE, &[u8]) = (CKA_VALUE, &[1; 16]);
    let kind: (CK_ATTRIBUTE_TYPE, &[u8]) = (CKA_KEY_TYPE, &aes);
    assert_eq!(key(&[kind, value]), None);
    assert_eq!(key(&[value]), Some(CKR_TEMPLATE_INCOMPLETE));
    assert_eq!(key(&[kind]), Some(CKR_TEMPLATE_INCOMPLETE));
    assert_eq!(session.create(&[]).err(), Some(CKR_TEMPLATE_INCOMPLETE));
    assert_eq!(key(&[kind, value, value]), Some(CKR_TEMPLATE_INCONSISTENT));
    assert_eq!(
        key(&[kind, (CKA_VALUE, &[1; 15])]),
        Some(CKR_ATTRIBUTE_VALUE_INVALID)
    );
    assert_eq!(
        key(&[kind, value, (CKA_LOCAL, TRUE)]),
        Some(CKR_ATTRIBUTE_READ_ONLY)
    );
    assert_eq!(
        key(&[kind, value, (CKA_TOKEN, TRUE)]),
        Some(CKR_TOKEN_WRITE_PROTECTED)
    );
    let wrong = (CKA_CHECK_VALUE, &[1, 2, 3][..]);
    assert_eq!(
        key(&[kind, value, wrong]),
        Some(CKR_ATTRIBUTE_VALUE_INVALID)
    );
    let des = CKK_DES.to_ne_bytes();
    assert_eq!(
        key(&[(CKA_KEY_TYPE, &des), value]),
        Some(CKR_ATTRIBUTE_VALUE_INVALID)
    );
    let certificate = CKO_CERTIFICATE.to_ne_bytes();
    let created = session.create(&[(CKA_CLASS, &certificate)]);
    assert_eq!(created.err(), Some(CKR_ATTRIBUTE_VALUE_INVALID));
    let mut object = 0;
    let rv = ck!(C_CreateObject(session.0, null_mut(), 1, &mut object));
    assert_eq!(rv, CKR_ARGUMENTS_BAD);
    let mut a = attribute(CKA_CLASS, &secret);
    let rv = ck!(C_CreateObject(
        session.0,
        &mut a,
        CK_ULONG::MAX,
        &mut object
    ));
    assert_eq!(rv, CKR_ARGUMENTS_BAD);
    a.ulValueLen = CK_ULONG::MAX;
    let rv = ck!(C_CreateObject(session.0, &mut a, 1, &mut object));
    assert_eq!(rv, CKR_ATTRIBUTE_VALUE_INVALID);
}

#[test]
fn searching_and_copying() {
    let session = Session::open();
    let label: &[u8] = b"searching and copying";
    let keys: Vec<_> = (0..10)
        .map(|i| session.key_with(CKK_AES, &[i; 32], &[(CKA_LABEL, label), (CKA_ID, &[i])]))
        .collect::<Result<_, _>>()
        .unwrap();
    let mut found = find(&session, &[(CKA_LABEL, label)]);
    found.sort_unstable();
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    assert_eq!(
        find(&session, &[(CKA_LABEL, label), (CKA_ID, &[7])]),
        [keys[7]]
    );
    assert_eq!(
        find(&session, &[(CKA_LABEL, label), (CKA_ENCRYPT, FALSE)]),
        []
    );
    let mut template = [attribute(CKA_SENSITIVE, TRUE), attribute(CKA_ID, b"copy")];
    let mut copy = 0;
    let rv = ck!(C_CopyObject(
        session.0,
        keys[3],
        template.as_mut_ptr(),
        2,
        &mut copy
    ));
    assert_eq!(rv, CKR_OK);
    assert_eq!(session.read(copy, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
    assert_eq!(
        session.read(keys[3], CKA_VALUE).as_deref(),
        Ok(&[3; 32][..])
    );
    let mut template = [attribute(CKA_SENSITIVE, FALSE)];
    let rv = ck!(C_CopyObject(
        session.0,
        copy,
        template.as_mut_ptr(),
        1,
        &mut copy
    ));
    assert_eq!(rv, CKR_ATTRIBUTE_READ_ONLY);
    // Another session sees the objects, and the first one takes them with it.
    let other = Session::open();
    assert_eq!(
        find(&other, &[(CKA_LABEL, label), (CKA_ID, &[7])]),
        [keys[7]]
    );
    drop(session);
    assert_eq!(find(&other, &[(CKA_LABEL, label)]), []);
}

#[test]
fn reading_several_attributes() {
    let session = Session::open();
    let key = session.key_with(
        CKK_AES,
        &[1; 16],
        &[(CKA_LABEL, b"label"), (CKA_SENSITIVE, TRUE)],
    );
    let (mut value, mut label, mut id) = ([0u8; 16], [0u8; 3], [0u8; 8]);
    let mut list = [
        attribute(CKA_VALUE, &value),
        attribute(CKA_LABEL, &label),
        attribute(CKA_ID, &id),
    ];
    list[0].pValue = value.as_mut_ptr().cast();
    list[1].pValue = label.as_mut_ptr().cast();
    list[2].pValue = id.as_mut_ptr().cast();
    let rv = ck!(C_GetAttributeValue(
        session.0,
        key.unwrap(),
        list.as_mut_ptr(),
        3
    ));
    assert!(
        matches!(rv, CKR_ATTRIBUTE_SENSITIVE | CKR_BUFFER_TOO_SMALL),
        "{rv:#x}"
    );
    let lengths = [list[0].ulValueLen, list[1].ulValueLen, list[2].ulValueLen];
    assert_eq!(
        lengths,
        [CK_UNAVAILABLE_INFORMATION, CK_UNAVAILABLE_INFORMATION, 0]
    );
    assert_eq!((value, label), ([0; 16], [0; 3]));
}

#[test]
fn wrapping() {
    let session = Session::open();
    let iv = [9; 16];
    let by = session.key(CKK_AES, &[1; 32]);
    let (class, aes) = (CKO_SECRET_KEY.to_ne_bytes(), CKK_AES.to_ne_bytes());
    for (kind, p) in [
        (CKM_AES_KEY_WRAP, &[][..]),
        (CKM_AES_KEY_WRAP_PAD, &[]),
        (CKM_AES_KEY_WRAP_KWP, &[]),
        (CKM_AES_CBC_PAD, &iv),
        (CKM_AES_CBC, &iv),
        (CKM_AES_ECB, &[]),
    ] {
        let key = session.key(CKK_AES, &[7; 32]);
        let mut m = mechanism(kind, p);
        let mut n = 0;
        let rv = ck!(C_WrapKey(session.0, &mut m, by, key, null_mut(), &mut n));
        assert_eq!(rv, CKR_OK, "{kind:#x}");
        let mut wrapped = vec![0; n as usize];
        let rv = ck!(C_WrapKey(
            session.0,
            &mut m,
            by,
            key,
            wrapped.as_mut_ptr(),
            &mut n
        ));
        assert_eq!(rv, CKR_OK, "{kind:#x}");
        let mut template = [attribute(CKA_CLASS, &class), attribute(CKA_KEY_TYPE, &aes)];
        let unwrap = |wrapped: &mut [u8], template: &mut [CK_ATTRIBUTE]| {
            let (mut m, mut key) = (mechanism(kind, p), 0);
            let (at, len) = (wrapped.as_mut_ptr(), wrapped.len() as CK_ULONG);
            let count = template.len() as CK_ULONG;
            let list = template.as_mut_ptr();
            let rv = ck!(C_UnwrapKey(
                session.0, &mut m, by, at, len, list, count, &mut key
            ));
            result(rv).map(|()| key)
        };
        wrapped.truncate(n as usize);
        let back = unwrap(&mut wrapped, &mut template).unwrap();
        assert_eq!(
            session.read(back, CKA_VALUE).as_deref(),
            Ok(&[7; 32][..]),
            "{kind:#x}"
        );
        let sealing = [CKM_AES_KEY_WRAP, CKM_AES_KEY_WRAP_PAD, CKM_AES_KEY_WRAP_KWP];
        if sealing.contains(&kind) {
            wrapped[3] ^= 1;
            assert_eq!(
                unwrap(&mut wrapped, &mut template),
                Err(CKR_WRAPPED_KEY_INVALID)
            );
        }
        wrapped.truncate(11);
        let short = unwrap(&mut wrapped, &mut template);
        assert_eq!(short, Err(CKR_WRAPPED_KEY_LEN_RANGE), "{kind:#x}");
    }
    let hidden = session
        .key_with(CKK_AES, &[7; 32], &[(CKA_EXTRACTABLE, FALSE)])
        .unwrap();
    let guarded = session
        .key_with(CKK_AES, &[7; 32], &[(CKA_WRAP_WITH_TRUSTED, TRUE)])
        .unwrap();
    let (mut m, mut n) = (mechanism(CKM_AES_KEY_WRAP, &[]), 0);
    let mut wrap = |key| ck!(C_WrapKey(session.0, &mut m, by, key, null_mut(), &mut n));
    assert_eq!(wrap(hidden), CKR_KEY_UNEXTRACTABLE);
    assert_eq!(wrap(guarded), CKR_KEY_NOT_WRAPPABLE);
    assert_eq!(wrap(0), CKR_KEY_HANDLE_INVALID);
}
