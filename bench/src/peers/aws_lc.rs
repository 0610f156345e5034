// SPDX-License-Identifier: BSD-2-Clause
//! AWS-LC, by the crate aws-lc-sys, which compiles it. Streaming modes, XTS and CCM by the EVP_*
//! functions on a live context, GCM and GCM-SIV by EVP_AEAD_CTX_seal_scatter() and _open_gather(),
//! which are quicker than its EVP_* calls for the same, CMAC by CMAC_*. No AES-128-XTS.

use super::call::operation;
use super::takes_part;
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, TAG};
use aws_lc_sys as c;
use std::ffi::{c_int, c_void, CStr};
use std::ptr::{null, null_mut};
use terminal::error::{Error, Result};

const NONCE: usize = 12;
type Update =
    unsafe extern "C" fn(*mut c::EVP_CIPHER_CTX, *mut u8, *mut c_int, *const u8, c_int) -> c_int;

pub struct AwsLc;

impl Peer for AwsLc {
    fn id(&self) -> String {
        "aws-lc".to_owned()
    }

    fn title(&self) -> String {
        "AWS-LC (EVP, EVP_AEAD)".to_owned()
    }

    fn version(&self) -> String {
        // SAFETY: it returns a constant string.
        let said = unsafe { CStr::from_ptr(c::OpenSSL_version(0)) };
        let number = CStr::from_bytes_with_nul(c::AWSLC_VERSION_NUMBER_STRING).unwrap_or_default();
        format!("{} ({})", number.to_string_lossy(), said.to_string_lossy())
    }

    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        if spec.streams != 1 || !takes_part(spec, bytes) {
            return Ok(None);
        }
        if matches!(spec.mode, Mode::Gcm | Mode::GcmSiv) {
            return Aead::prepare(spec, bytes, inputs);
        }
        let Some(cipher) = cipher(spec) else {
            return Ok(None);
        };
        if spec.mode == Mode::Cmac {
            return Mac::prepare(cipher, bytes, inputs).map(Some);
        }
        let context = Context::new(cipher, spec, inputs)?;
        let (iv, aad) = (inputs.iv, inputs.aad);
        let update = match spec.direction {
            Direction::Encrypt => c::EVP_EncryptUpdate as Update,
            Direction::Decrypt => c::EVP_DecryptUpdate,
        };
        let encrypt = spec.direction == Direction::Encrypt;
        Ok(Some(match spec.mode {
            Mode::Xts => Box::new(Sector {
                context,
                update,
                iv,
                bytes,
            }),
            Mode::Ccm => Box::new(Ccm {
                context,
                update,
                encrypt,
                iv,
                aad,
                bytes,
            }),
            _ => Box::new(Stream {
                context,
                update,
                iv,
                bytes,
            }),
        }))
    }
}

fn cipher(spec: Spec) -> Option<*const c::EVP_CIPHER> {
    // SAFETY: these functions return constants.
    Some(unsafe {
        match (spec.mode, spec.key_bits) {
            (Mode::Ecb, 128) => c::EVP_aes_128_ecb(),
            (Mode::Ecb, 192) => c::EVP_aes_192_ecb(),
            (Mode::Ecb, 256) => c::EVP_aes_256_ecb(),
            (Mode::Cbc | Mode::Cmac, 128) => c::EVP_aes_128_cbc(),
            (Mode::Cbc | Mode::Cmac, 192) => c::EVP_aes_192_cbc(),
            (Mode::Cbc | Mode::Cmac, 256) => c::EVP_aes_256_cbc(),
            (Mode::Cfb128, 128) => c::EVP_aes_128_cfb128(),
            (Mode::Cfb128, 192) => c::EVP_aes_192_cfb128(),
            (Mode::Cfb128, 256) => c::EVP_aes_256_cfb128(),
            (Mode::Ofb, 128) => c::EVP_aes_128_ofb(),
            (Mode::Ofb, 192) => c::EVP_aes_192_ofb(),
            (Mode::Ofb, 256) => c::EVP_aes_256_ofb(),
            (Mode::Ctr, 128) => c::EVP_aes_128_ctr(),
            (Mode::Ctr, 192) => c::EVP_aes_192_ctr(),
            (Mode::Ctr, 256) => c::EVP_aes_256_ctr(),
            (Mode::Xts, 256) => c::EVP_aes_256_xts(),
            (Mode::Ccm, 128) => c::EVP_aes_128_ccm(),
            (Mode::Ccm, 192) => c::EVP_aes_192_ccm(),
            (Mode::Ccm, 256) => c::EVP_aes_256_ccm(),
            _ => return None,
        }
    })
}

/// An EVP_CIPHER_CTX that has its key.
struct Context(*mut c::EVP_CIPHER_CTX);

impl Context {
    fn new(cipher: *const c::EVP_CIPHER, spec: Spec, inputs: &Inputs) -> Result<Context> {
        let encrypt = c_int::from(spec.direction == Direction::Encrypt);
        let (key, iv) = (inputs.key.as_ptr(), inputs.iv.as_ptr());
        // SAFETY: key and IV are as long as the cipher wants them. The lengths of CCM's nonce and
        // tag belong before the key.
        unsafe {
            let context = Context(c::EVP_CIPHER_CTX_new());
            let ctx = context.0;
            let mut done =
                c::EVP_CipherInit_ex(ctx, cipher, null_mut(), null(), null(), encrypt) == 1;
            if spec.mode == Mode::Ccm {
                done = done
                    && set(ctx, c::EVP_CTRL_AEAD_SET_IVLEN, NONCE, null())
                    && set(ctx, c::EVP_CTRL_AEAD_SET_TAG, TAG, null());
            }
            done = done
                && c::EVP_CipherInit_ex(ctx, null(), null_mut(), key, iv, encrypt) == 1
                && c::EVP_CIPHER_CTX_set_padding(ctx, 0) == 1;
            match done {
                true => Ok(context),
                false => Err(Error::failure(format!(
                    "AWS-LC does not take the key of {spec:?}"
                ))),
            }
        }
    }

    #[inline]
    fn set_iv(&mut self, iv: &[u8; 16]) -> bool {
        // SAFETY: no cipher takes more than 16 bytes as IV here; -1 leaves the direction.
        unsafe { c::EVP_CipherInit_ex(self.0, null(), null_mut(), null(), iv.as_ptr(), -1) == 1 }
    }
}

/// EVP_CIPHER_CTX_ctrl() with something to read.
unsafe fn set(ctx: *mut c::EVP_CIPHER_CTX, what: i32, len: usize, data: *const u8) -> bool {
    // SAFETY: the caller vouches for the context and the data.
    unsafe { c::EVP_CIPHER_CTX_ctrl(ctx, what, len as c_int, data as *mut c_void) == 1 }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new(), and is freed once.
        unsafe { c::EVP_CIPHER_CTX_free(self.0) }
    }
}

struct Stream {
    context: Context,
    update: Update,
    iv: [u8; 16],
    bytes: usize,
}

impl Operation for Stream {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (input, output) = (&input[..self.bytes], &mut output[..self.bytes]);
        let mut len = 0;
        // SAFETY: there is no padding, so as many bytes are written as are read.
        let done = unsafe {
            (self.update)(
                self.context.0,
                output.as_mut_ptr(),
                &mut len,
                input.as_ptr(),
                self.bytes as c_int,
            )
        };
        assert!(
            done == 1 && len as usize == self.bytes,
            "AWS-LC's update failed"
        );
    }

    fn restart(&mut self) {
        assert!(self.context.set_iv(&self.iv), "AWS-LC takes no new IV");
    }
}

/// XTS: the tweak, and all of the sector.
struct Sector {
    context: Context,
    update: Update,
    iv: [u8; 16],
    bytes: usize,
}

impl Operation for Sector {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (input, output) = (&input[..self.bytes], &mut output[..self.bytes]);
        let mut len = 0;
        // SAFETY: as many bytes are written as are read.
        let done = self.context.set_iv(&self.iv)
            && unsafe {
                (self.update)(
                    self.context.0,
                    output.as_mut_ptr(),
                    &mut len,
                    input.as_ptr(),
                    self.bytes as c_int,
                )
            } == 1;
        assert!(done && len as usize == self.bytes, "AWS-LC's XTS failed");
    }
}

struct Ccm {
    context: Context,
    update: Update,
    encrypt: bool,
    iv: [u8; 16],
    aad: [u8; 13],
    bytes: usize,
}

impl Operation for Ccm {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let more = if self.encrypt { (0, TAG) } else { (TAG, 0) };
        let (input, output) = (
            &input[..self.bytes + more.0],
            &mut output[..self.bytes + more.1],
        );
        let (ctx, bytes) = (self.context.0, self.bytes as c_int);
        let mut len = 0;
        // SAFETY: update writes as many bytes as it reads; the tag lies behind them, in the output
        // or in the input.
        let done = unsafe {
            self.context.set_iv(&self.iv)
                && (self.encrypt
                    || set(
                        ctx,
                        c::EVP_CTRL_AEAD_SET_TAG,
                        TAG,
                        input.as_ptr().add(self.bytes),
                    ))
                && (self.update)(ctx, null_mut(), &mut len, null(), bytes) == 1
                && (self.update)(ctx, null_mut(), &mut len, self.aad.as_ptr(), 13) == 1
                && (self.update)(ctx, output.as_mut_ptr(), &mut len, input.as_ptr(), bytes) == 1
                && (!self.encrypt
                    || c::EVP_CIPHER_CTX_ctrl(
                        ctx,
                        c::EVP_CTRL_AEAD_GET_TAG,
                        TAG as c_int,
                        output.as_mut_ptr().add(self.bytes).cast(),
                    ) == 1)
        };
        assert!(done && len == bytes, "AWS-LC's CCM failed");
    }
}

/// An EVP_AEAD_CTX that has its key, for sealing or opening.
struct Aead(*mut c::EVP_AEAD_CTX);

impl Aead {
    fn prepare(spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Option<Box<dyn Operation>>> {
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
            return Err(Error::failure(format!(
                "AWS-LC does not take the key of {spec:?}"
            )));
        }
        let (aead, nonce, aad) = (Aead(ctx), super::nonce(inputs), inputs.aad);
        Ok(Some(match spec.direction {
            Direction::Encrypt => operation(
                || (),
                move |(), input, output| aead.seal(&nonce, &aad, &input[..bytes], output),
            ),
            Direction::Decrypt => operation(
                || (),
                move |(), input, output| aead.open(&nonce, &aad, input, &mut output[..bytes]),
            ),
        }))
    }

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

struct Mac {
    ctx: *mut c::CMAC_CTX,
    bytes: usize,
}

impl Mac {
    fn prepare(
        cipher: *const c::EVP_CIPHER,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Box<dyn Operation>> {
        // SAFETY: the key is as long as the cipher wants it.
        unsafe {
            let mac = Mac {
                ctx: c::CMAC_CTX_new(),
                bytes,
            };
            let key = &inputs.key;
            match c::CMAC_Init(mac.ctx, key.as_ptr().cast(), key.len(), cipher, null_mut()) {
                1 => Ok(Box::new(mac)),
                _ => Err(Error::failure("AWS-LC's CMAC takes no key")),
            }
        }
    }
}

impl Operation for Mac {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (input, tag) = (&input[..self.bytes], &mut output[..TAG]);
        let mut len = 0;
        // SAFETY: the tag has room for 16 bytes.
        let done = unsafe {
            c::CMAC_Reset(self.ctx) == 1
                && c::CMAC_Update(self.ctx, input.as_ptr(), self.bytes) == 1
                && c::CMAC_Final(self.ctx, tag.as_mut_ptr(), &mut len) == 1
        };
        assert!(done && len == TAG, "AWS-LC does not sign");
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: it came from CMAC_CTX_new(), and is freed once.
        unsafe { c::CMAC_CTX_free(self.ctx) }
    }
}
