// SPDX-License-Identifier: BSD-2-Clause
//! Calls with parameters and templates as an input describes them. Whatever a call answers is a
//! code of the standard, and nothing is written behind a buffer. What succeeds has to agree:
//! messages in one piece and in several, encryption and decryption, signature and verification,
//! wrapping and unwrapping. Decryption that fails shows nothing.

use crate::arguments::{Arena, ATTRIBUTES};
use crate::input::Input;
use crate::support::{attribute, cancel, result, Session, Way};
use crate::{ck, is_expected};
use cryptoki_sys::*;
use std::ptr::null_mut;

/// What no output of a call looks like, in a buffer of some length.
const UNTOUCHED: u8 = 0xaa;

struct Run<'a> {
    input: Input<'a>,
    arena: Arena,
    session: Session,
    keys: Vec<CK_ULONG>,
}

pub fn fuzz(input: Input<'_>) {
    let session = Session::open();
    let key = |kind, value: &[u8]| session.key(kind, value);
    let keys = vec![
        key(CKK_AES, &[1; 16]),
        key(CKK_AES, &[2; 32]),
        key(CKK_AES_XTS, &std::array::from_fn::<u8, 64, _>(|i| i as u8)),
        key(CKK_GENERIC_SECRET, &[4; 20]),
    ];
    let mut run = Run {
        input,
        arena: Arena::default(),
        session,
        keys,
    };
    for _ in 0..8 {
        if run.input.is_empty() {
            break;
        }
        run.step();
        run.arena = Arena::default();
    }
}

/// The mechanisms of the module, and two that it does not have.
fn mechanisms() -> &'static [CK_MECHANISM_TYPE] {
    static LIST: std::sync::OnceLock<Vec<CK_MECHANISM_TYPE>> = std::sync::OnceLock::new();
    LIST.get_or_init(|| {
        let mut list = vec![0; 100];
        let mut count = 100;
        let answer = ck!(C_GetMechanismList(0, list.as_mut_ptr(), &mut count));
        assert_eq!(answer, CKR_OK);
        list.truncate(count as usize);
        list.extend([CKM_RSA_PKCS, CK_ULONG::MAX]);
        list
    })
}

fn seen(what: &str, code: CK_RV) -> Result<(), CK_RV> {
    assert!(is_expected(code), "{what} returns {code:#x}");
    result(code)
}

impl Run<'_> {
    fn step(&mut self) {
        match self.input.byte() % 9 {
            0 => self.encrypt(),
            1 => self.decrypt(),
            2 => self.sign(),
            3 => self.wrap(),
            4 => self.unwrap(),
            5 => self.make(),
            6 => self.change(),
            7 => self.find(),
            _ => self.initialize(),
        }
    }

    fn key(&mut self) -> CK_ULONG {
        match self.input.byte() {
            0xff => self.input.number(),
            n => self.keys[usize::from(n) % self.keys.len()],
        }
    }

    fn mechanism(&mut self) -> CK_MECHANISM {
        let kind = self.input.one_of(mechanisms());
        self.arena.mechanism(&mut self.input, kind)
    }

    fn made(&mut self, what: &str, code: CK_RV, handle: CK_ULONG) {
        if seen(what, code).is_ok() {
            self.keys.push(handle);
            self.read(handle);
        }
    }

    fn encrypt(&mut self) {
        let (m, key, data) = (self.mechanism(), self.key(), self.input.bytes());
        let Ok(sealed) = self.crypt(Way::Encrypt, &m, key, data) else {
            return;
        };
        if let Ok(opened) = self.crypt(Way::Decrypt, &m, key, &sealed) {
            assert_eq!(opened, data, "mechanism {:#x}", m.mechanism);
        }
    }

    fn decrypt(&mut self) {
        let (m, key, data) = (self.mechanism(), self.key(), self.input.bytes());
        let _ = self.crypt(Way::Decrypt, &m, key, data);
    }

    /// A message in one piece. The same in several has to give the same, if the mechanism has that.
    fn crypt(
        &mut self,
        way: Way,
        m: &CK_MECHANISM,
        key: CK_ULONG,
        data: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        let whole = self.whole(way, m, key, data);
        let pieces = self.pieces(way, m, key, data);
        match (&whole, &pieces) {
            (Ok(whole), Ok(pieces)) => assert_eq!(whole, pieces, "mechanism {:#x}", m.mechanism),
            (Err(_), Ok(_)) => panic!("{:#x} succeeds in pieces: {whole:x?}", m.mechanism),
            (_, Err(_)) => {}
        }
        cancel(self.session.0, CKF_ENCRYPT | CKF_DECRYPT);
        whole
    }

    fn whole(
        &mut self,
        way: Way,
        m: &CK_MECHANISM,
        key: CK_ULONG,
        data: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        let s = &self.session;
        check(s.init(way, m, key))?;
        let need = check(s.whole(way, data, None))?;
        if need > 0 {
            // Too little room changes nothing, and does not end the operation.
            let mut small = vec![UNTOUCHED; need - 1];
            match check(s.whole(way, data, Some(&mut small))) {
                // The length that was asked for is an upper bound.
                Ok(len) => {
                    small.truncate(len);
                    return Ok(small);
                }
                Err(CKR_BUFFER_TOO_SMALL) => assert!(small.iter().all(|b| *b == UNTOUCHED)),
                Err(code) => return Err(nothing_shown(&small, code)),
            }
        }
        let mut out = vec![UNTOUCHED; need];
        match check(s.whole(way, data, Some(&mut out))) {
            Ok(len) => {
                out.truncate(len);
                Ok(out)
            }
            Err(code) => Err(nothing_shown(&out, code)),
        }
    }

    fn pieces(
        &mut self,
        way: Way,
        m: &CK_MECHANISM,
        key: CK_ULONG,
        mut data: &[u8],
    ) -> Result<Vec<u8>, CK_RV> {
        check(self.session.init(way, m, key))?;
        let mut all = Vec::new();
        while !data.is_empty() {
            let (piece, rest) =
                data.split_at(data.len().min(1 + usize::from(self.input.byte() % 40)));
            let mut out = vec![UNTOUCHED; piece.len() + 15];
            let len = check(self.session.update(way, piece, &mut out))?;
            all.extend_from_slice(&out[..len]);
            data = rest;
        }
        let need = check(self.session.finish(way, None))?;
        let mut out = vec![UNTOUCHED; need];
        let len = check(self.session.finish(way, Some(&mut out)))?;
        all.extend_from_slice(&out[..len]);
        Ok(all)
    }

    fn sign(&mut self) {
        let (mut m, key, data) = (self.mechanism(), self.key(), self.input.bytes());
        let (s, from, len) = (
            self.session.0,
            self.arena.keep(data),
            data.len() as CK_ULONG,
        );
        if seen("C_SignInit", ck!(C_SignInit(s, &mut m, key))).is_err() {
            return;
        }
        let mut n = 0;
        let asked = ck!(C_Sign(s, from, len, null_mut(), &mut n));
        seen("C_Sign", asked).expect("a length");
        let mut mac = vec![UNTOUCHED; n as usize];
        let signed = ck!(C_Sign(s, from, len, mac.as_mut_ptr(), &mut n));
        seen("C_Sign", signed).expect("a signature of the length that was asked for");
        assert_eq!(n as usize, mac.len());

        let verify = |mac: &mut [u8], m: &mut CK_MECHANISM| {
            seen("C_VerifyInit", ck!(C_VerifyInit(s, m, key)))?;
            let n = mac.len() as CK_ULONG;
            seen("C_Verify", ck!(C_Verify(s, from, len, mac.as_mut_ptr(), n)))
        };
        match verify(&mut mac, &mut m) {
            Err(CKR_KEY_FUNCTION_NOT_PERMITTED) => return,
            answer => assert_eq!(answer, Ok(())),
        }
        if let Some(byte) = mac.first_mut() {
            *byte ^= 1;
            assert_eq!(verify(&mut mac, &mut m), Err(CKR_SIGNATURE_INVALID));
        }
    }

    fn wrap(&mut self) {
        let (mut m, by, key) = (self.mechanism(), self.key(), self.key());
        let (s, mut n) = (self.session.0, 0);
        let code = ck!(C_WrapKey(s, &mut m, by, key, null_mut(), &mut n));
        if seen("C_WrapKey", code).is_err() {
            return;
        }
        let mut wrapped = vec![UNTOUCHED; n as usize];
        let code = ck!(C_WrapKey(s, &mut m, by, key, wrapped.as_mut_ptr(), &mut n));
        // A question for the length does not look at the counter of CTR, which may be too short.
        if let Err(code) = seen("C_WrapKey", code) {
            nothing_shown(&wrapped, code);
            return;
        }
        let value = self.session.read(key, CKA_VALUE);
        let (class, kind) = (
            CKO_SECRET_KEY.to_ne_bytes(),
            CKK_GENERIC_SECRET.to_ne_bytes(),
        );
        let mut template = [
            attribute(CKA_CLASS, &class),
            attribute(CKA_KEY_TYPE, &kind),
            attribute(CKA_EXTRACTABLE, &[CK_TRUE]),
            attribute(CKA_SENSITIVE, &[CK_FALSE]),
        ];
        let (from, mut handle) = (wrapped.as_mut_ptr(), 0);
        let code = ck!(C_UnwrapKey(
            s,
            &mut m,
            by,
            from,
            n,
            template.as_mut_ptr(),
            4,
            &mut handle
        ));
        if seen("C_UnwrapKey", code).is_ok() {
            // Modes without padding cannot tell the length of a key.
            let again = self
                .session
                .read(handle, CKA_VALUE)
                .expect("it may be read");
            assert!(value.map_or(true, |value| again.starts_with(&value)));
        }
    }

    fn unwrap(&mut self) {
        let (mut m, by) = (self.mechanism(), self.key());
        let (data, len) = self.arena.pointer(&mut self.input);
        let mut template = self.arena.template(&mut self.input);
        let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        let (s, mut handle) = (self.session.0, 0);
        let code = ck!(C_UnwrapKey(
            s,
            &mut m,
            by,
            data,
            len,
            list,
            count,
            &mut handle
        ));
        self.made("C_UnwrapKey", code, handle);
    }

    /// A new object, by its template alone.
    fn make(&mut self) {
        let mut template = self.arena.template(&mut self.input);
        if self.input.flag() {
            let class = self.arena.keep(&CKO_SECRET_KEY.to_ne_bytes());
            template.push(CK_ATTRIBUTE {
                type_: CKA_CLASS,
                pValue: class.cast(),
                ulValueLen: CK_ULONG::BITS as CK_ULONG / 8,
            });
        }
        let (list, mut count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        let (s, mut handle) = (self.session.0, 0);
        let code = match self.input.byte() % 4 {
            0 | 1 => ck!(C_CreateObject(s, list, count, &mut handle)),
            2 => {
                let mut m = self.mechanism();
                ck!(C_GenerateKey(s, &mut m, list, count, &mut handle))
            }
            _ => {
                count = self.input.number() | 1 << (CK_ULONG::BITS - 1);
                ck!(C_CreateObject(s, list, count, &mut handle))
            }
        };
        self.made("making an object", code, handle);
    }

    /// A copy of an object, a change of it, and its end.
    fn change(&mut self) {
        let key = self.key();
        let mut template = self.arena.template(&mut self.input);
        let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        let (s, mut copy) = (self.session.0, 0);
        let code = ck!(C_CopyObject(s, key, list, count, &mut copy));
        self.made("C_CopyObject", code, copy);
        let code = ck!(C_SetAttributeValue(s, key, list, count));
        if seen("C_SetAttributeValue", code).is_ok() {
            self.read(key);
        }
        if self.input.flag() && copy != 0 {
            self.keys.retain(|key| *key != copy);
            let _ = seen("C_DestroyObject", ck!(C_DestroyObject(s, copy)));
        }
    }

    /// Reads attributes into buffers of lengths that the input chooses, and each by itself.
    fn read(&mut self, object: CK_ULONG) {
        for kind in ATTRIBUTES {
            match self.session.read(object, kind) {
                Ok(_) | Err(CKR_ATTRIBUTE_TYPE_INVALID | CKR_ATTRIBUTE_SENSITIVE) => {}
                Err(code) => panic!("attribute {kind:#x}: {code:#x}"),
            }
        }
        let mut template = self.arena.template(&mut self.input);
        template.retain(|attribute| isize::try_from(attribute.ulValueLen).is_ok());
        let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        let code = ck!(C_GetAttributeValue(self.session.0, object, list, count));
        let _ = seen("C_GetAttributeValue", code);
    }

    fn find(&mut self) {
        let mut template = self.arena.template(&mut self.input);
        let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        let s = self.session.0;
        if seen("C_FindObjectsInit", ck!(C_FindObjectsInit(s, list, count))).is_err() {
            return;
        }
        let most = self.input.byte() % 8;
        let (mut handles, mut n) = (vec![0; most.into()], 0);
        let code = ck!(C_FindObjects(s, handles.as_mut_ptr(), most.into(), &mut n));
        seen("C_FindObjects", code).expect("a search that has begun");
        assert!(n <= most.into());
        seen("C_FindObjectsFinal", ck!(C_FindObjectsFinal(s))).expect("a search that has begun");
    }

    /// The module is initialised, so every call is refused; the arguments are checked first.
    fn initialize(&mut self) {
        unsafe extern "C" fn create(_: *mut *mut std::ffi::c_void) -> CK_RV {
            CKR_OK
        }
        unsafe extern "C" fn with(_: *mut std::ffi::c_void) -> CK_RV {
            CKR_OK
        }
        let reserved = self.input.flag() && self.input.flag();
        let given = self.input.byte();
        let has = |bit: u8| given & 1 << bit != 0;
        let mut arguments = CK_C_INITIALIZE_ARGS {
            CreateMutex: has(0).then_some(create),
            DestroyMutex: has(1).then_some(with),
            LockMutex: has(2).then_some(with),
            UnlockMutex: has(3).then_some(with),
            flags: self.input.number() as CK_FLAGS,
            pReserved: if reserved {
                self.arena.keep(&[0]).cast()
            } else {
                null_mut()
            },
        };
        let code = ck!(C_Initialize(
            (&mut arguments as *mut CK_C_INITIALIZE_ARGS).cast()
        ));
        let refused = [
            CKR_ARGUMENTS_BAD,
            CKR_CANT_LOCK,
            CKR_CRYPTOKI_ALREADY_INITIALIZED,
        ];
        assert!(refused.contains(&code), "C_Initialize returns {code:#x}");
    }
}

/// A result, whose code has to be one of the standard's.
fn check<T>(answer: Result<T, CK_RV>) -> Result<T, CK_RV> {
    if let Err(code) = answer {
        assert!(is_expected(code), "a call returns {code:#x}");
    }
    answer
}

/// After a failure the buffer is as it was, or cleansed.
fn nothing_shown(out: &[u8], code: CK_RV) -> CK_RV {
    let shown = out.iter().any(|byte| ![0, UNTOUCHED].contains(byte));
    assert!(!shown, "a call that returns {code:#x} left {out:x?}");
    code
}
