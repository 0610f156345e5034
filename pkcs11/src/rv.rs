// SPDX-License-Identifier: BSD-2-Clause
//! Return values: an error is one of the standard's codes.

use cryptoki_sys::*;
use tenrounds_sys::raw;

/// A CK_RV other than CKR_OK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error(pub CK_RV);

pub type Result<T> = std::result::Result<T, Error>;

/// Fails with a code.
pub fn fail<T>(code: CK_RV) -> Result<T> {
    Err(Error(code))
}

/// Fails with a code unless the condition holds.
pub fn ensure(condition: bool, code: CK_RV) -> Result<()> {
    match condition {
        true => Ok(()),
        false => fail(code),
    }
}

/// What PKCS#11 says to an error of the core about data. Encryption and decryption have different
/// codes for the same mistake.
pub fn of_core(status: raw::tr_status, decrypts: bool) -> Error {
    Error(match (status, decrypts) {
        (raw::TR_ERR_LENGTH, false) => CKR_DATA_LEN_RANGE,
        (raw::TR_ERR_LENGTH, true) => CKR_ENCRYPTED_DATA_LEN_RANGE,
        (raw::TR_ERR_TAG | raw::TR_ERR_PADDING, _) => CKR_ENCRYPTED_DATA_INVALID,
        (raw::TR_ERR_OVERLAP, _) => CKR_ARGUMENTS_BAD,
        (raw::TR_ERR_EQUAL_KEYS, _) => CKR_KEY_FUNCTION_NOT_PERMITTED,
        _ => CKR_GENERAL_ERROR,
    })
}
