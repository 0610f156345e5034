// SPDX-License-Identifier: BSD-2-Clause
//! Encryption and decryption: one operation of a session, whole or in pieces. Key wrapping uses it,
//! too.
//!
//! Modes that are streams write each piece as it comes. In pieces, GCM decrypts nothing before it
//! has seen the tag, so it collects them, and so do modes that need the whole message (CCM, XTS,
//! ciphertext stealing, key wrap).

use crate::buffers::{zeros, Input, Output};
use crate::mechanism::{Cipher, Kind, Parameter, Row};
use crate::object::{Object, Secret};
use crate::rv::{ensure, fail, of_core, Error, Result};
use catalogue::{Direction, Mode};
use cryptoki_sys::*;
use std::sync::Arc;
use tenrounds_sys::raw::{self, tr_status};
use tenrounds_sys::{done, GcmMessage};
use zeroize::Zeroizing;

pub const BLOCK: usize = 16;

/// Whether an operation goes on after a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    Goes,
    Ends,
}

/// What follows when a result was put into the caller's buffer, or only its length was asked for.
pub fn next_of(put: bool) -> Next {
    match put {
        true => Next::Ends,
        false => Next::Goes,
    }
}

/// An operation, active or not. It stays where it is from one message to the next.
pub struct Operation {
    /// Before the work: it refers to what the core made of the key.
    progress: Progress,
    active: bool,
    /// Whether a piece has come, so that the message cannot be passed whole any more.
    in_pieces: bool,
    kept: Kept,
    work: Work,
}

/// The handle and mechanism under which the operation keeps its key after a message. The next
/// message with both need not check them again, because an object never changes.
#[derive(Default)]
struct Kept {
    /// 0: the key goes with the message.
    handle: CK_OBJECT_HANDLE,
    mechanism: CK_MECHANISM_TYPE,
    /// The session that is registered with the key (Object::keep); 0: none.
    session: CK_SESSION_HANDLE,
}

/// What an operation computes.
pub struct Work {
    /// The key of this message, or of the last one.
    key: Option<Arc<Object>>,
    pub cipher: Cipher,
    pub direction: Direction,
}

enum Progress {
    New,
    Stream(Stream),
    Cfb8([u8; BLOCK]),
    Gcm(GcmMessage),
    Collected(Collected),
}

/// A streaming mode, and how many bytes it has left until the bits of a counter wrap, and after
/// that.
pub struct Stream {
    pub cipher: tenrounds_sys::Cipher,
    until_wrap: u128,
    after_wrap: u128,
}

/// Bytes that wait for the end of the message. No copy of them stays in freed memory.
#[derive(Default)]
struct Collected(Zeroizing<Vec<u8>>);

impl Collected {
    fn add(&mut self, piece: &[u8]) -> Result<()> {
        let len = self.0.len().checked_add(piece.len());
        let len = len.ok_or(Error(CKR_HOST_MEMORY))?;
        if len > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::new());
            let wanted = larger.try_reserve_exact(len.max(2 * self.0.capacity()));
            wanted.map_err(|_| Error(CKR_HOST_MEMORY))?;
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(piece);
        Ok(())
    }
}

/// Writes the end of a message behind `len` bytes of it.
///
/// # Safety
/// The memory has room for both.
pub unsafe fn append(to: *mut u8, len: usize, end: &[u8]) {
    // SAFETY: the caller's; the end is our own memory.
    unsafe { std::ptr::copy_nonoverlapping(end.as_ptr(), to.add(len), end.len()) };
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.progress = Progress::New; // before the key, which it uses
        self.let_go();
    }
}

impl Operation {
    pub fn new(direction: Direction) -> Operation {
        Operation {
            progress: Progress::New,
            active: false,
            in_pieces: false,
            kept: Kept::default(),
            work: Work {
                key: None,
                cipher: Cipher::NEW,
                direction,
            },
        }
    }

    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Whether the key of the last message has this handle, was used with the same mechanism, and
    /// still exists.
    #[inline]
    pub fn keeps(&self, handle: CK_OBJECT_HANDLE, mechanism: CK_MECHANISM_TYPE) -> bool {
        let same = (self.kept.handle, self.kept.mechanism) == (handle, mechanism);
        same && matches!(&self.work.key, Some(key) if !key.is_stale())
    }

    /// Takes a key that may be used with a mechanism. Keeps it after the message.
    pub fn take(
        &mut self,
        session: CK_SESSION_HANDLE,
        (handle, row): (CK_OBJECT_HANDLE, &Row),
        key: &Arc<Object>,
    ) -> Result<()> {
        self.let_go();
        self.work.cipher.kind = row.kind()?;
        self.work.key = Some(key.clone());
        let stays = key.keep(session);
        self.kept = Kept {
            handle: if stays { handle } else { 0 },
            mechanism: row.mechanism,
            session,
        };
        Ok(())
    }

    /// Makes an operation for one message.
    ///
    /// # Safety
    /// The pointers in the mechanism are valid for their lengths.
    pub unsafe fn once(
        direction: Direction,
        (mechanism, row): (&CK_MECHANISM, &Row),
        key: Arc<Object>,
    ) -> Result<Operation> {
        let mut operation = Operation::new(direction);
        operation.work.cipher.kind = row.kind()?;
        operation.work.key = Some(key);
        // SAFETY: the caller's.
        unsafe { operation.init(mechanism)? };
        Ok(operation)
    }

    /// Lets go of the key. No message uses it.
    fn let_go(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        if let (Some(key), 1..) = (self.work.key.take(), kept.session) {
            key.let_go(kept.session);
        }
    }

    /// Lets go of an object, unless a message uses it.
    pub fn let_go_of(&mut self, object: &Arc<Object>) {
        if !self.active && matches!(&self.work.key, Some(key) if Arc::ptr_eq(key, object)) {
            self.let_go();
        }
    }

    /// Makes an operation active that has a key.
    ///
    /// # Safety
    /// The pointers in the mechanism are valid for their lengths.
    #[inline]
    pub unsafe fn init(&mut self, mechanism: &CK_MECHANISM) -> Result<()> {
        let work = &mut self.work;
        // SAFETY: the caller's.
        unsafe { work.cipher.set(&Parameter::new(mechanism)?)? };
        // XTS with two equal halves would be unsafe (SP 800-38E does not allow it).
        if work.cipher.kind == Kind::Sealed(Mode::Xts) && !work.decrypts() {
            let value = work.secret()?.value();
            let (a, b) = value.split_at(value.len() / 2);
            ensure(!tenrounds_sys::equal(a, b), CKR_KEY_FUNCTION_NOT_PERMITTED)?;
        }
        self.active = true;
        Ok(())
    }

    /// Whether the data have to be whole blocks.
    pub fn needs_blocks(&self) -> bool {
        matches!(self.work.cipher.kind, Kind::Stream(Mode::Ecb | Mode::Cbc))
    }

    /// Forgets the message, and the key if it is not kept.
    #[inline]
    pub fn end(&mut self) {
        if !matches!(self.progress, Progress::New) {
            self.progress = Progress::New;
        }
        (self.active, self.in_pieces) = (false, false);
        let stays = matches!(&self.work.key, Some(key) if !key.is_stale()) && self.kept.handle != 0;
        if !stays {
            self.let_go();
        }
    }

    /// C_Encrypt and C_Decrypt.
    pub fn whole(&mut self, input: Input, out: &mut Output<'_>) -> Result<Next> {
        ensure(!self.in_pieces, CKR_OPERATION_ACTIVE)?;
        self.work.message(input, out)
    }

    /// Begins a message in pieces, unless it has begun.
    fn begin(&mut self) -> Result<()> {
        if matches!(self.progress, Progress::New) {
            self.progress = self.work.begin()?;
        }
        Ok(())
    }

    /// C_EncryptUpdate and C_DecryptUpdate.
    pub fn update(&mut self, input: Input, out: &mut Output<'_>) -> Result<Next> {
        let n = input.len();
        self.begin()?;
        let need = match &self.progress {
            Progress::Stream(stream) => stream.cipher.room(n),
            Progress::Collected(_) => 0,
            _ => n,
        };
        let Some(to) = out.need(need)? else {
            return Ok(Next::Goes);
        };
        self.in_pieces = true;
        let work = &self.work;
        match &mut self.progress {
            Progress::Stream(stream) => work.advance(stream, input, to).map(|_| ())?,
            Progress::Cfb8(iv) => work.cfb8(iv, input, to)?,
            Progress::Gcm(gcm) => {
                // SAFETY: the room is that of the input.
                work.apart(input, |from| unsafe { gcm.encrypt(to, from, n) })?;
            }
            // SAFETY: nothing is written to the caller's memory.
            Progress::Collected(collected) => collected.add(unsafe { input.bytes() })?,
            Progress::New => return fail(CKR_GENERAL_ERROR),
        }
        Ok(Next::Goes)
    }

    /// C_EncryptFinal and C_DecryptFinal.
    pub fn finish(&mut self, out: &mut Output<'_>) -> Result<Next> {
        self.begin()?;
        match &mut self.progress {
            Progress::Cfb8(_) => out.put(&[]).map(next_of),
            Progress::Collected(collected) => self.work.message(Input::of(&collected.0), out),
            Progress::Gcm(gcm) => self.work.finish_gcm(gcm, out),
            Progress::Stream(stream) => self.work.finish_stream(&mut stream.cipher, out),
            Progress::New => fail(CKR_GENERAL_ERROR),
        }
    }
}

impl Work {
    pub fn secret(&self) -> Result<&Secret> {
        let key = self.key.as_ref();
        Ok(&key.ok_or(Error(CKR_OPERATION_NOT_INITIALIZED))?.secret)
    }

    pub fn decrypts(&self) -> bool {
        self.direction == Direction::Decrypt
    }

    pub fn of_core(&self, status: tr_status) -> Error {
        of_core(status, self.decrypts())
    }

    /// Calls the core, which refuses output that begins inside the input, before it changes
    /// anything. PKCS#11 does not forbid that (section 5.1), so the call is repeated with a copy of
    /// the input.
    pub fn apart<T>(
        &self,
        input: Input,
        mut call: impl FnMut(*const u8) -> std::result::Result<T, tr_status>,
    ) -> Result<T> {
        let mut result = call(input.as_ptr());
        if matches!(result, Err(raw::TR_ERR_OVERLAP)) {
            result = call(input.copied()?.as_ptr());
        }
        result.map_err(|e| self.of_core(e))
    }

    fn bad_length<T>(&self) -> Result<T> {
        Err(self.of_core(raw::TR_ERR_LENGTH))
    }

    /// The length of the output for a whole message of n bytes. With padding, decryption writes up
    /// to a block less.
    fn whole_len(&self, n: usize) -> Result<usize> {
        let plus = |more: usize| n.checked_add(more).ok_or(Error(CKR_DATA_LEN_RANGE));
        let less = |tag: usize| match n.checked_sub(tag) {
            Some(len) => Ok(len),
            None => self.bad_length(),
        };
        let blocks = |unit: usize| match n % unit {
            0 => Ok(n),
            _ => self.bad_length(),
        };
        let Cipher {
            kind,
            tag_len,
            text_len,
            ..
        } = self.cipher;
        match (kind, self.decrypts()) {
            (Kind::Padded, false) => plus(BLOCK - n % BLOCK),
            (Kind::Padded, true) if n == 0 => self.bad_length(),
            (Kind::Padded | Kind::Stream(Mode::Ecb | Mode::Cbc), _) => blocks(BLOCK),
            (Kind::Stream(_), _) => Ok(n),
            (Kind::Stolen | Kind::Sealed(Mode::Xts), _) => less(BLOCK).map(|_| n),
            (Kind::Sealed(Mode::Ccm), false) if n != text_len => self.bad_length(),
            (Kind::Sealed(_), false) => plus(tag_len),
            (Kind::Sealed(mode), true) => match less(tag_len)? {
                text if mode == Mode::Ccm && text != text_len => self.bad_length(),
                text => Ok(text),
            },
            (Kind::KwPadded, false) => plus(8 + 8 - n % 8),
            (Kind::Kw, false) if n < 16 => self.bad_length(),
            (Kind::Kw, false) => blocks(8).and_then(|_| plus(8)),
            (Kind::Kwp, false) if n == 0 => self.bad_length(),
            (Kind::Kwp, false) => plus(8 + (8 - n % 8) % 8),
            (Kind::Kw | Kind::KwPadded | Kind::Kwp, true) => blocks(8).and_then(|_| less(8)),
        }
    }

    /// Processes a whole message, and changes nothing in the operation.
    fn message(&self, input: Input, out: &mut Output<'_>) -> Result<Next> {
        if self.counts_fully() {
            return self.counted(input, out);
        }
        let need = self.whole_len(input.len())?;
        if self.has_unknown_length() {
            return self.unknown_length(input, need, out);
        }
        let Some(to) = out.need(need)? else {
            return Ok(Next::Goes);
        };
        let result = self.write(input, to, need);
        if result.is_err() {
            out.set_len(0);
        }
        result.map(|_| Next::Ends)
    }

    /// CTR whose whole counter block counts.
    #[inline]
    fn counts_fully(&self) -> bool {
        self.cipher.kind == Kind::Stream(Mode::Ctr) && self.cipher.counter_bits == 128
    }

    /// message() of the shortest path: CTR takes any length and cannot fail on the data.
    #[inline]
    fn counted(&self, input: Input, out: &mut Output<'_>) -> Result<Next> {
        let Some(to) = out.need(input.len())? else {
            return Ok(Next::Goes);
        };
        let result = self.unpadded(Mode::Ctr, input, to);
        if result.is_err() {
            out.set_len(0);
        }
        result.map(|()| Next::Ends)
    }

    /// Whether only decryption tells how long the plaintext is.
    fn has_unknown_length(&self) -> bool {
        let padded = matches!(self.cipher.kind, Kind::Padded | Kind::KwPadded | Kind::Kwp);
        padded && self.decrypts()
    }

    /// Decrypts a padded message into memory of its own, unless the caller's has room for all of
    /// it. So a buffer that is too small leaves the ciphertext as it was, even if it is the same
    /// memory.
    fn unknown_length(&self, input: Input, most: usize, out: &mut Output<'_>) -> Result<Next> {
        if out.is_query() {
            out.need(most)?;
            return Ok(Next::Goes);
        }
        if out.room() >= most {
            if let Some(to) = out.need(most)? {
                let result = self.write(input, to, most);
                out.set_len(*result.as_ref().unwrap_or(&0));
                result?;
            }
            return Ok(Next::Ends);
        }
        let mut text = zeros(most)?;
        let len = self.write(input, text.as_mut_ptr(), most)?;
        out.put(&text[..len])?;
        Ok(Next::Ends)
    }

    /// A streaming mode before its first byte.
    pub fn stream(&self) -> Result<Stream> {
        let counter = self.cipher.iv.block();
        // At most 2^bits blocks: more would use a counter block twice.
        let blocks = |n: u128| n.saturating_mul(BLOCK as u128);
        let (until, all) = match (self.cipher.kind, self.cipher.counter_bits) {
            (Kind::Stream(Mode::Ctr), bits @ 0..128) => {
                let all = 1u128 << bits;
                (all - (u128::from_be_bytes(*counter) & (all - 1)), all)
            }
            _ => (u128::MAX, u128::MAX),
        };
        Ok(Stream {
            cipher: self.stream_from(counter)?,
            until_wrap: blocks(until),
            after_wrap: blocks(all - until),
        })
    }

    /// A message of this mode and padding, from an IV or a counter block on.
    fn stream_from(&self, iv: &[u8; BLOCK]) -> Result<tenrounds_sys::Cipher> {
        let (mode, padding) = match self.cipher.kind {
            Kind::Stream(mode) => (mode, false),
            _ => (Mode::Cbc, true),
        };
        let key = self.secret()?.aes()?;
        // SAFETY: the operation holds the key until the message is gone.
        let cipher =
            unsafe { tenrounds_sys::Cipher::start(key, mode, self.direction, padding, iv) };
        cipher.map_err(|e| self.of_core(e))
    }

    /// Processes a piece of a stream, and returns how many bytes it wrote.
    pub fn advance(&self, stream: &mut Stream, input: Input, to: *mut u8) -> Result<usize> {
        let n = input.len() as u128;
        if n > stream.until_wrap.saturating_add(stream.after_wrap) {
            return self.bad_length();
        }
        if n <= stream.until_wrap {
            stream.until_wrap -= n;
            return self.advance_by(&mut stream.cipher, input, to);
        }
        // A copy, so that the two halves cannot overlap.
        let copy = input.copied()?;
        let (before, after) = copy.split_at(stream.until_wrap as usize);
        self.advance_by(&mut stream.cipher, Input::of(before), to)?;
        let low = (1u128 << self.cipher.counter_bits) - 1;
        let first = (u128::from_be_bytes(*self.cipher.iv.block()) & !low).to_be_bytes();
        stream.cipher = self.stream_from(&first)?;
        stream.until_wrap = stream.after_wrap - after.len() as u128;
        stream.after_wrap = 0;
        // SAFETY: the room is that of the whole input.
        let to = unsafe { to.add(before.len()) };
        self.advance_by(&mut stream.cipher, Input::of(after), to)?;
        Ok(copy.len())
    }

    fn advance_by(
        &self,
        cipher: &mut tenrounds_sys::Cipher,
        input: Input,
        to: *mut u8,
    ) -> Result<usize> {
        let n = input.len();
        // SAFETY: the room is cipher.room().
        self.apart(input, |from| unsafe { cipher.update(to, from, n) })
    }

    pub fn cfb8(&self, iv: &mut [u8; BLOCK], input: Input, to: *mut u8) -> Result<()> {
        let key = self.secret()?.aes()?.as_ptr();
        let call = match self.direction {
            Direction::Encrypt => raw::tr_cfb8_encrypt(),
            Direction::Decrypt => raw::tr_cfb8_decrypt(),
        };
        self.apart(input, |from| {
            // SAFETY: the room is that of the input.
            done(unsafe { call(key, iv.as_mut_ptr(), to, from, input.len()) })
        })
    }

    fn gcm(&self) -> Result<GcmMessage> {
        let key = self.secret()?.key(Mode::Gcm)?;
        // SAFETY: the operation holds the key until the message is gone.
        let gcm = unsafe { GcmMessage::start(key, self.cipher.iv.as_slice()) };
        let mut gcm = gcm.map_err(|e| self.of_core(e))?;
        let aad = gcm.aad(self.cipher.aad.as_slice());
        aad.map_err(|e| self.of_core(e))?;
        Ok(gcm)
    }

    /// The state of a message that comes in pieces.
    fn begin(&self) -> Result<Progress> {
        Ok(match (self.cipher.kind, self.decrypts()) {
            (Kind::Stream(Mode::Cfb8), _) => Progress::Cfb8(*self.cipher.iv.block()),
            (Kind::Stream(_) | Kind::Padded, _) => Progress::Stream(self.stream()?),
            (Kind::Sealed(Mode::Gcm), false) => Progress::Gcm(self.gcm()?),
            _ => Progress::Collected(Collected::default()),
        })
    }

    fn finish_gcm(&self, gcm: &mut GcmMessage, out: &mut Output<'_>) -> Result<Next> {
        let tag_len = self.cipher.tag_len;
        let Some(to) = out.need(tag_len)? else {
            return Ok(Next::Goes);
        };
        let mut tag = [0; BLOCK];
        let result = gcm.tag(&mut tag[..tag_len]);
        result.map_err(|e| self.of_core(e))?;
        // SAFETY: need() found the room.
        unsafe { append(to, 0, &tag[..tag_len]) };
        Ok(Next::Ends)
    }

    fn finish_stream(
        &self,
        stream: &mut tenrounds_sys::Cipher,
        out: &mut Output<'_>,
    ) -> Result<Next> {
        // Encryption writes a block of padding. Decryption knows only afterwards what it writes.
        let most = match (self.cipher.kind == Kind::Padded, self.decrypts()) {
            (false, _) => 0,
            (true, false) => BLOCK,
            (true, true) => BLOCK - 1,
        };
        if out.is_query() || !self.decrypts() && out.room() < most {
            return out.need(most).map(|_| Next::Goes);
        }
        let before = stream.clone();
        let mut end = Zeroizing::new([0; BLOCK]);
        let len = stream.finish(&mut end).map_err(|e| self.of_core(e))?;
        let result = out.put(&end[..len]);
        if result.is_err() {
            *stream = before; // too little room: the caller may call again
        }
        result.map(next_of)
    }
}
