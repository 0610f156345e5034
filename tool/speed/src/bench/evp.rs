// SPDX-License-Identifier: BSD-2-Clause
//! A cipher through libcrypto's EVP interface, as `openssl speed -evp` drives it: one initialised
//! context, the same buffer in place again and again; or whole messages, as with its `-aead`.

use super::implementation::Implementation;
use super::job::{sample_in_place, Job};
use super::message::{nonce, Messages, Tag, AAD};
use ::measure::place::Buffer;
use base::ciphers::{Call, Cipher};
use catalogue::Direction;
use libcrypto::evp::{Context, Mac, Message, Sector, Setup, Source, Stream};
use libcrypto::functions::{Param, OSSL_PARAM_UTF8_PTR};
use libcrypto::LibCrypto;
use std::ffi::{c_char, CStr, CString};
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

/// A cipher of one implementation, in one direction.
pub struct Evp<'a> {
    libcrypto: &'a LibCrypto,
    provider: &'static str,
    cipher: Cipher,
    direction: Direction,
}

impl Evp<'_> {
    pub fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        cipher: Cipher,
        direction: Direction,
    ) -> Evp<'_> {
        Evp {
            libcrypto,
            provider: implementation.provider(cipher.is_legacy()),
            cipher,
            direction,
        }
    }

    /// Fetches from the implementation's provider and from nowhere else, and prepares.
    fn made<T>(&self, make: impl FnOnce(&Source, &Setup) -> Result<Option<T>>) -> Result<T> {
        let name = match self.cipher.call() {
            Call::Mac => format!("AES-{}-CBC", self.cipher.key_bits()),
            _ => self.cipher.fetched(),
        };
        let string = |text| CString::new(text).expect("a name without zero bytes");
        let source = Source {
            f: self.libcrypto.functions,
            context: null_mut(),
            properties: string(format!("provider={}", self.provider)),
        };
        let setup = Setup {
            name: &string(name),
            mode: self.cipher.mode(),
            direction: self.direction,
            key: &key(self.cipher),
            iv: IV,
        };
        make(&source, &setup)?.ok_or_else(|| self.absent())
    }

    /// The error of a fetch that found nothing.
    fn absent(&self) -> Error {
        self.libcrypto.take_error(); // "unsupported", in many words
        let who = match self.provider {
            "tenrounds" => self.provider.to_owned(),
            _ => self.libcrypto.short_version(),
        };
        Error::absent(format!("{who} has no {}", self.cipher.title()))
    }

    /// One long message.
    pub fn stream(&self, bytes: usize) -> Result<StreamJob> {
        Ok(StreamJob {
            stream: Stream::new(self.made(Context::new)?),
            has_iv: self.cipher.mode() != catalogue::Mode::Ecb,
            failed: format!(
                "EVP fails for {}, {}",
                self.cipher.title(),
                self.direction.name()
            ),
            buffer: Buffer::new(bytes),
        })
    }

    pub fn messages(&self) -> Result<EvpMessages> {
        let call = self.cipher.call();
        self.made(|source, setup| {
            if call == Call::Mac {
                return Ok(Mac::new(source, setup)?.map(EvpMessages::Mac));
            }
            let Some(context) = Context::new(source, setup)? else {
                return Ok(None);
            };
            Ok(match call {
                Call::Message(shape) if shape.authenticated => {
                    Message::new(context, setup, &AAD).map(EvpMessages::Aead)
                }
                _ => Some(EvpMessages::Sector(Sector::new(context, setup.iv))),
            })
        })
    }
}

pub struct StreamJob {
    stream: Stream,
    has_iv: bool,
    failed: String,
    buffer: Buffer,
}

impl Job for StreamJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let data = self.buffer.data();
        let (out, len, mut done) = (data.as_mut_ptr(), data.len(), true);
        for _ in 0..calls {
            // SAFETY: the buffer has `len` bytes, in whole blocks for ECB and CBC.
            done &= unsafe { self.stream.call(out, out, len) };
        }
        match done {
            true => Ok(calls * len as u64),
            false => Err(Error::failure(&self.failed)),
        }
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        if self.has_iv {
            self.stream.context.restart(&IV);
        }
        sample_in_place(self, |job| &mut job.buffer)
    }
}

/// Whole messages of one direction.
pub enum EvpMessages {
    Aead(Message),
    Sector(Sector),
    Mac(Mac),
}

impl EvpMessages {
    /// One message. The tag is read where it is decrypted, and written where not.
    ///
    /// # Safety
    /// Both are valid for `len` bytes.
    unsafe fn message(
        &mut self,
        number: u64,
        out: *mut u8,
        input: *const u8,
        len: usize,
        tag: &mut Tag,
    ) -> bool {
        // SAFETY: the caller's.
        unsafe {
            match self {
                EvpMessages::Aead(message) => {
                    message.iv = nonce(number);
                    message.call(out, input, len, tag.as_mut_ptr())
                }
                EvpMessages::Sector(sector) => {
                    sector.iv = nonce(number);
                    sector.call(out, input, len)
                }
                EvpMessages::Mac(mac) => mac.call(std::slice::from_raw_parts(input, len), tag),
            }
        }
    }
}

fn checked(done: bool, what: &str) -> Result<()> {
    match done {
        true => Ok(()),
        false => Err(Error::failure(format!("EVP fails in {what} a message"))),
    }
}

impl Messages for EvpMessages {
    fn seal(&mut self, times: u64, data: &mut [u8]) -> Result<Tag> {
        let (mut done, mut tag) = (true, Tag::default());
        let (out, len) = (data.as_mut_ptr(), data.len());
        for number in 0..times {
            // SAFETY: the data have `len` bytes.
            done &= unsafe { self.message(number, out, out, len, &mut tag) };
        }
        checked(done, "sealing").map(|()| tag)
    }

    fn open(&mut self, times: u64, out: &mut [u8], sealed: &[u8], tag: &Tag) -> Result<()> {
        assert_eq!(out.len(), sealed.len());
        let (mut done, mut tag) = (!matches!(self, EvpMessages::Mac(_)), *tag);
        for _ in 0..times {
            let (out, input) = (out.as_mut_ptr(), sealed.as_ptr());
            // SAFETY: both have as many bytes.
            done &= unsafe { self.message(0, out, input, sealed.len(), &mut tag) };
        }
        checked(done, "opening")
    }
}
