// SPDX-License-Identifier: BSD-2-Clause
//! The code under a sample: copied when its address is first hit, because a just-in-time compiler
//! may replace it, and classified.

use super::target::memory::{Space, Tables, View};
use super::target::module::Module;
use classify::hot::{self, Code, Confidence, Registers, Running, Work};
use classify::{Around, Bounds, Machine};
use mappings::Mapping;
use std::ops::Range;

/// A sampled address.
pub struct Where<'w> {
    pub space: Space<'w>,
    pub address: u64,
    /// In the file.
    pub offset: u64,
    pub mapping: &'w Mapping,
    pub module: Option<&'w Module>,
    /// The function, if it is known without a file: the kernel's.
    pub function: Option<&'w Around>,
}

/// A function, or a place outside of known functions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub function: Option<String>,
    pub address: u64,
}

/// The answer for an address.
#[derive(Debug, Clone)]
pub struct Seen {
    pub running: Running,
    pub place: Place,
    pub address: u64,
}

/// An address whose code was copied.
pub struct Spot {
    /// None if the code could not be read.
    code: Option<hot::Spot>,
    seen: Seen,
    /// Samples whose registers led to no table.
    in_vain: u32,
}

/// So many samples without a table at an address mean that there is none.
const TRIES: u32 = 4;
/// Code around an address in memory without a file.
const WINDOW: u64 = 4096;
/// A longer function is not decoded as a whole. OpenSSL's longest with AES have 60 KiB; those of
/// compilers are as long, and each of their samples has another address.
const LONGEST: u64 = 96 << 10;
/// Nor is a function without cryptographic instructions that is longer than this.
const LONGEST_PLAIN: u64 = 8 << 10;

impl Spot {
    pub fn new(at: &Where) -> Spot {
        let around = at.around();
        let shift = at.shift();
        let (range, bytes, whole) = at.copied(around.as_ref().map(|around| &around.range), shift);
        let machine = at.machine();
        let code = bytes.as_ref().map(|bytes| Code {
            machine,
            address: range.start,
            bytes,
            whole,
        });
        let spot = code.as_ref().map(|code| hot::look(code, at.address));
        let known = around.filter(|around| around.bounds != Bounds::Unknown);
        let place = Place {
            address: known
                .as_ref()
                .map_or(at.address.wrapping_sub(shift), |known| known.range.start),
            function: known.and_then(|known| known.name),
        };
        Spot {
            code: spot,
            seen: Seen {
                running: NOTHING,
                place,
                address: at.address.wrapping_sub(shift),
            },
            in_vain: 0,
        }
    }

    /// What runs here, by the registers of one more sample; None if the code could not be read.
    pub fn seen(
        &mut self,
        at: &Where,
        registers: &Registers,
        tables: &mut Tables,
    ) -> Option<&Seen> {
        let code = self.code.as_ref()?;
        let is_open = matches!(self.seen.running.work, Work::Other | Work::Bitslice);
        if is_open && self.in_vain < TRIES {
            let mut view = View {
                space: at.space,
                tables,
                file: &|range| at.data(range),
            };
            let mut running = code.running(registers, &mut view);
            self.in_vain += 1;
            let shift = at.shift();
            running.range =
                running.range.start.wrapping_sub(shift)..running.range.end.wrapping_sub(shift);
            self.seen.running = running;
        }
        Some(&self.seen)
    }
}

const NOTHING: Running = Running {
    work: Work::Other,
    confidence: Confidence::Possible,
    range: 0..0,
    table: None,
    stitched: false,
    decrypts: None,
};

impl Where<'_> {
    fn program(&self) -> Option<&classify::Program> {
        self.module?.program.as_ref().ok()
    }

    fn machine(&self) -> Machine {
        let native = match cfg!(target_arch = "aarch64") {
            true => Machine::Arm64,
            false => Machine::X86_64,
        };
        self.program().map_or(native, |program| program.machine)
    }

    /// Where the file's addresses are moved to in this process.
    fn shift(&self) -> u64 {
        let address = self
            .program()
            .and_then(|program| program.address_of(self.offset));
        address.map_or(0, |address| self.address.wrapping_sub(address))
    }

    /// The function, in addresses of the file.
    fn around(&self) -> Option<Around> {
        if let Some(function) = self.function {
            return Some(function.clone());
        }
        let program = self.program()?;
        program.around(program.address_of(self.offset)?)
    }

    /// The code to decode, and whether it is the whole function.
    fn copied(
        &self,
        function: Option<&Range<u64>>,
        shift: u64,
    ) -> (Range<u64>, Option<Vec<u8>>, bool) {
        let mapped = &self.mapping.range;
        if let Some(function) = function {
            let range = function.start.wrapping_add(shift).max(mapped.start)
                ..function.end.wrapping_add(shift).min(mapped.end);
            let length = range.end.saturating_sub(range.start);
            let bytes = (length <= LONGEST).then(|| self.code(&range)).flatten();
            let is_worth_it = bytes.as_ref().is_some_and(|bytes| {
                length <= LONGEST_PLAIN || classify::may_have_crypto(self.machine(), bytes)
            });
            if is_worth_it {
                return (range, bytes, true);
            }
        }
        let near = self.address.saturating_sub(WINDOW).max(mapped.start)
            ..self.address.saturating_add(WINDOW).min(mapped.end);
        (near.clone(), self.code(&near), false)
    }

    /// Code of the process, or of the file if the process cannot be read.
    fn code(&self, range: &Range<u64>) -> Option<Vec<u8>> {
        let holds = |bytes: &Vec<u8>| range.start + bytes.len() as u64 > self.address;
        let live = self.space.read(range.clone()).filter(holds);
        live.or_else(|| {
            let length = range.end.saturating_sub(range.start);
            let offset = self.mapping.offset_of(range.start);
            self.module?.code(offset, length).filter(holds)
        })
    }

    /// Data of the file, by addresses of the process.
    fn data(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let offset = self
            .program()?
            .offset_of(range.start.wrapping_sub(self.shift()))?;
        let length = range.end.saturating_sub(range.start);
        self.module?.code(offset, length)
    }
}
