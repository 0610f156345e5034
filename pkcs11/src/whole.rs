// SPDX-License-Identifier: BSD-2-Clause
//! Whole messages: each mechanism by one call of the core.

use crate::buffers::{with_room, Input};
use crate::cipher::{append, Work, BLOCK};
use crate::mechanism::Kind;
use crate::rv::{fail, Result};
use catalogue::{Direction, Mode};
use cryptoki_sys::*;
use tenrounds_sys::{done, raw, Message};
use zeroize::{Zeroize, Zeroizing};

impl Work {
    /// Writes a whole message to memory that has room for `need` bytes; returns how many it wrote.
    pub fn write(&self, input: Input, to: *mut u8, need: usize) -> Result<usize> {
        let n = input.len();
        match self.cipher.kind {
            Kind::Padded => return self.padded(input, to),
            Kind::Stream(Mode::Cfb8) => {
                self.cfb8(&mut self.cipher.iv.block().clone(), input, to)?
            }
            // A counter of fewer bits may wrap.
            Kind::Stream(Mode::Ctr) => self.advance(&mut self.stream()?, input, to).map(|_| ())?,
            Kind::Stream(mode) => self.unpadded(mode, input, to)?,
            Kind::Stolen => {
                let key = self.secret()?.aes()?.as_ptr();
                let call = match self.direction {
                    Direction::Encrypt => raw::tr_cbc_cts_encrypt(),
                    Direction::Decrypt => raw::tr_cbc_cts_decrypt(),
                };
                self.apart(input, |from| {
                    let mut iv = *self.cipher.iv.block();
                    // SAFETY: the room is whole_len(); 1 is CS1.
                    done(unsafe { call(key, 1, iv.as_mut_ptr(), to, from, n) })
                })?;
            }
            Kind::Sealed(mode) => self.sealed(mode, input, to, need)?,
            Kind::Kw | Kind::KwPadded | Kind::Kwp => return self.wrapped(input, to, need),
        }
        Ok(need)
    }

    /// A mode without padding, by the core's own function. Its room is that of the input.
    #[inline(always)]
    pub fn unpadded(&self, mode: Mode, input: Input, to: *mut u8) -> Result<()> {
        let iv = self.cipher.iv.block();
        let key = self.secret()?.aes()?.as_ptr();
        let n = input.len();
        let encrypts = !self.decrypts();
        self.apart(input, |from| {
            // The shift register and the keystream block, as numbers, so that one store cleanses
            // each.
            let mut state = Zeroizing::new([u128::from_ne_bytes(*iv), 0]);
            let iv = state.as_mut_ptr().cast::<u8>();
            let (mut used, keystream) = (0, iv.wrapping_add(BLOCK));
            // SAFETY: input and output have n bytes, the state has two blocks.
            done(unsafe {
                match (mode, encrypts) {
                    (Mode::Ctr, _) => raw::tr_ctr(key, iv, keystream, &mut used, to, from, n),
                    (Mode::Ecb, true) => raw::tr_ecb_encrypt()(key, to, from, n),
                    (Mode::Ecb, false) => raw::tr_ecb_decrypt()(key, to, from, n),
                    (Mode::Cbc, true) => raw::tr_cbc_encrypt()(key, iv, to, from, n),
                    (Mode::Cbc, false) => raw::tr_cbc_decrypt()(key, iv, to, from, n),
                    (Mode::Ofb, _) => raw::tr_ofb()(key, iv, &mut used, to, from, n),
                    (Mode::Cfb128, true) => {
                        raw::tr_cfb128_encrypt()(key, iv, &mut used, to, from, n)
                    }
                    (Mode::Cfb128, false) => {
                        raw::tr_cfb128_decrypt()(key, iv, &mut used, to, from, n)
                    }
                    _ => raw::TR_ERR_LENGTH,
                }
            })
        })
    }

    /// A mode with PKCS#7 padding.
    fn padded(&self, input: Input, to: *mut u8) -> Result<usize> {
        let mut stream = self.stream()?;
        let len = self.advance(&mut stream, input, to)?;
        let mut end = Zeroizing::new([0; BLOCK]);
        let more = stream.cipher.finish(&mut end).map_err(|e| {
            // SAFETY: update() wrote these bytes.
            unsafe { std::slice::from_raw_parts_mut(to, len) }.zeroize();
            self.of_core(e)
        })?;
        // SAFETY: both together are at most whole_len().
        unsafe { append(to, len, &end[..more]) };
        Ok(len + more)
    }

    /// An AEAD or XTS, by the core's one-shot calls.
    fn sealed(&self, mode: Mode, input: Input, to: *mut u8, need: usize) -> Result<()> {
        let (iv, aad) = (self.cipher.iv.as_slice(), self.cipher.aad.as_slice());
        let tag_len = self.cipher.tag_len;
        let key = self.secret()?.key(mode)?;
        let text = match self.decrypts() {
            true => need,
            false => need - tag_len,
        };
        // The tag may lie where the text goes, if input and output overlap.
        let mut tag = [0; BLOCK];
        if self.decrypts() {
            // SAFETY: the input has text and tag.
            let end = unsafe { &input.bytes()[text..] };
            tag[..tag_len].copy_from_slice(end);
        }
        self.apart(input, |from| {
            let message = Message {
                iv: iv.as_ptr(),
                iv_len: iv.len(),
                aad: aad.as_ptr(),
                aad_len: aad.len(),
                tag: tag.as_mut_ptr(),
                tag_len,
                ..Message::new(to, from, text)
            };
            // SAFETY: input and output have the text, and XTS's tweak has 16 bytes.
            done(unsafe { key.call(self.direction, &message) })
        })?;
        if !self.decrypts() {
            // SAFETY: the room is whole_len().
            unsafe { append(to, text, &tag[..tag_len]) };
        }
        Ok(())
    }

    /// Key wrap. The core takes any overlap.
    fn wrapped(&self, input: Input, to: *mut u8, need: usize) -> Result<usize> {
        let key = self.secret()?.aes()?.as_ptr();
        let (from, n) = (input.as_ptr(), input.len());
        let icv = match self.cipher.iv.as_slice() {
            [] => std::ptr::null(),
            icv => icv.as_ptr(),
        };
        let mut len = need;
        // SAFETY: the room is whole_len().
        let status = unsafe {
            match (self.cipher.kind, self.decrypts()) {
                (Kind::Kwp, true) => raw::tr_kwp_unwrap(key, 0, icv, to, &mut len, from, n),
                (Kind::Kwp, false) => raw::tr_kwp_wrap()(key, 0, icv, to, from, n),
                (_, true) => raw::tr_kw_unwrap()(key, 0, icv, to, from, n),
                (Kind::KwPadded, false) => {
                    let padding = need - 8 - n;
                    let mut whole = Zeroizing::new(with_room(need)?);
                    whole.extend_from_slice(input.bytes());
                    whole.resize(n + padding, padding as u8);
                    raw::tr_kw_wrap()(key, 0, icv, to, whole.as_ptr(), whole.len())
                }
                (_, false) => raw::tr_kw_wrap()(key, 0, icv, to, from, n),
            }
        };
        done(status).map_err(|e| self.of_core(e))?;
        if self.cipher.kind == Kind::KwPadded && self.decrypts() {
            // SAFETY: the call wrote these bytes.
            len = self.unpad(unsafe { std::slice::from_raw_parts_mut(to, need) })?;
        }
        Ok(len)
    }

    /// The length without PKCS#7 padding to 8 bytes. The text is authentic, so nobody learns
    /// anything from an error here.
    fn unpad(&self, text: &mut [u8]) -> Result<usize> {
        let last = text.last().copied().unwrap_or(0);
        let padding = usize::from(last);
        let right = (1..=8).contains(&padding)
            && padding <= text.len()
            && text[text.len() - padding..].iter().all(|b| *b == last);
        if !right {
            text.zeroize();
            return fail(CKR_ENCRYPTED_DATA_INVALID);
        }
        let len = text.len() - padding;
        text[len..].zeroize();
        Ok(len)
    }
}
