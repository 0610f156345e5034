// SPDX-License-Identifier: BSD-2-Clause
//! Thousands of objects: each is found by its label, and none else. The time is
//! printed, not tested. TENROUNDS_OBJECTS=10000 makes more of them.

// The time is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::time::Instant;
use support::{attribute, result, Session};

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
    let session = Session::open();
    let labels: Vec<String> = (0..many).map(|n| format!("key {n}")).collect();
    let begin = Instant::now();
    for label in &labels {
        let label = [(CKA_LABEL, label.as_bytes())];
        session.key_with(CKK_AES, &[7; 32], &label).unwrap();
    }
    println!("{many} keys made: {:?}", begin.elapsed());
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
}
