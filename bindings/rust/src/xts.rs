// SPDX-License-Identifier: BSD-2-Clause
//! XTS.

use crate::object::Object;
use crate::raw;
use crate::{check, Result};

/// A key of XTS (NIST SP 800-38E, IEEE 1619): two AES keys in `KEY` bytes, 32 or 64.
///
/// ```
/// use tenrounds::Aes256Xts;
///
/// let mut key = [7; 64];
/// key[32..].fill(8); // two different keys
/// let key = Aes256Xts::with_key(&key);
/// let mut disk = [0; 8 * 4096];
/// key.encrypt_units(1000, 4096, &mut disk)?; // sectors 1000 to 1007
/// key.decrypt_units(1000, 4096, &mut disk)?;
/// assert_eq!(disk, [0; 8 * 4096]);
/// # Ok::<(), tenrounds::Error>(())
/// ```
pub struct Xts<const KEY: usize>(Object<raw::tr_xts_key>);

impl<const KEY: usize> Clone for Xts<KEY> {
    fn clone(&self) -> Self {
        // SAFETY: no call changes a key of XTS.
        Xts(unsafe { self.0.copy() })
    }
}

impl<const KEY: usize> Xts<KEY> {
    /// Expands both keys. Encryption fails if they are equal.
    pub fn with_key(key: &[u8; KEY]) -> Self {
        const { assert!(matches!(KEY, 32 | 64), "XTS takes no keys of KEY bytes") }
        Xts(Object::new(raw::tr_xts_set_key(), key))
    }

    /// Encrypts one data unit.
    ///
    /// # Errors
    /// The data unit has less than 16 bytes or more than 2^24, or both halves of the key are equal;
    /// `data` is unchanged.
    #[inline]
    pub fn encrypt(&self, tweak: &[u8; 16], data: &mut [u8]) -> Result<()> {
        self.unit(raw::tr_xts_encrypt(), tweak, data)
    }

    /// Decrypts one data unit.
    ///
    /// # Errors
    /// As of [`Xts::encrypt`], but equal halves of the key decrypt.
    #[inline]
    pub fn decrypt(&self, tweak: &[u8; 16], data: &mut [u8]) -> Result<()> {
        self.unit(raw::tr_xts_decrypt(), tweak, data)
    }

    /// Encrypts data units of `unit` bytes with the numbers `first`, `first + 1` and so on. The
    /// tweak is a unit's number, little-endian.
    ///
    /// # Errors
    /// As of [`Xts::encrypt`], or `data` are no multiple of `unit`.
    #[inline]
    pub fn encrypt_units(&self, first: u128, unit: usize, data: &mut [u8]) -> Result<()> {
        self.units(raw::tr_xts_encrypt_units(), first, unit, data)
    }

    /// Decrypts data units, as [`Xts::encrypt_units`] encrypts them.
    ///
    /// # Errors
    /// As of [`Xts::decrypt`], or `data` are no multiple of `unit`.
    #[inline]
    pub fn decrypt_units(&self, first: u128, unit: usize, data: &mut [u8]) -> Result<()> {
        self.units(raw::tr_xts_decrypt_units(), first, unit, data)
    }

    fn unit(&self, call: raw::Tweaked, tweak: &[u8; 16], data: &mut [u8]) -> Result<()> {
        let (out, len) = (data.as_mut_ptr(), data.len());
        // SAFETY: the data are a slice, processed in place.
        check(unsafe { call(self.0.as_ptr(), tweak.as_ptr(), out, out, len) })
    }

    fn units(&self, call: raw::Units, first: u128, unit: usize, data: &mut [u8]) -> Result<()> {
        // Without a divisor there is one unit, whose length the core refuses.
        let units = data.len().checked_div(unit).unwrap_or(1);
        if units.checked_mul(unit) != Some(data.len()) {
            return Err(crate::Error);
        }
        let (tweak, out) = (first.to_le_bytes(), data.as_mut_ptr());
        // SAFETY: the data are a slice of so many units, processed in place.
        check(unsafe { call(self.0.as_ptr(), tweak.as_ptr(), out, out, unit, units) })
    }
}
