// SPDX-License-Identifier: BSD-2-Clause
//! JDKs, and the jar with our provider, which `run --java` and `enable --java-home` give them.

use crate::home::at;
use crate::installed::{Part, MULTIARCH};
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

pub const JAR: Part = Part {
    name: "the Java provider",
    source: "the package libtenrounds-java (RPM: tenrounds-java)",
    variable: "TENROUNDS_JAR",
    file: "tenrounds.jar",
    folder: "share/java",
    usual: &["/usr/share/java", "/usr/local/share/java"],
};

/// The first JDK that reads the classes of the jar.
const OLDEST: u32 = 17;

/// The jar's absolute path, which a JVM can read in a list of options and in a file of properties.
/// It has only characters that `is_fine` knows.
pub fn jar(is_fine: fn(&char) -> bool) -> Result<PathBuf> {
    let jar = JAR.find()?;
    let can = |it: char| is_fine(&it) && !['"', '\\', '\n', '$', '='].contains(&it);
    match jar.to_str().is_some_and(|path| path.chars().all(can)) {
        true => Ok(jar),
        false => Err(at(
            &jar,
            "Java cannot read this path; install the jar elsewhere",
        )),
    }
}

/// The library that adds the jar to the class path of a JVM (bindings/java/src/loader), below the
/// jar's prefix.
pub fn loader(jar: &Path) -> Result<PathBuf> {
    let folders = ["lib", &format!("lib/{MULTIARCH}"), "lib64"];
    let prefix = jar.ancestors().nth(3).unwrap_or(jar);
    let all = folders.map(|it| prefix.join(it).join("jni/tenrounds-loader.so"));
    all.iter().find(|it| it.is_file()).cloned().ok_or_else(|| {
        let list = all.map(|it| it.display().to_string()).join(", ");
        Error::failure(format!(
            "the library of {} is missing: looked for {list}",
            jar.display()
        ))
    })
}

/// The version in the file `release` of a JDK: 17.0.15, or 1.8.0_452.
pub fn version(home: &Path) -> Option<String> {
    let text = std::fs::read_to_string(home.join("release")).ok()?;
    let version = value_of(&text, "JAVA_VERSION")?;
    Some(version.trim_matches('"').to_owned())
}

/// Refuses a JDK that says that it cannot read the jar. Returns its number, if it tells it.
pub fn refuse_old(home: &Path) -> Result<Option<u32>> {
    let version = version(home).unwrap_or_default();
    let major = version.strip_prefix("1.").unwrap_or(&version);
    let major = major.split(['.', '-', '+']).next();
    let major = major.and_then(|it| it.parse().ok());
    match major {
        Some(major) if major < OLDEST => Err(Error::failure(format!(
            "{} is JDK {version}, and the Java provider needs {OLDEST} or later",
            home.display()
        ))),
        _ => Ok(major),
    }
}

/// Lines of java.security that put the provider before those of a JDK. SunPKCS11 loads the library
/// that `config` names, which makes the class of the second line known, and fails; so it drops out.
pub fn providers(text: &str, jdk: &Path, config: &Path) -> Result<String> {
    let numbered = |n: usize| value_of(text, &format!("security.provider.{n}"));
    let theirs: Vec<String> = (1..).map_while(numbered).collect();
    if theirs.is_empty() {
        let why = "it has no security.provider.1, so tenrounds cannot add a provider";
        return Err(at(jdk, why));
    }
    let loader = format!("SunPKCS11 {}", escaped(config));
    let ours = [loader, "org.tenrounds.TenroundsProvider".to_owned()];
    let all = ours.iter().chain(&theirs).zip(1..);
    Ok(all
        .map(|(provider, n)| format!("security.provider.{n}={provider}\n"))
        .collect())
}

/// The last value of a property.
pub fn value_of(text: &str, name: &str) -> Option<String> {
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

/// The java.security of a JDK.
pub fn security(home: &Path) -> PathBuf {
    home.join("conf/security/java.security")
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
    fn the_provider_comes_first() {
        let lines: Vec<String> = made(JDK_17).unwrap().lines().map(str::to_owned).collect();
        assert_eq!(
            lines,
            [
                "security.provider.1=SunPKCS11 /c d/\\u00e4.cfg",
                "security.provider.2=org.tenrounds.TenroundsProvider",
                "security.provider.3=SUN",
                "security.provider.4=SunEC",
            ]
        );
    }

    #[test]
    fn what_cannot_be_extended_is_refused() {
        let error = made("").unwrap_err().to_string();
        assert!(error.contains("/jdk/java.security: it has no"), "{error}");
    }
}
