// SPDX-License-Identifier: BSD-2-Clause
//! An object as bytes, for a token file: its attributes one after the other, each as its type (8
//! bytes), the length of its value (4) and the value. Numbers are little-endian and of 8 bytes, so
//! a file does not depend on the size of CK_ULONG. docs/token-file.md says the same.

use crate::attribute::{self, Definition, Kind, Value};
use crate::keys;
use crate::object::{Attributes, Home, Object, Secret};
use crate::rv::{ensure, Error, Result};
use cryptoki_sys::*;
use std::mem::size_of;
use zeroize::Zeroizing;

const ULONG: usize = size_of::<CK_ULONG>();

/// Those that follow from others, or from the token.
fn is_stored(definition: &Definition) -> bool {
    !matches!(
        definition.attribute,
        CKA_UNIQUE_ID | CKA_VALUE_LEN | CKA_CHECK_VALUE
    )
}

/// CK_ULONG is shorter on 32-bit systems.
#[allow(clippy::useless_conversion)]
fn wide(number: CK_ULONG) -> u64 {
    number.into()
}

/// CK_UNAVAILABLE_INFORMATION has all bits set, however long it is.
fn put_number(out: &mut Vec<u8>, native: &[u8]) {
    let number = CK_ULONG::from_ne_bytes(native.try_into().expect("a CK_ULONG"));
    let number = match number {
        CK_ULONG::MAX => u64::MAX,
        number => wide(number),
    };
    out.extend_from_slice(&number.to_le_bytes());
}

/// None: a number that this system's CK_ULONG does not hold.
fn native_number(bytes: &[u8]) -> Option<[u8; ULONG]> {
    let number = match u64::from_le_bytes(bytes.try_into().ok()?) {
        u64::MAX => CK_ULONG::MAX,
        wide => CK_ULONG::try_from(wide).ok()?,
    };
    Some(number.to_ne_bytes())
}

pub fn encode(object: &Object) -> Zeroizing<Vec<u8>> {
    // Room for all, so that the value is not copied to and fro.
    let value = object.secret.value().len();
    let mut out = Zeroizing::new(Vec::with_capacity(4096 + value));
    for definition in attribute::of_class(object.attributes.class).filter(|d| is_stored(d)) {
        let Some(bytes) = object.attribute(definition) else {
            continue;
        };
        out.extend_from_slice(&wide(definition.attribute).to_le_bytes());
        let mut value = Zeroizing::new(Vec::with_capacity(bytes.len() * 2));
        match definition.kind {
            Kind::Number => put_number(&mut value, &bytes),
            Kind::Mechanisms => bytes.chunks(ULONG).for_each(|n| put_number(&mut value, n)),
            Kind::Flag(_) | Kind::Bytes | Kind::Date => value.extend_from_slice(&bytes),
        }
        out.extend_from_slice(&(value.len() as u32).to_le_bytes());
        out.extend_from_slice(&value);
    }
    out
}

/// An attribute of a record, and its value.
type Stored = (&'static Definition, Zeroizing<Vec<u8>>);

/// The attributes in a record, in the form that Cryptoki gives them. None: the record is not one
/// that encode() made.
fn parse(mut bytes: &[u8]) -> Option<Vec<Stored>> {
    let mut list = Vec::new();
    while !bytes.is_empty() {
        let (head, rest) = (bytes.get(..12)?, &bytes[12..]);
        let kind = CK_ULONG::from_ne_bytes(native_number(&head[..8])?);
        let len = u32::from_le_bytes(head[8..].try_into().ok()?) as usize;
        let (value, rest) = (rest.get(..len)?, &rest[len..]);
        let definition = attribute::definition(kind).filter(|d| is_stored(d))?;
        let value = match definition.kind {
            Kind::Number => native_number(value)?.to_vec(),
            Kind::Mechanisms => {
                let numbers: Option<Vec<_>> = value.chunks(8).map(native_number).collect();
                numbers?.concat()
            }
            Kind::Flag(_) | Kind::Bytes | Kind::Date => value.to_vec(),
        };
        list.push((definition, Zeroizing::new(value)));
        bytes = rest;
    }
    Some(list)
}

/// The object of a record.
pub fn decode(bytes: &[u8], home: Home) -> Result<Object> {
    let damaged = Error(CKR_TOKEN_NOT_RECOGNIZED);
    let list = parse(bytes).ok_or(damaged)?;
    let number = |kind| {
        let found = list.iter().find(|(d, _)| d.attribute == kind);
        let bytes = found.and_then(|(_, value)| value[..].try_into().ok());
        bytes.map(CK_ULONG::from_ne_bytes)
    };
    let class = number(CKA_CLASS).ok_or(damaged)?;
    ensure(matches!(class, CKO_SECRET_KEY | CKO_DATA), damaged.0)?;
    let key_type = number(CKA_KEY_TYPE).unwrap_or(CK_UNAVAILABLE_INFORMATION);
    let made_by = number(CKA_KEY_GEN_MECHANISM).unwrap_or(CK_UNAVAILABLE_INFORMATION);
    let mut attributes = Attributes::blank(class, key_type, made_by);
    let mut value = &[][..];
    for (definition, bytes) in &list {
        ensure(definition.belongs_to(class), damaged.0)?;
        match definition.attribute {
            CKA_VALUE => value = bytes,
            _ => {
                let parsed = Value::parse(definition.kind, bytes).ok_or(damaged)?;
                attributes.set(definition, parsed)?;
            }
        }
    }
    if class == CKO_SECRET_KEY {
        keys::check_size(key_type, value.len(), damaged.0).map_err(|_| damaged)?;
    }
    Ok(Object::new(attributes, Secret::new(value)?, home))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Template;

    const HOME: Home = Home::Token(1, [0; 12]);

    /// A key or data with random attributes.
    fn some(random: &mut fastrand::Rng) -> Object {
        let mut bytes = |most: usize| -> Vec<u8> {
            let len = random.usize(0..=most);
            (0..len).map(|_| random.u8(..)).collect()
        };
        let (label, id, value) = (bytes(40), bytes(20), [bytes(300), vec![0]].concat());
        let mut flag = || [u8::from(random.bool())];
        let (sensitive, private) = (flag(), flag());
        let (is_data, has_date) = (random.bool(), random.bool());
        let class = [CKO_SECRET_KEY, CKO_DATA][usize::from(is_data)].to_ne_bytes();
        let key_type = CKK_GENERIC_SECRET.to_ne_bytes();
        let allowed = [CKM_SHA256_HMAC.to_ne_bytes(), CK_ULONG::MAX.to_ne_bytes()].concat();
        let mut list: Vec<(CK_ATTRIBUTE_TYPE, &[u8])> = vec![
            (CKA_CLASS, &class),
            (CKA_TOKEN, &[CK_TRUE]),
            (CKA_LABEL, &label),
            (CKA_VALUE, &value),
            (CKA_PRIVATE, &private),
        ];
        match is_data {
            true => list.push((CKA_APPLICATION, &id)),
            false => list.extend([
                (CKA_KEY_TYPE, &key_type[..]),
                (CKA_ID, &id),
                (CKA_SENSITIVE, &sensitive),
                (CKA_ALLOWED_MECHANISMS, &allowed),
                (CKA_END_DATE, if has_date { b"20991231" } else { b"" }),
            ]),
        }
        keys::create(&Template::of(&list).unwrap(), 1).unwrap()
    }

    #[test]
    fn a_key_has_a_length_of_its_type() {
        let class = CKO_SECRET_KEY.to_ne_bytes();
        let value = [7; 32];
        let key = |key_type: CK_KEY_TYPE, len: usize| {
            let (key_type, len) = (key_type.to_ne_bytes(), len);
            let list: [(CK_ATTRIBUTE_TYPE, &[u8]); 4] = [
                (CKA_CLASS, &class),
                (CKA_TOKEN, &[CK_TRUE]),
                (CKA_KEY_TYPE, &key_type),
                (CKA_VALUE, &value[..len]),
            ];
            encode(&keys::create(&Template::of(&list).unwrap(), 1).unwrap()).to_vec()
        };
        let [secret, aes] = [CKK_GENERIC_SECRET, CKK_AES].map(|kind| kind.to_ne_bytes());
        let mut refused = 0;
        for len in 1..=value.len() {
            let mut bytes = key(CKK_GENERIC_SECRET, len);
            assert!(decode(&bytes, HOME).is_ok());
            let at = bytes.windows(8).position(|word| word == secret).unwrap();
            bytes[at..at + 8].copy_from_slice(&aes);
            match len {
                16 | 24 | 32 => assert_eq!(bytes, key(CKK_AES, len)),
                _ => {
                    let error = decode(&bytes, HOME).err();
                    assert_eq!(error, Some(Error(CKR_TOKEN_NOT_RECOGNIZED)), "{len} bytes");
                    refused += 1;
                }
            }
        }
        assert_eq!(refused, 29);
    }

    /// Random changes, as nobody makes them without a PIN: what is read is written in the same way,
    /// and every attribute of it can be read.
    #[test]
    #[allow(clippy::disallowed_macros)] // the seed
    fn no_bytes_confuse_the_reader() {
        let seed = match environment::text("SEED") {
            Some(seed) => seed.parse().expect("SEED: a number"),
            None => fastrand::u64(..),
        };
        println!("SEED={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut read, mut refused) = (0, 0);
        for _ in 0..20_000 {
            let whole = encode(&some(&mut random)).to_vec();
            assert_eq!(*encode(&decode(&whole, HOME).unwrap()), whole);
            let mut bytes = whole.clone();
            match random.u8(0..4) {
                0 => bytes.truncate(random.usize(0..=whole.len())),
                1 => bytes.extend_from_slice(&whole[random.usize(0..whole.len())..]),
                _ => {}
            }
            for _ in 0..random.usize(0..4) {
                if let Some(byte) = bytes.get_mut(random.usize(0..whole.len())) {
                    *byte = random.u8(..);
                }
            }
            match decode(&bytes, HOME) {
                Ok(object) => {
                    read += 1;
                    let written = encode(&object);
                    assert_eq!(encode(&decode(&written, HOME).unwrap()), written);
                    for definition in attribute::of_class(object.attributes.class) {
                        object.read(definition.attribute, 1);
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error, Error(CKR_TOKEN_NOT_RECOGNIZED));
                }
            }
        }
        let enough = read > 1000 && refused > 1000;
        assert!(enough, "{read} read, {refused} refused");
    }
}
