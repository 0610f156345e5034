// SPDX-License-Identifier: BSD-2-Clause
//! Attributes: one table of what each holds, which objects have it, and when it may be given
//! (PKCS#11 sections 4.1 to 4.10); and the templates of calls.

use crate::rv::{ensure, fail, Error, Result};
use cryptoki_sys::*;
use std::mem::size_of;

/// The classes of objects that have an attribute.
const DATA: u8 = 1;
const KEY: u8 = 2;
const PROFILE: u8 = 4;
const STORED: u8 = DATA | KEY;
const EVERY: u8 = STORED | PROFILE;

/// What an attribute holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// CK_BBOOL, kept as a bit of `Flags`.
    Flag(Flags),
    /// CK_ULONG.
    Number,
    Bytes,
    /// CK_DATE, or empty.
    Date,
    /// An array of CK_MECHANISM_TYPE.
    Mechanisms,
}

/// How an attribute changes in an object that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Never,
    /// In the template of C_CopyObject alone.
    InCopy,
    Always,
    /// Only from CK_FALSE to CK_TRUE.
    ToTrue,
    /// Only from CK_TRUE to CK_FALSE.
    ToFalse,
}

/// How an object comes into being.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// C_CreateObject.
    Create,
    /// C_GenerateKey.
    Generate,
    /// C_UnwrapKey and C_DeriveKey.
    Unwrap,
}

/// A set of attributes that are true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(u32);

macro_rules! flags {
    ($($name:ident = $bit:literal;)*) => {
        impl Flags {
            $(pub const $name: Flags = Flags(1 << $bit);)*
        }
    };
}

flags! {
    TOKEN = 0;
    PRIVATE = 1;
    MODIFIABLE = 2;
    COPYABLE = 3;
    DESTROYABLE = 4;
    SENSITIVE = 5;
    EXTRACTABLE = 6;
    ALWAYS_SENSITIVE = 7;
    NEVER_EXTRACTABLE = 8;
    LOCAL = 9;
    ENCRYPT = 10;
    DECRYPT = 11;
    SIGN = 12;
    VERIFY = 13;
    WRAP = 14;
    UNWRAP = 15;
    DERIVE = 16;
    TRUSTED = 17;
    WRAP_WITH_TRUSTED = 18;
}

impl Flags {
    pub const NONE: Flags = Flags(0);

    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    pub fn has(self, flag: Flags) -> bool {
        self.0 & flag.0 != 0
    }

    pub fn set(&mut self, flag: Flags, value: bool) {
        self.0 = self.0 & !flag.0 | if value { flag.0 } else { 0 };
    }
}

/// A row of the table.
pub struct Definition {
    pub attribute: CK_ATTRIBUTE_TYPE,
    pub kind: Kind,
    classes: u8,
    /// Whether a template of C_CreateObject may have it, of C_GenerateKey, of C_UnwrapKey.
    given: [bool; 3],
    pub change: Change,
}

const fn row(
    attribute: CK_ATTRIBUTE_TYPE,
    kind: Kind,
    classes: u8,
    given: [bool; 3],
    change: Change,
) -> Definition {
    Definition {
        attribute,
        kind,
        classes,
        given,
        change,
    }
}

const ANY: [bool; 3] = [true; 3];
const NOWHERE: [bool; 3] = [false; 3];
const CREATE: [bool; 3] = [true, false, false];
const LATER: [bool; 3] = [false, true, true];

const fn flag(attribute: CK_ATTRIBUTE_TYPE, flag: Flags, change: Change) -> Definition {
    row(attribute, Kind::Flag(flag), KEY, ANY, change)
}

/// Attributes that the module sets are given nowhere.
static TABLE: [Definition; 37] = {
    use Change::*;
    use Kind::*;
    [
        row(CKA_CLASS, Number, EVERY, ANY, Never),
        row(CKA_TOKEN, Flag(Flags::TOKEN), EVERY, ANY, InCopy),
        row(CKA_PRIVATE, Flag(Flags::PRIVATE), EVERY, ANY, InCopy),
        row(CKA_MODIFIABLE, Flag(Flags::MODIFIABLE), EVERY, ANY, InCopy),
        row(CKA_COPYABLE, Flag(Flags::COPYABLE), EVERY, ANY, ToFalse),
        row(
            CKA_DESTROYABLE,
            Flag(Flags::DESTROYABLE),
            EVERY,
            ANY,
            InCopy,
        ),
        row(CKA_LABEL, Bytes, EVERY, ANY, Always),
        row(CKA_UNIQUE_ID, Bytes, EVERY, NOWHERE, Never),
        row(CKA_VALUE, Bytes, STORED, CREATE, Never),
        row(CKA_APPLICATION, Bytes, DATA, CREATE, Always),
        row(CKA_OBJECT_ID, Bytes, DATA, CREATE, Always),
        row(CKA_KEY_TYPE, Number, KEY, ANY, Never),
        row(CKA_ID, Bytes, KEY, ANY, Always),
        row(CKA_START_DATE, Date, KEY, ANY, Always),
        row(CKA_END_DATE, Date, KEY, ANY, Always),
        row(CKA_KEY_GEN_MECHANISM, Number, KEY, NOWHERE, Never),
        row(CKA_ALLOWED_MECHANISMS, Mechanisms, KEY, ANY, Never),
        row(CKA_VALUE_LEN, Number, KEY, LATER, Never),
        row(CKA_CHECK_VALUE, Bytes, KEY, ANY, Never),
        row(CKA_LOCAL, Flag(Flags::LOCAL), KEY, NOWHERE, Never),
        row(
            CKA_ALWAYS_SENSITIVE,
            Flag(Flags::ALWAYS_SENSITIVE),
            KEY,
            NOWHERE,
            Never,
        ),
        row(
            CKA_NEVER_EXTRACTABLE,
            Flag(Flags::NEVER_EXTRACTABLE),
            KEY,
            NOWHERE,
            Never,
        ),
        flag(CKA_SENSITIVE, Flags::SENSITIVE, ToTrue),
        flag(CKA_EXTRACTABLE, Flags::EXTRACTABLE, ToFalse),
        flag(CKA_ENCRYPT, Flags::ENCRYPT, Always),
        flag(CKA_DECRYPT, Flags::DECRYPT, Always),
        flag(CKA_SIGN, Flags::SIGN, Always),
        flag(CKA_VERIFY, Flags::VERIFY, Always),
        flag(CKA_WRAP, Flags::WRAP, Always),
        flag(CKA_UNWRAP, Flags::UNWRAP, Always),
        flag(CKA_DERIVE, Flags::DERIVE, Always),
        flag(CKA_TRUSTED, Flags::TRUSTED, Always),
        flag(CKA_WRAP_WITH_TRUSTED, Flags::WRAP_WITH_TRUSTED, ToTrue),
        row(CKA_PROFILE_ID, Number, PROFILE, NOWHERE, Never),
        // Keys cannot carry templates for what they wrap, unwrap or derive.
        row(CKA_WRAP_TEMPLATE, Bytes, 0, NOWHERE, Never),
        row(CKA_UNWRAP_TEMPLATE, Bytes, 0, NOWHERE, Never),
        row(CKA_DERIVE_TEMPLATE, Bytes, 0, NOWHERE, Never),
    ]
};

pub fn definition(attribute: CK_ATTRIBUTE_TYPE) -> Option<&'static Definition> {
    TABLE.iter().find(|row| row.attribute == attribute)
}

/// The attributes of the objects of a class.
pub fn of_class(class: CK_OBJECT_CLASS) -> impl Iterator<Item = &'static Definition> {
    TABLE.iter().filter(move |row| row.belongs_to(class))
}

impl Definition {
    /// Whether objects of a class have the attribute.
    pub fn belongs_to(&self, class: CK_OBJECT_CLASS) -> bool {
        let bit = match class {
            CKO_DATA => DATA,
            CKO_SECRET_KEY => KEY,
            CKO_PROFILE => PROFILE,
            _ => 0,
        };
        self.classes & bit != 0
    }

    pub fn may_be_given(&self, origin: Origin) -> bool {
        self.given[origin as usize]
    }
}

/// A value in a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    Flag(Flags, bool),
    Number(CK_ULONG),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// None: bytes that an attribute of this kind cannot have.
    pub fn parse(kind: Kind, bytes: &'a [u8]) -> Option<Value<'a>> {
        Some(match kind {
            Kind::Flag(flag) => match bytes {
                [CK_FALSE] => Value::Flag(flag, false),
                [CK_TRUE] => Value::Flag(flag, true),
                _ => return None,
            },
            Kind::Number => Value::Number(CK_ULONG::from_ne_bytes(bytes.try_into().ok()?)),
            Kind::Bytes => Value::Bytes(bytes),
            Kind::Date => {
                date_of(bytes)?;
                Value::Bytes(bytes)
            }
            Kind::Mechanisms => {
                if !bytes.len().is_multiple_of(size_of::<CK_MECHANISM_TYPE>()) {
                    return None;
                }
                Value::Bytes(bytes)
            }
        })
    }
}

/// A CK_DATE: eight digits, YYYYMMDD. Nothing for no date.
pub fn date_of(bytes: &[u8]) -> Option<Option<[u8; 8]>> {
    if bytes.is_empty() {
        return Some(None);
    }
    let date: [u8; 8] = bytes.try_into().ok()?;
    let number = |from: usize, to: usize| {
        date[from..to].iter().try_fold(0, |n, d| {
            d.is_ascii_digit().then(|| n * 10 + u32::from(d - b'0'))
        })
    };
    let (_, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then_some(Some(date))
}

/// The attributes of a call, each once and with a value of its kind.
pub struct Template<'a> {
    list: Vec<(&'static Definition, Value<'a>)>,
}

impl<'a> Template<'a> {
    /// # Safety
    /// The list is NULL or valid for `count` attributes, whose values are valid for their lengths.
    pub unsafe fn new(list: *const CK_ATTRIBUTE, count: CK_ULONG) -> Result<Template<'a>> {
        // A template names each attribute once at most, so a longer one fails below.
        let mut template = Template::with_room(count as usize);
        // SAFETY: the caller's.
        for attribute in unsafe { attributes(list, count)? } {
            // SAFETY: the caller's.
            template.push(attribute.type_, unsafe { bytes_of(attribute)? })?;
        }
        Ok(template)
    }

    /// Attributes by type and value.
    pub fn of(list: &[(CK_ATTRIBUTE_TYPE, &'a [u8])]) -> Result<Template<'a>> {
        let mut template = Template::with_room(list.len());
        for (attribute, bytes) in list {
            template.push(*attribute, bytes)?;
        }
        Ok(template)
    }

    fn with_room(count: usize) -> Template<'a> {
        Template {
            list: Vec::with_capacity(TABLE.len().min(count)),
        }
    }

    fn push(&mut self, attribute: CK_ATTRIBUTE_TYPE, bytes: &'a [u8]) -> Result<()> {
        let Some(definition) = definition(attribute) else {
            return fail(CKR_ATTRIBUTE_TYPE_INVALID);
        };
        let Some(value) = Value::parse(definition.kind, bytes) else {
            return fail(CKR_ATTRIBUTE_VALUE_INVALID);
        };
        let mut known = self.list.iter();
        let twice = known.any(|(d, _)| std::ptr::eq(*d, definition));
        ensure(!twice, CKR_TEMPLATE_INCONSISTENT)?;
        self.list.push((definition, value));
        Ok(())
    }

    pub fn iter(&self) -> impl Iterator<Item = &(&'static Definition, Value<'a>)> {
        self.list.iter()
    }

    fn value(&self, attribute: CK_ATTRIBUTE_TYPE) -> Option<Value<'a>> {
        let found = self.list.iter().find(|(d, _)| d.attribute == attribute);
        found.map(|(_, value)| *value)
    }

    pub fn number(&self, attribute: CK_ATTRIBUTE_TYPE) -> Option<CK_ULONG> {
        match self.value(attribute) {
            Some(Value::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub fn bytes(&self, attribute: CK_ATTRIBUTE_TYPE) -> Option<&'a [u8]> {
        match self.value(attribute) {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    pub fn flag(&self, attribute: CK_ATTRIBUTE_TYPE) -> Option<bool> {
        match self.value(attribute) {
            Some(Value::Flag(_, value)) => Some(value),
            _ => None,
        }
    }
}

/// The attributes of a call as a slice.
///
/// # Safety
/// The list is NULL or valid for `count` attributes.
pub unsafe fn attributes<'a>(
    list: *const CK_ATTRIBUTE,
    count: CK_ULONG,
) -> Result<&'a [CK_ATTRIBUTE]> {
    if count == 0 {
        return Ok(&[]);
    }
    let count = count_of(count, size_of::<CK_ATTRIBUTE>())?;
    ensure(!list.is_null(), CKR_ARGUMENTS_BAD)?;
    // SAFETY: the caller's.
    Ok(unsafe { std::slice::from_raw_parts(list, count) })
}

/// A count of elements, unless so many cannot be in memory.
pub fn count_of(count: CK_ULONG, size: usize) -> Result<usize> {
    let count = usize::try_from(count).map_err(|_| Error(CKR_ARGUMENTS_BAD))?;
    let bytes = count.checked_mul(size);
    ensure(
        bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()),
        CKR_ARGUMENTS_BAD,
    )?;
    Ok(count)
}

/// # Safety
/// The value is NULL or valid for its length.
unsafe fn bytes_of<'a>(attribute: &CK_ATTRIBUTE) -> Result<&'a [u8]> {
    let len = attribute.ulValueLen;
    if len == 0 {
        return Ok(&[]);
    }
    let pointer = attribute.pValue as *const u8;
    let len = isize::try_from(len).map_err(|_| Error(CKR_ATTRIBUTE_VALUE_INVALID))?;
    ensure(!pointer.is_null(), CKR_ATTRIBUTE_VALUE_INVALID)?;
    // SAFETY: the caller's.
    Ok(unsafe { std::slice::from_raw_parts(pointer, len as usize) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attribute_has_one_row() {
        for (i, row) in TABLE.iter().enumerate() {
            let same = TABLE[i + 1..].iter().any(|r| r.attribute == row.attribute);
            assert!(!same, "{:#x}", row.attribute);
        }
    }

    #[test]
    fn dates() {
        assert_eq!(date_of(b""), Some(None));
        assert_eq!(date_of(b"20261123"), Some(Some(*b"20261123")));
        for bad in [&b"2026112"[..], b"20261323", b"20261100", b"2026112x"] {
            assert_eq!(date_of(bad), None);
        }
    }
}
