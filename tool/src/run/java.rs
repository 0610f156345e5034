// SPDX-License-Identifier: BSD-2-Clause
//! `run --java`: the PKCS#11 module as the first provider of the JVMs that the command starts.
//!
//! A file of security properties extends the JDK's own (its comment on security.provider.N says how).
//! Properties replace those of the same name, so the file has the JDK's providers, too, each a number
//! later. Every JVM reads JAVA_TOOL_OPTIONS: java, javac, keytool and those that build tools start.

use super::reach;
use crate::error::{Error, Result};
use crate::openssl::store::{self, Lifetime};
use crate::openssl::Variable;
use crate::pkcs11;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const OPTIONS: &str = "JAVA_TOOL_OPTIONS";
/// Variables whose properties replace those of JAVA_TOOL_OPTIONS: the first is read by the command
/// `java` from 9 on, the second by every JVM of OpenJDK.
const STRONGER: [&str; 2] = ["JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];
const WRITTEN: &str = "# Written by 'tenrounds run --java'.\n";
const PROPERTIES: &str = "-Djava.security.properties=";

/// Java's own code does these faster than any call through PKCS#11.
const LEFT_TO_JAVA: [&str; 9] = [
    "SecureRandom",
    "CKM_SHA_1",
    "CKM_SHA256",
    "CKM_SHA384",
    "CKM_SHA512",
    "CKM_SHA_1_HMAC",
    "CKM_SHA256_HMAC",
    "CKM_SHA384_HMAC",
    "CKM_SHA512_HMAC",
];

/// The variable that brings the module into the JVMs of a command.
pub fn prepare(command: &[OsString], lifetime: Lifetime) -> Result<Variable> {
    let has_own = |text: &OsStr| text.to_string_lossy().contains(PROPERTIES);
    if command.iter().any(|word| has_own(word)) {
        return Err(Error::failure(format!(
            "the command names a file of properties by {PROPERTIES} itself, so that of tenrounds would \
             not be read; leave it out, or register the module by hand (docs/java.md)"
        )));
    }
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let mut variables = [OPTIONS].into_iter().chain(STRONGER);
    if let Some(name) = variables.find(|name| has_own(&variable(name))) {
        return Err(Error::failure(format!(
            "{name} names a file of properties by {PROPERTIES} already; unset it, or register the \
             module by hand (docs/java.md)"
        )));
    }
    let before = variable(OPTIONS);
    let module = pkcs11::find()?;
    let jdk = security_file(command.first())?;
    let text = std::fs::read(&jdk)
        .map_err(|error| Error::failure(format!("cannot read {}: {error}", jdk.display())))?;
    let text = String::from_utf8_lossy(&text);
    let config = WRITTEN.to_owned() + &configuration(&module)?;
    let config = store::put(lifetime, "sunpkcs11", ".cfg", config.as_bytes())?;
    let properties = WRITTEN.to_owned() + &providers(&text, &jdk, &config)?;
    let properties = store::put(lifetime, "java", ".security", properties.as_bytes())?;
    let mut value = before;
    if !value.is_empty() {
        value.push(" ");
    }
    // Words are split at blanks, unless they are quoted.
    value.push("\"");
    value.push(PROPERTIES);
    value.push(&properties);
    value.push("\"");
    Ok((OPTIONS, value))
}

/// The configuration of SunPKCS11 ("Java PKCS#11 Reference Guide").
pub fn configuration(module: &Path) -> Result<String> {
    let path = module
        .to_str()
        .filter(|path| !path.contains(['"', '\\', '\n', '$']));
    let path = path.ok_or_else(|| {
        Error::failure(format!(
            "{}: Java cannot read this path; install the module elsewhere",
            module.display()
        ))
    })?;
    Ok(format!(
        "name = tenrounds\nlibrary = \"{path}\"\nslot = 0\n\
         disabledMechanisms = {{\n  {}\n}}\n",
        LEFT_TO_JAVA.join("\n  ")
    ))
}

/// Lines that put the module before the providers of a JDK.
pub fn providers(text: &str, jdk: &Path, config: &Path) -> Result<String> {
    let wrong = |what: &str| {
        Err(Error::failure(format!(
            "{}: {what}, so tenrounds cannot add a provider; register the module by hand \
             (docs/java.md)",
            jdk.display()
        )))
    };
    if value_of(text, "security.overridePropertiesFile").is_some_and(|value| value == "false") {
        return wrong("security.overridePropertiesFile is false");
    }
    let numbered = |n: usize| value_of(text, &format!("security.provider.{n}"));
    let providers: Vec<String> = (1..).map_while(numbered).collect();
    let Some(first) = providers.first() else {
        return wrong("it has no security.provider.1");
    };
    // Java 8 names providers by their classes.
    let ours = match first.starts_with("sun.security.") {
        true => "sun.security.pkcs11.SunPKCS11",
        false => "SunPKCS11",
    };
    let ours = format!("{ours} {}", escaped(config));
    let mut out = String::new();
    for (index, provider) in std::iter::once(&ours).chain(&providers).enumerate() {
        out += &format!("security.provider.{}={provider}\n", index + 1);
    }
    Ok(out)
}

/// The last value of a property.
fn value_of(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(['=', ':']));
    let mut named = lines.rev().filter(|(key, _)| key.trim() == name);
    named.next().map(|(_, value)| value.trim().to_owned())
}

/// A path as a file of properties has it (java.util.Properties, load).
fn escaped(path: &Path) -> String {
    let mut out = String::new();
    for unit in path.to_string_lossy().encode_utf16() {
        match u8::try_from(unit) {
            Ok(b'\\') => out += "\\\\",
            Ok(byte @ 0x20..=0x7e) => out.push(byte.into()),
            _ => out += &format!("\\u{unit:04x}"),
        }
    }
    out
}

/// A line about a JVM that is started without the module.
pub fn note(program: &OsStr) -> Option<String> {
    let home = home_of(program)?;
    let is_jdk = pkcs11::in_home(&home).iter().any(|file| file.is_file());
    is_jdk.then(|| {
        format!(
            "{} belongs to a JDK, and Java has its own AES: '--java' lets it use tenrounds",
            program.to_string_lossy()
        )
    })
}

/// The java.security of the JDK that the command belongs to, else of JAVA_HOME, else of `java`.
fn security_file(program: Option<&OsString>) -> Result<PathBuf> {
    let own = program.and_then(|program| home_of(program));
    let variable = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let homes = own
        .into_iter()
        .chain(variable.map(PathBuf::from))
        .chain(home_of(OsStr::new("java")));
    let mut tried = Vec::new();
    for file in homes.flat_map(|home| pkcs11::in_home(&home)) {
        if file.is_file() {
            return Ok(file);
        }
        tried.push(file.display().to_string());
    }
    let tried = match tried.is_empty() {
        true => "there is no 'java' on PATH, and JAVA_HOME is not set".to_owned(),
        false => format!("looked for {}", tried.join(", ")),
    };
    Err(Error::failure(format!(
        "cannot find the JDK's java.security: {tried}; set JAVA_HOME to the JDK of the command"
    )))
}

/// The JDK whose bin folder has a program.
fn home_of(program: &OsStr) -> Option<PathBuf> {
    let file = reach::find(program)?.canonicalize().ok()?;
    let folder = file.parent()?;
    let home = folder.parent()?.to_owned();
    (folder.ends_with("bin") && (home.join("lib").is_dir() || home.join("conf").is_dir()))
        .then_some(home)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JDK_17: &str = "# comment\nsecurity.provider.tbd=X\nsecurity.provider.1=SUN\n\
                          security.provider.2 = SunEC\nsecurity.provider.4=Gap\n";

    fn made(text: &str) -> Result<String> {
        providers(
            text,
            Path::new("/jdk/java.security"),
            Path::new("/c d/\u{e4}.cfg"),
        )
    }

    #[test]
    fn the_module_comes_first() {
        let lines: Vec<String> = made(JDK_17).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "security.provider.1=SunPKCS11 /c d/\\u00e4.cfg",
                "security.provider.2=SUN",
                "security.provider.3=SunEC",
            ]
        );
        let java_8 = made("security.provider.1=sun.security.provider.Sun\n").unwrap();
        assert!(java_8.contains("security.provider.1=sun.security.pkcs11.SunPKCS11 /c d/"));
    }

    #[test]
    fn what_cannot_be_extended_is_refused() {
        for (text, why) in [
            ("", "no security.provider.1"),
            (
                "security.provider.1=SUN\nsecurity.overridePropertiesFile=false",
                "is false",
            ),
        ] {
            let error = made(text).unwrap_err().to_string();
            assert!(
                error.contains(why) && error.contains("/jdk/java.security"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_path_that_java_cannot_read_is_refused() {
        assert!(configuration(Path::new("/a b/c.so"))
            .unwrap()
            .contains("\"/a b/c.so\""));
        assert!(configuration(Path::new("/a$b")).is_err());
    }
}
