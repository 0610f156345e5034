// SPDX-License-Identifier: BSD-2-Clause
//! The kernel through OpenSSL's own engine "afalg", which OpenSSL 3 still has and OpenSSL 4 has not. It knows
//! CBC alone.

use super::afalg;
use super::evp::{key, Ptr, IV};
use super::job::{sample_in_place, Job};
use super::subject::Subject;
use crate::algorithm::Direction;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use ::measure::place::Buffer;
use std::ffi::{c_char, c_int, CString};

const AFALG: &[u8] = b"afalg\0";

type UpdateFn = unsafe extern "C" fn(Ptr, *mut u8, *mut c_int, *const u8, c_int) -> c_int;

/// The functions of libcrypto that are needed here besides those that every OpenSSL has.
struct Api {
    engine_free: unsafe extern "C" fn(Ptr) -> c_int,
    engine_finish: unsafe extern "C" fn(Ptr) -> c_int,
    free: unsafe extern "C" fn(Ptr),
    init: unsafe extern "C" fn(Ptr, Ptr, Ptr, *const u8, *const u8, c_int) -> c_int,
    set_padding: unsafe extern "C" fn(Ptr, c_int) -> c_int,
    update: UpdateFn,
}

pub struct EngineJob {
    api: Api,
    engine: Ptr,
    cipher: Ptr,
    context: Ptr,
    subject: Subject,
    direction: Direction,
    buffer: Buffer,
    bytes: usize,
}

// SAFETY: libcrypto ties no context or engine to a thread, and only the owner calls them.
unsafe impl Send for EngineJob {}

type ById = unsafe extern "C" fn(*const c_char) -> Ptr;
type Status = unsafe extern "C" fn(Ptr) -> c_int;

/// The engine, initialised, or what is in its way.
fn engine(libcrypto: &LibCrypto) -> Result<(Ptr, Status, Status)> {
    // The engine itself would only say that it does not load.
    afalg::probe().map_err(|(why, _)| Error::absent(why))?;
    let none = |_| Error::absent(format!("{} has no engines", libcrypto.short_version()));
    let by_id: ById = libcrypto.symbol("ENGINE_by_id").map_err(none)?;
    let init: Status = libcrypto.symbol("ENGINE_init").map_err(none)?;
    let free: Status = libcrypto.symbol("ENGINE_free").map_err(none)?;
    let finish: Status = libcrypto.symbol("ENGINE_finish").map_err(none)?;
    // SAFETY: AFALG ends with a zero byte.
    let engine = unsafe { by_id(AFALG.as_ptr().cast()) };
    let refused = |what: &str| {
        let said = libcrypto.take_error();
        Error::absent(format!("{what} of {}: {said}", libcrypto.short_version()))
    };
    if engine.is_null() {
        return Err(refused("ENGINE_by_id(\"afalg\")"));
    }
    // SAFETY: ENGINE_by_id() returned this engine, and it is not NULL.
    if unsafe { init(engine) } != 1 {
        // SAFETY: this releases the reference of ENGINE_by_id(); nothing uses it later.
        unsafe { free(engine) };
        return Err(refused("ENGINE_init"));
    }
    Ok((engine, free, finish))
}

/// Whether this libcrypto has the engine and the engine works, or why not.
pub fn probe(libcrypto: &LibCrypto) -> Result<()> {
    let (engine, free, finish) = engine(libcrypto)?;
    // SAFETY: this releases both references of engine(); nothing uses them later.
    unsafe {
        finish(engine);
        free(engine);
    }
    Ok(())
}

/// The engine sends all of a call before it fetches anything, so more than a socket takes would wait forever.
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
        subject: Subject,
        direction: Direction,
        bytes: usize,
    ) -> Result<EngineJob> {
        fits(bytes)?;
        let new: unsafe extern "C" fn() -> Ptr = libcrypto.symbol("EVP_CIPHER_CTX_new")?;
        let by_name: ById = libcrypto.symbol("EVP_get_cipherbyname")?;
        let update = match direction {
            Direction::Encrypt => "EVP_EncryptUpdate",
            Direction::Decrypt => "EVP_DecryptUpdate",
        };
        let free = libcrypto.symbol("EVP_CIPHER_CTX_free")?;
        let init = libcrypto.symbol("EVP_CipherInit_ex")?;
        let set_padding = libcrypto.symbol("EVP_CIPHER_CTX_set_padding")?;
        let update = libcrypto.symbol(update)?;
        let name = CString::new(subject.name()).expect("a name without zero bytes");
        let (engine, engine_free, engine_finish) = engine(libcrypto)?;
        let job = EngineJob {
            api: Api {
                engine_free,
                engine_finish,
                free,
                init,
                set_padding,
                update,
            },
            engine,
            // SAFETY: `name` is a C string that outlives the call.
            cipher: unsafe { by_name(name.as_ptr()) },
            // SAFETY: EVP_CIPHER_CTX_new() has no requirements.
            context: unsafe { new() },
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
        let (init, set_padding) = (self.api.init, self.api.set_padding);
        // SAFETY: the key and the IV are as long as the cipher needs, and outlive the call.
        let status = unsafe {
            init(
                self.context,
                self.cipher,
                self.engine,
                key.as_ptr(),
                IV.as_ptr(),
                encrypt,
            ) & set_padding(self.context, 0)
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
        // SAFETY: this value owns the context and both references; nothing uses them later.
        unsafe {
            (self.api.free)(self.context);
            (self.api.engine_finish)(self.engine);
            (self.api.engine_free)(self.engine);
        }
    }
}

impl Job for EngineJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let (update, context) = (self.api.update, self.context);
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
