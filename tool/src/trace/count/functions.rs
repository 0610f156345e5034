// SPDX-License-Identifier: BSD-2-Clause
//! The functions of libraries whose calls are counted: those that programs call to encrypt or
//! decrypt data, and that call no other function of this list in the same library (in OpenSSL since
//! 1.1). Each is an exported function with a documented signature.

/// A function, and which of its arguments is what. The first argument has the number 0.
#[derive(Debug)]
pub struct Function {
    /// How the name of a file begins that has the function.
    pub library: &'static str,
    pub name: &'static str,
    pub algorithm: Algorithm,
    pub output: u8,
    pub input: u8,
    pub length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// The first argument is an EVP_CIPHER_CTX. Its first member points to the EVP_CIPHER, whose
    /// first member is the NID of the algorithm, in OpenSSL 1.0 to 4.0 (crypto/evp/evp_local.h and
    /// include/crypto/evp.h).
    Evp,
    Named(&'static str),
    /// A handle that only its library can read.
    Hidden,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Int(u8),
    Size(u8),
    /// The second number instead, if the input is NULL because the output is also the input.
    Either(u8, u8),
}

use Algorithm::{Evp, Hidden, Named};
use Length::{Either, Int, Size};

macro_rules! functions {
    ($($library:literal { $($name:literal $algorithm:expr, $output:literal $input:literal $length:expr;)* })*) => {
        &[$($(Function {
            library: $library,
            name: $name,
            algorithm: $algorithm,
            output: $output,
            input: $input,
            length: $length,
        }),*),*]
    };
}

/// The name, the algorithm, the numbers of the output and the input, and the length.
pub const FUNCTIONS: &[Function] = functions! {
    // openssl/evp.h
    "libcrypto" {
        "EVP_EncryptUpdate" Evp, 1 3 Int(4);
        "EVP_DecryptUpdate" Evp, 1 3 Int(4);
        "EVP_Cipher" Evp, 1 2 Int(3);
    }
    // gcrypt.h
    "libgcrypt" {
        "gcry_cipher_encrypt" Hidden, 1 3 Either(4, 2);
        "gcry_cipher_decrypt" Hidden, 1 3 Either(4, 2);
    }
    // gnutls/crypto.h
    "libgnutls" {
        "gnutls_cipher_encrypt2" Hidden, 3 1 Size(2);
        "gnutls_cipher_decrypt2" Hidden, 3 1 Size(2);
        "gnutls_aead_cipher_encrypt" Hidden, 8 6 Size(7);
        "gnutls_aead_cipher_decrypt" Hidden, 8 6 Size(7);
    }
    // nettle/gcm.h, cbc.h, ctr.h
    "libnettle" {
        "nettle_gcm_aes128_encrypt" Named("aes-128-gcm"), 2 3 Size(1);
        "nettle_gcm_aes128_decrypt" Named("aes-128-gcm"), 2 3 Size(1);
        "nettle_gcm_aes192_encrypt" Named("aes-192-gcm"), 2 3 Size(1);
        "nettle_gcm_aes192_decrypt" Named("aes-192-gcm"), 2 3 Size(1);
        "nettle_gcm_aes256_encrypt" Named("aes-256-gcm"), 2 3 Size(1);
        "nettle_gcm_aes256_decrypt" Named("aes-256-gcm"), 2 3 Size(1);
        "nettle_cbc_encrypt" Named("cbc"), 5 6 Size(4);
        "nettle_cbc_decrypt" Named("cbc"), 5 6 Size(4);
        "nettle_ctr_crypt" Named("ctr"), 5 6 Size(4);
    }
    // mbedtls/aes.h, gcm.h, ccm.h
    "libmbedcrypto" {
        "mbedtls_aes_crypt_cbc" Named("aes-cbc"), 5 4 Size(2);
        "mbedtls_aes_crypt_ctr" Named("aes-ctr"), 6 5 Size(1);
        "mbedtls_aes_crypt_xts" Named("aes-xts"), 5 4 Size(2);
        "mbedtls_gcm_crypt_and_tag" Named("gcm"), 8 7 Size(2);
        "mbedtls_ccm_encrypt_and_tag" Named("ccm"), 7 6 Size(1);
        "mbedtls_ccm_auth_decrypt" Named("ccm"), 7 6 Size(1);
    }
};

/// Whether a file of this name may have any of them. A program may have them too, if the library is
/// linked into it.
pub fn may_be_in(file: &str) -> bool {
    FUNCTIONS
        .iter()
        .any(|function| file.starts_with(function.library))
}
