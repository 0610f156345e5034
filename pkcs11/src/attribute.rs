// SPDX-License-Identifier: BSD-2-Clause
//! Attributes: one table of what each holds, which objects have it, and when it may be given
//! (PKCS#11 sections 4.1 to 4.10); and the templates of calls.

use crate::rv::{ensure, fail, Error, Result};
use cryptoki_sys::*;
use std::mem::size_of;
use Change::*;
use Given::*;
use Kind::*;

/// What an attribute holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// CK_BBOOL, kept as a bit of `Flags`.
    Flag(Flags),
    /// CK_ULONG.
    Number,
    /// Kept as it is given.
    Bytes(Field, Form),
    /// Made from the value or the handle, or a value itself.
    Derived,
}

/// The attributes that an object keeps as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Label,
    Id,
    StartDate,
    EndDate,
    AllowedMechanisms,
}

impl Field {
    pub const COUNT: usize = 5;
}

/// What bytes a field may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Any,
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
    /// C_GenerateKey, by this mechanism.
    Generate(CK_MECHANISM_TYPE),
    /// C_UnwrapKey.
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

/// Which templates of new objects may have an attribute.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Anywhere,
    /// The module sets it.
    Nowhere,
    /// Only those of C_CreateObject.
    Create,
    /// All but those of C_CreateObject.
    Make,
}

/// A row of the table.
pub struct Definition {
    pub attribute: CK_ATTRIBUTE_TYPE,
    pub kind: Kind,
    given: Given,
    pub change: Change,
}

const fn row(attribute: CK_ATTRIBUTE_TYPE, kind: Kind, given: Given, change: Change) -> Definition {
    Definition {
        attribute,
        kind,
        given,
        change,
    }
}

const fn flag(attribute: CK_ATTRIBUTE_TYPE, flag: Flags, change: Change) -> Definition {
    row(attribute, Kind::Flag(flag), Anywhere, change)
}

/// A flag that tells the history of a key.
const fn history(attribute: CK_ATTRIBUTE_TYPE, flag: Flags) -> Definition {
    row(attribute, Kind::Flag(flag), Nowhere, Never)
}

const fn bytes(attribute: CK_ATTRIBUTE_TYPE, field: Field, form: Form) -> Definition {
    row(attribute, Bytes(field, form), Anywhere, Always)
}

const LISTED: Kind = Bytes(Field::AllowedMechanisms, Form::Mechanisms);

static TABLE: [Definition; 31] = [
    row(CKA_CLASS, Number, Anywhere, Never),
    flag(CKA_TOKEN, Flags::TOKEN, InCopy),
    flag(CKA_PRIVATE, Flags::PRIVATE, InCopy),
    flag(CKA_MODIFIABLE, Flags::MODIFIABLE, InCopy),
    flag(CKA_COPYABLE, Flags::COPYABLE, ToFalse),
    flag(CKA_DESTROYABLE, Flags::DESTROYABLE, InCopy),
    bytes(CKA_LABEL, Field::Label, Form::Any),
    row(CKA_UNIQUE_ID, Derived, Nowhere, Never),
    row(CKA_VALUE, Derived, Create, Never),
    row(CKA_KEY_TYPE, Number, Anywhere, Never),
    bytes(CKA_ID, Field::Id, Form::Any),
    bytes(CKA_START_DATE, Field::StartDate, Form::Date),
    bytes(CKA_END_DATE, Field::EndDate, Form::Date),
    row(CKA_KEY_GEN_MECHANISM, Number, Nowhere, Never),
    row(CKA_ALLOWED_MECHANISMS, LISTED, Anywhere, Never),
    row(CKA_VALUE_LEN, Number, Make, Never),
    row(CKA_CHECK_VALUE, Derived, Anywhere, Never),
    history(CKA_LOCAL, Flags::LOCAL),
    history(CKA_ALWAYS_SENSITIVE, Flags::ALWAYS_SENSITIVE),
    history(CKA_NEVER_EXTRACTABLE, Flags::NEVER_EXTRACTABLE),
    flag(CKA_SENSITIVE, Flags::SENSITIVE, ToTrue),
    flag(CKA_EXTRACTABLE, Flags::EXTRACTABLE, ToFalse),
    flag(CKA_ENCRYPT, Flags::ENCRYPT, Always),
    flag(CKA_DECRYPT, Flags::DECRYPT, Always),
    flag(CKA_SIGN, Flags::SIGN, Always),
    flag(CKA_VERIFY, Flags::VERIFY, Always),
    flag(CKA_WRAP, Flags::WRAP, Always),
    flag(CKA_UNWRAP, Flags::UNWRAP, Always),
    flag(CKA_DERIVE, Flags::DERIVE, Always),
    flag(CKA_TRUSTED, Flags::TRUSTED, ToFalse),
    flag(CKA_WRAP_WITH_TRUSTED, Flags::WRAP_WITH_TRUSTED, ToTrue),
];

pub fn definition(attribute: CK_ATTRIBUTE_TYPE) -> Option<&'static Definition> {
    TABLE.iter().find(|row| row.attribute == attribute)
}

impl Definition {
    pub fn may_be_given(&self, origin: Origin) -> bool {
        match origin {
            Origin::Create => matches!(self.given, Anywhere | Create),
            _ => matches!(self.given, Anywhere | Make),
        }
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
        let fits = |form| match form {
            Form::Any => true,
            Form::Date => matches!(bytes.len(), 0 | 8),
            Form::Mechanisms => bytes.len().is_multiple_of(size_of::<CK_MECHANISM_TYPE>()),
        };
        match (kind, bytes) {
            (Kind::Flag(flag), [CK_FALSE]) => Some(Value::Flag(flag, false)),
            (Kind::Flag(flag), [CK_TRUE]) => Some(Value::Flag(flag, true)),
            (Kind::Flag(_), _) => None,
            (Number, _) => {
                let number = bytes.try_into().ok()?;
                Some(Value::Number(CK_ULONG::from_ne_bytes(number)))
            }
            (Derived, _) => Some(Value::Bytes(bytes)),
            (Bytes(_, form), _) => fits(form).then_some(Value::Bytes(bytes)),
        }
    }
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
        let room = TABLE.len().min(count as usize);
        let mut template = Template {
            list: Vec::with_capacity(room),
        };
        // SAFETY: the caller's.
        for attribute in unsafe { attributes(list, count)? } {
            // SAFETY: the caller's.
            template.push(attribute.type_, unsafe { bytes_of(attribute)? })?;
        }
        Ok(template)
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
    fn each_flag_is_one_bit() {
        let flags = TABLE.iter().filter_map(|row| match row.kind {
            Kind::Flag(flag) => Some(flag),
            _ => None,
        });
        let flags: Vec<Flags> = flags.collect();
        assert_eq!(flags.len(), 19);
        let all = flags.iter().fold(Flags(0), |all, flag| all.with(*flag));
        assert_eq!(all.0.count_ones(), 19);
        for (i, flag) in flags.iter().enumerate() {
            assert_eq!(flag.0.count_ones(), 1);
            let mut set = Flags(0);
            set.set(*flag, true);
            for (j, other) in flags.iter().enumerate() {
                assert_eq!((set.has(*other), flag.has(*other)), (i == j, i == j));
            }
            let mut without = all;
            without.set(*flag, false);
            assert!(!without.has(*flag) && without.with(*flag) == all);
            set.set(*flag, true);
            assert_eq!(set, *flag, "twice");
        }
    }

    #[test]
    fn values_of_each_kind() {
        let parse = Value::parse;
        let flag = Kind::Flag(Flags::SIGN);
        assert_eq!(parse(flag, &[1]), Some(Value::Flag(Flags::SIGN, true)));
        assert_eq!(parse(flag, &[0]), Some(Value::Flag(Flags::SIGN, false)));
        for wrong in [&[][..], &[2], &[1, 0]] {
            assert_eq!(parse(flag, wrong), None);
        }
        let number = CK_ULONG::to_ne_bytes(7);
        assert_eq!(parse(Number, &number), Some(Value::Number(7)));
        assert_eq!(parse(Number, &number[1..]), None);
        let of = |form, bytes| parse(Bytes(Field::Label, form), bytes).is_some();
        assert!(of(Form::Any, b"x") && of(Form::Date, b"") && of(Form::Date, b"20261123"));
        assert!(!of(Form::Date, b"x") && of(Form::Mechanisms, &[0; 16]));
        assert!(of(Form::Mechanisms, b"") && !of(Form::Mechanisms, &[0; 9]));
        assert_eq!(parse(Derived, b"x"), Some(Value::Bytes(b"x")));
    }

    #[test]
    fn counts_fit_into_memory() {
        let most = isize::MAX as CK_ULONG;
        let of = |count, size| count_of(count, size).map_err(|error| error.0);
        assert_eq!(of(most, 1), Ok(most as usize));
        assert_eq!(of(most + 1, 1), Err(CKR_ARGUMENTS_BAD));
        assert_eq!(of(most / 24, 24), Ok(most as usize / 24));
        assert_eq!(of(most / 24 + 1, 24), Err(CKR_ARGUMENTS_BAD));
        assert_eq!(of(CK_ULONG::MAX, 24), Err(CKR_ARGUMENTS_BAD));
        let template = |list: &[CK_ATTRIBUTE], count| {
            // SAFETY: the list is valid for the count, or the count is 0.
            let template = unsafe { Template::new(list.as_ptr(), count) };
            template.map(|t| t.iter().count()).map_err(|error| error.0)
        };
        let mut class = CKO_SECRET_KEY;
        let mut attribute = |len| CK_ATTRIBUTE {
            type_: CKA_CLASS,
            pValue: (&raw mut class).cast(),
            ulValueLen: len,
        };
        let size = size_of::<CK_ULONG>() as CK_ULONG;
        assert_eq!(template(&[attribute(size)], 1), Ok(1));
        assert_eq!(template(&[], 0), Ok(0));
        let twice = [attribute(size), attribute(size)];
        assert_eq!(template(&twice, 2), Err(CKR_TEMPLATE_INCONSISTENT));
        assert_eq!(
            template(&[attribute(most + 1)], 1),
            Err(CKR_ATTRIBUTE_VALUE_INVALID)
        );
        assert_eq!(
            template(&[attribute(0)], 1),
            Err(CKR_ATTRIBUTE_VALUE_INVALID)
        );
        let mut unknown = attribute(size);
        unknown.type_ = CKA_MODULUS;
        assert_eq!(template(&[unknown], 1), Err(CKR_ATTRIBUTE_TYPE_INVALID));
    }
}
