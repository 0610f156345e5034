// SPDX-License-Identifier: BSD-2-Clause
//! The parts of an ELF file that matter here: code, read-only data, and the bounds of functions.
//! The file is untrusted: parts outside the file and parts that overlap are errors.

use crate::chunk::{text_at, Bounds, Chunk, Known};
use crate::library::{self, Evidence};
use crate::{go, unwind, Refusal};
use object::elf::{
    FileHeader32, FileHeader64, ET_REL, PF_W, PF_X, SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHT_NOBITS,
};
use object::read::elf::{ElfFile, FileHeader, SectionHeader, Sym};
use object::{
    Architecture, Endianness, FileKind, Object, ObjectSection, ObjectSegment, ObjectSymbol,
    SegmentFlags, SymbolKind,
};
use serde::Serialize;

/// The processors whose code is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Machine {
    #[serde(rename = "x86-64")]
    X86_64,
    #[serde(rename = "i386")]
    I386,
    #[serde(rename = "arm64")]
    Arm64,
}

/// What was read of a file.
pub struct Image<'d> {
    pub machine: Machine,
    pub code: Vec<Chunk<'d>>,
    pub constants: Vec<Chunk<'d>>,
    /// Data that the program may change, as it is in the file.
    pub variables: Vec<Chunk<'d>>,
    /// Sorted by their beginning, which differs.
    pub known: Vec<Known<'d>>,
    pub build_id: Option<&'d [u8]>,
    /// Bytes of code, constants and variables.
    total: usize,
    pub evidence: Evidence<'d>,
}

pub fn read(data: &[u8]) -> Result<Image<'_>, Refusal> {
    if !data.starts_with(b"\x7fELF") {
        return Err(Refusal::NoElf);
    }
    match FileKind::parse(data).map_err(damaged)? {
        FileKind::Elf64 => look::<FileHeader64<Endianness>>(data),
        FileKind::Elf32 => look::<FileHeader32<Endianness>>(data),
        _ => Err(Refusal::NoElf),
    }
}

fn damaged(error: object::Error) -> Refusal {
    Refusal::Damaged(error.to_string())
}

fn look<H: FileHeader<Endian = Endianness>>(data: &[u8]) -> Result<Image<'_>, Refusal> {
    let elf = ElfFile::<H>::parse(data).map_err(damaged)?;
    let machine = match (elf.architecture(), elf.is_little_endian()) {
        (Architecture::X86_64 | Architecture::X86_64_X32, true) => Machine::X86_64,
        (Architecture::I386, true) => Machine::I386,
        (Architecture::Aarch64 | Architecture::Aarch64_Ilp32, true) => Machine::Arm64,
        (other, _) => return Err(Refusal::OtherProcessor(format!("{other:?}"))),
    };
    let mut image = Image {
        machine,
        code: Vec::new(),
        constants: Vec::new(),
        variables: Vec::new(),
        known: Vec::new(),
        build_id: None,
        total: 0,
        evidence: Evidence::default(),
    };
    // Object files have no addresses yet: those in them are offsets in the file.
    let relocatable = elf.elf_header().e_type(elf.endian()) == ET_REL;
    if !take_sections(&elf, relocatable, &mut image)? {
        take_segments(&elf, &mut image)?;
    }
    take_symbols(&elf, relocatable, &mut image);
    let known = &mut image.known;
    // Of several with one beginning, a symbol with a size is best.
    known.sort_by(|a, b| {
        let rank = |k: &Known| (k.range.start, k.range.is_empty(), k.bounds);
        rank(a).cmp(&rank(b)).then_with(|| a.name.cmp(&b.name))
    });
    known.dedup_by_key(|known| known.range.start);
    Ok(image)
}

fn outside<E>(_: E) -> Refusal {
    Refusal::Damaged("a section lies outside the file".to_owned())
}

impl<'d> Image<'d> {
    /// Adds code or data. Together they are not longer than the file, unless they overlap.
    fn take(
        &mut self,
        (executable, writable): (bool, bool),
        chunk: Chunk<'d>,
        longest: usize,
    ) -> Result<(), Refusal> {
        self.total = self.total.saturating_add(chunk.data.len());
        match (executable, writable) {
            (true, _) => self.code.push(chunk),
            (false, false) => self.constants.push(chunk),
            (false, true) => self.variables.push(chunk),
        }
        match self.total > longest {
            true => Err(Refusal::Damaged("its sections overlap".to_owned())),
            false => Ok(()),
        }
    }
}

/// Reads the sections; false if there are none that a program loads.
fn take_sections<'d, H: FileHeader<Endian = Endianness>>(
    elf: &ElfFile<'d, H>,
    relocatable: bool,
    image: &mut Image<'d>,
) -> Result<bool, Refusal> {
    let (endian, data) = (elf.endian(), elf.data());
    let index = elf.elf_header().section_strings_index(endian, data);
    let names = index
        .ok()
        .and_then(|index| elf.section_by_index(index).ok());
    let names = names
        .and_then(|section| section.data().ok())
        .unwrap_or_default();
    let mut loaded = false;
    for section in elf.sections() {
        let header = section.elf_section_header();
        let flags: u64 = header.sh_flags(endian).into();
        let has = |flag: u32| flags & u64::from(flag) != 0;
        let name = text_at(names, header.sh_name(endian));
        if name == Some(b".modinfo") {
            image.evidence.module = section.data().ok();
        }
        if header.sh_type(endian) == SHT_NOBITS || !has(SHF_ALLOC) {
            continue;
        }
        loaded = true;
        let bytes = section.data().map_err(outside)?;
        match name {
            Some(b".go.buildinfo") => image.evidence.go = Some(bytes),
            // The second is that of position-independent programs.
            Some(b".gopclntab" | b".data.rel.ro.gopclntab") => {
                image.known.extend(go::functions(bytes));
            }
            // Behind the note's header and its name, "GNU".
            Some(b".note.gnu.build-id") => image.build_id = bytes.get(16..),
            Some(b".eh_frame") if !relocatable => {
                let wide = image.machine != Machine::I386 && elf.is_64();
                let ranges = unwind::functions(bytes, section.address(), wide);
                image.known.extend(ranges.into_iter().map(|range| Known {
                    range,
                    name: None,
                    bounds: Bounds::Unwind,
                }));
            }
            _ => {}
        }
        let offset = section.file_range().map_or(0, |range| range.0);
        let chunk = Chunk {
            name: name.and_then(|name| std::str::from_utf8(name).ok()),
            address: if relocatable {
                offset
            } else {
                section.address()
            },
            data: bytes,
        };
        let access = (has(SHF_EXECINSTR), has(SHF_WRITE));
        image.take(access, chunk, data.len())?;
    }
    Ok(loaded)
}

/// Reads the segments of a file without section headers.
fn take_segments<'d, H: FileHeader<Endian = Endianness>>(
    elf: &ElfFile<'d, H>,
    image: &mut Image<'d>,
) -> Result<(), Refusal> {
    for segment in elf.segments() {
        let SegmentFlags::Elf { p_flags } = segment.flags() else {
            continue;
        };
        let chunk = Chunk {
            name: None,
            address: segment.address(),
            data: segment.data().map_err(outside)?,
        };
        let access = (p_flags & PF_X != 0, p_flags & PF_W != 0);
        image.take(access, chunk, elf.data().len())?;
    }
    Ok(())
}

/// Collects the bounds of functions, and what the names of symbols say about the library.
fn take_symbols<'d, H: FileHeader<Endian = Endianness>>(
    elf: &ElfFile<'d, H>,
    relocatable: bool,
    image: &mut Image<'d>,
) {
    let strings = |index| elf.section_by_index(index).ok()?.data().ok();
    let named = strings(elf.elf_symbol_table().string_section()).unwrap_or_default();
    let dynamic = strings(elf.elf_dynamic_symbol_table().string_section()).unwrap_or_default();
    let all = elf.symbols().map(|symbol| (symbol, named));
    for (symbol, strings) in all.chain(elf.dynamic_symbols().map(|symbol| (symbol, dynamic))) {
        let bounds = match symbol.kind() {
            SymbolKind::Text => Bounds::Symbol,
            SymbolKind::Data => Bounds::Data,
            _ => continue,
        };
        let name = text_at(strings, symbol.elf_symbol().st_name(elf.endian()));
        if !symbol.is_definition() {
            continue;
        }
        let telling = name.and_then(library::by_symbol);
        let evidence = &mut image.evidence.symbol;
        *evidence = (*evidence).into_iter().chain(telling).min();
        let mut start = symbol.address();
        if relocatable {
            let section = symbol.section_index();
            let section = section.and_then(|index| elf.section_by_index(index).ok());
            let Some((offset, _)) = section.and_then(|section| section.file_range()) else {
                continue;
            };
            start = start.wrapping_add(offset);
        }
        image.known.push(Known {
            range: start..start.saturating_add(symbol.size()),
            name,
            bounds,
        });
    }
}
