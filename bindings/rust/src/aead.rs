// SPDX-License-Identifier: BSD-2-Clause
//! The authenticated modes: one key type, over the core's one-shot calls.

use crate::object::Object;
use crate::raw::{self, tr_status};
use crate::{check, Error, Result};
use core::mem::MaybeUninit;

/// A key of an authenticated mode. Aliases such as [`Aes256Gcm`](crate::Aes256Gcm) name the mode
/// and the lengths of key and tag.
pub struct Aead<M: Mode, const KEY: usize, const TAG: usize>(Object<M::Key>);

/// The message of a call. The data go from `input` to `out`, which may be the same address; the tag
/// is only read if the call opens.
#[doc(hidden)]
pub struct Message<'a> {
    open: bool,
    nonce: &'a [u8],
    aad: &'a [u8],
    out: *mut u8,
    input: *const u8,
    len: usize,
    tag: *mut u8,
    tag_len: usize,
}

/// An authenticated mode.
#[doc(hidden)]
pub trait Mode {
    type Key;
    /// The nonce that the traits of the crate `aead` take, as an array.
    type Nonce;
    const SET: raw::SetKey;
    #[cfg(feature = "aead")]
    const TAG_POSITION: ::aead::TagPosition = ::aead::TagPosition::Postfix;
    const KEYS: &'static [usize] = &[16, 24, 32];
    const TAGS: &'static [usize] = &[16];
    /// Where the round keys are, if calls change other parts of a key: GCM adds powers of H.
    const ROUND_KEYS: Option<usize> = None;
    /// # Safety
    /// The key is one of this mode, and the tag's length is one of TAGS.
    unsafe fn call(key: raw::Key, message: &Message) -> tr_status;
}

impl Message<'_> {
    /// # Safety
    /// The functions are those of the key's mode.
    unsafe fn call(&self, seal: raw::Sealing, open: raw::Sealing, key: raw::Key) -> tr_status {
        let call = if self.open { open } else { seal };
        let (nonce, aad) = (self.nonce, self.aad);
        // SAFETY: slices are valid for their lengths, and Aead made the pointers from slices.
        unsafe {
            call(
                key,
                nonce.as_ptr(),
                nonce.len(),
                aad.as_ptr(),
                aad.len(),
                self.out,
                self.input,
                self.len,
                self.tag,
                self.tag_len,
            )
        }
    }
}

/// The modes of [`Aead`].
pub mod modes {
    use super::*;

    #[doc(hidden)]
    pub use super::Mode;

    /// GCM.
    pub enum Gcm {}
    /// GCM-SIV.
    pub enum GcmSiv {}
    /// CCM.
    pub enum Ccm {}
    /// OCB.
    pub enum Ocb {}
    /// SIV.
    pub enum Siv {}

    impl Mode for Gcm {
        type Key = raw::tr_gcm_key;
        type Nonce = [u8; 12];
        const SET: raw::SetKey = raw::tr_gcm_set_key();
        // NIST SP 800-38D section 5.2.1.2.
        const TAGS: &'static [usize] = &[4, 8, 12, 13, 14, 15, 16];
        const ROUND_KEYS: Option<usize> = Some(raw::GCM_ROUND_KEYS);
        #[inline]
        unsafe fn call(key: raw::Key, message: &Message) -> tr_status {
            // SAFETY: the caller's.
            unsafe { message.call(raw::tr_gcm_seal(), raw::tr_gcm_open(), key) }
        }
    }

    impl Mode for Ccm {
        type Key = raw::tr_ccm_key;
        type Nonce = [u8; 12];
        const SET: raw::SetKey = raw::tr_ccm_set_key();
        const TAGS: &'static [usize] = &[4, 6, 8, 10, 12, 14, 16];
        #[inline]
        unsafe fn call(key: raw::Key, message: &Message) -> tr_status {
            // SAFETY: the caller's.
            unsafe { message.call(raw::tr_ccm_seal(), raw::tr_ccm_open(), key) }
        }
    }

    impl Mode for Ocb {
        type Key = raw::tr_ocb_key;
        type Nonce = [u8; 12];
        const SET: raw::SetKey = raw::tr_ocb_set_key();
        const TAGS: &'static [usize] = &[8, 12, 16];
        #[inline]
        unsafe fn call(key: raw::Key, message: &Message) -> tr_status {
            // SAFETY: the caller's.
            unsafe { message.call(raw::tr_ocb_seal(), raw::tr_ocb_open(), key) }
        }
    }

    impl Mode for GcmSiv {
        type Key = raw::tr_gcm_siv_key;
        type Nonce = [u8; 12];
        const SET: raw::SetKey = raw::tr_gcm_siv_set_key();
        const KEYS: &'static [usize] = &[16, 32];
        #[inline]
        unsafe fn call(key: raw::Key, m: &Message) -> tr_status {
            if m.nonce.len() != 12 {
                return raw::TR_ERR_IV_LENGTH;
            }
            let call = if m.open {
                raw::tr_gcm_siv_open()
            } else {
                raw::tr_gcm_siv_seal()
            };
            let (nonce, aad) = (m.nonce.as_ptr(), m.aad.as_ptr());
            // SAFETY: as in Message::call(); the nonce has 12 bytes.
            unsafe { call(key, nonce, aad, m.aad.len(), m.out, m.input, m.len, m.tag) }
        }
    }

    impl Mode for Siv {
        type Key = raw::tr_siv_key;
        type Nonce = [u8; 16];
        const SET: raw::SetKey = raw::tr_siv_set_key();
        #[cfg(feature = "aead")]
        const TAG_POSITION: ::aead::TagPosition = ::aead::TagPosition::Prefix;
        const KEYS: &'static [usize] = &[32, 48, 64];
        unsafe fn call(key: raw::Key, m: &Message) -> tr_status {
            let mut siv = MaybeUninit::<raw::tr_siv>::uninit();
            let siv = siv.as_mut_ptr();
            // SAFETY: as in Message::call(); the first call sets the message. No status but the
            // last can be an error: there are two components at most, in the right order.
            unsafe {
                raw::tr_siv_start(siv, key);
                raw::tr_siv_aad(siv, m.aad.as_ptr(), m.aad.len());
                if !m.nonce.is_empty() {
                    raw::tr_siv_aad(siv, m.nonce.as_ptr(), m.nonce.len());
                }
                if m.open {
                    raw::tr_siv_decrypt(siv, m.out, m.input, m.len, m.tag)
                } else {
                    raw::tr_siv_encrypt(siv, m.out, m.input, m.len, m.tag)
                }
            }
        }
    }
}

impl<M: Mode, const KEY: usize, const TAG: usize> Aead<M, KEY, TAG> {
    /// The key, for the core's functions.
    pub(crate) fn as_ptr(&self) -> raw::Key {
        self.0.as_ptr()
    }

    /// Expands a key.
    pub fn with_key(key: &[u8; KEY]) -> Self {
        Self::expand(key)
    }

    /// Expands a key of KEY bytes.
    pub(crate) fn expand(key: &[u8]) -> Self {
        const {
            assert!(
                contains(M::KEYS, KEY),
                "the mode takes no keys of KEY bytes"
            );
            assert!(contains(M::TAGS, TAG), "the mode has no tags of TAG bytes");
        }
        Aead(Object::new(M::SET, key))
    }

    /// Encrypts `data`, and returns the tag.
    ///
    /// # Errors
    /// The mode takes no such nonce, or no such amount of data; `data` is unchanged.
    #[inline]
    pub fn seal_in_place(&self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG]> {
        let (out, len) = (data.as_mut_ptr(), data.len());
        let mut tag = [0; TAG];
        // SAFETY: the data are a slice, encrypted in place.
        unsafe { self.call(false, nonce, aad, (out, out, len), tag.as_mut_ptr())? };
        Ok(tag)
    }

    /// Decrypts `data` if the tag matches.
    ///
    /// # Errors
    /// On tag mismatch `data` holds zeros. On another error, as of [`Aead::seal_in_place`], it is
    /// unchanged.
    #[inline]
    pub fn open_in_place(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: &mut [u8],
        tag: &[u8; TAG],
    ) -> Result<()> {
        let (out, len) = (data.as_mut_ptr(), data.len());
        // SAFETY: the data are a slice, decrypted in place.
        unsafe { self.call(true, nonce, aad, (out, out, len), tag.as_ptr().cast_mut()) }
    }

    /// Encrypts `plaintext` to `out`, which gets the ciphertext and then the tag.
    ///
    /// # Errors
    /// `out` is not `TAG` bytes longer than `plaintext`, or as in [`Aead::seal_in_place`]; `out` is
    /// unchanged.
    #[inline]
    pub fn seal(&self, nonce: &[u8], aad: &[u8], plaintext: &[u8], out: &mut [u8]) -> Result<()> {
        let len = plaintext.len();
        if out.len().checked_sub(TAG) != Some(len) {
            return Err(Error);
        }
        let (out, tag) = out.split_at_mut(len);
        // SAFETY: the output is as long as the input.
        unsafe {
            let data = (out.as_mut_ptr(), plaintext.as_ptr(), len);
            self.call(false, nonce, aad, data, tag.as_mut_ptr())
        }
    }

    /// Decrypts `sealed`, which is the ciphertext and then the tag, to `out` if the tag matches.
    ///
    /// # Errors
    /// On tag mismatch `out` holds zeros. If `out` is not `TAG` bytes shorter than `sealed`, and on
    /// errors as of [`Aead::seal_in_place`], it is unchanged.
    #[inline]
    pub fn open(&self, nonce: &[u8], aad: &[u8], sealed: &[u8], out: &mut [u8]) -> Result<()> {
        let len = out.len();
        if sealed.len().checked_sub(TAG) != Some(len) {
            return Err(Error);
        }
        let (input, tag) = sealed.split_at(len);
        // SAFETY: the output is as long as the input.
        unsafe {
            let data = (out.as_mut_ptr(), input.as_ptr(), len);
            self.call(true, nonce, aad, data, tag.as_ptr().cast_mut())
        }
    }

    /// # Safety
    /// Output and input of `data` are valid for the length, and the same or disjoint. The tag is
    /// valid for TAG bytes; it is written only if the call seals.
    #[inline]
    unsafe fn call(
        &self,
        open: bool,
        nonce: &[u8],
        aad: &[u8],
        (out, input, len): (*mut u8, *const u8, usize),
        tag: *mut u8,
    ) -> Result<()> {
        let message = Message {
            open,
            nonce,
            aad,
            out,
            input,
            len,
            tag,
            tag_len: TAG,
        };
        // SAFETY: expand() checked the tag's length.
        check(unsafe { M::call(self.as_ptr(), &message) })
    }
}

impl<M: Mode, const KEY: usize, const TAG: usize> Clone for Aead<M, KEY, TAG> {
    /// GCM expands the key again; other modes copy it.
    fn clone(&self) -> Self {
        let Some(place) = M::ROUND_KEYS else {
            // SAFETY: no call changes a key of this mode (tenrounds_private.h, "Keys").
            return Aead(unsafe { self.0.copy() });
        };
        let key = self.as_ptr().cast::<u8>().wrapping_add(place);
        // SAFETY: the round keys are in the object, and no call changes them.
        Self::expand(unsafe { core::slice::from_raw_parts(key, KEY) })
    }
}

const fn contains(list: &[usize], wanted: usize) -> bool {
    let mut i = 0;
    while i < list.len() && list[i] != wanted {
        i += 1;
    }
    i < list.len()
}

#[cfg(feature = "aead")]
mod traits {
    use super::*;
    use ::aead::array::AssocArraySize;
    use ::aead::inout::InOutBuf;
    use ::aead::{AeadCore, AeadInOut, KeyInit, KeySizeUser, Nonce, Tag, TagPosition};

    impl<M: Mode, const KEY: usize, const TAG: usize> KeySizeUser for Aead<M, KEY, TAG>
    where
        [u8; KEY]: AssocArraySize,
    {
        type KeySize = <[u8; KEY] as AssocArraySize>::Size;
    }

    impl<M: Mode, const KEY: usize, const TAG: usize> KeyInit for Aead<M, KEY, TAG>
    where
        [u8; KEY]: AssocArraySize,
    {
        fn new(key: &::aead::Key<Self>) -> Self {
            Self::expand(key)
        }
    }

    impl<M: Mode, const KEY: usize, const TAG: usize> AeadCore for Aead<M, KEY, TAG>
    where
        M::Nonce: AssocArraySize,
        [u8; TAG]: AssocArraySize,
    {
        type NonceSize = <M::Nonce as AssocArraySize>::Size;
        type TagSize = <[u8; TAG] as AssocArraySize>::Size;
        const TAG_POSITION: TagPosition = M::TAG_POSITION;
    }

    impl<M: Mode, const KEY: usize, const TAG: usize> AeadInOut for Aead<M, KEY, TAG>
    where
        M::Nonce: AssocArraySize,
        [u8; TAG]: AssocArraySize,
    {
        fn encrypt_inout_detached(
            &self,
            nonce: &Nonce<Self>,
            aad: &[u8],
            buffer: InOutBuf<'_, '_, u8>,
        ) -> ::aead::Result<Tag<Self>> {
            let mut tag = Tag::<Self>::default();
            // SAFETY: a buffer's output is its input or disjoint.
            let result = unsafe { self.call(false, nonce, aad, data(buffer), tag.as_mut_ptr()) };
            result.map(|()| tag).map_err(|_| ::aead::Error)
        }

        fn decrypt_inout_detached(
            &self,
            nonce: &Nonce<Self>,
            aad: &[u8],
            buffer: InOutBuf<'_, '_, u8>,
            tag: &Tag<Self>,
        ) -> ::aead::Result<()> {
            let tag = tag.as_ptr().cast_mut();
            // SAFETY: as above.
            let result = unsafe { self.call(true, nonce, aad, data(buffer), tag) };
            result.map_err(|_| ::aead::Error)
        }
    }

    fn data(buffer: InOutBuf<'_, '_, u8>) -> (*mut u8, *const u8, usize) {
        let len = buffer.len();
        let (input, out) = buffer.into_raw();
        (out, input, len)
    }
}
