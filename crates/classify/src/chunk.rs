// SPDX-License-Identifier: BSD-2-Clause
//! A section or segment, and its split into functions and the code between them.

use crate::tally::Tally;
use crate::Function;
use serde::Serialize;
use std::ops::Range;

/// How the bounds of a function are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bounds {
    Symbol,
    /// By .eh_frame.
    Unwind,
    Unknown,
    /// A symbol says that this is data.
    #[serde(skip)]
    Data,
}

/// A section or segment.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'d> {
    pub name: Option<&'d str>,
    pub address: u64,
    pub data: &'d [u8],
}

/// A range of addresses with a name, of a symbol or of .eh_frame.
#[derive(Debug, Clone)]
pub struct Known<'d> {
    pub range: Range<u64>,
    pub name: Option<&'d [u8]>,
    pub bounds: Bounds,
}

/// A part of a chunk, by offsets: a function, or code between known functions.
#[derive(Debug, Clone, Copy)]
pub struct Stretch<'d> {
    pub start: usize,
    pub end: usize,
    pub name: Option<&'d [u8]>,
    pub bounds: Bounds,
}

/// A text in a table of strings. A table without ends of texts must not make every symbol's name as
/// long as the table, so the longest names are dropped.
pub fn text_at(strings: &[u8], offset: u32) -> Option<&[u8]> {
    const LONGEST: usize = 1024;
    let rest = strings.get(offset as usize..)?;
    let rest = &rest[..rest.len().min(LONGEST)];
    Some(&rest[..memchr::memchr(0, rest)?])
}

impl Stretch<'_> {
    /// The function that this stretch is. If its bounds are unknown, its address is that of its
    /// first cryptographic instruction.
    pub fn function(&self, chunk: &Chunk, first: u64, tally: Tally) -> Function {
        let known = self.bounds != Bounds::Unknown;
        Function {
            name: self
                .name
                .map(|name| String::from_utf8_lossy(name).into_owned()),
            address: match known {
                true => chunk.address.wrapping_add(self.start as u64),
                false => first,
            },
            size: known.then(|| (self.end - self.start) as u64),
            bounds: self.bounds,
            class: None,
            instructions: tally,
        }
    }
}

impl<'d> Chunk<'d> {
    /// Data without a place.
    #[cfg(test)]
    pub fn of(data: &'d [u8]) -> Chunk<'d> {
        Chunk {
            name: None,
            address: 0,
            data,
        }
    }

    /// Splits the chunk at functions, which are sorted by their beginning. No two parts overlap.
    pub fn stretches<'k>(&self, known: &[Known<'k>]) -> Vec<Stretch<'k>> {
        let mut found = Vec::new();
        let gap = |start, end| Stretch {
            start,
            end,
            name: None,
            bounds: Bounds::Unknown,
        };
        let offset = |address: u64| {
            let offset = address.checked_sub(self.address)?;
            usize::try_from(offset)
                .ok()
                .filter(|at| *at < self.data.len())
        };
        let first = known.partition_point(|known| known.range.start < self.address);
        let mut list = known[first..].iter().peekable();
        let mut done = 0;
        while let Some(function) = list.next() {
            let Some(start) = offset(function.range.start) else {
                break;
            };
            let next = list.peek().and_then(|next| offset(next.range.start));
            let next = next.unwrap_or(self.data.len());
            // A symbol of assembly code can have no size.
            let length = function.range.end.saturating_sub(function.range.start);
            let end = match length {
                0 => next,
                length => start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)),
            };
            let end = end.min(next);
            if start > done {
                found.push(gap(done, start));
            }
            if end > start {
                found.push(Stretch {
                    start,
                    end,
                    name: function.name,
                    bounds: function.bounds,
                });
            }
            done = end.max(done);
        }
        if self.data.len() > done {
            found.push(gap(done, self.data.len()));
        }
        found
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_with_a_zero() {
        let text = |offset| text_at(b"ab\0c\0d", offset);
        assert_eq!((text(0), text(1)), (Some(&b"ab"[..]), Some(&b"b"[..])));
        assert_eq!((text(2), text(3)), (Some(&b""[..]), Some(&b"c"[..])));
        assert_eq!((text(5), text(6), text(7)), (None, None, None));
        let long = |length| {
            let strings = [&vec![b'x'; length][..], &[0]].concat();
            text_at(&strings, 0).map(<[u8]>::len)
        };
        assert_eq!((long(1023), long(1024)), (Some(1023), None));
    }

    /// The parts of 100 bytes at 0x1000: offsets, and whether they are functions.
    fn parts(known: &[Range<u64>]) -> Vec<(usize, usize, bool)> {
        let chunk = Chunk {
            name: None,
            address: 0x1000,
            data: &[0; 100],
        };
        let known = known.iter().map(|range| Known {
            range: range.clone(),
            name: None,
            bounds: Bounds::Symbol,
        });
        let found = chunk.stretches(&known.collect::<Vec<_>>());
        let part = |s: &Stretch| (s.start, s.end, s.bounds == Bounds::Symbol);
        found.iter().map(part).collect()
    }

    #[test]
    fn functions_and_the_code_between_them() {
        assert_eq!(parts(&[]), [(0, 100, false)]);
        assert_eq!(parts(&[0x1000..0x1064]), [(0, 100, true)]);
        let gaps = [(0, 16, false), (16, 32, true), (32, 100, false)];
        assert_eq!(parts(&[0x1010..0x1020]), gaps);
        let behind = [(0, 16, true), (16, 32, true), (32, 100, false)];
        assert_eq!(parts(&[0x1000..0x1010, 0x1010..0x1020]), behind);
        // No size: up to the next one, or to the end.
        let sized = [(0, 16, true), (16, 100, true)];
        assert_eq!(parts(&[0x1000..0x1000, 0x1010..0x1010]), sized);
        // Too long: cut at the next one, and at the end.
        assert_eq!(parts(&[0x1000..0x1020, 0x1010..0x9000]), sized);
        // Before and behind the chunk.
        let outside = [0xf00..0x1010, 0x1063..0x1070, 0x1064..0x1070];
        assert_eq!(parts(&outside), [(0, 99, false), (99, 100, true)]);
        assert_eq!(parts(&[0xfff..0x1000, 0x2000..0x2010]), [(0, 100, false)]);
    }

    #[test]
    fn unknown_bounds_have_no_size() {
        let chunk = Chunk {
            name: None,
            address: 0x1000,
            data: &[],
        };
        let function = |bounds| {
            let stretch = Stretch {
                start: 8,
                end: 20,
                name: Some(b"f"),
                bounds,
            };
            let found = stretch.function(&chunk, 0x1234, Tally::default());
            assert_eq!((found.name.as_deref(), found.bounds), (Some("f"), bounds));
            (found.address, found.size)
        };
        assert_eq!(function(Bounds::Symbol), (0x1008, Some(12)));
        assert_eq!(function(Bounds::Unwind), (0x1008, Some(12)));
        assert_eq!(function(Bounds::Unknown), (0x1234, None));
    }
}
