// SPDX-License-Identifier: BSD-2-Clause
//! The catalogue's names against what libcrypto lists for the provider, and against the manual page.

use crate::support::{module, Finish, Place};
use catalogue::{Cipher, COMPOSED};
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

/// The same by the catalogue.
fn expected(mac: bool) -> BTreeSet<Names> {
    let ciphers = catalogue::all().into_iter();
    let of = |cipher: Cipher| {
        let bits = cipher.key_bits().to_string();
        let row = cipher.row();
        let algorithms = row.hosts.provider.iter().enumerate();
        algorithms.map(move |(index, names)| {
            let oid = row.oid(cipher.key_bits()).filter(|_| index == 0);
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

#[test]
fn the_manual_page_names_every_mode() {
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/man/OSSL_PROVIDER-tenrounds.7"
    );
    let page = std::fs::read_to_string(root).unwrap();
    for row in catalogue::ROWS
        .iter()
        .filter(|row| !row.hosts.provider.is_empty())
    {
        let name = row.hosts.provider[0][0];
        let mode = name
            .trim_start_matches("AES-{}-")
            .trim_start_matches("AES-");
        let said = match row.call {
            catalogue::Call::Wrap => page.contains("key wrap"),
            _ => page.contains(mode),
        };
        assert!(said, "{mode} is not in the manual page");
    }
}
