// SPDX-License-Identifier: BSD-2-Clause
//! Where keys come from: templates with values, random bytes, and unwrapping.

use crate::attribute::{Origin, Template};
use crate::buffers::zeros;
use crate::mechanism::Row;
use crate::object::{Attributes, Object, Secret, MOST_SECRET};
use crate::rv::{ensure, fail, Error, Result};
use cryptoki_sys::*;

/// Whether a type of key has values of a length, in bytes.
fn check_size(key_type: CK_KEY_TYPE, len: usize, wrong: CK_RV) -> Result<()> {
    let right = match key_type {
        CKK_AES => matches!(len, 16 | 24 | 32),
        CKK_AES_XTS => matches!(len, 32 | 64),
        CKK_GENERIC_SECRET => (1..=MOST_SECRET).contains(&len),
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
    let value = template
        .bytes(CKA_VALUE)
        .ok_or(Error(CKR_TEMPLATE_INCOMPLETE))?;
    check_size(
        attributes.key_type,
        value.len(),
        CKR_ATTRIBUTE_VALUE_INVALID,
    )?;
    finish(template, attributes, value, session)
}

/// C_GenerateKey.
pub fn generate(row: &Row, template: &Template<'_>, session: CK_SESSION_HANDLE) -> Result<Object> {
    let attributes = Attributes::new(
        template,
        Origin::Generate(row.mechanism),
        Some(row.key_type),
    )?;
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

/// Random bytes of the operating system.
pub fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|_| Error(CKR_FUNCTION_FAILED))
}
