// SPDX-License-Identifier: BSD-2-Clause
//! The grid: modes, sizes, key sizes, and what is measured of them.

use crate::peer::{
    Direction, Form, Mode, Spec, AAD, BLOCK, OTHER_AAD, RAGGED, RAGGED_BYTES, STAGGER, UNITS,
    UNIT_BYTES,
};
use catalogue::Cipher;
use serde::{Deserialize, Serialize};
use terminal::error::{suggestion, Error, Result};

/// Bytes of a call. Among them are those of packets: SRTP (160, 172), QUIC (1200, 1252), TLS (1350)
/// and ESP (1420).
pub const SIZES: [usize; 20] = [
    16, 31, 48, 64, 100, 160, 172, 256, 512, 1024, 1200, 1252, 1350, 1420, 2048, 4096, 8192, 16384,
    65536, 1048576,
];
/// Those of messages whose AAD are not of the usual length.
const AAD_SIZES: [usize; 4] = [16, 64, 160, 1350];
/// Those of many messages in one call.
const MANY_SIZES: [usize; 6] = [16, 64, 192, 256, 512, 1350];
/// Those of data at the end of a page.
const PAGE_END_SIZES: [usize; 6] = [16, 20, 64, 100, 256, 1350];
/// Those of a quick run.
pub const QUICK_SIZES: [usize; 8] = [16, 64, 256, 512, 1024, 4096, 8192, 16384];
/// Those of single calls.
const ALONE_SIZES: [usize; 4] = [16, 64, 256, 1024];
/// Besides, for many streams, whose jobs are short.
const SHORT_JOB: usize = 128;
/// Those of staggered streams.
const STAGGERED_SIZES: [usize; 3] = [SHORT_JOB, 1024, 16384];
/// The longest call of many streams, all together.
const MOST: usize = 1 << 20;
/// The same of CFB8 and CFB1, which take up to eight blocks a byte: 1 MiB would take 0.1 s.
const MOST_BYTEWISE: usize = 1 << 14;
/// Those of keys to be wrapped.
const WRAP_SIZES: [usize; 5] = [16, 24, 32, 64, 256];
const STREAMS: usize = 16;
const MESSAGES: usize = 64;
/// The size at which a quick run measures GCM with both key sizes.
const LONG_MESSAGE: usize = 16384;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One call right after the other.
    Throughput,
    /// A fence between calls.
    Alone,
}

/// Whether the processor's instructions for AES are there for OpenSSL and for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Environment {
    Plain,
    Software,
}

impl Environment {
    /// What the environment of the process has more than ours. AES-NI and PCLMULQDQ are bits 57 and
    /// 33 of the first word, VAES and VPCLMULQDQ bits 41 and 42 of the second (OPENSSL_ia32cap(3)).
    pub fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Environment::Plain => &[],
            Environment::Software => &[
                ("OPENSSL_ia32cap", "~0x200000200000000:~0x60000000000"),
                ("TENROUNDS_MASK", "noaes,noclmul,novaes,novclmul"),
            ],
        }
    }
}

/// One cell: all subjects take turns in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Cell {
    pub spec: Spec,
    pub bytes: usize,
    pub kind: Kind,
    /// 1, but 2 in a few cells of runs up to 2026-11-29.
    pub threads: usize,
    pub environment: Environment,
}

/// A cell in JSON.
#[derive(Serialize, Deserialize)]
struct Written {
    way: String,
    key_bits: u16,
    bytes: usize,
    kind: Kind,
    threads: usize,
    environment: Environment,
}

impl From<Cell> for Written {
    fn from(cell: Cell) -> Written {
        Written {
            way: cell.spec.way(),
            key_bits: cell.spec.key_bits,
            bytes: cell.bytes,
            kind: cell.kind,
            threads: cell.threads,
            environment: cell.environment,
        }
    }
}

impl TryFrom<Written> for Cell {
    type Error = String;

    fn try_from(written: Written) -> std::result::Result<Cell, String> {
        let way = all_ways().find(|way| way.way() == written.way);
        let way = way.ok_or_else(|| format!("unknown way '{}'", written.way))?;
        Ok(Cell {
            spec: way.with_key(written.key_bits),
            bytes: written.bytes,
            kind: written.kind,
            threads: written.threads,
            environment: written.environment,
        })
    }
}

impl Spec {
    /// A way with AES-128.
    const fn new(mode: Mode, direction: Direction, streams: usize) -> Spec {
        Spec {
            mode,
            key_bits: 128,
            direction,
            streams,
            aad: AAD,
            gap: 0,
            form: Form::Usual,
        }
    }

    const fn in_form(form: Form, mode: Mode, direction: Direction) -> Spec {
        Spec {
            form,
            ..Spec::new(mode, direction, 1)
        }
    }

    const fn with_aad(aad: usize, direction: Direction) -> Spec {
        Spec {
            aad,
            ..Spec::new(Mode::Gcm, direction, 1)
        }
    }

    /// Many messages of GCM, or samples of ECB as for the header protection of QUIC.
    const fn many(mode: Mode, direction: Direction, streams: usize, own_keys: bool) -> Spec {
        Spec {
            form: match own_keys {
                true => Form::OwnKeys,
                false => Form::Usual,
            },
            ..Spec::new(mode, direction, streams)
        }
    }

    const fn null_aad(direction: Direction) -> Spec {
        Spec {
            form: Form::NullAad,
            ..Spec::with_aad(0, direction)
        }
    }

    /// The same way with another key size.
    pub fn with_key(self, key_bits: u16) -> Spec {
        Spec { key_bits, ..self }
    }

    /// "cbc-encrypt", "ctr", "ccm-encrypt-16", "cbc-encrypt-ragged".
    pub fn way(&self) -> String {
        let mode = self.mode.name();
        let way = match self.mode {
            one_way if one_way.row().directions.len() == 1 => mode.to_owned(),
            _ => format!("{mode}-{}", self.direction.name()),
        };
        match self.streams {
            _ if self.form == Form::Inverse => way + "-inverse",
            _ if self.form == Form::Record => way + "-record",
            _ if self.form == Form::NullAad => way + "-aad-null",
            _ if self.form == Form::PageEnd => way + "-page-end",
            streams if self.form == Form::OwnKeys => format!("{way}-{streams}-keys"),
            1 if self.aad != AAD => format!("{way}-aad{}", self.aad),
            1 => way,
            _ if self.is_ragged() => way + "-ragged",
            units if self.mode == Mode::Xts => format!("{way}-{units}-units"),
            streams if self.gap > 0 => format!("{way}-{streams}-staggered"),
            streams => format!("{way}-{streams}"),
        }
    }

    /// "CBC encryption, 16 streams".
    pub fn title(&self) -> String {
        let mode = self.mode.name().to_uppercase();
        let way = match (self.mode, self.direction) {
            (m, _) if m.row().directions.len() == 1 => mode,
            (m, Direction::Encrypt) if m.wraps() => format!("{} wrapping", m.title()),
            (m, Direction::Decrypt) if m.wraps() => format!("{} unwrapping", m.title()),
            (m, Direction::Encrypt) if m.is_aead() => format!("{mode} sealing"),
            (m, Direction::Decrypt) if m.is_aead() => format!("{mode} opening"),
            (_, Direction::Encrypt) => format!("{mode} encryption"),
            (_, Direction::Decrypt) => format!("{mode} decryption"),
        };
        match self.streams {
            _ if self.form == Form::Inverse => format!("{way}, inverse cipher"),
            _ if self.form == Form::Record => format!("{way}, record of TLS 1.2"),
            _ if self.form == Form::NullAad => format!("{way}, AAD NULL"),
            _ if self.form == Form::PageEnd => format!("{way}, at a page's end"),
            n if self.form == Form::OwnKeys => format!("{way}, {n} messages, a key for each"),
            n if n > 1 && matches!(self.mode, Mode::Gcm | Mode::Ecb) => {
                format!("{way}, {n} messages")
            }
            1 if self.aad != AAD => format!("{way}, AAD of {} B", self.aad),
            1 => way,
            _ if self.is_ragged() => format!("{way}, {RAGGED} streams of 64 B to 16 KiB"),
            units if self.mode == Mode::Xts => format!("{way}, {units} units in one call"),
            streams if self.gap > 0 => format!("{way}, {streams} staggered streams"),
            streams => format!("{way}, {streams} streams"),
        }
    }
}

/// What is measured unless something else is asked for.
const USUAL: [Spec; 49] = {
    use Direction::{Decrypt, Encrypt};
    [
        Spec::new(Mode::Ecb, Encrypt, 1),
        Spec::new(Mode::Ecb, Decrypt, 1),
        Spec::new(Mode::Cbc, Encrypt, 1),
        Spec::new(Mode::Cbc, Decrypt, 1),
        Spec::new(Mode::Cfb128, Encrypt, 1),
        Spec::new(Mode::Cfb128, Decrypt, 1),
        Spec::new(Mode::Ofb, Encrypt, 1),
        Spec::new(Mode::Ctr, Encrypt, 1),
        Spec::new(Mode::Xts, Encrypt, 1),
        Spec::new(Mode::Xts, Decrypt, 1),
        Spec::new(Mode::Xts, Encrypt, UNITS),
        Spec::new(Mode::Gcm, Encrypt, 1),
        Spec::new(Mode::Gcm, Decrypt, 1),
        Spec::null_aad(Encrypt),
        Spec::null_aad(Decrypt),
        Spec::with_aad(OTHER_AAD[0], Encrypt),
        Spec::with_aad(OTHER_AAD[0], Decrypt),
        Spec::with_aad(OTHER_AAD[1], Encrypt),
        Spec::with_aad(OTHER_AAD[1], Decrypt),
        Spec::with_aad(OTHER_AAD[2], Encrypt),
        Spec::with_aad(OTHER_AAD[2], Decrypt),
        Spec::with_aad(OTHER_AAD[3], Encrypt),
        Spec::with_aad(OTHER_AAD[3], Decrypt),
        Spec::with_aad(OTHER_AAD[4], Encrypt),
        Spec::with_aad(OTHER_AAD[4], Decrypt),
        Spec::new(Mode::Ccm, Encrypt, 1),
        Spec::new(Mode::Ccm, Decrypt, 1),
        Spec::new(Mode::Cmac, Encrypt, 1),
        Spec::new(Mode::Cbc, Encrypt, STREAMS),
        Spec {
            gap: STAGGER,
            ..Spec::new(Mode::Cbc, Encrypt, STREAMS)
        },
        Spec::new(Mode::Cbc, Encrypt, RAGGED),
        Spec::new(Mode::Ccm, Encrypt, STREAMS),
        Spec::new(Mode::Cmac, Encrypt, STREAMS),
        Spec::many(Mode::Gcm, Encrypt, STREAMS, false),
        Spec::many(Mode::Gcm, Decrypt, STREAMS, false),
        Spec::many(Mode::Gcm, Encrypt, MESSAGES, false),
        Spec::many(Mode::Gcm, Decrypt, MESSAGES, false),
        Spec::many(Mode::Gcm, Encrypt, STREAMS, true),
        Spec::many(Mode::Gcm, Decrypt, STREAMS, true),
        Spec::many(Mode::Gcm, Encrypt, MESSAGES, true),
        Spec::many(Mode::Gcm, Decrypt, MESSAGES, true),
        Spec::many(Mode::Ecb, Encrypt, MESSAGES, false),
        Spec::many(Mode::Ecb, Encrypt, MESSAGES, true),
        Spec::in_form(Form::PageEnd, Mode::Gcm, Encrypt),
        Spec::in_form(Form::PageEnd, Mode::Gcm, Decrypt),
        Spec::in_form(Form::PageEnd, Mode::Ctr, Encrypt),
        Spec::in_form(Form::PageEnd, Mode::Xts, Encrypt),
        Spec::in_form(Form::PageEnd, Mode::Cbc, Encrypt),
        Spec::in_form(Form::PageEnd, Mode::Cbc, Decrypt),
    ]
};
/// Known by name.
const OTHERS: [Spec; 25] = {
    use Direction::{Decrypt, Encrypt};
    [
        Spec::new(Mode::Xts, Decrypt, UNITS),
        Spec::new(Mode::Cfb128, Encrypt, STREAMS),
        Spec::new(Mode::Ccm, Decrypt, STREAMS),
        Spec::new(Mode::GcmSiv, Encrypt, 1),
        Spec::new(Mode::GcmSiv, Decrypt, 1),
        Spec::new(Mode::Ocb, Encrypt, 1),
        Spec::new(Mode::Ocb, Decrypt, 1),
        Spec::new(Mode::CbcCts, Encrypt, 1),
        Spec::new(Mode::CbcCts, Decrypt, 1),
        Spec::new(Mode::Cfb8, Encrypt, 1),
        Spec::new(Mode::Cfb8, Decrypt, 1),
        Spec::new(Mode::Cfb1, Encrypt, 1),
        Spec::new(Mode::Cfb1, Decrypt, 1),
        Spec::new(Mode::Siv, Encrypt, 1),
        Spec::new(Mode::Siv, Decrypt, 1),
        Spec::in_form(Form::Record, Mode::Gcm, Encrypt),
        Spec::in_form(Form::Record, Mode::Gcm, Decrypt),
        Spec::new(Mode::Kw, Encrypt, 1),
        Spec::new(Mode::Kw, Decrypt, 1),
        Spec::in_form(Form::Inverse, Mode::Kw, Encrypt),
        Spec::in_form(Form::Inverse, Mode::Kw, Decrypt),
        Spec::new(Mode::Kwp, Encrypt, 1),
        Spec::new(Mode::Kwp, Decrypt, 1),
        Spec::in_form(Form::Inverse, Mode::Kwp, Encrypt),
        Spec::in_form(Form::Inverse, Mode::Kwp, Decrypt),
    ]
};

fn all_ways() -> impl Iterator<Item = Spec> {
    USUAL.into_iter().chain(OTHERS)
}

/// The ways that a word means: a mode ("cbc"), a way ("cbc-decrypt"), "all", or none for the usual
/// ones.
pub fn ways(words: &[String]) -> Result<Vec<Spec>> {
    let mut chosen: Vec<Spec> = Vec::new();
    for word in words {
        let word = word.to_ascii_lowercase();
        let other = [Form::Record, Form::OwnKeys, Form::PageEnd];
        let of_mode = |w: &Spec| w.mode.name() == word && w.aad == AAD && !other.contains(&w.form);
        let means = |w: &Spec| word == "all" || w.way() == word || of_mode(w);
        let meant: Vec<Spec> = all_ways().filter(means).collect();
        if meant.is_empty() {
            let names = all_ways().flat_map(|w| [w.mode.name().to_owned(), w.way()]);
            let names: Vec<String> = names.collect();
            let near = suggestion(&word, names.iter().map(String::as_str));
            return Err(Error::usage(format!(
                "there is no mode '{word}'{near} (see 'tenrounds-bench --list')"
            )));
        }
        chosen.extend(meant);
    }
    if words.is_empty() {
        chosen.extend(USUAL);
    }
    let mut seen = std::collections::HashSet::new();
    chosen.retain(|way| seen.insert(*way));
    Ok(chosen)
}

/// For --list.
pub fn names() -> Vec<(String, String, bool)> {
    let usual = USUAL.map(|w| (w.way(), w.title(), true));
    let others = OTHERS.map(|w| (w.way(), w.title(), false));
    usual.into_iter().chain(others).collect()
}

/// What a grid is made of.
pub struct Wanted {
    pub ways: Vec<Spec>,
    pub sizes: Vec<usize>,
    pub key_bits: Vec<u16>,
    /// Whether the sizes were named, so that none is added.
    pub named: bool,
    pub quick: bool,
    /// Of single calls, beside successive ones.
    pub alone: bool,
    pub environment: Environment,
}

impl Wanted {
    /// Modes of whole blocks round down, and no size comes twice.
    fn sizes_of(&self, way: Spec) -> Vec<usize> {
        if way.is_ragged() {
            return vec![RAGGED_BYTES];
        }
        let units = way.mode == Mode::Xts && way.streams > 1;
        let mut sizes = match self.named {
            false if units => vec![UNIT_BYTES],
            false if way.gap > 0 => STAGGERED_SIZES.to_vec(),
            false if way.mode.wraps() => WRAP_SIZES.to_vec(),
            false if way.aad != AAD => AAD_SIZES.to_vec(),
            false if way.mode == Mode::Gcm && way.streams > 1 => MANY_SIZES.to_vec(),
            false if way.form == Form::PageEnd => PAGE_END_SIZES.to_vec(),
            _ => self.sizes.clone(),
        };
        if way.streams > 1 && !units && !self.named {
            sizes.push(SHORT_JOB);
        }
        if way.mode.whole_blocks() {
            sizes.iter_mut().for_each(|s| *s = *s / BLOCK * BLOCK);
        }
        let bytewise = way.mode.streams() && way.mode.block_by_block();
        let most = if bytewise { MOST_BYTEWISE } else { MOST };
        let spec = way;
        sizes.retain(|s| spec.has_length(*s) && s * way.streams <= most);
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for &way in &self.ways {
            for &key_bits in &self.key_bits {
                let spec = way.with_key(key_bits);
                if Cipher::new(way.mode, key_bits).is_none() {
                    continue;
                }
                let cell = |bytes, kind| Cell {
                    spec,
                    bytes,
                    kind,
                    threads: 1,
                    environment: self.environment,
                };
                let sizes = self.sizes_of(way);
                let usual = way.streams == 1 && way.aad == AAD && way.form != Form::PageEnd;
                let short = |s: &&usize| ALONE_SIZES.contains(s) && usual;
                cells.extend(sizes.iter().map(|&s| cell(s, Kind::Throughput)));
                if self.alone && !(self.quick && key_bits != 128) {
                    cells.extend(sizes.iter().filter(short).map(|&s| cell(s, Kind::Alone)));
                }
                // A quick run has one key size, but for long messages of GCM.
                let other = way.mode == Mode::Gcm && sizes.contains(&LONG_MESSAGE);
                if self.quick && other && self.key_bits == [128] && !self.named {
                    let spec = spec.with_key(256);
                    let long = cell(LONG_MESSAGE, Kind::Throughput);
                    cells.push(Cell { spec, ..long });
                }
            }
        }
        cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(words: &[&str]) -> Wanted {
        let words: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        Wanted {
            ways: ways(&words).unwrap(),
            sizes: SIZES.to_vec(),
            key_bits: vec![128, 256],
            named: false,
            quick: false,
            alone: true,
            environment: Environment::Plain,
        }
    }

    #[test]
    fn words_mean_ways() {
        assert_eq!(wanted(&[]).ways.len(), USUAL.len());
        assert_eq!(wanted(&["all"]).ways.len(), USUAL.len() + OTHERS.len());
        assert_eq!(wanted(&["gcm-decrypt", "gcm"]).ways.len(), 6);
        let error = ways(&["gmc".into()]).err().unwrap().to_string();
        assert!(error.contains("did you mean 'gcm'"), "{error}");
        let names: std::collections::HashSet<String> = all_ways().map(|w| w.way()).collect();
        assert_eq!(names.len(), USUAL.len() + OTHERS.len());
    }

    #[test]
    fn whole_blocks_round_down_and_no_cell_comes_twice() {
        let cells = wanted(&["all"]).cells();
        let distinct: std::collections::HashSet<Cell> = cells.iter().copied().collect();
        assert_eq!(distinct.len(), cells.len());
        for cell in &cells {
            if cell.spec.mode.whole_blocks() {
                assert_eq!(cell.bytes % BLOCK, 0);
            }
            assert!(cell.spec.total(cell.bytes) <= MOST);
        }
        let ecb: Vec<usize> = wanted(&["ecb-encrypt"])
            .cells()
            .iter()
            .filter(|c| c.kind == Kind::Throughput && c.spec.key_bits == 128)
            .map(|c| c.bytes)
            .collect();
        assert_eq!(
            ecb,
            [
                16,
                48,
                64,
                96,
                160,
                256,
                512,
                1024,
                1200,
                1248,
                1344,
                1408,
                2048,
                4096,
                8192,
                16384,
                65536,
                1 << 20
            ]
        );
    }

    #[test]
    fn staggered_streams_have_few_sizes() {
        let cells = wanted(&["cbc-encrypt-16-staggered"]).cells();
        let mut sizes: Vec<usize> = cells.iter().map(|c| c.bytes).collect();
        sizes.dedup();
        // With both key sizes.
        assert_eq!(sizes, [128, 1024, 16384, 128, 1024, 16384]);
        assert!(cells.iter().all(|c| c.spec.gap == STAGGER));
        let adjacent = wanted(&["cbc-encrypt-16"]).cells();
        assert!(adjacent.len() > cells.len() && adjacent.iter().all(|c| c.spec.gap == 0));
    }

    #[test]
    fn wrapped_keys_and_records_have_their_sizes() {
        let sizes = |word: &str| -> Vec<usize> {
            let cells = wanted(&[word]).cells();
            let of_one = cells.iter().filter(|c| c.spec.key_bits == 128);
            let timed = of_one.filter(|c| c.kind == Kind::Throughput);
            timed.map(|c| c.bytes).collect()
        };
        assert_eq!(sizes("wrap-decrypt-inverse"), [16, 24, 32, 64, 256]);
        assert_eq!(sizes("wrap-pad-encrypt"), WRAP_SIZES);
        assert_eq!(sizes("gcm-encrypt-record").last(), Some(&16384));
        let titles: Vec<String> = ["wrap-pad-decrypt-inverse", "gcm-decrypt-record"]
            .map(|word| wanted(&[word]).ways[0].title())
            .into();
        assert_eq!(
            titles,
            [
                "KWP unwrapping, inverse cipher",
                "GCM opening, record of TLS 1.2"
            ]
        );
    }

    #[test]
    fn runs_of_units_have_the_size_of_a_sector() {
        let cells = wanted(&["xts-encrypt-8-units"]).cells();
        let sizes: Vec<usize> = cells.iter().map(|c| c.bytes).collect();
        assert_eq!(sizes, [512, 512]);
        assert!(cells.iter().all(|c| c.spec.total(c.bytes) == 4096));
    }

    #[test]
    fn a_quick_run_says_something_about_the_other_key_size() {
        let quick = Wanted {
            key_bits: vec![128],
            quick: true,
            ..wanted(&[])
        };
        let other: Vec<Cell> = quick.cells();
        let other = other.iter().filter(|c| c.spec.key_bits == 256);
        let ways: Vec<String> = other.map(|c| c.spec.way()).collect();
        assert_eq!(ways, ["gcm-encrypt", "gcm-decrypt"]);
    }
}
