// SPDX-License-Identifier: BSD-2-Clause
//! The functions of the mapped files, by address.

use mappings::{Mapping, Maps};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Endianness, Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::collections::HashSet;
use std::fs;
use std::ops::Range;

#[derive(Debug, Clone)]
pub struct Function {
    pub start: u64,
    pub size: u64,
    pub name: String,
    /// The source file of a static function; empty if the symbols do not say.
    pub source: String,
}

/// A mapped ELF file.
pub struct Image {
    pub path: String,
    /// What is added to the addresses in the file.
    pub bias: u64,
    /// Sorted by address.
    pub functions: Vec<Function>,
}

/// The executable ranges of the mapped files.
pub fn code(pid: i32) -> Vec<Range<u64>> {
    let maps = maps(pid);
    maps.files().map(|mapping| mapping.range.clone()).collect()
}

fn maps(pid: i32) -> Maps {
    Maps::of(u32::try_from(pid).unwrap_or_default())
}

/// All mapped ELF files.
pub fn images(pid: i32) -> Vec<Image> {
    let mut seen = HashSet::new();
    let maps = maps(pid);
    let files = maps.files().filter(|m| seen.insert(&m.path));
    files.filter_map(image).collect()
}

fn image(mapping: &Mapping) -> Option<Image> {
    let data = fs::read(&mapping.path).ok()?;
    let elf = ElfFile64::<Endianness>::parse(&*data).ok()?;
    let segment = elf.segments().find(|s| {
        let (offset, size) = s.file_range();
        size != 0 && offset / 4096 <= mapping.offset / 4096 && mapping.offset < offset + size
    })?;
    let at = segment
        .address()
        .wrapping_add(mapping.offset)
        .wrapping_sub(segment.file_range().0);
    let bias = mapping.range.start.wrapping_sub(at) & !0xfff;
    let mut functions = functions(&elf, bias);
    functions.sort_by_key(|function| function.start);
    Some(Image {
        path: mapping.path.clone(),
        bias,
        functions,
    })
}

fn functions<E: FileHeader<Endian = Endianness>>(
    elf: &object::read::elf::ElfFile<'_, E>,
    bias: u64,
) -> Vec<Function> {
    let mut source = String::new();
    let mut found = Vec::new();
    for symbol in elf.symbols().chain(elf.dynamic_symbols()) {
        let name = symbol.name().unwrap_or_default();
        match symbol.kind() {
            SymbolKind::File => source = name.to_string(),
            SymbolKind::Text if symbol.size() != 0 => {
                let source = if symbol.is_local() {
                    source.clone()
                } else {
                    String::new()
                };
                let start = symbol.address().wrapping_add(bias);
                found.push(Function {
                    start,
                    size: symbol.size(),
                    name: name.to_string(),
                    source,
                });
            }
            _ => (),
        }
    }
    found
}

/// The function that holds an address.
pub fn function(images: &[Image], address: u64) -> Option<&Function> {
    images.iter().find_map(|image| {
        let after = image
            .functions
            .partition_point(|function| function.start <= address);
        image.functions[..after]
            .iter()
            .rev()
            .take(4)
            .find(|f| address < f.start + f.size)
    })
}

/// A place for people: function+offset (source).
pub fn place(images: &[Image], address: u64) -> String {
    match function(images, address) {
        Some(f) if f.source.is_empty() => format!("{}+{:#x}", f.name, address - f.start),
        Some(f) => format!("{}+{:#x} ({})", f.name, address - f.start, f.source),
        None => format!("{address:#x}"),
    }
}
