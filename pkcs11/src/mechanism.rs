// SPDX-License-Identifier: BSD-2-Clause
//! The mechanisms: one table of what each does and with which keys, and their parameters.

use crate::buffers::{Bytes, Input};
use crate::rv::{ensure, Error, Result};
use catalogue::Mode;
use cryptoki_sys::*;
use std::mem::size_of;
use std::ptr::addr_of;

/// What encryption or decryption does with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// ECB, CBC, OFB, CFB128, CFB8 or CTR: each piece is written as it comes.
    Stream(Mode),
    /// CBC with PKCS#7 padding.
    Padded,
    /// GCM, CCM or XTS, by the core's one-shot calls.
    Sealed(Mode),
    /// Ciphertext stealing: CS1 of the addendum to SP 800-38A, as in NSS and kryoptic.
    Stolen,
    /// SP 800-38F's KW.
    Kw,
    /// KW after PKCS#7 padding to 8 bytes.
    KwPadded,
    Kwp,
}

/// A row of the table.
pub struct Row {
    pub mechanism: CK_MECHANISM_TYPE,
    /// The type of its keys, or of the key that it makes.
    pub key_type: CK_KEY_TYPE,
    /// Bytes of a key, from and to; bits of a generic secret that is generated.
    sizes: (CK_ULONG, CK_ULONG),
    flags: CK_FLAGS,
    /// Of those that encrypt.
    kind: Option<Kind>,
}

const OF_AES: (CK_ULONG, CK_ULONG) = (16, 32);
const OF_XTS: (CK_ULONG, CK_ULONG) = (32, 64);
const GENERATED: (CK_ULONG, CK_ULONG) = (8, 8 * crate::object::MOST_SECRET as CK_ULONG);

const MAC: CK_FLAGS = CKF_SIGN | CKF_VERIFY;

const fn row(
    mechanism: CK_MECHANISM_TYPE,
    key_type: CK_KEY_TYPE,
    sizes: (CK_ULONG, CK_ULONG),
    flags: CK_FLAGS,
) -> Row {
    Row {
        mechanism,
        key_type,
        sizes,
        flags,
        kind: None,
    }
}

const fn cipher(mechanism: CK_MECHANISM_TYPE, kind: Kind) -> Row {
    const CRYPT: CK_FLAGS = CKF_ENCRYPT | CKF_DECRYPT;
    let (key_type, sizes, flags) = match kind {
        Kind::Sealed(Mode::Xts) => (CKK_AES_XTS, OF_XTS, CRYPT),
        _ => (CKK_AES, OF_AES, CRYPT | CKF_WRAP | CKF_UNWRAP),
    };
    Row {
        kind: Some(kind),
        ..row(mechanism, key_type, sizes, flags)
    }
}

pub static TABLE: [Row; 21] = [
    row(CKM_AES_KEY_GEN, CKK_AES, OF_AES, CKF_GENERATE),
    row(CKM_AES_XTS_KEY_GEN, CKK_AES_XTS, OF_XTS, CKF_GENERATE),
    row(
        CKM_GENERIC_SECRET_KEY_GEN,
        CKK_GENERIC_SECRET,
        GENERATED,
        CKF_GENERATE,
    ),
    cipher(CKM_AES_ECB, Kind::Stream(Mode::Ecb)),
    cipher(CKM_AES_CBC, Kind::Stream(Mode::Cbc)),
    cipher(CKM_AES_CBC_PAD, Kind::Padded),
    cipher(CKM_AES_CTR, Kind::Stream(Mode::Ctr)),
    cipher(CKM_AES_CTS, Kind::Stolen),
    cipher(CKM_AES_OFB, Kind::Stream(Mode::Ofb)),
    cipher(CKM_AES_CFB128, Kind::Stream(Mode::Cfb128)),
    cipher(CKM_AES_CFB8, Kind::Stream(Mode::Cfb8)),
    cipher(CKM_AES_GCM, Kind::Sealed(Mode::Gcm)),
    cipher(CKM_AES_CCM, Kind::Sealed(Mode::Ccm)),
    cipher(CKM_AES_XTS, Kind::Sealed(Mode::Xts)),
    cipher(CKM_AES_KEY_WRAP, Kind::Kw),
    cipher(CKM_AES_KEY_WRAP_PAD, Kind::KwPadded),
    cipher(CKM_AES_KEY_WRAP_KWP, Kind::Kwp),
    cipher(CKM_AES_KEY_WRAP_PKCS7, Kind::KwPadded),
    row(CKM_AES_CMAC, CKK_AES, OF_AES, MAC),
    row(CKM_AES_CMAC_GENERAL, CKK_AES, OF_AES, MAC),
    row(CKM_AES_GMAC, CKK_AES, OF_AES, MAC),
];

impl Row {
    pub fn info(&self) -> CK_MECHANISM_INFO {
        CK_MECHANISM_INFO {
            ulMinKeySize: self.sizes.0,
            ulMaxKeySize: self.sizes.1,
            flags: self.flags,
        }
    }

    /// What a mechanism does that encrypts.
    pub fn kind(&self) -> Result<Kind> {
        self.kind.ok_or(Error(CKR_MECHANISM_INVALID))
    }
}

/// The row of a mechanism that does what the flag names.
pub fn find(mechanism: CK_MECHANISM_TYPE, flag: CK_FLAGS) -> Result<&'static Row> {
    let row = TABLE.iter().find(|row| row.mechanism == mechanism);
    row.filter(|row| row.flags & flag != 0)
        .ok_or(Error(CKR_MECHANISM_INVALID))
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
unsafe fn pointed<'a>(pointer: *const u8, len: CK_ULONG) -> Result<&'a [u8]> {
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

/// A message's parameters.
pub struct Cipher {
    pub kind: Kind,
    /// Also the counter block, nonce, tweak or ICV. Empty: the standard ICV of key wrap.
    pub iv: Bytes,
    pub aad: Bytes,
    pub tag_len: usize,
    /// Of CTR: the low bits of the counter block that count, and wrap among themselves.
    pub counter_bits: u32,
    /// Of CCM: bytes of plaintext.
    pub text_len: usize,
}

impl Cipher {
    pub const NEW: Cipher = Cipher {
        kind: Kind::Padded,
        iv: Bytes::EMPTY,
        aad: Bytes::EMPTY,
        tag_len: 0,
        counter_bits: 0,
        text_len: 0,
    };

    /// Takes the parameters of a message of this kind, or is any if it fails.
    ///
    /// # Safety
    /// The pointers in the parameter are valid for their lengths.
    #[inline]
    pub unsafe fn set(&mut self, p: &Parameter) -> Result<()> {
        match self.kind {
            // SAFETY: the caller's.
            Kind::Sealed(Mode::Gcm) => unsafe { self.set_gcm(p) },
            // SAFETY: the caller's.
            Kind::Sealed(Mode::Ccm) => unsafe { self.set_ccm(p) },
            // SAFETY: the caller's.
            Kind::Stream(Mode::Ctr) => unsafe { self.set_ctr(p) },
            Kind::Stream(Mode::Ecb) => p.none(),
            Kind::Stream(_) | Kind::Padded | Kind::Stolen | Kind::Sealed(_) => {
                self.tag_len = 0;
                self.iv.set_block(&p.array()?);
                Ok(())
            }
            Kind::Kw | Kind::KwPadded => self.set_icv(p, 8),
            Kind::Kwp => self.set_icv(p, 4),
        }
    }

    fn set_icv(&mut self, p: &Parameter, len: usize) -> Result<()> {
        let icv = p.bytes();
        let right = icv.is_empty() || icv.len() == len;
        ensure(right, CKR_MECHANISM_PARAM_INVALID)?;
        self.iv.set(icv)
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
        self.counter_bits = bits as u32;
        self.iv.set_block(&counter);
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
        let iv = unsafe { pointed(params.iv, params.iv_len)? };
        ensure(!iv.is_empty(), CKR_MECHANISM_PARAM_INVALID)?;
        // SP 800-38D section 5.2.1.2.
        let allowed = matches!(params.tag_bits, 32 | 64 | 96 | 104 | 112 | 120 | 128);
        ensure(allowed, CKR_MECHANISM_PARAM_INVALID)?;
        self.iv.set(iv)?;
        self.tag_len = params.tag_bits as usize / 8;
        // SAFETY: the caller's.
        self.aad
            .set(unsafe { pointed(params.aad, params.aad_len)? })
    }

    /// # Safety
    /// As for set().
    unsafe fn set_ccm(&mut self, p: &Parameter) -> Result<()> {
        // SAFETY: the struct is of numbers and pointers.
        let params: CK_CCM_PARAMS = unsafe { p.read()? };
        // SAFETY: the caller's.
        let nonce = unsafe { pointed(params.pNonce, params.ulNonceLen)? };
        // SP 800-38C appendix A.1.
        let tag_len = params.ulMACLen as usize;
        let right = (7..=13).contains(&nonce.len())
            && (4..=16).contains(&tag_len)
            && tag_len.is_multiple_of(2)
            && (nonce.len() == 7 || params.ulDataLen >> (8 * (15 - nonce.len())) == 0);
        ensure(right, CKR_MECHANISM_PARAM_INVALID)?;
        (self.tag_len, self.text_len) = (tag_len, params.ulDataLen as usize);
        self.iv.set(nonce)?;
        // SAFETY: the caller's.
        self.aad
            .set(unsafe { pointed(params.pAAD, params.ulAADLen)? })
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

    /// What the standard says of each mechanism: its sizes of keys, and what it does.
    #[test]
    fn sizes_and_functions_of_mechanisms() {
        let (crypt, wrap) = (CKF_ENCRYPT | CKF_DECRYPT, CKF_WRAP | CKF_UNWRAP);
        for row in &TABLE {
            let (sizes, flags) = match row.mechanism {
                CKM_AES_KEY_GEN => ((16, 32), CKF_GENERATE),
                CKM_AES_XTS_KEY_GEN => ((32, 64), CKF_GENERATE),
                CKM_GENERIC_SECRET_KEY_GEN => ((8, 8 << 20), CKF_GENERATE),
                CKM_AES_XTS => ((32, 64), crypt),
                CKM_AES_CMAC | CKM_AES_CMAC_GENERAL | CKM_AES_GMAC => ((16, 32), MAC),
                _ => ((16, 32), crypt | wrap),
            };
            assert_eq!(
                (row.sizes, row.flags),
                (sizes, flags),
                "{:#x}",
                row.mechanism
            );
            let info = row.info();
            assert_eq!(
                (info.ulMinKeySize, info.ulMaxKeySize, info.flags),
                (sizes.0, sizes.1, flags)
            );
            for bit in 0..32 {
                let flag = 1 << bit;
                let found = find(row.mechanism, flag).is_ok();
                assert_eq!(found, flags & flag != 0, "{:#x} {flag:#x}", row.mechanism);
            }
        }
        assert!(find(CKM_DES_ECB, CKF_ENCRYPT).is_err());
    }

    /// Sets the parameter of a message, and returns what it became.
    fn set<T>(kind: Kind, parameter: &T) -> Result<Cipher> {
        set_bytes(kind, (parameter as *const T).cast(), size_of::<T>())
    }

    fn set_bytes(kind: Kind, pointer: *const u8, len: usize) -> Result<Cipher> {
        let mechanism = CK_MECHANISM {
            mechanism: 0,
            pParameter: pointer.cast_mut().cast(),
            ulParameterLen: len as CK_ULONG,
        };
        let mut cipher = Cipher {
            kind,
            ..Cipher::NEW
        };
        // SAFETY: the callers' parameters are valid.
        unsafe { cipher.set(&Parameter::new(&mechanism)?)? };
        Ok(cipher)
    }

    #[test]
    fn counters_have_up_to_128_bits() {
        let set = |bits| {
            let params = CK_AES_CTR_PARAMS {
                ulCounterBits: bits,
                cb: [7; 16],
            };
            set(Kind::Stream(Mode::Ctr), &params).ok()
        };
        for bits in [1, 32, 127, 128] {
            let cipher = set(bits).unwrap();
            assert_eq!(
                (cipher.counter_bits, cipher.iv.block()),
                (bits as u32, &[7; 16])
            );
        }
        assert!(set(0).is_none() && set(129).is_none() && set(CK_ULONG::MAX).is_none());
    }

    #[test]
    fn tags_and_nonces_of_gcm() {
        let bytes = [5u8; 300];
        let set = |iv_len, aad_len, tag_bits| {
            let (iv, aad) = (bytes.as_ptr().cast_mut(), bytes.as_ptr().cast_mut());
            let params = CK_GCM_PARAMS {
                pIv: iv,
                ulIvLen: iv_len,
                ulIvBits: CK_ULONG::MAX,
                pAAD: aad,
                ulAADLen: aad_len,
                ulTagBits: tag_bits,
            };
            let short = ShortGcmParams {
                iv,
                iv_len,
                aad,
                aad_len,
                tag_bits,
            };
            let gcm = Kind::Sealed(Mode::Gcm);
            let found = [set(gcm, &params).ok(), set(gcm, &short).ok()];
            let lengths = found
                .map(|c| c.map(|c| (c.iv.as_slice().len(), c.aad.as_slice().len(), c.tag_len)));
            assert_eq!(lengths[0], lengths[1]);
            lengths[0]
        };
        for bits in 0..=136 {
            let allowed = [32, 64, 96, 104, 112, 120, 128].contains(&bits);
            let expected = allowed.then_some((12, 0, bits as usize / 8));
            assert_eq!(set(12, 0, bits), expected, "{bits}");
        }
        assert_eq!(set(0, 0, 128), None);
        assert_eq!(
            (set(1, 3, 128), set(300, 40, 32)),
            (Some((1, 3, 16)), Some((300, 40, 4)))
        );
    }

    #[test]
    fn lengths_of_ccm() {
        let bytes = [5u8; 16];
        let set = |nonce_len, tag_len, text_len| {
            let params = CK_CCM_PARAMS {
                ulDataLen: text_len,
                pNonce: bytes.as_ptr().cast_mut(),
                ulNonceLen: nonce_len,
                pAAD: bytes.as_ptr().cast_mut(),
                ulAADLen: 5,
                ulMACLen: tag_len,
            };
            let found = set(Kind::Sealed(Mode::Ccm), &params).ok();
            found.map(|c| {
                (
                    c.iv.as_slice().len(),
                    c.aad.as_slice().len(),
                    c.tag_len,
                    c.text_len,
                )
            })
        };
        for nonce_len in 0..=16 {
            let right = (7..=13).contains(&nonce_len);
            assert_eq!(set(nonce_len, 16, 9).is_some(), right, "{nonce_len}");
        }
        for tag_len in 0..=18 {
            let right = (4..=16).contains(&tag_len) && tag_len % 2 == 0;
            assert_eq!(set(12, tag_len, 9).is_some(), right, "{tag_len}");
        }
        assert_eq!(set(12, 8, 9), Some((12, 5, 8, 9)));
        // The nonce leaves 15 bytes less its own for the length of the text.
        for nonce_len in 8..=13 {
            let longest = (1 << (8 * (15 - nonce_len))) - 1;
            assert!(set(nonce_len, 16, longest).is_some(), "{nonce_len}");
            assert!(set(nonce_len, 16, longest + 1).is_none(), "{nonce_len}");
        }
        assert!(set(7, 16, CK_ULONG::MAX).is_some());
    }

    #[test]
    fn ivs_and_integrity_check_values() {
        let bytes = [5u8; 40];
        let allowed = |kind| -> Vec<usize> {
            let taken = |len: &usize| set_bytes(kind, bytes.as_ptr(), *len).is_ok();
            (0..40).filter(taken).collect()
        };
        assert_eq!(allowed(Kind::Stream(Mode::Ecb)), [0]);
        for kind in [
            Kind::Stream(Mode::Cbc),
            Kind::Padded,
            Kind::Stolen,
            Kind::Sealed(Mode::Xts),
        ] {
            assert_eq!(allowed(kind), [16], "{kind:?}");
        }
        assert_eq!(
            (allowed(Kind::Kw), allowed(Kind::KwPadded)),
            (vec![0, 8], vec![0, 8])
        );
        assert_eq!(allowed(Kind::Kwp), [0, 4]);
        let xts = set_bytes(Kind::Sealed(Mode::Xts), bytes.as_ptr(), 16).unwrap();
        assert_eq!((xts.tag_len, xts.iv.as_slice()), (0, &[5; 16][..]));
    }
}
