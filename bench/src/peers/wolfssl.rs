// SPDX-License-Identifier: BSD-2-Clause
//! wolfSSL by wolfCrypt's calls. A message in GCM and XTS is one call with the key that is there.
//! ECB and CBC take whole blocks. Declarations of wolfssl/wolfcrypt/aes.h, version 5.9.

use super::{fetched, single};
use crate::call::{operation, whole, with_tag, Memory};
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Prepared, Spec, TAG};
use libcrypto::functions;
use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;
use std::rc::Rc;
use terminal::error::{Error, Result};

type Aes = *mut c_void;
type Crypt = unsafe extern "C" fn(Aes, *mut u8, *const u8, c_uint) -> c_int;

functions! {
    /// wolfssl/wolfcrypt/aes.h
    Functions {
        fn wc_AesInit(Aes, *mut c_void, c_int) -> c_int;
        fn wc_AesSetKey(Aes, *const u8, c_uint, *const u8, c_int) -> c_int;
        fn wc_AesEcbEncrypt(Aes, *mut u8, *const u8, c_uint) -> c_int;
        fn wc_AesEcbDecrypt(Aes, *mut u8, *const u8, c_uint) -> c_int;
        fn wc_AesCbcEncrypt(Aes, *mut u8, *const u8, c_uint) -> c_int;
        fn wc_AesCbcDecrypt(Aes, *mut u8, *const u8, c_uint) -> c_int;
        fn wc_AesCtrEncrypt(Aes, *mut u8, *const u8, c_uint) -> c_int;
        fn wc_AesGcmSetKey(Aes, *const u8, c_uint) -> c_int;
        fn wc_AesGcmEncrypt(Aes, *mut u8, *const u8, c_uint, *const u8, c_uint, *mut u8, c_uint, *const u8, c_uint) -> c_int;
        fn wc_AesGcmDecrypt(Aes, *mut u8, *const u8, c_uint, *const u8, c_uint, *const u8, c_uint, *const u8, c_uint) -> c_int;
        fn wc_AesXtsSetKey(Aes, *const u8, c_uint, c_int, *mut c_void, c_int) -> c_int;
        fn wc_AesXtsEncrypt(Aes, *mut u8, *const u8, c_uint, *const u8, c_uint) -> c_int;
        fn wc_AesXtsDecrypt(Aes, *mut u8, *const u8, c_uint, *const u8, c_uint) -> c_int;
    }
}

/// INVALID_DEVID
const NO_DEVICE: c_int = -2;
/// Larger than struct Aes (352 bytes) and struct XtsAes (704).
const CONTEXT: usize = 4096;
const NONCE: c_uint = 12;

pub fn open() -> Result<Peer> {
    let (version, origin) = fetched::known("wolfssl")?;
    let f = Functions::load(fetched::open("libwolfssl.so")?)?;
    let title = format!("wolfSSL {version}");
    let prepare = move |spec, bytes, inputs: &Inputs| prepare(f, spec, bytes, inputs);
    Ok(single("wolfssl", &title, version, origin, prepare))
}

fn good(status: c_int) {
    assert_eq!(status, 0, "wolfSSL fails");
}

fn prepare(f: Functions, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
    let encrypt = spec.direction == Direction::Encrypt;
    let crypt: Crypt = match (spec.mode, encrypt) {
        (Mode::Gcm | Mode::Xts, _) => return message(f, spec, bytes, inputs).map(Some),
        (Mode::Ecb, true) => f.wc_AesEcbEncrypt,
        (Mode::Ecb, false) => f.wc_AesEcbDecrypt,
        (Mode::Cbc, true) => f.wc_AesCbcEncrypt,
        (Mode::Cbc, false) => f.wc_AesCbcDecrypt,
        (Mode::Ctr, _) => f.wc_AesCtrEncrypt,
        _ => return Ok(None),
    };
    // AES_ENCRYPTION and AES_DECRYPTION
    let direction = c_int::from(!encrypt && spec.mode != Mode::Ctr);
    let (context, key, iv) = (Rc::new(Memory::new(CONTEXT)), inputs.key.clone(), inputs.iv);
    let first = context.clone();
    // SAFETY: the context is as large, and key and IV as long, as wolfSSL wants.
    let done = unsafe { (f.wc_AesInit)(context.pointer(), null_mut(), NO_DEVICE) };
    good(done);
    Ok(Some(operation(
        // Counter mode forgets the rest of a partial block only with a new key.
        move || {
            let (aes, len) = (first.pointer(), key.len() as c_uint);
            // SAFETY: as above.
            good(unsafe { (f.wc_AesSetKey)(aes, key.as_ptr(), len, iv.as_ptr(), direction) });
        },
        move |(), input, output| {
            let (input, output) = (&input[..bytes], &mut output[..bytes]);
            let (to, from, len) = (output.as_mut_ptr(), input.as_ptr(), bytes as c_uint);
            // SAFETY: both have so many bytes.
            good(unsafe { crypt(context.pointer(), to, from, len) });
        },
    )))
}

/// Whole messages, and whole sectors.
fn message(f: Functions, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
    let (context, encrypt) = (Memory::new(CONTEXT), spec.direction == Direction::Encrypt);
    let (aes, key, len) = (
        context.pointer(),
        inputs.key.as_ptr(),
        inputs.key.len() as c_uint,
    );
    // SAFETY: the context is as large, and the key as long, as wolfSSL wants.
    let status = unsafe {
        match spec.mode {
            Mode::Gcm => {
                good((f.wc_AesInit)(aes, null_mut(), NO_DEVICE));
                (f.wc_AesGcmSetKey)(aes, key, len)
            }
            _ => {
                let direction = c_int::from(!encrypt);
                (f.wc_AesXtsSetKey)(aes, key, len, direction, null_mut(), NO_DEVICE)
            }
        }
    };
    if status != 0 {
        let why = format!("wolfSSL does not take the key of {spec:?}: {status}");
        return Err(Error::failure(why));
    }
    let (iv, aad, len, tag_len) = (inputs.iv, inputs.aad(spec), bytes as c_uint, TAG as c_uint);
    if spec.mode == Mode::Gcm {
        return Ok(whole(move |input, output| {
            let (to, from, tag) = with_tag(encrypt, bytes, input, output);
            let (aes, iv, aad, n) = (
                context.pointer(),
                iv.as_ptr(),
                aad.pointer(),
                aad.len() as c_uint,
            );
            // SAFETY: the data have so many bytes, and the tag its place.
            good(unsafe {
                match encrypt {
                    true => {
                        (f.wc_AesGcmEncrypt)(aes, to, from, len, iv, NONCE, tag, tag_len, aad, n)
                    }
                    false => {
                        (f.wc_AesGcmDecrypt)(aes, to, from, len, iv, NONCE, tag, tag_len, aad, n)
                    }
                }
            });
        }));
    }
    let crypt = match encrypt {
        true => f.wc_AesXtsEncrypt,
        false => f.wc_AesXtsDecrypt,
    };
    Ok(whole(move |input, output| {
        let (input, output) = (&input[..bytes], &mut output[..bytes]);
        let (to, from, tweak) = (output.as_mut_ptr(), input.as_ptr(), iv.as_ptr());
        // SAFETY: both have so many bytes, and the tweak 16.
        good(unsafe { crypt(context.pointer(), to, from, len, tweak, 16) });
    }))
}
