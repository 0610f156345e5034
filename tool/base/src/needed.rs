// SPDX-License-Identifier: BSD-2-Clause
//! The libraries that the dynamic linker loads with a program: those that the file names
//! (DT_NEEDED), and those that these name. They are searched for as ld.so(8) does, without its
//! variables, and nothing is executed.

use crate::root::Root;
use libcrypto::elf::Elf;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// A library, by the name that a file has for it.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub name: String,
    pub path: PathBuf,
}

#[derive(Debug, Default)]
pub struct Libraries {
    pub found: Vec<Loaded>,
    /// The names of those that are not installed.
    pub missing: Vec<String>,
}

/// Programs with more libraries exist, but not many.
const MOST: usize = 1000;

/// The libraries that a file loads, nearest first.
pub fn of(file: &Path) -> Libraries {
    let mut libraries = Libraries::default();
    let Some(elf) = Elf::open(file) else {
        return libraries;
    };
    let configured = configured(&Root::machine(), Path::new("/etc/ld.so.conf"), 0);
    let mut seen: HashSet<String> = HashSet::new();
    let mut waiting = vec![(file.to_owned(), elf, Vec::new())];
    let mut next = 0;
    while let Some((user, elf, of_users)) = waiting.get(next) {
        let kind = elf.kind.clone();
        let folders = |dirs: &[String]| dirs.iter().map(|dir| below(dir, user)).collect();
        // DT_RPATH also holds for the libraries of libraries, and DT_RUNPATH does not.
        let mut inherited: Vec<PathBuf> = folders(&elf.rpath);
        inherited.extend_from_slice(of_users);
        let own = match elf.runpath.is_empty() {
            true => inherited.clone(),
            false => folders(&elf.runpath),
        };
        for name in elf.needed.clone() {
            if waiting.len() > MOST || !seen.insert(name.clone()) {
                continue;
            }
            let dirs = own.iter().chain(&configured).map(PathBuf::as_path);
            match find(&name, dirs.chain(STANDARD.map(Path::new)), &kind) {
                Some((path, elf)) => {
                    waiting.push((path.clone(), elf, inherited.clone()));
                    libraries.found.push(Loaded { name, path });
                }
                None => libraries.missing.push(name),
            }
        }
        next += 1;
    }
    libraries
}

/// Where libraries are if nothing else says so, with glibc and with musl.
const STANDARD: [&str; 5] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"];

/// The first library of this name for this processor.
fn find<'d>(
    name: &str,
    dirs: impl Iterator<Item = &'d Path>,
    kind: &str,
) -> Option<(PathBuf, Elf)> {
    // A name with a slash is a path.
    let places: Vec<PathBuf> = match name.contains('/') {
        true => vec![PathBuf::from(name)],
        false => dirs.map(|dir| dir.join(name)).collect(),
    };
    places.into_iter().find_map(|path| {
        let path = path.canonicalize().ok().filter(|path| path.is_file())?;
        let elf = Elf::open(&path).filter(|elf| elf.kind == kind)?;
        Some((path, elf))
    })
}

/// A folder of DT_RUNPATH or DT_RPATH, where $ORIGIN stands for that of the file.
fn below(dir: &str, file: &Path) -> PathBuf {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let origin = file.parent().unwrap_or(Path::new("/"));
    let origin = origin.to_string_lossy();
    PathBuf::from(
        dir.replace("${ORIGIN}", &origin)
            .replace("$ORIGIN", &origin),
    )
}

/// The folders of /etc/ld.so.conf and of the files that it includes.
fn configured(root: &Root, file: &Path, depth: usize) -> Vec<PathBuf> {
    const DEEPEST: usize = 4;
    let text = root.text(file).unwrap_or_default();
    let mut dirs = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        match line.strip_prefix("include ") {
            _ if line.is_empty() || depth > DEEPEST => {}
            Some(pattern) => {
                let folder = file.parent().unwrap_or(Path::new("/"));
                let files = matching(root, &folder.join(pattern.trim()));
                dirs.extend(
                    files
                        .iter()
                        .flat_map(|file| configured(root, file, depth + 1)),
                );
            }
            None => dirs.push(PathBuf::from(line)),
        }
    }
    dirs
}

/// The files that a pattern with one asterisk in its last part means.
fn matching(root: &Root, pattern: &Path) -> Vec<PathBuf> {
    let dir = pattern.parent().unwrap_or(Path::new("/"));
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let Some((before, after)) = name.split_once('*') else {
        return vec![pattern.to_owned()];
    };
    let names = root.names(dir).into_iter();
    let fits = |name: &String| {
        name.len() >= before.len() + after.len()
            && name.starts_with(before)
            && name.ends_with(after)
    };
    names.filter(fits).map(|name| dir.join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relative name is one beside the file that includes it, as in Fedora's /etc/ld.so.conf.
    #[test]
    fn included_files() {
        let top = std::env::temp_dir().join(format!("tenrounds-needed-{}", std::process::id()));
        let folder = top.join("etc/ld.so.conf.d");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |path: &str, text: &str| std::fs::write(top.join(path), text).unwrap();
        write("etc/ld.so.conf", "include ld.so.conf.d/*.conf\n/last\n");
        write("etc/ld.so.conf.d/a.conf", "/first\ninclude /etc/more\n");
        write("etc/ld.so.conf.d/b.other", "/not\n");
        write("etc/more", "/second\n");
        let dirs = configured(&Root::new(&top), Path::new("/etc/ld.so.conf"), 0);
        std::fs::remove_dir_all(&top).unwrap();
        assert_eq!(dirs, ["/first", "/second", "/last"].map(PathBuf::from));
    }
}
