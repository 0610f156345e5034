// SPDX-License-Identifier: BSD-2-Clause
//! Digests and MACs: digesting, signing and verifying, by CMAC, GMAC, HMAC and the hashes.

use crate::attribute::Flags;
use crate::buffers::Input;
use crate::digest::{self, Hash};
use crate::mechanism::Parameter;
use crate::object::Object;
use crate::rv::{ensure, fail, of_core, Error, Result};
use catalogue::Mode;
use cryptoki_sys::*;
use std::sync::Arc;
use tenrounds_sys::{CmacMessage, GcmMessage};
use zeroize::Zeroizing;

/// The longest result, in bytes.
pub const LONGEST: usize = digest::LONGEST;

#[derive(Clone, Copy)]
pub enum Purpose {
    Digest,
    Sign,
    Verify,
}

impl Purpose {
    pub const ALL: [Purpose; 3] = [Purpose::Digest, Purpose::Sign, Purpose::Verify];

    /// The flag of its mechanisms and of C_SessionCancel.
    pub fn flag(self) -> CK_FLAGS {
        [CKF_DIGEST, CKF_SIGN, CKF_VERIFY][self as usize]
    }

    /// What its key must be allowed to do.
    pub fn permission(self) -> Option<Flags> {
        [None, Some(Flags::SIGN), Some(Flags::VERIFY)][self as usize]
    }
}

pub struct Operation {
    /// Before the key: it refers to what the core made of it.
    message: Message,
    /// The result is cut to its first bytes.
    len: usize,
    /// Whether a piece has come, so that the message cannot be passed whole any more.
    in_pieces: bool,
    /// None: a digest.
    key: Option<Arc<Object>>,
}

enum Message {
    Cmac(CmacMessage),
    /// A GCM message without text (SP 800-38D section 3).
    Gmac(GcmMessage),
    Hash(Box<dyn Hash>),
}

impl Operation {
    pub fn new(
        key: Option<Arc<Object>>,
        mechanism: CK_MECHANISM_TYPE,
        p: &Parameter,
    ) -> Result<Operation> {
        let secret = key.as_ref().map(|key| &key.secret);
        let aes = |mode| secret.ok_or(Error(CKR_KEY_HANDLE_INVALID))?.key(mode);
        let (message, whole) = match mechanism {
            CKM_AES_CMAC | CKM_AES_CMAC_GENERAL => {
                // SAFETY: the operation holds the key until the message is gone.
                let message = unsafe { CmacMessage::start(aes(Mode::Cmac)?) };
                (Message::Cmac(message.map_err(|e| of_core(e, false))?), 16)
            }
            CKM_AES_GMAC => {
                let iv: [u8; 12] = p.array()?;
                // SAFETY: as above.
                let message = unsafe { GcmMessage::start(aes(Mode::Gcm)?, &iv) };
                (Message::Gmac(message.map_err(|e| of_core(e, false))?), 16)
            }
            _ => {
                let hash = digest::new(mechanism, secret.map_or(&[], |secret| secret.value()))?;
                if key.is_some() {
                    digest::burn();
                }
                let whole = hash.len();
                (Message::Hash(hash), whole)
            }
        };
        Ok(Operation {
            message,
            len: len_of(mechanism, p, whole)?,
            in_pieces: false,
            key,
        })
    }

    /// The length of the result.
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
            Message::Hash(hash) => {
                hash.update(data);
                Ok(())
            }
        }
    }

    /// Ends the message: the result is the first len() bytes.
    pub fn finish(&mut self) -> Result<Zeroizing<[u8; LONGEST]>> {
        let mut mac = Zeroizing::new([0; LONGEST]);
        match &mut self.message {
            Message::Cmac(cmac) => {
                cmac.tag(&mut mac[..self.len])
                    .map_err(|e| of_core(e, false))?;
            }
            Message::Gmac(gcm) => gcm.tag(&mut mac[..16]).map_err(|e| of_core(e, false))?,
            Message::Hash(hash) => {
                hash.finish(&mut mac);
                if self.key.is_some() {
                    digest::burn();
                }
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

/// The length of the result: of the general mechanisms the parameter gives it.
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
