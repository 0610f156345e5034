// SPDX-License-Identifier: BSD-2-Clause
//! The unsafe code in Miri, which cannot call C: functions here stand in for the core's. They touch
//! all memory that the core may touch, through the pointers that it gets. Other compilers see no
//! code here. From bindings/rust:
//!
//!     cargo +nightly miri test --package crate-miri

#![cfg(miri)]

use ::aead::{Aead as _, KeyInit};
use ::cipher::{KeyIvInit, StreamCipher};
use digest::Mac;
use std::ffi::{c_int, c_uint, c_void};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use std::sync::atomic::{AtomicU8, Ordering};
use tenrounds::{
    open_many, seal_many, Aes, Aes128Gcm, CbcEncryptor, CmacMessage, Ctr, Error, GcmDecryptor,
    GcmEncryptor, Xts,
};

/// XORs a byte of the key into the data, as in one pass over pointers that may be equal.
unsafe fn process(key: u8, out: *mut u8, input: *const u8, len: usize) {
    for i in 0..len {
        unsafe { *out.add(i) = *input.add(i) ^ key };
    }
}

macro_rules! set_key {
    ($($name:ident: $size:literal)*) => {$(
        #[no_mangle]
        unsafe extern "C" fn $name(key: *mut c_void, _: *const c_void, raw: *const u8, len: usize) -> c_int {
            unsafe { from_raw_parts_mut(key.cast::<u8>(), $size) }.fill(first(raw, len));
            0
        }
    )*};
}
set_key!(tr_gcm_set_key: 1104 tr_aes_set_key: 496 tr_xts_set_key: 1008 tr_cmac_set_key: 528);

fn first(raw: *const u8, len: usize) -> u8 {
    let raw = unsafe { from_raw_parts(raw, len) };
    raw[0]
}

#[no_mangle]
unsafe extern "C" fn tr_cleanse(memory: *mut c_void, len: usize) {
    unsafe { from_raw_parts_mut(memory.cast::<u8>(), len) }.fill(0);
}

macro_rules! sealing {
    ($($name:ident: $open:literal)*) => {$(
        #[no_mangle]
        unsafe extern "C" fn $name(
            key: *const c_void, nonce: *const u8, nonce_len: usize, aad: *const u8, aad_len: usize,
            out: *mut u8, input: *const u8, len: usize, tag: *mut u8, tag_len: usize,
        ) -> c_int {
            // As the core adds powers of H to a key that threads share.
            let state = unsafe { AtomicU8::from_ptr(key.cast::<u8>().cast_mut()) };
            state.fetch_add(1, Ordering::Relaxed);
            let key = unsafe { *key.cast::<u8>().add(1) };
            let (nonce, aad) = unsafe { (from_raw_parts(nonce, nonce_len), from_raw_parts(aad, aad_len)) };
            let sum = nonce.iter().chain(aad).fold(key, |a, &b| a.wrapping_add(b));
            if $open {
                let tag = unsafe { from_raw_parts(tag, tag_len) };
                unsafe { process(key, out, input, len) };
                if tag.iter().any(|&b| b != sum) {
                    return 9;
                }
            } else {
                unsafe { process(key, out, input, len) };
                unsafe { from_raw_parts_mut(tag, tag_len) }.fill(sum);
            }
            0
        }
    )*};
}
sealing!(tr_gcm_seal: false tr_gcm_open: true);

#[repr(C)]
struct Job {
    key: *const c_void,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const u8,
    aad_len: usize,
    out: *mut u8,
    input: *const u8,
    len: usize,
    tag: *mut u8,
    tag_len: usize,
    status: c_int,
}

macro_rules! many {
    ($($name:ident: $one:ident)*) => {$(
        #[no_mangle]
        unsafe extern "C" fn $name(jobs: *mut Job, count: usize) -> c_int {
            for j in unsafe { from_raw_parts_mut(jobs, count) } {
                j.status = unsafe {
                    $one(j.key, j.nonce, j.nonce_len, j.aad, j.aad_len, j.out, j.input, j.len, j.tag, j.tag_len)
                };
            }
            0
        }
    )*};
}
many!(tr_gcm_seal_many: tr_gcm_seal tr_gcm_open_many: tr_gcm_open);

#[no_mangle]
unsafe extern "C" fn tr_ctr(
    key: *const c_void,
    counter: *mut u8,
    keystream: *mut u8,
    used: *mut c_uint,
    out: *mut u8,
    input: *const u8,
    len: usize,
) -> c_int {
    unsafe {
        *counter.add(15) += 1;
        *keystream.add(15) = 1;
        *used = len as c_uint % 16;
        process(*key.cast::<u8>(), out, input, len);
    }
    0
}

#[no_mangle]
unsafe extern "C" fn tr_cbc_encrypt(
    key: *const c_void,
    iv: *mut u8,
    out: *mut u8,
    input: *const u8,
    len: usize,
) -> c_int {
    unsafe {
        *iv.add(15) += 1;
        process(*key.cast::<u8>(), out, input, len);
    }
    0
}

#[no_mangle]
unsafe extern "C" fn tr_xts_encrypt_units(
    key: *const c_void,
    tweak: *const u8,
    out: *mut u8,
    input: *const u8,
    len: usize,
    units: usize,
) -> c_int {
    unsafe { process(*key.cast::<u8>() ^ *tweak.add(15), out, input, len * units) };
    0
}

/// A message of GCM: the address of its key, and a sum.
struct GcmMessage {
    key: *const c_void,
    sum: u8,
}

#[no_mangle]
unsafe extern "C" fn tr_gcm_start(
    gcm: *mut GcmMessage,
    key: *const c_void,
    nonce: *const u8,
    len: usize,
) -> c_int {
    let sum = first(nonce, len);
    unsafe { gcm.write(GcmMessage { key, sum }) };
    0
}

#[no_mangle]
unsafe extern "C" fn tr_gcm_aad(gcm: *mut GcmMessage, aad: *const u8, len: usize) -> c_int {
    unsafe {
        from_raw_parts(aad, len)
            .iter()
            .for_each(|b| (*gcm).sum ^= b)
    };
    0
}

macro_rules! gcm_data {
    ($($name:ident)*) => {$(
        #[no_mangle]
        unsafe extern "C" fn $name(gcm: *mut GcmMessage, out: *mut u8, input: *const u8, len: usize) -> c_int {
            unsafe { process(*(*gcm).key.cast::<u8>().add(1), out, input, len) };
            0
        }
    )*};
}
gcm_data!(tr_gcm_encrypt tr_gcm_decrypt);

#[no_mangle]
unsafe extern "C" fn tr_gcm_tag(gcm: *mut GcmMessage, tag: *mut u8, len: usize) -> c_int {
    unsafe { from_raw_parts_mut(tag, len).fill((*gcm).sum) };
    0
}

#[no_mangle]
unsafe extern "C" fn tr_gcm_check(gcm: *mut GcmMessage, tag: *const u8, len: usize) -> c_int {
    let same = unsafe { from_raw_parts(tag, len).iter().all(|&b| b == (*gcm).sum) };
    if same {
        0
    } else {
        9
    }
}

/// A message: the address of its key, and the bytes so far.
struct Cmac {
    key: *const c_void,
    sum: u8,
}

#[no_mangle]
unsafe extern "C" fn tr_cmac_start(cmac: *mut Cmac, key: *const c_void) -> c_int {
    unsafe { cmac.write(Cmac { key, sum: 0 }) };
    0
}

#[no_mangle]
unsafe extern "C" fn tr_cmac_rebind(cmac: *mut Cmac, key: *const c_void) {
    unsafe { (*cmac).key = key };
}

#[no_mangle]
unsafe extern "C" fn tr_cmac_update(cmac: *mut Cmac, data: *const u8, len: usize) -> c_int {
    let sum = unsafe { from_raw_parts(data, len) }
        .iter()
        .fold(0, |a, b| a ^ b);
    unsafe { (*cmac).sum ^= sum ^ *(*cmac).key.cast::<u8>() };
    0
}

#[no_mangle]
unsafe extern "C" fn tr_cmac_tag(cmac: *mut Cmac, tag: *mut u8, len: usize) -> c_int {
    unsafe { from_raw_parts_mut(tag, len) }.fill(unsafe { (*cmac).sum });
    0
}

#[test]
fn one_shot_calls() {
    let key = Aes128Gcm::with_key(&[7; 16]);
    for len in [0, 1, 40] {
        let mut data = vec![5; len];
        let tag = key.seal_in_place(&[1; 12], b"aad", &mut data).unwrap();
        key.open_in_place(&[1; 12], b"aad", &mut data, &tag)
            .unwrap();
        assert_eq!(data, vec![5; len]);
        let mut sealed = vec![0; len + 16];
        key.seal(&[1; 12], &[], &data, &mut sealed).unwrap();
        key.open(&[1; 12], &[], &sealed, &mut data).unwrap();
        assert_eq!(key.open(&[2; 12], &[], &sealed, &mut data), Err(Error));
    }
}

#[test]
fn pieces() {
    let key = Aes128Gcm::with_key(&[7; 16]);
    let mut data = [5; 9];
    let mut message = GcmEncryptor::start(&key, &[1; 12], b"a").unwrap();
    message.encrypt(&mut data[..4]).unwrap();
    let mut moved = Box::new(message);
    moved.encrypt(&mut data[4..]).unwrap();
    let tag = moved.finish();
    assert_eq!((data, tag), ([2; 9], [b'a' ^ 1; 16]));
    let mut message = GcmDecryptor::start(&key, &[1; 12], b"a").unwrap();
    message.decrypt_unverified(&mut data).unwrap();
    assert_eq!((data, message.verify(&tag)), ([5; 9], Ok(())));
}

#[test]
fn traits() {
    let key = <Aes128Gcm as KeyInit>::new(&[7; 16].into());
    let sealed = key
        .encrypt(&[1; 12].into(), &b"attack at dawn"[..])
        .unwrap();
    assert_eq!(
        key.decrypt(&[1; 12].into(), &sealed[..]).unwrap(),
        b"attack at dawn"
    );

    let mut ctr = Ctr::<Aes<16>>::new(&[7; 16].into(), &[0; 16].into());
    let mut out = [0; 20];
    ctr.apply_keystream_b2b(&[5; 20], &mut out);
    ctr.apply_keystream(&mut out);
    assert_eq!(out, [5; 20]);
}

#[test]
fn threads_share_a_key() {
    let key = Aes128Gcm::with_key(&[7; 16]);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            // A clone is made while other threads' calls change the key.
            threads.spawn(|| {
                let tag = key.seal_in_place(&[1; 12], &[], &mut [5; 3]).unwrap();
                let copy = key.clone().seal_in_place(&[1; 12], &[], &mut [5; 3]);
                assert_eq!(copy, Ok(tag));
            });
        }
    });
}

#[test]
fn messages_move() {
    let mac = <CmacMessage<16> as digest::KeyInit>::new(&[7; 16].into());
    let mut mac = Box::new(mac.chain_update(b"attack"));
    mac.update(b" at dawn");
    let again = mac.clone();
    drop(mac);
    let tag = again.chain_update(b"!").finalize().into_bytes();
    // Three updates XOR the key's byte three times.
    assert_eq!(
        tag[..],
        [b"attack at dawn!".iter().fold(7, |a, b| a ^ b); 16]
    );
}

#[test]
fn blocks_and_units() {
    let key = Aes::with_key(&[7; 16]);
    let mut data = [5; 48];
    CbcEncryptor::start(&key, &[0; 16])
        .encrypt(&mut data)
        .unwrap();
    assert_eq!(data, [2; 48]);
    Xts::with_key(&[7; 32])
        .encrypt_units(1, 16, &mut data)
        .unwrap();
    assert_eq!(data, [5; 48]);
}

#[test]
fn many_messages() {
    let key = Aes128Gcm::with_key(&[7; 16]);
    let (mut texts, mut tags) = ([[5; 9]; 3], [[0; 16]; 3]);
    for call in [seal_many, open_many] {
        let messages = texts.iter_mut().zip(&mut tags);
        let mut jobs: Vec<_> = messages
            .map(|(text, tag)| key.job(&[1; 12], b"aad", text, tag))
            .collect();
        assert!(jobs.iter().all(|job| job.result().is_err()));
        // Another thread gets the jobs, and calls.
        std::thread::scope(|threads| threads.spawn(|| call(&mut jobs)).join().unwrap()).unwrap();
        assert!(jobs.iter().all(|job| job.result().is_ok()));
    }
    assert_eq!(texts, [[5; 9]; 3]);
}
