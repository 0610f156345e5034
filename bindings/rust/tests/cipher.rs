// SPDX-License-Identifier: BSD-2-Clause
//! CTR, CBC, XTS, CMAC and key wrap: vectors, other libraries, wrong lengths.

mod common;

use ::cipher::block_padding::Pkcs7;
use ::cipher::consts::U16;
use ::cipher::{
    BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, InnerIvInit,
    KeyIvInit, StreamCipher, StreamCipherSeek,
};
use common::{bytes, length, random, vectors, Vector};
use digest::{KeyInit, Mac};
use tenrounds::{Aes, CbcDecryptor, CbcEncryptor, Cmac, CmacMessage, Ctr, Error, Xts};

/// Runs the function with the key's length, for a vector whose key has one of these.
macro_rules! keyed {
    ($v:ident, $function:ident: $($key:literal)*) => {
        match $v.key.len() {
            $($key => $function::<$key>($v.key[..].try_into().unwrap(), &$v),)*
            _ => assert!(!$v.valid, "{}", $v.line),
        }
    };
}

#[test]
fn cbc_with_padding() {
    fn run<const KEY: usize>(key: &[u8; KEY], v: &Vector) {
        let (key, iv) = (Aes::with_key(key), v.iv[..].try_into().unwrap());
        let plain = CbcDecryptor::start(&key, iv).decrypt_padded_vec::<Pkcs7>(&v.encrypted);
        assert_eq!(
            plain.ok().as_ref(),
            v.valid.then_some(&v.plain),
            "{}",
            v.line
        );
        if v.valid {
            let encrypted = CbcEncryptor::start(&key, iv).encrypt_padded_vec::<Pkcs7>(&v.plain);
            assert_eq!(encrypted, v.encrypted, "{}", v.line);
        }
    }
    for v in vectors("wycheproof/aes_cbc_pkcs5") {
        keyed!(v, run: 16 24 32);
    }
}

#[test]
fn xts() {
    fn run<const KEY: usize>(key: &[u8; KEY], v: &Vector) {
        let key = Xts::with_key(key);
        let mut tweak = [0; 16];
        tweak[..v.iv.len()].copy_from_slice(&v.iv);
        let mut data = v.plain.clone();
        let result = key.encrypt(&tweak, &mut data);
        assert_eq!(result.is_ok() && data == v.encrypted, v.valid, "{}", v.line);
        if v.valid {
            key.decrypt(&tweak, &mut data).unwrap();
            assert_eq!(data, v.plain, "{}", v.line);
        }
    }
    for v in vectors("wycheproof/aes_xts") {
        keyed!(v, run: 32 64);
    }
}

#[test]
fn cmac() {
    fn run<const KEY: usize>(key: &[u8; KEY], v: &Vector)
    where
        CmacMessage<KEY>: KeyInit,
    {
        let message = <CmacMessage<KEY> as KeyInit>::new_from_slice(key).unwrap();
        let message = message.chain_update(&v.plain);
        assert_eq!(
            message.verify_truncated_left(&v.tag).is_ok(),
            v.valid,
            "{}",
            v.line
        );
        if let Ok(tag) = v.tag[..].try_into() {
            let key = Cmac::with_key(key);
            assert_eq!(key.verify(&v.plain, tag).is_ok(), v.valid, "{}", v.line);
            assert_eq!(key.sign(&v.plain) == *tag, v.valid, "{}", v.line);
        }
    }
    for v in vectors("wycheproof/aes_cmac") {
        keyed!(v, run: 16 24 32);
    }
}

#[test]
fn key_wrap() {
    fn run<const KEY: usize>(key: &[u8; KEY], v: &Vector) {
        let key = Aes::with_key(key);
        let mut plain = vec![0xff; v.encrypted.len().saturating_sub(8)];
        let result = key.unwrap_key(&v.encrypted, &mut plain);
        assert_eq!(result.is_ok() && plain == v.plain, v.valid, "{}", v.line);
        let mut wrapped = vec![0; v.plain.len() + 8];
        let result = key.wrap_key(&v.plain, &mut wrapped);
        assert!(
            !v.valid || result.is_ok() && wrapped == v.encrypted,
            "{}",
            v.line
        );
    }
    fn padded<const KEY: usize>(key: &[u8; KEY], v: &Vector) {
        let key = Aes::with_key(key);
        let mut plain = vec![0xff; v.encrypted.len().saturating_sub(8)];
        let result = key.unwrap_key_padded(&v.encrypted, &mut plain);
        assert_eq!(
            result.map(|len| plain[..len] == v.plain),
            if v.valid { Ok(true) } else { Err(Error) }
        );
        let mut wrapped = vec![0; v.plain.len().div_ceil(8) * 8 + 8];
        let result = key.wrap_key_padded(&v.plain, &mut wrapped);
        assert!(
            !v.valid || result.is_ok() && wrapped == v.encrypted,
            "{}",
            v.line
        );
    }
    for v in wrapped("KW", ["wycheproof/aes_wrap", "rfc3394/kw"]) {
        keyed!(v, run: 16 24 32);
    }
    for v in wrapped("KWP", ["wycheproof/aes_kwp", "rfc5649/kwp"]) {
        keyed!(v, padded: 16 24 32);
    }
}

/// Vectors of key wrap: those of two files, and CAVP's of unwrapping (AD) and wrapping (AE).
fn wrapped(mode: &str, others: [&str; 2]) -> Vec<Vector> {
    let names = ["AD_128", "AD_192", "AD_256", "AE_128", "AE_192", "AE_256"];
    let cavp = names.map(|name| vectors(&format!("cavp/kw/{mode}_{name}")));
    others
        .map(vectors)
        .into_iter()
        .chain(cavp)
        .flatten()
        .collect()
}

/// Both libraries wrap random keys alike, and refuse a damaged one.
fn wrap_differs<const KEY: usize, C>(random: &mut fastrand::Rng)
where
    C: KeyInit + BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt,
{
    let key = bytes(random, KEY);
    let ours = Aes::<KEY>::with_key(key[..].try_into().unwrap());
    let (kw, kwp) = (
        aes_kw::AesKw::<C>::new_from_slice(&key).unwrap(),
        aes_kw::AesKwp::<C>::new_from_slice(&key).unwrap(),
    );
    let len = 8 * random.usize(2..80);
    let secret = bytes(random, len);
    let (mut a, mut b) = (vec![0; len + 8], vec![0; len + 8]);
    ours.wrap_key(&secret, &mut a).unwrap();
    assert_eq!(kw.wrap_key(&secret, &mut b), Ok(&a[..]), "{len} bytes");
    let mut back = vec![0; len];
    assert_eq!(ours.unwrap_key(&a, &mut back), Ok(()));
    assert_eq!(back, secret);
    a[random.usize(..len + 8)] ^= 1 << random.u8(..8);
    assert_eq!(ours.unwrap_key(&a, &mut back), Err(Error));
    assert!(kw.unwrap_key(&a, &mut back).is_err());

    let secret = &secret[..len - random.usize(..8)];
    let mut b = vec![0; len + 8];
    ours.wrap_key_padded(secret, &mut a).unwrap();
    assert_eq!(kwp.wrap_key(secret, &mut b), Ok(&a[..]));
    assert_eq!(ours.unwrap_key_padded(&a, &mut back), Ok(secret.len()));
    assert_eq!(back[..secret.len()], *secret);
    a[random.usize(..len + 8)] ^= 1 << random.u8(..8);
    assert_eq!(ours.unwrap_key_padded(&a, &mut back), Err(Error));
    assert!(kwp.unwrap_key(&a, &mut back).is_err());
}

#[test]
fn key_wrap_as_another_library() {
    let mut random = random();
    for _ in 0..100 {
        wrap_differs::<16, aes::Aes128>(&mut random);
        wrap_differs::<24, aes::Aes192>(&mut random);
        wrap_differs::<32, aes::Aes256>(&mut random);
    }
}

/// Random pieces of a message, processed by two libraries alike, with seeks between.
#[test]
fn ctr_as_another_library() {
    let mut random = random();
    for _ in 0..300 {
        let (key, iv) = (bytes(&mut random, 16), bytes(&mut random, 16));
        let mut ours = Ctr::<Aes<16>>::new_from_slices(&key, &iv).unwrap();
        let mut theirs = ctr::Ctr128BE::<aes::Aes128>::new_from_slices(&key, &iv).unwrap();
        for _ in 0..random.usize(1..6) {
            if random.bool() {
                let position = random.u64(..1 << 50);
                ours.seek(position);
                theirs.seek(position);
            }
            let len = length(&mut random);
            let input = bytes(&mut random, len);
            let (mut a, mut b) = (vec![0; len], vec![0; len]);
            ours.apply_keystream_b2b(&input, &mut a);
            theirs.apply_keystream_b2b(&input, &mut b);
            assert!(a == b, "{len} bytes");
            assert_eq!(ours.current_pos::<u64>(), theirs.current_pos::<u64>());
            ours.write_keystream(&mut a);
            theirs.write_keystream(&mut b);
            assert!(a == b, "{len} bytes");
        }
    }
}

#[test]
fn cbc_as_another_library() {
    let mut random = random();
    for _ in 0..300 {
        let (key, iv) = (bytes(&mut random, 32), bytes(&mut random, 16));
        let key_here = <Aes<32> as KeyInit>::new_from_slice(&key).unwrap();
        let mut ours = CbcEncryptor::inner_iv_slice_init(&key_here, &iv).unwrap();
        let mut ours_back = CbcDecryptor::inner_iv_slice_init(&key_here, &iv).unwrap();
        let mut theirs = cbc::Encryptor::<aes::Aes256>::new_from_slices(&key, &iv).unwrap();
        for _ in 0..random.usize(1..6) {
            let mut blocks = vec![aes::Block::default(); length(&mut random) / 16];
            blocks.iter_mut().for_each(|block| random.fill(block));
            let (mut a, mut b) = (blocks.clone(), blocks.clone());
            ours.encrypt_blocks_b2b(&blocks, &mut a).unwrap();
            theirs.encrypt_blocks(&mut b);
            assert!(a == b, "{} blocks", a.len());
            // In every way that the trait has.
            let one_by_one = a.len().min(random.usize(..4));
            let (first, rest) = a.split_at_mut(one_by_one);
            first
                .iter_mut()
                .for_each(|block| ours_back.decrypt_block(block));
            ours_back.decrypt_blocks(rest);
            assert!(a == blocks, "{} blocks", a.len());
        }
    }
    let mut data = [5; 17];
    assert_eq!(
        CbcEncryptor::start(Aes::with_key(&[0; 16]), &[0; 16]).encrypt(&mut data),
        Err(Error)
    );
    assert_eq!(data, [5; 17]);
}

#[test]
fn xts_as_another_library() {
    let mut random = random();
    for _ in 0..300 {
        let key = bytes(&mut random, 32);
        let ours = Xts::<32>::with_key(key[..].try_into().unwrap());
        let theirs = xts_mode::Xts128::<aes::Aes128>::new(
            KeyInit::new_from_slice(&key[..16]).unwrap(),
            KeyInit::new_from_slice(&key[16..]).unwrap(),
        );
        let (unit, units) = (16 + length(&mut random), random.usize(1..5));
        let plain = bytes(&mut random, unit * units);
        let first = random.u128(..);
        let (mut a, mut b) = (plain.clone(), plain.clone());
        ours.encrypt_units(first, unit, &mut a).unwrap();
        for (i, sector) in b.chunks_mut(unit).enumerate() {
            theirs.encrypt_sector(sector, first.wrapping_add(i as u128).to_le_bytes().into());
        }
        assert!(a == b, "{units} units of {unit} bytes");
        ours.decrypt_units(first, unit, &mut a).unwrap();
        assert!(a == plain, "{units} units of {unit} bytes");
    }
}

#[test]
fn xts_wrong_lengths() {
    let key: [u8; 32] = core::array::from_fn(|i| i as u8);
    let key = Xts::with_key(&key);
    for (unit, len) in [
        (0, 0),
        (0, 64),
        (15, 30),
        (16, 40),
        (512, 511),
        (usize::MAX, 16),
    ] {
        let mut data = vec![7; len];
        // No units of a length that there is are no error; any other length is.
        assert_eq!(
            key.encrypt_units(0, unit, &mut data),
            Err(Error),
            "{unit} {len}"
        );
        assert_eq!(
            key.decrypt_units(0, unit, &mut data),
            Err(Error),
            "{unit} {len}"
        );
        assert_eq!(data, vec![7; len]);
    }
    assert_eq!(key.encrypt(&[0; 16], &mut [0; 15]), Err(Error));
    let equal = Xts::with_key(&[7; 32]);
    assert_eq!(equal.encrypt(&[0; 16], &mut [0; 16]), Err(Error));
    assert_eq!(equal.decrypt(&[0; 16], &mut [0; 16]), Ok(()));
}

/// Random pieces, between which the message moves.
#[test]
fn cmac_as_another_library() {
    let mut random = random();
    for _ in 0..300 {
        let key = bytes(&mut random, 24);
        let mut ours = Box::new(CmacMessage::<24>::new_from_slice(&key).unwrap());
        let mut theirs = cmac::Cmac::<aes::Aes192>::new_from_slice(&key).unwrap();
        for _ in 0..random.usize(..5) {
            let len = length(&mut random);
            let data = bytes(&mut random, len);
            *ours = ours.chain_update(&data);
            theirs.update(&data);
        }
        assert!(ours.finalize_reset().into_bytes() == theirs.finalize_reset().into_bytes());
        assert!(ours.finalize().into_bytes() == theirs.finalize().into_bytes());
    }
}

#[test]
fn wrapping_refuses_wrong_lengths() {
    let key = Aes::with_key(&[3; 16]);
    for (input, out) in [(16, 23), (16, 25), (8, 16), (17, 25), (0, 8), (0, 0)] {
        let mut to = vec![9; out];
        assert_eq!(
            key.wrap_key(&vec![1; input], &mut to),
            Err(Error),
            "{input} {out}"
        );
        assert_eq!(to, vec![9; out]);
    }
    for (input, out) in [(16, 8), (24, 15), (25, 17), (7, 0), (0, 0)] {
        assert_eq!(
            key.unwrap_key(&vec![1; input], &mut vec![9; out]),
            Err(Error),
            "{input} {out}"
        );
    }
    for (input, out) in [(0, 8), (1, 9), (8, 15), (9, 16)] {
        assert_eq!(
            key.wrap_key_padded(&vec![1; input], &mut vec![9; out]),
            Err(Error)
        );
    }
    let mut out = [0; 16];
    key.wrap_key_padded(&[1], &mut out).unwrap();
    assert_eq!(key.unwrap_key_padded(&out, &mut [0; 8]), Ok(1));
    out[5] ^= 1;
    let mut plain = [9; 8];
    assert_eq!(key.unwrap_key_padded(&out, &mut plain), Err(Error));
    assert_eq!(plain, [0; 8]);
}

#[test]
fn keys_are_for_all_threads() {
    fn check<T: Send + Sync + zeroize::ZeroizeOnDrop>() {}
    check::<Aes<16>>();
    check::<Cmac<16>>();
    check::<CmacMessage<16>>();
    check::<Xts<32>>();
    check::<Ctr<Aes<16>>>();
    check::<Ctr<&Aes<16>>>();
    check::<CbcEncryptor<Aes<24>>>();
    check::<CbcEncryptor<&Aes<24>>>();
    check::<CbcDecryptor<Aes<32>>>();
    check::<CbcDecryptor<&Aes<32>>>();
}

/// A block cipher in every call of its traits, and under a mode of RustCrypto.
fn block_cipher<C>(key: &[u8], iv: &[u8], data: &[u8]) -> [Vec<u8>; 4]
where
    C: KeyInit + BlockCipherEncrypt<BlockSize = U16> + BlockCipherDecrypt + Clone,
{
    let cipher = <C as KeyInit>::new_from_slice(key).unwrap();
    let blocks: Vec<::cipher::Block<C>> = data.chunks(16).map(|b| b.try_into().unwrap()).collect();
    let mut encrypted = blocks.clone();
    cipher.encrypt_blocks(&mut encrypted);
    let mut one_by_one = blocks.clone();
    one_by_one.iter_mut().for_each(|b| cipher.encrypt_block(b));
    assert_eq!(encrypted, one_by_one);
    let mut back = blocks.clone();
    cipher
        .clone()
        .decrypt_blocks_b2b(&encrypted, &mut back)
        .unwrap();
    assert_eq!(back, blocks);
    let mut decrypted = blocks.clone();
    decrypted.iter_mut().for_each(|b| cipher.decrypt_block(b));
    let mut counted = data.to_vec();
    let core = ctr::CtrCore::inner_iv_slice_init(cipher.clone(), iv).unwrap();
    ctr::Ctr128BE::from_core(core).apply_keystream(&mut counted);
    let mut chained = blocks;
    let mut cbc = cbc::Decryptor::inner_iv_slice_init(cipher, iv).unwrap();
    cbc.decrypt_blocks(&mut chained);
    [
        encrypted.concat(),
        decrypted.concat(),
        counted,
        chained.concat(),
    ]
}

#[test]
fn block_cipher_is_that_of_another_library() {
    let mut random = random();
    for _ in 0..50 {
        let (key, iv) = (bytes(&mut random, 32), bytes(&mut random, 16));
        let blocks = random.usize(..200);
        let data = bytes(&mut random, 16 * blocks);
        let (a, b, c) = (&key[..16], &key[..24], &key[..]);
        let ours = block_cipher::<Aes<16>>(a, &iv, &data);
        assert_eq!(ours, block_cipher::<aes::Aes128>(a, &iv, &data));
        let ours = block_cipher::<Aes<24>>(b, &iv, &data);
        assert_eq!(ours, block_cipher::<aes::Aes192>(b, &iv, &data));
        let ours = block_cipher::<Aes<32>>(c, &iv, &data);
        assert_eq!(ours, block_cipher::<aes::Aes256>(c, &iv, &data));
    }
}

/// A clone in the middle of a message goes on as the original does.
#[test]
fn clones() {
    let mut random = random();
    for _ in 0..100 {
        let (key, iv) = (bytes(&mut random, 32), bytes(&mut random, 16));
        let (key, iv) = (key[..].try_into().unwrap(), iv[..].try_into().unwrap());
        let cipher = Aes::<32>::with_key(key);
        let (first, second) = (random.usize(..100), random.usize(..100));
        let data = bytes(&mut random, first + second);
        let mut message = Ctr::start(cipher.clone(), iv);
        let mut whole = data.clone();
        message.apply(&mut whole[..first]);
        let mut copy = message.clone();
        drop(message);
        copy.apply(&mut whole[first..]);
        Ctr::start(&cipher, iv).apply(&mut whole);
        assert_eq!(whole, data);

        let message = <CmacMessage<32> as KeyInit>::new_from_slice(key).unwrap();
        let message = message.chain_update(&data[..first]);
        let copy = message.clone();
        drop(message);
        let tag = copy.chain_update(&data[first..]).finalize().into_bytes();
        assert_eq!(tag[..], Cmac::with_key(key).clone().sign(&data));

        let xts = Xts::<32>::with_key(key);
        let mut sector = bytes(&mut random, 32);
        let mut other = sector.clone();
        xts.encrypt(iv, &mut sector).unwrap();
        let copy = xts.clone();
        drop(xts);
        copy.encrypt(iv, &mut other).unwrap();
        assert_eq!(sector, other);
    }
}
