// SPDX-License-Identifier: BSD-2-Clause
//! CMAC.

use crate::object::Object;
use crate::raw;
use crate::{check, Result};

/// A key of CMAC (NIST SP 800-38B) of `KEY` bytes: 16, 24 or 32.
///
/// ```
/// let key = tenrounds::Cmac::with_key(&[7; 16]);
/// let tag = key.sign(b"attack at dawn");
/// assert!(key.verify(b"attack at dawn", &tag).is_ok());
/// assert!(key.verify(b"attack at noon", &tag).is_err());
/// ```
pub struct Cmac<const KEY: usize>(Object<raw::tr_cmac_key>);

impl<const KEY: usize> Clone for Cmac<KEY> {
    fn clone(&self) -> Self {
        // SAFETY: no call changes a key of CMAC.
        Cmac(unsafe { self.0.copy() })
    }
}

impl<const KEY: usize> Cmac<KEY> {
    /// Expands a key.
    pub fn with_key(key: &[u8; KEY]) -> Self {
        Self::expand(key)
    }

    /// Expands a key of KEY bytes.
    fn expand(key: &[u8]) -> Self {
        const {
            assert!(
                matches!(KEY, 16 | 24 | 32),
                "CMAC takes no keys of KEY bytes"
            )
        }
        Cmac(Object::new(raw::tr_cmac_set_key(), key))
    }

    /// The tag of a message.
    #[inline]
    pub fn sign(&self, data: &[u8]) -> [u8; 16] {
        let mut tag = [0; 16];
        let (out, input, len) = (tag.as_mut_ptr(), data.as_ptr(), data.len());
        // SAFETY: the data are a slice, and the tag has 16 bytes.
        let status = unsafe { raw::tr_cmac_sign()(self.0.as_ptr(), input, len, out, 16) };
        debug_assert_eq!(status, raw::TR_OK);
        tag
    }

    /// Checks a message's tag in constant time.
    ///
    /// # Errors
    /// The tag does not match.
    #[inline]
    pub fn verify(&self, data: &[u8], tag: &[u8; 16]) -> Result<()> {
        let (tag, input, len) = (tag.as_ptr().cast_mut(), data.as_ptr(), data.len());
        // SAFETY: the data are a slice, and the tag has 16 bytes, which the call only reads.
        check(unsafe { raw::tr_cmac_verify()(self.0.as_ptr(), input, len, tag, 16) })
    }
}

/// A CMAC message in pieces, with the traits of the crate `digest`.
#[cfg(feature = "mac")]
pub struct CmacMessage<const KEY: usize> {
    key: Cmac<KEY>,
    message: Object<raw::tr_cmac>,
}

#[cfg(feature = "mac")]
mod traits {
    use super::*;
    use ::digest::array::AssocArraySize;
    use ::digest::common::{BlockSizeUser, KeyInit, KeySizeUser};
    use ::digest::consts::U16;
    use ::digest::{
        FixedOutput, FixedOutputReset, MacMarker, Output, OutputSizeUser, Reset, Update,
    };

    impl<const KEY: usize> CmacMessage<KEY> {
        /// The message, which refers to the key where it now is.
        fn bound(&mut self) -> *mut raw::tr_cmac {
            let message = self.message.as_mut_ptr();
            // SAFETY: the message and the key are set.
            unsafe { raw::tr_cmac_rebind(message, self.key.0.as_ptr()) };
            message
        }
    }

    impl<const KEY: usize> Clone for CmacMessage<KEY> {
        fn clone(&self) -> Self {
            CmacMessage {
                key: self.key.clone(),
                // SAFETY: only calls with a mutable message change it.
                message: unsafe { self.message.copy() },
            }
        }
    }

    impl<const KEY: usize> KeySizeUser for CmacMessage<KEY>
    where
        [u8; KEY]: AssocArraySize,
    {
        type KeySize = <[u8; KEY] as AssocArraySize>::Size;
    }

    impl<const KEY: usize> KeyInit for CmacMessage<KEY>
    where
        [u8; KEY]: AssocArraySize,
    {
        fn new(key: &::digest::common::Key<Self>) -> Self {
            let mut new = CmacMessage {
                key: Cmac::expand(key),
                message: Object::zeroed(),
            };
            new.reset();
            new
        }
    }

    impl<const KEY: usize> MacMarker for CmacMessage<KEY> {}

    impl<const KEY: usize> OutputSizeUser for CmacMessage<KEY> {
        type OutputSize = U16;
    }

    impl<const KEY: usize> BlockSizeUser for CmacMessage<KEY> {
        type BlockSize = U16;
    }

    impl<const KEY: usize> Update for CmacMessage<KEY> {
        fn update(&mut self, data: &[u8]) {
            // SAFETY: the message was started and has not ended, and the data are a slice.
            let status = unsafe { raw::tr_cmac_update(self.bound(), data.as_ptr(), data.len()) };
            debug_assert_eq!(status, raw::TR_OK);
        }
    }

    impl<const KEY: usize> Reset for CmacMessage<KEY> {
        fn reset(&mut self) {
            let (message, key) = (self.message.as_mut_ptr(), self.key.0.as_ptr());
            // SAFETY: the key is set.
            let status = unsafe { raw::tr_cmac_start(message, key) };
            debug_assert_eq!(status, raw::TR_OK);
        }
    }

    impl<const KEY: usize> FixedOutput for CmacMessage<KEY> {
        fn finalize_into(mut self, out: &mut Output<Self>) {
            self.finalize_into_reset(out);
        }
    }

    impl<const KEY: usize> FixedOutputReset for CmacMessage<KEY> {
        fn finalize_into_reset(&mut self, out: &mut Output<Self>) {
            // SAFETY: the message was started and has not ended, and the tag has 16 bytes.
            let status = unsafe { raw::tr_cmac_tag(self.bound(), out.as_mut_ptr(), 16) };
            debug_assert_eq!(status, raw::TR_OK);
            self.reset();
        }
    }
}
