// SPDX-License-Identifier: BSD-2-Clause
//! The functions of Cryptoki, as C calls them. Each checks its pointers, and calls the module. A
//! panic does not leave the module: it becomes CKR_GENERAL_ERROR.
//!
//! Safety of all of them: pointers that are not NULL are valid for their lengths during the call,
//! as the standard demands.

// The names are those of C. The two lints of clippy would have this file repeat the sentence above
// before each function and block: all of them rely on it, and on nothing else.
#![allow(
    non_snake_case,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks
)]

use crate::attribute::{attributes, count_of, Flags, Template};
use crate::buffers::{buffers, with_room, zeros, Input, Output};
use crate::cipher;
use crate::information;
use crate::keys;
use crate::mechanism::{self, Parameter};
use crate::module::{self, current, settle};
use crate::object::{Object, Reading, MOST_SECRET};
use crate::objects::is_unsettled;
use crate::rv::{ensure, fail, Error, Result};
use crate::session::Session;
use crate::slab::Guard;
use crate::slot::Slot;
use catalogue::Direction;
use cryptoki_sys::*;
use std::ffi::c_void;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::addr_of;
use std::sync::Arc;
use token::{Role, LABEL_LEN};
use zeroize::Zeroizing;

pub(crate) fn guard(call: impl FnOnce() -> Result<()>) -> CK_RV {
    let call = || {
        let result = call();
        if is_unsettled() {
            settle();
        }
        result
    };
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => CKR_OK,
        Ok(Err(Error(code))) => code,
        Err(_) => CKR_GENERAL_ERROR,
    }
}

/// Defines functions: those of the standard, with a body that returns a Result.
macro_rules! functions {
    ($($name:ident($($arg:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[no_mangle]
        pub unsafe extern "C" fn $name($($arg: $type),*) -> CK_RV {
            guard(|| $body)
        }
    )*};
}

/// Defines functions that the module does not have.
macro_rules! refused {
    ($code:ident; $($name:ident($($type:ty),* $(,)?);)*) => {$(
        #[no_mangle]
        pub unsafe extern "C" fn $name($(_: $type),*) -> CK_RV {
            guard(|| current().and_then(|_| fail($code)))
        }
    )*};
}

unsafe fn put<T>(to: *mut T, value: T) -> Result<()> {
    ensure(!to.is_null(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: the caller's.
    unsafe { to.write(value) };
    Ok(())
}

/// Writes a list, or only its length.
unsafe fn put_list<T: Copy>(list: &[T], to: *mut T, count: *mut CK_ULONG) -> Result<()> {
    // SAFETY: the caller's.
    let count = unsafe { count.as_mut() }.ok_or(Error(CKR_ARGUMENTS_BAD))?;
    let room = std::mem::replace(count, list.len() as CK_ULONG);
    if to.is_null() {
        return Ok(());
    }
    ensure(room >= list.len() as CK_ULONG, CKR_BUFFER_TOO_SMALL)?;
    // SAFETY: the caller's, and there is room.
    unsafe { std::ptr::copy_nonoverlapping(list.as_ptr(), to, list.len()) };
    Ok(())
}

fn slot(id: CK_SLOT_ID) -> Result<&'static Slot> {
    current()?.slot(id)
}

/// A session, locked, and its slot.
fn opened(handle: CK_SESSION_HANDLE) -> Result<(Guard<'static, Session>, &'static Slot)> {
    current()?.session(handle)
}

/// A session, locked, for calls that need no objects.
fn locked(handle: CK_SESSION_HANDLE) -> Result<Guard<'static, Session>> {
    current()?.locked(handle)
}

/// A PIN. A module without a keypad of its own needs one.
unsafe fn pin<'a>(pin: *const CK_UTF8CHAR, len: CK_ULONG) -> Result<&'a [u8]> {
    ensure(!pin.is_null(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: the caller's; nobody writes to it.
    Ok(unsafe { Input::new(pin, len)?.bytes() })
}

/// Reads the arguments of C_Initialize. The module locks by the operating system's means, so it can
/// not use other ones.
unsafe fn check_arguments(arguments: *mut c_void) -> Result<()> {
    // SAFETY: the caller's.
    let Some(arguments) = (unsafe { arguments.cast::<CK_C_INITIALIZE_ARGS>().as_ref() }) else {
        return Ok(());
    };
    ensure(arguments.pReserved.is_null(), CKR_ARGUMENTS_BAD)?;
    let given = [
        arguments.CreateMutex.is_some(),
        arguments.DestroyMutex.is_some(),
        arguments.LockMutex.is_some(),
        arguments.UnlockMutex.is_some(),
    ];
    let (all, none) = (given == [true; 4], given == [false; 4]);
    ensure(all || none, CKR_ARGUMENTS_BAD)?;
    let system = arguments.flags & CKF_OS_LOCKING_OK != 0;
    ensure(none || system, CKR_CANT_LOCK)
}

functions! {
    C_Initialize(arguments: *mut c_void) {
        unsafe { check_arguments(arguments)? };
        module::initialize()
    }

    C_Finalize(reserved: *mut c_void) {
        ensure(reserved.is_null(), CKR_ARGUMENTS_BAD)?;
        module::finalize()
    }

    C_GetInfo(info: *mut CK_INFO) {
        current()?;
        unsafe { put(info, information::of_library()) }
    }

    C_GetFunctionList(list: *mut *mut CK_FUNCTION_LIST) {
        unsafe { put(list, addr_of!(LIST).cast_mut()) }
    }

    C_GetInterfaceList(list: *mut CK_INTERFACE, count: *mut CK_ULONG) {
        unsafe { put_list(&interfaces(), list, count) }
    }

    C_GetInterface(
        name: *mut CK_UTF8CHAR,
        version: *mut CK_VERSION,
        interface: *mut *mut CK_INTERFACE,
        flags: CK_FLAGS,
    ) {
        unsafe { find_interface(name, version, interface, flags) }
    }

    C_GetSlotList(_present: CK_BBOOL, list: *mut CK_SLOT_ID, count: *mut CK_ULONG) {
        let module = current()?;
        unsafe { put_list(&module.slots(), list, count) }
    }

    C_GetSlotInfo(id: CK_SLOT_ID, info: *mut CK_SLOT_INFO) {
        unsafe { put(info, information::of_slot(slot(id)?)) }
    }

    C_GetTokenInfo(id: CK_SLOT_ID, info: *mut CK_TOKEN_INFO) {
        unsafe { put(info, information::of_token(slot(id)?)?) }
    }

    C_GetMechanismList(id: CK_SLOT_ID, list: *mut CK_MECHANISM_TYPE, count: *mut CK_ULONG) {
        slot(id)?;
        let types: Vec<_> = mechanism::TABLE.iter().map(|row| row.mechanism).collect();
        unsafe { put_list(&types, list, count) }
    }

    C_GetMechanismInfo(
        id: CK_SLOT_ID,
        mechanism: CK_MECHANISM_TYPE,
        info: *mut CK_MECHANISM_INFO,
    ) {
        slot(id)?;
        let row = mechanism::TABLE.iter().find(|row| row.mechanism == mechanism);
        let row = row.ok_or(Error(CKR_MECHANISM_INVALID))?;
        unsafe { put(info, row.info()) }
    }

    C_OpenSession(
        id: CK_SLOT_ID,
        flags: CK_FLAGS,
        _application: *mut c_void,
        _notify: CK_NOTIFY,
        session: *mut CK_SESSION_HANDLE,
    ) {
        slot(id)?;
        ensure(flags & CKF_SERIAL_SESSION != 0, CKR_SESSION_PARALLEL_NOT_SUPPORTED)?;
        ensure(!session.is_null(), CKR_ARGUMENTS_BAD)?;
        unsafe { put(session, current()?.open(id, flags & CKF_RW_SESSION != 0)?) }
    }

    C_CloseSession(session: CK_SESSION_HANDLE) {
        current()?.close(session)
    }

    C_CloseAllSessions(id: CK_SLOT_ID) {
        current()?.close_slot(id)
    }

    C_GetSessionInfo(session: CK_SESSION_HANDLE, info: *mut CK_SESSION_INFO) {
        let (session, slot) = opened(session)?;
        unsafe { put(info, information::of_session(&session, slot)) }
    }

    C_SessionCancel(session: CK_SESSION_HANDLE, flags: CK_FLAGS) {
        locked(session)?.cancel(flags);
        Ok(())
    }

    C_CreateObject(
        session: CK_SESSION_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        object: *mut CK_OBJECT_HANDLE,
    ) {
        let (mut owner, slot) = opened(session)?;
        ensure(!object.is_null(), CKR_ARGUMENTS_BAD)?;
        let template = unsafe { Template::new(template, count)? };
        let created = keys::create(&template, session)?;
        unsafe { put(object, slot.add(&mut owner, created)?) }
    }

    C_CopyObject(
        session: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        copy: *mut CK_OBJECT_HANDLE,
    ) {
        let (mut owner, slot) = opened(session)?;
        ensure(!copy.is_null(), CKR_ARGUMENTS_BAD)?;
        let template = unsafe { Template::new(template, count)? };
        unsafe { put(copy, slot.copy((session, &mut owner), object, &template)?) }
    }

    C_DestroyObject(session: CK_SESSION_HANDLE, object: CK_OBJECT_HANDLE) {
        let (session, slot) = opened(session)?;
        slot.destroy(&session, object)
    }

    C_GetObjectSize(
        session: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        size: *mut CK_ULONG,
    ) {
        let (_, slot) = opened(session)?;
        unsafe { put(size, slot.object(object)?.secret.value().len() as CK_ULONG) }
    }

    C_GetAttributeValue(
        session: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
    ) {
        let (_, slot) = opened(session)?;
        unsafe { read_attributes(slot, object, template, count) }
    }

    C_SetAttributeValue(
        session: CK_SESSION_HANDLE,
        object: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
    ) {
        let (session, slot) = opened(session)?;
        slot.change(&session, object, unsafe { &Template::new(template, count)? })
    }

    C_FindObjectsInit(
        session: CK_SESSION_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
    ) {
        let (mut session, slot) = opened(session)?;
        ensure(session.find.is_none(), CKR_OPERATION_ACTIVE)?;
        let found = match unsafe { Template::new(template, count) } {
            Ok(template) => slot.find(&template)?,
            // No object has such an attribute. Programs look for certificates in every token.
            Err(Error(CKR_ATTRIBUTE_TYPE_INVALID | CKR_ATTRIBUTE_VALUE_INVALID)) => Vec::new(),
            Err(error) => return Err(error),
        };
        session.find = Some(found.into_iter());
        Ok(())
    }

    C_FindObjects(
        session: CK_SESSION_HANDLE,
        objects: *mut CK_OBJECT_HANDLE,
        most: CK_ULONG,
        count: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let right = !count.is_null() && (!objects.is_null() || most == 0);
        let most = ensure(right, CKR_ARGUMENTS_BAD)
            .and_then(|()| count_of(most, size_of::<CK_OBJECT_HANDLE>()));
        let mut n = 0;
        for handle in session.found(most)? {
            unsafe { objects.add(n).write(handle as CK_OBJECT_HANDLE) };
            n += 1;
        }
        unsafe { put(count, n as CK_ULONG) }
    }

    C_FindObjectsFinal(session: CK_SESSION_HANDLE) {
        let mut session = locked(session)?;
        session.find.take().map(|_| ()).ok_or(Error(CKR_OPERATION_NOT_INITIALIZED))
    }

    C_EncryptInit(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
    ) {
        unsafe { crypt_init(session, Direction::Encrypt, mechanism, key) }
    }

    C_Encrypt(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.crypt_whole(Direction::Encrypt, buffers)
    }

    C_EncryptUpdate(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.crypt_update(Direction::Encrypt, buffers)
    }

    C_EncryptFinal(session: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let mut session = locked(session)?;
        session.crypt_final(Direction::Encrypt, unsafe { Output::new(out, out_len) })
    }

    C_DecryptInit(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
    ) {
        unsafe { crypt_init(session, Direction::Decrypt, mechanism, key) }
    }

    C_Decrypt(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.crypt_whole(Direction::Decrypt, buffers)
    }

    C_DecryptUpdate(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.crypt_update(Direction::Decrypt, buffers)
    }

    C_DecryptFinal(session: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let mut session = locked(session)?;
        session.crypt_final(Direction::Decrypt, unsafe { Output::new(out, out_len) })
    }

    C_DigestInit(session: CK_SESSION_HANDLE, mechanism: *mut CK_MECHANISM) {
        let mut session = locked(session)?;
        session.digest_init(unsafe { mechanism.as_ref() })
    }

    C_Digest(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.digest_whole(buffers)
    }

    C_DigestUpdate(session: CK_SESSION_HANDLE, data: *mut CK_BYTE, len: CK_ULONG) {
        let mut session = locked(session)?;
        session.digest_update(unsafe { Input::new(data, len).map(|data| data.bytes()) })
    }

    C_DigestKey(session: CK_SESSION_HANDLE, key: CK_OBJECT_HANDLE) {
        let (mut session, slot) = opened(session)?;
        let object = digestible(slot, key);
        session.digest_update(object.as_ref().map(|object| object.secret.value()).map_err(|e| *e))
    }

    C_DigestFinal(session: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let mut session = locked(session)?;
        session.digest_final(unsafe { Output::new(out, out_len) })
    }

    C_SignInit(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
    ) {
        unsafe { mac_init(session, false, mechanism, key) }
    }

    C_Sign(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let (input, out) = unsafe { (Input::new(data, len), Output::new(out, out_len)) };
        session.sign(Some(input), out)
    }

    C_SignUpdate(session: CK_SESSION_HANDLE, data: *mut CK_BYTE, len: CK_ULONG) {
        let mut session = locked(session)?;
        session.mac_update(false, unsafe { Input::new(data, len) })
    }

    C_SignFinal(session: CK_SESSION_HANDLE, out: *mut CK_BYTE, out_len: *mut CK_ULONG) {
        let mut session = locked(session)?;
        session.sign(None, unsafe { Output::new(out, out_len) })
    }

    C_VerifyInit(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        key: CK_OBJECT_HANDLE,
    ) {
        unsafe { mac_init(session, true, mechanism, key) }
    }

    C_Verify(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        signature: *mut CK_BYTE,
        signature_len: CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let input = unsafe { Input::new(data, len) };
        session.verify(Some(input), unsafe { Input::new(signature, signature_len) })
    }

    C_VerifyUpdate(session: CK_SESSION_HANDLE, data: *mut CK_BYTE, len: CK_ULONG) {
        let mut session = locked(session)?;
        session.mac_update(true, unsafe { Input::new(data, len) })
    }

    C_VerifyFinal(
        session: CK_SESSION_HANDLE,
        signature: *mut CK_BYTE,
        signature_len: CK_ULONG,
    ) {
        let mut session = locked(session)?;
        session.verify(None, unsafe { Input::new(signature, signature_len) })
    }

    C_DigestEncryptUpdate(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.encrypt_beside(false, buffers)
    }

    C_SignEncryptUpdate(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.encrypt_beside(true, buffers)
    }

    C_DecryptDigestUpdate(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.decrypt_beside(false, buffers)
    }

    C_DecryptVerifyUpdate(
        session: CK_SESSION_HANDLE,
        data: *mut CK_BYTE,
        len: CK_ULONG,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        let mut session = locked(session)?;
        let buffers = unsafe { buffers(data, len, out, out_len) };
        session.decrypt_beside(true, buffers)
    }

    C_GenerateKey(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let (mut owner, slot) = opened(session)?;
        let mechanism = unsafe { mechanism.as_ref() }.ok_or(Error(CKR_ARGUMENTS_BAD))?;
        ensure(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let row = mechanism::find(mechanism.mechanism, CKF_GENERATE)?;
        unsafe { Parameter::new(mechanism)? }.none()?;
        let key_type = row.key_type.ok_or(Error(CKR_GENERAL_ERROR))?;
        let template = unsafe { Template::new(template, count)? };
        let object = keys::generate(row.mechanism, key_type, &template, session)?;
        unsafe { put(key, slot.add(&mut owner, object)?) }
    }

    C_WrapKey(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        wrapping: CK_OBJECT_HANDLE,
        key: CK_OBJECT_HANDLE,
        out: *mut CK_BYTE,
        out_len: *mut CK_ULONG,
    ) {
        unsafe { wrap(session, mechanism, wrapping, key, Output::new(out, out_len)) }
    }

    C_UnwrapKey(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        unwrapping: CK_OBJECT_HANDLE,
        wrapped: *mut CK_BYTE,
        len: CK_ULONG,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let (mut owner, slot) = opened(session)?;
        ensure(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let (wrapped, template) =
            unsafe { (Input::new(wrapped, len)?, Template::new(template, count)?) };
        let (mechanism, by) = unsafe { unwrapping_by(slot, &mut owner, mechanism, unwrapping)? };
        let object = unsafe { unwrap(mechanism, by, wrapped, &template, session)? };
        unsafe { put(key, slot.add(&mut owner, object)?) }
    }

    C_DeriveKey(
        session: CK_SESSION_HANDLE,
        mechanism: *mut CK_MECHANISM,
        base: CK_OBJECT_HANDLE,
        template: *mut CK_ATTRIBUTE,
        count: CK_ULONG,
        key: *mut CK_OBJECT_HANDLE,
    ) {
        let (mut owner, slot) = opened(session)?;
        let mechanism = unsafe { mechanism.as_ref() }.ok_or(Error(CKR_ARGUMENTS_BAD))?;
        ensure(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let row = mechanism::find(mechanism.mechanism, CKF_DERIVE)?;
        let base = owner.key(&slot.objects, base, row, Flags::DERIVE)?;
        let template = unsafe { Template::new(template, count)? };
        let object = unsafe {
            keys::derive(&base, row.mechanism, &Parameter::new(mechanism)?, &template, session)?
        };
        unsafe { put(key, slot.add(&mut owner, object)?) }
    }

    C_SeedRandom(session: CK_SESSION_HANDLE, _seed: *mut CK_BYTE, _len: CK_ULONG) {
        locked(session)?;
        fail(CKR_RANDOM_SEED_NOT_SUPPORTED)
    }

    C_GenerateRandom(session: CK_SESSION_HANDLE, out: *mut CK_BYTE, len: CK_ULONG) {
        locked(session)?;
        let len = count_of(len, 1)?;
        ensure(!out.is_null() || len == 0, CKR_ARGUMENTS_BAD)?;
        if len == 0 {
            return Ok(());
        }
        keys::random(unsafe { std::slice::from_raw_parts_mut(out, len) })
    }

    C_WaitForSlotEvent(flags: CK_FLAGS, _slot: *mut CK_SLOT_ID, _reserved: *mut c_void) {
        current()?;
        // Slots never change, so only a call that does not wait ends.
        fail(match flags & CKF_DONT_BLOCK {
            0 => CKR_FUNCTION_NOT_SUPPORTED,
            _ => CKR_NO_EVENT,
        })
    }

    C_GetOperationState(
        session: CK_SESSION_HANDLE,
        _state: *mut CK_BYTE,
        _len: *mut CK_ULONG,
    ) {
        // It would have to hold the key.
        locked(session)?;
        fail(CKR_STATE_UNSAVEABLE)
    }

    C_SetOperationState(
        session: CK_SESSION_HANDLE,
        _state: *mut CK_BYTE,
        _len: CK_ULONG,
        _encryption_key: CK_OBJECT_HANDLE,
        _authentication_key: CK_OBJECT_HANDLE,
    ) {
        locked(session)?;
        fail(CKR_SAVED_STATE_INVALID)
    }

    C_InitToken(
        id: CK_SLOT_ID,
        so_pin: *mut CK_UTF8CHAR,
        len: CK_ULONG,
        label: *mut CK_UTF8CHAR,
    ) {
        let slot = slot(id)?;
        let token = slot.token(CKR_TOKEN_WRITE_PROTECTED)?;
        ensure(slot.sessions().0 == 0, CKR_SESSION_EXISTS)?;
        ensure(!label.is_null(), CKR_ARGUMENTS_BAD)?;
        let label = unsafe { label.cast::<[u8; LABEL_LEN]>().as_ref() };
        let label = label.ok_or(Error(CKR_ARGUMENTS_BAD))?;
        token.initialize(&slot.objects, unsafe { pin(so_pin, len)? }, label)
    }

    C_InitPIN(session: CK_SESSION_HANDLE, user_pin: *mut CK_UTF8CHAR, len: CK_ULONG) {
        let (_session, slot) = opened(session)?;
        let token = slot.token(CKR_USER_NOT_LOGGED_IN)?;
        token.init_pin(&slot.objects, unsafe { pin(user_pin, len)? })
    }

    C_SetPIN(
        session: CK_SESSION_HANDLE,
        old: *mut CK_UTF8CHAR,
        old_len: CK_ULONG,
        new: *mut CK_UTF8CHAR,
        new_len: CK_ULONG,
    ) {
        let (session, slot) = opened(session)?;
        let token = slot.token(CKR_TOKEN_WRITE_PROTECTED)?;
        ensure(session.writes, CKR_SESSION_READ_ONLY)?;
        drop(session); // the old PIN may have to wait
        let (old, new) = unsafe { (pin(old, old_len)?, pin(new, new_len)?) };
        token.set_pin(&slot.objects, old, new)
    }

    C_Login(
        session: CK_SESSION_HANDLE,
        user: CK_USER_TYPE,
        user_pin: *mut CK_UTF8CHAR,
        len: CK_ULONG,
    ) {
        unsafe { login(session, user, pin(user_pin, len)) }
    }

    C_LoginUser(
        session: CK_SESSION_HANDLE,
        user: CK_USER_TYPE,
        user_pin: *mut CK_UTF8CHAR,
        len: CK_ULONG,
        _name: *mut CK_UTF8CHAR,
        name_len: CK_ULONG,
    ) {
        locked(session)?;
        // A token has one user, who has no name.
        ensure(name_len == 0, CKR_ARGUMENTS_BAD)?;
        unsafe { login(session, user, pin(user_pin, len)) }
    }

    C_Logout(session: CK_SESSION_HANDLE) {
        let (_session, slot) = opened(session)?;
        slot.token(CKR_USER_NOT_LOGGED_IN)?.logout(&slot.objects)
    }
}

type Bytes = *mut CK_BYTE;
type Handle = CK_SESSION_HANDLE;
type Key = CK_OBJECT_HANDLE;
type Mechanism = *mut CK_MECHANISM;
type Long = CK_ULONG;

refused! {
    CKR_FUNCTION_NOT_SUPPORTED;
    C_SignRecoverInit(Handle, Mechanism, Key);
    C_SignRecover(Handle, Bytes, Long, Bytes, *mut Long);
    C_VerifyRecoverInit(Handle, Mechanism, Key);
    C_VerifyRecover(Handle, Bytes, Long, Bytes, *mut Long);
    C_GenerateKeyPair(
        Handle, Mechanism, *mut CK_ATTRIBUTE, Long, *mut CK_ATTRIBUTE, Long, *mut Key, *mut Key,
    );
    C_MessageEncryptInit(Handle, Mechanism, Key);
    C_EncryptMessage(
        Handle, *mut c_void, Long, Bytes, Long, Bytes, Long, Bytes, *mut Long,
    );
    C_EncryptMessageBegin(Handle, *mut c_void, Long, Bytes, Long);
    C_EncryptMessageNext(Handle, *mut c_void, Long, Bytes, Long, Bytes, *mut Long, CK_FLAGS);
    C_MessageEncryptFinal(Handle);
    C_MessageDecryptInit(Handle, Mechanism, Key);
    C_DecryptMessage(
        Handle, *mut c_void, Long, Bytes, Long, Bytes, Long, Bytes, *mut Long,
    );
    C_DecryptMessageBegin(Handle, *mut c_void, Long, Bytes, Long);
    C_DecryptMessageNext(Handle, *mut c_void, Long, Bytes, Long, Bytes, *mut Long, CK_FLAGS);
    C_MessageDecryptFinal(Handle);
    C_MessageSignInit(Handle, Mechanism, Key);
    C_SignMessage(Handle, *mut c_void, Long, Bytes, Long, Bytes, *mut Long);
    C_SignMessageBegin(Handle, *mut c_void, Long);
    C_SignMessageNext(Handle, *mut c_void, Long, Bytes, Long, Bytes, *mut Long);
    C_MessageSignFinal(Handle);
    C_MessageVerifyInit(Handle, Mechanism, Key);
    C_VerifyMessage(Handle, *mut c_void, Long, Bytes, Long, Bytes, Long);
    C_VerifyMessageBegin(Handle, *mut c_void, Long);
    C_VerifyMessageNext(Handle, *mut c_void, Long, Bytes, Long, Bytes, Long);
    C_MessageVerifyFinal(Handle);
}

refused! {
    CKR_FUNCTION_NOT_PARALLEL;
    C_GetFunctionStatus(Handle);
    C_CancelFunction(Handle);
}

unsafe fn crypt_init(
    session: CK_SESSION_HANDLE,
    direction: Direction,
    mechanism: *mut CK_MECHANISM,
    key: CK_OBJECT_HANDLE,
) -> Result<()> {
    let module = current()?;
    let mut locked = module.locked(session)?;
    let objects = &module.slot_of(&locked).objects;
    // SAFETY: the caller's.
    unsafe { locked.crypt_init((session, objects), direction, mechanism.as_ref(), key) }
}

unsafe fn mac_init(
    session: CK_SESSION_HANDLE,
    verifies: bool,
    mechanism: *mut CK_MECHANISM,
    key: CK_OBJECT_HANDLE,
) -> Result<()> {
    let (mut session, slot) = opened(session)?;
    // SAFETY: the caller's.
    unsafe { session.mac_init(&slot.objects, verifies, mechanism.as_ref(), key) }
}

/// C_Login. The session stays unlocked while the PIN is checked, so that the wait after wrong PINs
/// does not hold up C_CloseSession and C_Finalize.
fn login(handle: CK_SESSION_HANDLE, user: CK_USER_TYPE, pin: Result<&[u8]>) -> Result<()> {
    let (session, slot) = opened(handle)?;
    let token = slot.token(CKR_USER_PIN_NOT_INITIALIZED)?;
    let role = match user {
        CKU_USER => Role::User,
        CKU_SO => Role::SecurityOfficer,
        CKU_CONTEXT_SPECIFIC => return fail(CKR_OPERATION_NOT_INITIALIZED),
        _ => return fail(CKR_USER_TYPE_INVALID),
    };
    let admits = || {
        let (all, writing) = slot.sessions();
        let reads_only = role == Role::SecurityOfficer && all != writing;
        ensure(!reads_only, CKR_SESSION_READ_ONLY_EXISTS)
    };
    admits()?;
    drop(session);
    let master = token.check_pin(role, pin?)?;
    // The session, or the whole module, may have been closed.
    let (_session, now) = opened(handle)?;
    ensure(std::ptr::eq(now, slot), CKR_SESSION_HANDLE_INVALID)?;
    admits()?;
    token.login(&slot.objects, role, master)
}

/// Fills in a template. Every attribute is tried, and one of the errors is returned (PKCS#11
/// section 5.7.5).
unsafe fn read_attributes(
    slot: &Slot,
    handle: CK_OBJECT_HANDLE,
    template: *mut CK_ATTRIBUTE,
    count: CK_ULONG,
) -> Result<()> {
    let object = slot.object(handle)?;
    // SAFETY: the caller's.
    let count = unsafe { attributes(template, count)? }.len();
    let mut result = Ok(());
    for i in 0..count {
        // SAFETY: the caller's.
        let attribute = unsafe { &mut *template.add(i) };
        let room = attribute.ulValueLen;
        attribute.ulValueLen = CK_UNAVAILABLE_INFORMATION;
        let bytes = match object.read(attribute.type_, handle) {
            Reading::Bytes(bytes) => bytes,
            Reading::Missing => {
                result = fail(CKR_ATTRIBUTE_TYPE_INVALID);
                continue;
            }
            Reading::Hidden => {
                result = fail(CKR_ATTRIBUTE_SENSITIVE);
                continue;
            }
        };
        let len = bytes.len() as CK_ULONG;
        if attribute.pValue.is_null() {
            attribute.ulValueLen = len;
        } else if room < len {
            result = fail(CKR_BUFFER_TOO_SMALL);
        } else {
            let to = attribute.pValue.cast();
            // SAFETY: the caller's, and there is room.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
            attribute.ulValueLen = len;
        }
    }
    result
}

/// A key that C_DigestKey takes. The digest of a short key tells the key.
fn digestible(slot: &Slot, key: CK_OBJECT_HANDLE) -> Result<Arc<Object>> {
    let object = slot
        .object(key)
        .map_err(|_| Error(CKR_KEY_HANDLE_INVALID))?;
    ensure(object.is_key(), CKR_KEY_HANDLE_INVALID)?;
    let open = object.has(Flags::EXTRACTABLE) && !object.has(Flags::SENSITIVE);
    ensure(open, CKR_KEY_INDIGESTIBLE)?;
    Ok(object)
}

/// Names the handle that is wrong: a wrapping key has codes of its own.
fn of_wrapping(error: Error) -> Error {
    Error(match error.0 {
        CKR_KEY_HANDLE_INVALID => CKR_WRAPPING_KEY_HANDLE_INVALID,
        CKR_KEY_TYPE_INCONSISTENT => CKR_WRAPPING_KEY_TYPE_INCONSISTENT,
        code => code,
    })
}

fn of_unwrapping(error: Error) -> Error {
    Error(match error.0 {
        CKR_KEY_HANDLE_INVALID => CKR_UNWRAPPING_KEY_HANDLE_INVALID,
        CKR_KEY_TYPE_INCONSISTENT => CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT,
        CKR_ENCRYPTED_DATA_INVALID => CKR_WRAPPED_KEY_INVALID,
        CKR_ENCRYPTED_DATA_LEN_RANGE => CKR_WRAPPED_KEY_LEN_RANGE,
        code => code,
    })
}

unsafe fn wrap(
    session: CK_SESSION_HANDLE,
    mechanism: *mut CK_MECHANISM,
    wrapping: CK_OBJECT_HANDLE,
    key: CK_OBJECT_HANDLE,
    out: Result<Output<'_>>,
) -> Result<()> {
    let (mut session, slot) = opened(session)?;
    // SAFETY: the caller's.
    let mechanism = unsafe { mechanism.as_ref() }.ok_or(Error(CKR_ARGUMENTS_BAD))?;
    let row = mechanism::find(mechanism.mechanism, CKF_WRAP)?;
    let by = session.key(&slot.objects, wrapping, row, Flags::WRAP);
    let by = by.map_err(of_wrapping)?;
    let key = slot
        .object(key)
        .map_err(|_| Error(CKR_KEY_HANDLE_INVALID))?;
    ensure(key.is_key(), CKR_KEY_HANDLE_INVALID)?;
    ensure(key.has(Flags::EXTRACTABLE), CKR_KEY_UNEXTRACTABLE)?;
    let trusted = by.has(Flags::TRUSTED) || !key.has(Flags::WRAP_WITH_TRUSTED);
    ensure(trusted, CKR_KEY_NOT_WRAPPABLE)?;
    let mut operation = cipher::Operation::new(Direction::Encrypt);
    operation.take_once(by);
    // SAFETY: the caller's.
    unsafe { operation.init(mechanism)? };
    let value = key.secret.value();
    // Zeros fill the last block (PKCS#11 section 2.11.6 of the mechanisms).
    let len = match operation.needs_blocks() {
        true => value.len().div_ceil(16) * 16,
        false => value.len(),
    };
    let mut wrapped = Zeroizing::new(with_room(len)?);
    wrapped.extend_from_slice(value);
    wrapped.resize(len, 0);
    let result = operation.whole(Input::of(&wrapped), &mut out?);
    result.map(|_| ()).map_err(|error| match error.0 {
        CKR_DATA_LEN_RANGE => Error(CKR_KEY_SIZE_RANGE),
        _ => error,
    })
}

/// The mechanism and the key of C_UnwrapKey.
unsafe fn unwrapping_by<'a>(
    slot: &Slot,
    session: &mut Session,
    mechanism: *const CK_MECHANISM,
    unwrapping: CK_OBJECT_HANDLE,
) -> Result<(&'a CK_MECHANISM, Arc<Object>)> {
    // SAFETY: the caller's.
    let mechanism = unsafe { mechanism.as_ref() }.ok_or(Error(CKR_ARGUMENTS_BAD))?;
    let row = mechanism::find(mechanism.mechanism, CKF_UNWRAP)?;
    let by = session.key(&slot.objects, unwrapping, row, Flags::UNWRAP);
    Ok((mechanism, by.map_err(of_unwrapping)?))
}

unsafe fn unwrap(
    mechanism: &CK_MECHANISM,
    by: Arc<Object>,
    wrapped: Input,
    template: &Template<'_>,
    session: CK_SESSION_HANDLE,
) -> Result<Object> {
    ensure(wrapped.len() <= MOST_SECRET + 64, CKR_WRAPPED_KEY_LEN_RANGE)?;
    let mut operation = cipher::Operation::new(Direction::Decrypt);
    operation.take_once(by);
    // SAFETY: the caller's.
    unsafe { operation.init(mechanism)? };
    let is_filled_up = operation.needs_blocks();
    let mut value = zeros(wrapped.len())?;
    let mut len = value.len() as CK_ULONG;
    // SAFETY: the memory has this length.
    let mut out = unsafe { Output::new(value.as_mut_ptr(), &mut len)? };
    operation.whole(wrapped, &mut out).map_err(of_unwrapping)?;
    keys::unwrapped(template, &value[..len as usize], is_filled_up, session)
}

/// Interfaces of C_GetInterfaceList, the default first.
struct Interfaces([CK_INTERFACE; 2]);
// SAFETY: the pointers are to constants.
unsafe impl Sync for Interfaces {}

const NAME: &[u8] = b"PKCS 11\0";
static INTERFACES: Interfaces = Interfaces([
    CK_INTERFACE {
        pInterfaceName: NAME.as_ptr().cast_mut(),
        pFunctionList: addr_of!(LIST_3_0).cast_mut().cast(),
        flags: 0, // a child has to initialise the module itself
    },
    CK_INTERFACE {
        pInterfaceName: NAME.as_ptr().cast_mut(),
        pFunctionList: addr_of!(LIST).cast_mut().cast(),
        flags: 0, // a child has to initialise the module itself
    },
]);
const VERSIONS: [CK_VERSION; 2] = [
    CK_VERSION { major: 3, minor: 0 },
    CK_VERSION {
        major: 2,
        minor: 40,
    },
];

fn interfaces() -> [CK_INTERFACE; 2] {
    INTERFACES.0
}

unsafe fn find_interface(
    name: *const CK_UTF8CHAR,
    version: *const CK_VERSION,
    interface: *mut *mut CK_INTERFACE,
    flags: CK_FLAGS,
) -> Result<()> {
    if !name.is_null() {
        // SAFETY: the caller's: a string.
        let name = unsafe { std::ffi::CStr::from_ptr(name.cast()) };
        ensure(name.to_bytes_with_nul() == NAME, CKR_FUNCTION_FAILED)?;
    }
    // SAFETY: the caller's.
    let version = unsafe { version.as_ref() };
    let fits = |at: &CK_VERSION| version.is_none_or(|v| (v.major, v.minor) == (at.major, at.minor));
    let at = VERSIONS.iter().position(fits);
    let at = at.ok_or(Error(CKR_FUNCTION_FAILED))?;
    let found = &INTERFACES.0[at];
    ensure(flags & !found.flags == 0, CKR_FUNCTION_FAILED)?;
    // SAFETY: the caller's.
    unsafe { put(interface, (found as *const CK_INTERFACE).cast_mut()) }
}

/// Defines both lists: the functions that they share, and those that 3.0 adds.
macro_rules! lists {
    ([$($old:ident),* $(,)?] [$($new:ident),* $(,)?]) => {
        static LIST: CK_FUNCTION_LIST = CK_FUNCTION_LIST {
            version: VERSIONS[1],
            $($old: Some($old),)*
        };
        static LIST_3_0: CK_FUNCTION_LIST_3_0 = CK_FUNCTION_LIST_3_0 {
            version: VERSIONS[0],
            $($old: Some($old),)*
            $($new: Some($new),)*
        };
    };
}

lists! {
    [
        C_Initialize, C_Finalize, C_GetInfo, C_GetFunctionList, C_GetSlotList, C_GetSlotInfo,
        C_GetTokenInfo, C_GetMechanismList, C_GetMechanismInfo, C_InitToken, C_InitPIN, C_SetPIN,
        C_OpenSession, C_CloseSession, C_CloseAllSessions, C_GetSessionInfo, C_GetOperationState,
        C_SetOperationState, C_Login, C_Logout, C_CreateObject, C_CopyObject, C_DestroyObject,
        C_GetObjectSize, C_GetAttributeValue, C_SetAttributeValue, C_FindObjectsInit, C_FindObjects,
        C_FindObjectsFinal, C_EncryptInit, C_Encrypt, C_EncryptUpdate, C_EncryptFinal,
        C_DecryptInit, C_Decrypt, C_DecryptUpdate, C_DecryptFinal, C_DigestInit, C_Digest,
        C_DigestUpdate, C_DigestKey, C_DigestFinal, C_SignInit, C_Sign, C_SignUpdate, C_SignFinal,
        C_SignRecoverInit, C_SignRecover, C_VerifyInit, C_Verify, C_VerifyUpdate, C_VerifyFinal,
        C_VerifyRecoverInit, C_VerifyRecover, C_DigestEncryptUpdate, C_DecryptDigestUpdate,
        C_SignEncryptUpdate, C_DecryptVerifyUpdate, C_GenerateKey, C_GenerateKeyPair, C_WrapKey,
        C_UnwrapKey, C_DeriveKey, C_SeedRandom, C_GenerateRandom, C_GetFunctionStatus,
        C_CancelFunction, C_WaitForSlotEvent,
    ]
    [
        C_GetInterfaceList, C_GetInterface, C_LoginUser, C_SessionCancel, C_MessageEncryptInit,
        C_EncryptMessage, C_EncryptMessageBegin, C_EncryptMessageNext, C_MessageEncryptFinal,
        C_MessageDecryptInit, C_DecryptMessage, C_DecryptMessageBegin, C_DecryptMessageNext,
        C_MessageDecryptFinal, C_MessageSignInit, C_SignMessage, C_SignMessageBegin,
        C_SignMessageNext, C_MessageSignFinal, C_MessageVerifyInit, C_VerifyMessage,
        C_VerifyMessageBegin, C_VerifyMessageNext, C_MessageVerifyFinal,
    ]
}
