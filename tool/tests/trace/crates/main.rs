// SPDX-License-Identifier: BSD-2-Clause
//! Encrypts by a crate until it is killed: trace-crates CRATE MODE. For the corpus of `tenrounds
//! trace`. It says "ready" once it works.

use std::io::Write;
use std::time::{Duration, Instant};

const KEY: [u8; 16] = [1; 16];
const BYTES: usize = 16384;

/// One message of a crate in a mode.
type Message = Box<dyn FnMut(&mut [u8])>;

fn rustcrypto(mode: &str) -> Option<Message> {
    use aes_gcm::aead::{AeadInOut, KeyInit};
    use ctr::cipher::{KeyIvInit, StreamCipher};
    Some(match mode {
        "ctr" => {
            let mut cipher = ctr::Ctr128BE::<aes::Aes128>::new(&KEY.into(), &[0; 16].into());
            Box::new(move |data| cipher.apply_keystream(data))
        }
        "gcm" => {
            let cipher = aes_gcm::Aes128Gcm::new(&KEY.into());
            Box::new(move |data| {
                let sealed = cipher.encrypt_inout_detached(&[0; 12].into(), &[], data.into());
                sealed.expect("aes-gcm seals");
            })
        }
        _ => return None,
    })
}

/// The versions before VAES.
fn rustcrypto_0_8(mode: &str) -> Option<Message> {
    use aes_gcm_0_10::aead::{AeadInPlace, KeyInit};
    use ctr_0_9::cipher::{KeyIvInit, StreamCipher};
    Some(match mode {
        "ctr" => {
            let mut cipher =
                ctr_0_9::Ctr128BE::<aes_0_8::Aes128>::new(&KEY.into(), &[0; 16].into());
            Box::new(move |data| cipher.apply_keystream(data))
        }
        "gcm" => {
            let cipher = aes_gcm_0_10::Aes128Gcm::new(&KEY.into());
            Box::new(move |data| {
                let sealed = cipher.encrypt_in_place_detached(&[0; 12].into(), &[], data);
                sealed.expect("aes-gcm seals");
            })
        }
        _ => return None,
    })
}

#[cfg(feature = "others")]
fn other(name: &str, mode: &str) -> Option<Message> {
    Some(match (name, mode) {
        ("ring", "gcm") => {
            use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM};
            let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).expect("16 bytes"));
            Box::new(move |data| {
                let nonce = Nonce::assume_unique_for_key([0; 12]);
                let sealed = key.seal_in_place_separate_tag(nonce, Aad::empty(), data);
                let _ = sealed.expect("ring seals");
            })
        }
        ("graviola", "gcm") => {
            let key = graviola::aead::AesGcm::new(&KEY);
            Box::new(move |data| key.encrypt(&[0; 12], &[], data, &mut [0; 16]))
        }
        ("aws-lc-rs", "ctr") => {
            use aws_lc_rs::cipher::{EncryptingKey, EncryptionContext, UnboundCipherKey, AES_128};
            let key = UnboundCipherKey::new(&AES_128, &KEY).expect("16 bytes");
            let key = EncryptingKey::ctr(key).expect("AWS-LC has CTR");
            Box::new(move |data| {
                let context = EncryptionContext::Iv128([0; 16].into());
                key.less_safe_encrypt(data, context)
                    .expect("AWS-LC encrypts");
            })
        }
        ("aws-lc-rs", "gcm") => {
            use aws_lc_rs::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM};
            let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &KEY).expect("16 bytes"));
            Box::new(move |data| {
                let nonce = Nonce::assume_unique_for_key([0; 12]);
                let sealed = key.seal_in_place_separate_tag(nonce, Aad::empty(), data);
                let _ = sealed.expect("AWS-LC seals");
            })
        }
        _ => return None,
    })
}

#[cfg(not(feature = "others"))]
fn other(_: &str, _: &str) -> Option<Message> {
    None
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, mode] = arguments.as_slice() else {
        panic!("trace-crates CRATE MODE");
    };
    let message = match name.as_str() {
        "rustcrypto" => rustcrypto(mode),
        "rustcrypto-0.8" => rustcrypto_0_8(mode),
        _ => other(name, mode),
    };
    let mut message = message.unwrap_or_else(|| panic!("{name} is not here, or has no {mode}"));
    let mut data = vec![0; BYTES];
    message(&mut data);
    writeln!(std::io::stdout(), "ready").expect("the test reads it");
    // Should nobody kill it.
    let end = Instant::now() + Duration::from_secs(600);
    while Instant::now() < end {
        for _ in 0..100 {
            message(&mut data);
        }
    }
}
