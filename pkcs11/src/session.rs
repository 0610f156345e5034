// SPDX-License-Identifier: BSD-2-Clause
//! A session and its operations: at most one of each kind (PKCS#11 section 5.1). An error ends an
//! operation, except CKR_BUFFER_TOO_SMALL.

use crate::attribute::Flags;
use crate::buffers::{Buffers, Input, Output};
use crate::cipher::{self, next_of, Next};
use crate::mac::{self, Purpose};
use crate::mechanism::{self, Parameter, Row};
use crate::object::Object;
use crate::objects::Objects;
use crate::rv::{ensure, Error, Result};
use catalogue::Direction;
use cryptoki_sys::*;
use std::sync::Arc;

pub struct Session {
    pub writes: bool,
    encrypt: cipher::Operation,
    decrypt: cipher::Operation,
    /// By their purpose.
    macs: [Option<mac::Operation>; 2],
    pub find: Option<std::vec::IntoIter<usize>>,
    /// Whether objects may end with it.
    pub has_created: bool,
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

/// A key that may do what the mechanism's row and the flag name.
pub fn usable(
    objects: &Objects,
    handle: CK_OBJECT_HANDLE,
    row: &Row,
    permission: Flags,
) -> Result<Arc<Object>> {
    let object = objects.get(handle, CKR_KEY_HANDLE_INVALID)?;
    let attributes = &object.attributes;
    ensure(
        attributes.key_type == row.key_type,
        CKR_KEY_TYPE_INCONSISTENT,
    )?;
    ensure(object.has(permission), CKR_KEY_FUNCTION_NOT_PERMITTED)?;
    ensure(attributes.allows(row.mechanism), CKR_MECHANISM_INVALID)?;
    Ok(object)
}

/// Writes a MAC, after the last input. Too little room changes nothing.
fn end_mac(op: &mut mac::Operation, input: Option<Input>, mut out: Output<'_>) -> Result<Next> {
    if out.is_query() || out.room() < op.len {
        return out.need(op.len).map(|_| Next::Goes);
    }
    if let Some(input) = input {
        op.update(input)?;
    }
    out.put(&op.finish()?[..op.len]).map(next_of)
}

impl Session {
    pub fn new(writes: bool) -> Session {
        Session {
            writes,
            encrypt: cipher::Operation::new(Direction::Encrypt),
            decrypt: cipher::Operation::new(Direction::Decrypt),
            macs: [None, None],
            find: None,
            has_created: false,
        }
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
    /// operation ends (as in PKCS#11 3.0 section 5.8.1).
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
        let object = usable(objects, key, row, permission)?;
        self.crypt(direction).take(own, (key, row), &object)
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

    fn mac(&mut self, purpose: Purpose) -> &mut Option<mac::Operation> {
        &mut self.macs[purpose as usize]
    }

    /// C_SignInit and C_VerifyInit.
    ///
    /// # Safety
    /// The pointers in the mechanism are valid for their lengths.
    pub unsafe fn mac_init(
        &mut self,
        (_, objects): (CK_SESSION_HANDLE, &Objects),
        purpose: Purpose,
        mechanism: Option<&CK_MECHANISM>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<()> {
        let Some(mechanism) = mechanism else {
            *self.mac(purpose) = None;
            return Ok(());
        };
        ensure(self.mac(purpose).is_none(), CKR_OPERATION_ACTIVE)?;
        let row = mechanism::find(mechanism.mechanism, purpose.flag())?;
        let key = usable(objects, key, row, purpose.permission())?;
        // SAFETY: the caller's.
        let parameter = unsafe { Parameter::new(mechanism)? };
        let operation = mac::Operation::new(key, row.mechanism, &parameter)?;
        *self.mac(purpose) = Some(operation);
        Ok(())
    }

    pub fn mac_update(&mut self, purpose: Purpose, input: Result<Input>) -> Result<()> {
        run(self.mac(purpose), |op| {
            op.update(input?).map(|()| Next::Goes)
        })
    }

    /// C_Sign.
    pub fn mac_whole(&mut self, purpose: Purpose, buffers: Buffers<'_>) -> Result<()> {
        run(self.mac(purpose), |op| {
            let (input, out) = buffers?;
            ensure(!op.in_pieces, CKR_OPERATION_ACTIVE)?;
            end_mac(op, Some(input), out)
        })
    }

    /// C_SignFinal.
    pub fn mac_final(&mut self, purpose: Purpose, out: Result<Output<'_>>) -> Result<()> {
        run(self.mac(purpose), |op| end_mac(op, None, out?))
    }

    /// C_Verify with input, C_VerifyFinal without.
    pub fn verify(&mut self, input: Option<Result<Input>>, signature: Result<Input>) -> Result<()> {
        run(self.mac(Purpose::Verify), |op| {
            let (input, signature) = (input.transpose()?, signature?);
            ensure(input.is_none() || !op.in_pieces, CKR_OPERATION_ACTIVE)?;
            if let Some(input) = input {
                op.update(input)?;
            }
            // SAFETY: nothing is written.
            op.verify(unsafe { signature.bytes() }).map(|()| Next::Ends)
        })
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
