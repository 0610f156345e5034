// SPDX-License-Identifier: BSD-2-Clause
//! BoringSSL, opened at run time, and AWS-LC, which began as a copy of it, by the crate aws-lc-sys,
//! which compiles it. Streaming modes and XTS by the EVP_* functions on a live context, GCM and
//! GCM-SIV by EVP_AEAD_CTX_seal_scatter() and _open_gather(), which are quicker than the EVP_*
//! calls for the same. No AES-128-XTS, in BoringSSL's libcrypto none at all. CCM and CMAC are left
//! out: they were never the fastest.

use super::{fetched, single};
use crate::answer::Origin;
use crate::call::{operation, whole, with_tag};
use crate::peer::{Direction, Inputs, Mode, Peer, Prepared, Spec, TAG};
use aws_lc_sys as c;
use libcrypto::functions;
use std::ffi::{c_char, c_int, CStr, CString};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use terminal::error::{Error, Result};

functions! {
    /// include/openssl/cipher.h and aead.h, the same in both.
    Functions {
        fn EVP_get_cipherbyname(*const c_char) -> *const c::EVP_CIPHER;
        fn EVP_CIPHER_CTX_new() -> *mut c::EVP_CIPHER_CTX;
        fn EVP_CIPHER_CTX_free(*mut c::EVP_CIPHER_CTX);
        fn EVP_CIPHER_CTX_set_padding(*mut c::EVP_CIPHER_CTX, c_int) -> c_int;
        fn EVP_CipherInit_ex(*mut c::EVP_CIPHER_CTX, *const c::EVP_CIPHER, *mut c::ENGINE, *const u8, *const u8, c_int) -> c_int;
        fn EVP_CipherUpdate(*mut c::EVP_CIPHER_CTX, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
        fn EVP_aead_aes_128_gcm() -> *const c::EVP_AEAD;
        fn EVP_aead_aes_192_gcm() -> *const c::EVP_AEAD;
        fn EVP_aead_aes_256_gcm() -> *const c::EVP_AEAD;
        fn EVP_aead_aes_128_gcm_siv() -> *const c::EVP_AEAD;
        fn EVP_aead_aes_256_gcm_siv() -> *const c::EVP_AEAD;
        fn EVP_AEAD_CTX_new(*const c::EVP_AEAD, *const u8, usize, usize) -> *mut c::EVP_AEAD_CTX;
        fn EVP_AEAD_CTX_free(*mut c::EVP_AEAD_CTX);
        fn EVP_AEAD_CTX_seal_scatter(*const c::EVP_AEAD_CTX, *mut u8, *mut u8, *mut usize, usize, *const u8, usize, *const u8, usize, *const u8, usize, *const u8, usize) -> c_int;
        fn EVP_AEAD_CTX_open_gather(*const c::EVP_AEAD_CTX, *mut u8, *const u8, usize, *const u8, usize, *const u8, usize, *const u8, usize) -> c_int;
    }
}

/// The functions that are linked into this program.
macro_rules! linked {
    ($($name:ident)*) => { Functions { $($name: c::$name),* } };
}

pub fn aws_lc() -> Peer {
    // SAFETY: it returns a constant string.
    let said = unsafe { CStr::from_ptr(c::OpenSSL_version(0)) };
    let number = CStr::from_bytes_with_nul(c::AWSLC_VERSION_NUMBER_STRING).unwrap_or_default();
    let version = format!("{} ({})", number.to_string_lossy(), said.to_string_lossy());
    let functions = linked! {
        EVP_get_cipherbyname EVP_CIPHER_CTX_new EVP_CIPHER_CTX_free EVP_CIPHER_CTX_set_padding
        EVP_CipherInit_ex EVP_CipherUpdate EVP_aead_aes_128_gcm EVP_aead_aes_192_gcm
        EVP_aead_aes_256_gcm EVP_aead_aes_128_gcm_siv EVP_aead_aes_256_gcm_siv EVP_AEAD_CTX_new
        EVP_AEAD_CTX_free EVP_AEAD_CTX_seal_scatter EVP_AEAD_CTX_open_gather
    };
    let origin = fetched::about("aws-lc").unwrap_or_default().1;
    peer(
        "aws-lc",
        "AWS-LC (EVP, EVP_AEAD)",
        version,
        origin,
        functions,
    )
}

pub fn boringssl() -> Result<Peer> {
    let (version, origin) = fetched::known("boringssl")?;
    let functions = Functions::load(fetched::open("libboringssl.so")?)?;
    let title = "BoringSSL (EVP, EVP_AEAD)";
    Ok(peer("boringssl", title, version, origin, functions))
}

fn peer(id: &str, title: &str, version: String, origin: Origin, f: Functions) -> Peer {
    single(
        id,
        title,
        version,
        origin,
        move |spec, bytes, inputs| match spec.mode {
            Mode::Gcm | Mode::GcmSiv => aead(f, spec, bytes, inputs),
            _ => cipher(f, spec, bytes, inputs),
        },
    )
}

/// The cipher of this name: "aes-128-cbc". None if there is none.
fn named(f: Functions, mode: Mode, key_bits: u16) -> Option<*const c::EVP_CIPHER> {
    let name = CString::new(format!("aes-{key_bits}-{}", mode.name())).ok()?;
    // SAFETY: the name is a C string, and the cipher a constant.
    let cipher = unsafe { (f.EVP_get_cipherbyname)(name.as_ptr()) };
    (!cipher.is_null()).then_some(cipher)
}

fn refused(spec: Spec) -> Error {
    Error::failure(format!("the library does not take the key of {spec:?}"))
}

/// An EVP_CIPHER_CTX that has its key and an IV.
struct Context {
    f: Functions,
    ctx: *mut c::EVP_CIPHER_CTX,
    iv: [u8; 16],
}

impl Context {
    fn new(
        f: Functions,
        cipher: *const c::EVP_CIPHER,
        spec: Spec,
        inputs: &Inputs,
    ) -> Result<Context> {
        let encrypt = c_int::from(spec.direction == Direction::Encrypt);
        let (key, iv) = (inputs.key.as_ptr(), inputs.iv.as_ptr());
        // SAFETY: key and IV are as long as the cipher wants them.
        unsafe {
            let context = Context {
                f,
                ctx: (f.EVP_CIPHER_CTX_new)(),
                iv: inputs.iv,
            };
            let ctx = context.ctx;
            let done = (f.EVP_CipherInit_ex)(ctx, cipher, null_mut(), key, iv, encrypt) == 1
                && (f.EVP_CIPHER_CTX_set_padding)(ctx, 0) == 1;
            done.then_some(context).ok_or_else(|| refused(spec))
        }
    }

    #[inline]
    fn set_iv(&self) {
        let iv = self.iv.as_ptr();
        // SAFETY: no cipher takes more than 16 bytes as IV here; -1 leaves the direction.
        let done =
            unsafe { (self.f.EVP_CipherInit_ex)(self.ctx, null(), null_mut(), null(), iv, -1) };
        assert_eq!(done, 1, "no new IV is taken");
    }

    #[inline]
    fn update(&self, input: &[u8], output: &mut [u8]) {
        let (to, from, n) = (output.as_mut_ptr(), input.as_ptr(), input.len() as c_int);
        let mut len = 0;
        assert!(output.len() >= input.len());
        // SAFETY: there is no padding, so as many bytes are written as are read.
        let done = unsafe { (self.f.EVP_CipherUpdate)(self.ctx, to, &mut len, from, n) };
        assert!(done == 1 && len == n, "the update failed");
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new(), and is freed once.
        unsafe { (self.f.EVP_CIPHER_CTX_free)(self.ctx) }
    }
}

fn cipher(f: Functions, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
    let Some(cipher) = named(f, spec.mode, spec.key_bits) else {
        return Ok(None);
    };
    let context = Rc::new(Context::new(f, cipher, spec, inputs)?);
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

/// An EVP_AEAD_CTX that has its key.
struct Aead(Functions, *mut c::EVP_AEAD_CTX);

fn aead(f: Functions, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
    // SAFETY: these functions return constants; the key is as long as they want it.
    let ctx = unsafe {
        let aead = match (spec.mode, spec.key_bits) {
            (Mode::Gcm, 128) => (f.EVP_aead_aes_128_gcm)(),
            (Mode::Gcm, 192) => (f.EVP_aead_aes_192_gcm)(),
            (Mode::Gcm, 256) => (f.EVP_aead_aes_256_gcm)(),
            (Mode::GcmSiv, 128) => (f.EVP_aead_aes_128_gcm_siv)(),
            (Mode::GcmSiv, 256) => (f.EVP_aead_aes_256_gcm_siv)(),
            _ => return Ok(None),
        };
        (f.EVP_AEAD_CTX_new)(aead, inputs.key.as_ptr(), inputs.key.len(), TAG)
    };
    if ctx.is_null() {
        return Err(refused(spec));
    }
    let (aead, iv, aad) = (Aead(f, ctx), inputs.iv, inputs.aad(spec));
    let seals = spec.direction == Direction::Encrypt;
    Ok(Some(whole(move |input, output| {
        let (out, data, tag) = with_tag(seals, bytes, input, output);
        let (Aead(f, ctx), iv, ad, ad_len) = (&aead, iv.as_ptr(), aad.pointer(), aad.len());
        let mut len = TAG;
        // SAFETY: the data have so many bytes, and the tag its place.
        let done = unsafe {
            match seals {
                true => (f.EVP_AEAD_CTX_seal_scatter)(
                    *ctx,
                    out,
                    tag,
                    &mut len,
                    TAG,
                    iv,
                    NONCE,
                    data,
                    bytes,
                    null(),
                    0,
                    ad,
                    ad_len,
                ),
                false => (f.EVP_AEAD_CTX_open_gather)(
                    *ctx, out, iv, NONCE, data, bytes, tag, TAG, ad, ad_len,
                ),
            }
        };
        assert!(done == 1 && len == TAG, "nothing is sealed or opened");
    })))
}

const NONCE: usize = 12;

impl Drop for Aead {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_AEAD_CTX_new(), and is freed once.
        unsafe { (self.0.EVP_AEAD_CTX_free)(self.1) }
    }
}
