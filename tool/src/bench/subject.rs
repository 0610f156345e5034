// SPDX-License-Identifier: BSD-2-Clause
//! What can be measured: a row for each mode says what its messages are and what bounds it.

use super::limit::{Limit, Pass, Work};
use crate::algorithm::{Algorithm, Direction, Mode};
use crate::error::{suggestion, Error, Result};

/// What one call of the measured work is.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    /// The next bytes of one long message, in one of the core's streaming modes or in another cipher.
    Stream(Option<Mode>),
    /// A whole message, in pieces as EVP wants it.
    Message(Shape),
    /// The same for a MAC.
    Mac,
}

/// The pieces of a message.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of the IV, nonce or tweak; 0: there is none, and a message begins with the key.
    pub iv: usize,
    /// The length is told beforehand (CCM).
    pub announced: bool,
    /// Additional data of no bytes come first: without them OpenSSL's GCM-SIV goes on with those of the
    /// message before.
    pub forgets: bool,
    /// 13 bytes of additional data before, and a tag of 16 bytes after the data.
    pub authenticated: bool,
}

/// What keeps a mode from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Blocks are independent: the rounds per second of the core.
    Throughput,
    /// The same, and each block is multiplied besides: the rounds are the limit, both are the ceiling.
    Hashed,
    /// Each block waits for the one before: the latency of a round.
    Latency,
    /// A pass that is bound by latency, and after it one that is bound by throughput.
    LatencyThenThroughput,
    /// A pass of multiplications, and after it one of rounds.
    HashThenThroughput,
    /// Not AES.
    Unknown,
}

/// A mode with all its key sizes, or a cipher that is not AES.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    alias: Option<&'static str>,
    key_bits: &'static [u16],
    /// A key is two keys.
    double_key: bool,
    call: Call,
    /// Those that do different work.
    directions: &'static [Direction],
    /// By direction: encryption, decryption.
    bound: [Bound; 2],
    /// The core's operation that does most of the work, by direction, and what does it where there is no
    /// such code.
    ops: [&'static str; 2],
    plain_op: &'static str,
    /// Bytes of the shortest and of the longest message.
    shortest: usize,
    longest: usize,
    whole_blocks: bool,
}

const AES_KEYS: &[u16] = &Algorithm::KEY_BITS;
impl Kind {
    fn is_aes(&self) -> bool {
        self.bound[0] != Bound::Unknown
    }
}

const SAME: &[Direction] = &[Direction::Encrypt];
const BOTH: &[Direction] = &Direction::BOTH;

const STREAM: Kind = Kind {
    name: "",
    alias: None,
    key_bits: AES_KEYS,
    double_key: false,
    call: Call::Stream(None),
    directions: BOTH,
    bound: [Bound::Throughput; 2],
    ops: [""; 2],
    plain_op: "",
    shortest: 1,
    longest: usize::MAX,
    whole_blocks: false,
};

const fn message(iv: usize) -> Call {
    Call::Message(Shape {
        iv,
        announced: false,
        forgets: false,
        authenticated: true,
    })
}

const LATENCY_ONE_WAY: [Bound; 2] = [Bound::Latency, Bound::Throughput];

/// The rows, in the order in which they are shown. The last two are what people used before AES had
/// instructions, and what they use where it has none.
static KINDS: [Kind; 14] = [
    Kind {
        name: "ecb",
        call: Call::Stream(Some(Mode::Ecb)),
        ops: ["ecb_encrypt", "ecb_decrypt"],
        whole_blocks: true,
        ..STREAM
    },
    Kind {
        name: "cbc",
        alias: Some("aes{}"), // the default provider's own: AES128 is CBC
        call: Call::Stream(Some(Mode::Cbc)),
        bound: LATENCY_ONE_WAY,
        ops: ["cbc_encrypt", "cbc_decrypt"],
        whole_blocks: true,
        ..STREAM
    },
    Kind {
        name: "cfb",
        alias: Some("aes-{}-cfb128"),
        call: Call::Stream(Some(Mode::Cfb)),
        bound: LATENCY_ONE_WAY,
        ops: ["cfb_encrypt", "cfb_decrypt"],
        ..STREAM
    },
    Kind {
        name: "ofb",
        call: Call::Stream(Some(Mode::Ofb)),
        directions: SAME,
        bound: [Bound::Latency; 2],
        ops: ["ofb"; 2],
        ..STREAM
    },
    Kind {
        name: "ctr",
        call: Call::Stream(Some(Mode::Ctr)),
        directions: SAME,
        ops: ["ctr"; 2],
        ..STREAM
    },
    Kind {
        name: "gcm",
        alias: Some("id-aes{}-gcm"),
        call: message(12),
        bound: [Bound::Hashed; 2],
        ops: ["gcm_encrypt", "gcm_decrypt"],
        plain_op: "ctr",
        ..STREAM
    },
    Kind {
        name: "ccm",
        alias: Some("id-aes{}-ccm"),
        call: Call::Message(Shape {
            iv: 12,
            announced: true,
            forgets: false,
            authenticated: true,
        }),
        bound: [Bound::Latency; 2],
        ops: ["ccm_encrypt", "ccm_decrypt"],
        plain_op: "ctr",
        longest: (1 << 24) - 1, // the length has 3 bytes: what the nonce leaves of 15
        ..STREAM
    },
    Kind {
        name: "ocb",
        call: message(12),
        ops: ["ocb_encrypt", "ocb_decrypt"],
        plain_op: "ecb_encrypt",
        ..STREAM
    },
    Kind {
        name: "siv",
        double_key: true,
        call: message(0),
        // Decryption may do both at once: the key stream begins at the tag, which is there.
        bound: [Bound::LatencyThenThroughput, Bound::Latency],
        ops: ["ctr"; 2],
        ..STREAM
    },
    Kind {
        name: "gcm-siv",
        call: Call::Message(Shape {
            iv: 12,
            announced: false,
            forgets: true,
            authenticated: true,
        }),
        bound: [Bound::HashThenThroughput, Bound::Hashed],
        ops: ["ctr_le"; 2],
        plain_op: "ecb_encrypt",
        ..STREAM
    },
    Kind {
        name: "xts",
        key_bits: &[128, 256],
        double_key: true,
        call: Call::Message(Shape {
            iv: 16,
            announced: false,
            forgets: false,
            authenticated: false,
        }),
        ops: ["xts_encrypt", "xts_decrypt"],
        plain_op: "ecb_encrypt",
        shortest: 16,
        longest: 1 << 24, // IEEE 1619 5.1: 2^20 blocks
        ..STREAM
    },
    Kind {
        name: "cmac",
        call: Call::Mac,
        directions: SAME,
        bound: [Bound::Latency; 2],
        ops: ["cbc_encrypt"; 2],
        ..STREAM
    },
    Kind {
        name: "rc4",
        key_bits: &[128],
        directions: SAME,
        bound: [Bound::Unknown; 2],
        ..STREAM
    },
    Kind {
        name: "chacha20-poly1305",
        key_bits: &[256],
        call: message(12),
        directions: SAME,
        bound: [Bound::Unknown; 2],
        ..STREAM
    },
];

/// A row with a key size.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    kind: &'static Kind,
    key_bits: u16,
}

impl PartialEq for Subject {
    fn eq(&self, other: &Subject) -> bool {
        std::ptr::eq(self.kind, other.kind) && self.key_bits == other.key_bits
    }
}

impl Eq for Subject {}

const GROUPS: [&str; 5] = ["all", "aead", "aes-128", "aes-192", "aes-256"];

impl Subject {
    /// In small letters, as on the command line and in JSON.
    pub fn name(self) -> String {
        match self.is_aes() {
            true => format!("aes-{}-{}", self.key_bits, self.kind.name),
            false => self.kind.name.into(),
        }
    }

    /// As headings and OpenSSL's lists have it.
    pub fn title(self) -> String {
        match self.kind.name {
            "chacha20-poly1305" => "ChaCha20-Poly1305".into(),
            _ => self.name().to_uppercase(),
        }
    }

    /// What libcrypto fetches: for a MAC that alone, without the key size.
    pub fn fetched(self) -> String {
        match self.kind.call {
            Call::Mac => self.kind.name.to_uppercase(),
            _ => self.name(),
        }
    }

    /// The one subject of this name.
    pub fn by_name(name: &str) -> Option<Subject> {
        all().into_iter().find(|s| s.answers_to(name))
    }

    /// "gcm": the mode without the key size.
    pub fn mode(self) -> &'static str {
        self.kind.name
    }

    pub fn is_aes(self) -> bool {
        self.kind.is_aes()
    }

    pub fn is_aead(self) -> bool {
        matches!(
            self.kind.call,
            Call::Message(Shape {
                authenticated: true,
                ..
            })
        )
    }

    /// In OpenSSL's legacy provider.
    pub fn is_legacy(self) -> bool {
        self.kind.name == "rc4"
    }

    pub fn key_bits(self) -> u16 {
        self.key_bits
    }

    /// Of all keys that it takes.
    pub fn key_bytes(self) -> usize {
        usize::from(self.key_bits) / 8 * if self.kind.double_key { 2 } else { 1 }
    }

    pub fn call(self) -> Call {
        self.kind.call
    }

    pub fn bound(self, direction: Direction) -> Bound {
        self.kind.bound[direction as usize]
    }

    /// The core's operations that do the work, the best first.
    pub fn ops(self, direction: Direction) -> [&'static str; 2] {
        [self.kind.ops[direction as usize], self.kind.plain_op]
    }

    /// 10, 12 or 14 (FIPS-197 section 5).
    fn rounds(self) -> u32 {
        u32::from(self.key_bits) / 32 + 6
    }

    /// The instructions that bound it, given the fastest width; None for what is not AES.
    pub fn limit(self, direction: Direction, widest: Limit) -> Option<Work> {
        let pass = |on, rounds, hash| Pass { on, rounds, hash };
        let wide = pass(widest, self.rounds(), false);
        let chain = pass(Limit::Chain, self.rounds(), false);
        let hash = pass(widest, 0, true);
        Some(Work(match self.bound(direction) {
            Bound::Throughput | Bound::Hashed => vec![wide],
            Bound::Latency => vec![chain],
            Bound::LatencyThenThroughput => vec![chain, wide],
            Bound::HashThenThroughput => vec![hash, wide],
            Bound::Unknown => return None,
        }))
    }

    /// What else every block needs, where that takes turns with the rounds on some processors.
    pub fn ceiling(self, direction: Direction, widest: Limit) -> Option<Work> {
        let pass = Pass {
            on: widest,
            rounds: self.rounds(),
            hash: true,
        };
        (self.bound(direction) == Bound::Hashed).then(|| Work(vec![pass]))
    }

    /// The directions that do different work: OFB, CTR, RC4 and ChaCha20 are the same both ways.
    pub fn directions(self) -> &'static [Direction] {
        self.kind.directions
    }

    /// Whether a call must be whole blocks.
    pub fn whole_blocks(self) -> bool {
        self.kind.whole_blocks
    }

    /// The shortest and the longest message.
    pub fn lengths(self) -> std::ops::RangeInclusive<usize> {
        self.kind.shortest..=self.kind.longest
    }

    fn answers_to(self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let bits = self.key_bits.to_string();
        let alias = self.kind.alias.map(|a| a.replace("{}", &bits));
        name == self.name() || alias.is_some_and(|alias| alias == name)
    }

    fn belongs_to(self, group: &str) -> bool {
        self.is_aes()
            && match group {
                "all" => true,
                "aead" => self.is_aead(),
                _ => group == self.kind.name || group == format!("aes-{}", self.key_bits),
            }
    }
}

fn all() -> Vec<Subject> {
    let of = |key_bits| {
        let has = move |kind: &&Kind| kind.is_aes() && kind.key_bits.contains(&key_bits);
        KINDS
            .iter()
            .filter(has)
            .map(move |kind| Subject { kind, key_bits })
    };
    Algorithm::KEY_BITS
        .into_iter()
        .flat_map(of)
        .chain(references())
        .collect()
}

/// Other ciphers, for orientation.
pub fn references() -> Vec<Subject> {
    let others = KINDS.iter().filter(|kind| !kind.is_aes());
    others
        .map(|kind| Subject {
            kind,
            key_bits: kind.key_bits[0],
        })
        .collect()
}

/// The words that stand for several subjects.
fn groups() -> Vec<&'static str> {
    let aes = KINDS.iter().filter(|kind| kind.is_aes());
    GROUPS
        .into_iter()
        .chain(aes.map(|kind| kind.name))
        .collect()
}

/// Reads names and groups in any case; each subject once, in the order asked for.
pub fn parse(names: &[String]) -> Result<Vec<Subject>> {
    let mut once: Vec<Subject> = Vec::new();
    for name in names {
        let group = name.to_ascii_lowercase();
        let meant = |s: &Subject| s.answers_to(name) || s.belongs_to(&group);
        let found: Vec<Subject> = all().into_iter().filter(meant).collect();
        if found.is_empty() {
            return Err(unknown(name));
        }
        for subject in found {
            if !once.contains(&subject) {
                once.push(subject);
            }
        }
    }
    Ok(once)
}

fn unknown(name: &str) -> Error {
    Error::usage(format!(
        "there is no algorithm '{name}'{}; there are aes-{{128,192,256}}-MODE, rc4 and chacha20-poly1305, \
         and the groups {}",
        hint(name),
        groups().join(", ")
    ))
}

/// Suggests a similar name, but never one with another key size: that is another algorithm.
fn hint(name: &str) -> String {
    let names: Vec<String> = all().into_iter().map(Subject::name).collect();
    let groups = groups();
    let known = names
        .iter()
        .map(String::as_str)
        .chain(groups.iter().copied());
    let lower = name.to_ascii_lowercase();
    let mut parts = lower.splitn(3, '-');
    let bits = match (parts.next(), parts.next()) {
        (Some("aes"), Some(bits)) if bits.bytes().all(|b| b.is_ascii_digit()) => bits,
        _ => return suggestion(name, known),
    };
    let head = format!("aes-{bits}-");
    let modes: Vec<&str> = names.iter().filter_map(|n| n.strip_prefix(&head)).collect();
    if modes.is_empty() {
        return ": AES has keys of 128, 192 and 256 bits".to_owned();
    }
    match suggestion(parts.next().unwrap_or_default(), modes).as_str() {
        "" => String::new(),
        near => near.replacen('\'', &format!("'{head}"), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &[&str]) -> Vec<String> {
        let asked: Vec<String> = asked.iter().map(|s| s.to_string()).collect();
        parse(&asked)
            .unwrap()
            .into_iter()
            .map(Subject::name)
            .collect()
    }

    #[test]
    fn names_aliases_and_groups() {
        assert_eq!(names(&["AES-128-cbc"]), ["aes-128-cbc"]);
        assert_eq!(names(&["aes256", "aes-256-cbc"]), ["aes-256-cbc"]);
        assert_eq!(names(&["aes-192-cfb128"]), ["aes-192-cfb"]);
        assert_eq!(names(&["id-aes128-GCM"]), ["aes-128-gcm"]);
        // Twelve modes, of which XTS has no 192 bits.
        assert_eq!(names(&["all"]).len(), 3 * 12 - 1);
        assert_eq!(names(&["aead"]).len(), 3 * 5);
        assert_eq!(names(&["AES-192"]).len(), 11);
        assert_eq!(names(&["xts"]), ["aes-128-xts", "aes-256-xts"]);
        assert_eq!(
            names(&["ctr", "rc4"]),
            ["aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "rc4"]
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = parse(&["aes-128-crt".to_string()]).unwrap_err().to_string();
        assert!(error.contains("did you mean 'aes-128-ctr'?"), "{error}");
        assert!(error.contains("gcm-siv"), "{error}");
    }

    fn subject(name: &str) -> Subject {
        Subject::by_name(name).unwrap()
    }

    #[test]
    fn two_keys_are_twice_as_long() {
        let bytes = |name| subject(name).key_bytes();
        assert_eq!(
            [
                bytes("aes-192-gcm"),
                bytes("aes-256-xts"),
                bytes("aes-192-siv")
            ],
            [24, 64, 48]
        );
    }

    #[test]
    fn every_mode_says_what_bounds_it() {
        let limit = |name, direction| {
            let work = subject(name).limit(direction, Limit::Zmm);
            work.map(|w| w.describe())
        };
        use Direction::*;
        let text = |s: &str| Some(s.to_owned());
        assert_eq!(limit("aes-128-cbc", Encrypt), text("chain"));
        assert_eq!(limit("aes-128-cbc", Decrypt), text("zmm"));
        assert_eq!(limit("aes-256-ofb", Decrypt), text("chain"));
        assert_eq!(limit("aes-128-siv", Encrypt), text("chain then zmm"));
        assert_eq!(
            limit("aes-128-gcm-siv", Encrypt),
            text("zmm clmul then zmm")
        );
        assert_eq!(limit("rc4", Encrypt), None);
        let rounds = |name| subject(name).limit(Encrypt, Limit::Ymm).unwrap().0[0].rounds;
        let of = ["aes-128-gcm", "aes-192-gcm", "aes-256-gcm"].map(rounds);
        assert_eq!(of, [10, 12, 14]);
    }

    #[test]
    fn gcm_has_a_ceiling_besides() {
        let ceiling = |name| {
            let work = subject(name).ceiling(Direction::Encrypt, Limit::Zmm);
            work.map(|w| w.describe())
        };
        assert_eq!(ceiling("aes-128-gcm").as_deref(), Some("zmm with clmul"));
        assert_eq!((ceiling("aes-128-ocb"), ceiling("rc4")), (None, None));
    }

    /// A row that names an operation which the core does not have would show the wrong backend.
    #[test]
    fn every_operation_exists() {
        use crate::core::Op;
        for kind in KINDS.iter().filter(|kind| kind.is_aes()) {
            for op in kind.ops.iter().chain([&kind.plain_op]) {
                assert!(op.is_empty() || Op::by_name(op).is_some(), "{op}");
            }
        }
    }
}
