// SPDX-License-Identifier: BSD-2-Clause
//! Permutations by an immediate: byte by byte.

use super::{gather, low, stretch, Step};
use iced_x86::Mnemonic;

/// Where a byte of the result comes from: the first or the second source, and which byte of it.
/// None is a zero.
type Origin = Option<(usize, usize)>;

impl Step<'_> {
    /// The two sources of a permutation. With one source it is both.
    fn pair(&self) -> (u64, u64) {
        let decoded = self.decoded;
        match decoded.operands().count() {
            1 => (self.source(0), self.source(0)),
            2 if !super::reads(decoded.destination) || !decoded.is_legacy() => {
                (self.source(1), self.source(1))
            }
            _ => self.sources(),
        }
    }

    pub(super) fn permute(&mut self, element: usize) {
        let mnemonic = self.decoded.instruction.mnemonic();
        let immediate = self.decoded.immediate().unwrap_or(0) as usize;
        let size = self.decoded.size(0);
        let (first, second) = self.pair();
        if self.decoded.name.contains("pack") {
            return self.pack(first, second, element);
        }
        let high = self.decoded.name.contains("unpckh");
        let secret = (0..size).fold(0, |all, to| {
            let secret = origin(mnemonic, high, immediate, element, size, to)
                .is_some_and(|(source, byte)| [first, second][source] >> byte & 1 == 1);
            all | u64::from(secret) << to
        });
        self.write(secret);
    }

    /// Narrows elements: in each lane first those of the first source, then those of the second.
    fn pack(&mut self, first: u64, second: u64, element: usize) {
        let halve = |source: u64, lane: usize| {
            let part = source >> (lane * 16) & low(16);
            stretch(gather(part, element), element / 2) & low(8)
        };
        let secret = (0..4).fold(0, |all, lane| {
            all | (halve(first, lane) | halve(second, lane) << 8) << (lane * 16)
        });
        self.write(secret);
    }

    /// PMOVZX and PMOVSX.
    pub(super) fn widen(&mut self, element: usize) {
        if self.decoded.masked() {
            return self.all(); // the mask's bits stand for wider elements
        }
        let name = &self.decoded.name;
        let wide = match name.as_bytes()[name.len() - 1] {
            b'w' => 2,
            b'd' => 4,
            _ => 8,
        };
        let source = self.source(1);
        let sign = name.contains("sx");
        let mut secret = 0u64;
        for index in 0..self.decoded.size(0) / wide {
            let part = source >> (index * element) & low(element);
            let extended = if sign && part >> (element - 1) & 1 == 1 {
                part | low(wide) & !low(element)
            } else {
                part
            };
            secret |= extended << (index * wide);
        }
        self.write(secret);
    }

    pub(super) fn insert(&mut self, element: usize) {
        let decoded = self.decoded;
        let count = decoded.operands().count() as u32;
        let (base, part) = if count == 2 { (0, 1) } else { (1, 2) };
        let places = decoded.size(0) / element;
        let at = decoded.immediate().unwrap_or(0) as usize % places * element;
        let inserted = if decoded.is_memory(part) {
            self.state.memory.read(self.effective(), element)
        } else {
            self.source(part) & low(element)
        };
        let secret = self.source(base) & !(low(element) << at) | inserted << at;
        self.write(secret & low(decoded.size(0)));
    }

    pub(super) fn extract(&mut self, element: usize) {
        let places = self.decoded.size(1) / element;
        let at = self.decoded.immediate().unwrap_or(0) as usize % places * element;
        let secret = self.source(1) >> at & low(element);
        self.write(secret);
    }
}

/// Where byte `to` of the result comes from. `high` is for PUNPCKH.
fn origin(
    mnemonic: Mnemonic,
    high: bool,
    immediate: usize,
    element: usize,
    size: usize,
    to: usize,
) -> Origin {
    use Mnemonic::*;
    let lane = to / 16 * 16;
    let within = to % 16;
    let (index, rest) = (within / element, within % element);
    // Two bits of the immediate for each element.
    let pair = |index: usize| immediate >> (2 * (index % 4)) & 3;
    match mnemonic {
        Pshufd | Vpshufd => Some((0, lane + pair(index) * 4 + rest)),
        Shufps | Vshufps => Some((index / 2, lane + pair(index) * 4 + rest)),
        Shufpd | Vshufpd => Some((index, lane + (immediate >> (to / 8) & 1) * 8 + rest)),
        Pshuflw | Vpshuflw if within >= 8 => Some((0, to)),
        Pshuflw | Vpshuflw => Some((0, lane + pair(index) * 2 + rest)),
        Pshufhw | Vpshufhw if within < 8 => Some((0, to)),
        Pshufhw | Vpshufhw => Some((0, lane + 8 + pair(index) * 2 + rest)),
        Vpermq | Vpermpd => Some((0, to / 32 * 32 + pair(to / 8) * 8 + to % 8)),
        Movddup | Vmovddup => Some((0, lane + rest)),
        Palignr | Vpalignr => aligned(within + immediate, lane),
        Pslldq | Vpslldq => within.checked_sub(immediate).map(|byte| (0, lane + byte)),
        Psrldq | Vpsrldq => (within + immediate < 16).then_some((0, to + immediate)),
        Vperm2i128 | Vperm2f128 => {
            let choice = immediate >> (to / 16 * 4) & 0xf;
            (choice & 8 == 0).then_some((choice >> 1 & 1, (choice & 1) * 16 + within))
        }
        Vshufi32x4 | Vshuff32x4 | Vshufi64x2 | Vshuff64x2 => {
            let (lanes, number) = (size / 16, to / 16);
            let choice = immediate >> (number * lanes / 2) & (lanes - 1);
            Some((number * 2 / lanes, choice * 16 + within))
        }
        Valignq | Valignd => {
            let from = to + immediate % (size / element) * element;
            Some(if from < size {
                (1, from)
            } else {
                (0, from - size)
            })
        }
        // PUNPCK: elements of the lower or the upper half, in turn.
        _ => Some((
            index % 2,
            lane + if high { 8 } else { 0 } + index / 2 * element + rest,
        )),
    }
}

/// PALIGNR: the second source, and above it the first.
fn aligned(from: usize, lane: usize) -> Origin {
    match from {
        0..=15 => Some((1, lane + from)),
        16..=31 => Some((0, lane + from - 16)),
        _ => None,
    }
}
