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
use crate::mac::Purpose;
use crate::mechanism::{self, Parameter, Row};
use crate::module::{self, current, of_slot, settle, Module, SLOT};
use crate::object::{Object, Reading, MOST_SECRET};
use crate::objects::{is_unsettled, Objects};
use crate::rv::{ensure, fail, Error, Result};
use crate::session::{usable, Session};
use crate::slab::Guard;
use catalogue::Direction::{Decrypt, Encrypt};
use cryptoki_sys::*;
use std::ffi::c_void;
use std::mem::size_of;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::addr_of;
use std::sync::Arc;
use zeroize::Zeroizing;

type Bytes = *mut CK_BYTE;
type Handle = CK_SESSION_HANDLE;
type Key = CK_OBJECT_HANDLE;
type Mechanism = *mut CK_MECHANISM;
type Attributes = *mut CK_ATTRIBUTE;
type Long = CK_ULONG;

fn guard(call: impl FnOnce() -> Result<()>) -> CK_RV {
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

/// Defines functions that take a mechanism and a key, and begin an operation.
macro_rules! begin {
    ($($name:ident: $init:ident($kind:expr);)*) => {functions! {$(
        $name(session: Handle, mechanism: Mechanism, key: Key) {
            let (module, mut locked) = opened(session)?;
            let own = (session, &module.objects);
            unsafe { locked.$init(own, $kind, mechanism.as_ref(), key) }
        }
    )*}};
}

/// Defines functions that take data.
macro_rules! take {
    ($($name:ident: $method:ident($kind:expr);)*) => {functions! {$(
        $name(session: Handle, data: Bytes, len: Long) {
            locked(session)?.$method($kind, unsafe { Input::new(data, len) })
        }
    )*}};
}

/// Defines functions that take data and write a result.
macro_rules! transform {
    ($($name:ident: $method:ident($($kind:expr),*);)*) => {functions! {$(
        $name(session: Handle, data: Bytes, len: Long, out: Bytes, out_len: *mut Long) {
            let mut session = locked(session)?;
            let buffers = unsafe { buffers(data, len, out, out_len) };
            session.$method($($kind),*, buffers)
        }
    )*}};
}

/// Defines functions that write the end of a result.
macro_rules! finish {
    ($($name:ident: $method:ident($kind:expr);)*) => {functions! {$(
        $name(session: Handle, out: Bytes, out_len: *mut Long) {
            locked(session)?.$method($kind, unsafe { Output::new(out, out_len) })
        }
    )*}};
}

/// Defines functions that the module does not have, by what they return.
macro_rules! refused {
    ($($name:ident($($type:ty),* $(,)?): $code:ident;)*) => {$(
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

/// The module, and a session of it, locked.
#[inline]
fn opened(handle: Handle) -> Result<(&'static Module, Guard<'static, Session>)> {
    let module = current()?;
    Ok((module, module.session(handle)?))
}

/// A session, locked, for calls that need no objects.
#[inline]
fn locked(handle: Handle) -> Result<Guard<'static, Session>> {
    current()?.session(handle)
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

    C_GetSlotList(_present: CK_BBOOL, list: *mut CK_SLOT_ID, count: *mut Long) {
        current()?;
        unsafe { put_list(&[SLOT], list, count) }
    }

    C_GetSlotInfo(id: CK_SLOT_ID, info: *mut CK_SLOT_INFO) {
        of_slot(id)?;
        unsafe { put(info, information::of_slot()) }
    }

    C_GetTokenInfo(id: CK_SLOT_ID, info: *mut CK_TOKEN_INFO) {
        of_slot(id)?;
        unsafe { put(info, information::of_token()?) }
    }

    C_GetMechanismList(id: CK_SLOT_ID, list: *mut CK_MECHANISM_TYPE, count: *mut Long) {
        of_slot(id)?;
        let types: Vec<_> = mechanism::TABLE.iter().map(|row| row.mechanism).collect();
        unsafe { put_list(&types, list, count) }
    }

    C_GetMechanismInfo(id: CK_SLOT_ID, mechanism: CK_MECHANISM_TYPE, info: *mut CK_MECHANISM_INFO) {
        of_slot(id)?;
        let row = mechanism::TABLE.iter().find(|row| row.mechanism == mechanism);
        unsafe { put(info, row.ok_or(Error(CKR_MECHANISM_INVALID))?.info()) }
    }

    C_OpenSession(
        id: CK_SLOT_ID,
        flags: CK_FLAGS,
        _application: *mut c_void,
        _notify: CK_NOTIFY,
        session: *mut Handle,
    ) {
        let module = of_slot(id)?;
        ensure(flags & CKF_SERIAL_SESSION != 0, CKR_SESSION_PARALLEL_NOT_SUPPORTED)?;
        ensure(!session.is_null(), CKR_ARGUMENTS_BAD)?;
        unsafe { put(session, module.open(flags & CKF_RW_SESSION != 0)?) }
    }

    C_CloseSession(session: Handle) {
        current()?.close(session)
    }

    C_CloseAllSessions(id: CK_SLOT_ID) {
        of_slot(id)?.close_all();
        Ok(())
    }

    C_GetSessionInfo(session: Handle, info: *mut CK_SESSION_INFO) {
        let session = locked(session)?;
        unsafe { put(info, information::of_session(&session)) }
    }

    C_CreateObject(session: Handle, template: Attributes, count: Long, object: *mut Key) {
        let (module, mut owner) = opened(session)?;
        ensure(!object.is_null(), CKR_ARGUMENTS_BAD)?;
        let template = unsafe { Template::new(template, count)? };
        let created = keys::create(&template, session)?;
        unsafe { put(object, module.add(&mut owner, created)?) }
    }

    C_CopyObject(
        session: Handle,
        object: Key,
        template: Attributes,
        count: Long,
        copy: *mut Key,
    ) {
        let (module, mut owner) = opened(session)?;
        ensure(!copy.is_null(), CKR_ARGUMENTS_BAD)?;
        let template = unsafe { Template::new(template, count)? };
        let made = module.objects.copy(object, &template, session)?;
        unsafe { put(copy, module.add(&mut owner, made)?) }
    }

    C_DestroyObject(session: Handle, object: Key) {
        let (module, _locked) = opened(session)?;
        module.objects.destroy(object)
    }

    C_GetObjectSize(session: Handle, object: Key, size: *mut Long) {
        let (module, _locked) = opened(session)?;
        let object = module.objects.get(object, CKR_OBJECT_HANDLE_INVALID)?;
        unsafe { put(size, object.secret.value().len() as Long) }
    }

    C_GetAttributeValue(session: Handle, object: Key, template: Attributes, count: Long) {
        let (module, _locked) = opened(session)?;
        unsafe { read_attributes(&module.objects, object, template, count) }
    }

    C_SetAttributeValue(session: Handle, object: Key, template: Attributes, count: Long) {
        let (module, _locked) = opened(session)?;
        module.objects.change(object, unsafe { &Template::new(template, count)? })
    }

    C_FindObjectsInit(session: Handle, template: Attributes, count: Long) {
        let (module, mut session) = opened(session)?;
        ensure(session.find.is_none(), CKR_OPERATION_ACTIVE)?;
        let found = match unsafe { Template::new(template, count) } {
            Ok(template) => module.objects.find(&template)?,
            // No object has such an attribute. Programs look for certificates in every token.
            Err(Error(CKR_ATTRIBUTE_TYPE_INVALID | CKR_ATTRIBUTE_VALUE_INVALID)) => Vec::new(),
            Err(error) => return Err(error),
        };
        session.find = Some(found.into_iter());
        Ok(())
    }

    C_FindObjects(session: Handle, objects: *mut Key, most: Long, count: *mut Long) {
        let mut session = locked(session)?;
        let right = !count.is_null() && (!objects.is_null() || most == 0);
        let most = ensure(right, CKR_ARGUMENTS_BAD)
            .and_then(|()| count_of(most, size_of::<Key>()));
        let mut n = 0;
        for handle in session.found(most)? {
            unsafe { objects.add(n).write(handle as Key) };
            n += 1;
        }
        unsafe { put(count, n as Long) }
    }

    C_FindObjectsFinal(session: Handle) {
        let mut session = locked(session)?;
        session.find.take().map(|_| ()).ok_or(Error(CKR_OPERATION_NOT_INITIALIZED))
    }
}

begin! {
    C_EncryptInit: crypt_init(Encrypt);
    C_DecryptInit: crypt_init(Decrypt);
    C_SignInit: mac_init(Purpose::Sign);
    C_VerifyInit: mac_init(Purpose::Verify);
}

transform! {
    C_Encrypt: crypt_whole(Encrypt);
    C_EncryptUpdate: crypt_update(Encrypt);
    C_Decrypt: crypt_whole(Decrypt);
    C_DecryptUpdate: crypt_update(Decrypt);
    C_Sign: mac_whole(Purpose::Sign);
}

take! {
    C_SignUpdate: mac_update(Purpose::Sign);
    C_VerifyUpdate: mac_update(Purpose::Verify);
}

finish! {
    C_EncryptFinal: crypt_final(Encrypt);
    C_DecryptFinal: crypt_final(Decrypt);
    C_SignFinal: mac_final(Purpose::Sign);
}

functions! {
    C_Verify(
        session: Handle,
        data: Bytes,
        len: Long,
        signature: Bytes,
        signature_len: Long,
    ) {
        let mut session = locked(session)?;
        let input = unsafe { Input::new(data, len) };
        session.verify(Some(input), unsafe { Input::new(signature, signature_len) })
    }

    C_VerifyFinal(session: Handle, signature: Bytes, signature_len: Long) {
        locked(session)?.verify(None, unsafe { Input::new(signature, signature_len) })
    }

    C_GenerateKey(
        session: Handle,
        mechanism: Mechanism,
        template: Attributes,
        count: Long,
        key: *mut Key,
    ) {
        let (module, mut owner) = opened(session)?;
        let (mechanism, row) = unsafe { find_mechanism(mechanism, CKF_GENERATE)? };
        ensure(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        unsafe { Parameter::new(mechanism)? }.none()?;
        let template = unsafe { Template::new(template, count)? };
        let object = keys::generate(row, &template, session)?;
        unsafe { put(key, module.add(&mut owner, object)?) }
    }

    C_WrapKey(
        session: Handle,
        mechanism: Mechanism,
        wrapping: Key,
        key: Key,
        out: Bytes,
        out_len: *mut Long,
    ) {
        unsafe { wrap(session, mechanism, wrapping, key, Output::new(out, out_len)) }
    }

    C_UnwrapKey(
        session: Handle,
        mechanism: Mechanism,
        unwrapping: Key,
        wrapped: Bytes,
        len: Long,
        template: Attributes,
        count: Long,
        key: *mut Key,
    ) {
        let (module, mut owner) = opened(session)?;
        ensure(!key.is_null(), CKR_ARGUMENTS_BAD)?;
        let (wrapped, template) =
            unsafe { (Input::new(wrapped, len)?, Template::new(template, count)?) };
        let (mechanism, row) = unsafe { find_mechanism(mechanism, CKF_UNWRAP)? };
        let by = usable(&module.objects, unwrapping, row, Flags::UNWRAP);
        let by = by.map_err(of_unwrapping)?;
        let object = unsafe { unwrap((mechanism, row), by, wrapped, &template, session)? };
        unsafe { put(key, module.add(&mut owner, object)?) }
    }

    C_GenerateRandom(session: Handle, out: Bytes, len: Long) {
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
        // The slot never changes, so only a call that does not wait ends.
        fail(match flags & CKF_DONT_BLOCK {
            0 => CKR_FUNCTION_NOT_SUPPORTED,
            _ => CKR_NO_EVENT,
        })
    }
}

refused! {
    C_DigestInit(Handle, Mechanism): CKR_FUNCTION_NOT_SUPPORTED;
    C_Digest(Handle, Bytes, Long, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_DigestUpdate(Handle, Bytes, Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_DigestKey(Handle, Key): CKR_FUNCTION_NOT_SUPPORTED;
    C_DigestFinal(Handle, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_DigestEncryptUpdate(Handle, Bytes, Long, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_DecryptDigestUpdate(Handle, Bytes, Long, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_SignEncryptUpdate(Handle, Bytes, Long, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_DecryptVerifyUpdate(Handle, Bytes, Long, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_SignRecoverInit(Handle, Mechanism, Key): CKR_FUNCTION_NOT_SUPPORTED;
    C_SignRecover(Handle, Bytes, Long, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_VerifyRecoverInit(Handle, Mechanism, Key): CKR_FUNCTION_NOT_SUPPORTED;
    C_VerifyRecover(Handle, Bytes, Long, Bytes, *mut Long): CKR_FUNCTION_NOT_SUPPORTED;
    C_GenerateKeyPair(Handle, Mechanism, Attributes, Long, Attributes, Long, *mut Key, *mut Key):
        CKR_FUNCTION_NOT_SUPPORTED;
    C_DeriveKey(Handle, Mechanism, Key, Attributes, Long, *mut Key): CKR_FUNCTION_NOT_SUPPORTED;
    C_SeedRandom(Handle, Bytes, Long): CKR_RANDOM_SEED_NOT_SUPPORTED;
    // A saved state would have to hold the key.
    C_GetOperationState(Handle, Bytes, *mut Long): CKR_STATE_UNSAVEABLE;
    C_SetOperationState(Handle, Bytes, Long, Key, Key): CKR_SAVED_STATE_INVALID;
    // The token has no PINs, and needs none: CKF_LOGIN_REQUIRED is not set.
    C_InitToken(CK_SLOT_ID, Bytes, Long, Bytes): CKR_TOKEN_WRITE_PROTECTED;
    C_SetPIN(Handle, Bytes, Long, Bytes, Long): CKR_TOKEN_WRITE_PROTECTED;
    C_InitPIN(Handle, Bytes, Long): CKR_USER_NOT_LOGGED_IN;
    C_Logout(Handle): CKR_USER_NOT_LOGGED_IN;
    C_Login(Handle, CK_USER_TYPE, Bytes, Long): CKR_USER_PIN_NOT_INITIALIZED;
    C_GetFunctionStatus(Handle): CKR_FUNCTION_NOT_PARALLEL;
    C_CancelFunction(Handle): CKR_FUNCTION_NOT_PARALLEL;
}

/// The mechanism of a call, and its row if it does what the flag names.
unsafe fn find_mechanism<'a>(
    mechanism: *const CK_MECHANISM,
    flag: CK_FLAGS,
) -> Result<(&'a CK_MECHANISM, &'static Row)> {
    // SAFETY: the caller's.
    let mechanism = unsafe { mechanism.as_ref() }.ok_or(Error(CKR_ARGUMENTS_BAD))?;
    Ok((mechanism, mechanism::find(mechanism.mechanism, flag)?))
}

/// Fills in a template. Every attribute is tried, and one of the errors is returned (PKCS#11
/// section 5.7.5).
unsafe fn read_attributes(
    objects: &Objects,
    handle: Key,
    template: Attributes,
    count: Long,
) -> Result<()> {
    let object = objects.get(handle, CKR_OBJECT_HANDLE_INVALID)?;
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
    session: Handle,
    mechanism: Mechanism,
    wrapping: Key,
    key: Key,
    out: Result<Output<'_>>,
) -> Result<()> {
    let (module, _locked) = opened(session)?;
    // SAFETY: the caller's.
    let (mechanism, row) = unsafe { find_mechanism(mechanism, CKF_WRAP)? };
    let by = usable(&module.objects, wrapping, row, Flags::WRAP);
    let by = by.map_err(of_wrapping)?;
    let key = module.objects.get(key, CKR_KEY_HANDLE_INVALID)?;
    ensure(key.has(Flags::EXTRACTABLE), CKR_KEY_UNEXTRACTABLE)?;
    // No key is trusted (see Attributes::set).
    ensure(!key.has(Flags::WRAP_WITH_TRUSTED), CKR_KEY_NOT_WRAPPABLE)?;
    // SAFETY: the caller's.
    let mut operation = unsafe { cipher::Operation::once(Encrypt, (mechanism, row), by)? };
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

unsafe fn unwrap(
    mechanism: (&CK_MECHANISM, &Row),
    by: Arc<Object>,
    wrapped: Input,
    template: &Template<'_>,
    session: Handle,
) -> Result<Object> {
    ensure(wrapped.len() <= MOST_SECRET + 64, CKR_WRAPPED_KEY_LEN_RANGE)?;
    // SAFETY: the caller's.
    let mut operation = unsafe { cipher::Operation::once(Decrypt, mechanism, by)? };
    let is_filled_up = operation.needs_blocks();
    let mut value = zeros(wrapped.len())?;
    let mut len = value.len() as CK_ULONG;
    // SAFETY: the memory has this length.
    let mut out = unsafe { Output::new(value.as_mut_ptr(), &mut len)? };
    operation.whole(wrapped, &mut out).map_err(of_unwrapping)?;
    keys::unwrapped(template, &value[..len as usize], is_filled_up, session)
}

macro_rules! list {
    ($($function:ident),* $(,)?) => {
        static LIST: CK_FUNCTION_LIST = CK_FUNCTION_LIST {
            version: CK_VERSION { major: 2, minor: 40 },
            $($function: Some($function),)*
        };
    };
}

list! {
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
}
