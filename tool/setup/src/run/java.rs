// SPDX-License-Identifier: BSD-2-Clause
//! `run --java`: the PKCS#11 module as the first provider of the JVMs that the command starts.
//!
//! A file of security properties extends the JDK's own (its comment on security.provider.N says
//! how). Properties replace those of the same name, so the file has the JDK's providers, too, each
//! a number later. Every JVM reads JAVA_TOOL_OPTIONS: java, javac, keytool and those that build
//! tools start.

use super::reach;
use crate::openssl::store;
use crate::openssl::Variable;
use crate::pkcs11::{self, java};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use terminal::error::{Error, Result};

const OPTIONS: &str = "JAVA_TOOL_OPTIONS";
/// Variables whose properties replace those of JAVA_TOOL_OPTIONS: the first is read by the command
/// `java` from 9 on, the second by every JVM of OpenJDK.
const STRONGER: [&str; 2] = ["JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];
const WRITTEN: &str = "# Written by 'tenrounds run --java'.\n";
const PROPERTIES: &str = "-Djava.security.properties=";

/// The variable that brings the module into the JVMs of a command.
pub fn prepare(command: &[OsString]) -> Result<Variable> {
    let has_own = |text: &OsStr| text.to_string_lossy().contains(PROPERTIES);
    if command.iter().any(|word| has_own(word)) {
        return Err(Error::failure(format!(
            "the command names a file of properties by {PROPERTIES} itself, so that of tenrounds would \
             not be read; leave it out, or register the module by hand (man 5 tenrounds)"
        )));
    }
    let variable = |name: &str| std::env::var_os(name).unwrap_or_default();
    let mut variables = [OPTIONS].into_iter().chain(STRONGER);
    if let Some(name) = variables.find(|name| has_own(&variable(name))) {
        return Err(Error::failure(format!(
            "{name} names a file of properties by {PROPERTIES} already; unset it, or register the \
             module by hand (man 5 tenrounds)"
        )));
    }
    let before = variable(OPTIONS);
    let module = pkcs11::find()?;
    let jdk = security_file(command.first())?;
    let text = std::fs::read(&jdk)
        .map_err(|error| Error::failure(format!("cannot read {}: {error}", jdk.display())))?;
    let text = String::from_utf8_lossy(&text);
    let config = WRITTEN.to_owned() + &java::configuration(&module)?;
    let config = store::put("sunpkcs11", ".cfg", config.as_bytes())?;
    let properties = WRITTEN.to_owned() + &java::providers(&text, &jdk, &config)?;
    let properties = store::put("java", ".security", properties.as_bytes())?;
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

/// A line about a JVM that is started without the module.
pub fn note(program: &OsStr) -> Option<String> {
    let home = home_of(program)?;
    let is_jdk = java::in_home(&home).iter().any(|file| file.is_file());
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
    let homes = [
        own,
        variable.map(PathBuf::from),
        home_of(OsStr::new("java")),
    ];
    let files = homes.iter().flatten().flat_map(|home| java::in_home(home));
    let files: Vec<PathBuf> = files.collect();
    let found = files.iter().find(|file| file.is_file()).cloned();
    found.ok_or_else(|| {
        let tried: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let tried = match tried.is_empty() {
            true => "there is no 'java' on PATH, and JAVA_HOME is not set".to_owned(),
            false => format!("looked for {}", tried.join(", ")),
        };
        Error::failure(format!(
            "cannot find the JDK's java.security: {tried}; set JAVA_HOME to the JDK of the command"
        ))
    })
}

/// The JDK whose bin folder has a program.
fn home_of(program: &OsStr) -> Option<PathBuf> {
    let file = reach::find(program)?.canonicalize().ok()?;
    let folder = file.parent()?;
    let home = folder.parent()?.to_owned();
    (folder.ends_with("bin") && (home.join("lib").is_dir() || home.join("conf").is_dir()))
        .then_some(home)
}
