// SPDX-License-Identifier: BSD-2-Clause
//! The table.

use crate::row::{Bound, Call, Direction, Hosts, Mode, Needs, Row, Shape, BLOCK, KEY_BITS};

const BOTH: &[Direction] = &Direction::BOTH;
/// Decryption is the same as encryption.
const ONE: &[Direction] = &[Direction::Encrypt];

const NOWHERE: Hosts = Hosts {
    provider: &[],
    mac: false,
    engine: false,
    kernel: None,
};

const fn provider(algorithms: &'static [&'static [&'static str]]) -> Hosts {
    Hosts {
        provider: algorithms,
        ..NOWHERE
    }
}

const fn everywhere(
    algorithms: &'static [&'static [&'static str]],
    kernel: Option<&'static str>,
) -> Hosts {
    Hosts {
        provider: algorithms,
        mac: false,
        engine: true,
        kernel,
    }
}

/// A mode of SP 800-38A over independent blocks; the rows below say how they differ.
const STREAM: Row = Row {
    mode: Mode::Ecb,
    name: "",
    title: "",
    aliases: &[],
    key_bits: &KEY_BITS,
    double_key: false,
    call: Call::Stream,
    directions: BOTH,
    bound: [Bound::Throughput; 2],
    needs: [Needs::Aes; 2],
    ops: [""; 2],
    plain_op: "",
    ivs: [BLOCK; 2],
    tags: &[],
    shortest: 1,
    longest: usize::MAX,
    unit: 1,
    hosts: NOWHERE,
    measured: true,
};

const SHAPE: Shape = Shape {
    iv: 12,
    announced: false,
    empty_aad_first: false,
    authenticated: true,
};
const MESSAGE: Row = Row {
    call: Call::Message(SHAPE),
    ivs: [12; 2],
    tags: &[16],
    ..STREAM
};
/// Key wrap (SP 800-38F): at most 2^31 bytes, a chain of blocks.
const WRAP: Row = Row {
    call: Call::Wrap,
    bound: [Bound::Latency; 2],
    needs: [Needs::OneBlock; 2],
    ops: ["ecb_encrypt", "ecb_decrypt"],
    ivs: [0; 2],
    longest: (1 << 31) - 8,
    measured: false,
    ..STREAM
};

const ENCRYPTION_CHAINED: [Bound; 2] = [Bound::Latency, Bound::Throughput];
const CHAIN_ENCRYPTING: [Needs; 2] = [Needs::OneChain, Needs::Aes];
const BLOCK_ENCRYPTING: [Needs; 2] = [Needs::OneBlock, Needs::Aes];
const CHAIN: [Needs; 2] = [Needs::OneChain; 2];
const HASHED: [Needs; 2] = [Needs::AesAndClmul; 2];

const ANY_TAG: &[usize] = &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

/// The modes, in the order of [`Mode`] and in which they are shown. The last two are what programs
/// used before AES instructions, and what they use where there are none.
pub static ROWS: [Row; 19] = [
    Row {
        mode: Mode::Ecb,
        name: "ecb",
        title: "ECB",
        ops: ["ecb_encrypt", "ecb_decrypt"],
        unit: BLOCK,
        hosts: everywhere(&[&["AES-{}-ECB"]], Some("ecb(aes)")),
        ..STREAM
    },
    Row {
        mode: Mode::Cbc,
        name: "cbc",
        title: "CBC",
        aliases: &["aes{}"], // AES128 is CBC in libcrypto
        bound: ENCRYPTION_CHAINED,
        needs: CHAIN_ENCRYPTING,
        ops: ["cbc_encrypt", "cbc_decrypt"],
        unit: BLOCK,
        hosts: everywhere(&[&["AES-{}-CBC", "AES{}"]], Some("cbc(aes)")),
        ..STREAM
    },
    Row {
        mode: Mode::CbcCts,
        name: "cbc-cts",
        title: "CBC-CTS",
        call: Call::Message(Shape {
            iv: 16,
            authenticated: false,
            ..SHAPE
        }),
        bound: ENCRYPTION_CHAINED,
        needs: CHAIN_ENCRYPTING,
        ops: ["cbc_encrypt", "cbc_decrypt"],
        shortest: BLOCK,
        hosts: Hosts {
            kernel: Some("cts(cbc(aes))"),
            ..provider(&[&["AES-{}-CBC-CTS"]])
        },
        measured: false,
        ..STREAM
    },
    Row {
        mode: Mode::Cfb128,
        name: "cfb",
        title: "CFB",
        aliases: &["aes-{}-cfb128"],
        bound: ENCRYPTION_CHAINED,
        needs: CHAIN_ENCRYPTING,
        ops: ["cfb_encrypt", "cfb_decrypt"],
        hosts: everywhere(&[&["AES-{}-CFB"]], None),
        ..STREAM
    },
    Row {
        mode: Mode::Cfb8,
        name: "cfb8",
        title: "CFB8",
        bound: ENCRYPTION_CHAINED,
        needs: BLOCK_ENCRYPTING,
        ops: ["ecb_encrypt"; 2],
        hosts: provider(&[&["AES-{}-CFB8"]]),
        measured: false,
        ..STREAM
    },
    Row {
        mode: Mode::Cfb1,
        name: "cfb1",
        title: "CFB1",
        bound: ENCRYPTION_CHAINED,
        needs: BLOCK_ENCRYPTING,
        ops: ["ecb_encrypt"; 2],
        hosts: provider(&[&["AES-{}-CFB1"]]),
        measured: false,
        ..STREAM
    },
    Row {
        mode: Mode::Ofb,
        name: "ofb",
        title: "OFB",
        directions: ONE,
        bound: [Bound::Latency; 2],
        needs: CHAIN,
        ops: ["ofb"; 2],
        hosts: everywhere(&[&["AES-{}-OFB"]], None),
        ..STREAM
    },
    Row {
        mode: Mode::Ctr,
        name: "ctr",
        title: "CTR",
        directions: ONE,
        ops: ["ctr"; 2],
        hosts: everywhere(&[&["AES-{}-CTR"]], Some("ctr(aes)")),
        ..STREAM
    },
    Row {
        mode: Mode::Gcm,
        name: "gcm",
        title: "GCM",
        aliases: &["id-aes{}-gcm"],
        bound: [Bound::Hashed; 2],
        needs: HASHED,
        ops: ["gcm_encrypt", "gcm_decrypt"],
        plain_op: "ctr",
        ivs: [1, 128],
        tags: ANY_TAG,
        hosts: everywhere(&[&["AES-{}-GCM", "id-aes{}-GCM"]], Some("gcm(aes)")),
        ..MESSAGE
    },
    Row {
        mode: Mode::Ccm,
        name: "ccm",
        title: "CCM",
        aliases: &["id-aes{}-ccm"],
        call: Call::Message(Shape {
            announced: true,
            ..SHAPE
        }),
        bound: [Bound::Latency; 2],
        needs: CHAIN,
        ops: ["ccm_encrypt", "ccm_decrypt"],
        plain_op: "ctr",
        ivs: [7, 13],
        tags: &[4, 6, 8, 10, 12, 14, 16],
        longest: (1 << 24) - 1, // 3 bytes for the length: 15 less the nonce (SP 800-38C A.1)
        hosts: everywhere(&[&["AES-{}-CCM", "id-aes{}-CCM"]], Some("ccm(aes)")),
        ..MESSAGE
    },
    Row {
        mode: Mode::Ocb,
        name: "ocb",
        title: "OCB",
        ops: ["ocb_encrypt", "ocb_decrypt"],
        plain_op: "ecb_encrypt",
        ivs: [1, 15],
        tags: ANY_TAG,
        hosts: provider(&[&["AES-{}-OCB"]]),
        ..MESSAGE
    },
    Row {
        mode: Mode::Siv,
        name: "siv",
        title: "SIV",
        double_key: true,
        call: Call::Message(Shape { iv: 0, ..SHAPE }),
        // Decryption can do both passes at once: the tag, where the keystream begins, is known.
        bound: [Bound::LatencyThenThroughput, Bound::Latency],
        needs: CHAIN,
        ops: ["cbc_encrypt"; 2], // the chain bounds it; the other pass is CTR
        ivs: [0; 2],
        hosts: provider(&[&["AES-{}-SIV"]]),
        ..MESSAGE
    },
    Row {
        mode: Mode::GcmSiv,
        name: "gcm-siv",
        title: "GCM-SIV",
        call: Call::Message(Shape {
            empty_aad_first: true,
            ..SHAPE
        }),
        bound: [Bound::HashThenThroughput, Bound::Hashed],
        needs: HASHED,
        ops: ["ctr_le"; 2],
        plain_op: "ecb_encrypt",
        hosts: provider(&[&["AES-{}-GCM-SIV"]]),
        ..MESSAGE
    },
    Row {
        mode: Mode::Xts,
        name: "xts",
        title: "XTS",
        key_bits: &[128, 256],
        double_key: true,
        call: Call::Message(Shape {
            iv: 16,
            authenticated: false,
            ..SHAPE
        }),
        ops: ["xts_encrypt", "xts_decrypt"],
        plain_op: "ecb_encrypt",
        ivs: [BLOCK; 2],
        tags: &[],
        shortest: BLOCK,
        longest: 1 << 24, // 2^20 blocks (IEEE 1619 section 5.1)
        hosts: everywhere(&[&["AES-{}-XTS"]], Some("xts(aes)")),
        ..MESSAGE
    },
    Row {
        mode: Mode::Kw,
        name: "wrap",
        title: "KW",
        aliases: &["id-aes{}-wrap", "aes{}-wrap"],
        shortest: 16,
        unit: 8,
        hosts: provider(&[
            &["AES-{}-WRAP", "id-aes{}-wrap", "AES{}-WRAP"],
            &["AES-{}-WRAP-INV", "AES{}-WRAP-INV"],
        ]),
        ..WRAP
    },
    Row {
        mode: Mode::Kwp,
        name: "wrap-pad",
        title: "KWP",
        aliases: &["id-aes{}-wrap-pad", "aes{}-wrap-pad"],
        hosts: provider(&[
            &["AES-{}-WRAP-PAD", "id-aes{}-wrap-pad", "AES{}-WRAP-PAD"],
            &["AES-{}-WRAP-PAD-INV", "AES{}-WRAP-PAD-INV"],
        ]),
        ..WRAP
    },
    Row {
        mode: Mode::Cmac,
        name: "cmac",
        title: "CMAC",
        call: Call::Mac,
        directions: ONE,
        bound: [Bound::Latency; 2],
        needs: CHAIN,
        ops: ["cbc_encrypt"; 2],
        ivs: [0; 2],
        tags: ANY_TAG,
        shortest: 0,
        hosts: Hosts {
            mac: true,
            kernel: Some("cmac(aes)"),
            ..provider(&[&["CMAC"]])
        },
        ..STREAM
    },
    Row {
        mode: Mode::Rc4,
        name: "rc4",
        title: "RC4",
        key_bits: &[128],
        directions: ONE,
        bound: [Bound::Unknown; 2],
        ..STREAM
    },
    Row {
        mode: Mode::ChaCha20Poly1305,
        name: "chacha20-poly1305",
        title: "ChaCha20-Poly1305",
        key_bits: &[256],
        directions: ONE,
        bound: [Bound::Unknown; 2],
        ..MESSAGE
    },
];

impl Mode {
    /// The mode's row.
    pub fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// In small letters, as on the command line and in JSON: "gcm-siv".
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// As headings have it: "GCM-SIV".
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// The mode of that name, in small letters.
    pub fn by_name(name: &str) -> Option<Mode> {
        ROWS.iter().find(|r| r.name == name).map(|r| r.mode)
    }

    /// All modes of AES, in the order of the rows.
    pub fn aes() -> impl Iterator<Item = Mode> {
        ROWS.iter().filter(|r| r.is_aes()).map(|r| r.mode)
    }

    /// Whether data must be whole blocks.
    pub fn whole_blocks(self) -> bool {
        self.row().unit == BLOCK
    }

    /// Whether a message has additional data and a tag.
    pub fn is_aead(self) -> bool {
        matches!(self.row().call, Call::Message(shape) if shape.authenticated)
    }

    /// The kernel's name for the mode, if calls continue one long message.
    pub fn kernel_stream(self) -> Option<&'static str> {
        self.row().hosts.kernel.filter(|_| self.streams())
    }

    /// Whether data are keys to be wrapped.
    pub fn wraps(self) -> bool {
        self.row().call == Call::Wrap
    }

    /// Whether each block of a direction is a call of a backend.
    pub fn block_by_block(self) -> bool {
        self.row().needs.contains(&Needs::OneBlock)
    }

    /// Whether calls continue one long message.
    pub fn streams(self) -> bool {
        matches!(self.row().call, Call::Stream)
    }
}
