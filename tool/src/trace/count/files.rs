// SPDX-License-Identifier: BSD-2-Clause
//! The files in which functions are counted.

use super::functions::{may_be_in, FUNCTIONS};
use classify::Program;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A function in a file: its index in `FUNCTIONS`, and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub function: usize,
    pub offset: u64,
}

/// Files, each once, whatever its names are.
#[derive(Default)]
pub struct Files(HashSet<(u64, u64)>);

impl Files {
    /// Whether the file was not seen before.
    pub fn is_new(&mut self, file: &Path) -> bool {
        fs::metadata(file).is_ok_and(|meta| self.0.insert((meta.dev(), meta.ino())))
    }
}

/// A larger file is not read.
const LARGEST: u64 = 320 << 20;

/// The counted functions of a file, and those at whose beginning no probe may be.
pub fn entries(file: &Path) -> (Vec<Entry>, Vec<&'static str>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let small = fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= LARGEST);
    let Some(bytes) = small.then(|| fs::read(file).ok()).flatten() else {
        return (good, bad);
    };
    let Ok(program) = Program::read(&bytes) else {
        return (good, bad);
    };
    for (name, offset) in program.entries() {
        let Some(function) = FUNCTIONS.iter().position(|function| function.name == name) else {
            continue;
        };
        let at = usize::try_from(offset).unwrap_or(usize::MAX);
        match bytes.get(at..).is_some_and(may_be_probed) {
            true => good.push(Entry { function, offset }),
            false => bad.push(FUNCTIONS[function].name),
        }
    }
    (good, bad)
}

/// Linux 6.18 replaces a NOP of five bytes under a uprobe by a call, which overwrites what the
/// program keeps below its stack pointer.
fn may_be_probed(code: &[u8]) -> bool {
    const NOP: [u8; 5] = [0x0f, 0x1f, 0x44, 0x00, 0x00];
    !code.starts_with(&NOP)
}

/// The folders of the system's libraries.
const FOLDERS: [&str; 8] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib64",
    "/usr/local/lib",
];

/// Files with such names in the folders of the system's libraries, and in those of
/// LD_LIBRARY_PATH.
pub fn installed() -> Vec<PathBuf> {
    let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = FOLDERS.iter().map(PathBuf::from);
    let folders = folders.chain(std::env::split_paths(&own));
    let mut found: Vec<PathBuf> = folders
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_library(path))
        .collect();
    found.sort();
    found
}

/// Whether a file is a library that may have counted functions, by its name.
pub fn is_library(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| may_be_in(name) && name.contains(".so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_probe_on_a_long_nop() {
        assert!(!may_be_probed(&[0x0f, 0x1f, 0x44, 0, 0, 0xc3]));
        assert!(may_be_probed(&[
            0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0
        ]));
        assert!(may_be_probed(&[0x55]));
    }

    #[test]
    fn names_of_libraries() {
        for name in ["libcrypto.so.3", "libcrypto-1c2d.so.1.1", "libgcrypt.so.20"] {
            assert!(is_library(Path::new("/opt").join(name).as_path()), "{name}");
        }
        for name in ["libcrypto.a", "libcrypt.so.1", "libc.so.6"] {
            assert!(!is_library(Path::new(name)), "{name}");
        }
    }
}
