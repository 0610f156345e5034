// SPDX-License-Identifier: BSD-2-Clause
//! How many times as fast the crate is as others: `cargo run --release --package compare`.
//!
//! Both sides of a comparison run in alternated windows of a millisecond or one call, whichever is
//! longer; printed are the medians of the ratios of 41 rounds.

#[path = "../../tests/common/tls.rs"]
mod tls;

use aead::{AeadInOut, KeyInit};
use cipher::{BlockModeDecrypt, InnerIvInit, KeyIvInit, StreamCipher};
use rustls::crypto::aws_lc_rs;
use rustls::CipherSuite;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 4] = [64, 1350, 16 << 10, 1 << 20];
const KEY: [u8; 16] = [7; 16];

/// The time of one call, of as many as fill a window.
fn window(call: &mut dyn FnMut()) -> f64 {
    let (begin, mut calls) = (Instant::now(), 0);
    loop {
        (0..8).for_each(|_| call());
        calls += 8;
        let time = begin.elapsed();
        if time > Duration::from_millis(1) {
            return time.as_nanos() as f64 / f64::from(calls);
        }
    }
}

fn compare(what: &str, size: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let (mut times, mut ratios) = (vec![], vec![]);
    for round in 0..42 {
        let (a, b) = if round % 2 == 0 {
            let a = window(&mut ours);
            (a, window(&mut theirs))
        } else {
            let b = window(&mut theirs);
            (window(&mut ours), b)
        };
        // The first round warms up.
        if round > 0 {
            times.push(a);
            ratios.push(b / a);
        }
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let (ratio, time) = (median(&mut ratios), median(&mut times));
    println!("{what:32} {size:8} B  {ratio:6.2} times as fast, {time:10.0} ns");
}

fn gcm(size: usize) {
    let (nonce, aad) = ([9; 12], b"thirteen byte");
    let ours = tenrounds::Aes128Gcm::with_key(&KEY);
    let mut a = vec![5; size];
    let mut b = a.clone();
    let mut sealed = a.clone();
    let tag = ours.seal_in_place(&nonce, aad, &mut sealed).unwrap();
    let whole = [&sealed[..], &tag].concat();

    let theirs = aes_gcm::Aes128Gcm::new(&KEY.into());
    let mut seal = || {
        let _ = black_box(ours.seal_in_place(&nonce, aad, &mut a));
    };
    compare("GCM seal, aes-gcm", size, &mut seal, || {
        black_box(theirs.encrypt_inout_detached(&nonce.into(), aad, (&mut b[..]).into())).unwrap();
    });
    {
        use ring::aead::*;
        let theirs = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).unwrap());
        compare("GCM seal, ring", size, &mut seal, || {
            let nonce = Nonce::assume_unique_for_key(nonce);
            let tag = theirs.seal_in_place_separate_tag(nonce, Aad::from(aad), &mut b);
            let _ = black_box(tag.unwrap());
        });
    }
    use ::aws_lc_rs::aead::*;
    let theirs = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).unwrap());
    compare("GCM seal, aws-lc-rs", size, &mut seal, || {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = theirs.seal_in_place_separate_tag(nonce, Aad::from(aad), &mut b);
        let _ = black_box(tag.unwrap());
    });
    // Opening in place needs the ciphertext again each time, so both copy it.
    let mut c = whole.clone();
    let open = || {
        a.copy_from_slice(&sealed);
        black_box(ours.open_in_place(&nonce, aad, &mut a, &tag)).unwrap();
    };
    compare("GCM open, with a copy, aws-lc-rs", size, open, || {
        c.copy_from_slice(&whole);
        let nonce = Nonce::assume_unique_for_key(nonce);
        black_box(theirs.open_in_place(nonce, Aad::from(aad), &mut c)).unwrap();
    });
}

/// 64 messages in one call, and one by one.
fn many(size: usize) {
    let (key, nonce, aad) = (
        tenrounds::Aes128Gcm::with_key(&KEY),
        [9; 12],
        b"thirteen byte",
    );
    let (mut data, mut tags) = (vec![5; 64 * size], [[0; 16]; 64]);
    let mut again = data.clone();
    let all = || {
        let messages = data.chunks_mut(size).zip(&mut tags);
        let jobs = messages.map(|(data, tag)| key.job(&nonce, aad, data, tag));
        tenrounds::seal_many(&mut jobs.collect::<Vec<_>>()).unwrap();
    };
    compare("GCM, 64 in a call, one by one", size, all, || {
        for data in again.chunks_mut(size) {
            let _ = black_box(key.seal_in_place(&nonce, aad, data));
        }
    });
}

fn ciphers(size: usize) {
    let ours = tenrounds::Aes128::with_key(&KEY);
    let theirs = aes::Aes128::new(&KEY.into());
    let (mut a, mut b) = (vec![5; size], vec![5; size]);
    let mut here = tenrounds::Ctr::start(&ours, &[9; 16]);
    let mut there = ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &[9; 16].into());
    compare(
        "CTR, ctr",
        size,
        || here.apply_keystream(&mut a),
        || there.apply_keystream(&mut b),
    );

    let mut a = vec![aes::Block::default(); size / 16];
    let mut b = a.clone();
    let mut here = tenrounds::CbcDecryptor::start(&ours, &[9; 16]);
    let mut there = cbc::Decryptor::<&aes::Aes128>::inner_iv_init(&theirs, &[9; 16].into());
    compare(
        "CBC decryption, cbc",
        size,
        || here.decrypt_blocks(&mut a),
        || there.decrypt_blocks(&mut b),
    );

    let mut key = [7; 32];
    key[16..].fill(8);
    let ours = tenrounds::Aes128Xts::with_key(&key);
    let theirs = xts_mode::Xts128::new(theirs.clone(), aes::Aes128::new(&[8; 16].into()));
    let (mut a, mut b) = (vec![5; size], vec![5; size]);
    let encrypt = || ours.encrypt(&[9; 16], &mut a).unwrap();
    compare("XTS encryption, xts-mode", size, encrypt, || {
        theirs.encrypt_sector(&mut b, [9; 16].into())
    });
}

fn tls(size: usize) {
    let suite = CipherSuite::TLS13_AES_128_GCM_SHA256;
    let theirs = || tls::only(aws_lc_rs::default_provider(), suite);
    let ours = || tenrounds::rustls::provider(theirs());
    let (mut a, mut b) = (
        tls::Pair::new(ours(), ours()),
        tls::Pair::new(theirs(), theirs()),
    );
    let data = vec![5; size];
    compare(
        "rustls TLS 1.3, aws-lc-rs",
        size,
        || a.send(&data),
        || b.send(&data),
    );
}

fn main() {
    SIZES.into_iter().for_each(gcm);
    SIZES[..2].iter().copied().for_each(many);
    SIZES.into_iter().for_each(ciphers);
    SIZES[1..].iter().copied().for_each(tls);
}
