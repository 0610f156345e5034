// SPDX-License-Identifier: BSD-2-Clause
//! The static probes of an ELF file (SystemTap's sys/sdt.h), and where they are. The file is
//! untrusted.

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
}

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

/// Three addresses, and three strings, of which the arguments are the last one.
fn probe(note: &[u8], base: Option<u64>) -> Option<Probe> {
    let number = |index: usize| {
        let bytes = note.get(8 * index..8 * index + 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    let (address, then, semaphore) = (number(0)?, number(1)?, number(2)?);
    let mut texts = note.get(24..)?.split(|byte| *byte == 0);
    let mut text = || String::from_utf8(texts.next()?.to_vec()).ok();
    let (provider, name, _) = (text()?, text()?, text()?);
    Some(Probe {
        provider,
        name,
        // The section tells how far the code was moved since (prelink).
        address: match base {
            Some(base) => address.wrapping_add(base.wrapping_sub(then)),
            None => address,
        },
        has_semaphore: semaphore != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(probe(&note, None).unwrap().address, 0x1000);
        let mut counted = note.clone();
        counted[23] = 1;
        assert!(probe(&counted, None).unwrap().has_semaphore);
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
