// SPDX-License-Identifier: BSD-2-Clause
//! The EVP calls that are timed, each by itself: the rows of docs/call-costs.md.

use crate::peers::openssl::Evp;
use libcrypto::functions::{
    Functions, Param, Ptr, EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_IVLEN, EVP_CTRL_AEAD_SET_TAG,
    OSSL_PARAM_OCTET_STRING,
};
use measure::place::Buffer;
use std::ffi::{c_int, c_void, CString};
use std::ptr::{null, null_mut};
use terminal::error::{Error, Result};

/// Contexts that are prepared together, and then used one after the other.
pub const BATCH: usize = 16;
pub const MAX_BYTES: usize = 16384;
const TAG: usize = 16;
const NONCE: c_int = 12;
static IV: [u8; 16] = [0; 16];
static AAD: [u8; 13] = [0; 13];

// include/openssl/evp.h
const ECB: c_int = 1;
const CBC: c_int = 2;
const GCM: c_int = 6;
const CCM: c_int = 7;
const WRAP: c_int = 0x10002;
const OCB: c_int = 0x10003;
const SIV: c_int = 0x10004;

/// A cipher of one provider, with contexts and data.
pub struct Subject {
    f: Functions,
    pub title: &'static str,
    cipher: *const c_void,
    mode: c_int,
    iv_length: usize,
    contexts: [Ptr; BATCH],
    spares: [Ptr; BATCH],
    memory: [Buffer; 2],
    /// In the memory.
    buffer: *mut u8,
    output: *mut u8,
    tag: [u8; TAG],
    /// What get_iv() reads.
    iv: [u8; 16],
    key: [u8; 64],
    bytes: usize,
}

/// Calls a function of libcrypto, which returns 1 if it succeeds. A failure is a panic.
macro_rules! must {
    ($subject:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: the contexts live, and the buffers have MAX_BYTES bytes and a block more.
        let done = unsafe { ($subject.f.$function)($($argument),*) };
        if done != 1 {
            panic!("{} fails with provider {}", stringify!($function), $subject.title);
        }
    }};
}

impl Subject {
    /// Fetches a cipher. Each subject has a library context of its own, because one context cannot
    /// hold two modules of the same name.
    pub fn new(title: &'static str, evp: &Evp, name: &str) -> Result<Subject> {
        let f = evp.functions();
        let cipher = evp.fetch(&CString::new(name).unwrap_or_default());
        if cipher.is_null() {
            let what = format!("'{title}' has no cipher '{name}' (as in AES-128-GCM, AES-256-XTS)");
            return Err(Error::failure(what));
        }
        // SAFETY: the cipher is there.
        let (mode, iv_length) = unsafe {
            (
                (f.EVP_CIPHER_get_mode)(cipher),
                (f.EVP_CIPHER_get_iv_length)(cipher),
            )
        };
        if [SIV, WRAP].contains(&mode) {
            let what = format!("'{name}' has another order of calls, which is not measured");
            return Err(Error::failure(what));
        }
        let mut subject = Subject {
            f,
            title,
            cipher,
            mode,
            iv_length: iv_length as usize,
            contexts: [null_mut(); BATCH],
            spares: [null_mut(); BATCH],
            memory: [Buffer::new(MAX_BYTES + TAG), Buffer::new(MAX_BYTES + TAG)],
            buffer: null_mut(),
            output: null_mut(),
            tag: [0; TAG],
            iv: [0; 16],
            key: std::array::from_fn(|i| (3 * i + 1) as u8),
            bytes: 16,
        };
        subject.move_on();
        Ok(subject)
    }

    /// Moves the data to other cache lines.
    pub fn move_on(&mut self) {
        self.memory.iter_mut().for_each(Buffer::move_at_random);
        let [buffer, output] = &mut self.memory;
        (self.buffer, self.output) = (buffer.data().as_mut_ptr(), output.data().as_mut_ptr());
    }

    fn is_aead(&self) -> bool {
        [GCM, CCM, OCB].contains(&self.mode)
    }

    fn is_padded(&self) -> bool {
        [CBC, ECB].contains(&self.mode)
    }

    /// Brings about the state in which a row begins: contexts with a key, and copies of them.
    pub fn begin(&mut self, row: &Row, bytes: usize) {
        self.bytes = bytes;
        for i in 0..BATCH {
            if self.spares[i].is_null() {
                // SAFETY: it may be called at any time.
                self.spares[i] = unsafe { (self.f.EVP_CIPHER_CTX_new)() };
            }
            keyed(self, i);
            copy(self, i);
        }
        if row.which & DECRYPTING != 0 {
            decrypting(self, 0);
        }
    }

    /// The rows of this cipher.
    pub fn rows(&self) -> impl Iterator<Item = &'static Row> {
        let kind = if self.is_aead() { AEADS } else { PLAIN };
        let is = ALL | kind | if self.is_padded() { PADDED } else { 0 };
        ROWS.iter().filter(move |row| row.which & is != 0)
    }

    #[inline(always)]
    fn init(&mut self, i: usize, cipher: *const c_void, key: bool, iv: bool, encrypt: c_int) {
        let key = if key { self.key.as_ptr() } else { null() };
        let iv = if iv { IV.as_ptr() } else { null() };
        must!(
            self,
            EVP_CipherInit_ex2(self.contexts[i], cipher, key, iv, encrypt, null())
        );
    }

    #[inline(always)]
    fn update_to(&mut self, i: usize, output: *mut u8) {
        let (mut n, length) = (0, self.bytes as c_int);
        must!(
            self,
            EVP_CipherUpdate(self.contexts[i], output, &mut n, self.buffer, length)
        );
    }

    #[inline(always)]
    fn ctrl(&mut self, i: usize, what: c_int, length: c_int, data: *mut u8) {
        must!(
            self,
            EVP_CIPHER_CTX_ctrl(self.contexts[i], what, length, data.cast())
        );
    }
}

// ---- Calls ----

fn new(s: &mut Subject, i: usize) {
    // SAFETY: it may be called at any time.
    s.contexts[i] = unsafe { (s.f.EVP_CIPHER_CTX_new)() };
}

fn release(s: &mut Subject, i: usize) {
    // SAFETY: the context is of new(), or null.
    unsafe { (s.f.EVP_CIPHER_CTX_free)(s.contexts[i]) };
    s.contexts[i] = null_mut();
}

/// Sets the cipher alone. CCM needs the lengths of nonce and tag before the key.
fn set_cipher(s: &mut Subject, i: usize) {
    s.init(i, s.cipher, false, false, 1);
    if s.mode == CCM {
        s.ctrl(i, EVP_CTRL_AEAD_SET_IVLEN, NONCE, null_mut());
        s.ctrl(i, EVP_CTRL_AEAD_SET_TAG, TAG as c_int, null_mut());
    }
}

fn init_all(s: &mut Subject, i: usize) {
    s.init(i, s.cipher, true, true, 1);
}

fn init_key(s: &mut Subject, i: usize) {
    s.init(i, null(), true, true, 1);
}

fn init_iv(s: &mut Subject, i: usize) {
    s.init(i, null(), false, true, -1);
}

fn add_length(s: &mut Subject, i: usize) {
    let (mut n, length) = (0, s.bytes as c_int);
    if s.mode == CCM {
        must!(
            s,
            EVP_CipherUpdate(s.contexts[i], null_mut(), &mut n, null(), length)
        );
    }
}

fn add_aad(s: &mut Subject, i: usize) {
    let (mut n, aad, length) = (0, AAD.as_ptr(), AAD.len() as c_int);
    must!(
        s,
        EVP_CipherUpdate(s.contexts[i], null_mut(), &mut n, aad, length)
    );
}

fn update(s: &mut Subject, i: usize) {
    s.update_to(i, s.buffer);
}

fn update_elsewhere(s: &mut Subject, i: usize) {
    s.update_to(i, s.output);
}

fn finish(s: &mut Subject, i: usize) {
    let mut n = 0;
    must!(
        s,
        EVP_CipherFinal_ex(s.contexts[i], s.buffer.wrapping_add(s.bytes), &mut n)
    );
}

fn get_tag(s: &mut Subject, i: usize) {
    let tag = s.tag.as_mut_ptr();
    s.ctrl(i, EVP_CTRL_AEAD_GET_TAG, TAG as c_int, tag);
}

fn set_tag(s: &mut Subject, i: usize) {
    let tag = s.tag.as_mut_ptr();
    s.ctrl(i, EVP_CTRL_AEAD_SET_TAG, TAG as c_int, tag);
}

fn get_iv(s: &mut Subject, i: usize) {
    let iv = s.iv.as_mut_ptr();
    let updated = Param::new(c"updated-iv", OSSL_PARAM_OCTET_STRING, iv, s.iv_length);
    let mut params = [updated, Param::END];
    must!(
        s,
        EVP_CIPHER_CTX_get_params(s.contexts[i], params.as_mut_ptr())
    );
}

/// Nothing for modes without padding.
fn no_padding(s: &mut Subject, i: usize) {
    if s.is_padded() {
        must!(s, EVP_CIPHER_CTX_set_padding(s.contexts[i], 0));
    }
}

fn copy(s: &mut Subject, i: usize) {
    must!(s, EVP_CIPHER_CTX_copy(s.spares[i], s.contexts[i]));
}

fn reset_spare(s: &mut Subject, i: usize) {
    must!(s, EVP_CIPHER_CTX_reset(s.spares[i]));
}

// ---- States ----

/// Brings a context from any state into the state with a key and an IV.
fn keyed(s: &mut Subject, i: usize) {
    if s.contexts[i].is_null() {
        new(s, i);
    }
    set_cipher(s, i);
    init_key(s, i);
    no_padding(s, i);
}

fn decrypting(s: &mut Subject, i: usize) {
    s.init(i, null(), false, true, 0);
}

// ---- Rows ----

const ALL: u32 = 1;
const AEADS: u32 = 2;
const PLAIN: u32 = 4;
const PADDED: u32 = 8;
const DECRYPTING: u32 = 16;

type Step = fn(&mut Subject, usize);

/// Calls that are timed, with the context of this number.
pub struct Row {
    pub name: &'static str,
    which: u32,
    /// One row for each size of message.
    pub sized: bool,
    pub calls: &'static [Step],
    /// The calls before, which are not timed. None: the timed calls can be repeated as they are.
    pub before: &'static [Step],
}

/// Makes calls one after the other.
#[inline(always)]
pub fn make(calls: &[Step], subject: &mut Subject, i: usize) {
    calls.iter().for_each(|call| call(subject, i));
}

const fn row(
    which: u32,
    name: &'static str,
    before: &'static [Step],
    calls: &'static [Step],
) -> Row {
    Row {
        name,
        which,
        sized: false,
        calls,
        before,
    }
}

const fn sized(
    which: u32,
    name: &'static str,
    before: &'static [Step],
    calls: &'static [Step],
) -> Row {
    Row {
        sized: true,
        ..row(which, name, before, calls)
    }
}

/// The states before calls.
const EMPTY: &[Step] = &[release, new];
const CIPHERED: &[Step] = &[release, new, set_cipher];
const WITH_LENGTH: &[Step] = &[init_iv, add_length];
const WITH_AAD: &[Step] = &[init_iv, add_length, add_aad];

/// Whole messages under the key that is set, as `tenrounds bench` encrypts them.
const MESSAGE: &[Step] = &[init_iv, update];
const SEALED: &[Step] = &[init_iv, add_length, add_aad, update, finish, get_tag];

/// The context's whole life, with one message.
const LIFE: &[Step] = &[
    new, set_cipher, init_key, no_padding, update, finish, release,
];
const LIFE_OF_AEAD: &[Step] = &[
    new, set_cipher, init_key, add_length, add_aad, update, finish, get_tag, release,
];

const DECRYPTED: u32 = PADDED | DECRYPTING;

static ROWS: [Row; 26] = [
    row(ALL, "CTX_new", &[release], &[new]),
    row(ALL, "first init: cipher alone", EMPTY, &[set_cipher]),
    row(PLAIN, "first init: cipher, key, IV", EMPTY, &[init_all]),
    row(ALL, "first key and IV", CIPHERED, &[init_key]),
    row(ALL, "init: key and IV", &[], &[init_key]),
    row(ALL, "init: IV alone", &[], &[init_iv]),
    row(PADDED, "set padding", &[], &[no_padding]),
    row(ALL, "get updated IV", &[], &[get_iv]),
    row(AEADS, "AAD, 13 bytes", WITH_LENGTH, &[add_aad]),
    sized(AEADS, "update", WITH_AAD, &[update]),
    sized(PLAIN, "update", &[], &[update]),
    sized(PLAIN, "update elsewhere", &[], &[update_elsewhere]),
    sized(DECRYPTED, "decrypting: update", &[], &[update]),
    sized(
        DECRYPTED,
        "decrypting: update elsewhere",
        &[],
        &[update_elsewhere],
    ),
    sized(DECRYPTED, "decrypting: whole message", &[], MESSAGE),
    row(
        AEADS,
        "final",
        &[init_iv, add_length, add_aad, update],
        &[finish],
    ),
    row(PLAIN, "final", MESSAGE, &[finish]),
    row(
        AEADS,
        "get tag",
        &[init_iv, add_length, add_aad, update, finish],
        &[get_tag],
    ),
    row(AEADS, "set tag", &[decrypting], &[set_tag]),
    row(ALL, "CTX_copy", &[reset_spare], &[copy]),
    row(ALL, "CTX_reset of the copy", &[copy], &[reset_spare]),
    row(ALL, "CTX_free", &[keyed], &[release]),
    sized(AEADS, "whole message, key set", &[], SEALED),
    sized(PLAIN, "whole message, key set", &[], MESSAGE),
    sized(AEADS, "from new to free", &[release], LIFE_OF_AEAD),
    sized(PLAIN, "from new to free", &[release], LIFE),
];
