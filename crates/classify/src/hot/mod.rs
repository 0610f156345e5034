// SPDX-License-Identifier: BSD-2-Clause
//! What the code around a sampled address does. The smallest loop with cryptographic instructions
//! decides, and its whole function tells encryption from hashing. Code without such instructions
//! uses tables if a register or an address in it points to one at the sample.

mod arm;
mod shape;
mod x86;

use crate::tables::{Table, TableKind};
use crate::tally::{Class, Kind, Tally};
use crate::Machine;
use serde::Serialize;
use shape::{Function, Shape};
use std::ops::Range;

/// What code does, as far as AES goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    Vaes512,
    Vaes256,
    AesNi,
    ArmCe,
    /// AES by byte shuffles: constant-time, without AES instructions.
    Vperm,
    /// AES by lookups in tables, which leak keys through the cache.
    Tables,
    /// GHASH by carry-less multiplication.
    GhashClmul,
    /// GHASH by lookups.
    GhashTables,
    /// Long runs of Boolean operations: bitsliced AES, or another bitsliced cipher.
    Bitslice,
    /// Carry-less multiplication, for GHASH or for a CRC.
    Clmul,
    /// AES instructions in a hash function.
    Hash,
    /// AES instructions that serve another cipher as an S-box.
    Sbox,
    Other,
}

impl Work {
    pub fn name(self) -> &'static str {
        match self {
            Work::Vaes512 => "VAES 512",
            Work::Vaes256 => "VAES 256",
            Work::AesNi => "AES-NI 128",
            Work::ArmCe => "Arm CE",
            Work::Vperm => "vector permutation",
            Work::Tables => "tables (cache-timing!)",
            Work::GhashClmul => "GHASH by CLMUL",
            Work::GhashTables => "GHASH by tables (cache-timing!)",
            Work::Bitslice => "possibly bitsliced",
            Work::Clmul => "CLMUL (GHASH or CRC)",
            Work::Hash => "hash by AES instructions",
            Work::Sbox => "S-box by AES instructions",
            Work::Other => "other",
        }
    }

    /// Whether it is rounds of AES encryption.
    pub fn is_aes(self) -> bool {
        self <= Work::Tables
    }

    /// Whether it is the hash of GCM, which other ciphers use, too.
    pub fn is_ghash(self) -> bool {
        matches!(self, Work::GhashClmul | Work::GhashTables)
    }

    fn of(class: Class) -> Work {
        match class {
            Class::Hash => Work::Hash,
            Class::Sbox => Work::Sbox,
            Class::ArmCe => Work::ArmCe,
            Class::AesNi => Work::AesNi,
            Class::Vaes256 => Work::Vaes256,
            Class::Vaes512 => Work::Vaes512,
        }
    }
}

/// How sure a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The instructions can do nothing else.
    Certain,
    /// Instructions and data agree.
    Likely,
    /// The form of the code alone.
    Possible,
}

/// Bytes of code around an address.
pub struct Code<'c> {
    pub machine: Machine,
    /// Of the first byte.
    pub address: u64,
    pub bytes: &'c [u8],
    /// The bytes are one function, or code between two functions; else they begin and end anywhere.
    pub whole: bool,
}

/// Values of general registers, by their number in machine code.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Registers(pub [u64; 32]);

/// Reads tables in the memory of the program.
pub trait Memory {
    /// The tables that begin in this range.
    fn tables(&mut self, range: Range<u64>) -> Vec<Table>;
}

/// What the instructions around an address say.
#[derive(Debug)]
pub struct Spot {
    /// The instructions around the address that hold cryptographic ones; None if there are none.
    crypto: Option<Running>,
    /// The whole function holds some, but not near the address.
    elsewhere: Option<Running>,
    /// The loops around the address, from the smallest, and last its neighbourhood.
    plain: Vec<(Range<u64>, Shape)>,
    /// Sums over the whole function.
    function: Shape,
    /// The whole function.
    range: Range<u64>,
}

/// What runs at a sample.
#[derive(Debug, Clone)]
pub struct Running {
    pub work: Work,
    pub confidence: Confidence,
    /// The instructions that decided.
    pub range: Range<u64>,
    /// The table that is used.
    pub table: Option<Table>,
    /// AES and carry-less multiplication in one function, as GCM has them.
    pub stitched: bool,
    /// Whether the rounds are those of decryption; None if there are none, or both.
    pub decrypts: Option<bool>,
}

/// A table is used if a lookup goes to its first bytes: those of its first entry.
const ENTRY: u64 = 8;
/// How far tables of vector code lie from the address in an instruction: OpenSSL's lie within 800
/// bytes.
const SCATTERED: u64 = 1024;

/// Examines the code around an address.
pub fn look(code: &Code, at: u64) -> Spot {
    let mut function = match code.machine {
        Machine::X86_64 => x86::decode(64, code, at),
        Machine::I386 => x86::decode(32, code, at),
        Machine::Arm64 => arm::decode(code, at),
    };
    function.keep_lookups();
    let whole = function.shape(&(0..u64::MAX));
    let extents = function.extents(at);
    let arm = code.machine == Machine::Arm64;
    let crypto = extents.iter().find_map(|range| {
        let shape = function.shape(range);
        (!is_plain(&shape.tally)).then(|| part(&function, range.clone(), &shape, &whole, arm))
    });
    let elsewhere =
        (!is_plain(&whole.tally)).then(|| part(&function, function.range(), &whole, &whole, arm));
    let plain = extents.into_iter().map(|range| {
        let shape = function.shape(&range);
        (range, shape)
    });
    Spot {
        crypto,
        elsewhere,
        plain: plain.collect(),
        function: whole,
        range: function.range(),
    }
}

/// Whether there are no AES instructions and no carry-less multiplications.
fn is_plain(tally: &Tally) -> bool {
    let kinds = [Kind::Round, Kind::LastRound, Kind::Key, Kind::Clmul];
    kinds.iter().all(|kind| tally.count(*kind) == 0)
}

/// The work of a part of a function. The function decides whether it encrypts; the part, at which
/// width.
fn part(
    function: &Function,
    range: Range<u64>,
    shape: &Shape,
    whole: &Shape,
    arm: bool,
) -> Running {
    let stitched = whole.tally.count(Kind::Clmul) > 0 && whole.tally.count(Kind::Round) > 0;
    let decrypts = match (shape.encrypts, shape.decrypts) {
        (true, false) => Some(false),
        (false, true) => Some(true),
        _ => None,
    };
    let work = match whole.tally.class(arm) {
        Some(class) if class.is_encryption() => {
            // A part with multiplications alone has the width of the function.
            Work::of(shape.tally.at_width(arm).unwrap_or(class))
        }
        Some(class) => Work::of(class),
        None => match function.multiplies_crosswise(&range) {
            true => Work::GhashClmul,
            false => Work::Clmul,
        },
    };
    let confidence = match work {
        Work::GhashClmul | Work::Sbox | Work::Hash => Confidence::Likely,
        Work::Clmul => Confidence::Possible,
        _ => Confidence::Certain,
    };
    Running {
        stitched: stitched && work.is_aes(),
        decrypts,
        ..Running::of(work, confidence, range)
    }
}

impl Spot {
    /// What runs at the address, with the registers of a sample there.
    pub fn running(&self, registers: &Registers, memory: &mut dyn Memory) -> Running {
        if let Some(part) = &self.crypto {
            return part.clone();
        }
        if let Some(found) = self.by_table(registers, memory) {
            return found;
        }
        if let Some(part) = &self.elsewhere {
            return part.clone();
        }
        if let Some(found) = self.by_shuffles(registers, memory) {
            return found;
        }
        let sliced = self.plain.iter().find(|(_, shape)| shape.is_sliced());
        let (work, range) = match sliced {
            Some((range, _)) => (Work::Bitslice, range.clone()),
            // An S-box without a loop is longer than the neighbourhood.
            None if self.function.is_sliced() => (Work::Bitslice, self.range.clone()),
            None => (Work::Other, 0..0),
        };
        Running::of(work, Confidence::Possible, range)
    }

    /// The smallest loop whose lookups go to a table.
    fn by_table(&self, registers: &Registers, memory: &mut dyn Memory) -> Option<Running> {
        self.plain.iter().find_map(|(range, shape)| {
            let table = shape.lookups.iter().find_map(|lookup| {
                let mut bases = lookup.addresses(registers);
                bases.find_map(|base| {
                    memory
                        .tables(base.saturating_sub(ENTRY - 1)..base.saturating_add(1))
                        .into_iter()
                        .next()
                })
            })?;
            let work = match table.kind {
                TableKind::Ghash => Work::GhashTables,
                TableKind::Inversion => return None,
                _ => Work::Tables,
            };
            let decrypts = match table.kind {
                TableKind::Te => Some(false),
                TableKind::Td | TableKind::InverseSbox => Some(true),
                _ => None,
            };
            Some(Running {
                table: Some(table),
                decrypts,
                ..Running::of(work, Confidence::Likely, range.clone())
            })
        })
    }

    /// Code that makes the S-box of byte shuffles: those of nibbles with a table of inverses, or
    /// those of the S-box itself in four registers.
    fn by_shuffles(&self, registers: &Registers, memory: &mut dyn Memory) -> Option<Running> {
        let (range, shape) = self
            .plain
            .iter()
            .find(|(_, shape)| shape.shuffles_nibbles() || shape.permutes > 0)?;
        let wanted: &[TableKind] = match shape.permutes > 0 {
            true => &[TableKind::Sbox, TableKind::InverseSbox],
            false => &[TableKind::Inversion],
        };
        let places = shape.vectors.iter().chain(&self.function.vectors);
        let table = places
            .flat_map(|place| place.addresses(registers).collect::<Vec<_>>())
            .find_map(|base| {
                let around = base.saturating_sub(SCATTERED)..base.saturating_add(SCATTERED);
                memory
                    .tables(around)
                    .into_iter()
                    .find(|table| wanted.contains(&table.kind))
            })?;
        Some(Running {
            table: Some(table),
            ..Running::of(Work::Vperm, Confidence::Likely, range.clone())
        })
    }
}

impl Running {
    fn of(work: Work, confidence: Confidence, range: Range<u64>) -> Running {
        Running {
            work,
            confidence,
            range,
            table: None,
            stitched: false,
            decrypts: None,
        }
    }
}
