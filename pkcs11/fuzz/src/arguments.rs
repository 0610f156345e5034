// SPDX-License-Identifier: BSD-2-Clause
//! Pointers, parameters and templates as an input describes them. Each pointer leads to memory of
//! exactly its length, so that AddressSanitizer sees what is read or written behind it.

use crate::input::Input;
use crate::support::{attribute, bytes_of};
use cryptoki_sys::*;
use std::ptr::null_mut;

/// Owns what the pointers of a call lead to.
#[derive(Default)]
pub struct Arena(Vec<Box<[u8]>>);

impl Arena {
    /// A copy of bytes, and its address.
    pub fn keep(&mut self, bytes: &[u8]) -> *mut u8 {
        self.0.push(bytes.into());
        self.0.last_mut().expect("it was pushed").as_mut_ptr()
    }

    /// A pointer and a length: bytes, NULL with any length, or bytes with a length that no memory
    /// has.
    pub fn pointer(&mut self, input: &mut Input<'_>) -> (*mut u8, CK_ULONG) {
        const NEGATIVE: CK_ULONG = !(CK_ULONG::MAX >> 1);
        match input.byte() {
            0xff => (null_mut(), input.number()),
            0xfe => (self.keep(&[0]), NEGATIVE | input.number()),
            0xfd => (null_mut(), 0),
            _ => {
                let bytes = input.bytes();
                (self.keep(bytes), bytes.len() as CK_ULONG)
            }
        }
    }

    /// A parameter of a mechanism: the struct that it takes, perhaps cut off or too long, or any
    /// bytes.
    pub fn mechanism(&mut self, input: &mut Input<'_>, kind: CK_MECHANISM_TYPE) -> CK_MECHANISM {
        let mut bytes = match input.byte() {
            0xf0.. => input.bytes().to_vec(),
            short => self.parameter(input, kind, short % 2 == 1),
        };
        match input.byte() {
            0xf0..=0xf7 => bytes.truncate(usize::from(input.byte())),
            0xf8.. => bytes.extend_from_slice(input.bytes()),
            _ => {}
        }
        let (parameter, len) = match input.byte() {
            0xff => (null_mut(), bytes.len() as CK_ULONG),
            0xfe => self.pointer(input),
            _ if bytes.is_empty() => (null_mut(), 0),
            _ => (self.keep(&bytes), bytes.len() as CK_ULONG),
        };
        CK_MECHANISM {
            mechanism: kind,
            pParameter: parameter.cast(),
            ulParameterLen: len,
        }
    }

    /// The struct of a mechanism with the fields that the input gives. `short`: CK_GCM_PARAMS
    /// without ulIvBits, or a wrapping without its initial value.
    fn parameter(
        &mut self,
        input: &mut Input<'_>,
        kind: CK_MECHANISM_TYPE,
        short: bool,
    ) -> Vec<u8> {
        let sixteen = |input: &mut Input<'_>| [(); 16].map(|()| input.byte());
        match kind {
            CKM_AES_GCM => self.gcm(input, short),
            CKM_AES_CCM => {
                let len = input.number();
                let (nonce, nonce_len) = self.pointer(input);
                let (aad, aad_len) = self.pointer(input);
                bytes_of(&CK_CCM_PARAMS {
                    ulDataLen: len,
                    pNonce: nonce,
                    ulNonceLen: nonce_len,
                    pAAD: aad,
                    ulAADLen: aad_len,
                    ulMACLen: input.number(),
                })
                .to_vec()
            }
            CKM_AES_CTR => bytes_of(&CK_AES_CTR_PARAMS {
                ulCounterBits: input.number(),
                cb: sixteen(input),
            })
            .to_vec(),
            CKM_AES_CMAC_GENERAL => input.number().to_ne_bytes().to_vec(),
            CKM_AES_GMAC => input.bytes().to_vec(),
            CKM_AES_KEY_WRAP | CKM_AES_KEY_WRAP_PAD | CKM_AES_KEY_WRAP_PKCS7 if !short => {
                sixteen(input)[..8].to_vec()
            }
            CKM_AES_KEY_WRAP_KWP if !short => sixteen(input)[..4].to_vec(),
            CKM_AES_CBC | CKM_AES_CBC_PAD | CKM_AES_CTS | CKM_AES_OFB | CKM_AES_CFB128
            | CKM_AES_CFB8 | CKM_AES_XTS => sixteen(input).to_vec(),
            _ => Vec::new(),
        }
    }

    fn gcm(&mut self, input: &mut Input<'_>, short: bool) -> Vec<u8> {
        let (iv, iv_len) = self.pointer(input);
        let (aad, aad_len) = self.pointer(input);
        let tag_bits = input.number();
        if short {
            let fields = [iv as CK_ULONG, iv_len, aad as CK_ULONG, aad_len, tag_bits];
            return fields.map(CK_ULONG::to_ne_bytes).concat();
        }
        bytes_of(&CK_GCM_PARAMS {
            pIv: iv,
            ulIvLen: iv_len,
            ulIvBits: input.number(),
            pAAD: aad,
            ulAADLen: aad_len,
            ulTagBits: tag_bits,
        })
        .to_vec()
    }

    /// A template: attributes of the table or others, with values of the right size or any.
    pub fn template(&mut self, input: &mut Input<'_>) -> Vec<CK_ATTRIBUTE> {
        let count = input.byte() % 16;
        (0..count).map(|_| self.attribute(input)).collect()
    }

    fn attribute(&mut self, input: &mut Input<'_>) -> CK_ATTRIBUTE {
        let kind = input.one_of(&ATTRIBUTES);
        let number;
        let value: &[u8] = match input.byte() {
            0..=0x3f => &[CK_TRUE],
            0x40..=0x7f => &[CK_FALSE],
            0x80..=0xbf => {
                number = input.number().to_ne_bytes();
                &number
            }
            0xc0..=0xef => input.bytes(),
            _ => {
                let (value, len) = self.pointer(input);
                return CK_ATTRIBUTE {
                    type_: kind,
                    pValue: value.cast(),
                    ulValueLen: len,
                };
            }
        };
        let mut made = attribute(kind, &[]);
        made.pValue = self.keep(value).cast();
        made.ulValueLen = value.len() as CK_ULONG;
        made
    }
}

/// The attributes of the module's table, and two that it does not have.
pub const ATTRIBUTES: [CK_ATTRIBUTE_TYPE; 40] = [
    CKA_CLASS,
    CKA_KEY_TYPE,
    CKA_VALUE,
    CKA_VALUE_LEN,
    CKA_TOKEN,
    CKA_PRIVATE,
    CKA_MODIFIABLE,
    CKA_COPYABLE,
    CKA_DESTROYABLE,
    CKA_LABEL,
    CKA_UNIQUE_ID,
    CKA_APPLICATION,
    CKA_OBJECT_ID,
    CKA_ID,
    CKA_START_DATE,
    CKA_END_DATE,
    CKA_ALLOWED_MECHANISMS,
    CKA_KEY_GEN_MECHANISM,
    CKA_CHECK_VALUE,
    CKA_LOCAL,
    CKA_ALWAYS_SENSITIVE,
    CKA_NEVER_EXTRACTABLE,
    CKA_SENSITIVE,
    CKA_EXTRACTABLE,
    CKA_ENCRYPT,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_VERIFY,
    CKA_WRAP,
    CKA_UNWRAP,
    CKA_DERIVE,
    CKA_TRUSTED,
    CKA_WRAP_WITH_TRUSTED,
    CKA_PROFILE_ID,
    CKA_WRAP_TEMPLATE,
    CKA_UNWRAP_TEMPLATE,
    CKA_DERIVE_TEMPLATE,
    CKA_MODULUS,
    CKA_VENDOR_DEFINED,
    0,
];
