// SPDX-License-Identifier: BSD-2-Clause
//! Objects: secret keys, data, and what tells the module's profile. An object never changes:
//! C_SetAttributeValue puts another one in its place. So operations share objects without locks.

use crate::attribute::{date_of, Change, Definition, Flags, Kind, Origin, Template, Value};
use crate::buffers::copy_of;
use crate::lock::Lock;
use crate::rv::{ensure, fail, Error, Result};
use catalogue::Mode;
use cryptoki_sys::*;
use sha1::{Digest, Sha1};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tenrounds_sys::{Backend, Key};
use token::format::Nonce;
use zeroize::Zeroizing;

/// The largest value of a generic secret, in bytes.
pub const MOST_SECRET: usize = 1 << 20;

pub struct Object {
    pub attributes: Attributes,
    /// The value of a key or of data.
    pub secret: Arc<Secret>,
    pub home: Home,
    /// Another object has taken its place, or it was destroyed.
    stale: AtomicBool,
    /// The sessions that keep this key for their next message, once for each operation.
    keepers: Lock<Vec<CK_SESSION_HANDLE>>,
}

/// Where an object belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home {
    /// It comes and goes with the module.
    Module,
    /// The session that it ends with.
    Session(CK_SESSION_HANDLE),
    /// Its number in the token file, and what is new with every change.
    Token(u64, Nonce),
}

#[derive(Clone)]
pub struct Attributes {
    pub class: CK_OBJECT_CLASS,
    pub key_type: CK_KEY_TYPE,
    pub flags: Flags,
    pub key_gen_mechanism: CK_MECHANISM_TYPE,
    label: Box<[u8]>,
    id: Box<[u8]>,
    application: Box<[u8]>,
    object_id: Box<[u8]>,
    start_date: Option<[u8; 8]>,
    end_date: Option<[u8; 8]>,
    /// Numbers of the type CK_MECHANISM_TYPE. Empty: all.
    allowed_mechanisms: Box<[u8]>,
}

/// A value, and what the core made of it: one key object for each kind of mode that was used.
pub struct Secret {
    value: Zeroizing<Box<[u8]>>,
    keys: [OnceLock<Key<'static>>; 5],
}

impl Secret {
    pub fn new(value: &[u8]) -> Result<Arc<Secret>> {
        Ok(Arc::new(Secret {
            value: Zeroizing::new(copy_of(value)?.into()),
            keys: Default::default(),
        }))
    }

    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// The key object of a mode, made at its first use.
    pub fn key(&self, mode: Mode) -> Result<&Key<'static>> {
        let cell = &self.keys[match mode {
            Mode::Gcm => 0,
            Mode::Ccm => 1,
            Mode::Cmac => 2,
            Mode::Xts => 3,
            // The others share struct tr_aes_key, but Key knows its mode.
            _ => return fail(CKR_GENERAL_ERROR),
        }];
        self.in_cell(cell, mode)
    }

    fn in_cell<'a>(
        &'a self,
        cell: &'a OnceLock<Key<'static>>,
        mode: Mode,
    ) -> Result<&'a Key<'static>> {
        if let Some(key) = cell.get() {
            return Ok(key);
        }
        let key = Key::new(mode, backend()?, &self.value).map_err(|_| Error(CKR_KEY_SIZE_RANGE))?;
        Ok(cell.get_or_init(|| key))
    }

    /// A key object for the modes over struct tr_aes_key.
    pub fn aes(&self) -> Result<&Key<'static>> {
        self.in_cell(&self.keys[4], Mode::Ecb)
    }
}

/// The backend of this process, which C_Initialize selects, behind a counting table if the process
/// is counted. If even the weakest one failed its known-answer tests, nothing may be computed.
pub fn backend() -> Result<Backend> {
    static SELECTED: OnceLock<Option<Backend>> = OnceLock::new();
    let selected = SELECTED.get_or_init(|| {
        let mask = environment::text("TENROUNDS_MASK");
        let selected = tenrounds_sys::select(mask.as_deref(), 0).backend;
        selected.map(crate::counting::counted)
    });
    selected.ok_or(Error(CKR_DEVICE_ERROR))
}

/// What a new key is, beside its template.
pub struct Making {
    pub origin: Origin,
    /// Generated here, by this mechanism.
    pub generated_by: Option<CK_MECHANISM_TYPE>,
    /// Both flags of the key that it was derived from.
    pub always_sensitive: bool,
    pub never_extractable: bool,
}

/// Defaults of flags that a template does not give. SunPKCS11 imports keys without CKA_ENCRYPT and
/// CKA_DECRYPT, and then uses them for both.
const OF_KEYS: Flags = Flags::ENCRYPT
    .with(Flags::DECRYPT)
    .with(Flags::SIGN)
    .with(Flags::VERIFY)
    .with(Flags::WRAP)
    .with(Flags::UNWRAP)
    .with(Flags::EXTRACTABLE);
const OF_ALL: Flags = Flags::MODIFIABLE
    .with(Flags::COPYABLE)
    .with(Flags::DESTROYABLE);

impl Attributes {
    /// The attributes of a new object. `key_type` is what a mechanism makes; a template may not
    /// contradict it.
    pub fn new(
        template: &Template<'_>,
        making: &Making,
        key_type: Option<CK_KEY_TYPE>,
    ) -> Result<Attributes> {
        let class = match (template.number(CKA_CLASS), making.origin) {
            (Some(class), Origin::Create) => class,
            (None, Origin::Create) => return fail(CKR_TEMPLATE_INCOMPLETE),
            (None | Some(CKO_SECRET_KEY), _) => CKO_SECRET_KEY,
            _ => return fail(CKR_TEMPLATE_INCONSISTENT),
        };
        ensure(
            matches!(class, CKO_SECRET_KEY | CKO_DATA),
            CKR_ATTRIBUTE_VALUE_INVALID,
        )?;
        let given = template.number(CKA_KEY_TYPE);
        let key_type = match (class == CKO_SECRET_KEY, key_type, given) {
            (false, ..) => CK_UNAVAILABLE_INFORMATION,
            (true, None, None) => return fail(CKR_TEMPLATE_INCOMPLETE),
            (true, Some(made), Some(given)) if made != given => {
                return fail(CKR_TEMPLATE_INCONSISTENT)
            }
            (true, made, given) => made.or(given).unwrap_or(CK_UNAVAILABLE_INFORMATION),
        };
        let made_by = making.generated_by.unwrap_or(CK_UNAVAILABLE_INFORMATION);
        let mut attributes = Attributes::blank(class, key_type, made_by);
        attributes.flags = match class {
            CKO_SECRET_KEY => OF_ALL.with(OF_KEYS),
            _ => OF_ALL,
        };
        for (definition, value) in template.iter() {
            ensure(definition.belongs_to(class), CKR_ATTRIBUTE_TYPE_INVALID)?;
            ensure(
                definition.may_be_given(making.origin),
                match definition.change {
                    Change::Never => CKR_ATTRIBUTE_READ_ONLY,
                    _ => CKR_TEMPLATE_INCONSISTENT,
                },
            )?;
            attributes.set(definition, *value)?;
        }
        attributes.complete(making);
        attributes.hide_stored_key(template);
        attributes.check_dates()?;
        Ok(attributes)
    }

    /// Attributes without flags, dates and names.
    pub fn blank(
        class: CK_OBJECT_CLASS,
        key_type: CK_KEY_TYPE,
        key_gen_mechanism: CK_MECHANISM_TYPE,
    ) -> Attributes {
        Attributes {
            class,
            key_type,
            flags: Flags::NONE,
            key_gen_mechanism,
            label: Box::default(),
            id: Box::default(),
            application: Box::default(),
            object_id: Box::default(),
            start_date: None,
            end_date: None,
            allowed_mechanisms: Box::default(),
        }
    }

    /// A key in a token file is private, unless the template says otherwise.
    pub fn hide_stored_key(&mut self, template: &Template<'_>) {
        let stored_key = self.class == CKO_SECRET_KEY && self.flags.has(Flags::TOKEN);
        if stored_key && template.flag(CKA_PRIVATE).is_none() {
            self.flags.set(Flags::PRIVATE, true);
        }
    }

    /// Sets the flags that tell a key's history.
    pub fn complete(&mut self, making: &Making) {
        if self.class != CKO_SECRET_KEY {
            return;
        }
        let made_here = making.generated_by.is_some();
        let sensitive = self.flags.has(Flags::SENSITIVE);
        let extractable = self.flags.has(Flags::EXTRACTABLE);
        self.flags.set(Flags::LOCAL, made_here);
        let always = sensitive && (made_here || making.always_sensitive);
        self.flags.set(Flags::ALWAYS_SENSITIVE, always);
        let never = !extractable && (made_here || making.never_extractable);
        self.flags.set(Flags::NEVER_EXTRACTABLE, never);
    }

    fn check_dates(&self) -> Result<()> {
        match (self.start_date, self.end_date) {
            (Some(start), Some(end)) if start > end => fail(CKR_ATTRIBUTE_VALUE_INVALID),
            _ => Ok(()),
        }
    }

    /// Stores a value that the caller has checked may be given.
    pub fn set(&mut self, definition: &Definition, value: Value<'_>) -> Result<()> {
        match (definition.attribute, value) {
            (_, Value::Flag(flag, value)) => self.flags.set(flag, value),
            (CKA_LABEL, Value::Bytes(bytes)) => self.label = copy_of(bytes)?.into(),
            (CKA_ID, Value::Bytes(bytes)) => self.id = copy_of(bytes)?.into(),
            (CKA_APPLICATION, Value::Bytes(bytes)) => self.application = copy_of(bytes)?.into(),
            (CKA_OBJECT_ID, Value::Bytes(bytes)) => self.object_id = copy_of(bytes)?.into(),
            (CKA_START_DATE, Value::Bytes(bytes)) => self.start_date = date_of(bytes).flatten(),
            (CKA_END_DATE, Value::Bytes(bytes)) => self.end_date = date_of(bytes).flatten(),
            (CKA_ALLOWED_MECHANISMS, Value::Bytes(bytes)) => {
                self.allowed_mechanisms = copy_of(bytes)?.into();
            }
            // Class, type, value, its length and its check value: those who make the object use
            // them.
            _ => {}
        }
        Ok(())
    }

    /// Applies a template to an object that exists.
    pub fn change(&mut self, template: &Template<'_>, copies: bool) -> Result<()> {
        for (definition, value) in template.iter() {
            ensure(
                definition.belongs_to(self.class),
                CKR_ATTRIBUTE_TYPE_INVALID,
            )?;
            let allowed = match (definition.change, *value) {
                (Change::Never, _) => false,
                (Change::InCopy, Value::Flag(flag, value)) => {
                    copies || self.flags.has(flag) == value
                }
                (Change::InCopy, _) => copies,
                (Change::Always, _) => true,
                (Change::ToTrue, Value::Flag(flag, value)) => value || !self.flags.has(flag),
                (Change::ToFalse, Value::Flag(flag, value)) => !value || self.flags.has(flag),
                _ => false,
            };
            ensure(allowed, CKR_ATTRIBUTE_READ_ONLY)?;
            self.set(definition, *value)?;
        }
        self.check_dates()
    }

    pub fn allows(&self, mechanism: CK_MECHANISM_TYPE) -> bool {
        let size = std::mem::size_of::<CK_MECHANISM_TYPE>();
        let mut listed = self.allowed_mechanisms.chunks_exact(size);
        self.allowed_mechanisms.is_empty() || listed.any(|m| *m == mechanism.to_ne_bytes())
    }

    pub fn has_dates(&self) -> bool {
        self.start_date.is_some() || self.end_date.is_some()
    }

    /// Whether today lies within the dates that the key is for.
    pub fn is_current(&self) -> bool {
        if !self.has_dates() {
            return true;
        }
        let today = crate::date::today();
        self.start_date.is_none_or(|start| start <= today)
            && self.end_date.is_none_or(|end| today <= end)
    }
}

/// What reading an attribute gives.
pub enum Reading<'a> {
    Bytes(Cow<'a, [u8]>),
    /// The object has no such attribute.
    Missing,
    /// The key is sensitive or not extractable.
    Hidden,
}

impl Object {
    pub fn new(attributes: Attributes, secret: Arc<Secret>, home: Home) -> Object {
        Object {
            attributes,
            secret,
            home,
            stale: AtomicBool::new(false),
            keepers: Lock::new(Vec::new()),
        }
    }

    /// The object that says which profile the module conforms to (PKCS#11 3.0 section 4.12).
    /// Nobody changes, copies or destroys it.
    pub fn profile() -> Result<Object> {
        let none = CK_UNAVAILABLE_INFORMATION;
        let mut attributes = Attributes::blank(CKO_PROFILE, none, none);
        attributes.flags = Flags::TOKEN;
        Ok(Object::new(attributes, Secret::new(&[])?, Home::Module))
    }

    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Acquire)
    }

    /// Makes the object stale. Returns whether a session keeps it.
    pub fn retire(&self) -> bool {
        self.stale.store(true, Ordering::Release);
        !self.keepers.lock().is_empty()
    }

    /// Registers a session that keeps this key. Returns false without memory, and for a stale
    /// object: retire() may not have seen the session.
    pub fn keep(&self, session: CK_SESSION_HANDLE) -> bool {
        let mut keepers = self.keepers.lock();
        if keepers.try_reserve(1).is_err() {
            return false;
        }
        keepers.push(session);
        !self.is_stale()
    }

    /// Undoes one keep().
    pub fn let_go(&self, session: CK_SESSION_HANDLE) {
        let mut keepers = self.keepers.lock();
        if let Some(at) = keepers.iter().rposition(|keeper| *keeper == session) {
            keepers.swap_remove(at);
        }
    }

    /// The sessions that keep this key. They are no longer registered.
    pub fn take_keepers(&self) -> Vec<CK_SESSION_HANDLE> {
        std::mem::take(&mut self.keepers.lock())
    }

    pub fn has(&self, flag: Flags) -> bool {
        self.attributes.flags.has(flag)
    }

    pub fn is_key(&self) -> bool {
        self.attributes.class == CKO_SECRET_KEY
    }

    /// Whether only a user who logged in has the object. A key in a file is always encrypted, also
    /// if CKA_PRIVATE is false: pkcs11-tool asks for that unless told otherwise.
    pub fn needs_login(&self) -> bool {
        self.has(Flags::PRIVATE) || self.is_key() && self.has(Flags::TOKEN)
    }

    /// Whether C_GetAttributeValue may return the value.
    fn shows_value(&self) -> bool {
        !self.is_key() || self.has(Flags::EXTRACTABLE) && !self.has(Flags::SENSITIVE)
    }

    /// CKA_CHECK_VALUE: the first three bytes of the encryption of a zero block, or for other keys
    /// of the value's SHA-1 (PKCS#11 section 4.10.2).
    pub fn check_value(&self) -> Result<[u8; 3]> {
        let value = self.secret.value();
        if !matches!(self.attributes.key_type, CKK_AES | CKK_AES_XTS) {
            let hash = Sha1::digest(value);
            return Ok([hash[0], hash[1], hash[2]]);
        }
        // XTS: its first key.
        let first = if self.attributes.key_type == CKK_AES_XTS {
            &value[..value.len() / 2]
        } else {
            value
        };
        let key = Key::new(Mode::Ecb, backend()?, first).map_err(|_| Error(CKR_KEY_SIZE_RANGE))?;
        // The block is also GCM's hash subkey.
        let mut block = Zeroizing::new([0; 16]);
        let mut stream = tenrounds_sys::Stream::new([0; 16]);
        let encrypted = stream.process(&key, catalogue::Direction::Encrypt, &mut block[..]);
        encrypted.map_err(|_| Error(CKR_GENERAL_ERROR))?;
        Ok([block[0], block[1], block[2]])
    }

    /// What C_GetAttributeValue tells of an attribute.
    pub fn read(&self, attribute: CK_ATTRIBUTE_TYPE, handle: CK_OBJECT_HANDLE) -> Reading<'_> {
        let Some(definition) = crate::attribute::definition(attribute) else {
            return Reading::Missing;
        };
        if !definition.belongs_to(self.attributes.class) {
            return Reading::Missing;
        }
        if attribute == CKA_VALUE && !self.shows_value() {
            return Reading::Hidden;
        }
        if attribute == CKA_UNIQUE_ID {
            let id = match self.home {
                Home::Module => "profile".to_owned(),
                Home::Session(_) => format!("session-{handle:016x}"),
                Home::Token(id, _) => format!("token-{id:016x}"),
            };
            return Reading::Bytes(id.into_bytes().into());
        }
        self.attribute(definition)
            .map_or(Reading::Missing, Reading::Bytes)
    }

    /// The value of an attribute of its class, also of one that nobody may read.
    pub fn attribute(&self, definition: &Definition) -> Option<Cow<'_, [u8]>> {
        let a = &self.attributes;
        let own = |bytes: &[u8]| Some(bytes.to_vec().into());
        let number = |n: CK_ULONG| own(&n.to_ne_bytes());
        let date = |d: Option<[u8; 8]>| own(d.as_ref().map_or(&[], |d| &d[..]));
        if let Kind::Flag(flag) = definition.kind {
            let value: &[u8] = match a.flags.has(flag) {
                true => &[CK_TRUE],
                false => &[CK_FALSE],
            };
            return Some(value.into());
        }
        match definition.attribute {
            CKA_CLASS => number(a.class),
            CKA_PROFILE_ID => number(CKP_BASELINE_PROVIDER),
            CKA_LABEL => Some(a.label[..].into()),
            CKA_ID => Some(a.id[..].into()),
            CKA_APPLICATION => Some(a.application[..].into()),
            CKA_OBJECT_ID => Some(a.object_id[..].into()),
            CKA_KEY_TYPE => number(a.key_type),
            CKA_KEY_GEN_MECHANISM => number(a.key_gen_mechanism),
            CKA_START_DATE => date(a.start_date),
            CKA_END_DATE => date(a.end_date),
            CKA_ALLOWED_MECHANISMS => Some(a.allowed_mechanisms[..].into()),
            CKA_VALUE => Some(self.secret.value().into()),
            CKA_VALUE_LEN => number(self.secret.value().len() as CK_ULONG),
            CKA_CHECK_VALUE => own(&self.check_value().ok()?),
            _ => None,
        }
    }

    /// Whether all attributes of a template have these values. The value of a sensitive key matches
    /// nothing, so that nobody can guess it.
    pub fn matches(&self, template: &Template<'_>, handle: CK_OBJECT_HANDLE) -> bool {
        // Programs for Cryptoki 2.40 that list everything, such as python-pkcs11, fail on a class
        // that they do not know. So only a search for its class or attribute finds the profile.
        let names = |attribute| template.number(attribute).is_some();
        let is_profile = self.attributes.class == CKO_PROFILE;
        if is_profile && !names(CKA_CLASS) && !names(CKA_PROFILE_ID) {
            return false;
        }
        template.iter().all(|(definition, value)| {
            let Reading::Bytes(bytes) = self.read(definition.attribute, handle) else {
                return false;
            };
            match *value {
                Value::Flag(_, value) => bytes[..] == [value.into()],
                Value::Number(number) => bytes[..] == number.to_ne_bytes(),
                Value::Bytes(wanted) => bytes[..] == *wanted,
            }
        })
    }
}
