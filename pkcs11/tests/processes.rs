// SPDX-License-Identifier: BSD-2-Clause
//! Sixteen processes that change one token at the same time, through Cryptoki: what a call
//! acknowledged is there afterwards, and nothing else. One test, because the processes are forked.

// The arguments of ck! may be unsafe.
#![allow(clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::path::Path;
use support::{attribute, login, result, Session};
use tenrounds_pkcs11::keyring::{self, Keyring};
use token::LABEL_LEN;

const PROCESSES: usize = 16;
/// Objects that each process makes; it destroys every third again.
const EACH: usize = 6;
const PIN: &[u8] = b"1234";

/// What a child does: its exit status is 0 if every call succeeded.
fn work(number: usize) -> Result<(), CK_RV> {
    let session = Session::on(1, true)?;
    login(&session, CKU_USER, PIN)?;
    for i in 0..EACH {
        let label = format!("process {number}, key {i}");
        let stored = [(CKA_TOKEN, &[CK_TRUE][..]), (CKA_LABEL, label.as_bytes())];
        let key = session.key_with(CKK_AES, &[number as u8; 16], &stored)?;
        if i % 3 == 2 {
            result(ck!(C_DestroyObject(session.0, key)))?;
        }
        let mut template = [attribute(CKA_LABEL, label.as_bytes())];
        result(ck!(C_FindObjectsInit(session.0, template.as_mut_ptr(), 1)))?;
        let (mut found, mut count) = (0, 0);
        result(ck!(C_FindObjects(session.0, &mut found, 1, &mut count)))?;
        result(ck!(C_FindObjectsFinal(session.0)))?;
        assert_eq!(count, CK_ULONG::from(i % 3 != 2), "{label}");
    }
    Ok(())
}

#[test]
fn what_was_acknowledged_is_there() {
    let name = format!("tenrounds-processes-{}", std::process::id());
    // In memory if possible: each change is synchronised with the disk, and a process waits for the
    // others only so long.
    let folder = match Path::new("/dev/shm") {
        memory if memory.is_dir() => memory.join(name),
        _ => std::env::temp_dir().join(name),
    };
    let path = folder.join("token");
    std::env::set_var(token::place::VARIABLE, &path);
    let file = keyring::token(path.clone()).unwrap();
    let created = file.create(&[b' '; LABEL_LEN], b"officer", Some(PIN));
    created.unwrap();

    let child = |number: usize| {
        // SAFETY: no other thread of this process holds a lock that the child needs: it has one
        // test, and the main thread waits for it.
        match unsafe { libc::fork() } {
            0 => {
                let done = std::panic::catch_unwind(|| work(number));
                let status = i32::from(!matches!(done, Ok(Ok(()))));
                // SAFETY: the child ends here.
                unsafe { libc::_exit(status) };
            }
            pid => pid,
        }
    };
    let children: Vec<libc::pid_t> = (0..PROCESSES).map(child).collect();
    for pid in children {
        let mut status = 0;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
        assert_eq!(status, 0, "a process failed");
    }

    let entries = Keyring::open(path, PIN).unwrap().entries().unwrap();
    let labels: std::collections::BTreeSet<String> =
        entries.iter().map(|entry| entry.label.clone()).collect();
    let expected = (0..PROCESSES).flat_map(|number| {
        let stays = (0..EACH).filter(|i| i % 3 != 2);
        stays.map(move |i| format!("process {number}, key {i}"))
    });
    assert_eq!(labels, expected.collect());
    assert_eq!(entries.len(), labels.len());
    std::fs::remove_dir_all(folder).unwrap();
}
