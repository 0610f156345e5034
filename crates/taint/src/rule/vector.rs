// SPDX-License-Identifier: BSD-2-Clause
//! Vector and mask registers, except permutations.

use super::{gather, low, stretch, whole_elements, Leak, Step};
use iced_x86::{Mnemonic, OpKind};

impl Step<'_> {
    /// A copy, possibly with a write mask.
    pub(super) fn copy(&mut self) {
        if self.decoded.register(0).is_gpr() {
            return self.copy_general(false);
        }
        let secret = match self.decoded.instruction.op_kind(1) {
            OpKind::Register | OpKind::Memory => self.source(1),
            _ => 0, // an immediate to memory
        };
        self.write(secret);
    }

    /// MOVD and MOVQ: the lowest bytes; in a vector register, the rest of the lane is cleared.
    pub(super) fn scalar(&mut self, element: usize) {
        let secret = self.source(1) & low(element);
        self.write(secret);
    }

    /// MOVSS and MOVSD between registers leave the rest, with three operands that of the second.
    pub(super) fn low(&mut self, element: usize) {
        let decoded = self.decoded;
        let registers = decoded.operands().all(|op| !decoded.is_memory(op));
        let last = decoded.instruction.op_count() - 1;
        let secret = self.source(last) & low(element);
        let rest = match (registers, last) {
            (true, 1) => self.source(0) & !low(element),
            (true, _) => self.source(1) & !low(element),
            (false, _) => 0,
        };
        self.write(secret | rest);
    }

    /// MOVHPS, MOVLPS and the like: a half of 8 bytes.
    pub(super) fn half(&mut self) {
        use Mnemonic::*;
        let last = self.decoded.instruction.op_count() - 1;
        let (high_to, high_from) = match self.decoded.instruction.mnemonic() {
            Movhlps | Vmovhlps => (false, true),
            Movlhps | Vmovlhps => (true, false),
            Movhps | Vmovhps | Movhpd | Vmovhpd => (true, self.decoded.is_memory(0)),
            _ => (false, false),
        };
        let half = self.source(last) >> if high_from { 8 } else { 0 } & 0xff;
        if self.decoded.is_memory(0) {
            return self.write(half);
        }
        let rest = self.source(if last == 1 { 0 } else { 1 }) & low(16);
        self.write(match high_to {
            true => rest & 0xff | half << 8,
            false => rest & 0xff00 | half,
        });
    }

    pub(super) fn upper(&mut self) {
        let all = self.decoded.instruction.mnemonic() == Mnemonic::Vzeroall;
        self.state.registers.clear_upper(if all { 0 } else { 16 });
    }

    /// VPTERNLOG: the operands on which its truth table depends.
    pub(super) fn ternary(&mut self) {
        let table = self.decoded.immediate().unwrap_or(0) as u8;
        // Whether some row changes with this bit of the row's number.
        let depends =
            |bit: u32| (0..8u8).any(|row| (table >> row ^ table >> (row ^ 1 << bit)) & 1 == 1);
        let secret = (0..3)
            .filter(|op| depends(2 - op))
            .fold(0, |all, op| all | self.source(op));
        self.write(secret);
    }

    pub(super) fn elements(&mut self, element: usize) {
        if self.decoded.register(0).is_k() {
            return self.compare(element);
        }
        let mut secret = self.union();
        if self.decoded.instruction.mnemonic() == Mnemonic::Pblendvb {
            secret |= self.state.registers.read(iced_x86::Register::XMM0);
        }
        self.write(whole_elements(secret, element));
    }

    /// VPBLENDM: the mask selects one of two sources.
    pub(super) fn blend(&mut self, element: usize) {
        let secret = self.source(1) | self.source(2) | self.mask_bytes();
        self.write_register(whole_elements(secret, element));
    }

    /// Blends by an immediate.
    pub(super) fn pick(&mut self, element: usize) {
        let immediate = self.decoded.immediate().unwrap_or(0);
        let (first, second) = self.sources();
        // PBLENDW's eight bits hold for each lane.
        let bits = match element {
            2 => immediate & 0xff | (immediate & 0xff) << 8,
            _ => immediate,
        };
        let chosen = stretch(bits, element);
        self.write(first & !chosen | second & chosen);
    }

    /// Shifts of elements. A count is a constant, the low half of a register, or an element of one.
    pub(super) fn counts(&mut self, element: usize) {
        let decoded = self.decoded;
        // VPSLLVW, VPRORVQ and the like: before the letter of the element.
        let per_element = decoded.name[..decoded.name.len() - 1].ends_with('v');
        let last = decoded.instruction.op_count() - 1;
        if decoded.immediate().is_some() {
            return self.elements(element);
        }
        let size = if per_element { decoded.size(0) } else { 8 };
        let count = self.source(last) & low(size);
        if count != 0 {
            self.leaks.push(Leak::ShiftCount);
        }
        // The low half of a register counts for all elements.
        let shifted = match count {
            0 => 0,
            count if per_element => count,
            _ => u64::MAX,
        };
        self.write(whole_elements(self.source(last - 1) | shifted, element));
    }

    /// Each lane depends on the same lane of all sources. That covers a secret index of PSHUFB.
    pub(super) fn lanes(&mut self) {
        let mut secret = self.union();
        if self.decoded.instruction.mnemonic() == Mnemonic::Sha256rnds2 {
            secret |= self.state.registers.read(iced_x86::Register::XMM0);
        }
        self.write(whole_elements(secret, 16));
    }

    /// PCLMULQDQ: of each source the half that the immediate selects.
    pub(super) fn carryless(&mut self) {
        let immediate = self.decoded.immediate().unwrap_or(0);
        let (first, second) = self.sources();
        let half = |high: u64| stretch(0b0101_0101 << (high & 1), 8);
        let secret = first & half(immediate) | second & half(immediate >> 4);
        self.write(whole_elements(secret, 16));
    }

    /// Permutations by a register: every byte depends on all.
    pub(super) fn whole(&mut self) {
        let secret = self.union() & low(self.decoded.size(0));
        self.write(if secret == 0 { 0 } else { u64::MAX });
    }

    pub(super) fn broadcast(&mut self, element: usize) {
        let one = self.broadcast_source() & low(element);
        let secret = (0..64 / element).fold(0, |all, index| all | one << (index * element));
        self.write(secret);
    }

    /// The element in memory is smaller than a vector, so a write mask does not select its bytes.
    fn broadcast_source(&self) -> u64 {
        let size = self.decoded.size(1).min(64);
        match self.decoded.is_memory(1) {
            true => self.state.memory.read(self.effective(), size),
            false => self.source(1),
        }
    }

    /// Comparisons and tests: a bit of the mask depends on an element.
    pub(super) fn compare(&mut self, element: usize) {
        let decoded = self.decoded;
        let size = decoded.size(1).max(if decoded.instruction.op_count() > 2 {
            decoded.size(2)
        } else {
            0
        });
        let elements = size.min(64) / element;
        // Elements that the mask leaves out give zero.
        let active = self.active_bytes(64);
        let secret = gather(self.union() & active, element) & low(elements);
        let selected = self.state.registers.read(decoded.instruction.op_mask());
        self.write_register(secret | selected & low(elements));
    }

    pub(super) fn spread(&mut self, element: usize) {
        let secret = stretch(self.source(1), element);
        self.write(secret);
    }

    /// PMOVMSKB and the like: a bit of a general-purpose register for each element.
    pub(super) fn move_mask(&mut self, element: usize) {
        let bits = gather(self.source(1), element);
        self.write(gather(bits, 8));
    }

    /// Copies between mask registers (bits), and general-purpose registers or memory (bytes).
    pub(super) fn k_move(&mut self, element: usize) {
        let secret = self.source(1);
        let bits = match self.decoded.register(1).is_k() {
            true => secret & low(element * 8),
            false => stretch(secret & low(element), 8),
        };
        match self.decoded.register(0).is_k() {
            true => self.write_register(bits),
            false => self.write(gather(bits, 8)),
        }
    }

    pub(super) fn k_bits(&mut self, element: usize) {
        self.write_register(self.union() & low(element * 8));
    }

    pub(super) fn k_shift(&mut self, element: usize) {
        let n = self.decoded.immediate().unwrap_or(0) as u32 & 0xff;
        let source = self.source(1) & low(element * 8);
        let shifted = match self.decoded.name.starts_with("kshiftl") {
            true => source.checked_shl(n),
            false => source.checked_shr(n),
        };
        self.write_register(shifted.unwrap_or(0) & low(element * 8));
    }

    /// KUNPCK: the second source, and above it the first.
    pub(super) fn k_unpack(&mut self, element: usize) {
        let bits = element * 8;
        self.write_register((self.source(1) & low(bits)) << bits | self.source(2) & low(bits));
    }
}
