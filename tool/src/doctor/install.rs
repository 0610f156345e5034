// SPDX-License-Identifier: BSD-2-Clause
//! Every libcrypto that is installed, with the directories that are built into it. They are read from the
//! file; nothing is executed.

use crate::elf::Elf;
use crate::root::Root;
use serde::Serialize;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Serialize)]
pub struct Install {
    pub library: PathBuf,
    /// "3.0.13"; null if the file does not say.
    pub version: Option<String>,
    /// Of the processor and width it is for: "64-bit x86-64".
    pub kind: String,
    /// Where openssl.cnf lies.
    pub directory: Option<PathBuf>,
    /// Where its modules lie.
    pub modules: Option<PathBuf>,
    #[serde(skip)]
    pub c_library: Option<&'static str>,
}

impl Install {
    pub fn major(&self) -> u32 {
        self.part(0)
    }

    pub fn minor(&self) -> u32 {
        self.part(1)
    }

    fn part(&self, index: usize) -> u32 {
        let version = self.version.as_deref().unwrap_or("");
        version
            .split('.')
            .nth(index)
            .and_then(|p| p.parse().ok())
            .unwrap_or(0)
    }

    pub fn name(&self) -> String {
        let version = self.version.as_deref().unwrap_or("of unknown version");
        format!("OpenSSL {version} ({})", self.library.display())
    }
}

/// Where libraries are installed; '*' stands for any one name.
const PLACES: [&str; 11] = [
    "/usr/lib",
    "/usr/lib64",
    "/usr/lib32",
    "/usr/lib/*",
    "/lib",
    "/lib64",
    "/lib/*",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/opt/*/lib",
    "/opt/*/lib64",
];

/// All of them, each file once. `also` names files that are known from elsewhere.
pub fn find(root: &Root, also: &[PathBuf]) -> Vec<Install> {
    let mut seen = BTreeSet::new();
    let in_places = PLACES.iter().flat_map(|place| directories(root, place));
    let found = in_places.flat_map(|dir| {
        // The longest name first: that of the version, not that for the linker.
        let names = root.names(&dir).into_iter().rev();
        let libraries = names.filter(|name| is_libcrypto(name));
        libraries.map(|name| dir.join(name)).collect::<Vec<_>>()
    });
    found
        .chain(also.iter().cloned())
        .filter_map(|library| read(root, &library, &mut seen))
        .collect()
}

/// "libcrypto.so", "libcrypto.so.3", "libcrypto-1a2b3c.so.1.1" as in wheels.
pub fn is_libcrypto(name: &str) -> bool {
    let rest = name.strip_prefix("libcrypto");
    rest.is_some_and(|rest| rest.starts_with(['.', '-']) && rest.contains(".so"))
}

fn directories(root: &Root, place: &str) -> Vec<PathBuf> {
    match place.split_once("/*") {
        None => vec![PathBuf::from(place)],
        Some((before, after)) => {
            let names = root.names(before).into_iter();
            names
                .map(|name| PathBuf::from(format!("{before}/{name}{after}")))
                .filter(|dir| root.path(dir).is_dir())
                .collect()
        }
    }
}

fn read(root: &Root, library: &Path, seen: &mut BTreeSet<(u64, u64)>) -> Option<Install> {
    let file = root.open(library).ok()?;
    let meta = file.metadata().ok()?;
    if !seen.insert((meta.dev(), meta.ino())) {
        return None;
    }
    let elf = Elf::read(file)?;
    Some(Install {
        library: library.to_owned(),
        version: elf.openssl_version(),
        kind: elf.kind(),
        directory: elf.directory("OPENSSLDIR").map(PathBuf::from),
        modules: elf.directory("MODULESDIR").map(PathBuf::from),
        c_library: elf.c_library(),
    })
}
