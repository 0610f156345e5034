// SPDX-License-Identifier: BSD-2-Clause
//! GCM messages in pieces.

use crate::object::Object;
use crate::raw;
use crate::{check, Gcm, Result};
use core::marker::PhantomData;

/// A message and the key that it refers to.
struct Stream<'k, const KEY: usize, const TAG: usize> {
    message: Object<raw::tr_gcm>,
    key: PhantomData<&'k Gcm<KEY, TAG>>,
}

impl<'k, const KEY: usize, const TAG: usize> Stream<'k, KEY, TAG> {
    fn start(key: &'k Gcm<KEY, TAG>, nonce: &[u8], aad: &[u8]) -> Result<Self> {
        let mut message = Object::zeroed();
        let gcm = message.as_mut_ptr();
        let (nonce, nonce_len) = (nonce.as_ptr(), nonce.len());
        // SAFETY: the key is set, and it neither moves nor ends while the message borrows it.
        check(unsafe { raw::tr_gcm_start(gcm, key.as_ptr(), nonce, nonce_len) })?;
        // SAFETY: the message has just been started.
        check(unsafe { raw::tr_gcm_aad(gcm, aad.as_ptr(), aad.len()) })?;
        let key = PhantomData;
        Ok(Stream { message, key })
    }
}

/// A GCM message that is encrypted in pieces of any length.
///
/// ```
/// use tenrounds::{Aes256Gcm, GcmDecryptor, GcmEncryptor};
///
/// # fn main() -> Result<(), tenrounds::Error> {
/// let key = Aes256Gcm::with_key(&[7; 32]);
/// let nonce = [0; 12]; // never twice under one key
/// let (mut first, mut second) = (*b"attack ", *b"at dawn");
///
/// let mut message = GcmEncryptor::start(&key, &nonce, b"header")?;
/// message.encrypt(&mut first)?;
/// message.encrypt(&mut second)?;
/// let tag = message.finish();
///
/// let mut message = GcmDecryptor::start(&key, &nonce, b"header")?;
/// message.decrypt_unverified(&mut first)?;
/// message.decrypt_unverified(&mut second)?;
/// message.verify(&tag)?; // before any use of the plaintext
/// assert_eq!((&first, &second), (b"attack ", b"at dawn"));
/// # Ok(())
/// # }
/// ```
pub struct GcmEncryptor<'k, const KEY: usize, const TAG: usize = 16>(Stream<'k, KEY, TAG>);

impl<'k, const KEY: usize, const TAG: usize> GcmEncryptor<'k, KEY, TAG> {
    /// Starts a message.
    ///
    /// # Errors
    /// The nonce is empty, or the associated data is too long.
    pub fn start(key: &'k Gcm<KEY, TAG>, nonce: &[u8], aad: &[u8]) -> Result<Self> {
        Stream::start(key, nonce, aad).map(GcmEncryptor)
    }

    /// Encrypts the next bytes of the message.
    ///
    /// # Errors
    /// The message would have more than 2^36 - 32 bytes; `data` and the message are unchanged.
    #[inline]
    pub fn encrypt(&mut self, data: &mut [u8]) -> Result<()> {
        let (gcm, out, len) = (self.0.message.as_mut_ptr(), data.as_mut_ptr(), data.len());
        // SAFETY: the message is started, and the data are a slice, encrypted in place.
        check(unsafe { raw::tr_gcm_encrypt(gcm, out, out, len) })
    }

    /// Ends the message, and returns its tag.
    pub fn finish(mut self) -> [u8; TAG] {
        let mut tag = [0; TAG];
        let gcm = self.0.message.as_mut_ptr();
        // SAFETY: the message is started and has not ended, and the tag has TAG bytes.
        let status = unsafe { raw::tr_gcm_tag(gcm, tag.as_mut_ptr(), TAG) };
        debug_assert_eq!(status, raw::TR_OK);
        tag
    }
}

/// A GCM message that is decrypted in pieces of any length. Nobody knows whether the plaintext is
/// that of the sender before [`GcmDecryptor::verify`] says so: until then, do not parse it, act on
/// it or send it on. Where the message fits into memory, [`Aead::open_in_place`] is safer.
///
/// [`Aead::open_in_place`]: crate::Aead::open_in_place
#[must_use = "without verify() a forgery goes unnoticed"]
pub struct GcmDecryptor<'k, const KEY: usize, const TAG: usize = 16>(Stream<'k, KEY, TAG>);

impl<'k, const KEY: usize, const TAG: usize> GcmDecryptor<'k, KEY, TAG> {
    /// Starts a message.
    ///
    /// # Errors
    /// The nonce is empty, or the associated data is too long.
    pub fn start(key: &'k Gcm<KEY, TAG>, nonce: &[u8], aad: &[u8]) -> Result<Self> {
        Stream::start(key, nonce, aad).map(GcmDecryptor)
    }

    /// Decrypts the next bytes of the message, which may be a forgery.
    ///
    /// # Errors
    /// As [`GcmEncryptor::encrypt`].
    #[inline]
    pub fn decrypt_unverified(&mut self, data: &mut [u8]) -> Result<()> {
        let (gcm, out, len) = (self.0.message.as_mut_ptr(), data.as_mut_ptr(), data.len());
        // SAFETY: the message is started, and the data are a slice, decrypted in place.
        check(unsafe { raw::tr_gcm_decrypt(gcm, out, out, len) })
    }

    /// Ends the message, and checks its tag in constant time.
    ///
    /// # Errors
    /// The tag does not match: discard the plaintext.
    pub fn verify(mut self, tag: &[u8; TAG]) -> Result<()> {
        // SAFETY: the message is started and has not ended, and the tag has TAG bytes.
        check(unsafe { raw::tr_gcm_check(self.0.message.as_mut_ptr(), tag.as_ptr(), TAG) })
    }
}
