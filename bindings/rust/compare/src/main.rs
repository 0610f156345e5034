// SPDX-License-Identifier: BSD-2-Clause
//! How many times as fast the crate is as others: `cargo run --release --package compare`. Prints
//! the table of README.md, into which `scripts/tables --measure rust` puts it.
//!
//! Both sides of a comparison run in alternated windows of a millisecond or eight calls, whichever
//! is longer. A cell is the median of the ratios of 41 rounds.

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
fn window(call: &mut dyn FnMut()) -> f64 {
    let (begin, end, mut calls) = (cpu_time(), Instant::now() + WINDOW, 0);
    loop {
        (0..8).for_each(|_| call());
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
    /// Measures a cell of the row `what` against `with`.
    fn compare(
        &mut self,
        what: &str,
        with: &str,
        size: usize,
        mut ours: impl FnMut(),
        mut theirs: impl FnMut(),
    ) {
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

fn gcm(table: &mut Table, size: usize) {
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
    table.compare("GCM, seal", &version("aes-gcm"), size, &mut seal, || {
        black_box(theirs.encrypt_inout_detached(&nonce.into(), aad, (&mut b[..]).into())).unwrap();
    });
    {
        use ring::aead::*;
        let theirs = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).unwrap());
        table.compare("GCM, seal", &version("ring"), size, &mut seal, || {
            let nonce = Nonce::assume_unique_for_key(nonce);
            let tag = theirs.seal_in_place_separate_tag(nonce, Aad::from(aad), &mut b);
            let _ = black_box(tag.unwrap());
        });
    }
    use ::aws_lc_rs::aead::*;
    let theirs = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).unwrap());
    table.compare("GCM, seal", &version("aws-lc-rs"), size, &mut seal, || {
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
    table.compare(
        "GCM, open and copy",
        &version("aws-lc-rs"),
        size,
        open,
        || {
            c.copy_from_slice(&whole);
            let nonce = Nonce::assume_unique_for_key(nonce);
            black_box(theirs.open_in_place(nonce, Aad::from(aad), &mut c)).unwrap();
        },
    );
}

/// 64 messages in one call, and one by one.
fn many(table: &mut Table, size: usize) {
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
    table.compare(
        "GCM, 64 messages in a call",
        "one by one",
        size,
        all,
        || {
            for data in again.chunks_mut(size) {
                let _ = black_box(key.seal_in_place(&nonce, aad, data));
            }
        },
    );
}

fn ciphers(table: &mut Table, size: usize) {
    let ours = tenrounds::Aes128::with_key(&KEY);
    let theirs = aes::Aes128::new(&KEY.into());
    let (mut a, mut b) = (vec![5; size], vec![5; size]);
    let mut here = tenrounds::Ctr::start(&ours, &[9; 16]);
    let mut there = ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &[9; 16].into());
    table.compare(
        "CTR",
        &version("ctr"),
        size,
        || here.apply_keystream(&mut a),
        || there.apply_keystream(&mut b),
    );

    let mut a = vec![aes::Block::default(); size / 16];
    let mut b = a.clone();
    let mut here = tenrounds::CbcDecryptor::start(&ours, &[9; 16]);
    let mut there = cbc::Decryptor::<&aes::Aes128>::inner_iv_init(&theirs, &[9; 16].into());
    table.compare(
        "CBC, decrypt",
        &version("cbc"),
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
    table.compare("XTS, encrypt", &version("xts-mode"), size, encrypt, || {
        theirs.encrypt_sector(&mut b, [9; 16].into())
    });
}

fn tls(table: &mut Table, size: usize) {
    let suite = CipherSuite::TLS13_AES_128_GCM_SHA256;
    let theirs = || tls::only(aws_lc_rs::default_provider(), suite);
    let ours = || tenrounds::rustls::provider(theirs());
    let (mut a, mut b) = (
        tls::Pair::new(ours(), ours()),
        tls::Pair::new(theirs(), theirs()),
    );
    let data = vec![5; size];
    table.compare(
        "TLS 1.3, both ends",
        &format!("{} with aws-lc-rs", version("rustls")),
        size,
        || a.send(&data),
        || b.send(&data),
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
