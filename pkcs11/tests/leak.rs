// SPDX-License-Identifier: BSD-2-Clause
//! Memory does not grow with keys, sessions and operations that have come and gone. One test,
//! because the memory is the process's.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use support::{attribute, bytes_of, mechanism, result, Session, Way};

const TEXT: [u8; 200] = [5; 200];

/// Resident memory of this process, in KiB. The kernel counts it when the file is read. VmRSS can
/// be wrong by 32 pages or more for each processor (lib/percpu_counter.c in Linux).
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Rss:"));
    line.unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap()
}

/// An AES key that the module generates.
fn generated(session: &Session) -> CK_ULONG {
    let (mut m, len) = (mechanism(CKM_AES_KEY_GEN, &[]), 32 as CK_ULONG);
    let mut template = [attribute(CKA_VALUE_LEN, bytes_of(&len))];
    let (list, mut key) = (template.as_mut_ptr(), 0);
    let made = ck!(C_GenerateKey(session.0, &mut m, list, 1, &mut key));
    result(made).map(|()| key).expect("a key")
}

/// TENROUNDS_KEYS is the number of keys; make check-full has 10 million.
#[test]
fn nothing_leaks() {
    let many: usize = match std::env::var("TENROUNDS_KEYS") {
        Ok(many) => many.parse().expect("TENROUNDS_KEYS: a number"),
        Err(_) => 20_000,
    };
    let params = CK_AES_CTR_PARAMS {
        ulCounterBits: 128,
        cb: [7; 16],
    };
    let m = mechanism(CKM_AES_CTR, bytes_of(&params));
    let round = |session: &Session, number: usize| {
        let key = match number % 4 {
            0 => generated(session),
            _ => session.key(CKK_AES, &[1; 32]),
        };
        let sealed = session.crypt(Way::Encrypt, &m, key, &TEXT);
        assert_eq!(sealed.map(|out| out.len()), Ok(TEXT.len()));
        // An operation that never ends, in a session that does.
        let other = Session::open();
        other.init(Way::Decrypt, &m, key).unwrap();
        other.update(Way::Decrypt, &TEXT, &mut [0; 400]).unwrap();
        drop(other);
        result(ck!(C_DestroyObject(session.0, key))).unwrap();
    };
    let session = Session::open();
    (0..10_000).for_each(|number| round(&session, number));
    let before = resident();
    (0..many).for_each(|number| round(&session, number));
    let after = resident();
    println!("{many} keys: {before} KiB before, {after} KiB after");
    // A page now and then is the allocator's; a byte of every key would be more.
    let grown = after.saturating_sub(before);
    assert!(grown < 512, "{grown} KiB for {many} keys");
}
