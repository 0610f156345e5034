// SPDX-License-Identifier: BSD-2-Clause
//! The functions of a Go program by its table for tracebacks, which stripped programs keep. The
//! layout is that of `pcHeader` in Go's runtime/symtab.go, since Go 1.18.

use crate::chunk::{text_at, Bounds, Known};

/// Go 1.18 and 1.19, and Go 1.20 to 1.26.
const MAGIC: [u32; 2] = [0xffff_fff0, 0xffff_fff1];

/// The functions in a section .gopclntab, with their names. None where the linker left the address
/// of the code to the loader, and for other versions.
pub fn functions(table: &[u8]) -> Vec<Known<'_>> {
    read(table).unwrap_or_default()
}

fn read(table: &[u8]) -> Option<Vec<Known<'_>>> {
    let word = |at: usize| {
        let bytes = table.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let wide = |index: usize| {
        let at = 8 + 8 * index;
        Some(u64::from_le_bytes(table.get(at..at + 8)?.try_into().ok()?))
    };
    let offset = |index: usize| usize::try_from(wide(index)?).ok();
    // 4 bytes of padding and sizes follow, the last of them that of a pointer.
    if !MAGIC.contains(&word(0)?) || *table.get(7)? != 8 {
        return None;
    }
    let (count, code) = (offset(0)?, wide(2).filter(|code| *code != 0)?);
    let (names, entries) = (table.get(offset(3)?..)?, offset(7)?);
    // Each entry is the offset of a function in the code, and that of its description. A last
    // offset ends the code.
    let end = entries.checked_add(count.checked_mul(8)?.checked_add(4)?)?;
    table.get(entries..end)?;
    let functions = (0..count).map(|index| {
        let at = entries + 8 * index;
        let (start, next) = (word(at)?, word(at + 8)?);
        let description = entries.checked_add(word(at + 4)? as usize)?;
        let name = description.checked_add(4).and_then(word);
        Some(Known {
            range: code.checked_add(start.into())?..code.checked_add(next.into())?,
            name: name.and_then(|name| text_at(names, name)),
            bounds: Bounds::Symbol,
        })
    });
    functions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two functions behind each other, whose code begins at 0x401000.
    fn table() -> Vec<u8> {
        let mut table = vec![0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8];
        let (names, entries) = (72u64, 84u64);
        for number in [2, 0, 0x40_1000, names, 0, 0, 0, entries] {
            table.extend(number.to_le_bytes());
        }
        table.extend(b"aes.a\0main\0\0");
        // The offsets of the functions and of their descriptions, and the descriptions: the offset
        // of the function and that of its name.
        for number in [0u32, 20, 0x20, 28, 0x50, 0, 0, 0x20, 6] {
            table.extend(number.to_le_bytes());
        }
        table
    }

    #[test]
    fn functions_have_their_bounds_and_names() {
        let table = table();
        let found = functions(&table);
        let found: Vec<_> = found
            .iter()
            .map(|known| (known.range.clone(), known.name.unwrap()))
            .collect();
        let (first, second) = (0x40_1000..0x40_1020, 0x40_1020..0x40_1050);
        assert_eq!(found, [(first, &b"aes.a"[..]), (second, b"main")]);
    }

    #[test]
    fn damaged_tables_do_not_panic() {
        let whole = table();
        for length in 0..whole.len() {
            functions(&whole[..length]);
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut wrong = whole.clone();
                wrong[at] = value;
                functions(&wrong);
            }
        }
        // An address that only the loader knows.
        let mut unknown = whole.clone();
        unknown[24..32].fill(0);
        assert!(functions(&unknown).is_empty() && functions(&whole).len() == 2);
        // A count that the table has no room for takes no memory.
        let mut many = whole;
        many[8..16].fill(0x1f);
        assert!(functions(&many).is_empty());
    }

    /// The offsets may end the section. Then there is no room for names.
    #[test]
    fn the_offsets_of_the_functions_are_all_there() {
        let mut table = table();
        table.truncate(84 + 20);
        let found = functions(&table);
        assert!(found.len() == 2 && found.iter().all(|known| known.name.is_none()));
        table.pop();
        assert!(functions(&table).is_empty());
    }

    #[test]
    fn versions_before_and_other_processors_are_not_read() {
        let whole = table();
        for (at, value) in [(0, 0xf2), (0, 0xef), (3, 0xfe), (7, 4), (7, 9)] {
            let mut other = whole.clone();
            other[at] = value;
            assert!(functions(&other).is_empty(), "{at}");
        }
        let mut older = whole;
        older[0] = 0xf0;
        assert_eq!(functions(&older).len(), 2);
    }
}
