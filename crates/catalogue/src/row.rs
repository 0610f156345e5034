// SPDX-License-Identifier: BSD-2-Clause
//! What a row of the table says about a mode.

/// A mode of operation, or a cipher that is not AES and is measured for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    Ecb,
    Cbc,
    CbcCts,
    Cfb128,
    Cfb8,
    Cfb1,
    Ofb,
    Ctr,
    Gcm,
    Ccm,
    Ocb,
    Siv,
    GcmSiv,
    Xts,
    Kw,
    Kwp,
    Cmac,
    Rc4,
    ChaCha20Poly1305,
}

/// Encryption or decryption; sealing or opening; wrapping or unwrapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    Encrypt,
    Decrypt,
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

    pub fn name(self) -> &'static str {
        match self {
            Direction::Encrypt => "encrypt",
            Direction::Decrypt => "decrypt",
        }
    }
}

/// Bytes of a block.
pub const BLOCK: usize = 16;

/// The key sizes of AES in bits.
pub const KEY_BITS: [u16; 3] = [128, 192, 256];

/// What one call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The next bytes of one long message.
    Stream,
    /// A whole message.
    Message(Shape),
    /// A whole message of a MAC.
    Mac,
    /// A key to be wrapped or unwrapped.
    Wrap,
}

/// The parts of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of the IV, nonce or tweak. With 0 there is none, and a message begins with the key.
    pub iv: usize,
    /// The length is given before the data (CCM).
    pub announced: bool,
    /// OpenSSL's GCM-SIV needs an empty piece of AAD first. Without it, it keeps the AAD of the
    /// message before.
    pub empty_aad_first: bool,
    /// AAD precede the data, and a tag of 16 bytes follows them.
    pub authenticated: bool,
}

/// What keeps a mode from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Blocks are independent: the throughput of AES rounds.
    Throughput,
    /// Blocks are independent, and each is also multiplied by a power of the hash subkey.
    Hashed,
    /// Each block waits for the one before: the latency of AES rounds.
    Latency,
    /// A pass bound by latency, then one bound by throughput.
    LatencyThenThroughput,
    /// A pass of multiplications, then one of AES rounds.
    HashThenThroughput,
    /// Not AES.
    Unknown,
}

/// What a mode asks of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Needs {
    /// Independent blocks: AES instructions, the wider the better.
    Aes,
    /// Independent blocks and a hash in GF(2^128): carry-less multiplication as well.
    AesAndClmul,
    /// One block after the other: AES instructions of any width.
    OneChain,
    /// The same, and each block is a call of a backend: one block is in the registers, however
    /// wide.
    OneBlock,
}

/// A host's name for a mode; None if it does not offer the mode.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// The provider's algorithms, each with its names; `{}` stands for the key size in bits. The
    /// first algorithm has the mode's OID.
    pub provider: &'static [&'static [&'static str]],
    /// Whether the provider's algorithm is a MAC.
    pub mac: bool,
    /// The classic engine has it.
    pub engine: bool,
    /// The kernel's name, as in /proc/crypto.
    pub kernel: Option<&'static str>,
}

/// A mode.
#[derive(Debug)]
pub struct Row {
    pub mode: Mode,
    pub name: &'static str,
    pub title: &'static str,
    /// Other names; `{}` stands for the key size in bits.
    pub aliases: &'static [&'static str],
    pub key_bits: &'static [u16],
    /// A key consists of two AES keys.
    pub double_key: bool,
    pub call: Call,
    /// The directions that do different work.
    pub directions: &'static [Direction],
    /// By direction.
    pub bound: [Bound; 2],
    pub needs: [Needs; 2],
    /// The core's bulk operation that does most of the work, by direction.
    pub ops: [&'static str; 2],
    /// The operation that takes its place in a backend without it; empty if every backend has it.
    pub plain_op: &'static str,
    /// Bytes of the shortest and the longest IV, nonce or tweak that the provider takes.
    pub ivs: [usize; 2],
    /// Bytes that a tag may have, the usual number last; empty without a tag.
    pub tags: &'static [usize],
    /// Bytes of the shortest and the longest message.
    pub shortest: usize,
    pub longest: usize,
    /// Lengths are multiples of this many bytes.
    pub unit: usize,
    pub hosts: Hosts,
    /// `bench` knows the mode.
    pub measured: bool,
}

impl Row {
    pub fn is_aes(&self) -> bool {
        self.bound[0] != Bound::Unknown
    }

    /// Whether a message of so many bytes exists.
    pub fn has_length(&self, bytes: usize) -> bool {
        (self.shortest..=self.longest).contains(&bytes) && bytes.is_multiple_of(self.unit)
    }
}
