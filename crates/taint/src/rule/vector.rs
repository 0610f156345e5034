// SPDX-License-Identifier: BSD-2-Clause
//! Vector registers, where a rule for all of an instruction's bytes would be too coarse.

use super::{low, whole_elements, Leak, Step};
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

    pub(super) fn upper(&mut self) {
        let all = self.decoded.instruction.mnemonic() == Mnemonic::Vzeroall;
        self.state.registers.clear_upper(if all { 0 } else { 16 });
    }

    /// Each element, or lane of 16 bytes, depends on the same one of all sources. That covers a
    /// secret index of PSHUFB.
    pub(super) fn elements(&mut self, element: usize) {
        let secret = self.union();
        if self.decoded.register(0).is_k() {
            return self.compare(secret);
        }
        self.write(whole_elements(secret, element));
    }

    /// A comparison: what the write mask leaves out gives zero.
    fn compare(&mut self, secret: u64) {
        let mask = self.decoded.instruction.op_mask();
        let secret = secret & self.active_bytes(64) | self.state.registers.read(mask);
        let all = if secret == 0 { 0 } else { u64::MAX };
        let register = self.decoded.register(0);
        self.state.registers.write(register, all, true);
    }

    /// Shifts of elements. A count is a constant, the low half of a register, or an element of one.
    pub(super) fn counts(&mut self, element: usize) {
        let decoded = self.decoded;
        if decoded.immediate().is_some() {
            return self.elements(element);
        }
        // VPSLLVW, VPRORVQ and the like: before the letter of the element.
        let per_element = decoded.name[..decoded.name.len() - 1].ends_with('v');
        let last = decoded.instruction.op_count() - 1;
        let size = if per_element { decoded.size(0) } else { 8 };
        if self.source(last) & low(size) != 0 {
            self.leaks.push(Leak::ShiftCount);
            return self.all();
        }
        self.write(whole_elements(self.source(last - 1), element));
    }
}
