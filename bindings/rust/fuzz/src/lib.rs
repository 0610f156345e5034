// SPDX-License-Identifier: BSD-2-Clause
//! Fuzz target of the crate's safe interface: every way to do a thing must give the same, no input
//! may cause a panic, and a forgery must leave zeros. scripts/fuzz compiles this crate with
//! coverage, and links the function below with libFuzzer. A panic aborts the process, so that
//! libFuzzer keeps the input.

use ::aead::array::AssocArraySize;
use ::aead::inout::InOutBuf;
use ::aead::{AeadInOut, Nonce, Tag};
use cipher::{StreamCipher, StreamCipherSeek};
use digest::{KeyInit, Mac};
use tenrounds::{
    modes, open_many, seal_many, Aead, Aes, CbcDecryptor, CbcEncryptor, Cmac, CmacMessage, Ctr,
    Error, Gcm, GcmDecryptor, GcmEncryptor, GcmJob, Xts,
};

/// # Safety
///
/// The pointer is valid for the length until the function returns.
#[no_mangle]
pub unsafe extern "C" fn fuzz_crate_calls(data: *const u8, len: usize) -> i32 {
    if len > 0 {
        // SAFETY: as the caller promises.
        calls(Input(unsafe { std::slice::from_raw_parts(data, len) }));
    }
    0
}

/// What is left of the input. At its end all bytes are 0.
struct Input<'d>(&'d [u8]);

impl<'d> Input<'d> {
    fn byte(&mut self) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        usize::from(*first)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte() as u8)
    }

    /// At most so many bytes.
    fn bytes(&mut self, most: usize) -> &'d [u8] {
        let len = (self.byte() * most / 255).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }
}

fn calls(mut input: Input) {
    match input.byte() % 11 {
        0 => aead::<modes::Gcm, 16, 16>(input),
        1 => aead::<modes::Gcm, 32, 12>(input),
        2 => aead::<modes::GcmSiv, 32, 16>(input),
        3 => aead::<modes::Ccm, 16, 8>(input),
        4 => aead::<modes::Ocb, 24, 16>(input),
        5 => aead::<modes::Siv, 64, 16>(input),
        6 => streams(input),
        7 => cmac(input),
        8 => pieces(input),
        9 => many(input),
        _ => wrap_and_sectors(input),
    }
}

fn aead<M: modes::Mode, const KEY: usize, const TAG: usize>(mut input: Input)
where
    M::Nonce: AssocArraySize,
    [u8; TAG]: AssocArraySize,
{
    let key = Aead::<M, KEY, TAG>::with_key(&input.array());
    let (nonce, aad) = (input.bytes(20), input.bytes(100));
    let (bit, plain) = (input.byte(), input.0);
    let mut data = plain.to_vec();
    let mut sealed = vec![0xff; plain.len() + TAG];
    let Ok(mut tag) = key.seal_in_place(nonce, aad, &mut data) else {
        assert_eq!(data, plain, "an error leaves the data");
        assert_eq!(key.seal(nonce, aad, plain, &mut sealed), Err(Error));
        return;
    };
    key.clone().seal(nonce, aad, plain, &mut sealed).unwrap();
    assert_eq!(sealed, [&data[..], &tag].concat());
    let mut opened = vec![0xff; plain.len()];
    key.open(nonce, aad, &sealed, &mut opened).unwrap();
    assert_eq!(opened, plain);
    if let Ok(nonce) = Nonce::<Aead<M, KEY, TAG>>::try_from(nonce) {
        traits(&key, (&nonce, aad, plain), &sealed, bit);
    }
    tag[bit / 8 % TAG] ^= 1 << (bit % 8);
    assert_eq!(key.open_in_place(nonce, aad, &mut data, &tag), Err(Error));
    assert!(data.iter().all(|byte| *byte == 0), "a forgery leaves zeros");
    assert!(key
        .open(nonce, aad, &sealed, &mut vec![0; plain.len() + 1])
        .is_err());
}

/// The traits of the crate `aead`, from one buffer into another.
fn traits<A: AeadInOut>(
    key: &A,
    (nonce, aad, plain): (&Nonce<A>, &[u8], &[u8]),
    sealed: &[u8],
    bit: usize,
) {
    let (data, tag) = sealed.split_at(plain.len());
    let mut out = vec![0xff; plain.len()];
    let buffer = InOutBuf::new(plain, &mut out).expect("equal lengths");
    let mut sealed = key.encrypt_inout_detached(nonce, aad, buffer).unwrap();
    assert_eq!((&out[..], &sealed[..]), (data, tag));
    let mut open = |tag: &Tag<A>| {
        let buffer = InOutBuf::new(data, &mut out).expect("equal lengths");
        let opened = key.decrypt_inout_detached(nonce, aad, buffer, tag);
        opened.map(|()| out.clone())
    };
    assert_eq!(open(&sealed).as_deref(), Ok(plain));
    sealed[bit / 8 % tag.len()] ^= 1 << (bit % 8);
    assert!(open(&sealed).is_err());
    assert!(out.iter().all(|byte| *byte == 0), "a forgery leaves zeros");
}

/// Passes data on in pieces of so many units of bytes each, over and over.
fn cut(steps: [u8; 4], unit: usize, data: &mut [u8], mut each: impl FnMut(&mut [u8])) {
    let (mut rest, mut steps) = (data, steps.iter().cycle());
    while !rest.is_empty() {
        let step = usize::from(*steps.next().expect("a cycle")).max(1) * unit;
        let (piece, behind) = rest.split_at_mut(step.min(rest.len()));
        each(piece);
        rest = behind;
    }
}

/// A GCM message in pieces as in one call.
fn pieces(mut input: Input) {
    let key = Gcm::<32>::with_key(&input.array());
    let (nonce, aad, steps, bit) = (
        input.bytes(20),
        input.bytes(100),
        input.array(),
        input.byte(),
    );
    let plain = input.0;
    let mut parts = plain.to_vec();
    let Ok(mut message) = GcmEncryptor::start(&key, nonce, aad) else {
        assert_eq!(key.seal_in_place(nonce, aad, &mut parts), Err(Error));
        return;
    };
    cut(steps, 1, &mut parts, |piece| {
        message.encrypt(piece).unwrap()
    });
    let mut tag = message.finish();
    let mut whole = plain.to_vec();
    assert_eq!(key.seal_in_place(nonce, aad, &mut whole), Ok(tag));
    assert_eq!(parts, whole);
    let forge = bit % 2;
    tag[bit / 16] ^= (forge << (bit / 2 % 8)) as u8;
    let mut message = GcmDecryptor::start(&key, nonce, aad).unwrap();
    cut(steps, 1, &mut parts, |piece| {
        message.decrypt_unverified(piece).unwrap()
    });
    assert_eq!(parts, plain);
    assert_eq!(message.verify(&tag).is_err(), forge == 1);
}

/// A message of `many`.
struct Message<'d> {
    key: usize,
    nonce: [u8; 12],
    aad: &'d [u8],
    data: Vec<u8>,
    tag: [u8; 16],
    forged: bool,
}

/// GCM messages in one call as one by one: under two keys, in runs of one length and mixed.
fn many(mut input: Input) {
    let keys: [Gcm<16>; 2] = std::array::from_fn(|_| Gcm::with_key(&input.array()));
    let (mut len, mut aad) = (input.byte(), input.bytes(40));
    let messages = (0..input.byte() % 70).map(|i| {
        let choice = input.byte();
        if choice & 2 != 0 {
            (len, aad) = (4 * input.byte(), input.bytes(40));
        }
        Message {
            key: choice & 1,
            nonce: input.array(),
            aad,
            data: vec![i as u8; len],
            tag: [0; 16],
            forged: choice & 4 != 0,
        }
    });
    let mut messages: Vec<_> = messages.collect();
    let sealed: Vec<_> = messages
        .iter()
        .map(|m| {
            let mut data = m.data.clone();
            let tag = keys[m.key].seal_in_place(&m.nonce, m.aad, &mut data);
            (data, tag.unwrap())
        })
        .collect();
    let run = |messages: &mut Vec<Message>, call: fn(&mut [GcmJob]) -> tenrounds::Result<()>| {
        let jobs = messages
            .iter_mut()
            .map(|m| keys[m.key].job(&m.nonce, m.aad, &mut m.data, &mut m.tag));
        let mut jobs: Vec<_> = jobs.collect();
        let all = call(&mut jobs);
        (all, jobs.iter().map(GcmJob::result).collect::<Vec<_>>())
    };
    let (all, each) = run(&mut messages, seal_many);
    assert!(all.is_ok() && each.iter().all(|result| result.is_ok()));
    for (i, (m, (data, tag))) in messages.iter_mut().zip(&sealed).enumerate() {
        assert_eq!((&m.data, &m.tag), (data, tag));
        m.tag[i % 16] ^= u8::from(m.forged);
    }
    let (all, each) = run(&mut messages, open_many);
    assert_eq!(all.is_err(), messages.iter().any(|m| m.forged));
    for (i, m) in messages.iter().enumerate() {
        assert_eq!(each[i].is_err(), m.forged);
        let plain = if m.forged { 0 } else { i as u8 };
        assert!(m.data.iter().all(|byte| *byte == plain));
    }
}

/// CTR and CBC in pieces, with clones between them, as in one.
fn streams(mut input: Input) {
    let (key, iv) = (Aes::<24>::with_key(&input.array()), input.array());
    let steps: [u8; 4] = input.array();
    let plain = input.0;
    let mut whole = plain.to_vec();
    Ctr::start(&key, &iv).apply(&mut whole);
    let (mut parts, mut message) = (plain.to_vec(), Ctr::start(key.clone(), &iv));
    cut(steps, 1, &mut parts, |piece| {
        message = message.clone();
        message.apply_keystream(piece);
    });
    assert_eq!(parts, whole);
    let at = usize::from(steps[0]).min(plain.len());
    message.seek(at as u64);
    message.apply_keystream(&mut parts[at..]);
    assert_eq!(parts[at..], plain[at..]);

    let mut whole = plain.to_vec();
    let done = CbcEncryptor::start(&key, &iv).encrypt(&mut whole);
    if plain.len() % 16 != 0 {
        assert_eq!((done, &whole[..]), (Err(Error), plain));
        return;
    }
    let (mut parts, mut message) = (plain.to_vec(), CbcEncryptor::start(&key, &iv));
    cut(steps, 16, &mut parts, |piece| {
        message.encrypt(piece).unwrap()
    });
    assert_eq!(parts, whole);
    CbcDecryptor::start(key, &iv).decrypt(&mut whole).unwrap();
    assert_eq!(whole, plain);
}

fn cmac(mut input: Input) {
    let key: [u8; 32] = input.array();
    let (first, second) = (input.bytes(300), input.0);
    let data = [first, second].concat();
    let tag = Cmac::with_key(&key).sign(&data);
    let message = <CmacMessage<32> as KeyInit>::new_from_slice(&key).expect("32 bytes");
    let message = message.chain_update(first);
    let copy = message.clone().chain_update(second).finalize().into_bytes();
    assert_eq!(copy[..], tag);
    assert_eq!(
        message.chain_update(second).finalize().into_bytes()[..],
        tag
    );
    let forged = tag.map(|byte| byte ^ 0x80);
    assert_eq!(Cmac::with_key(&key).verify(&data, &forged), Err(Error));
}

fn wrap_and_sectors(mut input: Input) {
    let (key, wrapping) = (input.array(), input.array::<16>());
    let (first, unit) = (input.byte() as u128, input.byte());
    let plain = input.0;
    let xts = Xts::<64>::with_key(&key);
    let mut data = plain.to_vec();
    if xts.encrypt_units(first, unit, &mut data).is_ok() {
        xts.clone().decrypt_units(first, unit, &mut data).unwrap();
    }
    assert_eq!(data, plain);
    let key = Aes::with_key(&wrapping);
    let room = plain.len().next_multiple_of(8) + 8;
    let mut wrapped = vec![0; room];
    if key.wrap_key_padded(plain, &mut wrapped).is_ok() {
        let mut back = vec![0xff; room - 8];
        let len = key.unwrap_key_padded(&wrapped, &mut back).unwrap();
        assert_eq!(back[..len], *plain);
        assert!(key.unwrap_key_padded(&wrapped, &mut back[1..]).is_err());
    }
    if key.wrap_key(plain, &mut wrapped).is_ok() {
        let mut back = vec![0xff; room - 8];
        key.unwrap_key(&wrapped, &mut back).unwrap();
        assert_eq!(back, plain);
        wrapped[unit % room] ^= 1;
        assert_eq!(key.unwrap_key(&wrapped, &mut back), Err(Error));
        assert!(back.iter().all(|byte| *byte == 0), "a forgery leaves zeros");
    }
}
