// SPDX-License-Identifier: BSD-2-Clause
//! Every cipher against the core's own calls: whole, in pieces of random lengths, and back. The
//! core has the standards' vectors.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use catalogue::{Direction, Mode};
use cryptoki_sys::*;
use std::ptr::null_mut;
use support::{bytes_of, mechanism, Session, Way};
use tenrounds_sys::{Backend, Cpu, Key, Parameters, Stream};

/// What a mechanism has to compute.
struct Case {
    kind: CK_MECHANISM_TYPE,
    parameter: Vec<u8>,
    key_type: CK_KEY_TYPE,
    key: Vec<u8>,
    text: Vec<u8>,
    expected: Vec<u8>,
    /// What the parameter points at.
    _kept: Vec<Box<[u8]>>,
}

fn seeded(test: &str) -> fastrand::Rng {
    let seed = std::env::var("SEED").map_or_else(
        |_| fastrand::u64(..),
        |seed| seed.parse().expect("SEED: a number"),
    );
    println!("{test}: SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

fn bytes(random: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill(&mut bytes);
    bytes
}

fn backend() -> Backend {
    let usable = Cpu::detect().usable;
    let all = Backend::all();
    *all.iter().find(|b| b.runs_with(usable)).expect("one runs")
}

fn stream(mode: Mode, key: &[u8], iv: [u8; 16], text: &[u8]) -> Vec<u8> {
    let key = Key::new(mode, backend(), key).unwrap();
    let mut out = text.to_vec();
    Stream::new(iv)
        .process(&key, Direction::Encrypt, &mut out)
        .unwrap();
    out
}

fn message(mode: Mode, key: &[u8], p: &Parameters, text: &[u8]) -> Vec<u8> {
    let key = Key::new(mode, backend(), key).unwrap();
    key.encrypt(p, text).unwrap()
}

fn padded(text: &[u8], unit: usize) -> Vec<u8> {
    let more = unit - text.len() % unit;
    [text, &vec![more as u8; more]].concat()
}

/// A random message of a mechanism.
fn case(kind: CK_MECHANISM_TYPE, random: &mut fastrand::Rng) -> Case {
    let (mut key, mut key_type) = (bytes(random, 0), CKK_AES);
    let len = *random.choice(&[16, 24, 32]).unwrap();
    key.resize(len, 0);
    random.fill(&mut key);
    let iv: [u8; 16] = bytes(random, 16).try_into().unwrap();
    let len = match random.bool() {
        true => random.usize(0..80),
        false => random.usize(0..5000),
    };
    let mut text = bytes(random, len);
    let whole = |text: &mut Vec<u8>| text.truncate(text.len() / 16 * 16);
    let mut kept = Vec::new();
    let (parameter, expected) = match kind {
        CKM_AES_ECB => {
            whole(&mut text);
            (vec![], stream(Mode::Ecb, &key, iv, &text))
        }
        CKM_AES_CBC => {
            whole(&mut text);
            (iv.to_vec(), stream(Mode::Cbc, &key, iv, &text))
        }
        CKM_AES_CBC_PAD => (iv.to_vec(), stream(Mode::Cbc, &key, iv, &padded(&text, 16))),
        CKM_AES_OFB => (iv.to_vec(), stream(Mode::Ofb, &key, iv, &text)),
        CKM_AES_CFB128 => (iv.to_vec(), stream(Mode::Cfb128, &key, iv, &text)),
        CKM_AES_CFB8 => (iv.to_vec(), stream(Mode::Cfb8, &key, iv, &text)),
        CKM_AES_CTR => {
            let params = CK_AES_CTR_PARAMS {
                ulCounterBits: 128,
                cb: iv,
            };
            (
                bytes_of(&params).to_vec(),
                stream(Mode::Ctr, &key, iv, &text),
            )
        }
        CKM_AES_CTS => {
            text.resize(text.len().max(16), 7);
            let p = Parameters {
                iv: iv.to_vec(),
                form: 1,
                ..Parameters::default()
            };
            (iv.to_vec(), message(Mode::CbcCts, &key, &p, &text))
        }
        CKM_AES_XTS => {
            key_type = CKK_AES_XTS;
            let len = *random.choice(&[32, 64]).unwrap();
            key = bytes(random, len);
            text.resize(text.len().max(16), 7);
            let p = Parameters {
                iv: iv.to_vec(),
                ..Parameters::default()
            };
            (iv.to_vec(), message(Mode::Xts, &key, &p, &text))
        }
        CKM_AES_GCM | CKM_AES_CCM => {
            let gcm = kind == CKM_AES_GCM;
            let nonce_len = match gcm {
                true => *random.choice(&[12, 12, 1, 16, 60]).unwrap(),
                false => random.usize(7..=12),
            };
            let p = Parameters {
                iv: bytes(random, nonce_len),
                aad: {
                    let len = random.usize(0..100);
                    bytes(random, len)
                },
                tag_len: *random.choice(&[4, 8, 12, 14, 16]).unwrap(),
                ..Parameters::default()
            };
            let (iv, aad): (Box<[u8]>, Box<[u8]>) = (p.iv.clone().into(), p.aad.clone().into());
            let (at_iv, at_aad) = (iv.as_ptr().cast_mut(), aad.as_ptr().cast_mut());
            let (iv_len, aad_len) = (iv.len() as CK_ULONG, aad.len() as CK_ULONG);
            kept = vec![iv, aad];
            let bits = p.tag_len as CK_ULONG * 8;
            let parameter = if !gcm {
                bytes_of(&CK_CCM_PARAMS {
                    ulDataLen: text.len() as CK_ULONG,
                    pNonce: at_iv,
                    ulNonceLen: iv_len,
                    pAAD: at_aad,
                    ulAADLen: aad_len,
                    ulMACLen: p.tag_len as CK_ULONG,
                })
                .to_vec()
            } else if random.bool() {
                // With garbage in ulIvBits.
                bytes_of(&CK_GCM_PARAMS {
                    pIv: at_iv,
                    ulIvLen: iv_len,
                    ulIvBits: 0xdead,
                    pAAD: at_aad,
                    ulAADLen: aad_len,
                    ulTagBits: bits,
                })
                .to_vec()
            } else {
                // Without ulIvBits: five words.
                let words = [at_iv as CK_ULONG, iv_len, at_aad as CK_ULONG, aad_len, bits];
                words.iter().flat_map(|w| w.to_ne_bytes()).collect()
            };
            let mode = if gcm { Mode::Gcm } else { Mode::Ccm };
            (parameter, message(mode, &key, &p, &text))
        }
        CKM_AES_KEY_WRAP => {
            text.truncate(text.len() / 8 * 8);
            text.resize(text.len().max(16), 7);
            (
                vec![],
                message(Mode::Kw, &key, &Parameters::default(), &text),
            )
        }
        CKM_AES_KEY_WRAP_PAD | CKM_AES_KEY_WRAP_PKCS7 => {
            text.resize(text.len().max(8), 7);
            let text = padded(&text, 8);
            (
                vec![],
                message(Mode::Kw, &key, &Parameters::default(), &text),
            )
        }
        CKM_AES_KEY_WRAP_KWP => {
            text.resize(text.len().max(1), 7);
            (
                vec![],
                message(Mode::Kwp, &key, &Parameters::default(), &text),
            )
        }
        kind => panic!("no case for {kind:#x}"),
    };
    Case {
        kind,
        parameter,
        key_type,
        key,
        text,
        expected,
        _kept: kept,
    }
}

const ALL: [CK_MECHANISM_TYPE; 15] = [
    CKM_AES_ECB,
    CKM_AES_CBC,
    CKM_AES_CBC_PAD,
    CKM_AES_CTR,
    CKM_AES_CTS,
    CKM_AES_OFB,
    CKM_AES_CFB128,
    CKM_AES_CFB8,
    CKM_AES_GCM,
    CKM_AES_CCM,
    CKM_AES_XTS,
    CKM_AES_KEY_WRAP,
    CKM_AES_KEY_WRAP_PAD,
    CKM_AES_KEY_WRAP_KWP,
    CKM_AES_KEY_WRAP_PKCS7,
];

#[test]
fn messages_whole_and_in_pieces() {
    let mut random = seeded("ciphers");
    let session = Session::open();
    for kind in ALL {
        for round in 0..60 {
            let c = case(kind, &mut random);
            let key = session.key(c.key_type, &c.key);
            let m = mechanism(c.kind, &c.parameter);
            let what = format!("{kind:#x}, round {round}, {} bytes", c.text.len());
            let out = session.crypt(Way::Encrypt, &m, key, &c.text);
            assert_eq!(out.as_ref(), Ok(&c.expected), "{what}");
            let out = session.pieces(Way::Encrypt, &m, key, &c.text, &mut random);
            assert_eq!(out.as_ref(), Ok(&c.expected), "{what}, in pieces");
            let out = session.crypt(Way::Decrypt, &m, key, &c.expected);
            assert_eq!(out.as_ref(), Ok(&c.text), "{what}, back");
            let out = session.pieces(Way::Decrypt, &m, key, &c.expected, &mut random);
            assert_eq!(out.as_ref(), Ok(&c.text), "{what}, back in pieces");
        }
    }
}

/// Buffers in place, one byte too small, and overlapping in both directions.
#[test]
fn buffers() {
    let mut random = seeded("buffers");
    let session = Session::open();
    for kind in ALL {
        for _ in 0..20 {
            let c = case(kind, &mut random);
            let key = session.key(c.key_type, &c.key);
            let m = mechanism(c.kind, &c.parameter);
            for (way, from, to) in [
                (Way::Encrypt, &c.text, &c.expected),
                (Way::Decrypt, &c.expected, &c.text),
            ] {
                let shift = random.usize(0..40);
                let (at, to_at) = if random.bool() {
                    (0, shift)
                } else {
                    (shift, 0)
                };
                let mut memory = vec![0x55; shift + from.len().max(to.len()) + 16];
                memory[at..][..from.len()].copy_from_slice(from);
                session.init(way, &m, key).unwrap();
                let start = memory.as_mut_ptr();
                // SAFETY: the shift is inside the memory.
                let (input, out) = unsafe { (start.add(at), start.add(to_at)) };
                let (mut n, len) = (to.len() as CK_ULONG, from.len() as CK_ULONG);
                if n > 0 {
                    n -= 1;
                    let small = match way {
                        Way::Encrypt => ck!(C_Encrypt(session.0, input, len, out, &mut n)),
                        Way::Decrypt => ck!(C_Decrypt(session.0, input, len, out, &mut n)),
                    };
                    assert_eq!(small, CKR_BUFFER_TOO_SMALL, "{kind:#x}");
                    assert!(n >= to.len() as CK_ULONG);
                    assert_eq!(
                        memory[at..][..from.len()],
                        from[..],
                        "{kind:#x}: the input is whole"
                    );
                    n = to.len() as CK_ULONG;
                }
                let rv = match way {
                    Way::Encrypt => ck!(C_Encrypt(session.0, input, len, out, &mut n)),
                    Way::Decrypt => ck!(C_Decrypt(session.0, input, len, out, &mut n)),
                };
                assert_eq!(
                    rv, CKR_OK,
                    "{kind:#x} {way:?}, {len} bytes from {at} to {to_at}"
                );
                assert_eq!(memory[to_at..][..n as usize], to[..], "{kind:#x} {way:?}");
            }
        }
    }
}

/// A changed byte gives no plaintext at all.
#[test]
fn forgeries() {
    let mut random = seeded("forgeries");
    let session = Session::open();
    let sealing = [
        CKM_AES_GCM,
        CKM_AES_CCM,
        CKM_AES_KEY_WRAP,
        CKM_AES_KEY_WRAP_PAD,
        CKM_AES_KEY_WRAP_KWP,
    ];
    for kind in sealing {
        for _ in 0..40 {
            let c = case(kind, &mut random);
            let key = session.key(c.key_type, &c.key);
            let m = mechanism(c.kind, &c.parameter);
            let mut forged = c.expected.clone();
            let at = random.usize(0..forged.len());
            forged[at] ^= 1 << random.u8(0..8);
            session.init(Way::Decrypt, &m, key).unwrap();
            let mut out = vec![0; forged.len()];
            let rv = session.whole(Way::Decrypt, &forged, Some(&mut out));
            assert_eq!(rv, Err(CKR_ENCRYPTED_DATA_INVALID), "{kind:#x}");
            assert!(out.iter().all(|b| *b == 0), "{kind:#x} leaks plaintext");
            let ended = session.whole(Way::Decrypt, &forged, None);
            assert_eq!(ended, Err(CKR_OPERATION_NOT_INITIALIZED));
            let out = session.pieces(Way::Decrypt, &m, key, &forged, &mut random);
            assert_eq!(out, Err(CKR_ENCRYPTED_DATA_INVALID), "{kind:#x} in pieces");
        }
    }
}

/// Counters of fewer bits wrap among themselves, and no counter block is used twice.
#[test]
fn narrow_counters() {
    let mut random = seeded("counters");
    let session = Session::open();
    let key = bytes(&mut random, 16);
    let handle = session.key(CKK_AES, &key);
    for bits in 1..=12u32 {
        let iv: [u8; 16] = bytes(&mut random, 16).try_into().unwrap();
        let low = (1u128 << bits) - 1;
        let first = u128::from_be_bytes(iv);
        let all = 16 << bits;
        let text = bytes(&mut random, all);
        let blocks = (0..1 << bits).map(|i| first & !low | first.wrapping_add(i) & low);
        let counters: Vec<u8> = blocks.flat_map(u128::to_be_bytes).collect();
        let stream = stream(Mode::Ecb, &key, iv, &counters);
        let expected: Vec<u8> = stream.iter().zip(&text).map(|(a, b)| a ^ b).collect();
        let params = CK_AES_CTR_PARAMS {
            ulCounterBits: CK_ULONG::from(bits),
            cb: iv,
        };
        let m = mechanism(CKM_AES_CTR, bytes_of(&params));
        assert_eq!(
            session.crypt(Way::Encrypt, &m, handle, &text).as_ref(),
            Ok(&expected)
        );
        let out = session.pieces(Way::Encrypt, &m, handle, &text, &mut random);
        assert_eq!(out.as_ref(), Ok(&expected), "{bits} bits in pieces");
        let longer = [&text[..], &[0]].concat();
        let out = session.crypt(Way::Encrypt, &m, handle, &longer);
        assert_eq!(out, Err(CKR_DATA_LEN_RANGE), "{bits} bits");
        // The blocks after the wrap count, too.
        session.init(Way::Encrypt, &m, handle).unwrap();
        let mut room = vec![0; all];
        let mut update = |text: &[u8]| session.update(Way::Encrypt, text, &mut room);
        assert_eq!(update(&text[..all - 1]), Ok(all - 1));
        assert_eq!(update(&text[all - 1..]), Ok(1));
        assert_eq!(update(&[0]), Err(CKR_DATA_LEN_RANGE), "{bits} bits");
    }
}

/// Lengths and parameters that a mechanism does not take.
#[test]
fn bad_input() {
    let session = Session::open();
    let key = session.key(CKK_AES, &[1; 16]);
    let iv = [2; 16];
    for kind in [CKM_AES_ECB, CKM_AES_CBC] {
        let p: &[u8] = if kind == CKM_AES_ECB { &[] } else { &iv };
        let m = mechanism(kind, p);
        let out = session.crypt(Way::Encrypt, &m, key, &[0; 17]);
        assert_eq!(out, Err(CKR_DATA_LEN_RANGE));
        let out = session.crypt(Way::Decrypt, &m, key, &[0; 17]);
        assert_eq!(out, Err(CKR_ENCRYPTED_DATA_LEN_RANGE));
    }
    for kind in ALL {
        let m = mechanism(kind, &iv[..5]);
        let out = session.init(Way::Encrypt, &m, key);
        let xts = kind == CKM_AES_XTS; // it also has another type of key
        let expected = if xts {
            CKR_KEY_TYPE_INCONSISTENT
        } else {
            CKR_MECHANISM_PARAM_INVALID
        };
        assert_eq!(out, Err(expected), "{kind:#x}");
        let mut m = mechanism(kind, &iv);
        m.pParameter = null_mut();
        let out = session.init(Way::Encrypt, &m, key);
        assert_eq!(out, Err(expected), "{kind:#x}");
    }
    let equal = session.key(CKK_AES_XTS, &[3; 32]);
    let m = mechanism(CKM_AES_XTS, &iv);
    assert_eq!(
        session.init(Way::Encrypt, &m, equal),
        Err(CKR_KEY_FUNCTION_NOT_PERMITTED)
    );
    assert_eq!(session.init(Way::Decrypt, &m, equal), Ok(()));
}
