// SPDX-License-Identifier: BSD-2-Clause
//! The catalogue's names against what libcrypto lists for the provider, and against the documents.

use crate::support::{module, Finish, Place};
use catalogue::{Cipher, Mode};
use std::collections::BTreeSet;

type Names = BTreeSet<String>;

/// What `openssl list` says about the provider's algorithms: a set of names for each.
fn listed(place: &Place, kind: &str) -> BTreeSet<Names> {
    let mut openssl = place.program("openssl");
    openssl.args(["list", kind, "-provider-path"]);
    openssl.arg(module().parent().unwrap());
    let done = openssl.args(["-provider", "tenrounds"]).done().ok();
    let lines = done
        .out
        .lines()
        .filter_map(|l| l.strip_suffix(" @ tenrounds"));
    let names = |line: &str| {
        let line = line.trim().trim_start_matches('{').trim_end_matches('}');
        line.split(',').map(|n| n.trim().to_uppercase()).collect()
    };
    lines.map(names).collect()
}

/// The provider's algorithms that are no modes of their own: GMAC is GCM without data, and the
/// others are CBC with the HMAC of TLS records, for key sizes and processors that OpenSSL has them
/// for, too.
const COMPOSED: [&str; 5] = [
    "GMAC",
    "AES-128-CBC-HMAC-SHA1",
    "AES-256-CBC-HMAC-SHA1",
    "AES-128-CBC-HMAC-SHA256",
    "AES-256-CBC-HMAC-SHA256",
];

/// The object identifier: in NIST's register the last numbers of the key sizes are 20 apart
/// (2.16.840.1.101.3.4.1); IEEE 1619 has those of XTS.
fn oid(cipher: Cipher) -> Option<String> {
    let first = match cipher.mode() {
        Mode::Ecb => 1,
        Mode::Cbc => 2,
        Mode::Ofb => 3,
        Mode::Cfb128 => 4,
        Mode::Kw => 5,
        Mode::Gcm => 6,
        Mode::Ccm => 7,
        Mode::Kwp => 8,
        Mode::Xts => return Some(format!("1.3.111.2.1619.0.1.{}", cipher.key_bits() / 128)),
        _ => return None,
    };
    let last = first + 20 * (cipher.key_bits() - 128) / 64;
    Some(format!("2.16.840.1.101.3.4.1.{last}"))
}

/// The same by the catalogue.
fn expected(mac: bool) -> BTreeSet<Names> {
    let ciphers = catalogue::all().into_iter();
    let of = |cipher: Cipher| {
        let bits = cipher.key_bits().to_string();
        let row = cipher.row();
        let algorithms = row.hosts.provider.iter().enumerate();
        algorithms.map(move |(index, names)| {
            let oid = oid(cipher).filter(|_| index == 0);
            let names = names
                .iter()
                .map(|name| name.replace("{}", &bits).to_uppercase());
            names.chain(oid).collect::<Names>()
        })
    };
    ciphers
        .filter(|c| c.row().hosts.mac == mac)
        .flat_map(of)
        .collect()
}

fn without_composed(mut found: BTreeSet<Names>) -> BTreeSet<Names> {
    found.retain(|names| !COMPOSED.iter().any(|name| names.contains(*name)));
    found
}

#[test]
fn the_provider_has_what_the_catalogue_says() {
    let place = Place::new();
    let ciphers = without_composed(listed(&place, "-cipher-algorithms"));
    assert_eq!(ciphers, expected(false));
    let macs = without_composed(listed(&place, "-mac-algorithms"));
    assert_eq!(macs, expected(true));
}

/// The part of a document of the tree that begins and ends with these words.
fn passage(file: &str, begin: &str, end: &str) -> String {
    let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect(file);
    let (_, rest) = text.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0.to_owned()
}

/// The names of modes in a passage: its words in capitals, without "AES-128".
fn modes_in(passage: &str) -> Names {
    let words = passage.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let words = words.map(|word| word.trim_matches('-'));
    let is_mode = |word: &&str| {
        let capitals = !word.contains(|c: char| c.is_ascii_lowercase());
        capitals && !word.starts_with("AES") && word.contains(|c: char| c.is_ascii_uppercase())
    };
    words.filter(is_mode).map(str::to_owned).collect()
}

fn titles(has: impl Fn(&catalogue::Hosts) -> bool) -> Names {
    let offered = catalogue::ROWS.iter().filter(|row| has(&row.hosts));
    offered.map(|row| row.title.to_owned()).collect()
}

/// Those of the provider, and GMAC, which is no mode of its own.
fn of_the_provider() -> Names {
    let mut names = titles(|hosts| !hosts.provider.is_empty());
    names.insert("GMAC".to_owned());
    names
}

#[test]
fn documents_name_the_modes_of_the_provider_and_no_others() {
    let page = "docs/install.md";
    let in_page = passage(page, "**Modes of the provider**:", ".");
    assert_eq!(modes_in(&in_page), of_the_provider(), "{page}");
    let page = "docs/man/OSSL_PROVIDER-tenrounds.7";
    let ciphers = passage(page, ".It Ciphers", "AES-{128,256}-CBC-HMAC");
    let in_page = ciphers + &passage(page, ".It MACs", ".\n");
    assert_eq!(modes_in(&in_page), of_the_provider(), "{page}");
}

#[test]
fn documents_name_the_modes_of_the_engine_and_no_others() {
    let engine = titles(|hosts| hosts.engine);
    for (file, end) in [
        ("docs/man/tenrounds-engine.7", ".\n"),
        ("docs/migration.md", ", and behaves"),
    ] {
        assert_eq!(
            modes_in(&passage(file, "The engine has", end)),
            engine,
            "{file}"
        );
    }
    let more = passage("docs/migration.md", "The provider also has", "AES-CBC-HMAC");
    assert_eq!(modes_in(&more), &of_the_provider() - &engine);
}

#[test]
fn documents_name_the_algorithms_of_the_kernel_module_and_no_others() {
    let rows = catalogue::ROWS.iter().filter_map(|row| row.hosts.kernel);
    // CTR and GCM with counters and nonces as IPsec and others have them, and IPsec's MAC.
    let all = rows.chain(["xctr(aes)", "rfc4106(gcm(aes))", "xcbc(aes)"]);
    let all: Names = all.map(str::to_owned).collect();
    for (file, begin, end) in [
        (
            "docs/man/tenrounds-kernel.7",
            "ciphers\n",
            "Encrypted disks",
        ),
        ("docs/kernel.md", "| algorithm | driver |", "\n\n"),
    ] {
        let passage = passage(file, begin, end);
        let words = passage.split([' ', '`', ',', '\n']);
        let found: Names = words
            .filter(|w| w.contains("(aes)"))
            .map(str::to_owned)
            .collect();
        assert_eq!(found, all, "{file}");
    }
}
