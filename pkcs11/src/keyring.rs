// SPDX-License-Identifier: BSD-2-Clause
//! The objects of a token file without Cryptoki's calls, for the tool: errors name the file, and
//! one login serves one command. The attributes of a key are those that C_CreateObject gives it.

use crate::attribute::{Flags, Template};
use crate::keys;
use crate::object::{backend, Home, Object};
use crate::record;
use crate::rv;
use cryptoki_sys::*;
use std::fmt;
use std::path::PathBuf;
use tenrounds_sys::{Backend, Key, Parameters};
use token::{Contents, MasterKey, Record, Role, Token};
use zeroize::Zeroizing;

/// A token whose user has logged in.
pub struct Keyring {
    token: Token,
    backend: Backend,
    master: MasterKey,
}

/// Why something was not done.
#[derive(Debug)]
pub enum Error {
    Token(token::Error),
    /// Cryptoki's code.
    Code(CK_RV),
    /// The object may not be used so: the attribute that forbids it.
    Forbidden(&'static str),
    /// The wrapped key is damaged, or another key has wrapped it.
    NotAuthentic,
}

impl From<token::Error> for Error {
    fn from(error: token::Error) -> Error {
        Error::Token(error)
    }
}

impl From<rv::Error> for Error {
    fn from(error: rv::Error) -> Error {
        Error::Code(error.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Token(error) => error.fmt(f),
            Error::Code(code) => write!(f, "the PKCS#11 module refuses it (CK_RV {code:#x})"),
            Error::Forbidden(attribute) => write!(f, "its {attribute} forbids it"),
            Error::NotAuthentic => write!(
                f,
                "the wrapped key is damaged, or another key has wrapped it"
            ),
        }
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

/// What a key is for. Each gives two attributes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    Encrypt,
    Sign,
    Wrap,
}

const ATTRIBUTES_OF_USES: [(Use, [CK_ATTRIBUTE_TYPE; 2]); 3] = [
    (Use::Encrypt, [CKA_ENCRYPT, CKA_DECRYPT]),
    (Use::Sign, [CKA_SIGN, CKA_VERIFY]),
    (Use::Wrap, [CKA_WRAP, CKA_UNWRAP]),
];

/// The types of keys that the tool imports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyType {
    Aes,
    AesXts,
}

impl KeyType {
    /// The lengths of its keys, in bytes.
    pub fn lengths(self) -> &'static [usize] {
        match self {
            KeyType::Aes => &[16, 24, 32],
            KeyType::AesXts => &[32, 64],
        }
    }
}

/// A key to be stored.
pub struct NewKey<'a> {
    pub key_type: KeyType,
    pub label: &'a str,
    pub id: &'a [u8],
    pub value: &'a [u8],
    pub uses: &'a [Use],
    pub sensitive: bool,
    pub extractable: bool,
}

/// An object of the token, without its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number in the file, which no other object ever gets.
    pub number: u64,
    pub label: String,
    pub id: Vec<u8>,
    /// "AES", "AES-XTS", "generic secret", "HMAC", "data"
    pub kind: &'static str,
    pub bytes: usize,
    /// Attributes that are true, in lower case without CKA_.
    pub uses: Vec<&'static str>,
    pub sensitive: bool,
    pub extractable: bool,
}

const USES: [(Flags, &str); 7] = [
    (Flags::ENCRYPT, "encrypt"),
    (Flags::DECRYPT, "decrypt"),
    (Flags::SIGN, "sign"),
    (Flags::VERIFY, "verify"),
    (Flags::WRAP, "wrap"),
    (Flags::UNWRAP, "unwrap"),
    (Flags::DERIVE, "derive"),
];

fn kind_of(object: &Object) -> &'static str {
    match (object.attributes.class, object.attributes.key_type) {
        (CKO_DATA, _) => "data",
        (_, CKK_AES) => "AES",
        (_, CKK_AES_XTS) => "AES-XTS",
        (_, CKK_GENERIC_SECRET) => "generic secret",
        _ => "HMAC",
    }
}

fn entry_of(number: u64, object: &Object) -> Entry {
    let bytes = |attribute| {
        let definition = crate::attribute::definition(attribute);
        let value = definition.and_then(|definition| object.attribute(definition));
        value.unwrap_or_default().into_owned()
    };
    let uses = USES.iter().filter(|(flag, _)| object.has(*flag));
    Entry {
        number,
        label: String::from_utf8_lossy(&bytes(CKA_LABEL)).into_owned(),
        id: bytes(CKA_ID),
        kind: kind_of(object),
        bytes: object.secret.value().len(),
        uses: match object.is_key() {
            true => uses.map(|(_, name)| *name).collect(),
            false => Vec::new(),
        },
        sensitive: object.has(Flags::SENSITIVE),
        extractable: !object.is_key() || object.has(Flags::EXTRACTABLE),
    }
}

fn selected() -> Result<Backend> {
    backend().map_err(|_| {
        let what = "no AES code passes its known-answer tests; run 'tenrounds selftest'";
        Error::Token(token::Error::Machine(what.to_owned()))
    })
}

/// A token file, nobody logged in.
pub fn token(path: PathBuf) -> Result<Token> {
    Ok(Token::new(path, selected()?))
}

impl Keyring {
    /// Logs the user in.
    pub fn open(path: PathBuf, pin: &[u8]) -> Result<Keyring> {
        let token = token(path)?;
        let master = token.login(Role::User, pin)?;
        Ok(Keyring {
            token,
            backend: selected()?,
            master,
        })
    }

    fn contents(&self) -> Result<Contents> {
        let read = self.token.read()?;
        let missing = || token::Error::Missing(self.token.path().to_owned());
        let (_, contents) = read.ok_or_else(missing)?;
        self.token.verify(&contents, &self.master)?;
        Ok(contents)
    }

    fn decoded(&self, contents: &Contents, record: &Record) -> Result<Object> {
        let damaged = || {
            let what = format!("its object {} cannot be read", record.id);
            Error::Token(token::Error::Damaged(self.token.path().to_owned(), what))
        };
        let home = Home::Token(record.id, record.nonce);
        let decoded = match record.is_private {
            false => record::decode(&record.attributes, home),
            true => {
                let opened = self.master.open(&contents.serial, record);
                record::decode(&opened.ok_or_else(damaged)?, home)
            }
        };
        decoded.map_err(|_| damaged())
    }

    /// The objects, in the order of their making.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let contents = self.contents()?;
        let entry = |record: &Record| Ok(entry_of(record.id, &self.decoded(&contents, record)?));
        contents.records.iter().map(entry).collect()
    }

    fn object(&self, number: u64) -> Result<Object> {
        let contents = self.contents()?;
        let at = contents.find(number);
        let record = at.map(|at| &contents.records[at]);
        let gone = Error::Code(CKR_OBJECT_HANDLE_INVALID);
        self.decoded(&contents, record.ok_or(gone)?)
    }

    /// Stores a key, and returns its number.
    pub fn import(&self, key: &NewKey<'_>) -> Result<u64> {
        let numbers = self.import_all(std::slice::from_ref(key))?;
        Ok(numbers[0])
    }

    /// Stores keys, all of them or none, and returns their numbers. The file is written once.
    pub fn import_all(&self, keys: &[NewKey<'_>]) -> Result<Vec<u64>> {
        let objects: Vec<Object> = keys.iter().map(Keyring::object_of).collect::<Result<_>>()?;
        let (numbers, ..) = self.token.change(&self.master, |contents| {
            let add = |object: &Object| {
                let id = contents.next_id;
                contents.next_id += 1;
                let private = object.needs_login();
                let bytes = record::encode(object);
                let record = self.master.seal(&contents.serial, id, private, &bytes)?;
                contents.records.push(record);
                Ok(id)
            };
            objects.iter().map(add).collect()
        })?;
        Ok(numbers)
    }

    fn object_of(key: &NewKey<'_>) -> Result<Object> {
        let flag = |value| if value { &[CK_TRUE] } else { &[CK_FALSE] };
        let class = CKO_SECRET_KEY.to_ne_bytes();
        let key_type = match key.key_type {
            KeyType::Aes => CKK_AES,
            KeyType::AesXts => CKK_AES_XTS,
        };
        let key_type = key_type.to_ne_bytes();
        let mut list: Vec<(CK_ATTRIBUTE_TYPE, &[u8])> = vec![
            (CKA_CLASS, &class),
            (CKA_KEY_TYPE, &key_type),
            (CKA_TOKEN, flag(true)),
            (CKA_PRIVATE, flag(true)),
            (CKA_LABEL, key.label.as_bytes()),
            (CKA_ID, key.id),
            (CKA_VALUE, key.value),
            (CKA_SENSITIVE, flag(key.sensitive)),
            (CKA_EXTRACTABLE, flag(key.extractable)),
        ];
        for (purpose, attributes) in ATTRIBUTES_OF_USES {
            let has = flag(key.uses.contains(&purpose));
            list.extend(attributes.map(|attribute| (attribute, &has[..])));
        }
        Ok(keys::create(&Template::of(&list)?, 0)?)
    }

    /// Removes an object. Returns whether it was there.
    pub fn delete(&self, number: u64) -> Result<bool> {
        Ok(self.token.remove(&self.master, number)?.0)
    }

    /// The value of a key that may be read, or of data.
    pub fn value(&self, number: u64) -> Result<Zeroizing<Vec<u8>>> {
        let object = self.object(number)?;
        if object.is_key() && object.has(Flags::SENSITIVE) {
            return Err(Error::Forbidden("CKA_SENSITIVE"));
        }
        if object.is_key() && !object.has(Flags::EXTRACTABLE) {
            return Err(Error::Forbidden("CKA_EXTRACTABLE"));
        }
        Ok(Zeroizing::new(object.secret.value().to_vec()))
    }

    /// A key, wrapped by another one: AES-KWP (SP 800-38F, RFC 5649).
    pub fn wrap(&self, number: u64, by: u64) -> Result<Vec<u8>> {
        let (object, (by, trusted)) = (self.object(number)?, self.wrapping_key(by, Flags::WRAP)?);
        if !object.has(Flags::EXTRACTABLE) {
            return Err(Error::Forbidden("CKA_EXTRACTABLE"));
        }
        if object.has(Flags::WRAP_WITH_TRUSTED) && !trusted {
            return Err(Error::Forbidden("CKA_WRAP_WITH_TRUSTED"));
        }
        let wrapped = by.encrypt(&Parameters::default(), object.secret.value());
        wrapped.map_err(|error| Error::Token(token::Error::Machine(error.to_string())))
    }

    /// What a key of the token has wrapped by AES-KWP.
    pub fn unwrap(&self, wrapped: &[u8], by: u64) -> Result<Zeroizing<Vec<u8>>> {
        let (by, _) = self.wrapping_key(by, Flags::UNWRAP)?;
        let value = by.decrypt(&Parameters::default(), wrapped);
        value.map(Zeroizing::new).map_err(|_| Error::NotAuthentic)
    }

    /// A key, and whether the security officer trusts it.
    fn wrapping_key(&self, number: u64, flag: Flags) -> Result<(Key<'static>, bool)> {
        let object = self.object(number)?;
        if !object.has(flag) {
            return Err(Error::Forbidden("CKA_WRAP or CKA_UNWRAP"));
        }
        if object.attributes.key_type != CKK_AES || !object.attributes.is_current() {
            return Err(Error::Forbidden("CKA_KEY_TYPE or date"));
        }
        let key = Key::new(catalogue::Mode::Kwp, self.backend, object.secret.value());
        let key = key.map_err(|error| Error::Token(token::Error::Machine(error.to_string())))?;
        Ok((key, object.has(Flags::TRUSTED)))
    }
}
