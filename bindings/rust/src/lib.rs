// SPDX-License-Identifier: BSD-2-Clause
//! AES at the speed the processor can reach: authenticated modes, XTS, CTR, CBC, CMAC, key wrap.
//!
//! ```
//! use tenrounds::{Aes256Gcm, Error};
//!
//! # fn main() -> Result<(), Error> {
//! let key = Aes256Gcm::with_key(&[7; 32]);
//! let nonce = [0; 12]; // never twice under one key
//!
//! let mut data = *b"attack at dawn";
//! let tag = key.seal_in_place(&nonce, b"header", &mut data)?;
//! key.open_in_place(&nonce, b"header", &mut data, &tag)?;
//! assert_eq!(&data, b"attack at dawn");
//! # Ok(())
//! # }
//! ```
//!
//! # What holds for all types
//!
//! - The first key selects the code for this processor, and tests it against known answers. If no
//!   code passes, the process aborts, because no result could be trusted.
//! - Time does not depend on keys or data, only on lengths.
//! - Keys have a fixed length, so that a wrong length does not compile. `KEY` and `TAG` are in
//!   bytes.
//! - Keys are not allocated, and are cleansed when dropped. A move may leave a copy on the stack:
//!   put a key where it stays.
//! - Any number of threads may use a key at a time: share it, rather than clone it.
//! - An [`Error`] says nothing about its cause. No input causes a panic.
//! - On tag mismatch the output holds zeros, except that of a [`GcmDecryptor`], which has written
//!   the plaintext before.
//!
//! # Features
//!
//! | feature | gives |
//! |---|---|
//! | `std` (default) | on Linux, Arm's AES instructions, and the variable `TENROUNDS_MASK` |
//! | `aead` | `KeyInit` and `AeadInOut` of the crate `aead` 0.6 |
//! | `cipher` | the block cipher, CTR and CBC with the traits of the crate `cipher` 0.5 |
//! | `mac` | `CmacMessage`, with `Mac` of the crate `digest` 0.11 |
//! | `rustls` | the AES-GCM suites of TLS 1.2, TLS 1.3 and QUIC for rustls 0.23 |
//! | `zeroize` | the marker `ZeroizeOnDrop` of the crate `zeroize` 1 |
//!
//! The variable masks features of the processor, as tenrounds(5) describes; setuid programs ignore
//! it. Without `std` the crate needs `core` and the compiler's memory functions alone, but `alloc`
//! with `rustls`. It then assumes that an Arm processor has no AES instructions.

#![no_std]
#![deny(missing_docs)]

#[cfg(feature = "rustls")]
extern crate alloc;

mod aead;
mod cipher;
mod cmac;
mod many;
mod object;
#[allow(dead_code, missing_docs)] // crates/tenrounds-sys shares it
mod raw;
#[cfg(feature = "rustls")]
pub mod rustls;
mod stream;
mod xts;

pub use crate::aead::{modes, Aead};
pub use crate::cipher::{Aes, CbcDecryptor, CbcEncryptor, Ctr};
pub use crate::cmac::Cmac;
#[cfg(feature = "mac")]
pub use crate::cmac::CmacMessage;
pub use crate::many::{open_many, seal_many, GcmJob};
pub use crate::stream::{GcmDecryptor, GcmEncryptor};
pub use crate::xts::Xts;

/// A call failed: on tag mismatch, or because a length was wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error;

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("an AES call failed")
    }
}

impl core::error::Error for Error {}

/// The result of a call.
pub type Result<T> = core::result::Result<T, Error>;

fn check(status: raw::tr_status) -> Result<()> {
    match status {
        raw::TR_OK => Ok(()),
        _ => Err(Error),
    }
}

/// GCM (NIST SP 800-38D). A nonce should have 12 bytes; reuse reveals the hash subkey.
pub type Gcm<const KEY: usize, const TAG: usize = 16> = Aead<modes::Gcm, KEY, TAG>;
/// GCM with a key of 128 bits.
pub type Aes128Gcm = Gcm<16>;
/// GCM with a key of 192 bits.
pub type Aes192Gcm = Gcm<24>;
/// GCM with a key of 256 bits.
pub type Aes256Gcm = Gcm<32>;

/// GCM-SIV (RFC 8452): reuse of a nonce of 12 bytes reveals only whether two messages are equal.
pub type GcmSiv<const KEY: usize> = Aead<modes::GcmSiv, KEY, 16>;
/// GCM-SIV with a key of 128 bits.
pub type Aes128GcmSiv = GcmSiv<16>;
/// GCM-SIV with a key of 256 bits.
pub type Aes256GcmSiv = GcmSiv<32>;

/// CCM (NIST SP 800-38C), with nonces of 7 to 13 bytes.
pub type Ccm<const KEY: usize, const TAG: usize = 16> = Aead<modes::Ccm, KEY, TAG>;
/// CCM with a key of 128 bits.
pub type Aes128Ccm = Ccm<16>;
/// CCM with a key of 256 bits.
pub type Aes256Ccm = Ccm<32>;

/// OCB (RFC 7253), with nonces of 1 to 15 bytes.
pub type Ocb<const KEY: usize, const TAG: usize = 16> = Aead<modes::Ocb, KEY, TAG>;
/// OCB with a key of 128 bits.
pub type Aes128Ocb = Ocb<16>;
/// OCB with a key of 256 bits.
pub type Aes256Ocb = Ocb<32>;

/// SIV (RFC 5297), with two AES keys in `KEY` bytes. The nonce is the last component of the
/// associated data; an empty one is no component.
pub type Siv<const KEY: usize> = Aead<modes::Siv, KEY, 16>;
/// SIV with two keys of 128 bits.
pub type Aes128Siv = Siv<32>;
/// SIV with two keys of 256 bits.
pub type Aes256Siv = Siv<64>;

/// A key of 128 bits for CTR, CBC and key wrap.
pub type Aes128 = Aes<16>;
/// A key of 192 bits for CTR, CBC and key wrap.
pub type Aes192 = Aes<24>;
/// A key of 256 bits for CTR, CBC and key wrap.
pub type Aes256 = Aes<32>;

/// XTS with two keys of 128 bits.
pub type Aes128Xts = Xts<32>;
/// XTS with two keys of 256 bits.
pub type Aes256Xts = Xts<64>;

#[cfg(feature = "zeroize")]
mod zeroized {
    use super::*;
    use ::zeroize::ZeroizeOnDrop;

    impl<M: modes::Mode, const KEY: usize, const TAG: usize> ZeroizeOnDrop for Aead<M, KEY, TAG> {}
    impl<const KEY: usize> ZeroizeOnDrop for Aes<KEY> {}
    impl<const KEY: usize> ZeroizeOnDrop for Cmac<KEY> {}
    impl<const KEY: usize> ZeroizeOnDrop for Xts<KEY> {}
    // What these hold besides the key is public, or Ctr cleanses it.
    impl<C: crate::cipher::AesKey> ZeroizeOnDrop for Ctr<C> {}
    impl<C: crate::cipher::AesKey> ZeroizeOnDrop for CbcEncryptor<C> {}
    impl<C: crate::cipher::AesKey> ZeroizeOnDrop for CbcDecryptor<C> {}
    impl<const KEY: usize, const TAG: usize> ZeroizeOnDrop for GcmEncryptor<'_, KEY, TAG> {}
    impl<const KEY: usize, const TAG: usize> ZeroizeOnDrop for GcmDecryptor<'_, KEY, TAG> {}
    #[cfg(feature = "mac")]
    impl<const KEY: usize> ZeroizeOnDrop for CmacMessage<KEY> {}
}
