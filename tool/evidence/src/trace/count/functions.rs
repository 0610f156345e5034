// SPDX-License-Identifier: BSD-2-Clause
//! The functions of libraries whose calls are counted: those that programs call to encrypt or
//! decrypt data. Each is an exported function with a documented signature.
//!
//! No call may count twice: a library's function may call another one of it, or jump to it as its
//! last instruction. So the list has the innermost function where a way leads through several. (In
//! LibreSSL and OpenSSL 1.0, EVP_DecryptUpdate() calls EVP_EncryptUpdate(): decryption counts twice
//! there.)

use libcrypto::{string, LibCrypto};

/// A function, and which of its arguments is what. The first argument has the number 0.
pub struct Function {
    pub library: &'static Library,
    pub name: &'static str,
    pub output: u8,
    pub input: u8,
    pub length: Length,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Int(u8),
    Size(u8),
    /// The second number instead, if the input is NULL because the output is also the input.
    Either(u8, u8),
}

use Length::{Either, Int, Size};

/// The number of an argument that a function does not have.
pub const NONE: u8 = u8::MAX;

/// A library, and where the handle of a cipher has the number of its algorithm.
pub struct Library {
    /// How the names of its files begin.
    pub file: &'static str,
    /// Offsets from the first argument. Each but the last one leads to a pointer to the next
    /// structure, and the last one to 32 bits.
    pub path: &'static [i16],
    /// Some of the numbers, as OpenSSL names the algorithms. OpenSSL itself names its own.
    names: &'static [(u32, &'static str)],
    /// Stands before other numbers.
    kind: &'static str,
}

/// The first member of an EVP_CIPHER_CTX points to the EVP_CIPHER, whose first member is the NID of
/// the algorithm, in OpenSSL 1.0 to 4.0 (crypto/evp/evp_local.h and include/crypto/evp.h).
const OPENSSL: Library = Library {
    file: "libcrypto",
    path: &[0, 0],
    names: &[],
    kind: "NID",
};

/// A handle has its algorithm behind a magic number, two sizes and a pointer, since Libgcrypt 1.6
/// (cipher/cipher-internal.h). The numbers are those of enum gcry_cipher_algos (gcrypt.h).
const LIBGCRYPT: Library = Library {
    file: "libgcrypt",
    path: &[32],
    names: &[
        (2, "des-ede3"),
        (7, "aes-128"),
        (8, "aes-192"),
        (9, "aes-256"),
        (310, "camellia-128"),
        (311, "camellia-192"),
        (312, "camellia-256"),
        (316, "chacha20"),
        (318, "sm4"),
    ],
    kind: "Libgcrypt cipher",
};

/// A handle has a context and the description of the cipher, which begins with its name and number,
/// since GnuTLS 3.5 (lib/cipher_int.h and lib/gnutls_int.h). The numbers are those of
/// gnutls_cipher_algorithm_t (gnutls/gnutls.h).
const GNUTLS: Library = Library {
    file: "libgnutls",
    path: &[8, 8],
    names: &[
        (4, "aes-128-cbc"),
        (5, "aes-256-cbc"),
        (9, "aes-192-cbc"),
        (10, "aes-128-gcm"),
        (11, "aes-256-gcm"),
        (19, "aes-128-ccm"),
        (20, "aes-256-ccm"),
        (21, "aes-128-ccm8"),
        (22, "aes-256-ccm8"),
        (23, "chacha20-poly1305"),
        (29, "aes-128-cfb8"),
        (30, "aes-192-cfb8"),
        (31, "aes-256-cfb8"),
        (32, "aes-128-xts"),
        (33, "aes-256-xts"),
        (37, "aes-128-siv"),
        (38, "aes-256-siv"),
        (39, "aes-192-gcm"),
    ],
    kind: "GnuTLS cipher",
};

/// The name, the numbers of the output and the input, and the length.
pub const FUNCTIONS: &[Function] = &[
    // openssl/evp.h
    OPENSSL.has("EVP_EncryptUpdate", 1, 3, Int(4)),
    OPENSSL.has("EVP_DecryptUpdate", 1, 3, Int(4)),
    OPENSSL.has("EVP_Cipher", 1, 2, Int(3)),
    // gcrypt.h
    LIBGCRYPT.has("gcry_cipher_encrypt", 1, 3, Either(4, 2)),
    LIBGCRYPT.has("gcry_cipher_decrypt", 1, 3, Either(4, 2)),
    LIBGCRYPT.has("gcry_cipher_authenticate", NONE, 1, Size(2)),
    // gnutls/crypto.h. gnutls_cipher_decrypt3() calls gnutls_cipher_decrypt2().
    GNUTLS.has("gnutls_cipher_encrypt", 1, 1, Size(2)),
    GNUTLS.has("gnutls_cipher_decrypt", 1, 1, Size(2)),
    GNUTLS.has("gnutls_cipher_encrypt2", 3, 1, Size(2)),
    GNUTLS.has("gnutls_cipher_decrypt2", 3, 1, Size(2)),
    GNUTLS.has("gnutls_cipher_encrypt3", 3, 1, Size(2)),
    GNUTLS.has("gnutls_cipher_add_auth", NONE, 1, Size(2)),
    GNUTLS.has("gnutls_aead_cipher_encrypt", 8, 6, Size(7)),
    GNUTLS.has("gnutls_aead_cipher_decrypt", 8, 6, Size(7)),
];

impl Library {
    const fn has(
        &'static self,
        name: &'static str,
        output: u8,
        input: u8,
        length: Length,
    ) -> Function {
        Function {
            library: self,
            name,
            output,
            input,
            length,
        }
    }

    /// The name of an algorithm; None if the call does not show any. A structure of another version
    /// may have anything in the place of the number.
    pub fn name_of(&self, number: u32, libcrypto: Option<&LibCrypto>) -> Option<String> {
        const MOST: u32 = 1 << 14;
        if number == 0 || number > MOST {
            return None;
        }
        let known = self.names.iter().find(|(known, _)| *known == number);
        let known = known.map(|(_, name)| (*name).to_owned());
        let known = known.or_else(|| {
            let libcrypto = libcrypto.filter(|_| self.names.is_empty())?;
            // SAFETY: OBJ_nid2ln() takes any number, and returns a C string or NULL.
            unsafe { string((libcrypto.functions.OBJ_nid2ln)(number as i32)) }
        });
        Some(known.unwrap_or_else(|| format!("{} {number}", self.kind)))
    }
}

/// Whether a file of this name may have any of them. A program may have them too, if the library is
/// linked into it.
pub fn may_be_in(file: &str) -> bool {
    FUNCTIONS
        .iter()
        .any(|function| file.starts_with(function.library.file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_numbers_stay_numbers() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(LIBGCRYPT.name_of(9, None), some("aes-256"));
        assert_eq!(LIBGCRYPT.name_of(10, None), some("Libgcrypt cipher 10"));
        assert_eq!(GNUTLS.name_of(39, None), some("aes-192-gcm"));
        assert_eq!(OPENSSL.name_of(901, None), some("NID 901"));
        for library in [OPENSSL, LIBGCRYPT, GNUTLS] {
            assert_eq!(library.name_of(0, None), None);
            assert_eq!(library.name_of(1 << 20, None), None);
        }
    }
}
