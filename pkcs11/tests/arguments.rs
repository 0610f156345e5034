// SPDX-License-Identifier: BSD-2-Clause
//! Random arguments: parameters of every mechanism with wrong lengths, numbers and NULL pointers,
//! templates of random attributes, buffers of random lengths. Whatever a call answers, it is a code
//! of the standard and no panic (which would become CKR_GENERAL_ERROR), and nothing is written
//! behind a buffer. Pointers that are not NULL are valid for their lengths: a program that lies
//! about these cannot be answered.
//!
//! SEED= repeats a run; TENROUNDS_CALLS= makes it longer.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ptr::null_mut;
use support::{attribute, bytes_of, Session};

/// Behind every buffer that a call may write to.
const GUARD: [u8; 32] = [0x5a; 32];
/// What parameters point at.
const POINTED: usize = 300;

struct Fuzzer {
    random: fastrand::Rng,
    session: Session,
    keys: Vec<CK_ULONG>,
    mechanisms: Vec<CK_MECHANISM_TYPE>,
    pointed: Box<[u8; POINTED]>,
    codes: std::collections::BTreeMap<CK_RV, usize>,
}

/// Codes that the standard knows for these calls.
fn is_expected(code: CK_RV) -> bool {
    ![CKR_GENERAL_ERROR, CKR_DEVICE_ERROR, CKR_FUNCTION_FAILED].contains(&code)
}

impl Fuzzer {
    fn new() -> Fuzzer {
        let seed = match std::env::var("SEED") {
            Ok(seed) => seed.parse().expect("SEED: a number"),
            Err(_) => fastrand::u64(..),
        };
        println!("SEED={seed}");
        let session = Session::open();
        let mut mechanisms = vec![0; 100];
        let mut count = 100;
        let list = mechanisms.as_mut_ptr();
        assert_eq!(ck!(C_GetMechanismList(0, list, &mut count)), CKR_OK);
        mechanisms.truncate(count as usize);
        mechanisms.extend([0, 0x1_0000, CK_ULONG::MAX]); // mechanisms that it lacks
        Fuzzer {
            random: fastrand::Rng::with_seed(seed),
            session,
            keys: Vec::new(),
            mechanisms,
            pointed: Box::new([7; POINTED]),
            codes: Default::default(),
        }
    }

    fn seen(&mut self, what: &str, code: CK_RV) -> CK_RV {
        assert!(is_expected(code), "{what} returns {code:#x}");
        *self.codes.entry(code).or_default() += 1;
        code
    }

    /// Keys of every type, and handles of none.
    fn key(&mut self) -> CK_ULONG {
        if self.keys.len() < 8 {
            let kinds = [
                (CKK_AES, 16),
                (CKK_AES, 32),
                (CKK_AES_XTS, 64),
                (CKK_GENERIC_SECRET, 20),
            ];
            let (kind, len) = kinds[self.random.usize(0..kinds.len())];
            let mut value = vec![0; len];
            self.random.fill(&mut value);
            self.keys.push(self.session.key(kind, &value));
        }
        match self.random.u8(0..20) {
            0 => self.random.u64(..) as CK_ULONG,
            _ => self.keys[self.random.usize(0..self.keys.len())],
        }
    }

    /// A number that a field may have: small, at a border, or any.
    fn number(&mut self) -> CK_ULONG {
        let borders = [
            0, 1, 7, 8, 12, 13, 15, 16, 17, 32, 64, 96, 127, 128, 129, 256,
        ];
        match self.random.u8(0..8) {
            0 => self.random.u64(..) as CK_ULONG,
            1 => CK_ULONG::MAX - CK_ULONG::from(self.random.u8(..)),
            2 => 1 << self.random.u32(0..CK_ULONG::BITS),
            _ => borders[self.random.usize(0..borders.len())],
        }
    }

    /// A pointer and a length: NULL with any length, or bytes that exist.
    fn pointer(&mut self) -> (*mut u8, CK_ULONG) {
        match self.random.u8(0..6) {
            0 => (null_mut(), self.number()),
            1 => (null_mut(), 0),
            _ => {
                let len = match self.random.bool() {
                    true => self.random.usize(0..=40),
                    false => self.random.usize(0..=POINTED),
                };
                (self.pointed.as_mut_ptr(), len as CK_ULONG)
            }
        }
    }

    /// The bytes of a parameter: a struct with random fields, an IV, or anything.
    fn parameter(&mut self, mechanism: CK_MECHANISM_TYPE) -> Vec<u8> {
        let (a, a_len) = self.pointer();
        let (b, b_len) = self.pointer();
        let mut bytes = match (mechanism, self.random.u8(0..10)) {
            (_, 0) => (0..self.random.usize(0..70))
                .map(|_| self.random.u8(..))
                .collect(),
            // Without ulIvBits, as JDK 17 has it.
            (CKM_AES_GCM, 1..=4) => [a as CK_ULONG, a_len, b as CK_ULONG, b_len, self.number()]
                .map(CK_ULONG::to_ne_bytes)
                .concat(),
            (CKM_AES_GCM, _) => bytes_of(&CK_GCM_PARAMS {
                pIv: a,
                ulIvLen: a_len,
                ulIvBits: self.number(),
                pAAD: b,
                ulAADLen: b_len,
                ulTagBits: self.number(),
            })
            .to_vec(),
            (CKM_AES_CCM, _) => bytes_of(&CK_CCM_PARAMS {
                ulDataLen: self.number(),
                pNonce: a,
                ulNonceLen: a_len,
                pAAD: b,
                ulAADLen: b_len,
                ulMACLen: self.number(),
            })
            .to_vec(),
            (CKM_AES_CTR, _) => {
                let mut counter = [0; 16];
                self.random.fill(&mut counter);
                let bits = match self.random.bool() {
                    true => self.number(),
                    false => self.random.u64(1..=16) as CK_ULONG, // wraps soon
                };
                bytes_of(&CK_AES_CTR_PARAMS {
                    ulCounterBits: bits,
                    cb: counter,
                })
                .to_vec()
            }
            (CKM_AES_CMAC_GENERAL, _) => {
                let len: CK_MAC_GENERAL_PARAMS = self.number();
                len.to_ne_bytes().to_vec()
            }
            _ => {
                let len = [0, 4, 8, 12, 16][self.random.usize(0..5)];
                vec![5; len]
            }
        };
        // Structs that are cut off.
        if self.random.u8(0..8) == 0 {
            let len = self.random.usize(0..=bytes.len());
            bytes.truncate(len);
        }
        bytes
    }

    /// Calls a function with a mechanism.
    fn with_mechanism(&mut self, call: impl FnOnce(&mut Fuzzer, *mut CK_MECHANISM)) {
        let kind = self.mechanisms[self.random.usize(0..self.mechanisms.len())];
        let parameter = self.parameter(kind);
        let mut m = support::mechanism(kind, &parameter);
        if self.random.u8(0..30) == 0 {
            m.pParameter = null_mut(); // with a length
        }
        let pointer = match self.random.u8(0..40) {
            0 => null_mut(),
            _ => &mut m,
        };
        call(self, pointer);
    }

    /// Calls a function with a template.
    fn with_template(&mut self, call: impl FnOnce(&mut Fuzzer, *mut CK_ATTRIBUTE, CK_ULONG)) {
        let kinds = [
            CKA_CLASS,
            CKA_KEY_TYPE,
            CKA_VALUE,
            CKA_VALUE_LEN,
            CKA_LABEL,
            CKA_ID,
            CKA_TOKEN,
            CKA_PRIVATE,
            CKA_SENSITIVE,
            CKA_EXTRACTABLE,
            CKA_START_DATE,
            CKA_END_DATE,
            CKA_ALLOWED_MECHANISMS,
            CKA_CHECK_VALUE,
            CKA_UNIQUE_ID,
            CKA_MODULUS,
            CKA_WRAP_TEMPLATE,
        ];
        let mut values: Vec<(CK_ATTRIBUTE_TYPE, Vec<u8>)> = Vec::new();
        if self.random.bool() {
            values.push((CKA_CLASS, CKO_SECRET_KEY.to_ne_bytes().to_vec()));
            values.push((CKA_KEY_TYPE, CKK_AES.to_ne_bytes().to_vec()));
        }
        for _ in 0..self.random.usize(0..5) {
            let kind = kinds[self.random.usize(0..kinds.len())];
            let value = match self.random.u8(0..4) {
                0 => vec![self.random.u8(0..3)],
                1 => self.number().to_ne_bytes().to_vec(),
                2 => vec![b'2'; 8],
                _ => vec![9; self.random.usize(0..40)],
            };
            values.push((kind, value));
        }
        let mut list: Vec<CK_ATTRIBUTE> = values.iter().map(|(k, v)| attribute(*k, v)).collect();
        if let (Some(last), 0) = (list.last_mut(), self.random.u8(0..10)) {
            last.pValue = null_mut(); // with a length, perhaps an absurd one
            last.ulValueLen = self.number();
        }
        let (pointer, count) = match self.random.u8(0..30) {
            0 => (null_mut(), self.number()),
            _ => (list.as_mut_ptr(), list.len() as CK_ULONG),
        };
        call(self, pointer, count);
    }

    /// Calls a function with data and room for output, behind which nothing may change.
    fn with_buffers(
        &mut self,
        what: &str,
        call: impl FnOnce(&Session, *mut u8, CK_ULONG, *mut u8, *mut CK_ULONG) -> CK_RV,
    ) {
        let (data, len) = self.pointer();
        let room = match self.random.bool() {
            true => self.random.usize(0..40),
            false => self.random.usize(0..2 * POINTED),
        };
        let mut memory = [vec![0; room], GUARD.to_vec()].concat();
        let mut n = room as CK_ULONG;
        let out = match self.random.u8(0..8) {
            0 => null_mut(),
            _ => memory.as_mut_ptr(),
        };
        let len_pointer = match self.random.u8(0..40) {
            0 => null_mut(),
            _ => &mut n,
        };
        let code = call(&self.session, data, len, out, len_pointer);
        let code = self.seen(what, code);
        assert_eq!(
            memory[room..],
            GUARD,
            "{what} writes behind {room} bytes ({code:#x})"
        );
        assert!(
            code != CKR_OK || out.is_null() || n as usize <= room,
            "{what}: {n} of {room}"
        );
    }

    fn begin(&mut self) {
        let key = self.key();
        self.with_mechanism(|f, m| {
            let s = f.session.0;
            let which = f.random.u8(0..4);
            let code = match which {
                0 => ck!(C_EncryptInit(s, m, key)),
                1 => ck!(C_DecryptInit(s, m, key)),
                2 => ck!(C_SignInit(s, m, key)),
                _ => ck!(C_VerifyInit(s, m, key)),
            };
            f.seen("an Init", code);
        });
    }

    fn work(&mut self) {
        match self.random.u8(0..9) {
            0 => self.with_buffers("C_Encrypt", |s, d, n, o, l| ck!(C_Encrypt(s.0, d, n, o, l))),
            1 => self.with_buffers("C_EncryptUpdate", |s, d, n, o, l| {
                ck!(C_EncryptUpdate(s.0, d, n, o, l))
            }),
            2 => self.with_buffers("C_EncryptFinal", |s, _, _, o, l| {
                ck!(C_EncryptFinal(s.0, o, l))
            }),
            3 => self.with_buffers("C_Decrypt", |s, d, n, o, l| ck!(C_Decrypt(s.0, d, n, o, l))),
            4 => self.with_buffers("C_DecryptUpdate", |s, d, n, o, l| {
                ck!(C_DecryptUpdate(s.0, d, n, o, l))
            }),
            5 => self.with_buffers("C_DecryptFinal", |s, _, _, o, l| {
                ck!(C_DecryptFinal(s.0, o, l))
            }),
            6 => self.with_buffers("C_Sign", |s, d, n, o, l| ck!(C_Sign(s.0, d, n, o, l))),
            7 => self.with_buffers("C_SignFinal", |s, _, _, o, l| ck!(C_SignFinal(s.0, o, l))),
            _ => self.with_buffers("C_VerifyUpdate", |s, d, n, _, _| {
                ck!(C_VerifyUpdate(s.0, d, n))
            }),
        }
    }

    fn make(&mut self) {
        let (key, other) = (self.key(), self.key());
        let (data, len) = self.pointer();
        let mut made = 0;
        let which = self.random.u8(0..4);
        self.with_template(|f, list, count| {
            f.with_mechanism(|f, m| {
                let s = f.session.0;
                let code = match which {
                    0 => ck!(C_CreateObject(s, list, count, &mut made)),
                    1 => ck!(C_GenerateKey(s, m, list, count, &mut made)),
                    2 => ck!(C_UnwrapKey(s, m, key, data, len, list, count, &mut made)),
                    _ => ck!(C_CopyObject(s, other, list, count, &mut made)),
                };
                if f.seen("making an object", code) == CKR_OK {
                    assert_eq!(ck!(C_DestroyObject(s, made)), CKR_OK);
                }
            });
        });
        self.with_mechanism(|f, m| {
            f.with_buffers("C_WrapKey", |s, _, _, o, l| {
                ck!(C_WrapKey(s.0, m, key, other, o, l))
            });
        });
        self.with_template(|f, list, count| {
            let code = ck!(C_GetAttributeValue(f.session.0, key, list, count));
            f.seen("C_GetAttributeValue", code);
        });
    }
}

#[test]
fn no_argument_breaks_a_call() {
    let calls: usize = match std::env::var("TENROUNDS_CALLS") {
        Ok(calls) => calls.parse().expect("TENROUNDS_CALLS: a number"),
        Err(_) => 60_000,
    };
    let mut fuzzer = Fuzzer::new();
    for _ in 0..calls {
        match fuzzer.random.u8(0..10) {
            0..=2 => fuzzer.begin(),
            3..=7 => fuzzer.work(),
            8 => fuzzer.make(),
            _ => {
                let flags = fuzzer.random.u64(..) as CK_FLAGS;
                support::cancel(fuzzer.session.0, flags);
                fuzzer.seen("the Init functions without a mechanism", CKR_OK);
            }
        }
    }
    println!("{:x?}", fuzzer.codes);
    let right = fuzzer.codes.get(&CKR_OK).copied().unwrap_or_default();
    assert!(
        right > calls / 10 && fuzzer.codes.len() > 15,
        "{right} calls of {calls} succeed"
    );
}
