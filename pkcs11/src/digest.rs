// SPDX-License-Identifier: BSD-2-Clause
//! Digests and HMACs, of the RustCrypto crates: not through libcrypto, which may use this module.

use crate::rv::{fail, Result};
use cryptoki_sys::*;
use hmac::{Hmac, Mac};
use sha1::Sha1;
use sha2::digest::{FixedOutput, Update};
use sha2::{Digest, Sha256, Sha384, Sha512};
use zeroize::Zeroize;

/// The longest output, in bytes.
pub const LONGEST: usize = 64;

/// A digest or an HMAC that takes data.
pub trait Hash: Send + Sync {
    fn update(&mut self, data: &[u8]);
    /// The length of the output.
    fn len(&self) -> usize;
    /// Writes the output to the first bytes.
    fn finish(&self, output: &mut [u8; LONGEST]);
}

/// The state of an HMAC is as good as its key, and the crates do not clear it: so it clears itself,
/// and burn() what calls may have left on the stack.
struct State<T>(T);

impl<T> Drop for State<T> {
    fn drop(&mut self) {
        let size = std::mem::size_of::<T>();
        // SAFETY: the states are numbers; nothing is dropped after this.
        unsafe { tenrounds_sys::raw::tr_cleanse((&raw mut self.0).cast(), size) };
    }
}

impl<T: Update + FixedOutput + Clone + Send + Sync> Hash for State<T> {
    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }

    fn len(&self) -> usize {
        T::output_size()
    }

    fn finish(&self, output: &mut [u8; LONGEST]) {
        let hash = self.0.clone().finalize_fixed();
        output[..hash.len()].copy_from_slice(&hash);
    }
}

/// Clears more of the stack than an HMAC's functions use.
#[inline(never)]
pub fn burn() {
    let mut stack = [0u8; 4096];
    stack.zeroize();
    std::hint::black_box(&stack);
}

/// A digest, or an HMAC with a key. For an HMAC, the caller then calls burn().
#[inline(never)]
pub fn new(mechanism: CK_MECHANISM_TYPE, key: &[u8]) -> Result<Box<dyn Hash>> {
    fn keyed<T: Mac + hmac::digest::KeyInit>(key: &[u8]) -> State<T> {
        State(<T as Mac>::new_from_slice(key).expect("a key of any length"))
    }
    Ok(match mechanism {
        CKM_SHA_1 => Box::new(State(Sha1::new())),
        CKM_SHA256 => Box::new(State(Sha256::new())),
        CKM_SHA384 => Box::new(State(Sha384::new())),
        CKM_SHA512 => Box::new(State(Sha512::new())),
        CKM_SHA_1_HMAC | CKM_SHA_1_HMAC_GENERAL => Box::new(keyed::<Hmac<Sha1>>(key)),
        CKM_SHA256_HMAC | CKM_SHA256_HMAC_GENERAL => Box::new(keyed::<Hmac<Sha256>>(key)),
        CKM_SHA384_HMAC | CKM_SHA384_HMAC_GENERAL => Box::new(keyed::<Hmac<Sha384>>(key)),
        CKM_SHA512_HMAC | CKM_SHA512_HMAC_GENERAL => Box::new(keyed::<Hmac<Sha512>>(key)),
        _ => return fail(CKR_MECHANISM_INVALID),
    })
}
