// SPDX-License-Identifier: BSD-2-Clause
//! Bounds of functions from .eh_frame, which stripped files keep (LSB Core 5.0, 10.6).

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use std::collections::HashMap;
use std::ops::Range;

/// The address ranges of functions in a section .eh_frame at this address, up to the first damage.
/// `wide` is for 64 bits.
pub fn functions(data: &[u8], address: u64, wide: bool) -> Vec<Range<u64>> {
    let mut section = EhFrame::new(data, LittleEndian);
    section.set_address_size(if wide { 8 } else { 4 });
    let bases = BaseAddresses::default().set_eh_frame(address);
    let mut records = section.entries(&bases);
    let mut found = Vec::new();
    // Most records share a few CIEs.
    let mut cies = HashMap::new();
    while let Ok(Some(record)) = records.next() {
        let CieOrFde::Fde(partial) = record else {
            continue;
        };
        let fde = partial.parse(|section, bases, at| {
            let cie = cies.entry(at);
            cie.or_insert_with(|| section.cie_from_offset(bases, at))
                .clone()
        });
        let Ok(fde) = fde else {
            continue;
        };
        let (start, length) = (fde.initial_address(), fde.len());
        let end = start.checked_add(length);
        found.extend(
            end.filter(|_| start > 0 && length > 0)
                .map(|end| start..end),
        );
    }
    found
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    const ADDRESS: u64 = 0x40_0000;

    /// A record: its length, and what follows.
    fn record(id: u32, body: &[u8]) -> Vec<u8> {
        let length = 4 + body.len() as u32;
        [&length.to_le_bytes()[..], &id.to_le_bytes(), body].concat()
    }

    /// A CIE of this version and augmentation, whose augmentation data are these.
    fn cie(version: u8, augmentation: &str, data: &[u8]) -> Vec<u8> {
        let head = [&[version][..], augmentation.as_bytes(), &[0]].concat();
        // Code alignment 1, data alignment of two bytes, return address register.
        let register: &[u8] = if version == 1 { &[0x90] } else { &[0x90, 0x01] };
        let fixed = [&head[..], &[1, 0xf8, 0x7f], register].concat();
        let sized = match augmentation.starts_with('z') {
            true => [&[data.len() as u8][..], data].concat(),
            false => data.to_vec(),
        };
        record(0, &[&fixed[..], &sized].concat())
    }

    /// The ranges of one FDE behind this CIE. Its augmentation data have room for an LSDA pointer.
    fn ranges(cie: &[u8], fde: &[u8], wide: bool) -> Vec<Range<u64>> {
        let record = record(cie.len() as u32 + 4, &[fde, &[4, 0, 0, 0, 0]].concat());
        functions(&[cie, &record].concat(), ADDRESS, wide)
    }

    #[test]
    fn pointers_have_encodings() {
        let eight = |start: u64, length: u64| [start.to_le_bytes(), length.to_le_bytes()].concat();
        let four = |start: u32, length: u32| [start.to_le_bytes(), length.to_le_bytes()].concat();
        let found = |encoding, fde: &[u8], wide| ranges(&cie(1, "zR", &[encoding]), fde, wide);
        let expected = [0x1000..0x1020];
        // DW_EH_PE_absptr, udata4, udata8, sdata4 and sdata8.
        for encoding in [0x00, 0x04, 0x0c] {
            assert_eq!(found(encoding, &eight(0x1000, 0x20), true), expected);
        }
        for encoding in [0x03, 0x0b] {
            assert_eq!(found(encoding, &four(0x1000, 0x20), true), expected);
            assert_eq!(found(encoding, &four(0x1000, 0x20), false), expected);
        }
        assert_eq!(found(0x00, &four(0x1000, 0x20), false), expected);
        assert_eq!(found(0x04, &eight(0x1000, 0x20), false), expected);
        // Relative to its own address (DW_EH_PE_pcrel): behind the CIE, a length and an ID.
        let size = cie(1, "zR", &[0x1b]).len() as u64;
        let here = ADDRESS + size + 8;
        let start = here - 0x100;
        let found_there = found(0x1b, &four((-0x100i32) as u32, 0x20), true);
        assert_eq!(found_there, [start..start + 0x20]);
        // With 32 bits, the sum wraps around.
        let around = (0x1000u64.wrapping_sub(here)) as u32;
        assert_eq!(found(0x1b, &four(around, 0x20), false), expected);
        // Other encodings and bases, no length, and no start.
        for encoding in [0x01, 0x02, 0x2b, 0x50, 0x9b, 0xff] {
            assert_eq!(found(encoding, &eight(0x1000, 0x20), true), []);
        }
        assert_eq!(found(0x03, &four(0x1000, 0), true), []);
        assert_eq!(found(0x03, &four(0, 0x20), true), []);
        assert_eq!(found(0x03, &four(1, 1), true), [1..2]);
        assert_eq!(found(0x00, &eight(u64::MAX, 1), true), []);
    }

    #[test]
    fn augmentations_are_skipped() {
        let fde = [0x1000u32.to_le_bytes(), 0x20u32.to_le_bytes()].concat();
        let native = [0x1000u64.to_le_bytes(), 0x20u64.to_le_bytes()].concat();
        let expected = [0x1000..0x1020];
        for (version, augmentation, data) in [
            (1, "zR", &[3][..]),
            (3, "zR", &[3]),
            (1, "zPLR", &[3, 9, 9, 9, 9, 3, 3]),
            (1, "zLPR", &[3, 0x0b, 9, 9, 9, 9, 3]),
            (1, "zSR", &[3]),
        ] {
            let cie = cie(version, augmentation, data);
            assert_eq!(ranges(&cie, &fde, true), expected, "{augmentation}");
            assert_eq!(ranges(&cie, &fde[..2], true), [], "cut off");
        }
        // No encoding, so that pointers are as wide as addresses.
        for (augmentation, data) in [("", &[][..]), ("zL", &[3]), ("z", &[])] {
            let cie = cie(1, augmentation, data);
            assert_eq!(ranges(&cie, &native, true), expected, "{augmentation}");
        }
        for version in [0, 2, 5] {
            assert_eq!(ranges(&cie(version, "zR", &[3]), &fde, true), []);
        }
        // A personality of an unknown encoding.
        assert_eq!(ranges(&cie(1, "zPR", &[5, 9, 3]), &fde, true), []);
    }

    #[test]
    fn records_follow_each_other() {
        let cie = cie(1, "zR", &[3]);
        let fde = |at: usize, start: u32| {
            let body = [&start.to_le_bytes()[..], &4u32.to_le_bytes(), &[0]].concat();
            record(at as u32 + 4, &body)
        };
        let first = fde(cie.len(), 0x10);
        let second = fde(cie.len() + first.len(), 0x20);
        let all = [&cie[..], &first, &second].concat();
        let both = [0x10..0x14, 0x20..0x24];
        assert_eq!(functions(&all, ADDRESS, true), both);
        // A length of 0, or a reserved one, ends the section; so does one beyond it.
        for end in [0u32, 0xffff_fff0, u32::MAX, 100] {
            let ended = [&cie[..], &first, &end.to_le_bytes(), &second].concat();
            assert_eq!(functions(&ended, ADDRESS, true), both[..1], "{end:#x}");
        }
        // A record that is too short for an ID ends it, too. One that belongs to no CIE is skipped.
        let short = [&cie[..], &first, &[2, 0, 0, 0, 9, 9], &second].concat();
        assert_eq!(functions(&short, ADDRESS, true), both[..1]);
        let stray = [&cie[..], &fde(cie.len() - 1, 0x30), &second].concat();
        assert_eq!(functions(&stray, ADDRESS, true), both[1..]);
        for length in 0..all.len() {
            let found = functions(&all[..length], ADDRESS, true);
            let whole = cie.len() + first.len();
            assert_eq!(found.len(), usize::from(length >= whole), "{length}");
        }
    }
}
