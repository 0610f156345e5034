// SPDX-License-Identifier: BSD-2-Clause
//! The fuzzer's input, read as decisions. After its end everything is zero.

use cryptoki_sys::CK_ULONG;
use std::mem::size_of;

pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub fn new(data: &'a [u8]) -> Input<'a> {
        Input(data)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    pub fn flag(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    /// One of a list.
    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::from(self.byte()) % list.len()]
    }

    /// Small in one byte, with one bit or close to the largest in two, or any in nine.
    pub fn number(&mut self) -> CK_ULONG {
        match self.byte() {
            small @ 0..=0xef => small.into(),
            0xf0..=0xf7 => 1 << (u32::from(self.byte()) % CK_ULONG::BITS),
            0xf8..=0xfb => CK_ULONG::MAX - CK_ULONG::from(self.byte()),
            _ => {
                let bytes = [(); size_of::<CK_ULONG>()].map(|()| self.byte());
                CK_ULONG::from_le_bytes(bytes)
            }
        }
    }

    /// Up to 255 bytes. Fewer if the input ends.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }
}
