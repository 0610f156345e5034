// SPDX-License-Identifier: BSD-2-Clause
//! MACs: signing and verifying by CMAC and GMAC.

use crate::attribute::Flags;
use crate::buffers::Input;
use crate::mechanism::Parameter;
use crate::object::Object;
use crate::rv::{ensure, fail, of_core, Result};
use catalogue::Mode;
use cryptoki_sys::*;
use std::sync::Arc;
use tenrounds_sys::{CmacMessage, GcmMessage};
use zeroize::Zeroizing;

/// A whole MAC, in bytes.
const WHOLE: usize = 16;

#[derive(Clone, Copy)]
pub enum Purpose {
    Sign,
    Verify,
}

impl Purpose {
    /// The flag of its mechanisms.
    pub fn flag(self) -> CK_FLAGS {
        [CKF_SIGN, CKF_VERIFY][self as usize]
    }

    /// What its key must be allowed to do.
    pub fn permission(self) -> Flags {
        [Flags::SIGN, Flags::VERIFY][self as usize]
    }
}

pub struct Operation {
    /// Before the key: it refers to what the core made of it.
    message: Message,
    /// The result is cut to its first bytes.
    pub len: usize,
    /// Whether a piece has come, so that the message cannot be passed whole any more.
    pub in_pieces: bool,
    _key: Arc<Object>,
}

enum Message {
    Cmac(CmacMessage),
    /// A GCM message without text (SP 800-38D section 3).
    Gmac(GcmMessage),
}

impl Operation {
    pub fn new(key: Arc<Object>, mechanism: CK_MECHANISM_TYPE, p: &Parameter) -> Result<Operation> {
        let message = match mechanism {
            CKM_AES_GMAC => {
                let iv: [u8; 12] = p.array()?;
                // SAFETY: the operation holds the key until the message is gone.
                unsafe { GcmMessage::start(key.secret.key(Mode::Gcm)?, &iv) }.map(Message::Gmac)
            }
            // SAFETY: as above.
            _ => unsafe { CmacMessage::start(key.secret.key(Mode::Cmac)?) }.map(Message::Cmac),
        };
        Ok(Operation {
            message: message.map_err(|e| of_core(e, false))?,
            len: len_of(mechanism, p)?,
            in_pieces: false,
            _key: key,
        })
    }

    pub fn update(&mut self, input: Input) -> Result<()> {
        self.in_pieces = true;
        // SAFETY: nothing is written.
        let data = unsafe { input.bytes() };
        let updated = match &mut self.message {
            Message::Cmac(cmac) => cmac.update(data),
            Message::Gmac(gcm) => gcm.aad(data),
        };
        updated.map_err(|e| of_core(e, false))
    }

    /// Ends the message: the result is the first `len` bytes.
    pub fn finish(&mut self) -> Result<Zeroizing<[u8; WHOLE]>> {
        let mut mac = Zeroizing::new([0; WHOLE]);
        let tag = &mut mac[..self.len];
        let done = match &mut self.message {
            Message::Cmac(cmac) => cmac.tag(tag),
            Message::Gmac(gcm) => gcm.tag(tag),
        };
        done.map_err(|e| of_core(e, false))?;
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

/// The length of the result: of CKM_AES_CMAC_GENERAL the parameter gives it.
fn len_of(mechanism: CK_MECHANISM_TYPE, p: &Parameter) -> Result<usize> {
    match mechanism {
        CKM_AES_CMAC_GENERAL => {
            // SAFETY: the parameter is a number.
            let len: CK_MAC_GENERAL_PARAMS = unsafe { p.read()? };
            match usize::try_from(len) {
                Ok(len) if (1..=WHOLE).contains(&len) => Ok(len),
                _ => fail(CKR_MECHANISM_PARAM_INVALID),
            }
        }
        CKM_AES_GMAC => Ok(WHOLE),
        _ => p.none().map(|()| WHOLE),
    }
}
