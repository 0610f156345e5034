// SPDX-License-Identifier: BSD-2-Clause
//! Every libcrypto that is installed, with the directories that are built into it. They are read
//! from the file; nothing is executed.

use super::is_libcrypto;
use super::processes::Process;
use crate::paths::shown;
use crate::root::Root;
use libcrypto::elf::Elf;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

#[derive(Debug, Clone, Serialize)]
pub struct Install {
    #[serde(serialize_with = "shown")]
    pub library: PathBuf,
    /// "3.0.13"; null if the file does not say.
    pub version: Option<String>,
    /// Of the processor and width it is for: "64-bit x86-64".
    pub kind: String,
    /// Where openssl.cnf lies.
    #[serde(serialize_with = "shown")]
    pub directory: Option<PathBuf>,
    /// Where its modules lie.
    #[serde(serialize_with = "shown")]
    pub modules: Option<PathBuf>,
    /// The root of the process that maps it, "/proc/PID/root", if that differs from ours.
    pub root: Option<String>,
    /// The root in which its paths are resolved.
    #[serde(skip)]
    pub view: Root,
    #[serde(skip)]
    pub c_library: Option<&'static str>,
}

impl Install {
    /// Reads a library; `known` saves reading the same file twice.
    pub fn read(
        view: &Root,
        of_process: Option<String>,
        library: PathBuf,
        known: &mut Known,
    ) -> Option<Install> {
        let file = view.open(&library).ok()?;
        let meta = file.metadata().ok()?;
        let looked = known
            .entry((meta.dev(), meta.ino()))
            .or_insert_with(|| look(file));
        Some(Install {
            library,
            root: of_process,
            view: view.clone(),
            ..looked.clone()?
        })
    }

    pub fn major(&self) -> u32 {
        self.part(0)
    }

    pub fn minor(&self) -> u32 {
        self.part(1)
    }

    /// The openssl.cnf that this OpenSSL reads.
    pub fn configuration(&self) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join("openssl.cnf"))
    }

    /// Identifies the library file and its configuration file. Two installations with equal
    /// identities are the same one, seen through different roots.
    fn identity(&self) -> [Option<(u64, u64)>; 2] {
        let configuration = self.configuration();
        [
            self.view.identity(&self.library),
            configuration.and_then(|file| self.view.identity(file)),
        ]
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
        let library = self.library.display();
        match &self.root {
            Some(root) => format!("OpenSSL {version} ({library} in {root})"),
            None => format!("OpenSSL {version} ({library})"),
        }
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

/// Finds every OpenSSL: in the usual directories, and mapped by processes, in their own roots.
/// Lists each pair of library and configuration once.
pub fn find(root: &Root, processes: &[Process]) -> Vec<Install> {
    let mut known = Known::new();
    let mut seen = HashSet::new();
    let in_places = PLACES.iter().flat_map(|place| root.directories(place));
    let found = in_places.flat_map(|dir| {
        // The longest name first: that of the version, not that for the linker.
        let names = root.names(&dir).into_iter().rev();
        let libraries = names.filter(|name| is_libcrypto(name));
        libraries.map(|name| dir.join(name)).collect::<Vec<_>>()
    });
    let found = found.map(|library| (root, None, library));
    let mapped = processes.iter().flat_map(|process| {
        let there = process.libcrypto.iter().filter(|library| !library.deleted);
        let paths: BTreeSet<&String> = there.map(|library| &library.path).collect();
        let of_process = move |path: &String| (&process.view, process.root.clone(), path.into());
        paths.into_iter().map(of_process)
    });
    let mut installs = Vec::new();
    for (view, of_process, library) in found.chain(mapped) {
        let install = Install::read(view, of_process, library, &mut known);
        installs.extend(install.filter(|install| seen.insert(install.identity())));
    }
    installs
}

/// The result for each library that was read, by device and inode.
pub type Known = HashMap<(u64, u64), Option<Install>>;

/// Reads what the library file says about itself.
fn look(file: File) -> Option<Install> {
    let elf = Elf::read(file)?;
    Some(Install {
        library: PathBuf::new(),
        version: elf.openssl_version(),
        kind: elf.kind.clone(),
        directory: elf.directory("OPENSSLDIR").map(PathBuf::from),
        modules: elf.directory("MODULESDIR").map(PathBuf::from),
        root: None,
        view: Root::machine(),
        c_library: elf.c_library(),
    })
}
