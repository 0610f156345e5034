// SPDX-License-Identifier: BSD-2-Clause
//! Key objects of every mode, and whole messages under them.

use crate::backend::Backend;
use crate::raw::{self, tr_status};
use crate::status::{check, Result};
use catalogue::{Call, Direction, Mode};
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::{c_int, c_void};
use std::mem::size_of;
use std::ptr::{null, null_mut};

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
        check(status).map(|()| key)
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
    /// IV, nonce or tweak; of key wrap the integrity check value, NULL for the standard's.
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
    /// CBC-CTS: 1, 2 or 3 for CS1, CS2 and CS3. Key wrap: 1 with the inverse cipher, otherwise 0.
    pub form: c_int,
    /// The length of a key that KWP unwraps is written here.
    pub written: *mut usize,
}

impl Message {
    /// Data alone.
    #[inline(always)]
    pub fn new(out: *mut u8, input: *const u8, len: usize) -> Message {
        Message {
            iv: null(),
            iv_len: 0,
            aad: null(),
            aad_len: 0,
            out,
            input,
            len,
            tag: null_mut(),
            tag_len: 0,
            form: 0,
            written: null_mut(),
        }
    }
}

impl Key {
    /// Processes a whole message of a mode that does not stream by the core's one-shot call.
    ///
    /// # Safety
    /// The pointers are valid for the lengths. SIV and GCM-SIV have tags of 16 bytes, GCM-SIV a
    /// nonce of 12, XTS a tweak and CBC-CTS an IV of 16.
    // As a call of its own it reads the fields of `m` in pairs right after they were written one by
    // one: a store-forwarding stall of 10 ns (Zen 4).
    #[inline(always)]
    pub unsafe fn call(&self, direction: Direction, m: &Message) -> tr_status {
        use raw::*;
        fn either<T>(direction: Direction, encrypts: T, decrypts: T) -> T {
            match direction {
                Direction::Encrypt => encrypts,
                Direction::Decrypt => decrypts,
            }
        }
        let key = self.as_ptr();
        let sealing = |seal: Sealing, open: Sealing| {
            let call = either(direction, seal, open);
            // SAFETY: the caller's.
            unsafe {
                call(
                    key, m.iv, m.iv_len, m.aad, m.aad_len, m.out, m.input, m.len, m.tag, m.tag_len,
                )
            }
        };
        // SAFETY: the caller's.
        unsafe {
            match (self.mode, direction) {
                (Mode::Gcm, _) => sealing(tr_gcm_seal(), tr_gcm_open()),
                (Mode::Ccm, _) => sealing(tr_ccm_seal(), tr_ccm_open()),
                (Mode::Ocb, _) => sealing(tr_ocb_seal(), tr_ocb_open()),
                (Mode::Siv, _) => {
                    let call = either(direction, tr_siv_seal(), tr_siv_open());
                    call(key, m.aad, m.aad_len, m.out, m.input, m.len, m.tag)
                }
                (Mode::GcmSiv, _) => {
                    let call = either(direction, tr_gcm_siv_seal(), tr_gcm_siv_open());
                    call(key, m.iv, m.aad, m.aad_len, m.out, m.input, m.len, m.tag)
                }
                (Mode::Xts, _) => {
                    let call = either(direction, tr_xts_encrypt(), tr_xts_decrypt());
                    call(key, m.iv, m.out, m.input, m.len)
                }
                (Mode::CbcCts, _) => {
                    let call = either(direction, tr_cbc_cts_encrypt(), tr_cbc_cts_decrypt());
                    let mut iv = m.iv.cast::<[u8; 16]>().read();
                    call(key, m.form, iv.as_mut_ptr(), m.out, m.input, m.len)
                }
                (Mode::Kw, _) => {
                    let call = either(direction, tr_kw_wrap(), tr_kw_unwrap());
                    call(key, m.form, m.iv, m.out, m.input, m.len)
                }
                (Mode::Kwp, Direction::Encrypt) => {
                    tr_kwp_wrap()(key, m.form, m.iv, m.out, m.input, m.len)
                }
                (Mode::Kwp, Direction::Decrypt) => {
                    tr_kwp_unwrap(key, m.form, m.iv, m.out, m.written, m.input, m.len)
                }
                (Mode::Cmac, Direction::Encrypt) => {
                    tr_cmac_sign()(key, m.input, m.len, m.tag, m.tag_len)
                }
                (Mode::Cmac, _) => tr_cmac_verify()(key, m.input, m.len, m.tag, m.tag_len),
                (mode, _) => panic!("{} has no whole messages", mode.name()),
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
    /// As in [`Message`].
    pub form: c_int,
}

impl Key {
    /// Encrypts, seals or wraps a whole message: returns the output, then the tag. A MAC returns
    /// its tag alone.
    pub fn encrypt(&self, p: &Parameters, data: &[u8]) -> Result<Vec<u8>> {
        let text = match self.mode.row().call {
            Call::Mac => 0,
            Call::Wrap => data.len().next_multiple_of(8) + 8,
            _ => data.len(),
        };
        let mut out = vec![0; text + p.tag_len];
        let tag = out[text..].as_mut_ptr();
        self.safely(Direction::Encrypt, p, &mut out, data, tag)?;
        Ok(out)
    }

    /// Reverses encrypt(). The data end in the tag.
    pub fn decrypt(&self, p: &Parameters, data: &[u8]) -> Result<Vec<u8>> {
        let (text, tag) = data.split_at(data.len() - p.tag_len);
        let more = if self.mode.wraps() { 8 } else { 0 };
        let mut out = vec![0; text.len().saturating_sub(more)];
        let tag = tag.as_ptr().cast_mut();
        let written = self.safely(Direction::Decrypt, p, &mut out, text, tag)?;
        out.truncate(written);
        Ok(out)
    }

    /// Returns the length of the output.
    fn safely(
        &self,
        direction: Direction,
        p: &Parameters,
        out: &mut [u8],
        data: &[u8],
        tag: *mut u8,
    ) -> Result<usize> {
        let mut written = out.len();
        let message = Message {
            iv: if p.iv.is_empty() {
                null()
            } else {
                p.iv.as_ptr()
            },
            iv_len: p.iv.len(),
            aad: p.aad.as_ptr(),
            aad_len: p.aad.len(),
            tag,
            tag_len: p.tag_len,
            form: p.form,
            written: &mut written,
            ..Message::new(out.as_mut_ptr(), data.as_ptr(), data.len())
        };
        // The calls that take no length of IV or tag.
        match self.mode {
            Mode::GcmSiv => assert_eq!((p.iv.len(), p.tag_len), (12, 16)),
            Mode::Siv => assert_eq!(p.tag_len, 16),
            Mode::Xts | Mode::CbcCts => assert_eq!(p.iv.len(), 16),
            Mode::Kw | Mode::Kwp => assert!(p.iv.is_empty()),
            _ => {}
        }
        // SAFETY: out has room for the data, and the slices above have the lengths.
        check(unsafe { self.call(direction, &message) }).map(|()| written)
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
            assert_eq!(error.0, raw::TR_ERR_TAG, "{mode:?}: {error}");
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
            form: 1,
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
    fn wrong_lengths_are_refused() {
        let backend = Backend::by_name("bitslice").unwrap();
        let key = |mode, len| Key::new(mode, backend, &vec![1; len]);
        assert!(key(Mode::Gcm, 17).is_err());
        let none = Parameters::default();
        let kw = key(Mode::Kw, 16).unwrap();
        let error = kw.encrypt(&none, &[1; 15]).unwrap_err();
        assert_eq!(error.to_string(), crate::explain(raw::TR_ERR_LENGTH));
        assert_eq!(
            kw.decrypt(&none, &[1; 7]).unwrap_err().0,
            raw::TR_ERR_LENGTH
        );
        assert_eq!(kw.decrypt(&none, &[1; 24]).unwrap_err().0, raw::TR_ERR_TAG);
        let cts = key(Mode::CbcCts, 16).unwrap();
        let p = Parameters {
            form: 1,
            ..with("00000000000000000000000000000000", "", 0)
        };
        assert!(cts.encrypt(&p, &[1; 15]).is_err() && cts.decrypt(&p, &[1; 15]).is_err());
        let ccm = key(Mode::Ccm, 16).unwrap();
        assert!(ccm.encrypt(&with("", "", 16), b"x").is_err());
        assert_eq!(ccm.mode(), Mode::Ccm);
    }
}
