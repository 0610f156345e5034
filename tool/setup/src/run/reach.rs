// SPDX-License-Identifier: BSD-2-Clause
//! Whether a command can be reached at all: whether the program is one into which the OpenSSL of
//! the system, and so the provider, is loaded. docs/reach.md says what to do where it is not.

use crate::openssl::nodejs::Nodejs;
use base::inventory::is_old;
use libcrypto::elf::Elf;
use nix::unistd::{getgid, getuid};
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
    let interpreter = interpreted(&file)?;
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

/// Whether the configuration may name a section for Node.js, if the command is one.
pub fn nodejs(program: &OsStr) -> Nodejs {
    let file = find(program).and_then(|file| interpreted(&file));
    file.map_or_else(Nodejs::default, |file| Nodejs::of(&file))
}

/// The program file that the kernel starts: a script's interpreter, or the file itself.
fn interpreted(file: &Path) -> Option<PathBuf> {
    let mut interpreter = file.to_owned();
    for _ in 0..SCRIPTS {
        match interpreter_of(&interpreter) {
            Some(next) => interpreter = find(&next)?,
            None => break,
        }
    }
    Some(interpreter)
}

/// The file that execvp(3) would start.
pub fn find(program: &OsStr) -> Option<PathBuf> {
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

/// A script may name a script, as deep as the kernel follows (execve(2)).
const SCRIPTS: usize = 4;

/// The words of a script's first line behind "#!", as the kernel splits them; at least one.
fn shebang(file: &Path) -> Option<Vec<OsString>> {
    let mut line = Vec::new();
    let limited = File::open(file).ok()?.take(256);
    BufReader::new(limited).read_until(b'\n', &mut line).ok()?;
    let words = line.strip_prefix(b"#!")?;
    let words = words.split(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
    let words = words.filter(|word| !word.is_empty());
    let words: Vec<_> = words
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect();
    (!words.is_empty()).then_some(words)
}

/// What the first line of a script names; behind `env`, the program that it looks for.
fn interpreter_of(file: &Path) -> Option<OsString> {
    let mut words = shebang(file)?;
    if !words[0].as_bytes().ends_with(b"/env") {
        return Some(words.swap_remove(0));
    }
    let is_program =
        |word: &OsString| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'=');
    words.into_iter().skip(1).find(is_program)
}

/// libcrypto takes no configuration from the environment of a program that runs with more rights
/// than its caller has (secure_getenv(3)).
fn privileged(file: &Path) -> Option<String> {
    let meta = file.metadata().ok()?;
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let what = match meta.mode() {
        mode if mode & 0o4000 != 0 && meta.uid() != user => "setuid",
        mode if mode & 0o2000 != 0 && meta.gid() != group => "setgid",
        _ if user != 0 && has_capabilities(file) => "a program with file capabilities",
        _ => return None,
    };
    Some(format!(
        "{what}, and libcrypto ignores the caller's configuration in it; it is not reached"
    ))
}

/// Whether executing a file gives capabilities to a user without any (capabilities(7)). The
/// attribute has a word of flags, and then pairs of the permitted and the inheritable capabilities.
fn has_capabilities(file: &Path) -> bool {
    let mut value = [0u8; 64];
    let len = rustix::fs::getxattr(file, c"security.capability", &mut value[..]).unwrap_or(0);
    let word = |at: usize| {
        value[..len]
            .get(at..at + 4)
            .is_some_and(|word| word != [0; 4])
    };
    let is_effective = len > 0 && value[0] & 1 != 0;
    is_effective || word(4) || word(12)
}

fn of_elf(file: &Path) -> Option<String> {
    let elf = Elf::open(file)?;
    let version = elf.openssl_version();
    // A stripped program has no names of functions, but its OpenSSL still tells its version.
    let named = version.as_ref().map(|version| format!("OpenSSL {version}"));
    let own = elf.own.clone().or(named);
    if !elf.interpreter {
        return Some(match own {
            Some(own) => format!("is statically linked with {own} in it; {}", inside(&own)),
            None => {
                "is statically linked: no provider can be loaded into it; it is not reached".into()
            }
        });
    }
    if let Some(old) = elf.needed.iter().find(|name| is_old(name)) {
        return Some(format!(
            "uses {old}, an OpenSSL before 3.0, which knows no providers; it is not reached"
        ));
    }
    match version {
        _ if elf.names_openssl() => None,
        Some(old) if old.starts_with("1.") => Some(format!(
            "brings OpenSSL {old}, which knows no providers; it is not reached"
        )),
        // The configuration names its section, too (openssl/nodejs.rs).
        Some(_) if elf.is_nodejs() => None,
        _ => own.map(|own| {
            let inside = inside(&own);
            format!("brings its own cryptography ({own}), not the system's libcrypto; {inside}")
        }),
    }
}

/// What that means. An OpenSSL 3 that was not built otherwise reads the configuration and loads a
/// provider wherever it is, even in a static program, if that has the system's C library.
fn inside(own: &str) -> &'static str {
    match own.starts_with("OpenSSL") {
        true => "it is reached only if that one loads providers, which `run --count` tells",
        false => "it is not reached",
    }
}
