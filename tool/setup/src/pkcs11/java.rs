// SPDX-License-Identifier: BSD-2-Clause
//! The PKCS#11 module as the first provider of a JDK: what `run --java` and `enable --java-home`
//! write.

use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The configuration of SunPKCS11 ("Java PKCS#11 Reference Guide"). Java's own random numbers are
/// faster than any call through PKCS#11.
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
         disabledMechanisms = {{\n  SecureRandom\n}}\n"
    ))
}

/// Lines that put the module before the providers of a JDK.
pub fn providers(text: &str, jdk: &Path, config: &Path) -> Result<String> {
    let wrong = |what: &str| {
        Err(Error::failure(format!(
            "{}: {what}, so tenrounds cannot add a provider; register the module by hand \
             (man 5 tenrounds)",
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

/// Where a JDK may have its java.security.
pub fn in_home(home: &Path) -> [PathBuf; 3] {
    let folders = ["conf/security", "lib/security", "jre/lib/security"];
    folders.map(|folder| home.join(folder).join("java.security"))
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
