// SPDX-License-Identifier: BSD-2-Clause
//! The module as a program sees it: by its list of functions.

#![allow(dead_code)] // each test uses its part

use cryptoki_sys::*;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

pub type Rv = std::result::Result<Vec<u8>, CK_RV>;

pub fn list() -> &'static CK_FUNCTION_LIST {
    let mut list = null_mut();
    // SAFETY: the pointer is valid, and the list a constant.
    unsafe {
        assert_eq!(
            tenrounds_pkcs11::entry::C_GetFunctionList(&mut list),
            CKR_OK
        );
        &*list
    }
}

/// Calls a function of the list.
#[macro_export]
macro_rules! ck {
    ($name:ident($($arg:expr),* $(,)?)) => {{
        let function = $crate::support::list().$name.expect("every function is there");
        // SAFETY: each test passes valid pointers.
        unsafe { function($($arg),*) }
    }};
}

/// Ends the operations of a session that these flags name: by their Init functions without a
/// mechanism.
pub fn cancel(session: CK_SESSION_HANDLE, flags: CK_FLAGS) {
    let has = |flag| flags & flag != 0;
    let none = null_mut();
    for ended in [
        has(CKF_ENCRYPT).then(|| ck!(C_EncryptInit(session, none, 0))),
        has(CKF_DECRYPT).then(|| ck!(C_DecryptInit(session, none, 0))),
        has(CKF_SIGN).then(|| ck!(C_SignInit(session, none, 0))),
        has(CKF_VERIFY).then(|| ck!(C_VerifyInit(session, none, 0))),
    ] {
        assert!(matches!(ended, None | Some(CKR_OK)));
    }
}

/// Reports that a test cannot run here; with TENROUNDS_MUST_RUN that is a failure. Writes to
/// standard error directly, because libtest hides what a passing test prints.
pub fn skip(reason: &str) {
    assert!(
        std::env::var_os("TENROUNDS_MUST_RUN").is_none(),
        "skipped, but has to run here (TENROUNDS_MUST_RUN): {reason}"
    );
    let line = format!("# SKIP {reason}\n");
    std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
}

/// Initialises the module once for all tests of a program.
pub fn initialized() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK));
}

/// A session of its own, which closes with the test.
pub struct Session(pub CK_SESSION_HANDLE);

impl Drop for Session {
    fn drop(&mut self) {
        ck!(C_CloseSession(self.0));
    }
}

pub fn attribute(kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> CK_ATTRIBUTE {
    CK_ATTRIBUTE {
        type_: kind,
        pValue: value.as_ptr().cast_mut().cast(),
        ulValueLen: value.len() as CK_ULONG,
    }
}

pub fn mechanism(kind: CK_MECHANISM_TYPE, parameter: &[u8]) -> CK_MECHANISM {
    CK_MECHANISM {
        mechanism: kind,
        pParameter: match parameter.is_empty() {
            true => null_mut(),
            false => parameter.as_ptr().cast_mut().cast::<c_void>(),
        },
        ulParameterLen: parameter.len() as CK_ULONG,
    }
}

/// A struct as the bytes of a parameter.
pub fn bytes_of<T>(value: &T) -> &[u8] {
    // SAFETY: the structs are of numbers and pointers, without padding on 64-bit systems.
    unsafe { std::slice::from_raw_parts((value as *const T).cast(), std::mem::size_of::<T>()) }
}

pub fn result(rv: CK_RV) -> Result<(), CK_RV> {
    match rv {
        CKR_OK => Ok(()),
        rv => Err(rv),
    }
}

/// Starts a child, which has to pass. It ends after a minute if a call hangs.
pub fn child(run: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child calls the module alone, and leaves by _exit().
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: the signal ends the child.
        unsafe { libc::alarm(60) };
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_ok();
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!passed)) };
    }
    child
}

pub fn passed(what: &str, child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the pointer is valid.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed: {what}");
}

/// Runs something in a child, which has to pass.
pub fn forked(what: &str, run: impl FnOnce()) {
    passed(what, child(run));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Encrypt,
    Decrypt,
}

impl Session {
    pub fn open() -> Session {
        Session::of_kind(true).expect("a session")
    }

    /// A session that may write or only read.
    pub fn of_kind(writes: bool) -> Result<Session, CK_RV> {
        initialized();
        let mut handle = 0;
        let flags = CKF_SERIAL_SESSION | if writes { CKF_RW_SESSION } else { 0 };
        result(ck!(C_OpenSession(0, flags, null_mut(), None, &mut handle)))?;
        Ok(Session(handle))
    }

    pub fn create(&self, template: &[(CK_ATTRIBUTE_TYPE, &[u8])]) -> Result<CK_ULONG, CK_RV> {
        let mut list: Vec<_> = template.iter().map(|(k, v)| attribute(*k, v)).collect();
        let mut object = 0;
        let count = list.len() as CK_ULONG;
        result(ck!(C_CreateObject(
            self.0,
            list.as_mut_ptr(),
            count,
            &mut object
        )))?;
        Ok(object)
    }

    /// A key with a value, and more attributes.
    pub fn key_with(
        &self,
        key_type: CK_KEY_TYPE,
        value: &[u8],
        more: &[(CK_ATTRIBUTE_TYPE, &[u8])],
    ) -> Result<CK_ULONG, CK_RV> {
        let (class, key_type) = (CKO_SECRET_KEY.to_ne_bytes(), key_type.to_ne_bytes());
        let mut template: Vec<(CK_ATTRIBUTE_TYPE, &[u8])> = vec![
            (CKA_CLASS, &class),
            (CKA_KEY_TYPE, &key_type),
            (CKA_VALUE, value),
        ];
        template.extend_from_slice(more);
        self.create(&template)
    }

    pub fn key(&self, key_type: CK_KEY_TYPE, value: &[u8]) -> CK_ULONG {
        self.key_with(key_type, value, &[]).expect("a key")
    }

    pub fn read(&self, object: CK_ULONG, kind: CK_ATTRIBUTE_TYPE) -> Rv {
        let mut a = attribute(kind, &[]);
        a.pValue = null_mut();
        result(ck!(C_GetAttributeValue(self.0, object, &mut a, 1)))?;
        let mut value = vec![0; a.ulValueLen as usize];
        a.pValue = value.as_mut_ptr().cast();
        result(ck!(C_GetAttributeValue(self.0, object, &mut a, 1)))?;
        assert_eq!(a.ulValueLen as usize, value.len());
        Ok(value)
    }

    pub fn init(&self, way: Way, m: &CK_MECHANISM, key: CK_ULONG) -> Result<(), CK_RV> {
        let m = (m as *const CK_MECHANISM).cast_mut();
        result(match way {
            Way::Encrypt => ck!(C_EncryptInit(self.0, m, key)),
            Way::Decrypt => ck!(C_DecryptInit(self.0, m, key)),
        })
    }

    /// The one-shot call. `room` is the length of the buffer; None asks for the length alone.
    pub fn whole(&self, way: Way, data: &[u8], out: Option<&mut [u8]>) -> Result<usize, CK_RV> {
        let (from, len) = (data.as_ptr().cast_mut(), data.len() as CK_ULONG);
        let (to, mut n) = match out {
            Some(out) => (out.as_mut_ptr(), out.len() as CK_ULONG),
            None => (null_mut(), 0),
        };
        result(match way {
            Way::Encrypt => ck!(C_Encrypt(self.0, from, len, to, &mut n)),
            Way::Decrypt => ck!(C_Decrypt(self.0, from, len, to, &mut n)),
        })?;
        Ok(n as usize)
    }

    pub fn update(&self, way: Way, data: &[u8], out: &mut [u8]) -> Result<usize, CK_RV> {
        let (from, len) = (data.as_ptr().cast_mut(), data.len() as CK_ULONG);
        let (to, mut n) = (out.as_mut_ptr(), out.len() as CK_ULONG);
        result(match way {
            Way::Encrypt => ck!(C_EncryptUpdate(self.0, from, len, to, &mut n)),
            Way::Decrypt => ck!(C_DecryptUpdate(self.0, from, len, to, &mut n)),
        })?;
        Ok(n as usize)
    }

    pub fn finish(&self, way: Way, out: Option<&mut [u8]>) -> Result<usize, CK_RV> {
        let (to, mut n) = match out {
            Some(out) => (out.as_mut_ptr(), out.len() as CK_ULONG),
            None => (null_mut(), 0),
        };
        result(match way {
            Way::Encrypt => ck!(C_EncryptFinal(self.0, to, &mut n)),
            Way::Decrypt => ck!(C_DecryptFinal(self.0, to, &mut n)),
        })?;
        Ok(n as usize)
    }

    /// A whole message in one call, after a question for its length.
    pub fn crypt(&self, way: Way, m: &CK_MECHANISM, key: CK_ULONG, data: &[u8]) -> Rv {
        self.init(way, m, key)?;
        let most = self.whole(way, data, None)?;
        let mut out = vec![0xaa; most];
        let n = self.whole(way, data, Some(&mut out))?;
        out.truncate(n);
        Ok(out)
    }

    /// A whole message in pieces.
    pub fn pieces(
        &self,
        way: Way,
        m: &CK_MECHANISM,
        key: CK_ULONG,
        data: &[u8],
        random: &mut fastrand::Rng,
    ) -> Rv {
        self.init(way, m, key)?;
        let (mut out, mut rest) = (Vec::new(), data);
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(random.usize(0..=rest.len().min(200)));
            let mut room = vec![0xaa; piece.len() + 32];
            let n = self.update(way, piece, &mut room)?;
            out.extend_from_slice(&room[..n]);
            rest = more;
        }
        let most = self.finish(way, None)?;
        let mut room = vec![0xaa; most];
        let n = self.finish(way, Some(&mut room))?;
        out.extend_from_slice(&room[..n]);
        Ok(out)
    }
}
