// SPDX-License-Identifier: BSD-2-Clause
//! The functions of OpenSSL whose calls are counted: those that programs call to encrypt or decrypt
//! data.
//!
//! No call may count twice: a function may call another one of the library, or jump to it as its
//! last instruction. So the list has the innermost functions. (In LibreSSL and OpenSSL 1.0,
//! EVP_DecryptUpdate() calls EVP_EncryptUpdate(): decryption counts twice there.)

use libcrypto::{string, LibCrypto};
use serde::Serialize;

/// A function, and which of its arguments is what. Argument 0 is an EVP_CIPHER_CTX, 1 the output.
#[derive(Serialize)]
pub struct Function {
    pub name: &'static str,
    pub input: u8,
    /// An int.
    pub length: u8,
}

/// openssl/evp.h.
pub const FUNCTIONS: [Function; 3] = [
    Function {
        name: "EVP_EncryptUpdate",
        input: 3,
        length: 4,
    },
    Function {
        name: "EVP_DecryptUpdate",
        input: 3,
        length: 4,
    },
    Function {
        name: "EVP_Cipher",
        input: 2,
        length: 3,
    },
];

/// The name of the algorithm with this NID; None if the call does not show any. The structure of
/// another version may have anything in its place.
pub fn name_of(nid: u32, libcrypto: Option<&LibCrypto>) -> Option<String> {
    const MOST: u32 = 1 << 14;
    if nid == 0 || nid > MOST {
        return None;
    }
    // SAFETY: OBJ_nid2ln() takes any number, and returns a C string or NULL.
    let known = libcrypto.and_then(|it| unsafe { string((it.functions.OBJ_nid2ln)(nid as i32)) });
    Some(known.unwrap_or_else(|| format!("NID {nid}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_numbers_stay_numbers() {
        assert_eq!(name_of(901, None), Some("NID 901".to_owned()));
        assert_eq!(name_of(0, None), None);
        assert_eq!(name_of(1 << 20, None), None);
    }
}
