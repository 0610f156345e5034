// SPDX-License-Identifier: BSD-2-Clause
//! The authenticated modes: vectors, another library, forgeries, wrong lengths.

mod common;

use ::aead::consts::{U10, U12, U16, U4, U8};
use ::aead::{Aead as _, AeadCore, AeadInOut, KeyInit, Payload};
use aes::{Aes128, Aes192, Aes256};
use common::{bytes, length, random, vectors, Vector};
use tenrounds::{
    modes, open_many, seal_many, Aead, Ccm, Error, Gcm, GcmDecryptor, GcmEncryptor, GcmJob, GcmSiv,
    Ocb, Siv,
};

/// Seals and opens a vector in every way, if its key and tag have these lengths.
fn run<M: modes::Mode, const KEY: usize, const TAG: usize>(
    (nonce, aad, v): (&[u8], &[u8], &Vector),
) -> bool {
    let (Ok(key), Ok(tag)) = (<&[u8; KEY]>::try_from(&v.key[..]), v.tag[..].try_into()) else {
        return false;
    };
    let key = Aead::<M, KEY, TAG>::with_key(key);
    let sealed = [&v.encrypted[..], &v.tag].concat();

    let mut out = vec![0xff; v.encrypted.len()];
    let opened = key.open(nonce, aad, &sealed, &mut out);
    let mut data = v.encrypted.clone();
    assert_eq!(
        opened,
        key.open_in_place(nonce, aad, &mut data, &tag),
        "{}",
        v.line
    );
    if v.valid {
        assert_eq!(
            (opened, &out, &data),
            (Ok(()), &v.plain, &v.plain),
            "{}",
            v.line
        );
        let mut out = vec![0xff; sealed.len()];
        key.seal(nonce, aad, &v.plain, &mut out).unwrap();
        assert_eq!(out, sealed, "{}", v.line);
        let mut data = v.plain.clone();
        assert_eq!(
            key.seal_in_place(nonce, aad, &mut data),
            Ok(tag),
            "{}",
            v.line
        );
        assert_eq!(data, v.encrypted, "{}", v.line);
        let copy = key.clone();
        drop(key);
        let tagged = copy.seal_in_place(nonce, aad, &mut v.plain.clone());
        assert_eq!(tagged, Ok(tag), "{}", v.line);
    } else {
        // Wrong tags, and nonces of lengths that the mode does not have.
        assert_eq!(opened, Err(Error), "{}", v.line);
        assert!(
            out.iter().all(|&b| b == 0) || out.iter().all(|&b| b == 0xff),
            "{}",
            v.line
        );
    }
    true
}

/// Runs files with each length of key and tag that the mode has. Only invalid vectors have others.
macro_rules! files {
    ([$($name:literal)*], $mode:ident, $($key:literal)*, $tags:tt) => {
        for (name, mut v) in [$($name),*].iter().flat_map(|&name| named(name)) {
            if name == "wycheproof/aes_gmac" {
                v.aad = vec![std::mem::take(&mut v.plain)];
            }
            let (nonce, aad) = match name {
                "wycheproof/aes_siv_cmac" => (&[][..], &v.aad[0]),
                "wycheproof/aead_aes_siv_cmac" => (&v.aad[1][..], &v.aad[0]),
                _ => (&v.iv[..], &v.aad[0]),
            };
            let ran = [$(files!(@tags $mode, $key, $tags, (nonce, aad, &v))),*];
            assert!(ran.contains(&true) || !v.valid, "{}", v.line);
        }
    };
    (@tags $mode:ident, $key:literal, [$($tag:literal)*], $v:tt) => {
        [$(run::<modes::$mode, $key, $tag>($v)),*].contains(&true)
    };
}

fn named(name: &'static str) -> impl Iterator<Item = (&'static str, Vector)> {
    vectors(name).into_iter().map(move |vector| (name, vector))
}

#[test]
fn published_vectors() {
    files!(["wycheproof/aes_gcm"], Gcm, 16 24 32, [4 8 12 13 14 15 16]);
    files!(["wycheproof/aes_gmac"], Gcm, 16 24 32, [16]);
    files!(["wycheproof/aes_ccm"
        "cavp/ccm/DVPT128" "cavp/ccm/DVPT192" "cavp/ccm/DVPT256"
        "cavp/ccm/VADT128" "cavp/ccm/VADT192" "cavp/ccm/VADT256"
        "cavp/ccm/VNT128" "cavp/ccm/VNT192" "cavp/ccm/VNT256"
        "cavp/ccm/VPT128" "cavp/ccm/VPT192" "cavp/ccm/VPT256"
        "cavp/ccm/VTT128" "cavp/ccm/VTT192" "cavp/ccm/VTT256"],
        Ccm, 16 24 32, [4 6 8 10 12 14 16]);
    files!(["rfc7253/appendix-a" "rfc7253/nonce-104" "rfc7253/nonce-112" "rfc7253/nonce-120"],
        Ocb, 16, [16]);
    files!(["wycheproof/aes_gcm_siv" "rfc8452/appendix-c"], GcmSiv, 16 32, [16]);
    files!(["wycheproof/aes_siv_cmac"], Siv, 32 48 64, [16]);
    files!(["wycheproof/aead_aes_siv_cmac"], Siv, 32 48 64, [16]);
}

/// Seals in every way with every length of key and tag; damage at every byte must show.
fn forge<M: modes::Mode, const KEY: usize, const TAG: usize>(nonce_len: usize) {
    let mut random = random();
    let key = Aead::<M, KEY, TAG>::with_key(bytes(&mut random, KEY)[..].try_into().unwrap());
    let nonce = bytes(&mut random, nonce_len);
    let aad = bytes(&mut random, 20);
    let plain = bytes(&mut random, 70);
    let mut sealed = vec![0; 70 + TAG];
    key.seal(&nonce, &aad, &plain, &mut sealed).unwrap();

    for at in 0..sealed.len() {
        sealed[at] ^= 1 << random.u8(..8);
        let mut out = [0xff; 70];
        assert_eq!(key.open(&nonce, &aad, &sealed, &mut out), Err(Error));
        assert_eq!(out, [0; 70], "byte {at}");
        let (data, tag) = sealed.split_at_mut(70);
        let mut data = data.to_vec();
        let tag: &[u8; TAG] = (&*tag).try_into().unwrap();
        assert_eq!(key.open_in_place(&nonce, &aad, &mut data, tag), Err(Error));
        assert_eq!(data, [0; 70], "byte {at}");
        key.seal(&nonce, &aad, &plain, &mut sealed).unwrap();
    }
    let mut out = [0; 70];
    assert_eq!(key.open(&nonce, &aad[1..], &sealed, &mut out), Err(Error));
    assert_eq!(
        key.open(&[nonce[0] ^ 1], &aad, &sealed, &mut out),
        Err(Error)
    );
    assert_eq!(key.open(&nonce, &aad, &sealed, &mut out), Ok(()));
    assert_eq!(out, plain[..]);
}

#[test]
fn forgeries() {
    forge::<modes::Gcm, 16, 16>(12);
    forge::<modes::Gcm, 32, 12>(12);
    forge::<modes::Ccm, 16, 8>(13);
    forge::<modes::Ocb, 16, 16>(15);
    forge::<modes::GcmSiv, 32, 16>(12);
    forge::<modes::Siv, 64, 16>(16);
}

/// A call with a wrong length fails, and leaves the output as it was.
fn lengths<M: modes::Mode, const KEY: usize>(takes: impl Fn(usize) -> bool) {
    let key = Aead::<M, KEY, 16>::with_key(&[3; KEY]);
    for nonce_len in 0..40 {
        let nonce = vec![1; nonce_len];
        let expected = if takes(nonce_len) { Ok(()) } else { Err(Error) };
        let mut data = [5; 40];
        assert_eq!(
            key.seal_in_place(&nonce, &[], &mut data).map(|_| ()),
            expected,
            "{nonce_len}"
        );
        assert_eq!(data != [5; 40], expected.is_ok());
        let mut out = [7; 56];
        assert_eq!(
            key.seal(&nonce, &[], &[5; 40], &mut out),
            expected,
            "{nonce_len}"
        );
        let mut opened = [9; 40];
        assert_eq!(
            key.open(&nonce, &[], &out, &mut opened),
            expected,
            "{nonce_len}"
        );
        assert_eq!(opened, if takes(nonce_len) { [5; 40] } else { [9; 40] });
    }
    for (input, out) in [(40, 55), (40, 57), (0, 15), (0, 0), (17, 0)] {
        let (data, mut sealed) = (vec![0; input], vec![8; out]);
        assert_eq!(key.seal(&[1; 12], &[], &data, &mut sealed), Err(Error));
        assert_eq!(sealed, vec![8; out]);
        assert_eq!(
            key.open(&[1; 12], &[], &sealed, &mut vec![0; input]),
            Err(Error)
        );
    }
    let mut tag_alone = [0; 16];
    key.seal(&[1; 12], b"aad", &[], &mut tag_alone).unwrap();
    assert_eq!(key.open(&[1; 12], b"aad", &tag_alone, &mut []), Ok(()));
}

#[test]
fn wrong_lengths() {
    lengths::<modes::Gcm, 16>(|n| n > 0);
    lengths::<modes::Ccm, 24>(|n| (7..=13).contains(&n));
    lengths::<modes::Ocb, 32>(|n| (1..=15).contains(&n));
    lengths::<modes::GcmSiv, 16>(|n| n == 12);
    lengths::<modes::Siv, 32>(|_| true);
}

/// Both libraries seal random messages alike through the traits, and open each other's.
fn differ<Ours, Theirs>()
where
    Ours: AeadInOut + KeyInit,
    Theirs: AeadInOut + KeyInit + AeadCore<NonceSize = Ours::NonceSize>,
{
    let mut random = random();
    for _ in 0..300 {
        let key = bytes(&mut random, Ours::key_size());
        let ours = Ours::new_from_slice(&key).unwrap();
        let theirs = Theirs::new_from_slice(&key).unwrap();
        let mut nonce = ::aead::Nonce::<Ours>::default();
        random.fill(&mut nonce);
        let (aad_len, len) = (random.usize(..80), length(&mut random));
        let (aad, msg) = (
            &bytes(&mut random, aad_len)[..],
            &bytes(&mut random, len)[..],
        );
        let sealed = ours.encrypt(&nonce, Payload { msg, aad }).unwrap();
        assert!(
            sealed == theirs.encrypt(&nonce, Payload { msg, aad }).unwrap(),
            "{len} bytes"
        );
        assert!(
            ours.decrypt(&nonce, Payload { msg: &sealed, aad }).unwrap() == msg,
            "{len} bytes"
        );
        assert!(ours
            .decrypt(
                &nonce,
                Payload {
                    msg: &sealed[1..],
                    aad
                }
            )
            .is_err());
        assert!(ours
            .decrypt(
                &nonce,
                Payload {
                    msg: &sealed[..len.min(15)],
                    aad
                }
            )
            .is_err());
    }
}

#[test]
fn as_another_library() {
    differ::<Gcm<16>, aes_gcm::Aes128Gcm>();
    differ::<Gcm<24>, aes_gcm::AesGcm<Aes192, U12>>();
    differ::<Gcm<32>, aes_gcm::Aes256Gcm>();
    differ::<GcmSiv<16>, aes_gcm_siv::Aes128GcmSiv>();
    differ::<GcmSiv<32>, aes_gcm_siv::Aes256GcmSiv>();
    differ::<Siv<32>, aes_siv::Aes128SivAead>();
    differ::<Siv<64>, aes_siv::Aes256SivAead>();
    differ::<Ccm<16>, ccm::Ccm<Aes128, U16, U12>>();
    differ::<Ccm<24, 10>, ccm::Ccm<Aes192, U10, U12>>();
    differ::<Ccm<32, 4>, ccm::Ccm<Aes256, U4, U12>>();
    differ::<Ocb<16>, ocb3::Ocb3<Aes128, U12>>();
    differ::<Ocb<24, 12>, ocb3::Ocb3<Aes192, U12, U12>>();
    differ::<Ocb<32, 8>, ocb3::Ocb3<Aes256, U12, U8>>();
}

#[test]
fn the_traits_refuse_wrong_keys() {
    for len in (0..80).filter(|&len| len != 32) {
        assert!(Gcm::<32>::new_from_slice(&vec![0; len]).is_err());
    }
}

/// Threads share a new key, to which long messages add powers of H.
#[test]
fn threads_share_a_key() {
    let mut random = random();
    let (raw, data) = ([random.u8(..); 32], bytes(&mut random, 4000));
    let seal = |key: &Gcm<32>, i: usize| {
        let mut sealed = data[..500 * i].to_vec();
        let tag = key.seal_in_place(&[i as u8; 12], &[], &mut sealed).unwrap();
        (sealed, tag)
    };
    let expected: Vec<_> = (0..8).map(|i| seal(&Gcm::with_key(&raw), i)).collect();
    for _ in 0..50 {
        let key = Gcm::with_key(&raw);
        // Clones too, while other threads' calls add powers of H to the key.
        let all = |i: usize| {
            for j in i..i + 8 {
                assert!(seal(&key, j % 8) == expected[j % 8], "{j}");
                assert!(seal(&key.clone(), j % 8) == expected[j % 8], "{j}");
            }
        };
        let all = &all;
        // Joins each: ThreadSanitizer does not see the end of a scope (scripts/rust-sanitized).
        std::thread::scope(|threads| {
            let running = [0, 1, 2, 3].map(|i| threads.spawn(move || all(i)));
            running
                .into_iter()
                .for_each(|thread| thread.join().unwrap());
        });
    }
}

#[test]
fn keys_are_for_all_threads() {
    fn check<T: Send + Sync + zeroize::ZeroizeOnDrop>() {}
    check::<Gcm<16>>();
    check::<Ccm<16>>();
    check::<Ocb<16>>();
    check::<GcmSiv<16>>();
    check::<Siv<32>>();
    check::<GcmEncryptor<'_, 16>>();
    check::<GcmDecryptor<'_, 16>>();
    fn shared<T: Send + Sync>() {}
    shared::<GcmJob>();
}

/// Cuts data into pieces of random lengths, and passes them on.
fn cut(random: &mut fastrand::Rng, mut data: &mut [u8], mut each: impl FnMut(&mut [u8])) {
    while !data.is_empty() {
        let most = if random.bool() { 40 } else { data.len() };
        let (piece, rest) = data.split_at_mut(random.usize(..=most.min(data.len())));
        each(piece);
        data = rest;
    }
}

/// Messages in pieces give what one-shot calls give, and damage anywhere shows.
fn pieces<const KEY: usize, const TAG: usize>() {
    let mut random = random();
    for _ in 0..200 {
        let key = Gcm::<KEY, TAG>::with_key(bytes(&mut random, KEY)[..].try_into().unwrap());
        let nonce_len = if random.bool() {
            12
        } else {
            random.usize(1..40)
        };
        let (aad_len, len) = (random.usize(..80), length(&mut random));
        let [nonce, aad, plain] = [nonce_len, aad_len, len].map(|len| bytes(&mut random, len));
        let mut expected = plain.clone();
        let expected_tag = key.seal_in_place(&nonce, &aad, &mut expected).unwrap();

        let mut data = plain.clone();
        let mut message = Box::new(GcmEncryptor::start(&key, &nonce, &aad).unwrap());
        cut(&mut random, &mut data, |piece| {
            message.encrypt(piece).unwrap()
        });
        let mut tag = message.finish();
        assert!((&data, tag) == (&expected, expected_tag), "{len} bytes");

        let damaged = random.usize(..2 * (len + TAG));
        let byte = data.iter_mut().chain(&mut tag).nth(damaged);
        let result = byte.map_or(Ok(()), |byte| {
            *byte ^= 1 << random.u8(..8);
            Err(Error)
        });
        let mut message = GcmDecryptor::start(&key, &nonce, &aad).unwrap();
        cut(&mut random, &mut data, |piece| {
            message.decrypt_unverified(piece).unwrap()
        });
        assert_eq!(message.verify(&tag), result, "{len} bytes, {damaged}");
        assert_eq!(data == plain, damaged >= len, "{len} bytes, {damaged}");
    }
    let key = Gcm::<KEY, TAG>::with_key(&[7; KEY]);
    assert!(GcmEncryptor::start(&key, &[], &[]).is_err());
    assert!(GcmDecryptor::start(&key, &[], &[]).is_err());
    let tag = GcmEncryptor::start(&key, &[1; 12], b"aad")
        .unwrap()
        .finish();
    assert_eq!(key.seal_in_place(&[1; 12], b"aad", &mut []), Ok(tag));
    let verify = |aad| {
        GcmDecryptor::start(&key, &[1; 12], aad)
            .unwrap()
            .verify(&tag)
    };
    assert_eq!((verify(b"aad"), verify(b"add")), (Ok(()), Err(Error)));
}

#[test]
fn messages_in_pieces() {
    pieces::<16, 16>();
    pieces::<24, 12>();
    pieces::<32, 16>();
}

type ManyCall = fn(&mut [GcmJob]) -> tenrounds::Result<()>;

/// Many messages give what single calls give, in runs of one length and mixed. A damaged one does
/// not spoil the others.
#[test]
fn many_messages() {
    let mut random = random();
    let long = Gcm::<32>::with_key(&[random.u8(..); 32]);
    let short = Gcm::<16>::with_key(&[random.u8(..); 16]);
    for _ in 0..100 {
        let (mut len, mut aad_len) = (random.usize(..300), random.usize(..40));
        let messages: Vec<_> = (0..random.usize(..90))
            .map(|_| {
                if random.u8(..20) == 0 {
                    (len, aad_len) = (length(&mut random), random.usize(..40));
                }
                let aad = bytes(&mut random, aad_len);
                (
                    random.bool(),
                    bytes(&mut random, 12),
                    aad,
                    bytes(&mut random, len),
                )
            })
            .collect();
        let sealed = messages.iter().map(|(is_long, nonce, aad, data)| {
            let mut data = data.clone();
            let tag = match is_long {
                true => long.seal_in_place(nonce, aad, &mut data).unwrap(),
                false => short.seal_in_place(nonce, aad, &mut data).unwrap(),
            };
            (data, tag)
        });
        let mut sealed: Vec<_> = sealed.collect();
        let mut ours: Vec<_> = messages.iter().map(|m| (m.3.clone(), [0; 16])).collect();

        let with = |ours: &mut Vec<(Vec<u8>, [u8; 16])>, call: ManyCall| {
            let jobs = messages
                .iter()
                .zip(ours)
                .map(|((is_long, nonce, aad, _), (data, tag))| match is_long {
                    true => long.job(nonce, aad, data, tag),
                    false => short.job(nonce, aad, data, tag),
                });
            let mut jobs: Vec<_> = jobs.collect();
            assert!(
                jobs.iter().all(|job| job.result().is_err()),
                "before the call"
            );
            let result = call(&mut jobs);
            (
                result,
                jobs.iter().map(|job| job.result()).collect::<Vec<_>>(),
            )
        };
        let (result, all) = with(&mut ours, seal_many);
        assert!(result.is_ok() && all.iter().all(|result| result.is_ok()));
        assert!(ours == sealed, "{} messages", ours.len());

        let damaged: Vec<_> = ours.iter().map(|_| random.u8(..10) == 0).collect();
        for ((_, tag), _) in ours
            .iter_mut()
            .zip(&damaged)
            .filter(|(_, damaged)| **damaged)
        {
            tag[random.usize(..16)] ^= 1;
        }
        let (result, all) = with(&mut ours, open_many);
        assert_eq!(result.is_err(), damaged.contains(&true));
        for (i, damaged) in damaged.iter().enumerate() {
            assert_eq!(all[i].is_err(), *damaged, "message {i}");
            sealed[i].0.clone_from(&messages[i].3);
            if *damaged {
                sealed[i].0.fill(0);
            }
            assert!(ours[i].0 == sealed[i].0, "message {i}");
        }
    }
    let (mut data, mut tag) = ([5; 20], [0; 16]);
    assert_eq!(
        seal_many(&mut [short.job(&[], &[], &mut data, &mut tag)]),
        Err(Error)
    );
    assert_eq!(data, [5; 20]);
}
