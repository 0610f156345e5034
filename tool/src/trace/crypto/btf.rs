// SPDX-License-Identifier: BSD-2-Clause
//! Reads the kernel's type information (BTF): where the fields of its structures are. The format is
//! in the kernel's Documentation/bpf/btf.rst.

/// The type information of a kernel.
pub struct Types<'b> {
    strings: &'b [u8],
    /// The types from number 1 on.
    types: Vec<Type<'b>>,
}

struct Type<'b> {
    name: u32,
    kind: u32,
    /// Whether offsets of members have the size of a bit field in their upper bits.
    has_bit_fields: bool,
    /// Of a structure.
    size: u32,
    /// What follows the first 12 bytes: of a structure its members, 12 bytes each.
    rest: &'b [u8],
}

const STRUCT: u32 = 4;
const UNION: u32 = 5;
const MEMBER: usize = 12;
/// Members without a name are structures or unions. They are not nested deeper than this.
const DEEPEST: usize = 8;
/// Members that are looked at for one field, those of nested structures included: damaged
/// information may nest the same structure many times. struct task_struct has about 300.
const MOST_MEMBERS: usize = 1 << 16;

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// The bytes that follow the first 12 of a type with so many elements.
fn rest(kind: u32, elements: usize) -> Option<usize> {
    Some(match kind {
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Structures, unions, sections, enumerations of 64 bits.
        STRUCT | UNION | 15 | 19 => 12 * elements,
        // Enumerations, parameters.
        6 | 13 => 8 * elements,
        // Pointers, names, qualifiers, functions, floating point, tags of types.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

impl Types<'_> {
    pub fn parse(bytes: &[u8]) -> Result<Types<'_>, String> {
        Types::sections(bytes)
            .ok_or_else(|| "it does not begin like type information (BTF)".to_owned())
            .and_then(|(types, strings)| {
                let types = Types::list(types)?;
                Ok(Types { strings, types })
            })
    }

    /// The sections of types and of strings.
    fn sections(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        const MAGIC_AND_VERSION: u32 = 0x1eb9f;
        const HEADER: u32 = 24;
        let begin = number(bytes, 4)?;
        if number(bytes, 0)? & 0x00ff_ffff != MAGIC_AND_VERSION || begin < HEADER {
            return None;
        }
        let section = |at: usize| {
            let start = begin.checked_add(number(bytes, at)?)?;
            let end = start.checked_add(number(bytes, at + 4)?)?;
            bytes.get(start as usize..end as usize)
        };
        Some((section(8)?, section(16)?))
    }

    fn list(mut bytes: &[u8]) -> Result<Vec<Type<'_>>, String> {
        let mut types = Vec::new();
        while !bytes.is_empty() {
            let index = types.len() + 1;
            let (used, next) =
                Types::first(bytes).ok_or_else(|| format!("its type {index} cannot be read"))?;
            types.push(next);
            bytes = &bytes[used..];
        }
        Ok(types)
    }

    /// The first type, and its length.
    fn first(bytes: &[u8]) -> Option<(usize, Type<'_>)> {
        const BASE: usize = 12;
        let about = number(bytes, 4)?;
        let kind = (about >> 24) & 0x1f;
        let end = BASE + rest(kind, (about & 0xffff) as usize)?;
        let next = Type {
            name: number(bytes, 0)?,
            kind,
            has_bit_fields: about >> 31 == 1,
            size: number(bytes, 8)?,
            rest: bytes.get(BASE..end)?,
        };
        Some((end, next))
    }

    fn is_called(&self, name: u32, wanted: &str) -> bool {
        let text = self.strings.get(name as usize..).unwrap_or_default();
        text.strip_prefix(wanted.as_bytes())
            .is_some_and(|after| after.first() == Some(&0))
    }

    /// The structures of a name. Parts of the kernel may have different ones.
    fn structures<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Type<'s>> {
        let all = self.types.iter();
        all.filter(move |known| known.kind == STRUCT && self.is_called(known.name, name))
    }

    /// The offset of a field in bytes.
    pub fn offset(&self, structure: &str, field: &str) -> Result<i16, String> {
        let mut rest = MOST_MEMBERS;
        self.structures(structure)
            .find_map(|known| self.bits(known, field, DEEPEST, &mut rest))
            .filter(|bits| bits % 8 == 0)
            .and_then(|bits| i16::try_from(bits / 8).ok())
            .ok_or_else(|| format!("it has no field {field} of struct {structure}"))
    }

    /// The size of a structure in bytes.
    pub fn size(&self, structure: &str) -> Result<i16, String> {
        self.structures(structure)
            .find_map(|known| i16::try_from(known.size).ok())
            .ok_or_else(|| format!("it has no struct {structure}"))
    }

    /// The offset of a field in bits, also of one in a member without a name.
    fn bits(&self, structure: &Type, field: &str, depth: usize, rest: &mut usize) -> Option<u32> {
        let members = structure.rest.chunks_exact(MEMBER);
        members
            .filter_map(|member| {
                *rest = rest.checked_sub(1)?;
                let name = number(member, 0)?;
                let offset = number(member, 8)?;
                let (offset, width) = match structure.has_bit_fields {
                    true => (offset & 0x00ff_ffff, offset >> 24),
                    false => (offset, 0),
                };
                if self.is_called(name, field) {
                    return (width == 0).then_some(offset);
                }
                if !self.is_called(name, "") || depth == 0 {
                    return None;
                }
                let index = (number(member, 4)? as usize).checked_sub(1)?;
                let inner = self.types.get(index)?;
                let is_structure = matches!(inner.kind, STRUCT | UNION);
                let inner = is_structure.then(|| self.bits(inner, field, depth - 1, rest))??;
                offset.checked_add(inner)
            })
            .next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Type information as the kernel has it.
    #[derive(Default)]
    struct Builder {
        types: Vec<u8>,
        strings: Vec<u8>,
    }

    impl Builder {
        fn new() -> Builder {
            Builder {
                types: Vec::new(),
                strings: vec![0],
            }
        }

        fn name(&mut self, name: &str) -> u32 {
            if name.is_empty() {
                return 0;
            }
            let at = self.strings.len() as u32;
            self.strings.extend(name.as_bytes());
            self.strings.push(0);
            at
        }

        fn words(&mut self, words: &[u32]) {
            self.types
                .extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }

        /// Members are a name, a type and an offset in bits.
        fn structure(&mut self, kind: u32, name: &str, size: u32, members: &[(&str, u32, u32)]) {
            let name = self.name(name);
            let flag = match members.iter().any(|member| member.2 >> 24 != 0) {
                true => 1 << 31,
                false => 0,
            };
            self.words(&[name, flag | kind << 24 | members.len() as u32, size]);
            for (name, kind, offset) in members {
                let name = self.name(name);
                self.words(&[name, *kind, *offset]);
            }
        }

        fn bytes(&self) -> Vec<u8> {
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            let mut bytes = vec![0x9f, 0xeb, 1, 0];
            for word in [24, 0, types, types, strings] {
                bytes.extend(u32::to_le_bytes(word));
            }
            bytes.extend(&self.types);
            bytes.extend(&self.strings);
            bytes
        }
    }

    fn example() -> Vec<u8> {
        let mut made = Builder::new();
        // 1: an integer, 2: a union without a name, 3: an enumeration, 4 to 6: structures.
        made.words(&[0, 1 << 24, 4, 32]);
        made.structure(UNION, "", 8, &[("first", 1, 0), ("second", 1, 32)]);
        made.words(&[0, 6 << 24 | 2, 4, 0, 1, 0, 2]);
        made.structure(STRUCT, "request", 40, &[("length", 1, 64), ("", 2, 128)]);
        made.structure(
            STRUCT,
            "bits",
            8,
            &[("narrow", 1, 3 << 24), ("wide", 1, 32)],
        );
        made.structure(STRUCT, "request", 48, &[("other", 1, 256)]);
        made.bytes()
    }

    #[test]
    fn fields_are_found() {
        let bytes = example();
        let types = Types::parse(&bytes).unwrap();
        assert_eq!(types.offset("request", "length"), Ok(8));
        assert_eq!(types.offset("request", "second"), Ok(20));
        // In another structure of the same name.
        assert_eq!(types.offset("request", "other"), Ok(32));
        assert_eq!(types.offset("bits", "wide"), Ok(4));
        assert_eq!(types.size("request"), Ok(40));
    }

    #[test]
    fn what_is_missing_is_named() {
        let bytes = example();
        let types = Types::parse(&bytes).unwrap();
        for (structure, field) in [
            ("request", "lengt"),
            ("reques", "length"),
            ("bits", "narrow"),
        ] {
            let error = types.offset(structure, field).unwrap_err();
            assert_eq!(
                error,
                format!("it has no field {field} of struct {structure}")
            );
        }
        assert!(types.size("absent").unwrap_err().contains("struct absent"));
    }

    /// Members without a name that contain each other end.
    #[test]
    fn a_circle_ends() {
        let mut made = Builder::new();
        made.structure(STRUCT, "circle", 8, &[("", 1, 0), ("", 1, 0), ("", 99, 0)]);
        let bytes = made.bytes();
        let types = Types::parse(&bytes).unwrap();
        assert!(types.offset("circle", "absent").is_err());
        // 1000 members, each of them with 1000 members, and so on.
        let mut made = Builder::new();
        made.structure(STRUCT, "wide", 8, &[("", 1, 0); 1000]);
        let bytes = made.bytes();
        let begun = std::time::Instant::now();
        assert!(Types::parse(&bytes)
            .unwrap()
            .offset("wide", "absent")
            .is_err());
        assert!(begun.elapsed() < std::time::Duration::from_secs(10));
    }

    /// Every shortened file, and every file with one wrong byte, is read or refused.
    #[test]
    fn malformed_input_does_not_panic() {
        let bytes = example();
        let look = |bytes: &[u8]| match Types::parse(bytes) {
            Ok(types) => types.offset("request", "second").is_ok() && types.size("bits").is_ok(),
            Err(_) => false,
        };
        assert!(look(&bytes));
        for length in 0..bytes.len() {
            assert!(!look(&bytes[..length]), "{length}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut wrong = bytes.clone();
                wrong[at] = value;
                look(&wrong);
            }
        }
        for unreadable in [&[0u8; 64][..], &[0xff; 64], b"\x7fELF"] {
            assert!(Types::parse(unreadable).is_err());
        }
    }
}
