// SPDX-License-Identifier: BSD-2-Clause
//! The work that needs no libcrypto: the core by its own calls, and the limit probe.

use super::evp::{key, IV};
use super::job::{sample_in_place, Job};
use super::message::{nonce, Messages, Tag, AAD, TAG_BYTES};
use ::measure::limit::Work;
use ::measure::place::Buffer;
use base::ciphers::Cipher;
use catalogue::Direction;
use tenrounds_sys::{Backend, Key, Message, Stream};
use terminal::error::{Error, Result};

/// Nothing but the instructions that bound a mode.
pub struct LimitJob(pub Work);

/// Some microseconds of them.
const TIMES_PER_CALL: u64 = 25;

impl Job for LimitJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        Ok(self.0.run(calls * TIMES_PER_CALL))
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// Bytes of the nonce of an AEAD.
const NONCE_BYTES: usize = 12;

fn set_key(backend: Backend, cipher: Cipher) -> Result<Key<'static>> {
    Key::new(cipher.mode(), backend, &key(cipher)).map_err(Error::from_reason)
}

/// A streaming mode of the core on one buffer, in place.
pub struct CoreJob {
    key: Key<'static>,
    stream: Stream,
    direction: Direction,
    buffer: Buffer,
    bytes: u64,
}

impl CoreJob {
    pub fn new(
        backend: Backend,
        cipher: Cipher,
        direction: Direction,
        bytes: usize,
    ) -> Result<CoreJob> {
        Ok(CoreJob {
            key: set_key(backend, cipher)?,
            stream: Stream::new(IV),
            direction,
            buffer: Buffer::new(bytes),
            bytes: bytes as u64,
        })
    }
}

impl Job for CoreJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        for _ in 0..calls {
            self.stream
                .process(&self.key, self.direction, self.buffer.data())
                .map_err(Error::from_reason)?;
        }
        Ok(calls * self.bytes)
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        self.stream = Stream::new(IV);
        sample_in_place(self, |job| &mut job.buffer)
    }
}

/// The core's one-shot calls for whole messages.
pub struct CoreMessages(Key<'static>);

impl CoreMessages {
    pub fn new(backend: Backend, cipher: Cipher) -> Result<CoreMessages> {
        set_key(backend, cipher).map(CoreMessages)
    }

    /// One message. The tag is read where it is decrypted, and written where not.
    ///
    /// # Safety
    /// Both are valid for `len` bytes.
    unsafe fn message(
        &self,
        (direction, number): (Direction, u64),
        out: *mut u8,
        input: *const u8,
        len: usize,
        tag: &mut Tag,
    ) -> Result<()> {
        let nonce = nonce(number);
        let message = Message {
            iv: nonce.as_ptr(),
            iv_len: NONCE_BYTES,
            aad: AAD.as_ptr(),
            aad_len: AAD.len(),
            out,
            input,
            len,
            tag: tag.as_mut_ptr(),
            tag_len: TAG_BYTES,
        };
        // SAFETY: the caller's; the IV and the tag have the lengths of the mode.
        let done = unsafe { self.0.message(direction, &message) };
        done.map_err(Error::from_reason)
    }
}

impl Messages for CoreMessages {
    fn seal(&mut self, times: u64, data: &mut [u8]) -> Result<Tag> {
        let mut tag = Tag::default();
        let (out, len) = (data.as_mut_ptr(), data.len());
        for number in 0..times {
            let which = (Direction::Encrypt, number);
            // SAFETY: the data have `len` bytes.
            unsafe { self.message(which, out, out, len, &mut tag)? };
        }
        Ok(tag)
    }

    fn open(&mut self, times: u64, out: &mut [u8], sealed: &[u8], tag: &Tag) -> Result<()> {
        assert_eq!(out.len(), sealed.len());
        let mut tag = *tag;
        for _ in 0..times {
            let (out, input) = (out.as_mut_ptr(), sealed.as_ptr());
            // SAFETY: both have as many bytes.
            unsafe { self.message((Direction::Decrypt, 0), out, input, sealed.len(), &mut tag)? };
        }
        Ok(())
    }
}
