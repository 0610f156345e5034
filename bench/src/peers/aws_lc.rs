// SPDX-License-Identifier: BSD-2-Clause
//! AWS-LC, by the crate aws-lc-sys, which compiles it. Streaming modes and XTS by the EVP_*
//! functions on a live context, GCM and GCM-SIV by EVP_AEAD_CTX_seal_scatter() and _open_gather(),
//! which are quicker than its EVP_* calls for the same, CMAC by CMAC_*. No AES-128-XTS. Its CCM is
//! left out: it was never the fastest.

use super::{nonce, takes_part};
use crate::call::{operation, whole};
use crate::peer::{Direction, Inputs, Mode, Peer, Prepared, Spec, TAG};
use aws_lc_sys as c;
use std::ffi::{c_int, CStr, CString};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use terminal::error::{Error, Result};

pub fn peer() -> Peer {
    // SAFETY: it returns a constant string.
    let said = unsafe { CStr::from_ptr(c::OpenSSL_version(0)) };
    let number = CStr::from_bytes_with_nul(c::AWSLC_VERSION_NUMBER_STRING).unwrap_or_default();
    let version = format!("{} ({})", number.to_string_lossy(), said.to_string_lossy());
    let (id, title) = ("aws-lc", "AWS-LC (EVP, EVP_AEAD)");
    Peer::new(
        id.into(),
        title.into(),
        version,
        |spec, bytes, inputs| match spec.mode {
            _ if spec.streams != 1 || !takes_part(spec, bytes) => Ok(None),
            Mode::Gcm | Mode::GcmSiv => aead(spec, bytes, inputs),
            Mode::Cmac => mac(spec, bytes, inputs),
            _ => cipher(spec, bytes, inputs),
        },
    )
}

/// The cipher of this name: "aes-128-cbc". None if there is none.
fn named(mode: Mode, key_bits: u16) -> Option<*const c::EVP_CIPHER> {
    let name = CString::new(format!("aes-{key_bits}-{}", mode.name())).ok()?;
    // SAFETY: the name is a C string, and the cipher a constant.
    let cipher = unsafe { c::EVP_get_cipherbyname(name.as_ptr()) };
    (!cipher.is_null()).then_some(cipher)
}

fn refused(spec: Spec) -> Error {
    Error::failure(format!("AWS-LC does not take the key of {spec:?}"))
}

/// An EVP_CIPHER_CTX that has its key and an IV.
struct Context {
    ctx: *mut c::EVP_CIPHER_CTX,
    iv: [u8; 16],
}

impl Context {
    fn new(cipher: *const c::EVP_CIPHER, spec: Spec, inputs: &Inputs) -> Result<Context> {
        let encrypt = c_int::from(spec.direction == Direction::Encrypt);
        let (key, iv) = (inputs.key.as_ptr(), inputs.iv.as_ptr());
        // SAFETY: key and IV are as long as the cipher wants them.
        unsafe {
            let context = Context {
                ctx: c::EVP_CIPHER_CTX_new(),
                iv: inputs.iv,
            };
            let ctx = context.ctx;
            let done = c::EVP_CipherInit_ex(ctx, cipher, null_mut(), key, iv, encrypt) == 1
                && c::EVP_CIPHER_CTX_set_padding(ctx, 0) == 1;
            done.then_some(context).ok_or_else(|| refused(spec))
        }
    }

    #[inline]
    fn set_iv(&self) {
        let iv = self.iv.as_ptr();
        // SAFETY: no cipher takes more than 16 bytes as IV here; -1 leaves the direction.
        let done = unsafe { c::EVP_CipherInit_ex(self.ctx, null(), null_mut(), null(), iv, -1) };
        assert_eq!(done, 1, "AWS-LC takes no new IV");
    }

    #[inline]
    fn update(&self, input: &[u8], output: &mut [u8]) {
        let (to, from, n) = (output.as_mut_ptr(), input.as_ptr(), input.len() as c_int);
        let mut len = 0;
        assert!(output.len() >= input.len());
        // SAFETY: there is no padding, so as many bytes are written as are read.
        let done = unsafe { c::EVP_CipherUpdate(self.ctx, to, &mut len, from, n) };
        assert!(done == 1 && len == n, "AWS-LC's update failed");
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new(), and is freed once.
        unsafe { c::EVP_CIPHER_CTX_free(self.ctx) }
    }
}

fn cipher(spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
    let Some(cipher) = named(spec.mode, spec.key_bits) else {
        return Ok(None);
    };
    let context = Rc::new(Context::new(cipher, spec, inputs)?);
    let first = context.clone();
    Ok(Some(match spec.mode {
        // The tweak, and all of the sector.
        Mode::Xts => whole(move |input, output| {
            context.set_iv();
            context.update(&input[..bytes], output);
        }),
        _ => operation(
            move || first.set_iv(),
            move |(), input, output| context.update(&input[..bytes], output),
        ),
    }))
}

/// An EVP_AEAD_CTX that has its key, for sealing or opening.
struct Aead(*mut c::EVP_AEAD_CTX);

fn aead(spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
    // SAFETY: these functions return constants; the key is as long as they want it.
    let ctx = unsafe {
        let aead = match (spec.mode, spec.key_bits) {
            (Mode::Gcm, 128) => c::EVP_aead_aes_128_gcm(),
            (Mode::Gcm, 192) => c::EVP_aead_aes_192_gcm(),
            (Mode::Gcm, 256) => c::EVP_aead_aes_256_gcm(),
            (Mode::GcmSiv, 128) => c::EVP_aead_aes_128_gcm_siv(),
            (Mode::GcmSiv, 256) => c::EVP_aead_aes_256_gcm_siv(),
            _ => return Ok(None),
        };
        c::EVP_AEAD_CTX_new(aead, inputs.key.as_ptr(), inputs.key.len(), TAG)
    };
    if ctx.is_null() {
        return Err(refused(spec));
    }
    let (aead, nonce, aad) = (Aead(ctx), nonce(inputs), inputs.aad);
    Ok(Some(match spec.direction {
        Direction::Encrypt => {
            whole(move |input, output| aead.seal(&nonce, &aad, &input[..bytes], output))
        }
        Direction::Decrypt => {
            whole(move |input, output| aead.open(&nonce, &aad, input, &mut output[..bytes]))
        }
    }))
}

impl Aead {
    #[inline]
    fn seal(&self, nonce: &[u8], aad: &[u8], input: &[u8], output: &mut [u8]) {
        let (data, tag) = output[..input.len() + TAG].split_at_mut(input.len());
        let mut len = 0;
        // SAFETY: the lengths are those of the buffers.
        let done = unsafe {
            c::EVP_AEAD_CTX_seal_scatter(
                self.0,
                data.as_mut_ptr(),
                tag.as_mut_ptr(),
                &mut len,
                TAG,
                nonce.as_ptr(),
                nonce.len(),
                input.as_ptr(),
                input.len(),
                null(),
                0,
                aad.as_ptr(),
                aad.len(),
            )
        };
        assert!(done == 1 && len == TAG, "AWS-LC does not seal");
    }

    #[inline]
    fn open(&self, nonce: &[u8], aad: &[u8], input: &[u8], output: &mut [u8]) {
        let (data, tag) = input[..output.len() + TAG].split_at(output.len());
        // SAFETY: the lengths are those of the buffers.
        let done = unsafe {
            c::EVP_AEAD_CTX_open_gather(
                self.0,
                output.as_mut_ptr(),
                nonce.as_ptr(),
                nonce.len(),
                data.as_ptr(),
                data.len(),
                tag.as_ptr(),
                TAG,
                aad.as_ptr(),
                aad.len(),
            )
        };
        assert_eq!(done, 1, "AWS-LC does not open");
    }
}

impl Drop for Aead {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_AEAD_CTX_new(), and is freed once.
        unsafe { c::EVP_AEAD_CTX_free(self.0) }
    }
}

/// A CMAC_CTX that has its key.
struct Mac(*mut c::CMAC_CTX);

fn mac(spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
    let Some(cipher) = named(Mode::Cbc, spec.key_bits) else {
        return Ok(None);
    };
    let key = &inputs.key;
    // SAFETY: the key is as long as the cipher wants it.
    let (mac, done) = unsafe {
        let mac = Mac(c::CMAC_CTX_new());
        let done = c::CMAC_Init(mac.0, key.as_ptr().cast(), key.len(), cipher, null_mut());
        (mac, done)
    };
    if done != 1 {
        return Err(refused(spec));
    }
    Ok(Some(whole(move |input, output| {
        let (mac, input, tag) = (&mac, &input[..bytes], &mut output[..TAG]);
        let mut len = 0;
        // SAFETY: the tag has room for 16 bytes.
        let done = unsafe {
            c::CMAC_Reset(mac.0) == 1
                && c::CMAC_Update(mac.0, input.as_ptr(), bytes) == 1
                && c::CMAC_Final(mac.0, tag.as_mut_ptr(), &mut len) == 1
        };
        assert!(done && len == TAG, "AWS-LC does not sign");
    })))
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: it came from CMAC_CTX_new(), and is freed once.
        unsafe { c::CMAC_CTX_free(self.0) }
    }
}
