// SPDX-License-Identifier: BSD-2-Clause
//! The core by its own calls.

use super::calls::{key, nonce, Calls, Data, Tag, AAD, IV, TAG_BYTES};
use catalogue::{Call, Cipher, Direction};
use tenrounds_sys::raw::TR_OK;
use tenrounds_sys::{explain, Backend, Key, Message, Stream};
use terminal::error::{Error, Result};

/// Bytes of the nonce of an AEAD.
const NONCE_BYTES: usize = 12;

pub struct Core {
    key: Key,
    direction: Direction,
    /// None for whole messages.
    stream: Option<Stream>,
}

impl Core {
    pub fn new(backend: Backend, cipher: Cipher, direction: Direction) -> Result<Core> {
        let key = Key::new(cipher.mode(), backend, &key(cipher)).map_err(Error::from_reason)?;
        let stream = (cipher.call() == Call::Stream).then(|| Stream::new(IV));
        Ok(Core {
            key,
            direction,
            stream,
        })
    }
}

impl Calls for Core {
    unsafe fn run(&mut self, calls: u64, data: Data, tag: &mut Tag) -> Result<()> {
        let Data {
            out, input, len, ..
        } = data;
        let (key, direction) = (&self.key, self.direction);
        let done = |status| match status {
            TR_OK => Ok(()),
            other => Err(Error::failure(explain(other))),
        };
        if let Some(stream) = &mut self.stream {
            // SAFETY: the caller's.
            return (0..calls)
                .try_for_each(|_| done(unsafe { stream.call(key, direction, out, input, len) }));
        }
        (0..calls).try_for_each(|call| {
            let nonce = nonce(call * data.step);
            let message = Message {
                iv: nonce.as_ptr(),
                iv_len: NONCE_BYTES,
                aad: AAD.as_ptr(),
                aad_len: AAD.len(),
                tag: tag.as_mut_ptr(),
                tag_len: TAG_BYTES,
                ..Message::new(out, input, len)
            };
            // SAFETY: the caller's; the IV and the tag have the lengths of the mode.
            done(unsafe { key.call(direction, &message) })
        })
    }

    fn restart(&mut self) -> Result<()> {
        self.stream = self.stream.take().map(|_| Stream::new(IV));
        Ok(())
    }
}
