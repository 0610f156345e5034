// SPDX-License-Identifier: BSD-2-Clause
//! The functions of libraries whose calls are counted: those that programs call to encrypt or
//! decrypt data. Each is an exported function with a documented signature.
//!
//! No call may count twice. A library's function may call another one of it, or jump to it as its
//! last instruction, and then the return address is that of the outer call. So the list has the
//! innermost function where a way leads through several, and `Rule::Outside` where the inner
//! function is only called, never jumped to. (In LibreSSL and OpenSSL 1.0, EVP_DecryptUpdate()
//! calls EVP_EncryptUpdate(): decryption counts twice there.)
//!
//! A probe costs a microsecond or more also where the call is left out. So the list has no function
//! that a library itself calls for each block, such as nettle_aes128_encrypt() in CBC.

use super::names::Names;

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
    pub rule: Rule,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Named(&'static str),
    /// A number that a table names.
    Read(Source, Names),
    /// A handle that only its library can read.
    Hidden,
}

/// Where a call has a number that tells the algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The first argument points to a structure. Each offset but the last one leads to a pointer to
    /// the next structure, and the last one to 32 bits.
    Path(&'static [i16]),
    /// The same, if the structure begins with one of two numbers.
    Checked([u32; 2], &'static [i16]),
    /// The lower 32 bits of an argument.
    Argument(u8),
    /// An argument that points to one of the `CIPHERS` of the same file: the bits of its key.
    Cipher(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    Int(u8),
    Size(u8),
    /// The second number instead, if the input is NULL because the output is also the input.
    Either(u8, u8),
    /// The first number without the second one, which is the length of the tag.
    Less(u8, u8),
}

/// Which calls count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    All,
    /// Those that do not come from the same file. In a program that contains the library, where
    /// this cannot be told, none.
    Outside,
    /// All, if the file has this function.
    With(&'static str),
    /// All, if the file does not have this function.
    Without(&'static str),
    /// None: those that it leads to count instead.
    None,
}

use Algorithm::{Hidden, Named, Read};
use Length::{Either, Int, Less, Size};
use Rule::{Outside, With, Without};
use Source::{Argument, Checked, Cipher, Path};

/// The number of an argument that a function does not have.
pub const NONE: u8 = u8::MAX;

/// The first member of an EVP_CIPHER_CTX points to the EVP_CIPHER, whose first member is the NID of
/// the algorithm, in OpenSSL 1.0 to 4.0 (crypto/evp/evp_local.h and include/crypto/evp.h).
const EVP: Algorithm = Read(Path(&[0, 0]), Names::Nid);
/// A handle of Libgcrypt has its algorithm behind a magic number, two sizes and a pointer, since
/// 1.6 (cipher/cipher-internal.h).
const GCRY: Algorithm = Read(Checked([0x2409_1964, 0x4691_9042], &[32]), Names::Gcrypt);
/// A handle of GnuTLS has a context and the description of the cipher, which begins with its name
/// and number, since 3.5 (lib/cipher_int.h and lib/gnutls_int.h).
const GNUTLS: Algorithm = Read(Path(&[8, 8]), Names::Gnutls);

/// The first member of a mbedtls_aes_context is the number of rounds (mbedtls/aes.h).
const fn rounds(mode: &'static str) -> Algorithm {
    Read(Path(&[0]), Names::Rounds(mode))
}

/// A context of GCM or CCM begins with that of the block cipher, which points to its description,
/// whose first member is its number (mbedtls/cipher.h, before 3.5).
const fn block(mode: &'static str) -> Algorithm {
    Read(Path(&[0, 0]), Names::Mbed(mode))
}

/// A mode of Nettle, which gets the block cipher as a function.
const fn mode(function: u8, mode: &'static str) -> Algorithm {
    Read(Cipher(function), Names::Bits(mode))
}

/// The argument has the mechanism of PKCS #11.
const MECHANISM: Algorithm = Read(Argument(1), Names::Mechanism);

const IS_X86: bool = cfg!(target_arch = "x86_64");

/// A function of Nettle that others call on x86, but jump to on other processors, where it counts
/// for them.
const INNER: Rule = if IS_X86 { Outside } else { Rule::All };
/// One that calls an `INNER` function on x86, and jumps to it on other processors.
const OUTER: Rule = if IS_X86 { Rule::All } else { Rule::None };
/// One in the middle: others call it or jump to it, and it calls or jumps to an `INNER` function.
const MIDDLE: Rule = if IS_X86 { Outside } else { Rule::None };

/// Since Mbed TLS 3.0, the other functions of CCM lead to this one.
const CCM_UPDATE: &str = "mbedtls_ccm_update";

macro_rules! functions {
    ($($library:literal { $($name:literal $algorithm:expr, $output:tt $input:tt $length:expr
        $(, $rule:expr)?;)* })*) => {
        &[$($(Function {
            library: $library,
            name: $name,
            algorithm: $algorithm,
            output: $output,
            input: $input,
            length: $length,
            rule: functions!(@rule $($rule)?),
        }),*),*]
    };
    (@rule) => { Rule::All };
    (@rule $rule:expr) => { $rule };
}

/// The name, the algorithm, the numbers of the output and the input, and the length.
pub const FUNCTIONS: &[Function] = functions! {
    // openssl/evp.h
    "libcrypto" {
        "EVP_EncryptUpdate" EVP, 1 3 Int(4);
        "EVP_DecryptUpdate" EVP, 1 3 Int(4);
        "EVP_Cipher" EVP, 1 2 Int(3);
    }
    // gcrypt.h
    "libgcrypt" {
        "gcry_cipher_encrypt" GCRY, 1 3 Either(4, 2);
        "gcry_cipher_decrypt" GCRY, 1 3 Either(4, 2);
        "gcry_cipher_authenticate" GCRY, NONE 1 Size(2);
    }
    // gnutls/crypto.h
    "libgnutls" {
        "gnutls_cipher_encrypt" GNUTLS, 1 1 Size(2);
        "gnutls_cipher_decrypt" GNUTLS, 1 1 Size(2);
        "gnutls_cipher_encrypt2" GNUTLS, 3 1 Size(2), Outside;
        "gnutls_cipher_decrypt2" GNUTLS, 3 1 Size(2), Outside;
        "gnutls_cipher_encrypt3" GNUTLS, 3 1 Size(2);
        "gnutls_cipher_decrypt3" GNUTLS, 3 1 Size(2);
        "gnutls_cipher_add_auth" GNUTLS, NONE 1 Size(2);
        "gnutls_aead_cipher_encrypt" GNUTLS, 8 6 Size(7);
        "gnutls_aead_cipher_decrypt" GNUTLS, 8 6 Size(7);
    }
    // nettle/aes.h, gcm.h, cbc.h, cfb.h, ctr.h, xts.h. CCM, EAX and SIV call nettle_ctr_crypt().
    "libnettle" {
        "nettle_cbc_decrypt" mode(1, "cbc"), 5 6 Size(4);
        "nettle_cfb_encrypt" mode(1, "cfb"), 5 6 Size(4);
        "nettle_cfb_decrypt" mode(1, "cfb"), 5 6 Size(4);
        "nettle_cfb8_encrypt" mode(1, "cfb8"), 5 6 Size(4);
        "nettle_cfb8_decrypt" mode(1, "cfb8"), 5 6 Size(4);
        "nettle_gcm_update" Named("gcm"), NONE 3 Size(2);
        "nettle_gcm_encrypt" mode(3, "gcm"), 5 6 Size(4), INNER;
        "nettle_gcm_decrypt" mode(3, "gcm"), 5 6 Size(4), INNER;
        "nettle_cbc_encrypt" mode(1, "cbc"), 5 6 Size(4), INNER;
        "nettle_ctr_crypt" mode(1, "ctr"), 5 6 Size(4), INNER;
        "nettle_xts_encrypt_message" mode(2, "xts"), 5 6 Size(4), INNER;
        "nettle_xts_decrypt_message" mode(2, "xts"), 6 7 Size(5), INNER;
    }
    // These cannot jump to the ones above on x86, because those have more arguments on the stack.
    "libnettle" {
        "nettle_gcm_aes128_encrypt" Named("aes-128-gcm"), 2 3 Size(1), OUTER;
        "nettle_gcm_aes192_encrypt" Named("aes-192-gcm"), 2 3 Size(1), OUTER;
        "nettle_gcm_aes256_encrypt" Named("aes-256-gcm"), 2 3 Size(1), OUTER;
        "nettle_gcm_aes_encrypt" Named("gcm"), 2 3 Size(1), OUTER;
        "nettle_gcm_aes128_decrypt" Named("aes-128-gcm"), 2 3 Size(1), OUTER;
        "nettle_gcm_aes192_decrypt" Named("aes-192-gcm"), 2 3 Size(1), OUTER;
        "nettle_gcm_aes256_decrypt" Named("aes-256-gcm"), 2 3 Size(1), OUTER;
        "nettle_gcm_aes_decrypt" Named("gcm"), 2 3 Size(1), OUTER;
        "nettle_cbc_aes128_encrypt" Named("aes-128-cbc"), 3 4 Size(2), OUTER;
        "nettle_cbc_aes192_encrypt" Named("aes-192-cbc"), 3 4 Size(2), OUTER;
        "nettle_cbc_aes256_encrypt" Named("aes-256-cbc"), 3 4 Size(2), OUTER;
        "nettle_xts_aes128_encrypt_message" Named("aes-128-xts"), 3 4 Size(2), OUTER;
        "nettle_xts_aes256_encrypt_message" Named("aes-256-xts"), 3 4 Size(2), OUTER;
        "nettle_xts_aes128_decrypt_message" Named("aes-128-xts"), 3 4 Size(2), OUTER;
        "nettle_xts_aes256_decrypt_message" Named("aes-256-xts"), 3 4 Size(2), OUTER;
    }
    // nettle/ccm.h. nettle_ccm_aes128_encrypt() and its like jump to the first two, and
    // nettle_ccm_aes128_encrypt_message() calls the others, which call the first two.
    "libnettle" {
        "nettle_ccm_encrypt" mode(2, "ccm"), 4 5 Size(3), MIDDLE;
        "nettle_ccm_decrypt" mode(2, "ccm"), 4 5 Size(3), MIDDLE;
        "nettle_ccm_encrypt_message" mode(1, "ccm"), 8 9 Less(7, 6), OUTER;
        "nettle_ccm_decrypt_message" mode(1, "ccm"), 8 9 Size(7), OUTER;
    }
    // mbedtls/aes.h, gcm.h, ccm.h. Those of mbedtls/cipher.h and psa/crypto.h lead to these.
    "libmbedcrypto" {
        "mbedtls_aes_crypt_cbc" rounds("cbc"), 5 4 Size(2);
        "mbedtls_aes_crypt_cfb128" rounds("cfb"), 6 5 Size(2);
        "mbedtls_aes_crypt_cfb8" rounds("cfb8"), 5 4 Size(2);
        "mbedtls_aes_crypt_ofb" rounds("ofb"), 5 4 Size(1);
        "mbedtls_aes_crypt_ctr" rounds("ctr"), 6 5 Size(1);
        "mbedtls_aes_crypt_xts" rounds("xts"), 5 4 Size(2);
        // Its arguments changed in 3.0.
        "mbedtls_gcm_update" block("gcm"), 3 2 Size(1), Without("mbedtls_gcm_update_ad");
        "mbedtls_gcm_update" block("gcm"), 3 1 Size(2), With("mbedtls_gcm_update_ad");
        "mbedtls_ccm_star_encrypt_and_tag" block("ccm"), 7 6 Size(1), Without(CCM_UPDATE);
        "mbedtls_ccm_star_auth_decrypt" block("ccm"), 7 6 Size(1), Without(CCM_UPDATE);
        "mbedtls_ccm_update" block("ccm"), 3 1 Size(2);
    }
    // pk11pub.h
    "libnss3" {
        "PK11_CipherOp" Hidden, 1 4 Int(5);
        "PK11_AEADOp" Hidden, 7 12 Int(13);
        "PK11_AEADRawOp" Hidden, 5 8 Int(9), Outside;
        "PK11_Encrypt" MECHANISM, 3 6 Int(7), Outside;
        "PK11_Decrypt" MECHANISM, 3 6 Int(7), Outside;
    }
};

impl Function {
    /// Whether calls from the same file are left out.
    pub fn leaves_out_own(&self) -> bool {
        self.rule == Outside
    }

    /// Whether it is counted in a file, of which `has` tells the functions.
    pub fn is_counted(&self, has: impl Fn(&str) -> bool) -> bool {
        match self.rule {
            With(other) => has(other),
            Without(other) => !has(other),
            Rule::All | Outside => true,
            Rule::None => false,
        }
    }

    /// Whether a file is examined for a function of this name.
    pub fn knows(&self, name: &str) -> bool {
        let other = match self.rule {
            With(other) | Without(other) => Some(other),
            _ => None,
        };
        self.name == name || other == Some(name)
    }

    /// Whether another library whose functions are counted, too, calls these.
    pub fn serves_another(&self) -> bool {
        self.library == "libnettle"
    }
}

/// Whether a library of this name calls functions that `serves_another` is about.
pub fn calls_others(file: &str) -> bool {
    file.starts_with("libgnutls.")
}

/// The block ciphers that modes get as functions, with the bits of their keys.
pub const CIPHERS: &[(&str, u32)] = &[
    ("nettle_aes128_encrypt", 128),
    ("nettle_aes192_encrypt", 192),
    ("nettle_aes256_encrypt", 256),
    ("nettle_aes128_decrypt", 128),
    ("nettle_aes192_decrypt", 192),
    ("nettle_aes256_decrypt", 256),
];

/// Whether a file of this name may have any of them. A program may have them too, if the library is
/// linked into it.
pub fn may_be_in(file: &str) -> bool {
    FUNCTIONS
        .iter()
        .any(|function| file.starts_with(function.library))
}
