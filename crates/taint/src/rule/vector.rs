// SPDX-License-Identifier: BSD-2-Clause
//! Vector and mask registers, except permutations.

use super::{gather, low, stretch, whole_elements, Leak, Step};
use iced_x86::{Mnemonic, OpKind};

impl Step<'_> {
    /// A copy, possibly with a write mask.
    pub(super) fn copy(&mut self) {
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
        let registers = self
            .decoded
            .operands()
            .all(|op| !self.decoded.is_memory(op));
        let last = self.decoded.instruction.op_count() - 1;
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
        let secret = if high_to {
            rest & 0xff | half << 8
        } else {
            rest & 0xff00 | half
        };
        self.write(secret);
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
        let blends = matches!(self.decoded.instruction.mnemonic(), Mnemonic::Pblendvb);
        if blends {
            secret |= self.state.registers.read(iced_x86::Register::XMM0);
        }
        self.write(whole_elements(secret, element));
    }

    /// VPBLENDM: the mask selects one of two sources.
    pub(super) fn blend(&mut self, element: usize) {
        let decoded = self.decoded;
        let secret = self.source(1) | self.source(2) | self.mask_bytes();
        let secret = whole_elements(secret, element) & low(decoded.size(0));
        self.state
            .registers
            .write(decoded.register(0), secret, true);
    }

    /// Blends by an immediate.
    pub(super) fn pick(&mut self, element: usize) {
        let immediate = self.decoded.immediate().unwrap_or(0);
        let (first, second) = if self.decoded.is_legacy() {
            (self.source(0), self.source(1))
        } else {
            (self.source(1), self.source(2))
        };
        // PBLENDW's eight bits hold for each lane.
        let bits = if element == 2 {
            immediate & 0xff | (immediate & 0xff) << 8
        } else {
            immediate
        };
        let chosen = stretch(bits, element);
        self.write(first & !chosen | second & chosen);
    }

    /// Shifts of elements. A count is a constant, the low half of a register, or an element of one.
    pub(super) fn counts(&mut self, element: usize) {
        use Mnemonic::*;
        let decoded = self.decoded;
        let per_element = matches!(
            decoded.instruction.mnemonic(),
            Vpsllvw
                | Vpsrlvw
                | Vpsravw
                | Vpsllvd
                | Vpsrlvd
                | Vpsravd
                | Vpsllvq
                | Vpsrlvq
                | Vpsravq
                | Vprolvd
                | Vprorvd
                | Vprolvq
                | Vprorvq
        );
        let last = decoded.instruction.op_count() - 1;
        if decoded.immediate().is_some() {
            return self.elements(element);
        }
        let count = self.source(last)
            & if per_element {
                low(decoded.size(0))
            } else {
                low(8)
            };
        if count != 0 {
            self.leaks.push(Leak::ShiftCount);
        }
        let data = self.source(last - 1);
        let all = if count != 0 && !per_element {
            u64::MAX
        } else {
            0
        };
        let secret = if per_element {
            data | count
        } else {
            data | all
        };
        self.write(whole_elements(secret, element));
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
        let (first, second) = if self.decoded.is_legacy() {
            (self.source(0), self.source(1))
        } else {
            (self.source(1), self.source(2))
        };
        let half = |source: u64, high: bool| {
            let selected = stretch(if high { 0b1010_1010 } else { 0b0101_0101 }, 8);
            source & selected
        };
        let secret = half(first, immediate & 1 == 1) | half(second, immediate >> 4 & 1 == 1);
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
        if self.decoded.is_memory(1) {
            self.state
                .memory
                .read(self.effective(), self.decoded.size(1).min(64))
        } else {
            self.source(1)
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
        let secret = secret | selected & low(elements);
        self.state
            .registers
            .write(decoded.register(0), secret, true);
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
        let (to_k, from_k) = (
            self.decoded.register(0).is_k(),
            self.decoded.register(1).is_k(),
        );
        let secret = self.source(1);
        let bits = if from_k {
            secret & low(element * 8)
        } else {
            stretch(secret & low(element), 8)
        };
        if to_k {
            self.state
                .registers
                .write(self.decoded.register(0), bits, true);
        } else {
            self.write(gather(bits, 8));
        }
    }

    pub(super) fn k_bits(&mut self, element: usize) {
        let secret = self.union() & low(element * 8);
        self.state
            .registers
            .write(self.decoded.register(0), secret, true);
    }

    pub(super) fn k_shift(&mut self, element: usize) {
        use Mnemonic::*;
        let n = self.decoded.immediate().unwrap_or(0) as u32 & 0xff;
        let source = self.source(1) & low(element * 8);
        let left = matches!(
            self.decoded.instruction.mnemonic(),
            Kshiftlb | Kshiftlw | Kshiftld | Kshiftlq
        );
        let shifted = if left {
            source.checked_shl(n)
        } else {
            source.checked_shr(n)
        };
        let secret = shifted.unwrap_or(0) & low(element * 8);
        self.state
            .registers
            .write(self.decoded.register(0), secret, true);
    }

    /// KUNPCK: the second source, and above it the first.
    pub(super) fn k_unpack(&mut self, element: usize) {
        let bits = element * 8;
        let secret = (self.source(1) & low(bits)) << bits | self.source(2) & low(bits);
        self.state
            .registers
            .write(self.decoded.register(0), secret, true);
    }
}
