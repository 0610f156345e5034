// SPDX-License-Identifier: BSD-2-Clause
//! An ELF file in which the addresses of a running program are looked up: the function at an
//! address, and what the whole file is.

use crate::chunk::{Bounds, Known};
use crate::{image, Machine, Refusal};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{elf, Endianness};
use std::ops::Range;

/// A part of the file that a program loads.
#[derive(Debug, Clone)]
struct Segment {
    offset: Range<u64>,
    address: u64,
}

impl Segment {
    fn addresses(&self) -> Range<u64> {
        let size = self.offset.end - self.offset.start;
        self.address..self.address.saturating_add(size)
    }
}

/// An ELF file, without its bytes. Its code is not examined, which takes seconds for the largest.
#[derive(Debug)]
pub struct Program {
    pub machine: Machine,
    segments: Vec<Segment>,
    /// Sorted by their beginning.
    known: Vec<Around>,
}

/// The code around an address: a function, or what lies between two of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    pub range: Range<u64>,
    /// Of a function.
    pub name: Option<String>,
    pub bounds: Bounds,
}

impl Program {
    pub fn read(data: &[u8]) -> Result<Program, Refusal> {
        let image = image::read(data)?;
        let segments = match image.machine {
            Machine::I386 => segments::<elf::FileHeader32<Endianness>>(data),
            _ => segments::<elf::FileHeader64<Endianness>>(data)
                .or_else(|| segments::<elf::FileHeader32<Endianness>>(data)),
        };
        let owned = |known: &Known| Around {
            range: known.range.clone(),
            name: known
                .name
                .map(|name| String::from_utf8_lossy(name).into_owned()),
            bounds: known.bounds,
        };
        Ok(Program {
            machine: image.machine,
            segments: segments.unwrap_or_default(),
            known: image.known.iter().map(owned).collect(),
        })
    }

    /// The address at which a program finds a byte of the file, before relocation.
    pub fn address_of(&self, offset: u64) -> Option<u64> {
        let segment = self.segments.iter().find(|s| s.offset.contains(&offset))?;
        Some(segment.address.wrapping_add(offset - segment.offset.start))
    }

    /// The place in the file of an address.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = address.checked_sub(segment.address)?;
            let offset = segment.offset.start.checked_add(within)?;
            segment.offset.contains(&offset).then_some(offset)
        })
    }

    /// The functions with names, and the places in the file of their first instructions.
    pub fn entries(&self) -> impl Iterator<Item = (&str, u64)> {
        let functions = self
            .known
            .iter()
            .filter(|known| known.bounds == Bounds::Symbol);
        functions
            .filter_map(|known| Some((known.name.as_deref()?, self.offset_of(known.range.start)?)))
    }

    /// The function at an address, or the gap between two functions, within one segment; None
    /// outside all segments.
    pub fn around(&self, address: u64) -> Option<Around> {
        let mut segments = self.segments.iter().map(Segment::addresses);
        let all = segments.find(|addresses| addresses.contains(&address))?;
        let next = self
            .known
            .partition_point(|known| known.range.start <= address);
        let end = self
            .known
            .get(next)
            .map_or(all.end, |known| known.range.start.min(all.end));
        let Some(known) = next.checked_sub(1).map(|at| &self.known[at]) else {
            return Some(gap(all.start..end));
        };
        let closed = match known.range.is_empty() {
            true => end,
            false => known.range.end.min(end),
        };
        Some(match address < closed && known.bounds != Bounds::Data {
            true => Around {
                range: known.range.start.max(all.start)..closed,
                ..known.clone()
            },
            false => gap(closed.min(address).max(all.start)..end),
        })
    }
}

fn gap(range: Range<u64>) -> Around {
    Around {
        range,
        name: None,
        bounds: Bounds::Unknown,
    }
}

/// What a 64-bit ELF file loads: addresses, and the place in the file of the first one. The
/// beginning of the file is enough, up to the program headers.
pub fn loaded(data: &[u8]) -> Option<Vec<(Range<u64>, u64)>> {
    let segments = segments::<elf::FileHeader64<Endianness>>(data)?;
    let segments = segments.into_iter();
    Some(segments.map(|s| (s.addresses(), s.offset.start)).collect())
}

fn segments<H: FileHeader<Endian = Endianness>>(data: &[u8]) -> Option<Vec<Segment>> {
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let headers = header.program_headers(endian, data).ok()?;
    let loaded = headers.iter().filter(|h| h.p_type(endian) == elf::PT_LOAD);
    let segment = |h: &H::ProgramHeader| {
        let (start, size): (u64, u64) = (h.p_offset(endian).into(), h.p_filesz(endian).into());
        Some(Segment {
            offset: start..start.checked_add(size)?,
            address: h.p_vaddr(endian).into(),
        })
    };
    Some(loaded.filter_map(segment).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two segments, and functions in the first one: data behind f, and a symbol without a size.
    fn program() -> Program {
        let known = |range, name: &str, bounds| Around {
            range,
            name: (!name.is_empty()).then(|| name.into()),
            bounds,
        };
        Program {
            machine: Machine::X86_64,
            segments: vec![
                Segment {
                    offset: 0x100..0x200,
                    address: 0x1100,
                },
                Segment {
                    offset: 0x200..0x280,
                    address: 0x5000,
                },
            ],
            known: vec![
                known(0x10f0..0x1110, "before", Bounds::Symbol),
                known(0x1120..0x1130, "f", Bounds::Symbol),
                known(0x1130..0x1138, "data", Bounds::Data),
                known(0x1140..0x1140, "open", Bounds::Symbol),
                known(0x1150..0x1158, "", Bounds::Unwind),
                known(0x11f0..0x1300, "long", Bounds::Symbol),
            ],
        }
    }

    #[test]
    fn addresses_and_places_in_the_file() {
        let program = program();
        for (offset, address) in [
            (0x100, 0x1100),
            (0x1ff, 0x11ff),
            (0x200, 0x5000),
            (0x27f, 0x507f),
        ] {
            assert_eq!(program.address_of(offset), Some(address));
            assert_eq!(program.offset_of(address), Some(offset));
        }
        assert_eq!(
            (program.address_of(0xff), program.address_of(0x280)),
            (None, None)
        );
        for outside in [0x10ff, 0x1200, 0x4fff, 0x5080] {
            assert_eq!(program.offset_of(outside), None, "{outside:#x}");
            assert_eq!(program.around(outside), None, "{outside:#x}");
        }
        let entries: Vec<_> = program.entries().collect();
        assert_eq!(entries, [("f", 0x120), ("open", 0x140), ("long", 0x1f0)]);
    }

    #[test]
    fn functions_and_gaps_around_an_address() {
        let program = program();
        let around = |address| {
            let found = program.around(address).unwrap();
            assert!(found.range.contains(&address), "{found:?}");
            (found.range, found.name.unwrap_or_default(), found.bounds)
        };
        let gap = |range| (range, String::new(), Bounds::Unknown);
        let function = |range, name: &str| (range, name.to_owned(), Bounds::Symbol);
        // A function that begins before the segment.
        assert_eq!(around(0x1100), function(0x1100..0x1110, "before"));
        assert_eq!(around(0x110f), function(0x1100..0x1110, "before"));
        assert_eq!(around(0x1110), gap(0x1110..0x1120));
        assert_eq!(around(0x1120), function(0x1120..0x1130, "f"));
        assert_eq!(around(0x112f), function(0x1120..0x1130, "f"));
        // Data are no function.
        assert_eq!(around(0x1134), gap(0x1134..0x1140));
        assert_eq!(around(0x113c), gap(0x1138..0x1140));
        // A function without a size ends with the next one.
        assert_eq!(around(0x114f), function(0x1140..0x1150, "open"));
        let unwind = (0x1150..0x1158, String::new(), Bounds::Unwind);
        assert_eq!(around(0x1157), unwind);
        assert_eq!(around(0x1158), gap(0x1158..0x11f0));
        // One that is too long ends with the segment, and so does the gap of the second one.
        assert_eq!(around(0x11ff), function(0x11f0..0x1200, "long"));
        assert_eq!(around(0x5000), gap(0x5000..0x5080));
        let mut bare = program;
        bare.known.clear();
        let whole = bare.around(0x1150).unwrap();
        assert_eq!(
            (whole.range, whole.bounds),
            (0x1100..0x1200, Bounds::Unknown)
        );
    }
}
