// SPDX-License-Identifier: BSD-2-Clause
//! Key objects of every mode, and whole messages under them.

use crate::backend::Backend;
use crate::raw::{self, tr_status};
use crate::status::{check, Result};
use catalogue::{Call, Direction, Mode};
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::{c_int, c_void};
use std::mem::size_of;

/// A key object of a mode, cleansed when dropped. Any number of threads may use it at a time.
pub struct Key {
    mode: Mode,
    object: *mut c_void,
    layout: Layout,
}

// SAFETY: the core shares key objects between threads, and counting tables count atomically.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

/// The size of a mode's key object, and the function that sets it.
fn object_of(mode: Mode) -> Option<(usize, raw::SetKey)> {
    use raw::*;
    Some(match mode {
        Mode::Gcm => (size_of::<tr_gcm_key>(), tr_gcm_set_key()),
        Mode::Ccm => (size_of::<tr_ccm_key>(), tr_ccm_set_key()),
        Mode::Ocb => (size_of::<tr_ocb_key>(), tr_ocb_set_key()),
        Mode::Siv => (size_of::<tr_siv_key>(), tr_siv_set_key()),
        Mode::GcmSiv => (size_of::<tr_gcm_siv_key>(), tr_gcm_siv_set_key()),
        Mode::Xts => (size_of::<tr_xts_key>(), tr_xts_set_key()),
        Mode::Cmac => (size_of::<tr_cmac_key>(), tr_cmac_set_key()),
        Mode::Rc4 | Mode::ChaCha20Poly1305 => return None,
        _ => (size_of::<tr_aes_key>(), tr_aes_set_key()),
    })
}

impl Key {
    /// Expands a key for a backend. The mode says which lengths it takes.
    pub fn new(mode: Mode, backend: Backend, raw: &[u8]) -> Result<Key> {
        let (size, set_key) = object_of(mode).expect("a mode of AES");
        let layout = Layout::from_size_align(size, 64).expect("a small power of two");
        // SAFETY: the size is not zero.
        let object = unsafe { alloc_zeroed(layout) };
        if object.is_null() {
            handle_alloc_error(layout);
        }
        let key = Key {
            mode,
            object: object.cast(),
            layout,
        };
        // SAFETY: the object has the size of the mode's type. The table lives as long as the
        // program.
        let status = unsafe { set_key(key.object, backend.as_ptr(), raw.as_ptr(), raw.len()) };
        check(status, || {
            format!("{}, a key of {} bytes", mode.name(), raw.len())
        })?;
        Ok(key)
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The object, for the core's functions of this mode.
    pub fn as_ptr(&self) -> raw::Key {
        self.object
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the object has this size, and came from alloc_zeroed() with this layout.
        unsafe {
            raw::tr_cleanse(self.object, self.layout.size());
            dealloc(self.object.cast(), self.layout);
        }
    }
}

/// A whole message as the core's one-shot calls take it. Pointers and lengths follow the rules of
/// tenrounds.h for the mode.
pub struct Message {
    /// IV, nonce or tweak.
    pub iv: *const u8,
    pub iv_len: usize,
    pub aad: *const u8,
    pub aad_len: usize,
    pub out: *mut u8,
    pub input: *const u8,
    pub len: usize,
    /// Written by encryption, read by decryption.
    pub tag: *mut u8,
    pub tag_len: usize,
}

impl Key {
    /// Processes a whole message of an AEAD, XTS or CMAC by the core's one-shot call.
    ///
    /// # Safety
    /// The pointers are valid for the lengths. SIV and GCM-SIV have tags of 16 bytes, GCM-SIV a
    /// nonce of 12 and XTS a tweak of 16.
    #[inline]
    pub unsafe fn message(&self, direction: Direction, m: &Message) -> Result<()> {
        // SAFETY: the caller's.
        let status = unsafe { self.call(direction, m) };
        check(status, || {
            format!("{} {}", self.mode.name(), direction.name())
        })
    }

    /// The same, with the core's status.
    ///
    /// # Safety
    /// As above.
    // As a call of its own it reads the fields of `m` in pairs right after they were written one by
    // one: a store-forwarding stall of 10 ns (Zen 4).
    #[inline(always)]
    pub unsafe fn call(&self, direction: Direction, m: &Message) -> tr_status {
        use raw::*;
        let encrypts = direction == Direction::Encrypt;
        let key = self.as_ptr();
        let sealing = |seal: Sealing, open: Sealing| {
            let call = if encrypts { seal } else { open };
            // SAFETY: the caller's.
            unsafe {
                call(
                    key, m.iv, m.iv_len, m.aad, m.aad_len, m.out, m.input, m.len, m.tag, m.tag_len,
                )
            }
        };
        // SAFETY: the caller's.
        unsafe {
            match self.mode {
                Mode::Gcm => sealing(tr_gcm_seal(), tr_gcm_open()),
                Mode::Ccm => sealing(tr_ccm_seal(), tr_ccm_open()),
                Mode::Ocb => sealing(tr_ocb_seal(), tr_ocb_open()),
                Mode::Siv => {
                    let call = if encrypts {
                        tr_siv_seal()
                    } else {
                        tr_siv_open()
                    };
                    call(key, m.aad, m.aad_len, m.out, m.input, m.len, m.tag)
                }
                Mode::GcmSiv => {
                    let call = match encrypts {
                        true => tr_gcm_siv_seal(),
                        false => tr_gcm_siv_open(),
                    };
                    call(key, m.iv, m.aad, m.aad_len, m.out, m.input, m.len, m.tag)
                }
                Mode::Xts => {
                    let call = match encrypts {
                        true => tr_xts_encrypt(),
                        false => tr_xts_decrypt(),
                    };
                    call(key, m.iv, m.out, m.input, m.len)
                }
                Mode::Cmac if encrypts => tr_cmac_sign()(key, m.input, m.len, m.tag, m.tag_len),
                Mode::Cmac => tr_cmac_verify()(key, m.input, m.len, m.tag, m.tag_len),
                mode => panic!("{} has no whole messages", mode.name()),
            }
        }
    }
}

/// What a message has besides its data.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// IV, nonce or tweak.
    pub iv: Vec<u8>,
    pub aad: Vec<u8>,
    pub tag_len: usize,
    /// CBC-CTS: 1, 2 or 3 for CS1, CS2 and CS3.
    pub form: c_int,
    /// Key wrap: with the inverse cipher.
    pub inverse: bool,
}

impl Key {
    /// Encrypts, seals or wraps a whole message: returns the output, then the tag. A MAC returns
    /// its tag alone.
    pub fn encrypt(&self, p: &Parameters, data: &[u8]) -> Result<Vec<u8>> {
        match self.mode {
            Mode::CbcCts => self.stealing(Direction::Encrypt, p, data),
            mode if mode.wraps() => self.wrap(p, data),
            mode => {
                let is_mac = mode.row().call == Call::Mac;
                let text = if is_mac { 0 } else { data.len() };
                let mut out = vec![0; text + p.tag_len];
                let tag = out[text..].as_mut_ptr();
                self.safely(Direction::Encrypt, p, &mut out, data, tag)?;
                Ok(out)
            }
        }
    }

    /// Reverses encrypt(). The data end in the tag.
    pub fn decrypt(&self, p: &Parameters, data: &[u8]) -> Result<Vec<u8>> {
        match self.mode {
            Mode::CbcCts => self.stealing(Direction::Decrypt, p, data),
            mode if mode.wraps() => self.unwrap(p, data),
            _ => {
                let (text, tag) = data.split_at(data.len() - p.tag_len);
                let mut out = vec![0; text.len()];
                let tag = tag.as_ptr().cast_mut();
                self.safely(Direction::Decrypt, p, &mut out, text, tag)?;
                Ok(out)
            }
        }
    }

    fn safely(
        &self,
        direction: Direction,
        p: &Parameters,
        out: &mut [u8],
        data: &[u8],
        tag: *mut u8,
    ) -> Result<()> {
        let message = Message {
            iv: p.iv.as_ptr(),
            iv_len: p.iv.len(),
            aad: p.aad.as_ptr(),
            aad_len: p.aad.len(),
            out: out.as_mut_ptr(),
            input: data.as_ptr(),
            len: data.len(),
            tag,
            tag_len: p.tag_len,
        };
        // The calls that take no length of IV or tag.
        match self.mode {
            Mode::GcmSiv => assert_eq!((p.iv.len(), p.tag_len), (12, 16)),
            Mode::Siv => assert_eq!(p.tag_len, 16),
            Mode::Xts => assert_eq!(p.iv.len(), 16),
            _ => {}
        }
        // SAFETY: out has room for the data, and the slices above have the lengths.
        unsafe { self.message(direction, &message) }
    }

    fn stealing(&self, direction: Direction, p: &Parameters, data: &[u8]) -> Result<Vec<u8>> {
        let mut iv: [u8; 16] = p.iv[..].try_into().expect("an IV of 16 bytes");
        let mut out = vec![0; data.len()];
        let call = match direction {
            Direction::Encrypt => raw::tr_cbc_cts_encrypt(),
            Direction::Decrypt => raw::tr_cbc_cts_decrypt(),
        };
        // SAFETY: out is as long as the data.
        let status = unsafe {
            call(
                self.as_ptr(),
                p.form,
                iv.as_mut_ptr(),
                out.as_mut_ptr(),
                data.as_ptr(),
                data.len(),
            )
        };
        check(status, || format!("cbc-cts of {} bytes", data.len()))?;
        Ok(out)
    }

    fn wrap(&self, p: &Parameters, data: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![0; data.len().div_ceil(8) * 8 + 8];
        let call = match self.mode {
            Mode::Kw => raw::tr_kw_wrap(),
            _ => raw::tr_kwp_wrap(),
        };
        let (inverse, out_ptr) = (p.inverse.into(), out.as_mut_ptr());
        let standard = std::ptr::null();
        let (input, len) = (data.as_ptr(), data.len());
        // SAFETY: out has the room that the header asks for.
        let status = unsafe { call(self.as_ptr(), inverse, standard, out_ptr, input, len) };
        check(status, || format!("wrapping {len} bytes"))?;
        Ok(out)
    }

    fn unwrap(&self, p: &Parameters, data: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![0; data.len().saturating_sub(8)];
        let mut out_len = out.len();
        let (inverse, out_ptr) = (p.inverse.into(), out.as_mut_ptr());
        let standard = std::ptr::null();
        let (key, input, len) = (self.as_ptr(), data.as_ptr(), data.len());
        // SAFETY: out has the room that the header asks for.
        let status = unsafe {
            match self.mode {
                Mode::Kw => raw::tr_kw_unwrap()(key, inverse, standard, out_ptr, input, len),
                _ => {
                    let written = &mut out_len;
                    raw::tr_kwp_unwrap(key, inverse, standard, out_ptr, written, input, len)
                }
            }
        };
        check(status, || format!("unwrapping {len} bytes"))?;
        out.truncate(out_len);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    }

    fn check(mode: Mode, key: &str, p: Parameters, plain: &str, expected: &str) {
        for backend in Backend::all() {
            if !backend.runs_with(crate::Cpu::detect().usable) {
                continue;
            }
            let key = Key::new(mode, backend, &hex(key)).unwrap();
            let out = key.encrypt(&p, &hex(plain)).unwrap();
            assert_eq!(out, hex(expected), "{mode:?} {backend:?}");
            if mode != Mode::Cmac {
                assert_eq!(key.decrypt(&p, &out).unwrap(), hex(plain));
            }
        }
    }

    // The GCM specification (McGrew, Viega), appendix B, test case 2.
    #[test]
    fn gcm() {
        let p = Parameters {
            iv: vec![0; 12],
            tag_len: 16,
            ..Parameters::default()
        };
        let zero = "00000000000000000000000000000000";
        let expected = "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf";
        check(Mode::Gcm, zero, p, zero, expected);
    }

    // RFC 4493 section 4, example 2.
    #[test]
    fn cmac() {
        let p = Parameters {
            tag_len: 16,
            ..Parameters::default()
        };
        let key = "2b7e151628aed2a6abf7158809cf4f3c";
        let data = "6bc1bee22e409f96e93d7e117393172a";
        check(Mode::Cmac, key, p, data, "070a16b46b4d4144f79bdd9dd04a287c");
    }

    // RFC 3394 section 4.1.
    #[test]
    fn key_wrap() {
        check(
            Mode::Kw,
            "000102030405060708090a0b0c0d0e0f",
            Parameters::default(),
            "00112233445566778899aabbccddeeff",
            "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5",
        );
    }

    #[test]
    fn a_wrong_tag_is_refused() {
        for mode in Mode::aes().filter(|mode| mode.is_aead()) {
            let backend = Backend::by_name("bitslice").unwrap();
            let raw: Vec<u8> = (0..32).collect();
            let key = Key::new(mode, backend, &raw).unwrap();
            let p = Parameters {
                iv: vec![7; 12],
                aad: vec![1, 2, 3],
                tag_len: 16,
                ..Parameters::default()
            };
            let mut sealed = key.encrypt(&p, b"attack at dawn").unwrap();
            *sealed.last_mut().unwrap() ^= 1;
            let error = key.decrypt(&p, &sealed).unwrap_err();
            assert_eq!(error.status(), raw::TR_ERR_TAG, "{mode:?}: {error}");
        }
    }

    fn with(iv: &str, aad: &str, tag_len: usize) -> Parameters {
        Parameters {
            iv: hex(iv),
            aad: hex(aad),
            tag_len,
            ..Parameters::default()
        }
    }

    /// SP 800-38C example 1; RFC 7253 appendix A; RFC 5297 A.1 (tag last); RFC 8452 C.1; IEEE 1619
    /// vector 2.
    #[test]
    fn messages_of_the_standards() {
        let count = "000102030405060708090a0b0c0d0e0f";
        let eight = "0001020304050607";
        let key = "404142434445464748494a4b4c4d4e4f";
        let p = with("10111213141516", eight, 4);
        check(Mode::Ccm, key, p, "20212223", "7162015b4dac255d");
        let p = with("bbaa99887766554433221101", eight, 16);
        let sealed = "6820b3657b6f615a5725bda0d3b4eb3a257c9af1f8f03009";
        check(Mode::Ocb, count, p, eight, sealed);
        check(
            Mode::Siv,
            "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            with("", "101112131415161718191a1b1c1d1e1f2021222324252627", 16),
            "112233445566778899aabbccddee",
            "40c02b9690c4dc04daef7f6afe5c85632d07c6e8f37f950acd320a2ecc93",
        );
        check(
            Mode::GcmSiv,
            "01000000000000000000000000000000",
            with("030000000000000000000000", "", 16),
            "0100000000000000",
            "b5d839330ac7b786578782fff6013b815b287c22493a364c",
        );
        let key = "11".repeat(16) + &"22".repeat(16);
        let tweak = "33333333330000000000000000000000";
        let encrypted = "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0";
        check(
            Mode::Xts,
            &key,
            with(tweak, "", 0),
            &"44".repeat(32),
            encrypted,
        );
    }

    /// RFC 5649 section 6, and RFC 3962 appendix B, whose form is CS3.
    #[test]
    fn wrapping_and_stealing() {
        let key = "5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8";
        for (data, wrapped) in [
            (
                "c37b7e6492584340bed12207808941155068f738",
                "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a",
            ),
            ("466f7250617369", "afbeb0f07dfbf5419200f2ccb50bb24f"),
        ] {
            check(Mode::Kwp, key, Parameters::default(), data, wrapped);
        }
        let p = Parameters {
            form: 3,
            ..with("00000000000000000000000000000000", "", 0)
        };
        let key = "636869636b656e207465726979616b69";
        let plain = "4920776f756c64206c696b652074686520";
        check(
            Mode::CbcCts,
            key,
            p,
            plain,
            "c6353568f2bf8cb4d8a580362da7ff7f97",
        );
        // The inverse cipher gives another result, which it reverses.
        let backend = Backend::by_name("bitslice").unwrap();
        let inverse = Parameters {
            inverse: true,
            ..Parameters::default()
        };
        for mode in [Mode::Kw, Mode::Kwp] {
            let key = Key::new(mode, backend, &[5; 16]).unwrap();
            let wrapped = key.encrypt(&inverse, &[7; 24]).unwrap();
            assert_ne!(
                wrapped,
                key.encrypt(&Parameters::default(), &[7; 24]).unwrap()
            );
            assert_eq!(key.decrypt(&inverse, &wrapped).unwrap(), [7; 24]);
        }
    }

    #[test]
    fn errors_name_what_was_tried() {
        let backend = Backend::by_name("bitslice").unwrap();
        let key = |mode, len| Key::new(mode, backend, &vec![1; len]);
        let said = |result: Result<Vec<u8>>| result.unwrap_err().to_string();
        let wrong = key(Mode::Gcm, 17).map(|_| vec![]);
        assert!(said(wrong).starts_with("gcm, a key of 17 bytes: "));
        let none = Parameters::default();
        let kw = key(Mode::Kw, 16).unwrap();
        assert!(said(kw.encrypt(&none, &[1; 15])).starts_with("wrapping 15 bytes: "));
        assert!(said(kw.decrypt(&none, &[1; 7])).starts_with("unwrapping 7 bytes: "));
        assert!(said(kw.decrypt(&none, &[1; 24])).starts_with("unwrapping 24 bytes: "));
        let cts = key(Mode::CbcCts, 16).unwrap();
        let p = Parameters {
            form: 1,
            ..with("00000000000000000000000000000000", "", 0)
        };
        assert!(said(cts.encrypt(&p, &[1; 15])).starts_with("cbc-cts of 15 bytes: "));
        assert!(said(cts.decrypt(&p, &[1; 15])).starts_with("cbc-cts of 15 bytes: "));
        let ccm = key(Mode::Ccm, 16).unwrap();
        let error = ccm.encrypt(&with("", "", 16), b"x");
        assert!(said(error).starts_with("ccm encrypt: "));
        assert_eq!(ccm.mode(), Mode::Ccm);
    }
}
