// SPDX-License-Identifier: BSD-2-Clause
//! The static probes of an ELF file for x86-64 (SystemTap's sys/sdt.h): where they are, and where
//! their arguments are. The file is untrusted.

use object::elf::{FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::{FileHeader, SectionHeader};
use object::Endianness;

/// A file may have any number of notes.
const MOST: usize = 1 << 14;
/// NT_STAPSDT (elf.h), which is 3 as NT_GNU_BUILD_ID is, with another owner.
const STAPSDT: u32 = NT_GNU_BUILD_ID;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    pub provider: String,
    pub name: String,
    /// Of its NOP, before relocation.
    pub address: u64,
    /// Whether a tracer has to count itself in the program's memory, so that the probe runs.
    pub has_semaphore: bool,
    /// None if an argument is in no form that is known.
    pub arguments: Option<Vec<Argument>>,
}

/// Where an argument is when the probe runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// In bytes.
    pub size: u8,
    pub place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Constant(i64),
    Register(Register),
    /// Memory at base + index * scale + displacement.
    Memory {
        base: Register,
        index: Option<(Register, u8)>,
        displacement: i32,
    },
}

/// The number of a general register, as instructions of x86-64 have it: 0 is RAX, 7 RDI, 15 R15.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register(pub u8);

/// The probes of a file. None are in a file that is no ELF file for 64 bits.
pub fn probes(data: &[u8]) -> Vec<Probe> {
    read(data).unwrap_or_default()
}

fn read(data: &[u8]) -> Option<Vec<Probe>> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let named = |name: &[u8]| {
        let mut all = sections.iter();
        all.find(|section| sections.section_name(endian, section).ok() == Some(name))
    };
    let base = named(b".stapsdt.base").map(|section| section.sh_addr.get(endian));
    let mut found = Vec::new();
    let mut notes = named(b".note.stapsdt")?.notes(endian, data).ok()??;
    while let Some(note) = notes.next().ok().flatten().filter(|_| found.len() < MOST) {
        if note.n_type(endian) == STAPSDT && note.name() == b"stapsdt" {
            found.extend(probe(note.desc(), base));
        }
    }
    Some(found)
}

/// Three addresses, and three strings.
fn probe(note: &[u8], base: Option<u64>) -> Option<Probe> {
    let number = |index: usize| {
        let bytes = note.get(8 * index..8 * index + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let (address, then, semaphore) = (number(0)?, number(1)?, number(2)?);
    let mut texts = note.get(24..)?.split(|byte| *byte == 0);
    let mut text = || String::from_utf8(texts.next()?.to_vec()).ok();
    let (provider, name, arguments) = (text()?, text()?, text()?);
    Some(Probe {
        provider,
        name,
        // The section tells how far the code was moved since (prelink).
        address: match base {
            Some(base) => address.wrapping_add(base.wrapping_sub(then)),
            None => address,
        },
        has_semaphore: semaphore != 0,
        arguments: arguments.split_ascii_whitespace().map(argument).collect(),
    })
}

/// "8@%rax", "-4@$5", "8@16(%rax,%rcx,4)".
fn argument(text: &str) -> Option<Argument> {
    let (size, place) = text.split_once('@')?;
    let size = size.parse::<i8>().ok()?.unsigned_abs();
    if ![1, 2, 4, 8].contains(&size) {
        return None;
    }
    let place = if let Some(number) = place.strip_prefix('$') {
        Place::Constant(number.parse().ok()?)
    } else if let Some(name) = place.strip_prefix('%') {
        Place::Register(register(name)?)
    } else {
        memory(place)?
    };
    Some(Argument { size, place })
}

fn memory(text: &str) -> Option<Place> {
    let (displacement, rest) = text.split_once('(')?;
    let mut parts = rest.strip_suffix(')')?.split(',');
    let mut next = || parts.next().map(|name| register(name.strip_prefix('%')?));
    let base = next()??;
    let index = match next() {
        None => None,
        Some(index) => Some((index?, 1)),
    };
    let index = match (index, parts.next()) {
        (Some((index, _)), Some(scale)) => {
            let scale = scale.parse().ok()?;
            [1, 2, 4, 8].contains(&scale).then_some(())?;
            Some((index, scale))
        }
        (index, _) => index,
    };
    Some(Place::Memory {
        base,
        index,
        displacement: match displacement {
            "" => 0,
            number => number.parse().ok()?,
        },
    })
}

/// A register, or its lower half. Smaller parts are not known.
fn register(name: &str) -> Option<Register> {
    const NAMES: [&str; 8] = ["ax", "cx", "dx", "bx", "sp", "bp", "si", "di"];
    let rest = name.strip_prefix(['r', 'e'])?;
    if let Some(index) = NAMES.iter().position(|known| *known == rest) {
        return Some(Register(index as u8));
    }
    let number: u8 = rest.strip_suffix('d').unwrap_or(rest).parse().ok()?;
    (name.starts_with('r') && (8..16).contains(&number)).then_some(Register(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_arguments() {
        let of = |text| argument(text).map(|argument| (argument.size, argument.place));
        assert_eq!(of("4@%r9d"), Some((4, Place::Register(Register(9)))));
        assert_eq!(of("8@%rdi"), Some((8, Place::Register(Register(7)))));
        assert_eq!(of("-4@$-11"), Some((4, Place::Constant(-11))));
        let memory = |base, index, displacement| {
            Some((
                8,
                Place::Memory {
                    base: Register(base),
                    index,
                    displacement,
                },
            ))
        };
        assert_eq!(of("8@(%rax)"), memory(0, None, 0));
        assert_eq!(of("8@-72(%rbp)"), memory(5, None, -72));
        assert_eq!(
            of("8@8(%rdx,%r15,4)"),
            memory(2, Some((Register(15), 4)), 8)
        );
        assert_eq!(of("8@(%rdx,%rcx)"), memory(2, Some((Register(1), 1)), 0));
        for unknown in [
            "",
            "8",
            "8@",
            "3@$1",
            "8@%al",
            "8@%r16",
            "8@e9",
            "8@%e9",
            "8@name(%rip)",
            "8@8(",
            "8@(%rax,%rcx,3)",
            "8@(%rax",
            "8@99999999999(%rax)",
            "8@$x",
            "8@()",
            "8@(%rax,)",
        ] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_note_is_moved_with_its_base() {
        let mut note = Vec::new();
        for number in [0x1000u64, 0x5000, 0] {
            note.extend(number.to_le_bytes());
        }
        note.extend(b"tenrounds\0bulk\x004@%eax 8@(%r10) 8@$16\0");
        let read = probe(&note, Some(0x5100)).unwrap();
        assert_eq!((read.address, read.has_semaphore), (0x1100, false));
        assert_eq!((&*read.provider, &*read.name), ("tenrounds", "bulk"));
        assert_eq!(read.arguments.unwrap().len(), 3);
        assert_eq!(probe(&note, None).unwrap().address, 0x1000);
        for length in 0..note.len() {
            // The last text may end with the note.
            assert_eq!(
                probe(&note[..length], None).is_some(),
                length >= 24 + 15,
                "{length}"
            );
        }
    }
}
