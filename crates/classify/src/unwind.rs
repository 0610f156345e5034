// SPDX-License-Identifier: BSD-2-Clause
//! Bounds of functions from .eh_frame, which stripped files keep (LSB Core 5.0, 10.6). Encodings
//! that compilers do not use for code addresses end the search.

use std::collections::HashMap;
use std::ops::Range;

/// A reader of little-endian data, for which the end of the data is None.
#[derive(Clone, Copy)]
struct Cursor<'d> {
    data: &'d [u8],
    at: usize,
}

impl<'d> Cursor<'d> {
    fn bytes(&mut self, count: usize) -> Option<&'d [u8]> {
        let end = self.at.checked_add(count)?;
        let bytes = self.data.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        Some(self.bytes(1)?[0])
    }

    fn word(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    /// Skips a LEB128 number.
    fn leb128(&mut self) -> Option<()> {
        while self.byte()? & 0x80 != 0 {}
        Some(())
    }

    fn text(&mut self) -> Option<&'d [u8]> {
        let rest = self.data.get(self.at..)?;
        self.bytes(memchr::memchr(0, rest)? + 1)
    }

    /// A pointer in the format of an encoding (DW_EH_PE_*), without its base.
    fn pointer(&mut self, encoding: u8, wide: bool) -> Option<u64> {
        let native = if wide { 0x04 } else { 0x03 };
        Some(match (encoding & 0x0f, native) {
            (0x00, 0x04) | (0x04 | 0x0c, _) => u64::from_le_bytes(self.bytes(8)?.try_into().ok()?),
            (0x00, _) | (0x03, _) => self.word()?.into(),
            (0x0b, _) => i64::from(self.word()? as i32) as u64,
            _ => return None,
        })
    }
}

/// The address ranges of functions in a section .eh_frame at this address. `wide` is for 64 bits.
pub fn functions(data: &[u8], address: u64, wide: bool) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let mut encodings = HashMap::new();
    let mut cursor = Cursor { data, at: 0 };
    // A length of 0 ends the section. Larger lengths than 0xffffffef are reserved or of 64 bits,
    // which no compiler writes here.
    while let Some(length @ 1..=0xffff_ffef) = cursor.word() {
        let start = cursor.at;
        let Some(record) = cursor.bytes(length as usize) else {
            break;
        };
        let mut inner = Cursor {
            data: &data[..start + record.len()],
            at: start,
        };
        let Some(id) = inner.word() else {
            continue;
        };
        if id == 0 {
            encodings.insert(start - 4, encoding(&mut inner, wide));
            continue;
        }
        let of = start
            .checked_sub(id as usize)
            .and_then(|at| encodings.get(&at));
        if let Some(Some(encoding)) = of {
            found.extend(range(inner, *encoding, address, wide));
        }
    }
    found
}

/// The pointer encoding of a CIE's functions.
fn encoding(cie: &mut Cursor, wide: bool) -> Option<u8> {
    let version = cie.byte()?;
    let augmentation = cie.text()?;
    if version != 1 && version != 3 {
        return None;
    }
    cie.leb128()?;
    cie.leb128()?;
    match version {
        1 => cie.bytes(1).map(|_| ())?,
        _ => cie.leb128()?,
    }
    if augmentation.first() != Some(&b'z') {
        return Some(0);
    }
    cie.leb128()?;
    for letter in &augmentation[1..] {
        match letter {
            b'R' => return cie.byte(),
            b'L' => drop(cie.byte()?),
            b'P' => {
                let encoding = cie.byte()?;
                cie.pointer(encoding, wide)?;
            }
            b'S' | b'B' => {}
            _ => break,
        }
    }
    Some(0)
}

fn range(mut fde: Cursor, encoding: u8, address: u64, wide: bool) -> Option<Range<u64>> {
    let here = address.wrapping_add(fde.at as u64);
    let pointer = fde.pointer(encoding, wide)?;
    let start = match encoding & 0xf0 {
        0x00 => pointer,
        // Relative to its own address.
        0x10 => here.wrapping_add(pointer),
        _ => return None,
    };
    let start = if wide { start } else { start & 0xffff_ffff };
    // The length is not signed and not relative.
    let length = fde.pointer(encoding & 0x07, wide)?;
    let end = start.checked_add(length)?;
    (length > 0 && start > 0).then_some(start..end)
}
