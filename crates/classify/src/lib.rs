// SPDX-License-Identifier: BSD-2-Clause
//! Which AES, carry-less multiplication and SHA instructions an ELF file holds, at which register
//! width and in which functions; which AES tables; and which library it is. Nothing is executed.
//! Files are untrusted: a damaged one is an error and never a panic.

mod arm;
mod chunk;
mod go;
pub mod hot;
mod image;
mod library;
mod program;
mod tables;
mod tally;
mod unwind;
mod x86;

pub use chunk::Bounds;
pub use image::Machine;
pub use library::Library;
pub use program::{loaded, Around, Program};
pub use tables::{near as tables_near, Table, TableKind};
pub use tally::{Class, Kind, Tally, WIDTHS};

use serde::Serialize;
use std::fmt;

/// Why a file is not examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    NoElf,
    /// For a processor other than x86-64, i386 and arm64.
    OtherProcessor(String),
    Damaged(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoElf => f.write_str("it is no ELF file"),
            Refusal::OtherProcessor(name) => write!(
                f,
                "it is for another processor ({name}); only x86-64, i386 and arm64 are examined"
            ),
            Refusal::Damaged(why) => write!(f, "it is a damaged ELF file: {why}"),
        }
    }
}

/// A function with cryptographic instructions, or code of unknown bounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Function {
    pub name: Option<String>,
    /// Its beginning. If its bounds are unknown, the address of its first such instruction. In
    /// object files addresses are offsets in the file.
    pub address: u64,
    /// null if its bounds are unknown.
    pub size: Option<u64>,
    pub bounds: Bounds,
    /// null if it has no AES instruction.
    pub class: Option<Class>,
    pub instructions: Tally,
}

/// What an ELF file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Module {
    pub machine: Machine,
    /// In hexadecimal.
    pub build_id: Option<String>,
    pub library: Option<Library>,
    /// The strongest class of its functions.
    pub class: Option<Class>,
    /// The sum over its functions.
    pub instructions: Tally,
    /// Sorted by address.
    pub functions: Vec<Function>,
    /// AES tables, sorted by address.
    pub tables: Vec<Table>,
}

impl Module {
    /// Whether it holds instructions that encrypt, not only hash.
    pub fn encrypts(&self) -> bool {
        self.class.is_some_and(Class::is_encryption)
    }
}

/// Whether code may hold cryptographic instructions: cheaper than decoding it.
pub fn may_have_crypto(machine: Machine, code: &[u8]) -> bool {
    match machine {
        Machine::X86_64 | Machine::I386 => x86::may_hold(code),
        Machine::Arm64 => arm::may_hold(code),
    }
}

/// Examines the bytes of a file.
pub fn examine(data: &[u8]) -> Result<Module, Refusal> {
    let image = image::read(data)?;
    let arm = image.machine == Machine::Arm64;
    let mut functions = Vec::new();
    let mut tables = Vec::new();
    for chunk in &image.code {
        let stretches = chunk.stretches(&image.known);
        match image.machine {
            Machine::X86_64 => x86::functions(64, chunk, &stretches, &mut functions),
            Machine::I386 => x86::functions(32, chunk, &stretches, &mut functions),
            Machine::Arm64 => arm::functions(chunk, &stretches, &mut functions),
        }
        tables::find(chunk, &mut tables);
    }
    // Go and some C programs have S-boxes in data that could be changed.
    for chunk in image.constants.iter().chain(&image.variables) {
        tables::find(chunk, &mut tables);
    }
    functions.sort_by_key(|function: &Function| function.address);
    tables.sort_by_key(|table| table.address);
    let mut instructions = Tally::default();
    for function in &mut functions {
        function.class = function.instructions.class(arm);
        instructions.merge(&function.instructions);
    }
    // Only few files need the search for texts.
    let tells = !functions.is_empty() || !tables.is_empty() || image.evidence.symbol.is_some();
    let texts = [&image.constants[..], &image.code].concat();
    Ok(Module {
        machine: image.machine,
        build_id: image.build_id.map(hexadecimal),
        library: tells
            .then(|| library::identify(&image.evidence, &texts))
            .flatten(),
        class: functions.iter().filter_map(|function| function.class).max(),
        instructions,
        functions,
        tables,
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    let bytes = &bytes[..bytes.len().min(64)];
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_in_hexadecimal() {
        assert_eq!(hexadecimal(&[0x00, 0x0f, 0xa5]), "000fa5");
        assert_eq!(hexadecimal(&[0xff; 64]), "ff".repeat(64));
        assert_eq!(hexadecimal(&[0xff; 65]), "ff".repeat(64));
    }

    #[test]
    fn each_processor_has_its_bytes() {
        let (aesenc, aese) = ([0x66, 0x0f, 0x38, 0xdc], 0x4e28_4840u32.to_le_bytes());
        let found = |machine| [aesenc, aese].map(|code| may_have_crypto(machine, &code));
        assert_eq!(found(Machine::X86_64), [true, false]);
        assert_eq!(found(Machine::I386), [true, false]);
        assert_eq!(found(Machine::Arm64), [false, true]);
    }
}
