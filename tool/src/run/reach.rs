// SPDX-License-Identifier: BSD-2-Clause
//! Whether a command can be reached at all: whether the program is one into which the OpenSSL of the
//! system, and so the provider, is loaded. docs/reach.md says what to do where it is not.

use object::elf::{FileHeader64, DT_NEEDED, PT_INTERP};
use object::read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, ReadCache};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A line about a program that is not reached, and why; None if it may be, or cannot be told.
pub fn note(program: &OsStr) -> Option<String> {
    let file = find(program)?;
    if let Some(why) = privileged(&file) {
        return Some(format!("{} is {why}", file.display()));
    }
    let mut interpreter = file.clone();
    // A script may name a script, as deep as the kernel follows (execve(2)).
    for _ in 0..4 {
        match interpreter_of(&interpreter) {
            Some(next) => interpreter = find(&next)?,
            None => break,
        }
    }
    let why = of_elf(&interpreter)?;
    match interpreter == file {
        true => Some(format!("{} {why}", file.display())),
        false => Some(format!(
            "{} is a script, and its interpreter {} {why}",
            file.display(),
            interpreter.display()
        )),
    }
}

/// The file that execvp(3) would start.
fn find(program: &OsStr) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| path.is_file();
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(is_file);
    }
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(is_file);
    found
}

/// libcrypto takes no configuration from the environment of a program that runs with more rights than
/// its caller has (secure_getenv(3)).
fn privileged(file: &Path) -> Option<String> {
    let meta = file.metadata().ok()?;
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    let changes = |bit: u32, word: &str| {
        let other = if word == "setuid" {
            meta.uid() != user
        } else {
            meta.gid() != group
        };
        (meta.mode() & bit != 0 && other).then(|| {
            format!(
                "{word}, and libcrypto ignores the caller's configuration in it; it is not reached"
            )
        })
    };
    changes(0o4000, "setuid").or_else(|| changes(0o2000, "setgid"))
}

/// What the first line of a script names; behind `env`, the program that it looks for.
fn interpreter_of(file: &Path) -> Option<OsString> {
    let mut line = Vec::new();
    let limited = File::open(file).ok()?.take(256);
    BufReader::new(limited).read_until(b'\n', &mut line).ok()?;
    let mut words = line
        .strip_prefix(b"#!")?
        .split(|byte| byte.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let first = words.next()?;
    let word = match first.ends_with(b"/env") {
        true => words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?,
        false => first,
    };
    Some(OsString::from_vec(word.to_vec()))
}

type Elf<'a> = ElfFile<'a, FileHeader64<Endianness>, &'a ReadCache<File>>;

fn of_elf(file: &Path) -> Option<String> {
    let cache = ReadCache::new(File::open(file).ok()?);
    let elf = Elf::parse(&cache).ok()?;
    let needed = needed(&elf).unwrap_or_default();
    let own = own_cryptography(&elf);
    if !has_interpreter(&elf) {
        return Some(match own {
            Some(own) => format!("is statically linked with {own} in it; {}", inside(&own)),
            None => {
                "is statically linked: no provider can be loaded into it; it is not reached".into()
            }
        });
    }
    if let Some(old) = needed.iter().find(|name| is_old(name)) {
        return Some(format!(
            "uses {old}, an OpenSSL before 3.0, which knows no providers; it is not reached"
        ));
    }
    if needed
        .iter()
        .any(|name| name.starts_with("libcrypto.so") || name.starts_with("libssl.so"))
    {
        return None;
    }
    own.map(|own| {
        format!(
            "brings its own cryptography ({own}), not the system's libcrypto; {}",
            inside(&own)
        )
    })
}

/// What that means. An OpenSSL 3 that was not built otherwise reads the configuration and loads a provider
/// wherever it is, even in a static program, if that has the system's C library.
fn inside(own: &str) -> &'static str {
    match own.starts_with("OpenSSL") {
        true => "it is reached only if that one loads providers, which `run --count` tells",
        false => "it is not reached",
    }
}

fn is_old(name: &str) -> bool {
    let of = |library: &str| {
        name.strip_prefix(library)
            .and_then(|rest| rest.strip_prefix(".so."))
    };
    let version = of("libcrypto").or_else(|| of("libssl"));
    version.is_some_and(|version| version.starts_with("0.") || version.starts_with("1."))
}

/// Whether a dynamic linker starts it.
fn has_interpreter(elf: &Elf) -> bool {
    let endian = elf.endian();
    elf.elf_program_headers()
        .iter()
        .any(|segment| segment.p_type(endian) == PT_INTERP)
}

/// The libraries that it names itself.
fn needed(elf: &Elf) -> Option<Vec<String>> {
    let (endian, data) = (elf.endian(), elf.data());
    let sections = elf.elf_header().sections(endian, data).ok()?;
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let names = entries
        .iter()
        .filter(|entry| entry.tag32(endian) == Some(DT_NEEDED))
        .filter_map(|entry| strings.get(entry.val32(endian)?).ok());
    Some(
        names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect(),
    )
}

/// What tells a library by the symbols that it defines, if those were not stripped.
const SYMBOLS: [(&str, &str); 4] = [
    ("BORINGSSL_", "BoringSSL"),
    ("aws_lc_", "AWS-LC"),
    ("ring_core_", "ring"),
    ("EVP_EncryptInit_ex", "OpenSSL"),
];

/// A cryptographic library that is part of the file itself.
fn own_cryptography(elf: &Elf) -> Option<String> {
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
    by_symbol.or_else(|| {
        let text = elf.section_by_name(".rodata")?;
        version_text(text.data().ok()?)
    })
}

/// libcrypto's own version text, as in "OpenSSL 3.0.13 30 Jan 2024".
fn version_text(data: &[u8]) -> Option<String> {
    const NAME: &[u8] = b"OpenSSL ";
    let mut rest = data;
    while let Some(at) = rest.windows(NAME.len()).position(|window| window == NAME) {
        rest = &rest[at + NAME.len()..];
        let end = rest.iter().position(|&byte| byte == 0)?;
        let text = String::from_utf8_lossy(&rest[..end.min(40)]).into_owned();
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
    fn old_libraries() {
        for name in ["libcrypto.so.1.1", "libssl.so.1.0.0", "libcrypto.so.0.9.8"] {
            assert!(is_old(name), "{name}");
        }
        for name in ["libcrypto.so.3", "libssl.so.4", "libc.so.6", "libcrypto.so"] {
            assert!(!is_old(name), "{name}");
        }
    }
}
