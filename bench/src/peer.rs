// SPDX-License-Identifier: BSD-2-Clause
//! What is measured: a library behind one adapter, the same for all of them.

use crate::answer::{Origin, Subject};
use catalogue::Cipher;
pub use catalogue::{Direction, Mode, BLOCK};
use terminal::error::Result;

pub const TAG: usize = 16;

/// So many streams are not alike, but in GCM and ECB: `Spec::lengths` says how long each is.
pub const RAGGED: usize = 64;
/// Their bytes together in the grid.
pub const RAGGED_BYTES: usize = 190 << 10;

/// Bytes between staggered streams: one line, so that equal places of streams of a multiple of 4096
/// bytes lie in different cache sets.
pub const STAGGER: usize = 64;

/// The data units of a run of XTS, and the bytes of each: sectors of a page.
pub const UNITS: usize = 8;
pub const UNIT_BYTES: usize = 512;

/// The bytes of AAD of a record of TLS 1.2 (RFC 5246 section 6.2.3.3), which all messages have but
/// those of `-aad5` and its like.
pub const AAD: usize = 13;
/// The others: none, a record of TLS 1.3 (RFC 8446 section 5.2), a packet of SRTP or ESP, a block,
/// and more than a block.
pub const OTHER_AAD: [usize; 5] = [0, 5, 12, 16, 20];
const MOST_AAD: usize = 20;

/// The bytes of a TLS 1.2 record's explicit part of the IV (RFC 5288 section 3).
pub const EXPLICIT: usize = 8;
/// The longest text of a record (RFC 5246 section 6.2.1).
const MOST_OF_RECORD: usize = 1 << 14;
/// What key wrap adds: a semiblock (SP 800-38F section 6.2).
pub const SEMIBLOCK: usize = 8;

/// Which of the ciphers or calls of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    Usual,
    /// Key wrap with the inverse cipher: "AES-128-WRAP-INV".
    Inverse,
    /// GCM: a record of TLS 1.2 (RFC 5288): explicit part of the IV, text and tag, in one buffer.
    Record,
    /// GCM: no AAD, with NULL as their address.
    NullAad,
    /// Many messages: a key for each, not one for all.
    OwnKeys,
    /// Input and output end where a page ends, and the next page is not mapped.
    PageEnd,
}

/// A cell of the grid without its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    pub mode: Mode,
    pub key_bits: u16,
    pub direction: Direction,
    /// 1, or as many jobs in one call (in XTS data units with successive numbers): of `bytes` each,
    /// or of unequal lengths that add up to `bytes` if there are RAGGED.
    pub streams: usize,
    /// Bytes of AAD, at most MOST_AAD; authenticated modes look at it.
    pub aad: usize,
    /// Bytes that nobody uses after each stream's data, in input and output.
    pub gap: usize,
    pub form: Form,
}

impl Spec {
    /// Whether the mode is key wrap.
    pub fn wraps(&self) -> bool {
        self.mode.wraps()
    }

    /// Whether the streams have unequal lengths.
    pub fn is_ragged(&self) -> bool {
        self.streams == RAGGED && !matches!(self.mode, Mode::Gcm | Mode::Ecb)
    }

    /// Whether decryption refuses input that encryption did not write.
    pub fn is_checked(&self) -> bool {
        self.mode.is_aead() || self.wraps()
    }

    /// Whether there are messages of so many bytes. KWP pads to semiblocks, which is left out:
    /// OpenSSL unwraps the padding, too.
    pub fn has_length(&self, bytes: usize) -> bool {
        let record = self.form == Form::Record;
        let samples = self.mode == Mode::Ecb && self.streams > 1;
        self.mode.row().has_length(bytes)
            && (!samples || bytes == BLOCK)
            && (!self.wraps() || bytes.is_multiple_of(SEMIBLOCK))
            && (!record || (1..=MOST_OF_RECORD).contains(&bytes))
    }

    /// The mode with its key size.
    pub fn cipher(&self) -> Cipher {
        Cipher::new(self.mode, self.key_bits).expect("a key size of the mode")
    }

    /// The bytes of the key: XTS has two.
    pub fn key_bytes(&self) -> usize {
        self.cipher().key_bytes()
    }

    /// The bytes of each stream's data.
    pub fn lengths(&self, bytes: usize) -> Vec<usize> {
        match self.is_ragged() {
            true => ragged(bytes),
            false => vec![bytes; self.streams],
        }
    }

    /// The bytes of data that a call does.
    pub fn total(&self, bytes: usize) -> usize {
        match self.is_ragged() {
            true => bytes,
            false => bytes * self.streams,
        }
    }

    /// What a stream reads beyond its data: the tag to be checked, the semiblock of a wrapped key,
    /// or the frame of a record.
    fn read_more(&self) -> usize {
        match (self.form, self.direction) {
            (Form::Record, _) => EXPLICIT + TAG,
            (_, Direction::Encrypt) => 0,
            (_, Direction::Decrypt) => self.sealed_more(),
        }
    }

    /// What encryption adds to the data.
    fn sealed_more(&self) -> usize {
        match () {
            _ if self.wraps() => SEMIBLOCK,
            _ if self.mode.is_aead() => TAG,
            _ => 0,
        }
    }

    /// What a stream may write beyond its data: the tag of a sealed message, the semiblock of a
    /// wrapped key, or the frame of a record.
    fn written_more(&self) -> usize {
        match (self.form, self.direction) {
            (Form::Record, _) => EXPLICIT + TAG,
            (_, Direction::Encrypt) => self.sealed_more(),
            // On failure OpenSSL cleanses as many bytes as it read (CRYPTO_128_unwrap_pad()).
            (_, Direction::Decrypt) if self.wraps() => SEMIBLOCK,
            (_, Direction::Decrypt) => 0,
        }
    }

    /// The bytes of `input`: stream after stream, each with its data and, to be opened, its tag.
    pub fn input_bytes(&self, bytes: usize) -> usize {
        self.total(bytes) + self.streams * (self.read_more() + self.gap)
    }

    /// The bytes of `output`, laid out likewise: each stream's data and, when sealing, its tag. For
    /// CMAC nothing but the tags.
    pub fn output_bytes(&self, bytes: usize) -> usize {
        match self.mode {
            Mode::Cmac => self.streams * TAG,
            _ => self.total(bytes) + self.streams * (self.written_more() + self.gap),
        }
    }
}

/// RAGGED lengths in whole blocks, in disorder, each about 9 % more than the next smaller one: from
/// 64 bytes to 16 KiB if `bytes`, their sum, is RAGGED_BYTES, else scaled. What rounding leaves
/// goes to the longest.
fn ragged(bytes: usize) -> Vec<usize> {
    let steps = (RAGGED - 1) as f64;
    let raw = |place: usize| 64.0 * 256f64.powf(place as f64 / steps);
    let whole: f64 = (0..RAGGED).map(raw).sum();
    let length = |place: usize| {
        let wanted = raw(place) * bytes as f64 / whole;
        ((wanted / BLOCK as f64) as usize).max(1) * BLOCK
    };
    // 29 and 64 have no common divisor, so that every place comes once.
    let mut lengths: Vec<usize> = (0..RAGGED).map(|i| length(i * 29 % RAGGED)).collect();
    let sum: usize = lengths.iter().sum();
    let longest = (0..RAGGED)
        .max_by_key(|&i| lengths[i])
        .expect("there are some");
    lengths[longest] = (lengths[longest] + bytes)
        .checked_sub(sum)
        .expect("at least 64 KiB");
    lengths
}

/// The same for all peers of a cell.
pub struct Inputs {
    /// XTS: both halves, that for data first.
    pub key: Vec<u8>,
    /// IV, counter block or tweak of 16 bytes; GCM, CCM (so L = 3), GCM-SIV and OCB take the first
    /// 12.
    pub iv: [u8; 16],
    /// Of authenticated modes.
    pub aad: [u8; MOST_AAD],
}

/// The AAD of a message, for libraries of C. Methods alone give its address, so that a closure that
/// calls them owns all of it.
pub struct Aad {
    pointer: *const u8,
    bytes: Box<[u8]>,
}

impl Aad {
    fn new(bytes: &[u8]) -> Aad {
        let bytes: Box<[u8]> = bytes.into();
        Aad {
            pointer: bytes.as_ptr(),
            bytes,
        }
    }

    #[inline(always)]
    pub fn pointer(&self) -> *const u8 {
        self.pointer
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn slice(&self) -> &[u8] {
        &self.bytes
    }
}

impl Inputs {
    pub fn aad(&self, spec: Spec) -> Aad {
        let mut aad = Aad::new(&self.aad[..spec.aad]);
        if spec.form == Form::NullAad {
            aad.pointer = std::ptr::null();
        }
        aad
    }

    /// What libssl gives with a record: sequence number, type, version, and the length of what it
    /// passes, without the tag when it seals (RFC 5246 section 6.2.3.3). The AAD itself have the
    /// length of the text.
    pub fn record_aad(&self, length: usize) -> Aad {
        let mut aad = self.aad;
        aad[AAD - 2..AAD].copy_from_slice(&(length as u16).to_be_bytes());
        Aad::new(&aad[..AAD])
    }

    /// The IV of one of several streams: their keys are the same. Stream 0 has `iv`.
    pub fn iv_of(&self, stream: usize) -> [u8; 16] {
        let mut iv = self.iv;
        iv[0] ^= stream as u8;
        iv
    }

    /// The same for a later message: of another key if each has its own, of another number, which
    /// is the tweak, in XTS. Else the IV is the same: it makes no difference to the time.
    pub fn message(&self, spec: Spec, number: usize) -> Inputs {
        let (mut key, first) = (self.key.clone(), u128::from_le_bytes(self.iv));
        if spec.form == Form::OwnKeys {
            key[0] ^= number as u8;
        }
        let iv = match spec.mode {
            Mode::Xts => first.wrapping_add(number as u128).to_le_bytes(),
            _ => self.iv,
        };
        let aad = self.aad;
        Inputs { key, iv, aad }
    }
}

/// A prepared operation; None if the library has none.
pub type Prepared = Result<Option<Box<dyn Operation>>>;

type Prepare = dyn Fn(Spec, usize, &Inputs) -> Prepared;

/// A library behind its adapter.
pub struct Peer {
    pub subject: Subject,
    prepare: Box<Prepare>,
}

impl Peer {
    pub fn new(
        id: String,
        title: String,
        version: String,
        prepare: impl Fn(Spec, usize, &Inputs) -> Prepared + 'static,
    ) -> Peer {
        Peer {
            subject: Subject {
                id,
                title,
                version,
                origin: Origin::default(),
            },
            prepare: Box::new(prepare),
        }
    }

    pub fn from(mut self, origin: Origin) -> Peer {
        self.subject.origin = origin;
        self
    }

    pub fn id(&self) -> &str {
        &self.subject.id
    }

    /// The library's own operation.
    pub fn prepare(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
        (self.prepare)(spec, bytes, inputs)
    }

    /// The same. For many messages of GCM or ECB and runs of XTS units, a library without such a
    /// call makes one call for each.
    pub fn operation(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
        let mut usual = spec;
        if spec.form == Form::PageEnd {
            usual.form = Form::Usual; // the calls are the same
        }
        let own = self.prepare(usual, bytes, inputs)?;
        let run = matches!(spec.mode, Mode::Xts | Mode::Gcm | Mode::Ecb);
        if own.is_some() || !run || spec.streams == 1 || spec.is_ragged() {
            return Ok(own);
        }
        let (streams, form) = (1, Form::Usual);
        let one = Spec {
            streams,
            form,
            ..spec
        };
        // One context serves all messages of one key and IV.
        let contexts = match spec.mode == Mode::Xts || spec.form == Form::OwnKeys {
            true => spec.streams,
            false => 1,
        };
        let each = (0..contexts).map(|i| self.prepare(one, bytes, &inputs.message(spec, i)));
        let each: Option<Vec<_>> = each.collect::<Result<_>>()?;
        let (read, written) = (one.input_bytes(bytes), one.output_bytes(bytes));
        let calls = each.map(|contexts| OneByOne {
            contexts,
            read,
            written,
        });
        Ok(calls.map(|calls| Box::new(calls) as Box<dyn Operation>))
    }
}

/// Many messages, or a run of XTS units, by single calls.
struct OneByOne {
    contexts: Vec<Box<dyn Operation>>,
    read: usize,
    written: usize,
}

impl Operation for OneByOne {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let input = input.chunks_exact(self.read);
        let output = output.chunks_exact_mut(self.written);
        let contexts = self.contexts.len();
        for (message, (data, out)) in input.zip(output).enumerate() {
            self.contexts[message % contexts].call(data, out);
        }
    }
}

/// A prepared operation: the key is expanded, everything is allocated.
pub trait Operation {
    /// One call. `input` and `output` have the lengths that Spec says and do not overlap.
    ///
    /// One stream of ECB, CBC, CFB128, OFB or CTR goes on where the last call ended, in mid-block,
    /// too, without any set-up. (A library that cannot stop in mid-block has no such operation for
    /// lengths that are not whole blocks.) All else is whole messages: the same IV set anew,
    /// additional data, data, tag; several streams begin anew with each call.
    ///
    /// An error of the library, a wrong tag above all, is a panic; so the status of every call is
    /// looked at.
    fn call(&mut self, input: &[u8], output: &mut [u8]);

    /// Back to the first IV, for the check of outputs. Whole messages have nothing to go back to.
    fn restart(&mut self) {}

    /// The timed loop, compiled for each peer so that the call can be inlined. `alone`: between
    /// calls the processor waits for everything before to be done, so that nothing of two calls
    /// overlaps, and the time of a call is its latency.
    fn run(&mut self, calls: u64, input: &[u8], output: &mut [u8], alone: bool) {
        if alone {
            for _ in 0..calls {
                self.call(input, output);
                fence();
            }
        } else {
            for _ in 0..calls {
                self.call(input, output);
            }
        }
    }
}

/// No later instruction begins before all earlier ones are done (Intel SDM volume 2A, LFENCE; on
/// AMD where Linux has made it dispatch serialising, which it does on all that can).
#[inline(always)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        std::arch::x86_64::_mm_lfence()
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: barriers have no other effect.
    unsafe {
        std::arch::asm!("dsb sy", "isb")
    };
}

/// What of a mode is measured most.
#[cfg(test)]
pub fn spec(mode: Mode, direction: Direction, streams: usize) -> Spec {
    Spec {
        mode,
        key_bits: 256,
        direction,
        streams,
        aad: AAD,
        gap: 0,
        form: Form::Usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ragged_lengths_are_whole_blocks_of_many_sizes() {
        for bytes in [64 << 10, 256 << 10, 1 << 20] {
            let lengths = spec(Mode::Cbc, Direction::Encrypt, RAGGED).lengths(bytes);
            assert_eq!(lengths.len(), RAGGED);
            assert_eq!(lengths.iter().sum::<usize>(), bytes);
            assert!(lengths.iter().all(|l| l % BLOCK == 0 && *l > 0));
        }
        let lengths = ragged(RAGGED_BYTES);
        assert_eq!(lengths.iter().min(), Some(&64));
        let longest = *lengths.iter().max().unwrap();
        assert!((15000..=17400).contains(&longest), "{longest}");
    }

    #[test]
    fn tags_lie_behind_the_data() {
        let seal = spec(Mode::Ccm, Direction::Encrypt, 16);
        assert_eq!(
            (seal.input_bytes(100), seal.output_bytes(100)),
            (1600, 1856)
        );
        let staggered = Spec {
            gap: STAGGER,
            ..spec(Mode::Cbc, Direction::Encrypt, 16)
        };
        let (read, written) = (staggered.input_bytes(96), staggered.output_bytes(96));
        assert_eq!((read, written, staggered.total(96)), (2560, 2560, 1536));
        let open = spec(Mode::Gcm, Direction::Decrypt, 1);
        assert_eq!((open.input_bytes(100), open.output_bytes(100)), (116, 100));
        assert_eq!(
            spec(Mode::Cmac, Direction::Encrypt, 1).output_bytes(100),
            16
        );
        assert_eq!(spec(Mode::Xts, Direction::Encrypt, 1).key_bytes(), 64);
        let unwrap = spec(Mode::Kw, Direction::Decrypt, 1);
        assert_eq!((unwrap.input_bytes(24), unwrap.output_bytes(24)), (32, 32));
        let record = Spec {
            form: Form::Record,
            ..open
        };
        assert_eq!(
            (record.input_bytes(100), record.output_bytes(100)),
            (124, 124)
        );
        assert!(record.has_length(16384) && !record.has_length(16385));
        assert!(unwrap.has_length(24) && !unwrap.has_length(31));
    }
}
