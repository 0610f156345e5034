// SPDX-License-Identifier: BSD-2-Clause
//! A token with thousands of objects: each is found by its label, and none else. The time is
//! printed, not tested. TENROUNDS_OBJECTS=10000 makes more of them.

// The time is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::time::Instant;
use support::{attribute, login, result, Session};
use tenrounds_pkcs11::keyring::{self, KeyType, Keyring, NewKey, Use};
use token::LABEL_LEN;

const PIN: &[u8] = b"1234";

fn find(session: &Session, label: &[u8]) -> Vec<CK_ULONG> {
    let mut template = [attribute(CKA_LABEL, label)];
    result(ck!(C_FindObjectsInit(session.0, template.as_mut_ptr(), 1))).unwrap();
    let (mut handles, mut count) = ([0; 10], 0);
    result(ck!(C_FindObjects(
        session.0,
        handles.as_mut_ptr(),
        10,
        &mut count
    )))
    .unwrap();
    result(ck!(C_FindObjectsFinal(session.0))).unwrap();
    handles[..count as usize].to_vec()
}

#[test]
fn each_is_found_by_its_label() {
    let many: usize = match std::env::var("TENROUNDS_OBJECTS") {
        Ok(many) => many.parse().expect("TENROUNDS_OBJECTS: a number"),
        Err(_) => 2000,
    };
    let name = format!("tenrounds-many-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let path = folder.join("token");
    std::env::set_var(token::place::VARIABLE, &path);
    let file = keyring::token(path.clone()).unwrap();
    let created = file.create(&[b' '; LABEL_LEN], b"officer", Some(PIN));
    created.unwrap();
    let keyring = Keyring::open(path, PIN).unwrap();
    let labels: Vec<String> = (0..many).map(|n| format!("key {n}")).collect();
    let keys = labels.iter().map(|label| NewKey {
        key_type: KeyType::Aes,
        label,
        id: &[],
        value: &[7; 32],
        uses: &[Use::Encrypt],
        sensitive: true,
        extractable: false,
    });
    let numbers = keyring.import_all(&keys.collect::<Vec<_>>()).unwrap();
    assert_eq!(numbers, (1..=many as u64).collect::<Vec<_>>());

    support::initialized();
    let session = Session::on(1, false).unwrap();
    let begin = Instant::now();
    login(&session, CKU_USER, PIN).unwrap();
    println!("login with {many} objects: {:?}", begin.elapsed());
    let mut seen = std::collections::HashSet::new();
    for n in (0..many).step_by(many / 50) {
        let begin = Instant::now();
        let found = find(&session, labels[n].as_bytes());
        let took = begin.elapsed();
        assert!(found.len() == 1 && seen.insert(found[0]), "{n}: {found:?}");
        if n == 0 || n + many / 50 >= many {
            println!("one of {many} by its label: {took:?}");
        }
    }
    assert!(find(&session, b"key").is_empty());
    std::fs::remove_dir_all(folder).unwrap();
}
