// SPDX-License-Identifier: BSD-2-Clause
//! The rules of attributes and mechanisms, each with every attribute, permission and mechanism:
//! what a new key has, what a copy keeps, what changes, and what is told of mechanisms.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ptr::null_mut;
use support::{attribute, mechanism, result, Session, Way};

type Given<'a> = (CK_ATTRIBUTE_TYPE, &'a [u8]);
type Made = Result<CK_ULONG, CK_RV>;

const TRUE: &[u8] = &[CK_TRUE];
const FALSE: &[u8] = &[CK_FALSE];
const SECRET: [u8; 8] = CKO_SECRET_KEY.to_ne_bytes();
const AES: [u8; 8] = CKK_AES.to_ne_bytes();
const GENERIC: [u8; 8] = CKK_GENERIC_SECRET.to_ne_bytes();
/// The longest generic secret.
const MOST: usize = 1 << 20;
/// The permissions, in the order of [`allowed`].
const PERMISSIONS: [CK_ATTRIBUTE_TYPE; 6] = [
    CKA_ENCRYPT,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_VERIFY,
    CKA_WRAP,
    CKA_UNWRAP,
];

fn list(template: &[Given]) -> Vec<CK_ATTRIBUTE> {
    template.iter().map(|(k, v)| attribute(*k, v)).collect()
}

fn generate(session: &Session, template: &[Given]) -> Made {
    let (mut list, mut key) = (list(template), 0);
    let (mut m, count) = (mechanism(CKM_AES_KEY_GEN, &[]), list.len() as CK_ULONG);
    let at = list.as_mut_ptr();
    result(ck!(C_GenerateKey(session.0, &mut m, at, count, &mut key))).map(|()| key)
}

fn wrap(session: &Session, kind: CK_MECHANISM_TYPE, by: CK_ULONG, key: CK_ULONG) -> support::Rv {
    let (mut m, mut out) = (mechanism(kind, &[]), vec![0; 100]);
    let mut n = out.len() as CK_ULONG;
    let at = out.as_mut_ptr();
    result(ck!(C_WrapKey(session.0, &mut m, by, key, at, &mut n)))?;
    out.truncate(n as usize);
    Ok(out)
}

fn unwrap(
    session: &Session,
    kind: CK_MECHANISM_TYPE,
    by: CK_ULONG,
    wrapped: &[u8],
    template: &[Given],
) -> Made {
    let (mut m, mut list, mut key) = (mechanism(kind, &[]), list(template), 0);
    let (from, len) = (wrapped.as_ptr().cast_mut(), wrapped.len() as CK_ULONG);
    let (at, count) = (list.as_mut_ptr(), list.len() as CK_ULONG);
    let rv = ck!(C_UnwrapKey(
        session.0, &mut m, by, from, len, at, count, &mut key
    ));
    result(rv).map(|()| key)
}

fn copy(session: &Session, key: CK_ULONG, template: &[Given]) -> Made {
    let (mut list, mut new) = (list(template), 0);
    let (at, count) = (list.as_mut_ptr(), list.len() as CK_ULONG);
    result(ck!(C_CopyObject(session.0, key, at, count, &mut new))).map(|()| new)
}

fn set(session: &Session, key: CK_ULONG, (kind, value): Given) -> Result<(), CK_RV> {
    let mut a = attribute(kind, value);
    result(ck!(C_SetAttributeValue(session.0, key, &mut a, 1)))
}

/// Compares all flags of a key: those in `true_ones` are true, all others false.
fn assert_flags(session: &Session, key: CK_ULONG, true_ones: &[CK_ATTRIBUTE_TYPE], what: &str) {
    let all = [
        CKA_TOKEN,
        CKA_PRIVATE,
        CKA_MODIFIABLE,
        CKA_COPYABLE,
        CKA_DESTROYABLE,
        CKA_LOCAL,
        CKA_SENSITIVE,
        CKA_EXTRACTABLE,
        CKA_ALWAYS_SENSITIVE,
        CKA_NEVER_EXTRACTABLE,
        CKA_TRUSTED,
        CKA_WRAP_WITH_TRUSTED,
    ];
    for kind in all.into_iter().chain(PERMISSIONS) {
        let wanted = [CK_BBOOL::from(true_ones.contains(&kind))];
        let read = session.read(key, kind);
        assert_eq!(read.as_deref(), Ok(&wanted[..]), "{what}: {kind:#x}");
    }
}

/// What every key has unless its template says otherwise, with these beside.
fn usual(more: &[CK_ATTRIBUTE_TYPE]) -> Vec<CK_ATTRIBUTE_TYPE> {
    let kept = [CKA_MODIFIABLE, CKA_COPYABLE, CKA_DESTROYABLE];
    [&kept[..], &PERMISSIONS, more].concat()
}

#[test]
fn flags_of_new_keys() {
    let session = Session::open();
    let created = session.key(CKK_AES, &[1; 16]);
    assert_flags(&session, created, &usual(&[CKA_EXTRACTABLE]), "created");
    let hidden: [Given; 2] = [(CKA_SENSITIVE, TRUE), (CKA_EXTRACTABLE, FALSE)];
    let created = session.key_with(CKK_AES, &[1; 16], &hidden).unwrap();
    // Its value was outside before.
    assert_flags(&session, created, &usual(&[CKA_SENSITIVE]), "created");

    let len = (16 as CK_ULONG).to_ne_bytes();
    let made = |more: &[Given]| generate(&session, &[&[(CKA_VALUE_LEN, &len[..])], more].concat());
    let open = usual(&[CKA_LOCAL, CKA_EXTRACTABLE]);
    assert_flags(&session, made(&[]).unwrap(), &open, "generated");
    let sensitive = made(&[(CKA_SENSITIVE, TRUE)]).unwrap();
    let flags = [
        CKA_LOCAL,
        CKA_EXTRACTABLE,
        CKA_SENSITIVE,
        CKA_ALWAYS_SENSITIVE,
    ];
    assert_flags(&session, sensitive, &usual(&flags), "generated sensitive");
    let kept = made(&[(CKA_EXTRACTABLE, FALSE)]).unwrap();
    let flags = [CKA_LOCAL, CKA_NEVER_EXTRACTABLE];
    assert_flags(&session, kept, &usual(&flags), "generated unextractable");

    let wrapped = wrap(&session, CKM_AES_KEY_WRAP, created, sensitive).unwrap();
    let template: [Given; 4] = [
        (CKA_CLASS, &SECRET),
        (CKA_KEY_TYPE, &AES),
        hidden[0],
        hidden[1],
    ];
    let back = unwrap(&session, CKM_AES_KEY_WRAP, created, &wrapped, &template);
    assert_flags(
        &session,
        back.unwrap(),
        &usual(&[CKA_SENSITIVE]),
        "unwrapped",
    );
}

/// Attributes that differ from the defaults, each.
const UNUSUAL: [Given; 17] = [
    (CKA_LABEL, b"a label"),
    (CKA_ID, b"an ID"),
    (CKA_START_DATE, b"20200102"),
    (CKA_END_DATE, b"29990304"),
    (CKA_ENCRYPT, FALSE),
    (CKA_DECRYPT, FALSE),
    (CKA_SIGN, FALSE),
    (CKA_VERIFY, FALSE),
    (CKA_WRAP, FALSE),
    (CKA_UNWRAP, FALSE),
    (CKA_DERIVE, TRUE),
    (CKA_EXTRACTABLE, FALSE),
    (CKA_SENSITIVE, TRUE),
    (CKA_WRAP_WITH_TRUSTED, TRUE),
    (CKA_MODIFIABLE, FALSE),
    (CKA_DESTROYABLE, FALSE),
    (CKA_ALLOWED_MECHANISMS, &CKM_AES_GCM.to_ne_bytes()),
];

#[test]
fn a_copy_keeps_all_attributes() {
    let session = Session::open();
    let usual = session.key(CKK_AES, &[1; 16]);
    let unusual = session.key_with(CKK_AES, &[1; 16], &UNUSUAL).unwrap();
    let len = (24 as CK_ULONG).to_ne_bytes();
    let hidden: [Given; 3] = [
        (CKA_VALUE_LEN, &len),
        (CKA_SENSITIVE, TRUE),
        (CKA_EXTRACTABLE, FALSE),
    ];
    let generated = generate(&session, &hidden).unwrap();
    for key in [usual, unusual, generated] {
        let new = copy(&session, key, &[]).unwrap();
        let history = [
            CKA_CLASS,
            CKA_KEY_TYPE,
            CKA_VALUE,
            CKA_VALUE_LEN,
            CKA_CHECK_VALUE,
            CKA_LOCAL,
            CKA_ALWAYS_SENSITIVE,
            CKA_NEVER_EXTRACTABLE,
            CKA_KEY_GEN_MECHANISM,
            CKA_COPYABLE,
            CKA_TRUSTED,
            CKA_TOKEN,
            CKA_PRIVATE,
        ];
        for kind in UNUSUAL.iter().map(|(kind, _)| *kind).chain(history) {
            let (old, new) = (session.read(key, kind), session.read(new, kind));
            assert_eq!(new, old, "{kind:#x}");
        }
        assert_ne!(
            session.read(key, CKA_UNIQUE_ID),
            session.read(new, CKA_UNIQUE_ID)
        );
    }
    for (kind, value) in UNUSUAL {
        let read = session.read(unusual, kind);
        assert_eq!(read.as_deref(), Ok(value), "{kind:#x}");
    }
    // A copy may be changed where its original may not.
    let open = copy(&session, unusual, &[(CKA_MODIFIABLE, TRUE)]).unwrap();
    assert_eq!(set(&session, open, (CKA_LABEL, b"x")), Ok(()));
    let open = copy(&session, unusual, &[(CKA_DESTROYABLE, TRUE)]).unwrap();
    assert_eq!(ck!(C_DestroyObject(session.0, open)), CKR_OK);
    let refused = session
        .key_with(CKK_AES, &[1; 16], &[(CKA_COPYABLE, FALSE)])
        .unwrap();
    assert_eq!(copy(&session, refused, &[]), Err(CKR_ACTION_PROHIBITED));
}

/// What C_SetAttributeValue and C_CopyObject may do with each flag: from false to true, from true
/// to false, and both again in a copy.
#[test]
fn changes_of_each_flag() {
    let session = Session::open();
    let always = [[true; 2]; 2];
    let in_copy = [[false; 2], [true; 2]];
    let (to_true, to_false) = ([[true, false]; 2], [[false, true]; 2]);
    let rules = [
        (CKA_MODIFIABLE, in_copy),
        (CKA_DESTROYABLE, in_copy),
        (CKA_COPYABLE, to_false),
        (CKA_SENSITIVE, to_true),
        (CKA_EXTRACTABLE, to_false),
        (CKA_WRAP_WITH_TRUSTED, to_true),
    ];
    for (kind, allowed) in rules
        .into_iter()
        .chain(PERMISSIONS.map(|kind| (kind, always)))
    {
        for (copies, allowed) in [false, true].into_iter().zip(allowed) {
            for (new, allowed) in [true, false].into_iter().zip(allowed) {
                let (old, new) = match new {
                    true => (FALSE, TRUE),
                    false => (TRUE, FALSE),
                };
                let unreachable = old == FALSE
                    && (kind == CKA_MODIFIABLE && !copies || kind == CKA_COPYABLE && copies);
                if unreachable {
                    continue; // CKR_ACTION_PROHIBITED, in other tests
                }
                let key = session.key_with(CKK_AES, &[1; 16], &[(kind, old)]).unwrap();
                let apply = |value| match copies {
                    true => copy(&session, key, &[(kind, value)]).map(|_| ()),
                    false => set(&session, key, (kind, value)),
                };
                let what = format!("{kind:#x} to {new:?}, copies: {copies}");
                assert_eq!(apply(old), Ok(()), "{what}: without a change");
                let wanted = match allowed {
                    true => Ok(()),
                    false => Err(CKR_ATTRIBUTE_READ_ONLY),
                };
                assert_eq!(apply(new), wanted, "{what}");
            }
        }
    }
}

/// Whether a key may be used in each of the six ways. Only the permission decides.
fn allowed(session: &Session, key: CK_ULONG, cmac: CK_ULONG) -> [bool; 6] {
    let ecb = mechanism(CKM_AES_ECB, &[]);
    let mut mac = mechanism(CKM_AES_CMAC, &[]);
    let other = session.key(CKK_AES, &[2; 16]);
    let wrapped = wrap(session, CKM_AES_KEY_WRAP, cmac, other).unwrap();
    let template: [Given; 2] = [(CKA_CLASS, &SECRET), (CKA_KEY_TYPE, &AES)];
    let results = [
        session.init(Way::Encrypt, &ecb, key),
        session.init(Way::Decrypt, &ecb, key),
        result(ck!(C_SignInit(session.0, &mut mac, key))),
        result(ck!(C_VerifyInit(session.0, &mut mac, key))),
        wrap(session, CKM_AES_KEY_WRAP, key, other).map(|_| ()),
        unwrap(session, CKM_AES_KEY_WRAP, key, &wrapped, &template).map(|_| ()),
    ];
    support::cancel(session.0, CKF_ENCRYPT | CKF_DECRYPT | CKF_SIGN | CKF_VERIFY);
    results.map(|result| match result {
        Ok(()) => true,
        Err(code) => {
            assert_eq!(code, CKR_KEY_FUNCTION_NOT_PERMITTED);
            false
        }
    })
}

#[test]
fn each_permission() {
    let session = Session::open();
    // Wraps what a key of the same value unwraps.
    let same = session.key(CKK_AES, &[1; 16]);
    for (i, kind) in PERMISSIONS.into_iter().enumerate() {
        for (value, others) in [(TRUE, FALSE), (FALSE, TRUE)] {
            let flags = PERMISSIONS.map(|k| (k, if k == kind { value } else { others }));
            let key = session.key_with(CKK_AES, &[1; 16], &flags).unwrap();
            let mut wanted = [others == TRUE; 6];
            wanted[i] = value == TRUE;
            assert_eq!(allowed(&session, key, same), wanted, "{kind:#x} {value:?}");
        }
    }
}

#[test]
fn lists_of_mechanisms() {
    let session = Session::open();
    let listed = [CKM_AES_CMAC, CKM_AES_ECB].map(CK_MECHANISM_TYPE::to_ne_bytes);
    let key = session.key_with(
        CKK_AES,
        &[1; 16],
        &[(CKA_ALLOWED_MECHANISMS, &listed.concat())],
    );
    let key = key.unwrap();
    let iv = [0; 16];
    let init = |m| {
        let begun = session.init(Way::Encrypt, &m, key);
        support::cancel(session.0, CKF_ENCRYPT);
        begun
    };
    assert_eq!(init(mechanism(CKM_AES_ECB, &[])), Ok(()));
    let refused = init(mechanism(CKM_AES_CBC, &iv));
    assert_eq!(refused, Err(CKR_MECHANISM_INVALID));
    let half: [Given; 1] = [(CKA_ALLOWED_MECHANISMS, &listed[0][..7])];
    let refused = session.key_with(CKK_AES, &[1; 16], &half);
    assert_eq!(refused, Err(CKR_ATTRIBUTE_VALUE_INVALID));
}

/// Lengths of values by type of key.
#[test]
fn sizes_of_keys() {
    let session = Session::open();
    let allowed = |key_type, len: usize| match key_type {
        CKK_AES => [16, 24, 32].contains(&len),
        CKK_AES_XTS => [32, 64].contains(&len),
        _ => (1..=MOST).contains(&len),
    };
    for key_type in [CKK_AES, CKK_AES_XTS, CKK_GENERIC_SECRET] {
        for len in (0..=65).chain([MOST, MOST + 1]) {
            let value: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let made = session.key_with(key_type, &value, &[]);
            match allowed(key_type, len) {
                true => drop(made.unwrap()),
                false => assert_eq!(made, Err(CKR_ATTRIBUTE_VALUE_INVALID), "{len}"),
            }
        }
    }
    let made = |kind, len: CK_ULONG| {
        let bytes = len.to_ne_bytes();
        let (mut list, mut key) = (list(&[(CKA_VALUE_LEN, &bytes)]), 0);
        let mut m = mechanism(kind, &[]);
        let at = list.as_mut_ptr();
        result(ck!(C_GenerateKey(session.0, &mut m, at, 1, &mut key)))?;
        Ok(session.read(key, CKA_VALUE).unwrap().len())
    };
    for (kind, key_type) in [
        (CKM_AES_KEY_GEN, CKK_AES),
        (CKM_AES_XTS_KEY_GEN, CKK_AES_XTS),
        (CKM_GENERIC_SECRET_KEY_GEN, CKK_GENERIC_SECRET),
    ] {
        for len in 0..=65 {
            let wanted = match allowed(key_type, len) {
                true => Ok(len),
                false => Err(CKR_KEY_SIZE_RANGE),
            };
            assert_eq!(made(kind, len as CK_ULONG), wanted, "{kind:#x}");
        }
    }
}

/// Lengths that templates of C_UnwrapKey ask for.
#[test]
fn lengths_of_unwrapped_keys() {
    let session = Session::open();
    let by = session.key(CKK_AES, &[1; 16]);
    let value: Vec<u8> = (1..=24).collect();
    let secret = session.key(CKK_GENERIC_SECRET, &value);
    let values = |made: Made| made.map(|key| session.read(key, CKA_VALUE).unwrap());
    for (kind, filled) in [(CKM_AES_KEY_WRAP, 24), (CKM_AES_ECB, 32)] {
        let wrapped = wrap(&session, kind, by, secret).unwrap();
        for len in [0, 1, 23, 24, 25, 31, 32, 33] {
            let bytes = (len as CK_ULONG).to_ne_bytes();
            let template: [Given; 3] = [
                (CKA_CLASS, &SECRET),
                (CKA_KEY_TYPE, &GENERIC),
                (CKA_VALUE_LEN, &bytes),
            ];
            let mut whole = value.clone();
            whole.resize(filled, 0);
            let wanted = match len {
                _ if len > filled => Err(CKR_WRAPPED_KEY_LEN_RANGE),
                _ if len < filled && kind != CKM_AES_ECB => Err(CKR_TEMPLATE_INCONSISTENT),
                0 => Err(CKR_WRAPPED_KEY_LEN_RANGE),
                _ => Ok(whole[..len].to_vec()),
            };
            let made = unwrap(&session, kind, by, &wrapped, &template);
            assert_eq!(values(made), wanted, "{kind:#x} {len}");
        }
    }
}

/// C_GetMechanismInfo, for every mechanism.
#[test]
fn told_of_mechanisms() {
    let _session = Session::open();
    let crypt = CKF_ENCRYPT | CKF_DECRYPT;
    let wrap = crypt | CKF_WRAP | CKF_UNWRAP;
    let mac = CKF_SIGN | CKF_VERIFY;
    let rows: [(&[CK_MECHANISM_TYPE], CK_ULONG, CK_ULONG, CK_FLAGS); 6] = [
        (&[CKM_AES_KEY_GEN], 16, 32, CKF_GENERATE),
        (&[CKM_AES_XTS_KEY_GEN], 32, 64, CKF_GENERATE),
        (
            &[CKM_GENERIC_SECRET_KEY_GEN],
            8,
            8 * MOST as CK_ULONG,
            CKF_GENERATE,
        ),
        (
            &[
                CKM_AES_ECB,
                CKM_AES_CBC,
                CKM_AES_CBC_PAD,
                CKM_AES_CTR,
                CKM_AES_CTS,
                CKM_AES_OFB,
                CKM_AES_CFB128,
                CKM_AES_CFB8,
                CKM_AES_GCM,
                CKM_AES_CCM,
                CKM_AES_KEY_WRAP,
                CKM_AES_KEY_WRAP_PAD,
                CKM_AES_KEY_WRAP_KWP,
                CKM_AES_KEY_WRAP_PKCS7,
            ],
            16,
            32,
            wrap,
        ),
        (&[CKM_AES_XTS], 32, 64, crypt),
        (
            &[CKM_AES_CMAC, CKM_AES_CMAC_GENERAL, CKM_AES_GMAC],
            16,
            32,
            mac,
        ),
    ];
    let mut count = 0;
    for (kinds, min, max, flags) in rows {
        for kind in kinds {
            let mut info = CK_MECHANISM_INFO::default();
            assert_eq!(ck!(C_GetMechanismInfo(0, *kind, &mut info)), CKR_OK);
            let told = (info.ulMinKeySize, info.ulMaxKeySize, info.flags);
            assert_eq!(told, (min, max, flags), "{kind:#x}");
            count += 1;
        }
    }
    let mut all = 0;
    assert_eq!(ck!(C_GetMechanismList(0, null_mut(), &mut all)), CKR_OK);
    assert_eq!(all, count);
}
