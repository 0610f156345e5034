// SPDX-License-Identifier: BSD-2-Clause
//! The mechanisms: one table of what each does and with which keys, and their parameters.

use crate::buffers::{Bytes, Input};
use crate::rv::{ensure, fail, Error, Result};
use catalogue::Mode;
use cryptoki_sys::*;
use std::mem::size_of;
use std::ptr::addr_of;

/// A row of the table.
pub struct Row {
    pub mechanism: CK_MECHANISM_TYPE,
    /// The types of its keys; none if it has no key. HMAC takes generic secrets and keys of its own
    /// type (PKCS#11 3.0 sections 2.20 to 2.24 of the mechanisms).
    key_types: &'static [CK_KEY_TYPE],
    /// Bytes of a key, from and to; bits of a generic secret that is generated.
    sizes: (CK_ULONG, CK_ULONG),
    flags: CK_FLAGS,
}

const NONE: &[CK_KEY_TYPE] = &[];
const AES: &[CK_KEY_TYPE] = &[CKK_AES];
const XTS: &[CK_KEY_TYPE] = &[CKK_AES_XTS];
const GENERIC: &[CK_KEY_TYPE] = &[CKK_GENERIC_SECRET];
const HMAC_1: &[CK_KEY_TYPE] = &[CKK_GENERIC_SECRET, CKK_SHA_1_HMAC];
const HMAC_256: &[CK_KEY_TYPE] = &[CKK_GENERIC_SECRET, CKK_SHA256_HMAC];
const HMAC_384: &[CK_KEY_TYPE] = &[CKK_GENERIC_SECRET, CKK_SHA384_HMAC];
const HMAC_512: &[CK_KEY_TYPE] = &[CKK_GENERIC_SECRET, CKK_SHA512_HMAC];
const OF_AES: (CK_ULONG, CK_ULONG) = (16, 32);
const OF_XTS: (CK_ULONG, CK_ULONG) = (32, 64);
const OF_SECRETS: (CK_ULONG, CK_ULONG) = (1, crate::object::MOST_SECRET as CK_ULONG);

const CRYPT: CK_FLAGS = CKF_ENCRYPT | CKF_DECRYPT;
const MAC: CK_FLAGS = CKF_SIGN | CKF_VERIFY;
const WRAP: CK_FLAGS = CKF_WRAP | CKF_UNWRAP;

const fn row(
    mechanism: CK_MECHANISM_TYPE,
    key_types: &'static [CK_KEY_TYPE],
    sizes: (CK_ULONG, CK_ULONG),
    flags: CK_FLAGS,
) -> Row {
    Row {
        mechanism,
        key_types,
        sizes,
        flags,
    }
}

pub static TABLE: [Row; 35] = [
    row(CKM_AES_KEY_GEN, AES, OF_AES, CKF_GENERATE),
    row(CKM_AES_XTS_KEY_GEN, XTS, OF_XTS, CKF_GENERATE),
    row(
        CKM_GENERIC_SECRET_KEY_GEN,
        GENERIC,
        (8, 8 * OF_SECRETS.1),
        CKF_GENERATE,
    ),
    row(CKM_AES_ECB, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CBC, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CBC_PAD, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CTR, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CTS, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_OFB, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CFB128, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CFB8, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_GCM, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CCM, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_XTS, XTS, OF_XTS, CRYPT),
    row(CKM_AES_KEY_WRAP, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_KEY_WRAP_PAD, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_KEY_WRAP_KWP, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_KEY_WRAP_PKCS7, AES, OF_AES, CRYPT | WRAP),
    row(CKM_AES_CMAC, AES, OF_AES, MAC),
    row(CKM_AES_CMAC_GENERAL, AES, OF_AES, MAC),
    row(CKM_AES_GMAC, AES, OF_AES, MAC),
    row(CKM_AES_ECB_ENCRYPT_DATA, AES, OF_AES, CKF_DERIVE),
    row(CKM_AES_CBC_ENCRYPT_DATA, AES, OF_AES, CKF_DERIVE),
    row(CKM_SHA_1, NONE, (0, 0), CKF_DIGEST),
    row(CKM_SHA_1_HMAC, HMAC_1, OF_SECRETS, MAC),
    row(CKM_SHA_1_HMAC_GENERAL, HMAC_1, OF_SECRETS, MAC),
    row(CKM_SHA256, NONE, (0, 0), CKF_DIGEST),
    row(CKM_SHA256_HMAC, HMAC_256, OF_SECRETS, MAC),
    row(CKM_SHA256_HMAC_GENERAL, HMAC_256, OF_SECRETS, MAC),
    row(CKM_SHA384, NONE, (0, 0), CKF_DIGEST),
    row(CKM_SHA384_HMAC, HMAC_384, OF_SECRETS, MAC),
    row(CKM_SHA384_HMAC_GENERAL, HMAC_384, OF_SECRETS, MAC),
    row(CKM_SHA512, NONE, (0, 0), CKF_DIGEST),
    row(CKM_SHA512_HMAC, HMAC_512, OF_SECRETS, MAC),
    row(CKM_SHA512_HMAC_GENERAL, HMAC_512, OF_SECRETS, MAC),
];

impl Row {
    pub fn info(&self) -> CK_MECHANISM_INFO {
        CK_MECHANISM_INFO {
            ulMinKeySize: self.sizes.0,
            ulMaxKeySize: self.sizes.1,
            flags: self.flags,
        }
    }

    /// Whether a type of key fits.
    pub fn takes(&self, key_type: CK_KEY_TYPE) -> bool {
        self.key_types.contains(&key_type)
    }

    /// The type of key that it makes.
    pub fn key_type(&self) -> Option<CK_KEY_TYPE> {
        self.key_types.first().copied()
    }

    pub fn does(&self, flag: CK_FLAGS) -> bool {
        self.flags & flag != 0
    }
}

/// The row of a mechanism that does what the flag names.
pub fn find(mechanism: CK_MECHANISM_TYPE, flag: CK_FLAGS) -> Result<&'static Row> {
    let row = TABLE.iter().find(|row| row.mechanism == mechanism);
    row.filter(|row| row.does(flag))
        .ok_or(Error(CKR_MECHANISM_INVALID))
}

/// A mechanism of encryption and decryption, with its parameters.
#[derive(Default)]
pub enum Cipher {
    #[default]
    None,
    /// ECB, CBC, OFB or CFB128. PKCS#7 padding in CBC alone.
    Stream {
        mode: Mode,
        iv: [u8; 16],
        padding: bool,
    },
    /// The low `bits` of the counter block count, and wrap among themselves.
    Ctr {
        counter: [u8; 16],
        bits: u32,
    },
    Cfb8 {
        iv: [u8; 16],
    },
    /// Ciphertext stealing: CS1 of the addendum to SP 800-38A, as in NSS and kryoptic.
    Cts {
        iv: [u8; 16],
    },
    Gcm {
        iv: Bytes,
        aad: Bytes,
        tag_len: usize,
    },
    Ccm {
        nonce: Bytes,
        aad: Bytes,
        tag_len: usize,
        /// Bytes of plaintext.
        len: usize,
    },
    Xts {
        tweak: [u8; 16],
    },
    /// SP 800-38F's KW, with PKCS#7 padding to 8 bytes or without.
    Kw {
        iv: Option<[u8; 8]>,
        padding: bool,
    },
    Kwp {
        icv: Option<[u8; 4]>,
    },
}

/// A mechanism's parameter, as bytes.
pub struct Parameter(Input);

impl Parameter {
    /// # Safety
    /// The mechanism's pointer is NULL or valid for its length, until the call returns.
    pub unsafe fn new(mechanism: &CK_MECHANISM) -> Result<Parameter> {
        // SAFETY: the caller's.
        let input =
            unsafe { Input::new(mechanism.pParameter as *const u8, mechanism.ulParameterLen) };
        Ok(Parameter(
            input.map_err(|_| Error(CKR_MECHANISM_PARAM_INVALID))?,
        ))
    }

    pub fn bytes(&self) -> &[u8] {
        // SAFETY: new()'s caller. Initialising an operation writes no output.
        unsafe { self.0.bytes() }
    }

    pub fn none(&self) -> Result<()> {
        ensure(self.0.len() == 0, CKR_MECHANISM_PARAM_INVALID)
    }

    pub fn array<const N: usize>(&self) -> Result<[u8; N]> {
        let bytes = self.bytes().try_into();
        bytes.map_err(|_| Error(CKR_MECHANISM_PARAM_INVALID))
    }

    fn optional<const N: usize>(&self) -> Result<Option<[u8; N]>> {
        match self.0.len() {
            0 => Ok(None),
            _ => self.array().map(Some),
        }
    }

    /// A struct of the standard, which may not be aligned.
    ///
    /// # Safety
    /// Every value of its bytes is one of T.
    pub unsafe fn read<T>(&self) -> Result<T> {
        // SAFETY: new()'s caller, and the length is right.
        Ok(unsafe { self.pointer::<T>()?.read_unaligned() })
    }

    /// The address of a struct of the standard, which may not be aligned.
    fn pointer<T>(&self) -> Result<*const T> {
        ensure(self.0.len() == size_of::<T>(), CKR_MECHANISM_PARAM_INVALID)?;
        Ok(self.0.as_ptr().cast())
    }
}

/// Bytes that a parameter points at.
///
/// # Safety
/// The pointer is NULL or valid for the length until the call returns.
pub unsafe fn pointed<'a>(pointer: *const u8, len: CK_ULONG) -> Result<&'a [u8]> {
    // SAFETY: the caller's.
    let input = unsafe { Input::new(pointer, len) };
    let input = input.map_err(|_| Error(CKR_MECHANISM_PARAM_INVALID))?;
    // SAFETY: the caller's. Initialising an operation writes no output.
    Ok(unsafe { input.bytes() })
}

/// CK_GCM_PARAMS without ulIvBits, as the text of PKCS#11 2.40 prints it and as older programs use
/// it (JDK 17 tries this one first). The length of the parameter tells which it is.
#[repr(C)]
struct ShortGcmParams {
    iv: *mut u8,
    iv_len: CK_ULONG,
    aad: *mut u8,
    aad_len: CK_ULONG,
    tag_bits: CK_ULONG,
}

impl Cipher {
    /// Becomes a mechanism with its parameters, or is any if it fails.
    ///
    /// # Safety
    /// The pointers in the parameter are valid for their lengths.
    #[inline]
    pub unsafe fn set(&mut self, mechanism: CK_MECHANISM_TYPE, p: &Parameter) -> Result<()> {
        *self = match mechanism {
            // SAFETY: the caller's.
            CKM_AES_GCM => return unsafe { self.set_gcm(p) },
            // SAFETY: the caller's.
            CKM_AES_CCM => return unsafe { self.set_ccm(p) },
            // SAFETY: the caller's.
            CKM_AES_CTR => return unsafe { self.set_ctr(p) },
            CKM_AES_CBC => return self.set_stream(Mode::Cbc, false, p),
            CKM_AES_CBC_PAD => return self.set_stream(Mode::Cbc, true, p),
            CKM_AES_ECB => p.none().map(|()| Cipher::Stream {
                mode: Mode::Ecb,
                iv: [0; 16],
                padding: false,
            })?,
            CKM_AES_OFB => return self.set_stream(Mode::Ofb, false, p),
            CKM_AES_CFB128 => return self.set_stream(Mode::Cfb128, false, p),
            CKM_AES_CFB8 => p.array().map(|iv| Cipher::Cfb8 { iv })?,
            CKM_AES_CTS => p.array().map(|iv| Cipher::Cts { iv })?,
            CKM_AES_XTS => p.array().map(|tweak| Cipher::Xts { tweak })?,
            CKM_AES_KEY_WRAP => Cipher::kw(p, false)?,
            CKM_AES_KEY_WRAP_PAD | CKM_AES_KEY_WRAP_PKCS7 => Cipher::kw(p, true)?,
            CKM_AES_KEY_WRAP_KWP => Cipher::Kwp { icv: p.optional()? },
            _ => return fail(CKR_MECHANISM_INVALID),
        };
        Ok(())
    }

    /// A mode with an IV of a block. Not inlined into set(): there the compiler would copy the IV
    /// in pieces, and the core's load of the whole would wait for them (store forwarding).
    #[inline(never)]
    fn set_stream(&mut self, mode: Mode, padding: bool, p: &Parameter) -> Result<()> {
        let iv = p.array()?;
        *self = Cipher::Stream { mode, iv, padding };
        Ok(())
    }

    fn kw(p: &Parameter, padding: bool) -> Result<Cipher> {
        let iv = p.optional()?;
        Ok(Cipher::Kw { iv, padding })
    }

    /// # Safety
    /// As for set().
    #[inline]
    unsafe fn set_ctr(&mut self, p: &Parameter) -> Result<()> {
        let params: *const CK_AES_CTR_PARAMS = p.pointer()?;
        // SAFETY: the caller's. Each field is read by itself, so that the processor need not wait
        // for a copy of the whole.
        let (bits, counter) = unsafe {
            (
                addr_of!((*params).ulCounterBits).read_unaligned(),
                addr_of!((*params).cb).read_unaligned(),
            )
        };
        ensure((1..=128).contains(&bits), CKR_MECHANISM_PARAM_INVALID)?;
        let new = (counter, bits as u32);
        match self {
            Cipher::Ctr { counter, bits } => (*counter, *bits) = new,
            _ => {
                let (counter, bits) = new;
                *self = Cipher::Ctr { counter, bits };
            }
        }
        Ok(())
    }

    /// # Safety
    /// As for set().
    #[inline]
    unsafe fn set_gcm(&mut self, p: &Parameter) -> Result<()> {
        let short = p.bytes().len() == size_of::<ShortGcmParams>();
        // SAFETY: the structs are of numbers and pointers.
        let params: ShortGcmParams = unsafe {
            if short {
                p.read()?
            } else {
                let params: CK_GCM_PARAMS = p.read()?;
                // ulIvBits is left uninitialised by some programs, and says nothing new.
                ShortGcmParams {
                    iv: params.pIv,
                    iv_len: params.ulIvLen,
                    aad: params.pAAD,
                    aad_len: params.ulAADLen,
                    tag_bits: params.ulTagBits,
                }
            }
        };
        // SAFETY: the caller's.
        let (iv, aad) = unsafe {
            (
                pointed(params.iv, params.iv_len)?,
                pointed(params.aad, params.aad_len)?,
            )
        };
        ensure(!iv.is_empty(), CKR_MECHANISM_PARAM_INVALID)?;
        // SP 800-38D section 5.2.1.2.
        let allowed = matches!(params.tag_bits, 32 | 64 | 96 | 104 | 112 | 120 | 128);
        ensure(allowed, CKR_MECHANISM_PARAM_INVALID)?;
        if !matches!(self, Cipher::Gcm { .. }) {
            *self = Cipher::Gcm {
                iv: Bytes::EMPTY,
                aad: Bytes::EMPTY,
                tag_len: 0,
            };
        }
        if let Cipher::Gcm {
            iv: own_iv,
            aad: own_aad,
            tag_len,
        } = self
        {
            own_iv.set(iv)?;
            own_aad.set(aad)?;
            *tag_len = params.tag_bits as usize / 8;
        }
        Ok(())
    }

    /// # Safety
    /// As for set().
    unsafe fn set_ccm(&mut self, p: &Parameter) -> Result<()> {
        // SAFETY: the struct is of numbers and pointers.
        let params: CK_CCM_PARAMS = unsafe { p.read()? };
        // SAFETY: the caller's.
        let (nonce, aad) = unsafe {
            (
                pointed(params.pNonce, params.ulNonceLen)?,
                pointed(params.pAAD, params.ulAADLen)?,
            )
        };
        // SP 800-38C appendix A.1.
        let tag_len = params.ulMACLen as usize;
        let right = (7..=13).contains(&nonce.len())
            && (4..=16).contains(&tag_len)
            && tag_len.is_multiple_of(2)
            && (nonce.len() == 7 || params.ulDataLen >> (8 * (15 - nonce.len())) == 0);
        ensure(right, CKR_MECHANISM_PARAM_INVALID)?;
        let (mut own_nonce, mut own_aad) = (Bytes::EMPTY, Bytes::EMPTY);
        own_nonce.set(nonce)?;
        own_aad.set(aad)?;
        *self = Cipher::Ccm {
            nonce: own_nonce,
            aad: own_aad,
            tag_len,
            len: params.ulDataLen as usize,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mechanism_has_one_row() {
        for (i, row) in TABLE.iter().enumerate() {
            let same = TABLE[i + 1..].iter().any(|r| r.mechanism == row.mechanism);
            assert!(!same, "{:#x}", row.mechanism);
        }
    }
}
