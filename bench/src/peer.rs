// SPDX-License-Identifier: BSD-2-Clause
//! What is measured: a library behind one adapter, the same for all of them.

use terminal::error::Result;

use catalogue::Cipher;
pub use catalogue::{Direction, Mode, BLOCK};
pub const TAG: usize = 16;

/// The modes of the grid.
#[cfg(test)]
pub const MODES: [Mode; 15] = [
    Mode::Ecb,
    Mode::Cbc,
    Mode::Cfb128,
    Mode::Ofb,
    Mode::Ctr,
    Mode::Xts,
    Mode::Gcm,
    Mode::Ccm,
    Mode::Cmac,
    Mode::GcmSiv,
    Mode::Ocb,
    Mode::CbcCts,
    Mode::Cfb8,
    Mode::Cfb1,
    Mode::Siv,
];

/// So many streams are not alike: `Spec::lengths` says how long each is.
pub const RAGGED: usize = 64;
/// Their bytes together in the grid.
pub const RAGGED_BYTES: usize = 190 << 10;

/// The bytes of AAD of a record of TLS 1.2 (RFC 5246 section 6.2.3.3), which all messages have but those of `-aad5`.
pub const AAD: usize = 13;
/// The same of TLS 1.3 (RFC 8446 section 5.2).
pub const AAD_TLS13: usize = 5;

/// A cell of the grid without its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    pub mode: Mode,
    pub key_bits: u16,
    pub direction: Direction,
    /// 1, or as many jobs in one call: of `bytes` each, or of unequal lengths that add up to `bytes` if there are RAGGED.
    pub streams: usize,
    /// Bytes of AAD, at most AAD; authenticated modes look at it.
    pub aad: usize,
}

impl Spec {
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
        match self.streams {
            RAGGED => ragged(bytes),
            streams => vec![bytes; streams],
        }
    }

    /// The bytes of data that a call does.
    pub fn total(&self, bytes: usize) -> usize {
        match self.streams {
            RAGGED => bytes,
            streams => bytes * streams,
        }
    }

    /// What a stream reads beyond its data: the tag to be checked.
    fn read_more(&self) -> usize {
        let opens = self.mode.is_aead() && self.direction == Direction::Decrypt;
        if opens {
            TAG
        } else {
            0
        }
    }

    /// What a stream writes beyond its data: the tag of a sealed message.
    fn written_more(&self) -> usize {
        let seals = self.mode.is_aead() && self.direction == Direction::Encrypt;
        if seals {
            TAG
        } else {
            0
        }
    }

    /// The bytes of `input`: stream after stream, each with its data and, to be opened, its tag.
    pub fn input_bytes(&self, bytes: usize) -> usize {
        self.total(bytes) + self.streams * self.read_more()
    }

    /// The bytes of `output`, laid out likewise: each stream's data and, when sealing, its tag. For CMAC nothing but
    /// the tags.
    pub fn output_bytes(&self, bytes: usize) -> usize {
        match self.mode {
            Mode::Cmac => self.streams * TAG,
            _ => self.total(bytes) + self.streams * self.written_more(),
        }
    }
}

/// RAGGED lengths in whole blocks, in disorder, each about 9 % more than the next smaller one: from 64 bytes to 16 KiB
/// if `bytes`, their sum, is RAGGED_BYTES, else scaled. What rounding leaves goes to the longest.
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
    /// IV, counter block or tweak of 16 bytes; GCM, CCM (so L = 3), GCM-SIV and OCB take the first 12.
    pub iv: [u8; 16],
    /// Of authenticated modes.
    pub aad: [u8; AAD],
}

impl Inputs {
    /// The IV of one of several streams: their keys are the same. Stream 0 has `iv`.
    pub fn iv_of(&self, stream: usize) -> [u8; 16] {
        let mut iv = self.iv;
        iv[0] ^= stream as u8;
        iv
    }
}

/// A library.
pub trait Peer {
    /// "openssl-4.0.3", "aws-lc", "ring", ...; ours: "core", "evp", and "core-" with a backend.
    fn id(&self) -> String;

    /// For tables: "OpenSSL 4.0.3".
    fn title(&self) -> String;

    /// As the library itself says at run time where it can, with the path of one that was opened then.
    fn version(&self) -> String;

    /// None if the library has no such operation.
    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>>;
}

/// A prepared operation: the key is expanded, everything is allocated.
pub trait Operation {
    /// One call. `input` and `output` have the lengths that Spec says and do not overlap.
    ///
    /// One stream of ECB, CBC, CFB128, OFB or CTR goes on where the last call ended, in mid-block, too, without any set-up.
    /// (A library that cannot stop in mid-block has no such operation for lengths that are not whole blocks.) All
    /// else is whole messages: the same IV set anew, additional data, data, tag; several streams begin anew with each call.
    ///
    /// An error of the library, a wrong tag above all, is a panic; so the status of every call is looked at.
    fn call(&mut self, input: &[u8], output: &mut [u8]);

    /// Back to the first IV, for the check of outputs. Whole messages have nothing to go back to.
    fn restart(&mut self) {}

    /// The timed loop, compiled for each peer so that the call can be inlined. `alone`: between calls the processor waits for
    /// everything before to be done, so that nothing of two calls overlaps, and the time of a call is its latency.
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

/// No later instruction begins before all earlier ones are done (Intel SDM volume 2A, LFENCE; on AMD where Linux has
/// made it dispatch serialising, which it does on all that can).
#[inline(always)]
fn fence() {
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

/// A library that is not here, and why.
pub struct Absent {
    pub id: String,
    pub title: String,
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(mode: Mode, direction: Direction, streams: usize) -> Spec {
        Spec {
            mode,
            key_bits: 256,
            direction,
            streams,
            aad: AAD,
        }
    }

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
        let open = spec(Mode::Gcm, Direction::Decrypt, 1);
        assert_eq!((open.input_bytes(100), open.output_bytes(100)), (116, 100));
        assert_eq!(
            spec(Mode::Cmac, Direction::Encrypt, 1).output_bytes(100),
            16
        );
        assert_eq!(spec(Mode::Xts, Direction::Encrypt, 1).key_bytes(), 64);
    }
}
