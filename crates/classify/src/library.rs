// SPDX-License-Identifier: BSD-2-Clause
//! The library that a file is or contains, by the names of its symbols and by texts in its
//! read-only data.

use crate::chunk::Chunk;
use memchr::memmem;
use serde::Serialize;

/// A library, and its version if the file says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Library {
    pub name: &'static str,
    pub version: Option<String>,
}

/// What a file says about its library, besides texts.
#[derive(Debug, Default)]
pub struct Evidence<'d> {
    /// The place in `SIGNATURES` that the names of symbols lead to.
    pub symbol: Option<usize>,
    /// The section .go.buildinfo of a Go program.
    pub go: Option<&'d [u8]>,
    /// The section .modinfo of a kernel module.
    pub module: Option<&'d [u8]>,
}

struct Signature {
    name: &'static str,
    /// Beginnings of names of symbols that only this library defines.
    symbols: &'static [&'static str],
    /// Texts that only this library contains.
    texts: &'static [&'static str],
    version: Version,
}

enum Version {
    /// It follows one of these texts.
    After(&'static [&'static str]),
    /// It is the only text of the form "1.2.3".
    Alone,
    Unstated,
}
use Version::{After, Alone, Unstated};

/// Forks and users of a library stand before it, because they contain its symbols and texts.
#[rustfmt::skip]
const SIGNATURES: [Signature; 18] = [
    Signature { name: "tenrounds", symbols: &["tr_version"], texts: &["TENROUNDS_MASK\0"], version: Alone },
    Signature { name: "HotSpot", symbols: &["JNI_CreateJavaVM"], texts: &[], version: After(&["Server VM ("]) },
    Signature { name: "AWS-LC", symbols: &["aws_lc_", "awslc_"], texts: &["(compatible; AWS-LC"], version: After(&["(compatible; AWS-LC ", "AWS-LC FIPS "]) },
    Signature { name: "BoringSSL", symbols: &["BORINGSSL_", "_goboringcrypto_"], texts: &["(compatible; BoringSSL)", "third_party/boringssl", "boringssl/src/crypto/"], version: Unstated },
    Signature { name: "ring", symbols: &["ring_core_"], texts: &["/ring-0."], version: After(&["/ring-"]) },
    Signature { name: "RustCrypto aes", symbols: &[], texts: &["/aes-0."], version: After(&["/aes-"]) },
    Signature { name: "GnuTLS", symbols: &["gnutls_global_init"], texts: &[], version: Alone },
    Signature { name: "libgcrypt", symbols: &["gcry_check_version"], texts: &["This is Libgcrypt "], version: After(&["This is Libgcrypt "]) },
    Signature { name: "Mbed TLS", symbols: &["mbedtls_aes_"], texts: &["mbed TLS ", "Mbed TLS "], version: After(&["mbed TLS ", "Mbed TLS "]) },
    Signature { name: "wolfSSL", symbols: &["wolfSSL_", "wc_AesSetKey"], texts: &["wolfSSL Inc"], version: Alone },
    Signature { name: "libsodium", symbols: &["sodium_init"], texts: &[], version: Alone },
    Signature { name: "Botan", symbols: &["botan_version_string", "_ZN5Botan"], texts: &["N5Botan"], version: After(&["Botan "]) },
    Signature { name: "Crypto++", symbols: &["_ZN8CryptoPP"], texts: &["N8CryptoPP"], version: Unstated },
    Signature { name: "NSS", symbols: &["FREEBL_GetVector"], texts: &["$Header: NSS "], version: After(&["$Header: NSS ", "Version: NSS "]) },
    Signature { name: "nettle", symbols: &["nettle_aes", "_nettle_aes"], texts: &[], version: Unstated },
    Signature { name: "PyCryptodome", symbols: &["AESNI_start_operation", "AES_start_operation"], texts: &[], version: Unstated },
    Signature { name: "Intel IPsec MB", symbols: &["imb_get_version"], texts: &[], version: Unstated },
    Signature { name: "OpenSSL", symbols: &["OPENSSL_init_crypto", "EVP_EncryptInit_ex"], texts: &["AES for Intel AES-NI, CRYPTOGAMS by"], version: After(&["OpenSSL "]) },
];

/// The place in `SIGNATURES` of the library whose symbol this is.
pub fn by_symbol(name: &[u8]) -> Option<usize> {
    let is_of = |s: &Signature| {
        let mut starts = s.symbols.iter();
        starts.any(|start| name.starts_with(start.as_bytes()))
    };
    SIGNATURES.iter().position(is_of)
}

/// The library, by all that the file says.
pub fn identify(evidence: &Evidence, texts: &[Chunk]) -> Option<Library> {
    if let Some(info) = evidence.module {
        let version = value(info, b"vermagic=");
        return Some(Library {
            name: "Linux",
            version,
        });
    }
    if let Some(info) = evidence.go {
        return Some(Library {
            name: "Go",
            version: go_version(info),
        });
    }
    let holds = |text: &str| {
        let finder = memmem::Finder::new(text);
        texts.iter().any(|chunk| finder.find(chunk.data).is_some())
    };
    let by_text = SIGNATURES
        .iter()
        .position(|s| s.texts.iter().any(|text| holds(text)));
    let first = evidence.symbol.into_iter().chain(by_text).min()?;
    let signature = &SIGNATURES[first];
    let version = match signature.version {
        After(starts) => starts.iter().find_map(|start| version_after(texts, start)),
        Alone => alone(texts),
        Unstated => None,
    };
    Some(Library {
        name: signature.name,
        version,
    })
}

/// The version of Go in .go.buildinfo, since Go 1.18: behind a header of 32 bytes a length and a
/// text (debug/buildinfo of Go).
fn go_version(info: &[u8]) -> Option<String> {
    let length = usize::from(*info.get(32)?);
    let text = std::str::from_utf8(info.get(33..33 + length)?).ok()?;
    let version = text.strip_prefix("go")?.split(' ').next()?;
    Some(version.to_owned())
}

/// A value of .modinfo, up to its first blank.
fn value(info: &[u8], key: &[u8]) -> Option<String> {
    let entry = info
        .split(|byte| *byte == 0)
        .find(|entry| entry.starts_with(key))?;
    let value = entry[key.len()..].split(|byte| *byte == b' ').next()?;
    Some(String::from_utf8_lossy(&value[..value.len().min(LONGEST)]).into_owned())
}

const LONGEST: usize = 40;

/// The version directly behind a text: digits with dots, and what is joined to them. Messages name
/// other versions, so one with a date behind it is best, as in "OpenSSL 3.0.13 30 Jan 2024". Then
/// one with two dots is better than one with a single dot.
fn version_after(texts: &[Chunk], start: &str) -> Option<String> {
    let finder = memmem::Finder::new(start);
    let found = texts.iter().flat_map(|chunk| {
        let places = finder.find_iter(chunk.data);
        places.filter_map(|at| version_at(&chunk.data[at + start.len()..]))
    });
    let found = found.min_by_key(|(version, dated)| (!dated, version.matches('.').count() < 2));
    found.map(|(version, _)| version.to_owned())
}

/// The version at the beginning of the data, and whether a number follows it.
fn version_at(data: &[u8]) -> Option<(&str, bool)> {
    let joined = |byte: &&u8| byte.is_ascii_alphanumeric() || b".+-~".contains(byte);
    let end = data.iter().take(LONGEST).take_while(joined).count();
    let version = std::str::from_utf8(&data[..end]).ok()?;
    let (major, minor) = version.split_once('.')?;
    let is_number = !major.is_empty() && major.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || !minor.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let dated = matches!(data[end..], [b' ', digit, ..] if digit.is_ascii_digit());
    Some((version.trim_end_matches(['.', '-']), dated))
}

/// The only text of the form "1.2.3".
fn alone(texts: &[Chunk]) -> Option<String> {
    let is_version = |text: &&[u8]| {
        let parts = text.split(|byte| *byte == b'.');
        text.len() < 20
            && parts.clone().count() == 3
            && parts
                .into_iter()
                .all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    };
    let texts = texts
        .iter()
        .flat_map(|chunk| chunk.data.split(|byte| *byte == 0));
    let mut found: Vec<&[u8]> = texts.filter(is_version).collect();
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [version] => Some(String::from_utf8_lossy(version).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(texts: &[u8], symbol: &[u8]) -> Option<(&'static str, Option<String>)> {
        let evidence = Evidence {
            symbol: by_symbol(symbol),
            ..Evidence::default()
        };
        identify(&evidence, &[Chunk::of(texts)]).map(|found| (found.name, found.version))
    }

    #[test]
    fn versions() {
        let version = |text: &str| Some(text.to_owned());
        let openssl = b"for OpenSSL 3\0OpenSSL 1.1.0 or 3.0\0OpenSSL 3.0.13+quic 30 Jan 2024\0";
        let found = library(openssl, b"EVP_EncryptInit_ex");
        assert_eq!(found, Some(("OpenSSL", version("3.0.13+quic"))));
        assert_eq!(library(openssl, b"main"), None);
        let ring = b"/home/x/.cargo/registry/src/x/ring-0.17.8/src/aead.rs";
        assert_eq!(library(ring, b""), Some(("ring", version("0.17.8"))));
        assert_eq!(
            library(b"1.0.18\x00", b"sodium_init"),
            Some(("libsodium", version("1.0.18")))
        );
        assert_eq!(
            library(b"1.0.18\x001.1.1\x00", b"sodium_init"),
            Some(("libsodium", None))
        );
        let boring = b"OpenSSL 1.1.1 (compatible; BoringSSL)\0";
        for symbol in [&b"EVP_EncryptInit_ex"[..], b""] {
            assert_eq!(library(boring, symbol), Some(("BoringSSL", None)));
        }
        assert_eq!(library(b"", b""), None);
    }

    #[test]
    fn go_and_the_kernel() {
        let header = [&b"\xff Go buildinf:\x08\x02"[..], &[0; 16]].concat();
        let info = [&header[..], b"\x08go1.22.1\x30path"].concat();
        let go = Evidence {
            go: Some(&info),
            symbol: by_symbol(b"BORINGSSL_x"),
            ..Evidence::default()
        };
        let found = identify(&go, &[]).unwrap();
        assert_eq!(
            (found.name, found.version.as_deref()),
            ("Go", Some("1.22.1"))
        );
        let module = Evidence {
            module: Some(b"license=GPL\0vermagic=6.1.0-28-amd64 SMP preempt\0"),
            ..Evidence::default()
        };
        let found = identify(&module, &[]).unwrap();
        assert_eq!(
            (found.name, found.version.as_deref()),
            ("Linux", Some("6.1.0-28-amd64"))
        );
    }
}
