// SPDX-License-Identifier: BSD-2-Clause
//! The bytes of a token file. Numbers are little-endian. docs/token-file.md has the same tables.
//!
//! | at | bytes | header |
//! |---|---|---|
//! | 0 | 16 | "tenrounds token\n" |
//! | 16 | 4 | version of the format |
//! | 20 | 8 | wrong PINs in a row: of the security officer, of the user |
//! | 28 | 4 | 1 if the user has a PIN, else 0 |
//! | 32 | 32 | label, filled up with blanks |
//! | 64 | 16 | serial number, hexadecimal digits |
//! | 80 | 12 | Argon2id: memory in KiB, passes, lanes |
//! | 92 | 76 | the master key under the security officer's PIN: salt 16, nonce 12, sealed key 48 |
//! | 168 | 76 | the same under the user's PIN |
//! | 244 | 8 | the number of the next object |
//! | 252 | 8 | how often the file was written |
//! | 260 | 4 | the number of records |
//! | 264 | 28 | the seal: nonce 12, tag 16 |
//!
//! Records follow, then the SHA-256 of everything before it, which tells a damaged file from a
//! wrong PIN:
//!
//! | at | bytes | record |
//! |---|---|---|
//! | 0 | 8 | number of the object |
//! | 8 | 4 | 1 if it is private, else 0 |
//! | 12 | 4 | length of what follows the nonce |
//! | 16 | 12 | nonce |
//! | 28 | | private: attributes sealed by AES-256-GCM-SIV, 16 bytes longer. Public: attributes |
//!
//! The seal is a tag over everything else but the wrong PINs and the hash, under the master key: it
//! tells whether somebody without a PIN took records away, added or exchanged some.

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::path::Path;

const VERSION: u32 = 1;
pub const MAGIC: &[u8; 16] = b"tenrounds token\n";
pub const LABEL_LEN: usize = 32;
pub const SERIAL_LEN: usize = 16;
const HASH_LEN: usize = 32;
const HEADER_LEN: usize = 292;
const RECORD_LEN: usize = 28;
/// Where the seal begins, and the fields that it leaves out.
const SEAL_AT: usize = 264;
const WRONG_PINS: std::ops::Range<usize> = 20..28;
/// The longest file, in bytes. A reader allocates no more.
pub const MOST: u64 = 1 << 30;

/// A tag of the seal, or a sealed key: the nonce comes before it.
pub type Nonce = [u8; 12];

/// Who logs in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    SecurityOfficer = 0,
    User = 1,
}

/// The master key under one PIN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wrapped {
    pub salt: [u8; 16],
    pub nonce: Nonce,
    pub key: [u8; 48],
}

/// Costs of Argon2id (RFC 9106): memory in KiB, passes, lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Costs {
    pub memory: u32,
    pub passes: u32,
    pub lanes: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub id: u64,
    pub is_private: bool,
    /// New with every change, so it also tells versions of a record apart.
    pub nonce: Nonce,
    /// Sealed, if it is private.
    pub attributes: Vec<u8>,
}

/// A token file, read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contents {
    pub label: [u8; LABEL_LEN],
    pub serial: [u8; SERIAL_LEN],
    pub costs: Costs,
    pub wrong_pins: [u32; 2],
    pub security_officer: Wrapped,
    pub user: Option<Wrapped>,
    pub next_id: u64,
    pub written: u64,
    pub records: Vec<Record>,
    pub seal: (Nonce, [u8; 16]),
}

impl Contents {
    pub fn wrapped(&self, role: Role) -> Option<&Wrapped> {
        match role {
            Role::SecurityOfficer => Some(&self.security_officer),
            Role::User => self.user.as_ref(),
        }
    }

    /// The whole file.
    pub fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = self.without_hash()?;
        let hash = Sha256::digest(&bytes);
        bytes.extend_from_slice(&hash);
        Ok(bytes)
    }

    fn without_hash(&self) -> Result<Vec<u8>> {
        let records: usize = self.records.iter().map(Record::len).sum();
        let len = HEADER_LEN + records + HASH_LEN;
        if len as u64 > MOST || u32::try_from(self.records.len()).is_err() {
            return Err(Error::Full);
        }
        let mut out = Vec::with_capacity(len);
        out.extend_from_slice(MAGIC);
        put32(&mut out, VERSION);
        put32(&mut out, self.wrong_pins[0]);
        put32(&mut out, self.wrong_pins[1]);
        put32(&mut out, self.user.is_some().into());
        out.extend_from_slice(&self.label);
        out.extend_from_slice(&self.serial);
        put32(&mut out, self.costs.memory);
        put32(&mut out, self.costs.passes);
        put32(&mut out, self.costs.lanes);
        self.security_officer.encode(&mut out);
        self.user.unwrap_or(Wrapped::NONE).encode(&mut out);
        out.extend_from_slice(&self.next_id.to_le_bytes());
        out.extend_from_slice(&self.written.to_le_bytes());
        put32(&mut out, self.records.len() as u32);
        out.extend_from_slice(&self.seal.0);
        out.extend_from_slice(&self.seal.1);
        debug_assert_eq!(out.len(), HEADER_LEN);
        for record in &self.records {
            record.encode(&mut out)?;
        }
        Ok(out)
    }

    /// What the seal covers.
    pub fn sealed_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = self.without_hash()?;
        bytes.drain(SEAL_AT..HEADER_LEN);
        bytes.drain(WRONG_PINS);
        Ok(bytes)
    }

    /// Reads a whole file. `path` is only for messages.
    pub fn decode(bytes: &[u8], path: &Path) -> Result<Contents> {
        let damaged = |what: &str| Error::Damaged(path.to_owned(), what.to_owned());
        let mut r = Reader(bytes);
        if r.take::<16>() != Some(*MAGIC) {
            return Err(damaged("it does not begin as a token file does"));
        }
        match r.number() {
            Some(VERSION) => {}
            Some(version @ 1..) => return Err(Error::Newer(path.to_owned(), version, VERSION)),
            _ => return Err(damaged("its version is missing")),
        }
        let Some(end) = bytes.len().checked_sub(HASH_LEN) else {
            return Err(damaged("it is truncated"));
        };
        if Sha256::digest(&bytes[..end])[..] != bytes[end..] {
            return Err(damaged(
                "its SHA-256 is another one, so bytes are missing or changed",
            ));
        }
        let mut r = Reader(&bytes[20..end]);
        let contents = Contents::fields(&mut r);
        let contents = contents.ok_or_else(|| damaged("its fields contradict each other"))?;
        match r.0 {
            [] => Ok(contents),
            rest => Err(damaged(&format!(
                "{} bytes follow its last record",
                rest.len()
            ))),
        }
    }

    fn fields(r: &mut Reader<'_>) -> Option<Contents> {
        let wrong_pins = [r.number()?, r.number()?];
        let has_pin = r.flag()?;
        let (label, serial) = (r.take()?, r.take()?);
        let costs = Costs {
            memory: r.number()?,
            passes: r.number()?,
            lanes: r.number()?,
        };
        let (security_officer, user) = (Wrapped::decode(r)?, Wrapped::decode(r)?);
        let (next_id, written) = (r.long()?, r.long()?);
        let count = r.number()?;
        let seal = (r.take()?, r.take()?);
        let mut records = Vec::new();
        let mut last = 0;
        for _ in 0..count {
            let record = Record::decode(r)?;
            // Numbers rise, so none is there twice.
            if record.id <= last || record.id >= next_id {
                return None;
            }
            last = record.id;
            records.push(record);
        }
        (has_pin || user == Wrapped::NONE).then_some(())?;
        Some(Contents {
            label,
            serial,
            costs,
            wrong_pins,
            security_officer,
            user: has_pin.then_some(user),
            next_id,
            written,
            records,
            seal,
        })
    }

    /// The place of a record.
    pub fn find(&self, id: u64) -> Option<usize> {
        self.records.binary_search_by_key(&id, |r| r.id).ok()
    }
}

impl Wrapped {
    const NONE: Wrapped = Wrapped {
        salt: [0; 16],
        nonce: [0; 12],
        key: [0; 48],
    };

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.salt);
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.key);
    }

    fn decode(r: &mut Reader<'_>) -> Option<Wrapped> {
        Some(Wrapped {
            salt: r.take()?,
            nonce: r.take()?,
            key: r.take()?,
        })
    }
}

impl Record {
    fn len(&self) -> usize {
        RECORD_LEN + self.attributes.len()
    }

    fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        let len = u32::try_from(self.attributes.len()).map_err(|_| Error::Full)?;
        out.extend_from_slice(&self.id.to_le_bytes());
        put32(out, self.is_private.into());
        put32(out, len);
        out.extend_from_slice(&self.nonce);
        out.extend_from_slice(&self.attributes);
        Ok(())
    }

    fn decode(r: &mut Reader<'_>) -> Option<Record> {
        let (id, is_private) = (r.long()?, r.flag()?);
        let len = usize::try_from(r.number()?).ok()?;
        Some(Record {
            id,
            is_private,
            nonce: r.take()?,
            attributes: r.bytes(len)?.to_vec(),
        })
    }
}

fn put32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.0.get(..len)?;
        self.0 = &self.0[len..];
        Some(bytes)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(records: usize) -> Contents {
        let wrapped = Wrapped {
            salt: [1; 16],
            nonce: [2; 12],
            key: [3; 48],
        };
        Contents {
            label: [b'l'; LABEL_LEN],
            serial: [b'5'; SERIAL_LEN],
            costs: Costs {
                memory: 64,
                passes: 1,
                lanes: 1,
            },
            wrong_pins: [4, 5],
            security_officer: wrapped,
            user: Some(wrapped),
            next_id: 1 + records as u64,
            written: 9,
            records: (0..records)
                .map(|i| Record {
                    id: i as u64 + 1,
                    is_private: i % 2 == 0,
                    nonce: [i as u8; 12],
                    attributes: vec![i as u8; i],
                })
                .collect(),
            seal: ([6; 12], [7; 16]),
        }
    }

    fn is_damaged(bytes: &[u8]) -> bool {
        let path = Path::new("/a/token");
        match Contents::decode(bytes, path) {
            Err(error @ Error::Damaged(..)) => error.to_string().contains("/a/token"),
            _ => false,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for records in [0, 1, 2, 40] {
            let mut written = contents(records);
            let bytes = written.encode().unwrap();
            let read = Contents::decode(&bytes, Path::new("t")).unwrap();
            assert_eq!(read, written);
            written.user = None;
            let bytes = written.encode().unwrap();
            assert_eq!(Contents::decode(&bytes, Path::new("t")).unwrap(), written);
        }
    }

    #[test]
    fn the_seal_covers_all_but_wrong_pins() {
        let before = contents(3);
        let sealed = before.sealed_bytes().unwrap();
        let mut after = before.clone();
        (after.wrong_pins, after.seal) = ([0, 1], ([0; 12], [0; 16]));
        assert_eq!(after.sealed_bytes().unwrap(), sealed);
        assert_eq!(sealed.len() + 28 + 8 + 32, before.encode().unwrap().len());
        after.records[1].nonce[0] ^= 1;
        assert_ne!(after.sealed_bytes().unwrap(), sealed);
    }

    #[test]
    fn every_truncation_and_every_changed_byte_is_found() {
        let bytes = contents(3).encode().unwrap();
        for len in 0..bytes.len() {
            assert!(is_damaged(&bytes[..len]), "{len}");
        }
        for at in (0..16).chain(20..bytes.len()) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x40;
            assert!(is_damaged(&changed), "{at}");
        }
    }

    #[test]
    fn a_right_hash_does_not_excuse_wrong_fields() {
        let with_hash = |mut bytes: Vec<u8>| {
            let hash = Sha256::digest(&bytes);
            bytes.extend_from_slice(&hash);
            bytes
        };
        let whole = contents(3).encode().unwrap();
        let body = &whole[..whole.len() - HASH_LEN];
        assert!(!is_damaged(&with_hash(body.to_vec())));
        // The number of records, an object's number, the next one, a length.
        for (at, value) in [
            (260, 2),
            (260, 4),
            (292, 0),
            (244, 3),
            (304, 0xff),
            (307, 0xff),
        ] {
            let mut bytes = body.to_vec();
            bytes[at] = value;
            assert!(is_damaged(&with_hash(bytes)), "{at}");
        }
        assert!(is_damaged(&with_hash([body, &[0]].concat())));
    }

    /// Random changes under a right hash, as somebody who knows the format could make them:
    /// whatever is read has fields that agree, and is written as it was read.
    #[test]
    #[allow(clippy::disallowed_macros)] // the seed
    fn no_bytes_under_a_right_hash_confuse_the_reader() {
        let seed = match environment::text("SEED") {
            Some(seed) => seed.parse().expect("SEED: a number"),
            None => fastrand::u64(..),
        };
        println!("SEED={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let whole = contents(random.usize(0..5)).encode().unwrap();
            let mut bytes = whole[..whole.len() - HASH_LEN].to_vec();
            for _ in 0..random.usize(1..4) {
                let at = match random.bool() {
                    true => random.usize(20..bytes.len()),
                    // The numbers that say how much follows.
                    false => [28, 244, 260, 292, 300, 304, 308][random.usize(0..7)],
                };
                if at < bytes.len() {
                    bytes[at] = random.u8(..);
                }
            }
            match random.u8(0..6) {
                0 => bytes.truncate(random.usize(0..=bytes.len())),
                1 => bytes.extend((0..random.usize(0..50)).map(|_| random.u8(..))),
                _ => {}
            }
            let hash = Sha256::digest(&bytes);
            bytes.extend_from_slice(&hash);
            match Contents::decode(&bytes, Path::new("t")) {
                Ok(contents) => {
                    read += 1;
                    assert_eq!(contents.encode().unwrap(), bytes);
                }
                Err(error) => {
                    refused += 1;
                    assert!(
                        matches!(error, Error::Damaged(..) | Error::Newer(..)),
                        "{error}"
                    );
                }
            }
        }
        assert!(
            read > 1000 && refused > 1000,
            "{read} read, {refused} refused"
        );
    }

    #[test]
    fn a_newer_version_is_named() {
        let mut bytes = contents(1).encode().unwrap();
        bytes[16] = 2;
        let error = Contents::decode(&bytes, Path::new("t")).unwrap_err();
        assert!(matches!(error, Error::Newer(_, 2, VERSION)), "{error}");
    }
}
