// SPDX-License-Identifier: BSD-2-Clause
//! The suites for rustls: connections with themselves and with ring's, forged records, QUIC.

mod common;
#[path = "common/tls.rs"]
mod tls;

use common::{bytes, length, random};
use rustls::crypto::{ring, CryptoProvider};
use rustls::quic::{Keys, Suite, Version};
use rustls::{CipherSuite, Error, Side, SupportedCipherSuite};
use std::io::Write;
use tls::{only, Pair};

const SUITES: [CipherSuite; 4] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS13_AES_256_GCM_SHA384,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
];

fn ours() -> CryptoProvider {
    tenrounds::rustls::provider(ring::default_provider())
}

fn pairs(suite: CipherSuite) -> [Pair; 3] {
    let (here, there) = (
        || only(ours(), suite),
        || only(ring::default_provider(), suite),
    );
    [
        Pair::new(here(), here()),
        Pair::new(here(), there()),
        Pair::new(there(), here()),
    ]
}

#[test]
fn data_arrive() {
    let mut random = random();
    for suite in SUITES {
        for mut pair in pairs(suite) {
            for _ in 0..20 {
                let len = 1 + length(&mut random) * random.usize(1..5);
                let data = bytes(&mut random, len);
                pair.send(&data);
                assert!(pair.received == data, "{suite:?}, {len} bytes");
                pair.received.clear();
                pair.client.writer().write_all(&data).unwrap();
                assert_eq!(pair.deliver_to_server(|_| ()), None);
                assert!(pair.received == data, "{suite:?}, {len} bytes");
            }
        }
    }
}

#[test]
fn damaged_records_are_refused() {
    let mut random = random();
    for suite in SUITES {
        for mut pair in pairs(suite) {
            pair.client
                .writer()
                .write_all(&bytes(&mut random, 100))
                .unwrap();
            // After the record's header of 5 bytes.
            let (at, bit) = (random.usize(5..100), 1 << random.u8(..8));
            assert_eq!(
                pair.deliver_to_server(|wire| wire[at] ^= bit),
                Some(Error::DecryptError),
                "{suite:?}"
            );
            assert!(pair.received.is_empty());
        }
    }
}

/// Short records, which hold no tag.
#[test]
fn short_records_are_refused() {
    for suite in SUITES {
        for len in 0..25 {
            let [mut pair, ..] = pairs(suite);
            let mut record = vec![23, 3, 3, 0, len];
            record.extend(vec![7; usize::from(len)]);
            pair.server.read_tls(&mut &record[..]).unwrap();
            assert!(
                pair.server.process_new_packets().is_err(),
                "{suite:?}, {len} bytes"
            );
        }
    }
}

#[test]
fn all_else_stays() {
    let (ring, ours) = (ring::default_provider(), ours());
    let names = |provider: &CryptoProvider| -> Vec<_> {
        provider
            .cipher_suites
            .iter()
            .map(|suite| suite.suite())
            .collect()
    };
    assert_eq!(names(&ring), names(&ours));
    let replaced = ring
        .cipher_suites
        .iter()
        .zip(&ours.cipher_suites)
        .filter(|(a, b)| {
            let address = |suite: &SupportedCipherSuite| match *suite {
                SupportedCipherSuite::Tls12(suite) => std::ptr::from_ref(suite).cast::<()>(),
                SupportedCipherSuite::Tls13(suite) => std::ptr::from_ref(suite).cast(),
            };
            address(a) != address(b)
        });
    assert_eq!(replaced.count(), 6);
}

fn quic(provider: &CryptoProvider, suite: CipherSuite, side: Side) -> Keys {
    let found = provider
        .cipher_suites
        .iter()
        .find(|s| s.suite() == suite)
        .unwrap();
    let suite = found.tls13().unwrap();
    Suite {
        suite,
        quic: suite.quic.unwrap(),
    }
    .keys(&[7; 8], side, Version::V1)
}

/// Packets of ring and ours are the same, and open each other's.
#[test]
fn quic_packets() {
    let mut random = random();
    for suite in &SUITES[..2] {
        let ours = quic(&ours(), *suite, Side::Client);
        let theirs = quic(&ring::default_provider(), *suite, Side::Client);
        let server = quic(&self::ours(), *suite, Side::Server);
        for path in 0..300 {
            let (number, header_len) = (random.u64(..1 << 60), random.usize(..60));
            let (len, header) = (length(&mut random), bytes(&mut random, header_len));
            let plain = bytes(&mut random, len);
            let (mut a, mut b) = (plain.clone(), plain.clone());
            let (ours_key, theirs_key) = (&ours.local.packet, &theirs.local.packet);
            let (x, y) = if path % 2 == 0 {
                let x = ours_key.encrypt_in_place(number, &header, &mut a).unwrap();
                (
                    x,
                    theirs_key
                        .encrypt_in_place(number, &header, &mut b)
                        .unwrap(),
                )
            } else {
                let x = ours_key
                    .encrypt_in_place_for_path(path, number, &header, &mut a)
                    .unwrap();
                (
                    x,
                    theirs_key
                        .encrypt_in_place_for_path(path, number, &header, &mut b)
                        .unwrap(),
                )
            };
            assert!(a == b && x.as_ref() == y.as_ref(), "{len} bytes");

            a.extend_from_slice(x.as_ref());
            let key = &server.remote.packet;
            let opened = match path % 2 {
                0 => key.decrypt_in_place(number, &header, &mut a),
                _ => key.decrypt_in_place_for_path(path, number, &header, &mut a),
            };
            assert!(opened.unwrap() == plain, "{len} bytes");
            assert!(key
                .decrypt_in_place(number, &header, &mut b[..len.min(15)])
                .is_err());
            assert_eq!(ours_key.tag_len(), theirs_key.tag_len());
            assert_eq!(
                ours_key.confidentiality_limit(),
                theirs_key.confidentiality_limit()
            );
            assert_eq!(ours_key.integrity_limit(), theirs_key.integrity_limit());
        }
    }
}

#[test]
fn quic_headers() {
    let mut random = random();
    for suite in &SUITES[..2] {
        let ours = quic(&ours(), *suite, Side::Client).local.header;
        let theirs = quic(&ring::default_provider(), *suite, Side::Client)
            .local
            .header;
        assert_eq!(ours.sample_len(), theirs.sample_len());
        for _ in 0..1000 {
            let sample_len = if random.u8(..10) == 0 {
                random.usize(..40)
            } else {
                16
            };
            let (sample, len) = (bytes(&mut random, sample_len), random.usize(..6));
            let plain = (random.u8(..), bytes(&mut random, len));
            let (mut a, mut b) = (plain.clone(), plain.clone());
            let x = ours.encrypt_in_place(&sample, &mut a.0, &mut a.1);
            assert_eq!(
                x.is_ok(),
                theirs.encrypt_in_place(&sample, &mut b.0, &mut b.1).is_ok()
            );
            assert_eq!(a, b);
            let x = ours.decrypt_in_place(&sample, &mut a.0, &mut a.1);
            assert_eq!(
                x.is_ok(),
                theirs.decrypt_in_place(&sample, &mut b.0, &mut b.1).is_ok()
            );
            assert_eq!(a, b);
            assert_eq!(a, plain);
        }
    }
}
