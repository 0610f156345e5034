// SPDX-License-Identifier: BSD-2-Clause
//! Keys that the tool stores are used through Cryptoki, and the tool sees those that Cryptoki
//! makes. One test, because where the token lies is the process's.

// The arguments of ck! may be unsafe.
#![allow(clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use support::{attribute, mechanism, result, Session, Way};
use tenrounds_pkcs11::keyring::{self, Error, KeyType, Keyring, NewKey, Use};
use token::LABEL_LEN;

const PIN: &[u8] = b"1234";

fn key<'a>(label: &'a str, value: &'a [u8], uses: &'a [Use]) -> NewKey<'a> {
    NewKey {
        key_type: KeyType::Aes,
        label,
        id: &[1, 2],
        value,
        uses,
        sensitive: true,
        extractable: true,
    }
}

fn find(session: &Session, label: &[u8]) -> Vec<CK_ULONG> {
    let mut template = [attribute(CKA_LABEL, label)];
    let list = template.as_mut_ptr();
    result(ck!(C_FindObjectsInit(session.0, list, 1))).unwrap();
    let (mut handles, mut count) = ([0; 10], 0);
    let to = handles.as_mut_ptr();
    result(ck!(C_FindObjects(session.0, to, 10, &mut count))).unwrap();
    result(ck!(C_FindObjectsFinal(session.0))).unwrap();
    handles[..count as usize].to_vec()
}

#[test]
fn the_tool_and_cryptoki_share_keys() {
    let name = format!("tenrounds-keyring-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let path = folder.join("token");
    std::env::set_var(token::place::VARIABLE, &path);

    let file = keyring::token(path.clone()).unwrap();
    let created = file.create(&[b' '; LABEL_LEN], b"officer", Some(PIN));
    created.unwrap();
    let keyring = Keyring::open(path.clone(), PIN).unwrap();
    keyring
        .import(&key("data", &[7; 16], &[Use::Encrypt]))
        .unwrap();
    let kek = keyring.import(&key("kek", &[9; 32], &[Use::Wrap])).unwrap();
    let refused = keyring.import(&key("short", &[7; 15], &[]));
    assert!(matches!(
        refused,
        Err(Error::Code(CKR_ATTRIBUTE_VALUE_INVALID))
    ));

    support::initialized();
    let session = Session::on(1, true).unwrap();
    let (at, len) = (PIN.as_ptr().cast_mut(), PIN.len() as CK_ULONG);
    result(ck!(C_Login(session.0, CKU_USER, at, len))).unwrap();
    let stored = find(&session, b"data")[0];
    let ecb = mechanism(CKM_AES_ECB, &[]);
    let same = session.key(CKK_AES, &[7; 16]);
    let block = session.crypt(Way::Encrypt, &ecb, stored, &[1; 16]);
    assert_eq!(block, session.crypt(Way::Encrypt, &ecb, same, &[1; 16]));
    assert_eq!(
        session.read(stored, CKA_VALUE),
        Err(CKR_ATTRIBUTE_SENSITIVE)
    );
    assert_eq!(session.read(stored, CKA_ID), Ok(vec![1, 2]));
    // What a key is not for, Cryptoki refuses.
    let wrapping = find(&session, b"kek")[0];
    let refused = session.init(Way::Encrypt, &ecb, wrapping);
    assert_eq!(refused, Err(CKR_KEY_FUNCTION_NOT_PERMITTED));

    // And the other way.
    let made = [(CKA_TOKEN, &[CK_TRUE][..]), (CKA_LABEL, b"made")];
    session.key_with(CKK_AES, &[3; 32], &made).unwrap();
    let entries = keyring.entries().unwrap();
    let made = entries.iter().find(|entry| entry.label == "made").unwrap();
    assert_eq!((made.kind, made.bytes, made.sensitive), ("AES", 32, false));
    assert_eq!(&keyring.value(made.number).unwrap()[..], [3; 32]);
    let wrapped = keyring.wrap(made.number, kek).unwrap();
    assert_eq!(&keyring.unwrap(&wrapped, kek).unwrap()[..], [3; 32]);
    assert!(matches!(
        keyring.value(kek),
        Err(Error::Forbidden("CKA_SENSITIVE"))
    ));
    assert!(keyring.delete(made.number).unwrap());
    assert!(find(&session, b"made").is_empty());
    std::fs::remove_dir_all(folder).unwrap();
}
