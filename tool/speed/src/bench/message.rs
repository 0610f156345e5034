// SPDX-License-Identifier: BSD-2-Clause
//! Whole messages, whoever does them: one after the other on the same buffer. Encryption is in
//! place under a new nonce each time; decryption reads one sealed message again and again and
//! writes elsewhere, because the tag must fit every time.

use super::job::{Job, SAMPLE_CALLS};
use ::measure::place::Buffer;
use catalogue::Direction;
use terminal::error::Result;

pub const TAG_BYTES: usize = 16;
pub type Tag = [u8; TAG_BYTES];

/// What TLS 1.2 authenticates of each record: sequence number, type, version and length (RFC 5246
/// section 6.2.3.3). openssl speed -aead has as many.
pub const AAD: [u8; 13] = [0x5a; 13];

/// The nonce or tweak of a message; modes with a shorter one take its beginning.
pub fn nonce(number: u64) -> [u8; 16] {
    let mut nonce = [0x5a; 16];
    nonce[..8].copy_from_slice(&number.to_le_bytes());
    nonce
}

/// A mode under a key in one direction.
pub trait Messages: Send {
    /// Encrypts the data in place so many times, numbering the messages from 0; the tag of the
    /// last.
    fn seal(&mut self, times: u64, data: &mut [u8]) -> Result<Tag>;

    /// Decrypts the sealed message number 0 so many times. out is as long.
    fn open(&mut self, times: u64, out: &mut [u8], sealed: &[u8], tag: &Tag) -> Result<()>;
}

/// The input of decryption.
struct Sealed {
    buffer: Buffer,
    bytes: Vec<u8>,
    tag: Tag,
}

impl Sealed {
    fn new(bytes: Vec<u8>, tag: Tag) -> Sealed {
        let mut buffer = Buffer::new(bytes.len());
        // Some lines ahead of the output in its page, so that no load meets a store just made.
        (0..7).for_each(|_| buffer.move_on());
        buffer.data().copy_from_slice(&bytes);
        Sealed { buffer, bytes, tag }
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
        self.buffer.data().copy_from_slice(&self.bytes);
    }
}

pub struct MessageJob<M: Messages> {
    sealer: M,
    /// For decryption.
    opener: Option<(M, Sealed)>,
    buffer: Buffer,
    bytes: u64,
}

impl<M: Messages> MessageJob<M> {
    /// new makes a side of it: for encryption one that seals, for decryption one of each.
    pub fn new(
        new: impl Fn(Direction) -> Result<M>,
        direction: Direction,
        bytes: usize,
    ) -> Result<MessageJob<M>> {
        let mut sealer = new(Direction::Encrypt)?;
        let mut buffer = Buffer::new(bytes);
        let opener = match direction {
            Direction::Encrypt => None,
            Direction::Decrypt => {
                buffer.fill();
                let tag = sealer.seal(1, buffer.data())?;
                let sealed = Sealed::new(buffer.data().to_vec(), tag);
                Some((new(Direction::Decrypt)?, sealed))
            }
        };
        Ok(MessageJob {
            sealer,
            opener,
            buffer,
            bytes: bytes as u64,
        })
    }
}

impl<M: Messages> Job for MessageJob<M> {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let out = self.buffer.data();
        match &mut self.opener {
            None => _ = self.sealer.seal(calls, out)?,
            Some((opener, sealed)) => {
                opener.open(calls, out, sealed.buffer.data(), &sealed.tag)?;
            }
        }
        Ok(calls * self.bytes)
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
        if let Some((_, sealed)) = &mut self.opener {
            sealed.move_on();
        }
    }

    /// The message sealed, and for decryption opened as well, each more than once.
    fn sample(&mut self) -> Result<Vec<u8>> {
        let mut output = Vec::new();
        for _ in 0..SAMPLE_CALLS {
            self.buffer.fill();
            let tag = self.sealer.seal(1, self.buffer.data())?;
            output.extend_from_slice(self.buffer.data());
            output.extend_from_slice(&tag);
            if self.opener.is_some() {
                self.buffer.data().fill(0);
                self.run(1)?;
                output.extend_from_slice(self.buffer.data());
            }
        }
        Ok(output)
    }
}
