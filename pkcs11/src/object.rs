// SPDX-License-Identifier: BSD-2-Clause
//! Objects: secret keys. An object never changes:
//! C_SetAttributeValue puts another one in its place. So operations share objects without locks.

use crate::attribute::{Change, Definition, Field, Flags, Kind, Origin, Template, Value};
use crate::buffers::copy_of;
use crate::lock::Lock;
use crate::rv::{ensure, fail, Error, Result};
use catalogue::Mode;
use cryptoki_sys::*;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tenrounds_sys::{Backend, Key};
use zeroize::Zeroizing;

/// The largest value of a generic secret, in bytes.
pub const MOST_SECRET: usize = 1 << 20;

pub struct Object {
    pub attributes: Attributes,
    pub secret: Arc<Secret>,
    /// The session that it ends with.
    pub session: CK_SESSION_HANDLE,
    /// Another object has taken its place, or it was destroyed.
    stale: AtomicBool,
    /// The sessions that keep this key for their next message, once for each operation.
    keepers: Lock<Vec<CK_SESSION_HANDLE>>,
}

#[derive(Clone)]
pub struct Attributes {
    pub key_type: CK_KEY_TYPE,
    pub flags: Flags,
    key_gen_mechanism: CK_MECHANISM_TYPE,
    bytes: [Box<[u8]>; Field::COUNT],
}

/// A value, and what the core made of it: one key object for each kind of mode that was used.
pub struct Secret {
    value: Zeroizing<Box<[u8]>>,
    keys: [OnceLock<Key>; 5],
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
    pub fn key(&self, mode: Mode) -> Result<&Key> {
        let cell = &self.keys[match mode {
            Mode::Gcm => 0,
            Mode::Ccm => 1,
            Mode::Cmac => 2,
            Mode::Xts => 3,
            Mode::Ecb => 4,
            _ => return fail(CKR_GENERAL_ERROR),
        }];
        if let Some(key) = cell.get() {
            return Ok(key);
        }
        let key = Key::new(mode, backend()?, &self.value).map_err(|_| Error(CKR_KEY_SIZE_RANGE))?;
        Ok(cell.get_or_init(|| key))
    }

    /// A key object for the modes over struct tr_aes_key, which Key knows as ECB.
    pub fn aes(&self) -> Result<&Key> {
        self.key(Mode::Ecb)
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

/// Defaults of flags that a template does not give. SunPKCS11 imports keys without CKA_ENCRYPT and
/// CKA_DECRYPT, and then uses them for both.
const DEFAULTS: Flags = Flags::ENCRYPT
    .with(Flags::DECRYPT)
    .with(Flags::SIGN)
    .with(Flags::VERIFY)
    .with(Flags::WRAP)
    .with(Flags::UNWRAP)
    .with(Flags::EXTRACTABLE)
    .with(Flags::MODIFIABLE)
    .with(Flags::COPYABLE)
    .with(Flags::DESTROYABLE);

impl Attributes {
    /// The attributes of a new object. `key_type` is what a mechanism makes; a template may not
    /// contradict it.
    pub fn new(
        template: &Template<'_>,
        origin: Origin,
        key_type: Option<CK_KEY_TYPE>,
    ) -> Result<Attributes> {
        match (template.number(CKA_CLASS), origin) {
            (Some(CKO_SECRET_KEY), _) => {}
            (None, Origin::Create) => return fail(CKR_TEMPLATE_INCOMPLETE),
            (Some(_), Origin::Create) => return fail(CKR_ATTRIBUTE_VALUE_INVALID),
            (None, _) => {}
            (Some(_), _) => return fail(CKR_TEMPLATE_INCONSISTENT),
        }
        let given = template.number(CKA_KEY_TYPE);
        let consistent = key_type.is_none_or(|made| given.is_none_or(|given| made == given));
        ensure(consistent, CKR_TEMPLATE_INCONSISTENT)?;
        let key_type = key_type.or(given).ok_or(Error(CKR_TEMPLATE_INCOMPLETE))?;
        let mut attributes = Attributes {
            key_type,
            flags: DEFAULTS,
            key_gen_mechanism: match origin {
                Origin::Generate(mechanism) => mechanism,
                _ => CK_UNAVAILABLE_INFORMATION,
            },
            bytes: Default::default(),
        };
        for (definition, value) in template.iter() {
            ensure(
                definition.may_be_given(origin),
                match definition.change {
                    Change::Never => CKR_ATTRIBUTE_READ_ONLY,
                    _ => CKR_TEMPLATE_INCONSISTENT,
                },
            )?;
            attributes.set(definition, *value)?;
        }
        attributes.set_history(origin);
        Ok(attributes)
    }

    /// Sets the flags that tell a key's history.
    fn set_history(&mut self, origin: Origin) {
        let local = matches!(origin, Origin::Generate(_));
        let sensitive = self.flags.has(Flags::SENSITIVE);
        let extractable = self.flags.has(Flags::EXTRACTABLE);
        for (flag, holds) in [
            (Flags::LOCAL, true),
            (Flags::ALWAYS_SENSITIVE, sensitive),
            (Flags::NEVER_EXTRACTABLE, !extractable),
        ] {
            self.flags.set(flag, local && holds);
        }
    }

    fn field(&self, field: Field) -> &[u8] {
        &self.bytes[field as usize]
    }

    /// Sets what the caller has checked may be given. Class, type, value, its length and its check
    /// value are for those who make the object.
    fn set(&mut self, definition: &Definition, value: Value<'_>) -> Result<()> {
        match (definition.kind, value) {
            // Nothing outlives the process.
            (_, Value::Flag(Flags::TOKEN, true)) => return fail(CKR_TOKEN_WRITE_PROTECTED),
            // Only a security officer, who would log in, vouches for keys.
            (_, Value::Flag(Flags::TRUSTED, true)) => return fail(CKR_ATTRIBUTE_READ_ONLY),
            (_, Value::Flag(flag, value)) => self.flags.set(flag, value),
            (Kind::Bytes(field, _), Value::Bytes(bytes)) => {
                self.bytes[field as usize] = copy_of(bytes)?.into();
            }
            _ => {}
        }
        Ok(())
    }

    /// Applies a template to an object that exists.
    fn change(&mut self, template: &Template<'_>, copies: bool) -> Result<()> {
        for (definition, value) in template.iter() {
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
        Ok(())
    }

    pub fn allows(&self, mechanism: CK_MECHANISM_TYPE) -> bool {
        let size = std::mem::size_of::<CK_MECHANISM_TYPE>();
        let listed = self.field(Field::AllowedMechanisms);
        let mut numbers = listed.chunks_exact(size);
        listed.is_empty() || numbers.any(|m| *m == mechanism.to_ne_bytes())
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
    pub fn new(attributes: Attributes, secret: Arc<Secret>, session: CK_SESSION_HANDLE) -> Object {
        Object {
            attributes,
            secret,
            session,
            stale: AtomicBool::new(false),
            keepers: Lock::new(Vec::new()),
        }
    }

    /// The object that C_SetAttributeValue or C_CopyObject makes of this one.
    pub fn changed(
        &self,
        template: &Template<'_>,
        copies: bool,
        session: CK_SESSION_HANDLE,
    ) -> Result<Object> {
        let mut attributes = self.attributes.clone();
        attributes.change(template, copies)?;
        Ok(Object::new(attributes, self.secret.clone(), session))
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

    /// Whether C_GetAttributeValue may return the value.
    pub fn shows_value(&self) -> bool {
        self.has(Flags::EXTRACTABLE) && !self.has(Flags::SENSITIVE)
    }

    /// CKA_CHECK_VALUE: the first three bytes of the encryption of a zero block (PKCS#11 section
    /// 4.10.2). Only keys of AES have it.
    pub fn check_value(&self) -> Result<[u8; 3]> {
        let value = self.secret.value();
        let first = match self.attributes.key_type {
            CKK_AES => value,
            CKK_AES_XTS => &value[..value.len() / 2],
            _ => return fail(CKR_ATTRIBUTE_TYPE_INVALID),
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
        let definition = crate::attribute::definition(attribute);
        let Some(definition) = definition else {
            return Reading::Missing;
        };
        if attribute == CKA_VALUE && !self.shows_value() {
            return Reading::Hidden;
        }
        let a = &self.attributes;
        let number = |n: CK_ULONG| Reading::Bytes(n.to_ne_bytes().to_vec().into());
        match (definition.kind, attribute) {
            (Kind::Flag(flag), _) => {
                let value: &[u8] = match a.flags.has(flag) {
                    true => &[CK_TRUE],
                    false => &[CK_FALSE],
                };
                Reading::Bytes(value.into())
            }
            (Kind::Bytes(field, _), _) => Reading::Bytes(a.field(field).into()),
            (_, CKA_CLASS) => number(CKO_SECRET_KEY),
            (_, CKA_KEY_TYPE) => number(a.key_type),
            (_, CKA_KEY_GEN_MECHANISM) => number(a.key_gen_mechanism),
            (_, CKA_VALUE_LEN) => number(self.secret.value().len() as CK_ULONG),
            (_, CKA_VALUE) => Reading::Bytes(self.secret.value().into()),
            (_, CKA_CHECK_VALUE) => match self.check_value() {
                Ok(value) => Reading::Bytes(value.to_vec().into()),
                Err(_) => Reading::Missing,
            },
            (_, CKA_UNIQUE_ID) => {
                let id = format!("session-{handle:016x}");
                Reading::Bytes(id.into_bytes().into())
            }
            _ => Reading::Missing,
        }
    }

    /// Whether all attributes of a template have these values. The value of a sensitive key matches
    /// nothing, so that nobody can guess it.
    pub fn matches(&self, template: &Template<'_>, handle: CK_OBJECT_HANDLE) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn secret_key(key_type: CK_KEY_TYPE, value: &[u8]) -> Object {
        let attributes = Attributes {
            key_type,
            flags: DEFAULTS,
            key_gen_mechanism: CK_UNAVAILABLE_INFORMATION,
            bytes: Default::default(),
        };
        Object::new(attributes, Secret::new(value).unwrap(), 5)
    }

    #[test]
    fn check_values() {
        let of = |key_type, value: &[u8]| secret_key(key_type, value).check_value().ok();
        // The zero block under zero keys (FIPS 197).
        assert_eq!(of(CKK_AES, &[0; 16]), Some([0x66, 0xe9, 0x4b]));
        assert_eq!(of(CKK_AES, &[0; 24]), Some([0xaa, 0xe0, 0x69]));
        let two = [[0u8; 16], [9; 16]].concat();
        assert_eq!(of(CKK_AES_XTS, &two), Some([0x66, 0xe9, 0x4b]));
        assert_eq!(of(CKK_GENERIC_SECRET, &[7; 20]), None);
        assert_eq!(of(CKK_AES, &[0; 15]), None);
    }

    #[test]
    fn sessions_keep_a_key_until_it_goes() {
        let key = secret_key(CKK_AES, &[0; 16]);
        assert!(key.keep(1) && key.keep(2) && key.keep(1));
        key.let_go(1);
        key.let_go(3);
        assert_eq!(*key.keepers.lock(), [1, 2]);
        key.let_go(1);
        assert_eq!(*key.keepers.lock(), [2]);
        assert!(!key.is_stale() && key.retire() && key.is_stale());
        // One that comes later is registered, but may not have been seen.
        assert!(!key.keep(4));
        assert_eq!(key.take_keepers(), [2, 4]);
        assert_eq!((key.take_keepers(), key.retire()), (vec![], false));
        let other = secret_key(CKK_AES, &[0; 16]);
        assert!(!other.retire());
    }

    #[test]
    fn core_keys_are_made_once() {
        let secret = Secret::new(&[1; 32]).unwrap();
        let modes = [Mode::Gcm, Mode::Ccm, Mode::Cmac, Mode::Xts];
        let keys: Vec<*const Key> = modes.map(|m| secret.key(m).unwrap() as *const _).into();
        for (mode, key) in modes.into_iter().zip(&keys) {
            assert!(std::ptr::eq(secret.key(mode).unwrap(), *key), "{mode:?}");
            assert!(keys.iter().filter(|other| *other == key).count() == 1);
        }
        let aes = secret.aes().unwrap();
        assert!(std::ptr::eq(secret.aes().unwrap(), aes) && !keys.contains(&(aes as *const _)));
        assert!(secret.key(Mode::Cbc).is_err());
    }

    #[test]
    fn mechanisms_that_a_key_is_for() {
        let mut attributes = secret_key(CKK_AES, &[0; 16]).attributes;
        assert!(attributes.allows(CKM_AES_CBC));
        let list = [CKM_AES_GCM.to_ne_bytes(), CKM_AES_CTR.to_ne_bytes()].concat();
        attributes.bytes[Field::AllowedMechanisms as usize] = list.into();
        let allowed = [CKM_AES_GCM, CKM_AES_CTR, CKM_AES_CBC].map(|m| attributes.allows(m));
        assert_eq!(allowed, [true, true, false]);
    }
}
