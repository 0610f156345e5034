// SPDX-License-Identifier: BSD-2-Clause
//! Streaming modes: one long message in any number of calls.

use crate::key::Key;
use crate::raw;
use crate::status::{check, Result};
use catalogue::{Direction, Mode, BLOCK};
use std::ffi::c_uint;

/// A position in a message: the IV, shift register or counter, and the bytes in use of a block.
#[derive(Clone)]
pub struct Stream {
    pub iv: [u8; BLOCK],
    keystream: [u8; BLOCK],
    used: c_uint,
}

impl Stream {
    pub fn new(iv: [u8; BLOCK]) -> Stream {
        Stream {
            iv,
            keystream: [0; BLOCK],
            used: 0,
        }
    }

    /// Processes data in place, by the key's mode. ECB and CBC take whole blocks; ECB ignores the
    /// IV.
    #[inline]
    pub fn process(&mut self, key: &Key, direction: Direction, data: &mut [u8]) -> Result<()> {
        let (out, len) = (data.as_mut_ptr(), data.len());
        // SAFETY: the data are valid, and the key is one of the mode.
        let status = unsafe { self.call(key.mode(), key.as_ptr(), direction, out, out, len) };
        check(status)
    }

    /// The same from one buffer to another.
    ///
    /// # Safety
    /// Both are valid for `len` bytes, and equal or disjoint. The key is one of the mode.
    #[inline(always)]
    pub unsafe fn call(
        &mut self,
        mode: Mode,
        key: raw::Key,
        direction: Direction,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> raw::tr_status {
        use raw::*;
        let encrypts = direction == Direction::Encrypt;
        let (iv, used) = (self.iv.as_mut_ptr(), &mut self.used);
        let plain = |a: Plain, b: Plain| if encrypts { a } else { b };
        let chained = |a: Chained, b: Chained| if encrypts { a } else { b };
        // SAFETY: the caller's. CFB1 counts in bits.
        unsafe {
            match mode {
                Mode::Ecb => plain(tr_ecb_encrypt(), tr_ecb_decrypt())(key, out, input, len),
                Mode::Cbc => chained(tr_cbc_encrypt(), tr_cbc_decrypt())(key, iv, out, input, len),
                Mode::Cfb8 => {
                    chained(tr_cfb8_encrypt(), tr_cfb8_decrypt())(key, iv, out, input, len)
                }
                Mode::Cfb1 => {
                    chained(tr_cfb1_encrypt(), tr_cfb1_decrypt())(key, iv, out, input, 8 * len)
                }
                Mode::Cfb128 if encrypts => tr_cfb128_encrypt()(key, iv, used, out, input, len),
                Mode::Cfb128 => tr_cfb128_decrypt()(key, iv, used, out, input, len),
                Mode::Ofb => tr_ofb()(key, iv, used, out, input, len),
                Mode::Ctr => tr_ctr(key, iv, self.keystream.as_mut_ptr(), used, out, input, len),
                mode => panic!("{} does not stream", mode.name()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Backend, Cpu};

    // FIPS-197 appendix C.1.
    #[test]
    fn the_example_of_the_standard() {
        let key: Vec<u8> = (0..16).collect();
        let plain: Vec<u8> = (0..16).map(|i| i * 0x11).collect();
        let expected = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128.to_be_bytes();
        let usable = Cpu::detect().usable;
        for backend in Backend::all().into_iter().filter(|b| b.runs_with(usable)) {
            let key = Key::new(Mode::Ecb, backend, &key).unwrap();
            let mut data = plain.clone();
            let mut stream = Stream::new([0; BLOCK]);
            let mut process = |direction, data: &mut [u8]| {
                stream.process(&key, direction, data).unwrap();
            };
            process(Direction::Encrypt, &mut data);
            assert_eq!(data, expected, "{backend:?}");
            process(Direction::Decrypt, &mut data);
            assert_eq!(data, plain, "{backend:?}");
        }
    }

    /// SP 800-38A appendix F, 128-bit keys: the first block, and as many bytes of CFB8 and CFB1.
    #[test]
    fn streams_of_the_standard() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3cu128.to_be_bytes();
        let plain = 0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172au128.to_be_bytes();
        let iv: [u8; 16] = std::array::from_fn(|i| i as u8);
        let counter = iv.map(|byte| byte + 0xf0);
        let usable = Cpu::detect().usable;
        for (mode, iv, expected, len, step) in [
            (
                Mode::Ecb,
                iv,
                0x3ad7_7bb4_0d7a_3660_a89e_caf3_2466_ef97u128,
                16,
                16,
            ),
            (
                Mode::Cbc,
                iv,
                0x7649_abac_8119_b246_cee9_8e9b_12e9_197d,
                16,
                16,
            ),
            (
                Mode::Cfb128,
                iv,
                0x3b3f_d92e_b72d_ad20_3334_49f8_e83c_fb4a,
                16,
                5,
            ),
            (
                Mode::Cfb8,
                iv,
                0x3b79_424c_9c0d_d436_bace_9e0e_d458_6a4f,
                16,
                5,
            ),
            (Mode::Cfb1, iv, 0x68b3 << 112, 2, 1),
            (
                Mode::Ofb,
                iv,
                0x3b3f_d92e_b72d_ad20_3334_49f8_e83c_fb4a,
                16,
                5,
            ),
            (
                Mode::Ctr,
                counter,
                0x874d_6191_b620_e326_1bef_6864_990d_b6ce,
                16,
                5,
            ),
        ] {
            for backend in Backend::all().into_iter().filter(|b| b.runs_with(usable)) {
                let key = Key::new(mode, backend, &key).unwrap();
                let mut data = plain[..len].to_vec();
                let process = |direction, data: &mut [u8]| {
                    let mut stream = Stream::new(iv);
                    for piece in data.chunks_mut(step) {
                        stream.process(&key, direction, piece).unwrap();
                    }
                };
                process(Direction::Encrypt, &mut data);
                assert_eq!(data, expected.to_be_bytes()[..len], "{mode:?} {backend:?}");
                process(Direction::Decrypt, &mut data);
                assert_eq!(data, plain[..len], "{mode:?} {backend:?}");
            }
        }
    }
}
