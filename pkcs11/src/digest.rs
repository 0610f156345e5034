// SPDX-License-Identifier: BSD-2-Clause
//! Digests and HMACs, of the RustCrypto crates: not through libcrypto, which may use this module.

use crate::rv::{fail, Result};
use cryptoki_sys::*;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use zeroize::Zeroize;

/// Calls a method on whichever hash it is.
macro_rules! each {
    ($value:expr, $hash:ident => $call:expr) => {
        match $value {
            Self::Sha1($hash) => $call,
            Self::Sha256($hash) => $call,
            Self::Sha384($hash) => $call,
            Self::Sha512($hash) => $call,
        }
    };
}

/// The longest output, in bytes.
pub const LONGEST: usize = 64;

/// Output of a hash: the bytes and how many there are.
pub struct Output([u8; LONGEST], usize);

impl Output {
    fn new(bytes: &[u8]) -> Output {
        let mut output = Output([0; LONGEST], bytes.len());
        output.0[..bytes.len()].copy_from_slice(bytes);
        output
    }

    pub fn as_slice(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

#[derive(Clone)]
pub enum Hash {
    Sha1(Sha1),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Hash {
    pub fn new(mechanism: CK_MECHANISM_TYPE) -> Result<Hash> {
        Ok(match mechanism {
            CKM_SHA_1 => Hash::Sha1(Sha1::new()),
            CKM_SHA256 => Hash::Sha256(Sha256::new()),
            CKM_SHA384 => Hash::Sha384(Sha384::new()),
            CKM_SHA512 => Hash::Sha512(Sha512::new()),
            _ => return fail(CKR_MECHANISM_INVALID),
        })
    }

    pub fn len(&self) -> usize {
        match self {
            Hash::Sha1(_) => 20,
            Hash::Sha256(_) => 32,
            Hash::Sha384(_) => 48,
            Hash::Sha512(_) => 64,
        }
    }

    pub fn update(&mut self, data: &[u8]) {
        each!(self, hash => hash.update(data));
    }

    pub fn finish(self) -> Output {
        each!(self, hash => Output::new(&hash.finalize()))
    }
}

/// An HMAC. Its states are as good as the key, and the crates do not clear them: so it clears
/// itself, and burn() what calls may have left on the stack.
#[derive(Clone)]
pub enum Keyed {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
    Sha384(Hmac<Sha384>),
    Sha512(Hmac<Sha512>),
}

impl Drop for Keyed {
    fn drop(&mut self) {
        let size = std::mem::size_of::<Keyed>();
        // SAFETY: the states are numbers; nothing is dropped after this.
        unsafe { tenrounds_sys::raw::tr_cleanse((self as *mut Keyed).cast(), size) };
    }
}

/// Clears more of the stack than an HMAC's functions use.
#[inline(never)]
pub fn burn() {
    let mut stack = [0u8; 4096];
    stack.zeroize();
    std::hint::black_box(&stack);
}

impl Keyed {
    /// The caller moves it to where it stays, and then calls burn().
    pub fn new(mechanism: CK_MECHANISM_TYPE, key: &[u8]) -> Result<Keyed> {
        // An HMAC takes keys of every length.
        const ANY: &str = "a key of any length";
        Ok(match mechanism {
            CKM_SHA_1_HMAC | CKM_SHA_1_HMAC_GENERAL => {
                Keyed::Sha1(Hmac::new_from_slice(key).expect(ANY))
            }
            CKM_SHA256_HMAC | CKM_SHA256_HMAC_GENERAL => {
                Keyed::Sha256(Hmac::new_from_slice(key).expect(ANY))
            }
            CKM_SHA384_HMAC | CKM_SHA384_HMAC_GENERAL => {
                Keyed::Sha384(Hmac::new_from_slice(key).expect(ANY))
            }
            CKM_SHA512_HMAC | CKM_SHA512_HMAC_GENERAL => {
                Keyed::Sha512(Hmac::new_from_slice(key).expect(ANY))
            }
            _ => return fail(CKR_MECHANISM_INVALID),
        })
    }

    pub fn len(&self) -> usize {
        match self {
            Keyed::Sha1(_) => 20,
            Keyed::Sha256(_) => 32,
            Keyed::Sha384(_) => 48,
            Keyed::Sha512(_) => 64,
        }
    }

    pub fn update(&mut self, data: &[u8]) {
        each!(self, hash => hash.update(data));
    }

    pub fn finish(&self) -> Output {
        let output = each!(self, hash => Output::new(&hash.clone().finalize().into_bytes()));
        burn();
        output
    }
}
