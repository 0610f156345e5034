// SPDX-License-Identifier: BSD-2-Clause
//! A cipher whose calls are timed, whoever does them: in place, one after the other on the same
//! buffer. A message is encrypted under a new nonce each time. Decryption of messages reads one
//! sealed message again and again and writes elsewhere, because the tag must fit every time.

use ::measure::crew::Job;
use ::measure::place::Buffer;
use catalogue::{Call, Cipher, Direction};
use terminal::error::Result;

/// Calls of a sample: more than one, so that state carried from call to call is compared, too.
const SAMPLE_CALLS: usize = 3;

pub const TAG_BYTES: usize = 16;
pub type Tag = [u8; TAG_BYTES];

/// What TLS 1.2 authenticates of each record: sequence number, type, version and length (RFC 5246
/// section 6.2.3.3). openssl speed -aead has as many.
pub const AAD: [u8; 13] = [0x5a; 13];

/// The IV of all measurements.
pub const IV: [u8; 16] = [0x5a; 16];

/// The key of all measurements.
pub fn key(cipher: Cipher) -> Vec<u8> {
    (1..=cipher.key_bytes() as u8).collect()
}

/// The nonce or tweak of a message; modes with a shorter one take its beginning.
pub fn nonce(number: u64) -> [u8; 16] {
    let mut nonce = IV;
    nonce[..8].copy_from_slice(&number.to_le_bytes());
    nonce
}

/// What calls work on: `len` bytes each, in whole blocks for ECB and CBC, the same or apart.
#[derive(Clone, Copy)]
pub struct Data {
    pub out: *mut u8,
    pub input: *const u8,
    pub len: usize,
    /// Messages have the numbers 0, `step`, 2 `step`, and so on.
    pub step: u64,
}

/// A cipher under a key in one direction.
pub trait Calls {
    /// Does so many messages, or so many parts of a stream. The tag is read where messages are
    /// decrypted, and written where not.
    ///
    /// # Safety
    /// The pointers are valid for the length.
    unsafe fn run(&mut self, calls: u64, data: Data, tag: &mut Tag) -> Result<()>;

    /// Begins a stream anew.
    fn restart(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A message to be decrypted.
struct Sealed {
    buffer: Buffer,
    bytes: Vec<u8>,
}

impl Sealed {
    fn new(bytes: Vec<u8>) -> Sealed {
        let mut buffer = Buffer::new(bytes.len());
        // Some lines ahead of the output in its page, so that no load meets a store just made.
        (0..7).for_each(|_| buffer.move_on());
        buffer.data().copy_from_slice(&bytes);
        Sealed { buffer, bytes }
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
        self.buffer.data().copy_from_slice(&self.bytes);
    }
}

pub struct CipherJob {
    calls: Box<dyn Calls>,
    sealed: Option<Sealed>,
    buffer: Buffer,
    tag: Tag,
}

impl CipherJob {
    /// `make` gives the calls of a direction.
    pub fn new(
        make: impl Fn(Direction) -> Result<Box<dyn Calls>>,
        cipher: Cipher,
        direction: Direction,
        bytes: usize,
    ) -> Result<CipherJob> {
        let one = |direction| -> Result<CipherJob> {
            Ok(CipherJob {
                calls: make(direction)?,
                sealed: None,
                buffer: Buffer::new(bytes),
                tag: Tag::default(),
            })
        };
        let mut job = one(direction)?;
        let message = matches!(cipher.call(), Call::Message(_));
        if message && direction == Direction::Decrypt {
            let mut sealing = one(Direction::Encrypt)?;
            sealing.buffer.fill();
            sealing.run(1)?;
            job.sealed = Some(Sealed::new(sealing.buffer.data().to_vec()));
            job.tag = sealing.tag;
        }
        Ok(job)
    }
}

impl Job for CipherJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let data = self.buffer.data();
        let (out, len) = (data.as_mut_ptr(), data.len());
        let (input, step) = match &mut self.sealed {
            Some(sealed) => (sealed.buffer.data().as_ptr(), 0),
            None => (out.cast_const(), 1),
        };
        let data = Data {
            out,
            input,
            len,
            step,
        };
        // SAFETY: both have `len` bytes.
        unsafe { self.calls.run(calls, data, &mut self.tag)? };
        Ok(calls * len as u64)
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
        self.sealed.iter_mut().for_each(Sealed::move_on);
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        self.calls.restart()?;
        let mut output = Vec::new();
        for _ in 0..SAMPLE_CALLS {
            self.buffer.fill();
            self.run(1)?;
            output.extend_from_slice(self.buffer.data());
            output.extend_from_slice(&self.tag);
        }
        Ok(output)
    }
}
