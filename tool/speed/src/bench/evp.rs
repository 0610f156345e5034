// SPDX-License-Identifier: BSD-2-Clause
//! A cipher through libcrypto's EVP interface, as `openssl speed -evp` drives it: one initialised
//! context, the same buffer in place again and again; or whole messages, as with its `-aead`.

use super::calls::{key, nonce, Calls, Data, Tag, AAD, IV};
use super::implementation::Implementation;
use base::ciphers::{Call, Cipher};
use catalogue::Direction;
use libcrypto::evp::{Context, Mac, Message, Setup, Source, Stream};
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

enum Kind {
    Stream(Stream),
    Aead(Message),
    Sector(Stream),
    Mac(Mac),
}

/// A cipher of one implementation, in one direction.
pub struct Evp {
    kind: Kind,
    cipher: Cipher,
    direction: Direction,
}

impl Evp {
    /// Fetches from the implementation's provider and from nowhere else, and prepares.
    pub fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        cipher: Cipher,
        direction: Direction,
    ) -> Result<Evp> {
        if cipher.is_legacy() {
            let absent = |error: Error| Error::absent(format!("{}: {error}", cipher.title()));
            libcrypto.load_provider(c"legacy").map_err(absent)?;
        }
        let provider = implementation.provider(cipher.is_legacy());
        let name = match cipher.call() {
            Call::Mac => format!("AES-{}-CBC", cipher.key_bits()),
            _ => cipher.fetched(),
        };
        let string = |text| CString::new(text).expect("a name without zero bytes");
        let source = Source {
            f: libcrypto.functions,
            context: null_mut(),
            properties: string(format!("provider={provider}")),
        };
        let setup = Setup {
            name: &string(name),
            mode: cipher.mode(),
            direction,
            key: &key(cipher),
            iv: IV,
        };
        let kind = prepared(cipher, &source, &setup)?.ok_or_else(|| {
            libcrypto.take_error(); // "unsupported", in many words
            let who = match provider {
                "tenrounds" => provider.to_owned(),
                _ => libcrypto.short_version(),
            };
            Error::absent(format!("{who} has no {}", cipher.title()))
        })?;
        Ok(Evp {
            kind,
            cipher,
            direction,
        })
    }

    fn failure(&self) -> Error {
        let (title, direction) = (self.cipher.title(), self.direction.name());
        Error::failure(format!("EVP fails for {title}, {direction}"))
    }
}

/// None if the provider has no such cipher.
fn prepared(cipher: Cipher, source: &Source, setup: &Setup) -> Result<Option<Kind>> {
    if cipher.call() == Call::Mac {
        return Ok(Mac::new(source, setup)?.map(Kind::Mac));
    }
    let Some(context) = Context::new(source, setup)? else {
        return Ok(None);
    };
    Ok(match cipher.call() {
        Call::Stream => Some(Kind::Stream(Stream::new(context))),
        Call::Message(shape) if shape.authenticated => {
            Message::new(context, setup, &AAD).map(Kind::Aead)
        }
        _ => Some(Kind::Sector(Stream::new(context))),
    })
}

impl Calls for Evp {
    unsafe fn run(&mut self, calls: u64, data: Data, tag: &mut Tag) -> Result<()> {
        let Data {
            out, input, len, ..
        } = data;
        let mut calls = 0..calls;
        // SAFETY: the caller's.
        let done = unsafe {
            match &mut self.kind {
                Kind::Stream(stream) => calls.all(|_| stream.call(out, input, len)),
                Kind::Aead(message) => calls.all(|call| {
                    message.iv = nonce(call * data.step);
                    message.call(out, input, len, tag.as_mut_ptr())
                }),
                Kind::Sector(stream) => {
                    calls.all(|call| stream.sector(&nonce(call * data.step), out, input, len))
                }
                Kind::Mac(mac) => {
                    let input = std::slice::from_raw_parts(input, len);
                    calls.all(|_| mac.call(input, tag))
                }
            }
        };
        match done {
            true => Ok(()),
            false => Err(self.failure()),
        }
    }

    fn restart(&mut self) -> Result<()> {
        if let Kind::Stream(stream) = &self.kind {
            if self.cipher.mode() != catalogue::Mode::Ecb {
                stream.context.restart(&IV);
            }
        }
        Ok(())
    }
}
