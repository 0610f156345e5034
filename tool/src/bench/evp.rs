// SPDX-License-Identifier: BSD-2-Clause
//! A cipher through libcrypto's EVP interface, as `openssl speed -evp` drives it: one initialised
//! context, the same buffer in place again and again; or whole messages, as with its `-aead`.

use super::implementation::Implementation;
use super::job::{sample_in_place, Job};
use super::message::{nonce, Messages, Tag, AAD, TAG_BYTES};
use crate::ciphers::{Call, Cipher, Shape};
use ::measure::place::Buffer;
use catalogue::Direction;
use libcrypto::functions::{
    Functions, Param, Ptr, Update, EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_IVLEN,
    EVP_CTRL_AEAD_SET_TAG, OSSL_PARAM_UTF8_PTR,
};
use libcrypto::LibCrypto;
use std::ffi::{c_char, c_int, CStr, CString};
use std::ptr::{addr_of_mut, null, null_mut};
use terminal::error::{Error, Result};

/// What the provider's parameter "selected-backend" says. This environment's configuration loads
/// it.
pub fn selected_backend(libcrypto: &LibCrypto, provider: &CStr) -> Result<String> {
    let provider = libcrypto.load_provider(provider)?;
    let get = libcrypto.functions.OSSL_PROVIDER_get_params;
    let mut name: *const c_char = null();
    let key = c"selected-backend";
    let data = addr_of_mut!(name);
    let mut params = [Param::new(key, OSSL_PARAM_UTF8_PTR, data, 0), Param::END];
    // SAFETY: an end marker closes the parameters; `name`, which they point to, outlives the call.
    match unsafe { get(provider, params.as_mut_ptr()) } {
        // SAFETY: the provider set `name` to a C string of its own, and it stays loaded.
        1 if !name.is_null() => Ok(unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned()),
        _ => Err(Error::failure("the provider does not tell its backend")),
    }
}

/// The key of all measurements.
pub fn key(subject: Cipher) -> Vec<u8> {
    (1..=subject.key_bytes() as u8).collect()
}

/// The IV of all measurements.
pub const IV: [u8; 16] = [0x5a; 16];

/// A cipher, fetched from the implementation's provider and from nowhere else, with a context.
struct Fetched {
    f: Functions,
    subject: Cipher,
    direction: Direction,
    cipher: Ptr,
    context: Ptr,
}

// SAFETY: libcrypto ties no context to a thread, and only the owner calls it.
unsafe impl Send for Fetched {}

impl Fetched {
    fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        subject: Cipher,
        direction: Direction,
    ) -> Result<Fetched> {
        let f = libcrypto.functions;
        let provider = implementation.provider(subject.is_legacy());
        let name = CString::new(subject.fetched()).expect("a name without zero bytes");
        let properties = CString::new(format!("provider={provider}")).expect("the same");
        // SAFETY: both strings outlive the call, and NULL stands for the default library context.
        let fetched =
            unsafe { (f.EVP_CIPHER_fetch)(null_mut(), name.as_ptr(), properties.as_ptr()) };
        if fetched.is_null() {
            return Err(absent(libcrypto, provider, subject));
        }
        let cipher = Fetched {
            f,
            subject,
            direction,
            cipher: fetched,
            // SAFETY: EVP_CIPHER_CTX_new() has no requirements.
            context: unsafe { (f.EVP_CIPHER_CTX_new)() },
        };
        // SAFETY: a fetched cipher has a provider; `cipher` keeps it alive while `from` is used.
        let from = unsafe {
            let provider = (f.EVP_CIPHER_get0_provider)(fetched);
            CStr::from_ptr((f.OSSL_PROVIDER_get0_name)(provider)).to_string_lossy()
        };
        verify_provider(subject, &from, provider)?;
        Ok(cipher)
    }

    fn check(&self, status: c_int, what: &str) -> Result<()> {
        match status {
            1 => Ok(()),
            _ => Err(Error::failure(format!(
                "{what} failed for {}, {}",
                self.subject.title(),
                self.direction.name()
            ))),
        }
    }

    fn init(&self, cipher: Ptr, key: Option<&[u8]>, iv: Option<&[u8]>) -> c_int {
        let pointer = |bytes: Option<&[u8]>| bytes.map_or(null(), <[u8]>::as_ptr);
        let (key, iv) = (pointer(key), pointer(iv));
        let encrypt = c_int::from(self.direction == Direction::Encrypt);
        let init = self.f.EVP_CipherInit_ex2;
        // SAFETY: the callers pass a key and an IV as long as the cipher needs, or NULL.
        unsafe { init(self.context, cipher, key, iv, encrypt, null()) }
    }

    fn control(&self, command: c_int, value: usize, data: *mut u8) -> c_int {
        // SAFETY: the callers pass NULL, or a tag of `value` bytes.
        unsafe { (self.f.EVP_CIPHER_CTX_ctrl)(self.context, command, value as c_int, data.cast()) }
    }

    fn update(&self) -> Update {
        match self.direction {
            Direction::Encrypt => self.f.EVP_EncryptUpdate,
            Direction::Decrypt => self.f.EVP_DecryptUpdate,
        }
    }
}

impl Drop for Fetched {
    fn drop(&mut self) {
        // SAFETY: this value owns both, and nothing uses them later.
        unsafe {
            (self.f.EVP_CIPHER_CTX_free)(self.context);
            (self.f.EVP_CIPHER_free)(self.cipher);
        }
    }
}

/// The error of a fetch that found nothing.
pub fn absent(libcrypto: &LibCrypto, provider: &str, subject: Cipher) -> Error {
    libcrypto.take_error(); // "unsupported", in many words
    Error::absent(format!(
        "{} has no {}",
        match provider {
            "tenrounds" => provider.to_owned(),
            _ => libcrypto.short_version(),
        },
        subject.title()
    ))
}

pub fn verify_provider(subject: Cipher, from: &str, wanted: &str) -> Result<()> {
    match from == wanted {
        true => Ok(()),
        false => Err(Error::failure(format!(
            "{} comes from the provider \"{from}\" instead of \"{wanted}\"",
            subject.title()
        ))),
    }
}

/// One long message.
pub struct StreamJob {
    cipher: Fetched,
    buffer: Buffer,
    bytes: usize,
}

impl StreamJob {
    pub fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        subject: Cipher,
        direction: Direction,
        bytes: usize,
    ) -> Result<StreamJob> {
        let job = StreamJob {
            cipher: Fetched::new(libcrypto, implementation, subject, direction)?,
            buffer: Buffer::new(bytes),
            bytes,
        };
        job.start()?;
        Ok(job)
    }

    fn start(&self) -> Result<()> {
        let c = &self.cipher;
        let status = c.init(c.cipher, Some(&key(c.subject)), Some(&IV));
        c.check(status, "EVP_CipherInit_ex2")?;
        // A padded decryption would hold back a block of each call.
        // SAFETY: EVP_CipherInit_ex2() has just given this context its cipher.
        let status = unsafe { (c.f.EVP_CIPHER_CTX_set_padding)(c.context, 0) };
        c.check(status, "EVP_CIPHER_CTX_set_padding")
    }
}

impl Job for StreamJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let (update, context) = (self.cipher.update(), self.cipher.context);
        let (data, len) = (self.buffer.data().as_mut_ptr(), self.bytes as c_int);
        let mut status = 1;
        for _ in 0..calls {
            let mut written = 0;
            // SAFETY: the buffer has `len` bytes, in whole blocks for ECB and CBC, so output fits.
            status &= unsafe { update(context, data, &mut written, data, len) };
        }
        self.cipher.check(status, "EVP_CipherUpdate")?;
        Ok(calls * self.bytes as u64)
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        self.start()?;
        sample_in_place(self, |job| &mut job.buffer)
    }
}

/// Whole messages: the IV alone is set anew (the key only where there is no IV), then additional
/// data, data, end and tag.
pub struct EvpMessages {
    cipher: Fetched,
    shape: Shape,
    key: Vec<u8>,
}

impl EvpMessages {
    pub fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        subject: Cipher,
        direction: Direction,
    ) -> Result<EvpMessages> {
        let Call::Message(shape) = subject.call() else {
            return Err(Error::usage(format!("{} has no messages", subject.title())));
        };
        let cipher = Fetched::new(libcrypto, implementation, subject, direction)?;
        let key = key(subject);
        let null = null_mut();
        let mut status = cipher.init(cipher.cipher, None, None);
        if shape.authenticated && shape.iv != 0 {
            status &= cipher.control(EVP_CTRL_AEAD_SET_IVLEN, shape.iv, null);
        }
        if shape.announced {
            status &= cipher.control(EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, null);
        }
        let iv = (shape.iv != 0).then_some(&IV[..]);
        status &= cipher.init(null.cast(), Some(&key), iv);
        cipher.check(status, "setting up")?;
        Ok(EvpMessages { cipher, shape, key })
    }

    /// One message. The tag is read where it is decrypted, and written where not.
    fn message(
        &self,
        number: u64,
        out: *mut u8,
        input: *const u8,
        len: usize,
        tag: &mut Tag,
    ) -> c_int {
        let (c, shape) = (&self.cipher, self.shape);
        let (update, tag) = (c.update(), tag.as_mut_ptr());
        let decrypts = c.direction == Direction::Decrypt;
        let null = null_mut();
        let (nonce, mut written, mut rest) = (nonce(number), 0, 0);
        let mut status = match shape.iv {
            0 => c.init(null, Some(&self.key), None),
            _ => c.init(null, None, Some(&nonce)),
        };
        if !shape.authenticated {
            // SAFETY: the callers pass `len` readable bytes and room for as many.
            return status & unsafe { update(c.context, out, &mut written, input, len as c_int) };
        }
        if decrypts {
            status &= c.control(EVP_CTRL_AEAD_SET_TAG, TAG_BYTES, tag);
        }
        let null = null.cast();
        // SAFETY: the callers pass `len` readable bytes and room for as many, including the tail.
        unsafe {
            if shape.announced {
                status &= update(c.context, null, &mut written, null, len as c_int);
            }
            if shape.empty_aad_first {
                status &= update(c.context, null, &mut written, AAD.as_ptr(), 0);
            }
            status &= update(
                c.context,
                null,
                &mut written,
                AAD.as_ptr(),
                AAD.len() as c_int,
            );
            status &= update(c.context, out, &mut written, input, len as c_int);
            // OCB holds back what is not a whole block.
            let end = out.add(written as usize);
            status &= (c.f.EVP_CipherFinal_ex)(c.context, end, &mut rest);
        }
        match decrypts {
            true => status,
            false => status & c.control(EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag),
        }
    }
}

impl Messages for EvpMessages {
    fn seal(&mut self, times: u64, data: &mut [u8]) -> Result<Tag> {
        let (mut status, mut tag) = (1, Tag::default());
        let (out, len) = (data.as_mut_ptr(), data.len());
        for number in 0..times {
            status &= self.message(number, out, out, len, &mut tag);
        }
        self.cipher.check(status, "sealing a message")?;
        Ok(tag)
    }

    fn open(&mut self, times: u64, out: &mut [u8], sealed: &[u8], tag: &Tag) -> Result<()> {
        assert_eq!(out.len(), sealed.len());
        let (mut status, mut tag) = (1, *tag);
        for _ in 0..times {
            status &= self.message(0, out.as_mut_ptr(), sealed.as_ptr(), sealed.len(), &mut tag);
        }
        self.cipher.check(status, "opening a message")
    }
}
