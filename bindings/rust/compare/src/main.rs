// SPDX-License-Identifier: BSD-2-Clause
//! How many times as fast the crate is as others: `cargo run --release --package compare`. Prints
//! the table of README.md, into which `scripts/tables --measure rust` puts it.
//!
//! The results are compared first. Both sides of a comparison run in alternated windows of a
//! millisecond or eight calls, whichever is longer. A cell is the median of the ratios of 41
//! rounds.

#[path = "../../tests/common/tls.rs"]
mod tls;

use aead::{AeadInOut, KeyInit};
use cipher::{BlockModeDecrypt, InnerIvInit, KeyIvInit, StreamCipher};
use rustls::crypto::{aws_lc_rs, CryptoProvider};
use rustls::CipherSuite;
use std::hint::black_box;
use std::time::{Duration, Instant};

const SIZES: [usize; 4] = [64, 1350, 16 << 10, 1 << 20];
const KEY: [u8; 16] = [7; 16];
const WINDOW: Duration = Duration::from_millis(1);

/// This thread's CPU time in ns, which other programs on a busy machine do not change.
fn cpu_time() -> f64 {
    // SAFETY: zeros are a timespec, and the call writes one.
    let time = unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
        time
    };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// The CPU time of one call, of as many as fill a window.
fn window(call: &mut impl FnMut(&mut [u8]), out: &mut [u8]) -> f64 {
    let (begin, end, mut calls) = (cpu_time(), Instant::now() + WINDOW, 0);
    loop {
        (0..8).for_each(|_| call(black_box(&mut *out)));
        calls += 8;
        if Instant::now() > end {
            return (cpu_time() - begin) / f64::from(calls);
        }
    }
}

/// The version of a library, by the lock file of this build.
fn version(name: &str) -> String {
    let lock = include_str!("../../Cargo.lock");
    let entry = format!("name = \"{name}\"\nversion = \"");
    let (_, rest) = lock.split_once(&entry).expect(name);
    let version = rest.split('"').next().expect("a version");
    format!("{name} {version}")
}

/// The rows, each with a ratio for some of the sizes.
#[derive(Default)]
struct Table(Vec<(String, [Option<f64>; SIZES.len()])>);

impl Table {
    /// Measures a cell of the row `what` against `with`. Both work in buffers that begin as `out`,
    /// and must be equal after a call.
    fn compare(
        &mut self,
        (what, with): (&str, &str),
        size: usize,
        out: Vec<u8>,
        mut ours: impl FnMut(&mut [u8]),
        mut theirs: impl FnMut(&mut [u8]),
    ) {
        let (mut here, mut there) = (out.clone(), out);
        ours(&mut here);
        theirs(&mut there);
        assert!(here == there, "{what} of {size} B is not that of {with}");
        let (mut times, mut ratios) = (vec![], vec![]);
        for round in 0..42 {
            let (a, b) = if round % 2 == 0 {
                let a = window(&mut ours, &mut here);
                (a, window(&mut theirs, &mut there))
            } else {
                let b = window(&mut theirs, &mut there);
                (window(&mut ours, &mut here), b)
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
        let name = format!("{what}, {with}");
        eprintln!("{name:40} {size:8} B  {ratio:6.2} times as fast, {time:10.0} ns");
        let at = self.0.iter().position(|(row, _)| *row == name);
        let at = at.unwrap_or_else(|| {
            self.0.push((name, [None; SIZES.len()]));
            self.0.len() - 1
        });
        let column = SIZES.iter().position(|s| *s == size).expect("a size");
        self.0[at].1[column] = Some(ratio);
    }

    fn print(&self) {
        println!("| AES-128 | 64 B | 1350 B | 16 KiB | 1 MiB |\n|---|---:|---:|---:|---:|");
        for (name, cells) in &self.0 {
            let cells = cells.map(|cell| match cell {
                None => String::new(),
                Some(ratio) if ratio < 9.95 => format!("{ratio:.2}"),
                Some(ratio) => format!("{ratio:.0}"),
            });
            println!("| {name} | {} |", cells.join(" | "));
        }
    }
}

/// The tag goes behind the data. What opens gets both again for each call, because it works in
/// place.
fn gcm(table: &mut Table, size: usize) {
    let (nonce, aad) = ([9; 12], b"thirteen byte");
    let key = tenrounds::Aes128Gcm::with_key(&KEY);
    let room = vec![5; size + 16];
    let mut seal = |out: &mut [u8]| {
        let (data, tag) = out.split_at_mut(size);
        tag.copy_from_slice(&key.seal_in_place(&nonce, aad, data).unwrap());
    };
    let mut sealed = room.clone();
    seal(&mut sealed);

    let theirs = aes_gcm::Aes128Gcm::new(&KEY.into());
    let name = version("aes-gcm");
    table.compare(("GCM, seal", &name), size, room.clone(), &mut seal, |out| {
        let (data, tag) = out.split_at_mut(size);
        let new = theirs.encrypt_inout_detached(&nonce.into(), aad, data.into());
        tag.copy_from_slice(&new.unwrap());
    });
    {
        use ring::aead::*;
        let theirs = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).unwrap());
        let name = version("ring");
        table.compare(("GCM, seal", &name), size, room.clone(), &mut seal, |out| {
            let (data, tag) = out.split_at_mut(size);
            let nonce = Nonce::assume_unique_for_key(nonce);
            let new = theirs.seal_in_place_separate_tag(nonce, Aad::from(aad), data);
            tag.copy_from_slice(new.unwrap().as_ref());
        });
    }
    use ::aws_lc_rs::aead::*;
    let theirs = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).unwrap());
    let name = version("aws-lc-rs");
    table.compare(("GCM, seal", &name), size, room.clone(), &mut seal, |out| {
        let (data, tag) = out.split_at_mut(size);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let new = theirs.seal_in_place_separate_tag(nonce, Aad::from(aad), data);
        tag.copy_from_slice(new.unwrap().as_ref());
    });
    let open = |out: &mut [u8]| {
        out.copy_from_slice(&sealed);
        let (data, tag) = out.split_last_chunk_mut::<16>().unwrap();
        key.open_in_place(&nonce, aad, data, tag).unwrap();
    };
    let row = ("GCM, open and copy", &name[..]);
    table.compare(row, size, room, open, |out| {
        out.copy_from_slice(&sealed);
        let nonce = Nonce::assume_unique_for_key(nonce);
        theirs.open_in_place(nonce, Aad::from(aad), out).unwrap();
    });
}

/// 64 messages in one call, and one by one. The tags are behind all data.
fn many(table: &mut Table, size: usize) {
    let (nonce, aad) = ([9; 12], b"thirteen byte");
    let key = tenrounds::Aes128Gcm::with_key(&KEY);
    let row = ("GCM, 64 messages in a call", "one by one");
    let all = |out: &mut [u8]| {
        let (data, tags) = out.split_at_mut(64 * size);
        let messages = data.chunks_mut(size).zip(tags.as_chunks_mut().0);
        let jobs = messages.map(|(data, tag)| key.job(&nonce, aad, data, tag));
        tenrounds::seal_many(&mut jobs.collect::<Vec<_>>()).unwrap();
    };
    table.compare(row, size, vec![5; 64 * (size + 16)], all, |out| {
        let (data, tags) = out.split_at_mut(64 * size);
        for (data, tag) in data.chunks_mut(size).zip(tags.chunks_mut(16)) {
            tag.copy_from_slice(&key.seal_in_place(&nonce, aad, data).unwrap());
        }
    });
}

fn ciphers(table: &mut Table, size: usize) {
    let ours = tenrounds::Aes128::with_key(&KEY);
    let theirs = aes::Aes128::new(&KEY.into());
    let mut here = tenrounds::Ctr::start(&ours, &[9; 16]);
    let mut there = ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &[9; 16].into());
    table.compare(
        ("CTR", &version("ctr")),
        size,
        vec![5; size],
        |out| here.apply_keystream(out),
        |out| there.apply_keystream(out),
    );

    let mut here = tenrounds::CbcDecryptor::start(&ours, &[9; 16]);
    let mut there = cbc::Decryptor::<&aes::Aes128>::inner_iv_init(&theirs, &[9; 16].into());
    table.compare(
        ("CBC, decrypt", &version("cbc")),
        size,
        vec![5; size / 16 * 16],
        |out| here.decrypt_blocks(aes::Block::slice_as_chunks_mut(out).0),
        |out| there.decrypt_blocks(aes::Block::slice_as_chunks_mut(out).0),
    );

    let mut key = [7; 32];
    key[16..].fill(8);
    let ours = tenrounds::Aes128Xts::with_key(&key);
    let theirs = xts_mode::Xts128::new(theirs.clone(), aes::Aes128::new(&[8; 16].into()));
    table.compare(
        ("XTS, encrypt", &version("xts-mode")),
        size,
        vec![5; size],
        |out| ours.encrypt(&[9; 16], out).unwrap(),
        |out| theirs.encrypt_sector(out, [9; 16].into()),
    );
}

fn aws_lc(suite: CipherSuite) -> CryptoProvider {
    tls::only(aws_lc_rs::default_provider(), suite)
}

fn ours(suite: CipherSuite) -> CryptoProvider {
    tenrounds::rustls::provider(aws_lc(suite))
}

/// Ours at one end of a connection and aws-lc-rs at the other understand each other.
fn tls_agrees(size: usize) {
    use CipherSuite::*;
    for suite in [
        TLS13_AES_128_GCM_SHA256,
        TLS13_AES_256_GCM_SHA384,
        TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    ] {
        let data: Vec<u8> = (0..size).map(|i| (i / 7) as u8).collect();
        for (client, server) in [(ours(suite), aws_lc(suite)), (aws_lc(suite), ours(suite))] {
            let mut pair = tls::Pair::new(client, server);
            pair.send(&data);
            assert!(pair.received == data, "{suite:?} with aws-lc-rs, {size} B");
        }
    }
}

fn tls(table: &mut Table, size: usize) {
    tls_agrees(size);
    let suite = CipherSuite::TLS13_AES_128_GCM_SHA256;
    let mut here = tls::Pair::new(ours(suite), ours(suite));
    let mut there = tls::Pair::new(aws_lc(suite), aws_lc(suite));
    let data = vec![5; size];
    table.compare(
        (
            "TLS 1.3, both ends",
            &format!("{} with aws-lc-rs", version("rustls")),
        ),
        size,
        vec![],
        |_| here.send(&data),
        |_| there.send(&data),
    );
}

fn main() {
    let mut table = Table::default();
    for (at, size) in SIZES.into_iter().enumerate() {
        gcm(&mut table, size);
        if at < 2 {
            many(&mut table, size);
        }
        ciphers(&mut table, size);
        if at > 0 {
            tls(&mut table, size);
        }
    }
    table.print();
}
