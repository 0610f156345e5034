// SPDX-License-Identifier: BSD-2-Clause
//! Who names a PKCS#11 module of tenrounds: p11-kit's module files, and the java.security of JDKs.

use base::paths::shown;
use base::root::Root;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A file that names the module.
#[derive(Debug, Clone, Serialize)]
pub struct Registered {
    /// "p11-kit" or "java".
    pub by: &'static str,
    #[serde(serialize_with = "shown")]
    pub file: PathBuf,
    /// What it names.
    #[serde(serialize_with = "shown")]
    pub module: PathBuf,
    /// Whether that exists.
    pub exists: bool,
}

const NAME: &str = "tenrounds-pkcs11.so";
/// Of users, below ~/.config; p11-kit ignores those of root.
const OF_USERS: &str = "pkcs11/modules";
const P11_KIT: [&str; 3] = [
    "/usr/share/p11-kit/modules",
    "/usr/local/share/p11-kit/modules",
    "/etc/pkcs11/modules",
];
const JDKS: &str = "/usr/lib/jvm";

pub fn find(root: &Root) -> Vec<Registered> {
    let mut folders = P11_KIT.map(PathBuf::from).to_vec();
    let homes = root.names("/home").into_iter();
    folders.extend(homes.map(|name| Path::new("/home").join(name).join(".config").join(OF_USERS)));
    let own = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    folders.extend(own.map(|config| config.join(OF_USERS)));
    let folders = once(root, folders);
    let mut found: Vec<Registered> = folders
        .iter()
        .flat_map(|folder| of_p11_kit(root, folder))
        .collect();
    found.extend(jdks(root).iter().filter_map(|file| of_java(root, file)));
    found
}

/// The absolute path that a variable has. With `--root`, it is one below that.
fn absolute(variable: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os(variable)?);
    path.is_absolute().then_some(path)
}

/// The paths that exist, each file or folder once: several names may lead to one.
fn once(root: &Root, paths: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    let is_new = |path: &PathBuf| match root.identity(path) {
        Some(identity) if !seen.contains(&identity) => {
            seen.push(identity);
            true
        }
        _ => false,
    };
    paths.into_iter().filter(is_new).collect()
}

/// The value of `key: value` or `key = value`, without quotes.
pub fn value_of(text: &str, key: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once([':', '=']));
    let mut values = lines.filter(|(name, _)| name.trim() == key);
    values
        .next()
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
}

/// Module files (pkcs11.conf(5)). A module without a folder lies in p11-kit's own, of which each
/// distribution has another.
fn of_p11_kit(root: &Root, dir: &Path) -> Vec<Registered> {
    let names = root.names(dir).into_iter();
    let files = names
        .filter(|name| name.ends_with(".module"))
        .map(|name| dir.join(name));
    let registered = |file: PathBuf| {
        let module = value_of(&root.text(&file).ok()?, "module").filter(|m| m.ends_with(NAME))?;
        let module = PathBuf::from(module);
        let places = match module.is_absolute() {
            true => vec![module.clone()],
            false => super::folders()
                .iter()
                .map(|folder| folder.join(&module))
                .collect(),
        };
        Some(Registered {
            by: "p11-kit",
            file,
            exists: places.iter().any(|place| root.exists(place)),
            module,
        })
    };
    files.filter_map(registered).collect()
}

/// The java.security files of the JDKs of a distribution, of JAVA_HOME and of `java` on PATH.
fn jdks(root: &Root) -> Vec<PathBuf> {
    let names = root.names(JDKS).into_iter();
    let mut homes: Vec<PathBuf> = names.map(|name| Path::new(JDKS).join(name)).collect();
    homes.extend(absolute("JAVA_HOME"));
    if root.is_machine() {
        homes.extend(of_path());
    }
    once(
        root,
        homes.iter().flat_map(|home| super::java::in_home(home)),
    )
}

/// The JDK of the `java` on PATH.
fn of_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&path).map(|folder| folder.join("java"));
    let java = files.find(|file| file.is_file())?.canonicalize().ok()?;
    java.parent()?.parent().map(Path::to_owned)
}

/// A provider of SunPKCS11 whose configuration names the module.
fn of_java(root: &Root, file: &Path) -> Option<Registered> {
    let text = root.text(file).ok()?;
    let providers = text
        .lines()
        .filter(|line| line.starts_with("security.provider."));
    let mut modules = providers.filter_map(|line| {
        let (_, value) = line.split_once('=')?;
        let (provider, config) = value.trim().split_once(' ')?;
        let config = root
            .text(config.trim())
            .ok()
            .filter(|_| provider.ends_with("SunPKCS11"))?;
        let module = value_of(&config, "library").filter(|module| module.ends_with(NAME))?;
        Some(PathBuf::from(module))
    });
    let module = modules.next()?;
    Some(Registered {
        by: "java",
        file: file.to_owned(),
        exists: root.exists(&module),
        module,
    })
}
