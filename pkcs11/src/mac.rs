// SPDX-License-Identifier: BSD-2-Clause
//! Signing and verifying with MACs: CMAC, GMAC and HMAC.

use crate::buffers::Input;
use crate::digest::Keyed;
use crate::mechanism::Parameter;
use crate::object::Object;
use crate::rv::{ensure, fail, of_core, Result};
use catalogue::Mode;
use cryptoki_sys::*;
use std::sync::Arc;
use tenrounds_sys::{CmacMessage, GcmMessage};
use zeroize::Zeroizing;

/// The longest MAC, in bytes.
pub const LONGEST: usize = crate::digest::LONGEST;

pub struct Operation {
    /// Before the key: it refers to what the core made of it.
    message: Message,
    /// The MAC is cut to its first bytes.
    len: usize,
    /// Whether a piece has come, so that the message cannot be passed whole any more.
    in_pieces: bool,
    _key: Arc<Object>,
}

enum Message {
    Cmac(CmacMessage),
    /// A GCM message without text (SP 800-38D section 3).
    Gmac(GcmMessage),
    Hmac(Box<Keyed>),
}

impl Operation {
    pub fn new(key: Arc<Object>, mechanism: CK_MECHANISM_TYPE, p: &Parameter) -> Result<Operation> {
        let (message, whole) = match mechanism {
            CKM_AES_CMAC | CKM_AES_CMAC_GENERAL => {
                let cmac = key.secret.key(Mode::Cmac)?;
                // SAFETY: the operation holds the key until the message is gone.
                let message = unsafe { CmacMessage::start(cmac) };
                (Message::Cmac(message.map_err(|e| of_core(e, false))?), 16)
            }
            CKM_AES_GMAC => {
                let iv: [u8; 12] = p.array()?;
                let gcm = key.secret.key(Mode::Gcm)?;
                // SAFETY: as above.
                let message = unsafe { GcmMessage::start(gcm, &iv) };
                (Message::Gmac(message.map_err(|e| of_core(e, false))?), 16)
            }
            _ => {
                let keyed = Box::new(Keyed::new(mechanism, key.secret.value())?);
                crate::digest::burn();
                let whole = keyed.len();
                (Message::Hmac(keyed), whole)
            }
        };
        Ok(Operation {
            message,
            len: len_of(mechanism, p, whole)?,
            in_pieces: false,
            _key: key,
        })
    }

    /// The length of the MAC.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_in_pieces(&self) -> bool {
        self.in_pieces
    }

    pub fn update(&mut self, input: Input) -> Result<()> {
        self.in_pieces = true;
        // SAFETY: nothing is written.
        let data = unsafe { input.bytes() };
        match &mut self.message {
            Message::Cmac(cmac) => cmac.update(data).map_err(|e| of_core(e, false)),
            Message::Gmac(gcm) => gcm.aad(data).map_err(|e| of_core(e, false)),
            Message::Hmac(keyed) => {
                keyed.update(data);
                Ok(())
            }
        }
    }

    /// Ends the message: the MAC is the first len() bytes.
    pub fn finish(&mut self) -> Result<Zeroizing<[u8; LONGEST]>> {
        let mut mac = Zeroizing::new([0; LONGEST]);
        match &mut self.message {
            Message::Cmac(cmac) => {
                cmac.tag(&mut mac[..self.len])
                    .map_err(|e| of_core(e, false))?;
            }
            Message::Gmac(gcm) => gcm.tag(&mut mac[..16]).map_err(|e| of_core(e, false))?,
            Message::Hmac(keyed) => {
                let output = keyed.finish();
                mac[..output.as_slice().len()].copy_from_slice(output.as_slice());
            }
        }
        Ok(mac)
    }

    /// Ends the message and compares its MAC, in a time that does not depend on where they differ.
    pub fn verify(&mut self, signature: &[u8]) -> Result<()> {
        ensure(signature.len() == self.len, CKR_SIGNATURE_LEN_RANGE)?;
        let mac = self.finish()?;
        let pairs = mac.iter().zip(signature);
        let differs = pairs.fold(0, |bits, (a, b)| std::hint::black_box(bits | a ^ b));
        ensure(differs == 0, CKR_SIGNATURE_INVALID)
    }
}

/// The length of the MAC: of the general mechanisms the parameter gives it.
fn len_of(mechanism: CK_MECHANISM_TYPE, p: &Parameter, whole: usize) -> Result<usize> {
    match mechanism {
        CKM_AES_CMAC_GENERAL
        | CKM_SHA_1_HMAC_GENERAL
        | CKM_SHA256_HMAC_GENERAL
        | CKM_SHA384_HMAC_GENERAL
        | CKM_SHA512_HMAC_GENERAL => {
            // SAFETY: the parameter is a number.
            let len: CK_MAC_GENERAL_PARAMS = unsafe { p.read()? };
            match usize::try_from(len) {
                Ok(len) if (1..=whole).contains(&len) => Ok(len),
                _ => fail(CKR_MECHANISM_PARAM_INVALID),
            }
        }
        CKM_AES_GMAC => Ok(whole),
        _ => p.none().map(|()| whole),
    }
}
