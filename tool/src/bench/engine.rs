// SPDX-License-Identifier: BSD-2-Clause
//! The kernel through OpenSSL's own engine "afalg", which OpenSSL 3 still has and OpenSSL 4 has
//! not. It knows CBC alone.

use super::afalg;
use super::evp::{key, IV};
use super::job::{sample_in_place, Job};
use crate::ciphers::Cipher;
use ::measure::place::Buffer;
use catalogue::Direction;
use libcrypto::functions::{Functions, Ptr, Update};
use libcrypto::LibCrypto;
use std::ffi::{c_char, c_int, CString};
use terminal::error::{Error, Result};

libcrypto::functions! {
    /// include/openssl/engine.h, evp.h
    Engines {
        fn ENGINE_by_id(*const c_char) -> Ptr;
        fn ENGINE_init(Ptr) -> c_int;
        fn ENGINE_finish(Ptr) -> c_int;
        fn ENGINE_free(Ptr) -> c_int;
        fn EVP_get_cipherbyname(*const c_char) -> Ptr;
        fn EVP_CipherInit_ex(Ptr, Ptr, Ptr, *const u8, *const u8, c_int) -> c_int;
    }
}

/// The engine, initialised.
struct Engine {
    calls: Engines,
    engine: Ptr,
}

impl Engine {
    /// Or what is in its way.
    fn new(libcrypto: &LibCrypto) -> Result<Engine> {
        // The engine itself would only say that it does not load.
        afalg::probe().map_err(|(why, _)| Error::absent(why))?;
        let none = |_| Error::absent(format!("{} has no engines", libcrypto.short_version()));
        let calls = Engines::load(libcrypto.library).map_err(none)?;
        // SAFETY: the name is a C string.
        let engine = unsafe { (calls.ENGINE_by_id)(c"afalg".as_ptr()) };
        let refused = |what: &str| {
            let said = libcrypto.take_error();
            Error::absent(format!("{what} of {}: {said}", libcrypto.short_version()))
        };
        if engine.is_null() {
            return Err(refused("ENGINE_by_id(\"afalg\")"));
        }
        // SAFETY: ENGINE_by_id() returned this engine, and it is not NULL.
        if unsafe { (calls.ENGINE_init)(engine) } != 1 {
            // SAFETY: this releases the reference of ENGINE_by_id(); nothing uses it later.
            unsafe { (calls.ENGINE_free)(engine) };
            return Err(refused("ENGINE_init"));
        }
        Ok(Engine { calls, engine })
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: this releases both references of new(); nothing uses them later.
        unsafe {
            (self.calls.ENGINE_finish)(self.engine);
            (self.calls.ENGINE_free)(self.engine);
        }
    }
}

/// Whether this libcrypto has the engine and the engine works, or why not.
pub fn probe(libcrypto: &LibCrypto) -> Result<()> {
    Engine::new(libcrypto).map(drop)
}

pub struct EngineJob {
    f: Functions,
    update: Update,
    engine: Engine,
    cipher: Ptr,
    context: Ptr,
    subject: Cipher,
    direction: Direction,
    buffer: Buffer,
    bytes: usize,
}

// SAFETY: libcrypto ties no context or engine to a thread, and only the owner calls them.
unsafe impl Send for EngineJob {}

/// The engine sends all of a call before it fetches anything, so more than a socket takes would
/// wait forever.
fn fits(bytes: usize) -> Result<()> {
    let capacity = afalg::capacity()?;
    match bytes <= capacity {
        true => Ok(()),
        false => Err(Error::absent(format!(
            "the engine would wait forever in calls of more than {capacity} bytes, which is what a socket takes"
        ))),
    }
}

impl EngineJob {
    pub fn new(
        libcrypto: &LibCrypto,
        subject: Cipher,
        direction: Direction,
        bytes: usize,
    ) -> Result<EngineJob> {
        fits(bytes)?;
        let f = libcrypto.functions;
        let name = CString::new(subject.name()).expect("a name without zero bytes");
        let engine = Engine::new(libcrypto)?;
        let job = EngineJob {
            f,
            update: match direction {
                Direction::Encrypt => f.EVP_EncryptUpdate,
                Direction::Decrypt => f.EVP_DecryptUpdate,
            },
            // SAFETY: `name` is a C string that outlives the call.
            cipher: unsafe { (engine.calls.EVP_get_cipherbyname)(name.as_ptr()) },
            engine,
            // SAFETY: EVP_CIPHER_CTX_new() has no requirements.
            context: unsafe { (f.EVP_CIPHER_CTX_new)() },
            subject,
            direction,
            buffer: Buffer::new(bytes),
            bytes,
        };
        job.start()?;
        Ok(job)
    }

    fn start(&self) -> Result<()> {
        let key = key(self.subject);
        let encrypt = c_int::from(self.direction == Direction::Encrypt);
        let init = self.engine.calls.EVP_CipherInit_ex;
        // SAFETY: the key and the IV are as long as the cipher needs, and outlive the call.
        let status = unsafe {
            init(
                self.context,
                self.cipher,
                self.engine.engine,
                key.as_ptr(),
                IV.as_ptr(),
                encrypt,
            ) & (self.f.EVP_CIPHER_CTX_set_padding)(self.context, 0)
        };
        self.check(status, "EVP_CipherInit_ex")
    }

    fn check(&self, status: c_int, what: &str) -> Result<()> {
        let name = self.subject.title();
        match status {
            1 => Ok(()),
            _ => Err(Error::failure(format!(
                "{what} with the engine afalg failed for {name}"
            ))),
        }
    }
}

impl Drop for EngineJob {
    fn drop(&mut self) {
        // SAFETY: this value owns the context, and nothing uses it later.
        unsafe { (self.f.EVP_CIPHER_CTX_free)(self.context) }
    }
}

impl Job for EngineJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let (update, context) = (self.update, self.context);
        let (data, len) = (self.buffer.data().as_mut_ptr(), self.bytes as c_int);
        let mut status = 1;
        for _ in 0..calls {
            let mut written = 0;
            // SAFETY: the buffer has `len` bytes, in whole blocks, so the output fits.
            status &= unsafe { update(context, data, &mut written, data, len) };
        }
        self.check(status, "EVP_CipherUpdate")?;
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
