// SPDX-License-Identifier: BSD-2-Clause
//! A session and its operations: at most one of each kind (PKCS#11 section 5.1). An error ends an
//! operation, except CKR_BUFFER_TOO_SMALL.

use crate::attribute::Flags;
use crate::buffers::{Buffers, Input, Output};
use crate::cipher::{self, next_of, Next};
use crate::digest::Hash;
use crate::mac;
use crate::mechanism::{self, Parameter, Row};
use crate::object::Object;
use crate::objects::Objects;
use crate::rv::{ensure, Error, Result};
use catalogue::Direction;
use cryptoki_sys::*;
use std::sync::{Arc, Weak};

pub struct Session {
    /// The number of its slot.
    pub slot: usize,
    pub writes: bool,
    pub encrypt: cipher::Operation,
    pub decrypt: cipher::Operation,
    pub digest: Option<Digest>,
    pub sign: Option<mac::Operation>,
    pub verify: Option<mac::Operation>,
    pub find: Option<std::vec::IntoIter<usize>>,
    /// Whether objects may end with it.
    pub has_created: bool,
    /// The key that was used last, so that the next operation need not look it up. It does not keep
    /// the key alive.
    recent: (CK_OBJECT_HANDLE, Weak<Object>),
}

pub struct Digest {
    hash: Hash,
    in_pieces: bool,
}

/// Whether an operation is over after a call.
fn ends(result: &Result<Next>) -> bool {
    !matches!(result, Ok(Next::Goes) | Err(Error(CKR_BUFFER_TOO_SMALL)))
}

fn active<T>(slot: &mut Option<T>) -> Result<&mut T> {
    slot.as_mut().ok_or(Error(CKR_OPERATION_NOT_INITIALIZED))
}

/// Runs a call of an operation.
fn run<T>(slot: &mut Option<T>, call: impl FnOnce(&mut T) -> Result<Next>) -> Result<()> {
    let result = call(active(slot)?);
    if ends(&result) {
        *slot = None;
    }
    result.map(|_| ())
}

impl Session {
    pub fn new(slot: usize, writes: bool) -> Session {
        Session {
            slot,
            writes,
            encrypt: cipher::Operation::new(Direction::Encrypt),
            decrypt: cipher::Operation::new(Direction::Decrypt),
            digest: None,
            sign: None,
            verify: None,
            find: None,
            has_created: false,
            recent: (0, Weak::new()),
        }
    }

    /// A key that may do what the mechanism's row and the flag name.
    pub fn key(
        &mut self,
        objects: &Objects,
        handle: CK_OBJECT_HANDLE,
        row: &Row,
        permission: Flags,
    ) -> Result<Arc<Object>> {
        let recent = match self.recent.0 == handle {
            true => self.recent.1.upgrade().filter(|object| !object.is_stale()),
            false => None,
        };
        let object = match recent {
            Some(object) => object,
            None => {
                let found = objects.get(handle as usize).map(|object| object.clone());
                let object = found.ok_or(Error(CKR_KEY_HANDLE_INVALID))?;
                ensure(object.is_key(), CKR_KEY_HANDLE_INVALID)?;
                self.recent = (handle, Arc::downgrade(&object));
                object
            }
        };
        let attributes = &object.attributes;
        let fits = row.takes(attributes.key_type);
        ensure(fits, CKR_KEY_TYPE_INCONSISTENT)?;
        // A key that has expired still opens what it sealed.
        let new = [Flags::ENCRYPT, Flags::SIGN, Flags::WRAP, Flags::DERIVE].contains(&permission);
        let allowed = object.has(permission) && (!new || attributes.is_current());
        ensure(allowed, CKR_KEY_FUNCTION_NOT_PERMITTED)?;
        ensure(attributes.allows(row.mechanism), CKR_MECHANISM_INVALID)?;
        Ok(object)
    }

    fn crypt(&mut self, direction: Direction) -> &mut cipher::Operation {
        match direction {
            Direction::Encrypt => &mut self.encrypt,
            Direction::Decrypt => &mut self.decrypt,
        }
    }

    /// The active operation.
    #[inline]
    fn active_crypt(&mut self, direction: Direction) -> Result<&mut cipher::Operation> {
        let operation = self.crypt(direction);
        ensure(operation.is_active(), CKR_OPERATION_NOT_INITIALIZED)?;
        Ok(operation)
    }

    /// C_EncryptInit and C_DecryptInit in the session `own`. Without a mechanism, the active
    /// operation ends (PKCS#11 3.0 section 5.8.1).
    ///
    /// # Safety
    /// The pointers in the mechanism are valid for their lengths.
    #[inline]
    pub unsafe fn crypt_init(
        &mut self,
        (own, objects): (CK_SESSION_HANDLE, &Objects),
        direction: Direction,
        mechanism: Option<&CK_MECHANISM>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<()> {
        let Some(mechanism) = mechanism else {
            self.crypt(direction).end();
            return Ok(());
        };
        ensure(!self.crypt(direction).is_active(), CKR_OPERATION_ACTIVE)?;
        if !self.crypt(direction).keeps(key, mechanism.mechanism) {
            self.take_key((own, objects), direction, mechanism.mechanism, key)?;
        }
        let operation = self.crypt(direction);
        // SAFETY: the caller's.
        let begun = unsafe { operation.init(mechanism) };
        if begun.is_err() {
            operation.end(); // lets go of a key that is not kept
        }
        begun
    }

    /// Gives an operation a key that the last message did not use, or not with this mechanism.
    #[cold]
    fn take_key(
        &mut self,
        (own, objects): (CK_SESSION_HANDLE, &Objects),
        direction: Direction,
        mechanism: CK_MECHANISM_TYPE,
        key: CK_OBJECT_HANDLE,
    ) -> Result<()> {
        let (does, permission) = match direction {
            Direction::Encrypt => (CKF_ENCRYPT, Flags::ENCRYPT),
            Direction::Decrypt => (CKF_DECRYPT, Flags::DECRYPT),
        };
        let row = mechanism::find(mechanism, does)?;
        let object = self.key(objects, key, row, permission)?;
        self.crypt(direction).take(own, (key, mechanism), &object);
        Ok(())
    }

    /// Lets go of a key that was removed, unless a message uses it.
    pub fn let_go(&mut self, object: &Arc<Object>) {
        self.encrypt.let_go_of(object);
        self.decrypt.let_go_of(object);
    }

    /// Runs a call of the active operation.
    #[inline]
    fn run_crypt(
        &mut self,
        direction: Direction,
        call: impl FnOnce(&mut cipher::Operation) -> Result<Next>,
    ) -> Result<()> {
        let operation = self.active_crypt(direction)?;
        let result = call(operation);
        if ends(&result) {
            operation.end();
        }
        result.map(|_| ())
    }

    #[inline]
    pub fn crypt_whole(&mut self, direction: Direction, buffers: Buffers<'_>) -> Result<()> {
        self.run_crypt(direction, |op| {
            let (input, mut out) = buffers?;
            op.whole(input, &mut out)
        })
    }

    #[inline]
    pub fn crypt_update(&mut self, direction: Direction, buffers: Buffers<'_>) -> Result<()> {
        self.run_crypt(direction, |op| {
            let (input, mut out) = buffers?;
            op.update(input, &mut out)
        })
    }

    pub fn crypt_final(&mut self, direction: Direction, out: Result<Output<'_>>) -> Result<()> {
        self.run_crypt(direction, |op| op.finish(&mut out?))
    }

    pub fn digest_init(&mut self, mechanism: Option<&CK_MECHANISM>) -> Result<()> {
        let Some(mechanism) = mechanism else {
            self.digest = None;
            return Ok(());
        };
        ensure(self.digest.is_none(), CKR_OPERATION_ACTIVE)?;
        let row = mechanism::find(mechanism.mechanism, CKF_DIGEST)?;
        let none = mechanism.ulParameterLen == 0;
        ensure(none, CKR_MECHANISM_PARAM_INVALID)?;
        self.digest = Some(Digest {
            hash: Hash::new(row.mechanism)?,
            in_pieces: false,
        });
        Ok(())
    }

    pub fn digest_whole(&mut self, buffers: Buffers<'_>) -> Result<()> {
        run(&mut self.digest, |digest| {
            let (input, mut out) = buffers?;
            ensure(!digest.in_pieces, CKR_OPERATION_ACTIVE)?;
            if out.is_query() || out.room() < digest.hash.len() {
                return out.need(digest.hash.len()).map(|_| Next::Goes);
            }
            // SAFETY: the data are read before anything is written.
            digest.hash.update(unsafe { input.bytes() });
            out.put(digest.hash.clone().finish().as_slice())
                .map(next_of)
        })
    }

    pub fn digest_update(&mut self, data: Result<&[u8]>) -> Result<()> {
        run(&mut self.digest, |digest| {
            digest.hash.update(data?);
            digest.in_pieces = true;
            Ok(Next::Goes)
        })
    }

    pub fn digest_final(&mut self, out: Result<Output<'_>>) -> Result<()> {
        run(&mut self.digest, |digest| {
            out?.put(digest.hash.clone().finish().as_slice())
                .map(next_of)
        })
    }

    fn mac_slot(&mut self, verifies: bool) -> &mut Option<mac::Operation> {
        match verifies {
            false => &mut self.sign,
            true => &mut self.verify,
        }
    }

    /// C_SignInit and C_VerifyInit.
    ///
    /// # Safety
    /// The pointers in the mechanism are valid for their lengths.
    pub unsafe fn mac_init(
        &mut self,
        objects: &Objects,
        verifies: bool,
        mechanism: Option<&CK_MECHANISM>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<()> {
        let Some(mechanism) = mechanism else {
            *self.mac_slot(verifies) = None;
            return Ok(());
        };
        ensure(self.mac_slot(verifies).is_none(), CKR_OPERATION_ACTIVE)?;
        let (does, permission) = match verifies {
            false => (CKF_SIGN, Flags::SIGN),
            true => (CKF_VERIFY, Flags::VERIFY),
        };
        let row = mechanism::find(mechanism.mechanism, does)?;
        let object = self.key(objects, key, row, permission)?;
        // SAFETY: the caller's.
        let parameter = unsafe { Parameter::new(mechanism)? };
        let operation = mac::Operation::new(object, row.mechanism, &parameter)?;
        *self.mac_slot(verifies) = Some(operation);
        Ok(())
    }

    pub fn mac_update(&mut self, verifies: bool, input: Result<Input>) -> Result<()> {
        run(self.mac_slot(verifies), |op| {
            op.update(input?).map(|()| Next::Goes)
        })
    }

    /// C_Sign with input, C_SignFinal without.
    pub fn sign(&mut self, input: Option<Result<Input>>, out: Result<Output<'_>>) -> Result<()> {
        run(&mut self.sign, |op| {
            let (input, mut out) = (input.transpose()?, out?);
            ensure(input.is_none() || !op.is_in_pieces(), CKR_OPERATION_ACTIVE)?;
            if out.is_query() || out.room() < op.len() {
                return out.need(op.len()).map(|_| Next::Goes);
            }
            if let Some(input) = input {
                op.update(input)?;
            }
            out.put(&op.finish()?[..op.len()]).map(next_of)
        })
    }

    /// C_Verify with input, C_VerifyFinal without.
    pub fn verify(&mut self, input: Option<Result<Input>>, signature: Result<Input>) -> Result<()> {
        run(&mut self.verify, |op| {
            let (input, signature) = (input.transpose()?, signature?);
            ensure(input.is_none() || !op.is_in_pieces(), CKR_OPERATION_ACTIVE)?;
            if let Some(input) = input {
                op.update(input)?;
            }
            // SAFETY: nothing is written.
            op.verify(unsafe { signature.bytes() }).map(|()| Next::Ends)
        })
    }

    /// C_DigestEncryptUpdate and C_SignEncryptUpdate: the plaintext goes to both operations, unless
    /// the caller only asks for a length or has too little room. An error ends both.
    pub fn encrypt_beside(&mut self, signs: bool, buffers: Buffers<'_>) -> Result<()> {
        self.active_crypt(Direction::Encrypt)?;
        self.beside(signs, false)?;
        let result = self.try_encrypt_beside(signs, buffers);
        if !matches!(result, Ok(()) | Err(Error(CKR_BUFFER_TOO_SMALL))) {
            self.encrypt.end();
            self.end_beside(signs, false);
        }
        result
    }

    fn try_encrypt_beside(&mut self, signs: bool, buffers: Buffers<'_>) -> Result<()> {
        let (input, mut out) = buffers?;
        let need = self.encrypt.update_len(input.len())?;
        if out.is_query() || out.room() < need {
            return out.need(need).map(|_| ());
        }
        match signs {
            true => self.mac_update(false, Ok(input))?,
            // SAFETY: the data are read before anything is written.
            false => self.digest_update(Ok(unsafe { input.bytes() }))?,
        }
        self.crypt_update(Direction::Encrypt, Ok((input, out)))
    }

    /// C_DecryptDigestUpdate and C_DecryptVerifyUpdate.
    pub fn decrypt_beside(&mut self, verifies: bool, buffers: Buffers<'_>) -> Result<()> {
        self.active_crypt(Direction::Decrypt)?;
        self.beside(verifies, true)?;
        let result = self.try_decrypt_beside(verifies, buffers);
        if !matches!(result, Ok(()) | Err(Error(CKR_BUFFER_TOO_SMALL))) {
            self.decrypt.end();
            self.end_beside(verifies, true);
        }
        result
    }

    fn try_decrypt_beside(&mut self, verifies: bool, buffers: Buffers<'_>) -> Result<()> {
        let (input, mut out) = buffers?;
        self.decrypt.update(input, &mut out)?;
        let Some(text) = out.written() else {
            return Ok(()); // only the length was asked for
        };
        match verifies {
            true => self.mac_update(true, Ok(text)),
            // SAFETY: the call above wrote it, and nobody writes now.
            false => self.digest_update(Ok(unsafe { text.bytes() })),
        }
    }

    /// Checks that the digest or MAC beside a cipher is active.
    fn beside(&mut self, mac: bool, decrypts: bool) -> Result<()> {
        match mac {
            true => active(self.mac_slot(decrypts)).map(|_| ()),
            false => active(&mut self.digest).map(|_| ()),
        }
    }

    fn end_beside(&mut self, mac: bool, decrypts: bool) {
        match mac {
            true => *self.mac_slot(decrypts) = None,
            false => self.digest = None,
        }
    }

    /// C_SessionCancel. Operations that the module does not have are never active.
    pub fn cancel(&mut self, flags: CK_FLAGS) {
        if flags & CKF_ENCRYPT != 0 {
            self.encrypt.end();
        }
        if flags & CKF_DECRYPT != 0 {
            self.decrypt.end();
        }
        if flags & CKF_DIGEST != 0 {
            self.digest = None;
        }
        if flags & CKF_SIGN != 0 {
            self.sign = None;
        }
        if flags & CKF_VERIFY != 0 {
            self.verify = None;
        }
        if flags & CKF_FIND_OBJECTS != 0 {
            self.find = None;
        }
    }

    /// C_FindObjects: the next handles. Wrong arguments end the search.
    pub fn found(&mut self, most: Result<usize>) -> Result<impl Iterator<Item = usize> + '_> {
        active(&mut self.find)?;
        if most.is_err() {
            self.find = None;
        }
        Ok(self.find.iter_mut().flatten().take(most?))
    }
}
