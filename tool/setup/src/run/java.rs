// SPDX-License-Identifier: BSD-2-Clause
//! `run --java`: our provider as the first one of the JVMs that the command starts.
//!
//! Every JVM reads JAVA_TOOL_OPTIONS: java, javac, keytool and those that build tools start. An
//! agent (java.lang.instrument) puts the provider in before the program begins, without any
//! class path. From JDK 22 on, the JVM warns of calls into C that no option allows.

use super::reach;
use crate::java;
use crate::openssl::Variable;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use terminal::error::Result;

const OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// The variable that brings the provider into the JVMs of a command.
pub fn prepare(command: &[OsString]) -> Result<Variable> {
    let own = command.first().and_then(|program| home_of(program));
    let variable = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    let homes = [
        own,
        variable.map(PathBuf::from),
        home_of(OsStr::new("java")),
    ];
    let mut homes = homes.into_iter().flatten();
    let home = homes.find(|home| java::version(home).is_some());
    let number = home.map(|home| java::refuse_old(&home)).transpose()?;
    // Words are split at blanks, unless they are quoted.
    let agent = format!("\"-javaagent:{}\"", java::jar(|_| true)?.display());
    let mut value = std::env::var_os(OPTIONS).unwrap_or_default();
    // Not again if one run starts another.
    if !value.to_string_lossy().contains(&agent) {
        if !value.is_empty() {
            value.push(" ");
        }
        value.push(agent);
        // There, the option forbids such calls to all modules that it does not name (JEP 454).
        if !matches!(number.flatten(), Some(22 | 23)) {
            value.push(" --enable-native-access=ALL-UNNAMED");
        }
    }
    Ok((OPTIONS, value))
}

/// A line about a JVM that is started without the provider.
pub fn note(program: &OsStr) -> Option<String> {
    let is_jdk = java::security(&home_of(program)?).is_file();
    is_jdk.then(|| {
        format!(
            "{} belongs to a JDK, and Java has its own AES: '--java' lets it use tenrounds",
            program.to_string_lossy()
        )
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
