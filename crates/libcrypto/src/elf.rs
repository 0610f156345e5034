// SPDX-License-Identifier: BSD-2-Clause
//! What an ELF file tells about the cryptography in it: the libraries that it names, a library that
//! is part of it, and, of a libcrypto, where that looks for its files. Files are untrusted.

use memchr::memmem;
use object::elf::{FileHeader32, FileHeader64, DT_NEEDED, DT_RPATH, DT_RUNPATH, PT_INTERP};
use object::read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader};
use object::{Architecture, Endianness, FileKind, Object, ObjectSection, ObjectSymbol, ReadCache};
use std::fs::File;
use std::path::Path;

/// A section with texts that is longer is not searched: the largest browsers have 100 MB.
const MAX_TEXTS: u64 = 512 << 20;

/// What was found in a file.
#[derive(Debug, Clone, Default)]
pub struct Elf {
    /// "64-bit x86-64".
    pub kind: String,
    /// A dynamic linker starts it.
    pub interpreter: bool,
    /// The libraries that it names itself.
    pub needed: Vec<String>,
    /// The folders where it searches for them first (DT_RUNPATH).
    pub runpath: Vec<String>,
    /// The same, also for the libraries that these need (DT_RPATH). Empty if there is a DT_RUNPATH.
    pub rpath: Vec<String>,
    /// A cryptographic library that is part of the file itself.
    pub own: Option<String>,
    /// It defines OSSL_provider_init().
    pub is_provider: bool,
    texts: Vec<u8>,
}

impl Elf {
    /// None if the file cannot be read or is no ELF file.
    pub fn open(path: &Path) -> Option<Elf> {
        Elf::read(File::open(path).ok()?)
    }

    pub fn read(file: File) -> Option<Elf> {
        let cache = ReadCache::new(file);
        match FileKind::parse(&cache).ok()? {
            FileKind::Elf64 => look::<FileHeader64<Endianness>>(&cache),
            FileKind::Elf32 => look::<FileHeader32<Endianness>>(&cache),
            _ => None,
        }
    }

    /// Whether it is linked with a libcrypto or libssl outside itself.
    pub fn names_openssl(&self) -> bool {
        let is_openssl =
            |name: &String| name.starts_with("libcrypto.so") || name.starts_with("libssl.so");
        self.needed.iter().any(is_openssl)
    }

    /// A property query in it that no algorithm of tenrounds matches: "provider=default",
    /// "fips=yes".
    pub fn excluding_query(&self) -> Option<String> {
        // Providers and OpenSSL itself define such properties; they do not ask for them.
        if self.is_provider || (self.own.is_some() && !self.names_openssl()) {
            return None;
        }
        let texts = &self.texts;
        let mut places: Vec<usize> = [&b"provider"[..], b"fips="]
            .into_iter()
            .flat_map(|name| memmem::find_iter(texts, name))
            .collect();
        places.sort_unstable();
        places.into_iter().find_map(|at| {
            let begin = texts[..at]
                .iter()
                .rposition(|&c| c == 0)
                .map_or(0, |i| i + 1);
            let end = at + memchr::memchr(0, &texts[at..])?;
            let query = std::str::from_utf8(&texts[begin..end]).ok()?;
            excludes_tenrounds(query).then(|| query.to_owned())
        })
    }

    /// libcrypto's version, as in "3.0.13".
    pub fn openssl_version(&self) -> Option<String> {
        let text = version_text(&self.texts)?;
        Some(text.strip_prefix("OpenSSL ")?.to_owned())
    }

    /// Whether it is a Node.js, which begins with the section that `nodejs_conf` names.
    pub fn is_nodejs(&self) -> bool {
        memmem::find(&self.texts, b"nodejs_conf\0").is_some()
    }

    /// What stands in quotes behind a name in libcrypto: OPENSSLDIR, MODULESDIR (crypto/info.c).
    pub fn directory(&self, name: &str) -> Option<String> {
        let key = format!("{name}: \"");
        let at = memmem::find(&self.texts, key.as_bytes())? + key.len();
        let rest = &self.texts[at..self.texts.len().min(at + 4096)];
        let end = memchr::memchr(b'"', rest)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    /// The only text of the form "1.2.3" in it, which in our provider is its version.
    pub fn own_version(&self) -> Option<String> {
        let is_version = |text: &&[u8]| {
            text.len() < 20
                && text.iter().filter(|&&c| c == b'.').count() == 2
                && text.iter().all(|c| c.is_ascii_digit() || *c == b'.')
                && text.split(|&c| c == b'.').all(|part| !part.is_empty())
        };
        let mut found: Vec<&[u8]> = self.texts.split(|&c| c == 0).filter(is_version).collect();
        found.dedup();
        match found[..] {
            [version] => Some(String::from_utf8_lossy(version).into_owned()),
            _ => None,
        }
    }

    /// "glibc" or "musl", by the C library that it names.
    pub fn c_library(&self) -> Option<&'static str> {
        self.needed.iter().find_map(|name| match name {
            name if name.starts_with("libc.musl") || name == "libc.so" => Some("musl"),
            name if name == "libc.so.6" => Some("glibc"),
            _ => None,
        })
    }
}

/// The size of a truncated ELF file, and the size that its headers need; None if it is not
/// truncated. Loading a truncated module can kill the program with SIGBUS, because the dynamic
/// linker maps pages beyond the end of the file.
pub fn cut(file: File) -> Option<(u64, u64)> {
    let is = file.metadata().ok()?.len();
    let cache = ReadCache::new(file);
    let needs = match FileKind::parse(&cache).ok()? {
        FileKind::Elf64 => extent::<FileHeader64<Endianness>>(&cache),
        FileKind::Elf32 => extent::<FileHeader32<Endianness>>(&cache),
        _ => return None,
    }?;
    (needs > is).then_some((is, needs))
}

/// The end of the section header table, which linkers write last.
fn extent<H: FileHeader<Endian = Endianness>>(cache: &ReadCache<File>) -> Option<u64> {
    let header = H::parse(cache).ok()?;
    let endian = header.endian().ok()?;
    let size = u64::from(header.e_shentsize(endian)) * u64::from(header.e_shnum(endian));
    let table: u64 = header.e_shoff(endian).into();
    Some(table.saturating_add(size))
}

fn look<H: FileHeader<Endian = Endianness>>(cache: &ReadCache<File>) -> Option<Elf> {
    let elf = ElfFile::<H, &ReadCache<File>>::parse(cache).ok()?;
    let endian = elf.endian();
    let mut needed = named(&elf, &[DT_NEEDED]).unwrap_or_default();
    needed.dedup();
    let folders = |kind| {
        let lists = named(&elf, &[kind]).unwrap_or_default();
        let folders = lists.iter().flat_map(|list| list.split(':'));
        let folders = folders.filter(|folder| !folder.is_empty());
        folders.map(str::to_owned).collect::<Vec<_>>()
    };
    let runpath = folders(DT_RUNPATH);
    let rpath = match runpath.is_empty() {
        true => folders(DT_RPATH),
        false => Vec::new(),
    };
    let bits = if elf.is_64() { 64 } else { 32 };
    let mut found = Elf {
        kind: format!("{bits}-bit {}", machine(elf.architecture())),
        interpreter: elf
            .elf_program_headers()
            .iter()
            .any(|segment| segment.p_type(endian) == PT_INTERP),
        runpath,
        rpath,
        needed,
        texts: texts(&elf).unwrap_or_default(),
        ..Elf::default()
    };
    found.own = own_cryptography(&elf, &found.texts);
    found.is_provider = elf
        .dynamic_symbols()
        .any(|symbol| symbol.is_definition() && symbol.name() == Ok("OSSL_provider_init"));
    Some(found)
}

/// Whether a text is a property query (property(7)) that demands another provider, or FIPS.
fn excludes_tenrounds(query: &str) -> bool {
    let is_query = |c: char| c.is_ascii_alphanumeric() || "=!,?-._ ".contains(c);
    if query.len() > 200 || !query.chars().all(is_query) {
        return false;
    }
    query.split(',').any(|clause| {
        let clause: String = clause.chars().filter(|c| *c != ' ').collect();
        match clause.split_once('=') {
            Some(("provider", value)) => value != "tenrounds" && !value.is_empty(),
            Some(("provider!", value)) => value == "tenrounds",
            Some(("fips", value)) => value == "yes",
            _ => false,
        }
    })
}

fn machine(architecture: Architecture) -> String {
    match architecture {
        Architecture::X86_64 => "x86-64".to_owned(),
        Architecture::X86_64_X32 => "x86-64 (x32)".to_owned(),
        Architecture::I386 => "i386".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The texts that entries of these kinds name in the dynamic section.
fn named<'a, H: FileHeader<Endian = Endianness>>(
    elf: &ElfFile<'a, H, &'a ReadCache<File>>,
    kinds: &[u32],
) -> Option<Vec<String>> {
    let (endian, data) = (elf.endian(), elf.data());
    let sections = elf.elf_header().sections(endian, data).ok()?;
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let names = entries
        .iter()
        .filter(|entry| entry.tag32(endian).is_some_and(|tag| kinds.contains(&tag)))
        .filter_map(|entry| strings.get(entry.val32(endian)?).ok());
    Some(
        names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    )
}

fn texts<'a, H: FileHeader<Endian = Endianness>>(
    elf: &ElfFile<'a, H, &'a ReadCache<File>>,
) -> Option<Vec<u8>> {
    let section = elf.section_by_name(".rodata")?;
    let data = (section.size() <= MAX_TEXTS).then(|| section.data())?;
    Some(data.ok()?.to_vec())
}

/// What tells a library by the symbols that it defines, if those were not stripped.
const SYMBOLS: [(&str, &str); 4] = [
    ("BORINGSSL_", "BoringSSL"),
    ("aws_lc_", "AWS-LC"),
    ("ring_core_", "ring"),
    ("EVP_EncryptInit_ex", "OpenSSL"),
];

fn own_cryptography<'a, H: FileHeader<Endian = Endianness>>(
    elf: &ElfFile<'a, H, &'a ReadCache<File>>,
    texts: &[u8],
) -> Option<String> {
    if elf.section_by_name(".go.buildinfo").is_some() {
        return Some("Go's".to_owned());
    }
    let defined = elf.symbols().chain(elf.dynamic_symbols());
    let by_symbol = defined
        .filter(|symbol| symbol.is_definition())
        .find_map(|symbol| {
            let name = symbol.name().ok()?;
            let known = SYMBOLS.iter().find(|(prefix, _)| name.starts_with(prefix));
            known.map(|(_, library)| (*library).to_owned())
        });
    by_symbol.or_else(|| version_text(texts))
}

/// libcrypto's own version text, as in "OpenSSL 3.0.13 30 Jan 2024".
fn version_text(data: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"OpenSSL ";
    for at in memmem::find_iter(data, NAME) {
        let rest = &data[at + NAME.len()..];
        let rest = &rest[..rest.len().min(64)];
        let Some(end) = memchr::memchr(0, rest) else {
            continue;
        };
        let text = String::from_utf8_lossy(&rest[..end]).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [version, day, month, year] = words[..] {
            let number = |text: &str| text.parse::<u16>().is_ok();
            if version.matches('.').count() == 2 && number(day) && month.len() == 3 && number(year)
            {
                return Some(format!("OpenSSL {version}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_text_is_found_among_others() {
        let text = b"xOpenSSL \0for OpenSSL 3\0OpenSSL 3.0.13+quic 30 Jan 2024\0";
        assert_eq!(version_text(text).as_deref(), Some("OpenSSL 3.0.13+quic"));
        assert_eq!(version_text(b"built with OpenSSL %s\0"), None);
        assert_eq!(version_text(b"OpenSSL 3.0.13 30 Jan 2024"), None);
    }

    #[test]
    fn queries_that_exclude_tenrounds() {
        let query = |texts: &[u8]| {
            let texts = texts.to_vec();
            let elf = Elf {
                texts,
                ..Elf::default()
            };
            elf.excluding_query()
        };
        for found in [
            "provider=default",
            "fips=yes",
            "x=1, provider = legacy",
            "fips=yes,?a=b",
        ] {
            let texts = format!("provider\0{found}\0");
            assert_eq!(query(texts.as_bytes()).as_deref(), Some(found));
        }
        for other in [
            "provider!=fips",
            "?provider=default",
            "provider=tenrounds",
            "provider=%s",
            "no provider=x: see (1)",
            "fips=no",
            "-fips",
            "provider=",
        ] {
            assert_eq!(query(format!("{other}\0").as_bytes()), None, "{other}");
        }
        assert_eq!(query(b"provider=default"), None);
    }

    #[test]
    fn directories_and_versions() {
        let elf = |texts: &[u8]| Elf {
            texts: texts.to_vec(),
            ..Elf::default()
        };
        let crypto = elf(b"x\0OPENSSLDIR: \"/usr/lib/ssl\"\0MODULESDIR: \"/m");
        assert_eq!(
            crypto.directory("OPENSSLDIR").as_deref(),
            Some("/usr/lib/ssl")
        );
        assert_eq!(crypto.directory("MODULESDIR"), None);
        let ours = elf(b"2.16.840.1\x00...\x000.1.0\x001..2\x00x1.2.3\x00");
        assert_eq!(ours.own_version().as_deref(), Some("0.1.0"));
        assert_eq!(elf(b"1.2.3\x003.4.5\0").own_version(), None);
    }

    #[test]
    fn this_program_and_no_program() {
        let elf = Elf::open(&std::env::current_exe().unwrap()).unwrap();
        let bits = format!("{}-bit ", usize::BITS);
        assert!(
            elf.interpreter && elf.kind.starts_with(&bits),
            "{}",
            elf.kind
        );
        assert!(Elf::open(Path::new("/proc/self/status")).is_none());
    }

    #[test]
    fn who_may_ask_for_properties() {
        let asks = |change: &dyn Fn(&mut Elf)| {
            let mut elf = Elf {
                texts: b"x\0fips=yes\0provider=default\0".to_vec(),
                ..Elf::default()
            };
            change(&mut elf);
            elf.excluding_query()
        };
        let fips = Some("fips=yes".to_owned());
        assert_eq!(asks(&|_| ()), fips);
        assert_eq!(asks(&|elf| elf.is_provider = true), None);
        let own = |elf: &mut Elf| elf.own = Some("OpenSSL 3.0.13".into());
        assert_eq!(asks(&own), None);
        for (library, expected) in [
            ("libcrypto.so.3", &fips),
            ("libssl.so.3", &fips),
            ("libcurl.so.4", &None),
        ] {
            let both = |elf: &mut Elf| {
                own(elf);
                elf.needed = vec!["libc.so.6".into(), library.into()];
            };
            assert_eq!(asks(&both), *expected, "{library}");
        }
        let long = |length: usize| {
            let clause = "fips=yes,";
            excludes_tenrounds(&(clause.to_owned() + &"x".repeat(length - clause.len())))
        };
        assert!(long(200) && !long(201));
        assert!(excludes_tenrounds("provider!=tenrounds"));
    }

    #[test]
    fn versions_have_dates() {
        let version = |text: &str| version_text(text.as_bytes());
        let found = Some("OpenSSL 3.0.13".to_owned());
        assert_eq!(version("OpenSSL 3.0.13 30 Jan 2024\0"), found);
        for other in [
            "OpenSSL 3.0 30 Jan 2024\0",
            "OpenSSL 3.0.1.3 30 Jan 2024\0",
            "OpenSSL 3.0.13 x Jan 2024\0",
            "OpenSSL 3.0.13 30 January 2024\0",
            "OpenSSL 3.0.13 30 Jan x\0",
            "OpenSSL 3.0.13 30 Jan\0",
            "OpenSSL 3.0.13 30 Jan 2024 x\0",
        ] {
            assert_eq!(version(other), None, "{other}");
            assert_eq!(
                version(&format!("{other}OpenSSL 3.0.13 30 Jan 2024\0")),
                found
            );
        }
        // The text ends within 64 bytes.
        let padded = |blanks: usize| {
            let text = format!("OpenSSL 3.0.13{}30 Jan 2024\0", " ".repeat(blanks));
            version(&text)
        };
        assert_eq!((padded(46), padded(47)), (found, None));
        let elf = Elf {
            texts: b"OpenSSL 3.0.13 30 Jan 2024\0".to_vec(),
            ..Elf::default()
        };
        assert_eq!(elf.openssl_version().as_deref(), Some("3.0.13"));
    }

    #[test]
    fn own_versions_are_short() {
        let version = |texts: &[u8]| {
            let elf = Elf {
                texts: texts.to_vec(),
                ..Elf::default()
            };
            elf.own_version()
        };
        let long = "123456789.12345.123";
        assert_eq!(version(long.as_bytes()).as_deref(), Some(long));
        assert_eq!(version(b"x\x001.2.3\x001.2.3").as_deref(), Some("1.2.3"));
        for other in [
            &b"123456789.12345.1234"[..],
            b"1.2",
            b"1.2.3.4",
            b"1.2.",
            b".1.2",
            b"1.2.3a",
            b"",
        ] {
            assert_eq!(version(other), None, "{other:?}");
        }
    }

    #[test]
    fn what_a_file_needs() {
        let elf = |needed: &[&str], texts: &[u8]| Elf {
            needed: needed.iter().map(|name| name.to_string()).collect(),
            texts: texts.to_vec(),
            ..Elf::default()
        };
        for (name, library) in [
            ("libc.so.6", Some("glibc")),
            ("libc.so", Some("musl")),
            ("libc.musl-x86_64.so.1", Some("musl")),
            ("libc.so.7", None),
            ("libm.so.6", None),
        ] {
            let file = elf(&["libz.so.1", name], b"");
            assert_eq!(file.c_library(), library, "{name}");
            assert!(!file.names_openssl());
        }
        assert!(elf(&["libcrypto.so.3"], b"").names_openssl());
        assert!(elf(&[], b"x\0nodejs_conf\0").is_nodejs());
        assert!(!elf(&[], b"x\0nodejs_conf").is_nodejs());
        let directory = |length: usize| {
            let text = format!("OPENSSLDIR: \"{}\"", "x".repeat(length));
            let found = elf(&[], text.as_bytes()).directory("OPENSSLDIR");
            found.map(|directory| directory.len())
        };
        assert_eq!((directory(4095), directory(4096)), (Some(4095), None));
        assert_eq!(directory(0), Some(0));
        let machines = [
            (Architecture::X86_64, "x86-64"),
            (Architecture::X86_64_X32, "x86-64 (x32)"),
            (Architecture::I386, "i386"),
            (Architecture::Aarch64, "aarch64"),
        ];
        for (architecture, name) in machines {
            assert_eq!(machine(architecture), name);
        }
    }

    /// This program, whose section headers end the file, cut at several places.
    #[test]
    fn truncated_files_name_both_sizes() {
        let name = format!("tenrounds-cut-{}", std::process::id());
        let copy = std::env::temp_dir().join(name);
        std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        let whole = copy.metadata().unwrap().len();
        let at = |size: u64| {
            let file = File::options().write(true).open(&copy).unwrap();
            file.set_len(size).unwrap();
            cut(File::open(&copy).unwrap())
        };
        let found = [whole, whole - 1, whole / 2, 200, 64].map(at);
        let longer = at(whole + 1);
        std::fs::remove_file(&copy).unwrap();
        let expected = [whole - 1, whole / 2, 200, 64].map(|size| Some((size, whole)));
        assert_eq!((found[0], &found[1..]), (None, &expected[..]));
        assert_eq!(longer, None, "zeros in place of the rest");
        assert_eq!(cut(File::open("/proc/self/status").unwrap()), None);
    }
}
