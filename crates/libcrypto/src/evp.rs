// SPDX-License-Identifier: BSD-2-Clause
//! The EVP calls that are timed, the same for all who measure: a live context and
//! EVP_EncryptUpdate() for the modes that stream; for messages the IV alone by
//! EVP_EncryptInit_ex2(), additional data, data, EVP_EncryptFinal_ex(), and the tag by
//! EVP_CIPHER_CTX_get_params().

use crate::functions::{
    Final, Functions, Init, Param, Ptr, Update, OSSL_PARAM_OCTET_STRING,
    OSSL_PARAM_UNSIGNED_INTEGER, OSSL_PARAM_UTF8_STRING,
};
use catalogue::{Call, Direction, Mode, Shape};
use std::ffi::{c_int, CStr, CString};
use std::ptr::{null, null_mut};
use terminal::error::{Error, Result};

/// The bytes of the tag of an AEAD or MAC.
pub const TAG: usize = 16;
/// The bytes of the nonce of an AEAD.
const NONCE: usize = 12;

/// Where ciphers are fetched from.
#[derive(Clone)]
pub struct Source {
    pub f: Functions,
    /// The library context; NULL is the default one. It lives as long as the source is used.
    pub context: Ptr,
    /// Such as "provider=default".
    pub properties: CString,
}

impl Source {
    /// NULL if the provider has no such cipher.
    pub fn fetch(&self, name: &CStr) -> Ptr {
        let (context, properties) = (self.context, self.properties.as_ptr());
        // SAFETY: the context lives, and both are C strings.
        unsafe { (self.f.EVP_CIPHER_fetch)(context, name.as_ptr(), properties) }
    }
}

/// What a context begins with.
pub struct Setup<'a> {
    /// The name that EVP fetches; of a MAC that of its cipher.
    pub name: &'a CStr,
    pub mode: Mode,
    pub direction: Direction,
    pub key: &'a [u8],
    pub iv: [u8; 16],
}

fn refused(name: &CStr) -> Error {
    let name = name.to_string_lossy();
    Error::failure(format!("{name} does not take its key"))
}

/// The tag of an AEAD.
fn tag_at(data: *const u8) -> Param {
    Param::new(c"tag", OSSL_PARAM_OCTET_STRING, data, TAG)
}

/// An EVP_CIPHER_CTX that has its key.
pub struct Context {
    pub f: Functions,
    pub ctx: Ptr,
    pub encrypt: bool,
}

// SAFETY: libcrypto ties no context to a thread, and only the owner calls it.
unsafe impl Send for Context {}

impl Context {
    /// Without a cipher and a key.
    pub fn empty(f: Functions, direction: Direction) -> Context {
        Context {
            f,
            // SAFETY: it may be called at any time.
            ctx: unsafe { (f.EVP_CIPHER_CTX_new)() },
            encrypt: direction == Direction::Encrypt,
        }
    }

    /// None if there is no such cipher.
    pub fn new(source: &Source, setup: &Setup) -> Result<Option<Context>> {
        let Setup { name, mode, .. } = *setup;
        let cipher = source.fetch(name);
        if cipher.is_null() {
            return Ok(None);
        }
        let context = Context::empty(source.f, setup.direction);
        let (f, ctx, (init, ..)) = (context.f, context.ctx, context.calls());
        // The lengths of CCM's nonce and tag belong before the key (EVP_EncryptInit(3)).
        let (number, size) = (OSSL_PARAM_UNSIGNED_INTEGER, std::mem::size_of::<usize>());
        let lengths = [
            Param::new(c"ivlen", number, &NONCE, size),
            tag_at(null()),
            Param::END,
        ];
        let lengths = match mode {
            Mode::Ccm => lengths.as_ptr(),
            _ => null(),
        };
        // Key wrap has a default IV.
        let iv = match mode {
            Mode::Ecb | Mode::Siv => null(),
            mode if mode.wraps() => null(),
            _ => setup.iv.as_ptr(),
        };
        // Padding is switched off only where there is some: a context that has it off hands that
        // to the provider at each init.
        let padded = matches!(mode, Mode::Ecb | Mode::Cbc);
        // SAFETY: all pointers are to live C strings, buffers and parameters.
        let done = unsafe {
            let done = init(ctx, cipher, null(), null(), lengths) == 1
                && init(ctx, null(), setup.key.as_ptr(), iv, null()) == 1
                && (!padded || (f.EVP_CIPHER_CTX_set_padding)(ctx, 0) == 1);
            (f.EVP_CIPHER_free)(cipher);
            done
        };
        match done {
            true => Ok(Some(context)),
            false => Err(refused(name)),
        }
    }

    /// The calls of its direction.
    pub fn calls(&self) -> (Init, Update, Final) {
        let f = &self.f;
        match self.encrypt {
            true => (
                f.EVP_EncryptInit_ex2,
                f.EVP_EncryptUpdate,
                f.EVP_EncryptFinal_ex,
            ),
            false => (
                f.EVP_DecryptInit_ex2,
                f.EVP_DecryptUpdate,
                f.EVP_DecryptFinal_ex,
            ),
        }
    }

    /// Sets a new IV.
    pub fn restart(&self, iv: &[u8; 16]) {
        // SAFETY: the context has its cipher and key; no cipher takes more than 16 bytes as IV
        // here.
        let done = unsafe { self.calls().0(self.ctx, null(), null(), iv.as_ptr(), null()) };
        assert_eq!(done, 1, "EVP takes no new IV");
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_CIPHER_CTX_new(), and is freed once.
        unsafe { (self.f.EVP_CIPHER_CTX_free)(self.ctx) }
    }
}

/// Data that go on where the last call ended, or whole messages without a tag.
pub struct Stream {
    pub context: Context,
    init: Init,
    update: Update,
}

impl Stream {
    pub fn new(context: Context) -> Stream {
        let (init, update, _) = context.calls();
        Stream {
            context,
            init,
            update,
        }
    }

    /// Whether it succeeds.
    ///
    /// # Safety
    /// Both are valid for `len` bytes, in whole blocks for ECB and CBC.
    #[inline]
    pub unsafe fn call(&self, out: *mut u8, input: *const u8, len: usize) -> bool {
        let mut written = 0;
        // SAFETY: the caller's; there is no padding, so as many bytes are written as are read.
        let done =
            unsafe { (self.update)(self.context.ctx, out, &mut written, input, len as c_int) };
        done == 1 && written as usize == len
    }

    /// A whole message of XTS or CBC-CTS. Whether it succeeds.
    ///
    /// # Safety
    /// Both are valid for `len` bytes.
    #[inline]
    pub unsafe fn sector(&self, iv: &[u8; 16], out: *mut u8, input: *const u8, len: usize) -> bool {
        let (ctx, iv) = (self.context.ctx, iv.as_ptr());
        // SAFETY: the IV has 16 bytes; the rest is the caller's.
        unsafe { (self.init)(ctx, null(), null(), iv, null()) == 1 && self.call(out, input, len) }
    }
}

/// Whole messages of an authenticated mode.
pub struct Message {
    context: Context,
    init: Init,
    update: Update,
    finish: Final,
    shape: Shape,
    /// Of SIV, which has no IV: a message begins with the key.
    key: Vec<u8>,
    pub iv: [u8; 16],
    aad: Vec<u8>,
}

impl Message {
    /// None if the mode has none.
    pub fn new(context: Context, setup: &Setup, aad: &[u8]) -> Option<Message> {
        let Call::Message(shape) = setup.mode.row().call else {
            return None;
        };
        let (init, update, finish) = context.calls();
        Some(Message {
            init,
            update,
            finish,
            shape,
            key: setup.key.to_vec(),
            iv: setup.iv,
            aad: aad.to_vec(),
            context,
        })
    }

    /// Whether it succeeds. `tag` is written when sealing, and read when opening.
    ///
    /// # Safety
    /// The pointers are valid for `len` bytes, and the tag for TAG.
    #[inline]
    pub unsafe fn call(&self, out: *mut u8, input: *const u8, len: usize, tag: *mut u8) -> bool {
        let (ctx, init, update) = (self.context.ctx, self.init, self.update);
        let (encrypt, shape) = (self.context.encrypt, self.shape);
        let (key, iv) = match shape.iv {
            0 => (self.key.as_ptr(), null()),
            _ => (null(), self.iv.as_ptr()),
        };
        let (aad, aad_len, bytes) = (self.aad.as_ptr(), self.aad.len() as c_int, len as c_int);
        let mut tag = [tag_at(tag), Param::END];
        let given = if encrypt { null() } else { tag.as_ptr() };
        let (mut n, mut rest) = (0, 0);
        // SAFETY: update and final together write as many bytes as are read. CCM has to know the
        // length first (EVP_EncryptInit(3)), and has nothing left for final. OpenSSL's GCM-SIV,
        // and ours as it does, keeps the additional data of the message before, until there is
        // some of length 0 (3.5.5, 4.0.3: aes_gcm_siv_aad() in
        // providers/implementations/ciphers/cipher_aes_gcm_siv_hw.c).
        let done = unsafe {
            init(ctx, null(), key, iv, given) == 1
                && (!shape.announced || update(ctx, null_mut(), &mut n, null(), bytes) == 1)
                && (!shape.empty_aad_first || update(ctx, null_mut(), &mut n, aad, 0) == 1)
                && update(ctx, null_mut(), &mut n, aad, aad_len) == 1
                && update(ctx, out, &mut n, input, bytes) == 1
                && (shape.announced || (self.finish)(ctx, out.add(n as usize), &mut rest) == 1)
                && (!encrypt
                    || (self.context.f.EVP_CIPHER_CTX_get_params)(ctx, tag.as_mut_ptr()) == 1)
        };
        done && n + rest == bytes
    }
}

/// CMAC by EVP_MAC: begun anew with the key that is there.
pub struct Mac {
    f: Functions,
    ctx: Ptr,
}

// SAFETY: libcrypto ties no context to a thread, and only the owner calls it.
unsafe impl Send for Mac {}

impl Mac {
    /// None if there is no CMAC.
    pub fn new(source: &Source, setup: &Setup) -> Result<Option<Mac>> {
        let (f, properties) = (source.f, source.properties.as_ptr());
        // SAFETY: all pointers are to live C strings, buffers and parameters.
        unsafe {
            let mac = (f.EVP_MAC_fetch)(source.context, c"CMAC".as_ptr(), properties);
            if mac.is_null() {
                return Ok(None);
            }
            let cipher = setup.name.as_ptr();
            let params = [
                Param::new(c"cipher", OSSL_PARAM_UTF8_STRING, cipher, 0),
                Param::END,
            ];
            let made = Mac {
                f,
                ctx: (f.EVP_MAC_CTX_new)(mac),
            };
            (f.EVP_MAC_free)(mac);
            let (key, len) = (setup.key.as_ptr(), setup.key.len());
            match (f.EVP_MAC_init)(made.ctx, key, len, params.as_ptr()) {
                1 => Ok(Some(made)),
                _ => Err(refused(c"CMAC")),
            }
        }
    }

    /// Whether it succeeds.
    #[inline]
    pub fn call(&self, input: &[u8], tag: &mut [u8; TAG]) -> bool {
        let mut len = 0;
        // SAFETY: each pointer has its length; new() has set the cipher and the key.
        let done = unsafe {
            (self.f.EVP_MAC_init)(self.ctx, null(), 0, null()) == 1
                && (self.f.EVP_MAC_update)(self.ctx, input.as_ptr(), input.len()) == 1
                && (self.f.EVP_MAC_final)(self.ctx, tag.as_mut_ptr(), &mut len, TAG) == 1
        };
        done && len == TAG
    }
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: it came from EVP_MAC_CTX_new(), and is freed once.
        unsafe { (self.f.EVP_MAC_CTX_free)(self.ctx) }
    }
}
