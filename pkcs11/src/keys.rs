// SPDX-License-Identifier: BSD-2-Clause
//! Where keys come from: templates with values, random bytes, unwrapping and derivation.

use crate::attribute::{Origin, Template};
use crate::buffers::zeros;
use crate::mechanism::{pointed, Parameter, Row};
use crate::object::{Attributes, Object, Secret, MOST_SECRET};
use crate::rv::{ensure, fail, of_core, Error, Result};
use catalogue::{Direction, Mode};
use cryptoki_sys::*;

/// Whether a type of key has values of a length, in bytes.
fn check_size(key_type: CK_KEY_TYPE, len: usize, wrong: CK_RV) -> Result<()> {
    let right = match key_type {
        CKK_AES => matches!(len, 16 | 24 | 32),
        CKK_AES_XTS => matches!(len, 32 | 64),
        CKK_GENERIC_SECRET | CKK_SHA_1_HMAC | CKK_SHA256_HMAC | CKK_SHA384_HMAC
        | CKK_SHA512_HMAC => (1..=MOST_SECRET).contains(&len),
        _ => return fail(CKR_ATTRIBUTE_VALUE_INVALID),
    };
    ensure(right, wrong)
}

fn finish(
    template: &Template<'_>,
    attributes: Attributes,
    value: &[u8],
    session: CK_SESSION_HANDLE,
) -> Result<Object> {
    let object = Object::new(attributes, Secret::new(value)?, session);
    if let Some(given) = template.bytes(CKA_CHECK_VALUE) {
        // An empty one asks for none to be checked (PKCS#11 section 4.10.2).
        let right = given.is_empty() || given == object.check_value()?;
        ensure(right, CKR_ATTRIBUTE_VALUE_INVALID)?;
    }
    Ok(object)
}

/// C_CreateObject.
pub fn create(template: &Template<'_>, session: CK_SESSION_HANDLE) -> Result<Object> {
    let attributes = Attributes::new(template, Origin::Create, None)?;
    let value = template.bytes(CKA_VALUE);
    if attributes.class == CKO_DATA {
        return finish(template, attributes, value.unwrap_or_default(), session);
    }
    let value = value.ok_or(Error(CKR_TEMPLATE_INCOMPLETE))?;
    check_size(
        attributes.key_type,
        value.len(),
        CKR_ATTRIBUTE_VALUE_INVALID,
    )?;
    finish(template, attributes, value, session)
}

/// C_GenerateKey.
pub fn generate(row: &Row, template: &Template<'_>, session: CK_SESSION_HANDLE) -> Result<Object> {
    let attributes = Attributes::new(template, Origin::Generate(row.mechanism), row.key_type())?;
    let key_type = attributes.key_type;
    let len = template.number(CKA_VALUE_LEN);
    let len = len.ok_or(Error(CKR_TEMPLATE_INCOMPLETE))? as usize;
    check_size(key_type, len, CKR_KEY_SIZE_RANGE)?;
    let mut value = zeros(len)?;
    random(&mut value)?;
    // XTS keys with equal halves are not allowed (SP 800-38E); chance does not make them, but
    // FIPS 140's implementation guidance asks for the comparison.
    let (a, b) = value.split_at(len / 2);
    let is_xts = key_type == CKK_AES_XTS;
    ensure(!is_xts || !tenrounds_sys::equal(a, b), CKR_FUNCTION_FAILED)?;
    finish(template, attributes, &value, session)
}

/// The key that C_UnwrapKey found in the unwrapped bytes. If these are whole blocks, the key may be
/// shorter.
pub fn unwrapped(
    template: &Template<'_>,
    value: &[u8],
    is_filled_up: bool,
    session: CK_SESSION_HANDLE,
) -> Result<Object> {
    let attributes = Attributes::new(template, Origin::Unwrap, None)?;
    let value = match template.number(CKA_VALUE_LEN).map(|len| len as usize) {
        Some(len) if len > value.len() => return fail(CKR_WRAPPED_KEY_LEN_RANGE),
        Some(len) if len < value.len() && !is_filled_up => return fail(CKR_TEMPLATE_INCONSISTENT),
        Some(len) => &value[..len],
        None => value,
    };
    check_size(attributes.key_type, value.len(), CKR_WRAPPED_KEY_LEN_RANGE)?;
    finish(template, attributes, value, session)
}

/// C_DeriveKey: the encryption of the caller's data is the new key.
///
/// # Safety
/// The pointers in the parameter are valid for their lengths.
pub unsafe fn derive(
    base: &Object,
    mechanism: CK_MECHANISM_TYPE,
    p: &Parameter,
    template: &Template<'_>,
    session: CK_SESSION_HANDLE,
) -> Result<Object> {
    // SAFETY: the caller's.
    let (iv, data) = unsafe { derivation(mechanism, p)? };
    let key_type = template.number(CKA_KEY_TYPE).unwrap_or(CKK_GENERIC_SECRET);
    let origin = Origin::Derive(base.attributes.flags);
    let attributes = Attributes::new(template, origin, Some(key_type))?;
    let len = match (template.number(CKA_VALUE_LEN), attributes.key_type) {
        (Some(len), _) => len as usize,
        (None, CKK_GENERIC_SECRET) => data.len(),
        (None, _) => return fail(CKR_TEMPLATE_INCOMPLETE),
    };
    check_size(attributes.key_type, len, CKR_KEY_SIZE_RANGE)?;
    ensure(len <= data.len(), CKR_KEY_SIZE_RANGE)?;
    let mode = match mechanism {
        CKM_AES_ECB_ENCRYPT_DATA => Mode::Ecb,
        _ => Mode::Cbc,
    };
    let mut value = zeros(data.len())?;
    // SAFETY: the base lives until the call returns.
    let stream = unsafe {
        tenrounds_sys::Cipher::start(base.secret.aes()?, mode, Direction::Encrypt, false, &iv)
    };
    let mut stream = stream.map_err(|e| of_core(e, false))?;
    // SAFETY: the value is as long as the data, which are whole blocks.
    let written = unsafe { stream.update(value.as_mut_ptr(), data.as_ptr(), data.len()) };
    written.map_err(|e| of_core(e, false))?;
    finish(template, attributes, &value[..len], session)
}

/// The IV and the data of a derivation.
///
/// # Safety
/// The pointers in the parameter are valid for their lengths.
unsafe fn derivation<'a>(
    mechanism: CK_MECHANISM_TYPE,
    p: &Parameter,
) -> Result<([u8; 16], &'a [u8])> {
    let (iv, data, len) = match mechanism {
        CKM_AES_ECB_ENCRYPT_DATA => {
            // SAFETY: the struct is of numbers and pointers.
            let params: CK_KEY_DERIVATION_STRING_DATA = unsafe { p.read()? };
            ([0; 16], params.pData, params.ulLen)
        }
        _ => {
            // SAFETY: as above.
            let params: CK_AES_CBC_ENCRYPT_DATA_PARAMS = unsafe { p.read()? };
            (params.iv, params.pData, params.length)
        }
    };
    // SAFETY: the caller's.
    let data = unsafe { pointed(data, len)? };
    let whole = !data.is_empty() && data.len() % 16 == 0 && data.len() <= MOST_SECRET;
    ensure(whole, CKR_MECHANISM_PARAM_INVALID)?;
    Ok((iv, data))
}

/// Random bytes of the operating system.
pub fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|_| Error(CKR_FUNCTION_FAILED))
}
