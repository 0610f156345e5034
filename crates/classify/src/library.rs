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
    /// Texts that the version follows.
    after: &'static [&'static str],
    /// The version is the only text of the form "1.2.3", if it follows none of those.
    alone: bool,
}

/// Forks and users of a library stand before it, because they contain its symbols and texts.
#[rustfmt::skip]
const SIGNATURES: [Signature; 18] = [
    Signature { name: "tenrounds", symbols: &["tr_version"], texts: &["TENROUNDS_MASK\0"], after: &[], alone: true },
    Signature { name: "HotSpot", symbols: &["JNI_CreateJavaVM"], texts: &[], after: &["Server VM ("], alone: false },
    Signature { name: "AWS-LC", symbols: &["aws_lc_", "awslc_"], texts: &["(compatible; AWS-LC"], after: &["(compatible; AWS-LC ", "AWS-LC FIPS ", "AWS-LC "], alone: false },
    Signature { name: "BoringSSL", symbols: &["BORINGSSL_", "_goboringcrypto_"], texts: &["(compatible; BoringSSL)", "third_party/boringssl", "boringssl/src/crypto/"], after: &[], alone: false },
    Signature { name: "ring", symbols: &["ring_core_"], texts: &["/ring-0."], after: &["/ring-"], alone: false },
    Signature { name: "RustCrypto aes", symbols: &[], texts: &["/aes-0."], after: &["/aes-"], alone: false },
    Signature { name: "GnuTLS", symbols: &["gnutls_global_init"], texts: &[], after: &["Enabled GnuTLS "], alone: false },
    Signature { name: "libgcrypt", symbols: &["gcry_check_version"], texts: &["This is Libgcrypt "], after: &["This is Libgcrypt "], alone: false },
    Signature { name: "Mbed TLS", symbols: &["mbedtls_aes_"], texts: &["mbed TLS ", "Mbed TLS "], after: &["mbed TLS ", "Mbed TLS "], alone: false },
    Signature { name: "wolfSSL", symbols: &["wolfSSL_", "wc_AesSetKey"], texts: &["wolfSSL Inc"], after: &["wolfSSL "], alone: true },
    Signature { name: "libsodium", symbols: &["sodium_init"], texts: &[], after: &[], alone: true },
    Signature { name: "Botan", symbols: &["botan_version_string", "_ZN5Botan"], texts: &["N5Botan"], after: &["Botan "], alone: false },
    Signature { name: "Crypto++", symbols: &["_ZN8CryptoPP"], texts: &["N8CryptoPP"], after: &[], alone: false },
    Signature { name: "NSS", symbols: &["FREEBL_GetVector"], texts: &["$Header: NSS "], after: &["$Header: NSS ", "Version: NSS "], alone: false },
    Signature { name: "nettle", symbols: &["nettle_aes", "_nettle_aes"], texts: &[], after: &[], alone: false },
    Signature { name: "PyCryptodome", symbols: &["AESNI_start_operation", "AES_start_operation"], texts: &[], after: &[], alone: false },
    Signature { name: "Intel IPsec MB", symbols: &["imb_get_version"], texts: &[], after: &[], alone: true },
    Signature { name: "OpenSSL", symbols: &["OPENSSL_init_crypto", "EVP_EncryptInit_ex"], texts: &["AES for Intel AES-NI, CRYPTOGAMS by"], after: &["OpenSSL "], alone: false },
];

/// The place in `SIGNATURES` of the library whose symbol this is.
pub fn by_symbol(name: &[u8]) -> Option<usize> {
    // Most names end at the first byte, without a call.
    let first = name.first();
    let is_of = |s: &Signature| {
        let mut starts = s.symbols.iter().map(|start| start.as_bytes());
        starts.any(|start| start.first() == first && name.starts_with(start))
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
    let mut starts = signature.after.iter();
    let after = starts.find_map(|start| version_after(texts, start));
    let alone = || signature.alone.then(|| alone(texts)).flatten();
    let version = after.or_else(alone);
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

    /// Texts and symbols as these libraries have them in Debian 12, and AWS-LC in a package for
    /// Python. The linker stores a text that is the end of another one only once.
    #[test]
    fn every_signature_leads_to_its_library() {
        for (name, symbol, texts, version) in [
            (
                "AWS-LC",
                "aws_lc_0_38_0_aes_nohw_encrypt",
                "AWS-LC FIPS\0AWS-LC 5.12.0\0",
                "5.12.0",
            ),
            (
                "AWS-LC",
                "EVP_EncryptInit_ex",
                "OpenSSL 1.1.1 (compatible; AWS-LC 1.36.0)\0",
                "1.36.0",
            ),
            (
                "AWS-LC",
                "main",
                "OpenSSL 1.1.1 (compatible; AWS-LC FIPS 2.0.17)\0AWS-LC FIPS 2.0.17\0",
                "2.0.17",
            ),
            (
                "libgcrypt",
                "gcry_check_version",
                "1.10.1\0This is Libgcrypt 1.10.1 - The GNU\0",
                "1.10.1",
            ),
            ("nettle", "nettle_aes128_encrypt", "aes128\0", ""),
            (
                "NSS",
                "FREEBL_GetVector",
                "$Header: NSS 3.87.1 \0Version: NSS 3.87.1 Basic ECC\0",
                "3.87.1",
            ),
            ("NSS", "main", "$Header: NSS 3.98 \0", "3.98"),
            (
                "wolfSSL",
                "wolfSSL_new",
                "2.5.29.37.0\0wolfSSL 5.5.4\0",
                "5.5.4",
            ),
            ("wolfSSL", "wc_AesSetKey", "5.7.0\0", "5.7.0"),
            (
                "Mbed TLS",
                "mbedtls_aes_init",
                "2.28.3\0mbed TLS 2.28.3\0",
                "2.28.3",
            ),
            ("Mbed TLS", "main", "Mbed TLS 3.6.0\0", "3.6.0"),
            (
                "Crypto++",
                "_ZN8CryptoPP8RijndaelE",
                "N8CryptoPP9AlgorithmE\0",
                "",
            ),
            ("Crypto++", "main", "N8CryptoPP9AlgorithmE\0", ""),
            (
                "Botan",
                "botan_version_string",
                "1.2.13\0Botan 2.19.3 (unreleased, revision unknown)\0",
                "2.19.3",
            ),
            (
                "Botan",
                "main",
                "N5Botan7AES_128E\0Botan 3.5.0 (release)\0",
                "3.5.0",
            ),
            (
                "HotSpot",
                "JNI_CreateJavaVM",
                "OpenJDK 64-Bit Server VM (17.0.15+6-Debian-1deb12u1) for linux\0",
                "17.0.15+6-Debian-1deb12u1",
            ),
            (
                "GnuTLS",
                "gnutls_global_init",
                "0.3.4\x003.7.9\0Enabled GnuTLS 3.7.9 logging...\n\0",
                "3.7.9",
            ),
            ("Intel IPsec MB", "imb_get_version_str", "1.3.0\0", "1.3.0"),
        ] {
            let version = (!version.is_empty()).then(|| version.to_owned());
            let found = library(texts.as_bytes(), symbol.as_bytes());
            assert_eq!(found, Some((name, version)), "{symbol} {texts}");
        }
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

    #[test]
    fn forms_of_versions() {
        let at = |text: &'static str| version_at(text.as_bytes());
        for (text, expected) in [
            ("3.0.13 30 Jan", Some(("3.0.13", true))),
            ("3.0.13 a", Some(("3.0.13", false))),
            ("3.0.13  3", Some(("3.0.13", false))),
            ("3.0.13", Some(("3.0.13", false))),
            ("3.0.13\x001", Some(("3.0.13", false))),
            ("1.2-dev+x~3_4", Some(("1.2-dev+x~3", false))),
            ("1.2.", Some(("1.2", false))),
            ("1.2- 3", Some(("1.2", true))),
            ("12.0", Some(("12.0", false))),
            ("3", None),
            (".1", None),
            ("3.x", None),
            ("3.", None),
            ("v3.1", None),
            ("3a.1", None),
            ("", None),
        ] {
            assert_eq!(at(text), expected, "{text}");
        }
        let long = "1.".to_owned() + &"2".repeat(50);
        let (found, _) = version_at(long.as_bytes()).unwrap();
        assert_eq!(found.len(), 40);
    }

    #[test]
    fn the_best_of_several_versions() {
        let after = |texts: &[u8]| version_after(&[Chunk::of(texts)], "X ");
        let text = |version: &str| Some(version.to_owned());
        // A date is best, then two dots, then the first.
        assert_eq!(after(b"X 1.2.3\0X 1.0 30\0X 4.5.6"), text("1.0"));
        assert_eq!(after(b"X 1.0\0X 1.2.3\0X 4.5.6"), text("1.2.3"));
        assert_eq!(after(b"X 1.0\0X 2.0\0"), text("1.0"));
        assert_eq!(after(b"X 1.2.3.4\0X 1.0\0"), text("1.2.3.4"));
        assert_eq!(after(b"X y\0x 1.0"), None);
    }

    #[test]
    fn a_version_that_stands_alone() {
        let found = |texts: &[u8]| alone(&[Chunk::of(texts)]);
        let text = |version: &str| Some(version.to_owned());
        assert_eq!(found(b"x\x001.2.3\x00y"), text("1.2.3"));
        assert_eq!(found(b"1.2.3\x001.2.3"), text("1.2.3"), "twice the same");
        assert_eq!(found(b"123456789.12345.123"), text("123456789.12345.123"));
        for other in [
            &b"1.2"[..],
            b"1.2.3.4",
            b"1..3",
            b".2.3",
            b"1.2.",
            b"1.2.a",
            b"1.2.3\x001.2.4",
            b"123456789.12345.1234",
            b"",
        ] {
            assert_eq!(found(other), None, "{other:?}");
        }
    }

    #[test]
    fn damaged_evidence_has_no_version() {
        let header = [0; 32];
        let go = |rest: &[u8]| go_version(&[&header[..], rest].concat());
        assert_eq!(go(b"\x06go1.22").as_deref(), Some("1.22"));
        assert_eq!(go(b"\x08go1.22 X").as_deref(), Some("1.22"));
        assert_eq!(go(b"\x06go1.2"), None, "cut off");
        assert_eq!(go(b"\x06xx1.22"), None);
        assert_eq!(go_version(&header), None);
        let long = [&b"vermagic="[..], &[b'6'; 50], b" SMP"].concat();
        assert_eq!(value(&long, b"vermagic=").unwrap(), "6".repeat(40));
        assert_eq!(value(b"x=1\0vermagic=", b"vermagic=").as_deref(), Some(""));
        assert_eq!(value(b"xvermagic=1", b"vermagic="), None);
    }

    #[test]
    fn symbols_begin_with_the_names_of_libraries() {
        let names = |symbol: &[u8]| by_symbol(symbol).map(|at| SIGNATURES[at].name);
        for signature in &SIGNATURES {
            for symbol in signature.symbols {
                assert_eq!(names(symbol.as_bytes()), Some(signature.name));
                let longer = [symbol.as_bytes(), b"x"].concat();
                assert_eq!(names(&longer), Some(signature.name));
                let other = [b"x", symbol.as_bytes()].concat();
                assert_eq!(names(&other), None, "{symbol}");
            }
        }
        assert_eq!((names(b""), names(b"main")), (None, None));
    }
}
