// SPDX-License-Identifier: BSD-2-Clause
//! The names of algorithms, as OpenSSL writes them, by the numbers that libraries give them.

use libcrypto::{string, LibCrypto};

/// Whose number it is. A mode stays known if the number is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// OpenSSL's, which stays the same in all versions.
    Nid,
    /// enum gcry_cipher_algos (gcrypt.h), without a mode.
    Gcrypt,
    /// gnutls_cipher_algorithm_t (gnutls/gnutls.h).
    Gnutls,
    /// Rounds of AES.
    Rounds(&'static str),
    /// mbedtls_cipher_type_t (mbedtls/cipher.h) of the block cipher.
    Mbed(&'static str),
    /// The bits of an AES key.
    Bits(&'static str),
    /// CK_MECHANISM_TYPE of PKCS #11, without the size of the key.
    Mechanism,
}

impl Names {
    pub fn of(self, number: u32, libcrypto: Option<&LibCrypto>) -> Option<String> {
        let aes = |bits: Option<u32>, mode: &str| match bits {
            Some(bits) => format!("aes-{bits}-{mode}"),
            None => mode.to_owned(),
        };
        Some(match self {
            Names::Nid => return nid(number, libcrypto),
            Names::Gcrypt => return gcrypt(number),
            Names::Gnutls => return gnutls(number),
            Names::Mechanism => return mechanism(number),
            Names::Rounds(mode) => {
                let bits = match number {
                    10 => Some(128),
                    12 => Some(192),
                    14 => Some(256),
                    _ => None,
                };
                aes(bits, mode)
            }
            Names::Mbed(mode) => {
                let bits = match number {
                    2 => Some(128),
                    3 => Some(192),
                    4 => Some(256),
                    _ => None,
                };
                aes(bits, mode)
            }
            Names::Bits(mode) => aes((number != 0).then_some(number), mode),
        })
    }
}

fn nid(number: u32, libcrypto: Option<&LibCrypto>) -> Option<String> {
    let nid = i32::try_from(number).ok().filter(|nid| *nid != 0)?;
    let known = libcrypto.and_then(|libcrypto| {
        // SAFETY: OBJ_nid2ln() takes any number, and returns a C string or NULL.
        unsafe { string((libcrypto.functions.OBJ_nid2ln)(nid)) }
    });
    Some(known.unwrap_or_else(|| format!("NID {nid}")))
}

/// A name of a table. Other numbers stay numbers, and 0 means that the call does not show any.
fn named(table: &[(u32, &str)], number: u32, kind: &str) -> Option<String> {
    let known = table.iter().find(|(known, _)| *known == number);
    match known {
        Some((_, name)) => Some((*name).to_owned()),
        None => (number != 0).then(|| format!("{kind} {number}")),
    }
}

fn gcrypt(number: u32) -> Option<String> {
    const TABLE: &[(u32, &str)] = &[
        (2, "des-ede3"),
        (7, "aes-128"),
        (8, "aes-192"),
        (9, "aes-256"),
        (310, "camellia-128"),
        (311, "camellia-192"),
        (312, "camellia-256"),
        (316, "chacha20"),
        (318, "sm4"),
    ];
    named(TABLE, number, "Libgcrypt cipher")
}

fn gnutls(number: u32) -> Option<String> {
    const TABLE: &[(u32, &str)] = &[
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
    ];
    // A structure of another version may have anything there.
    const MOST: u32 = 255;
    match number <= MOST {
        true => named(TABLE, number, "GnuTLS cipher"),
        false => None,
    }
}

fn mechanism(number: u32) -> Option<String> {
    const TABLE: &[(u32, &str)] = &[
        (0x1081, "aes-ecb"),
        (0x1082, "aes-cbc"),
        (0x1085, "aes-cbc"),
        (0x1086, "aes-ctr"),
        (0x1087, "aes-gcm"),
        (0x1088, "aes-ccm"),
        (0x1089, "aes-cbc-cts"),
        (0x4021, "chacha20-poly1305"),
    ];
    named(TABLE, number, "mechanism")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_numbers_keep_what_is_known() {
        let of = |names: Names, number| names.of(number, None);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of(Names::Rounds("ctr"), 12), some("aes-192-ctr"));
        assert_eq!(of(Names::Rounds("ctr"), 11), some("ctr"));
        assert_eq!(of(Names::Mbed("gcm"), 4), some("aes-256-gcm"));
        assert_eq!(of(Names::Mbed("gcm"), 17), some("gcm"));
        assert_eq!(of(Names::Bits("cbc"), 0), some("cbc"));
        assert_eq!(of(Names::Gcrypt, 9), some("aes-256"));
        assert_eq!(of(Names::Gcrypt, 10), some("Libgcrypt cipher 10"));
        assert_eq!(of(Names::Gnutls, 39), some("aes-192-gcm"));
        assert_eq!(of(Names::Mechanism, 0x1087), some("aes-gcm"));
        for names in [Names::Nid, Names::Gcrypt, Names::Gnutls, Names::Mechanism] {
            assert_eq!(of(names, 0), None);
        }
        assert_eq!(of(Names::Gnutls, 1 << 20), None);
        assert_eq!(of(Names::Nid, 901), some("NID 901"));
    }
}
