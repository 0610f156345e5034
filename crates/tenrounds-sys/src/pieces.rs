// SPDX-License-Identifier: BSD-2-Clause
//! Messages in pieces, over the core's message objects. An object refers to its key, and is
//! cleansed when dropped.

use crate::key::Key;
use crate::object::Object;
use crate::raw::{self, tr_status};
use catalogue::{Direction, Mode};
use std::ffi::c_int;

/// ECB, CBC, CFB128, OFB or CTR, with PKCS#7 padding for ECB and CBC.
pub struct Cipher(Object<raw::tr_cipher>);

/// A GCM message that is encrypted, or has only AAD.
pub struct GcmMessage(Object<raw::tr_gcm>);

/// A CMAC.
pub struct CmacMessage(Object<raw::tr_cmac>);

fn number_of(mode: Mode) -> c_int {
    match mode {
        Mode::Ecb => raw::TR_ECB,
        Mode::Cbc => raw::TR_CBC,
        Mode::Cfb128 => raw::TR_CFB128,
        Mode::Ofb => raw::TR_OFB,
        Mode::Ctr => raw::TR_CTR,
        mode => panic!("{} is no mode of tr_cipher", mode.name()),
    }
}

impl Clone for Cipher {
    fn clone(&self) -> Cipher {
        // SAFETY: the core's messages may be copied; the copy refers to the same key.
        Cipher(unsafe { self.0.copy() })
    }
}

impl Cipher {
    /// Starts a message.
    ///
    /// # Safety
    /// The key is one of struct tr_aes_key, outlives the message and does not move.
    pub unsafe fn start(
        key: &Key,
        mode: Mode,
        direction: Direction,
        padding: bool,
        iv: &[u8; 16],
    ) -> Result<Cipher, tr_status> {
        let mut cipher = Cipher(Object::zeroed());
        let decrypt = (direction == Direction::Decrypt).into();
        let (object, mode) = (cipher.0.as_mut_ptr(), number_of(mode));
        // SAFETY: the caller's.
        let status = unsafe {
            raw::tr_cipher_start(
                object,
                key.as_ptr(),
                mode,
                decrypt,
                padding.into(),
                iv.as_ptr(),
            )
        };
        done(status).map(|()| cipher)
    }

    /// The number of bytes that update() would now write.
    pub fn room(&self, len: usize) -> usize {
        // SAFETY: the object was started.
        unsafe { raw::tr_cipher_room(self.0.as_ptr().cast(), len) }
    }

    /// Processes a piece, and returns the number of bytes written: room().
    ///
    /// # Safety
    /// The pointers are valid for room() and len bytes.
    pub unsafe fn update(
        &mut self,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> Result<usize, tr_status> {
        let mut written = 0;
        // SAFETY: the caller's.
        let status =
            unsafe { raw::tr_cipher_update(self.0.as_mut_ptr(), out, &mut written, input, len) };
        done(status).map(|()| written)
    }

    /// Ends the message: writes its last bytes, and returns their number, 0 to 16.
    pub fn finish(&mut self, out: &mut [u8; 16]) -> Result<usize, tr_status> {
        let mut len = 0;
        // SAFETY: out has room for a block.
        let status =
            unsafe { raw::tr_cipher_final(self.0.as_mut_ptr(), out.as_mut_ptr(), &mut len) };
        done(status).map(|()| len)
    }
}

impl GcmMessage {
    /// Starts a message.
    ///
    /// # Safety
    /// The key is one of GCM, outlives the message and does not move.
    pub unsafe fn start(key: &Key, iv: &[u8]) -> Result<GcmMessage, tr_status> {
        let mut gcm = GcmMessage(Object::zeroed());
        // SAFETY: the caller's.
        let status =
            unsafe { raw::tr_gcm_start(gcm.0.as_mut_ptr(), key.as_ptr(), iv.as_ptr(), iv.len()) };
        done(status).map(|()| gcm)
    }

    /// Adds AAD.
    pub fn aad(&mut self, aad: &[u8]) -> Result<(), tr_status> {
        // SAFETY: the slice is valid.
        done(unsafe { raw::tr_gcm_aad(self.0.as_mut_ptr(), aad.as_ptr(), aad.len()) })
    }

    /// Encrypts a piece of any length.
    ///
    /// # Safety
    /// The pointers are valid for len bytes.
    pub unsafe fn encrypt(
        &mut self,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> Result<(), tr_status> {
        // SAFETY: the caller's.
        done(unsafe { raw::tr_gcm_encrypt(self.0.as_mut_ptr(), out, input, len) })
    }

    /// Ends the message.
    pub fn tag(&mut self, tag: &mut [u8]) -> Result<(), tr_status> {
        // SAFETY: the slice is valid.
        done(unsafe { raw::tr_gcm_tag(self.0.as_mut_ptr(), tag.as_mut_ptr(), tag.len()) })
    }
}

impl CmacMessage {
    /// Starts a message.
    ///
    /// # Safety
    /// The key is one of CMAC, outlives the message and does not move.
    pub unsafe fn start(key: &Key) -> Result<CmacMessage, tr_status> {
        let mut cmac = CmacMessage(Object::zeroed());
        // SAFETY: the caller's.
        let status = unsafe { raw::tr_cmac_start(cmac.0.as_mut_ptr(), key.as_ptr()) };
        done(status).map(|()| cmac)
    }

    /// Adds data.
    pub fn update(&mut self, data: &[u8]) -> Result<(), tr_status> {
        // SAFETY: the slice is valid.
        done(unsafe { raw::tr_cmac_update(self.0.as_mut_ptr(), data.as_ptr(), data.len()) })
    }

    /// Ends the message.
    pub fn tag(&mut self, tag: &mut [u8]) -> Result<(), tr_status> {
        // SAFETY: the slice is valid.
        done(unsafe { raw::tr_cmac_tag(self.0.as_mut_ptr(), tag.as_mut_ptr(), tag.len()) })
    }
}

/// The error of a status, if it is one.
pub fn done(status: tr_status) -> Result<(), tr_status> {
    match status {
        raw::TR_OK => Ok(()),
        status => Err(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backend;

    const TEXT: [u8; 40] = [9; 40];

    fn key(mode: Mode) -> Key {
        Key::new(mode, Backend::by_name("bitslice").unwrap(), &[1; 16]).unwrap()
    }

    /// A message in pieces of these lengths, and how many bytes each wrote.
    fn pieces(
        key: &Key,
        mode: Mode,
        (direction, padding): (Direction, bool),
        text: &[u8],
        step: usize,
    ) -> (Vec<u8>, Vec<usize>) {
        // SAFETY: the key outlives the message.
        let started = unsafe { Cipher::start(key, mode, direction, padding, &[3; 16]) };
        let mut cipher = started.unwrap();
        let (mut out, mut lengths) = (Vec::new(), Vec::new());
        for piece in text.chunks(step) {
            let mut part = vec![0; cipher.room(piece.len())];
            // SAFETY: the part has the room for the piece.
            let written = unsafe { cipher.update(part.as_mut_ptr(), piece.as_ptr(), piece.len()) };
            assert_eq!(written, Ok(part.len()));
            lengths.push(part.len());
            out.extend(part);
        }
        let mut end = [0; 16];
        // A copy ends as the message does.
        assert_eq!(cipher.clone().finish(&mut end), cipher.finish(&mut end));
        (out, lengths)
    }

    #[test]
    fn each_mode_and_padding() {
        let aes = key(Mode::Ecb);
        let (encrypt, decrypt) = (Direction::Encrypt, Direction::Decrypt);
        for mode in [Mode::Cfb128, Mode::Ofb, Mode::Ctr] {
            let (sealed, lengths) = pieces(&aes, mode, (encrypt, false), &TEXT, 7);
            assert_eq!(lengths, [7, 7, 7, 7, 7, 5], "{mode:?}");
            assert_ne!(sealed, TEXT);
            let (text, _) = pieces(&aes, mode, (decrypt, false), &sealed, 16);
            assert_eq!(text, TEXT, "{mode:?}");
        }
        for mode in [Mode::Ecb, Mode::Cbc] {
            let (_, lengths) = pieces(&aes, mode, (encrypt, true), &TEXT, 15);
            assert_eq!(lengths, [0, 16, 16], "{mode:?}");
            // SAFETY: the key outlives the message.
            let started = unsafe { Cipher::start(&aes, mode, encrypt, true, &[3; 16]) };
            let (mut cipher, mut end) = (started.unwrap(), [0; 16]);
            assert_eq!(cipher.finish(&mut end), Ok(16), "a block of padding");
            // SAFETY: as above.
            let started = unsafe { Cipher::start(&aes, mode, encrypt, false, &[3; 16]) };
            assert_eq!(started.unwrap().finish(&mut end), Ok(0));
        }
    }

    #[test]
    fn tags_are_those_of_whole_messages() {
        let parameters = crate::Parameters {
            iv: vec![3; 12],
            aad: vec![4; 5],
            tag_len: 16,
            ..Default::default()
        };
        let gcm = key(Mode::Gcm);
        // SAFETY: the key outlives the message.
        let mut message = unsafe { GcmMessage::start(&gcm, &[3; 12]) }.unwrap();
        message.aad(&[4; 2]).unwrap();
        message.aad(&[4; 3]).unwrap();
        let (mut out, mut tag) = (TEXT, [0; 16]);
        let at = out.as_mut_ptr();
        // SAFETY: the text has so many bytes.
        unsafe { message.encrypt(at, TEXT.as_ptr(), 13) }.unwrap();
        // SAFETY: as above.
        unsafe { message.encrypt(at.add(13), TEXT.as_ptr(), 27) }.unwrap();
        message.tag(&mut tag).unwrap();
        let whole = gcm.encrypt(&parameters, &TEXT).unwrap();
        assert_eq!([&out[..], &tag].concat(), whole);
        let cmac = key(Mode::Cmac);
        // SAFETY: the key outlives the message.
        let mut message = unsafe { CmacMessage::start(&cmac) }.unwrap();
        message.update(&TEXT[..13]).unwrap();
        message.update(&TEXT[13..]).unwrap();
        message.tag(&mut tag).unwrap();
        assert_eq!(tag[..], cmac.encrypt(&parameters, &TEXT).unwrap());
        assert!(message.tag(&mut [0; 17]).is_err());
    }
}
