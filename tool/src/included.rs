// SPDX-License-Identifier: BSD-2-Clause
//! Which line of which file libcrypto means by a line number. It counts on through the files that a
//! configuration includes (crypto/conf/conf_def.c), so the number alone points nowhere in any of them.

use std::fs;
use std::path::{Path, PathBuf};

/// Included files that include files: libcrypto sets no limit, a loop must end here all the same.
const DEPTH: usize = 16;

/// The file and its own line, for line `number` of all that reading `file` reads.
pub fn locate(file: &Path, number: usize) -> Option<(PathBuf, usize)> {
    let mut left = number;
    walk(file, &mut left, 0)
}

fn walk(file: &Path, left: &mut usize, depth: usize) -> Option<(PathBuf, usize)> {
    if depth > DEPTH {
        return None;
    }
    if file.is_dir() {
        let entries = fs::read_dir(file).ok()?.flatten().map(|entry| entry.path());
        let is_conf = |path: &PathBuf| path.extension().is_some_and(|e| e == "cnf" || e == "conf");
        return entries
            .filter(is_conf)
            .find_map(|path| walk(&path, left, depth + 1));
    }
    let text = String::from_utf8_lossy(&fs::read(file).ok()?).into_owned();
    for (index, line) in text.lines().enumerate() {
        *left -= 1;
        if *left == 0 {
            return Some((file.to_owned(), index + 1));
        }
        let found = included(line).and_then(|included| walk(&included, left, depth + 1));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The file that a line includes: ".include = file" or ".include file".
fn included(line: &str) -> Option<PathBuf> {
    let rest = line.trim_start().strip_prefix(".include")?;
    let path = Path::new(rest.trim_start_matches([' ', '\t', '=']).trim_end());
    match std::env::var_os("OPENSSL_CONF_INCLUDE") {
        Some(dir) if path.is_relative() => Some(Path::new(&dir).join(path)),
        _ => Some(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_through_included_files() {
        let dir = std::env::temp_dir().join(format!("tenrounds-included-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (outer, inner) = (dir.join("outer.cnf"), dir.join("inner.cnf"));
        fs::write(&inner, "1\n2\n3\n").unwrap();
        fs::write(&outer, format!("1\n.include = {}\n3\n", inner.display())).unwrap();
        let found: Vec<_> = (1..=7).map(|n| locate(&outer, n)).collect();
        fs::remove_dir_all(&dir).unwrap();
        let at = |file: &PathBuf, line| Some((file.clone(), line));
        let (o, i) = (&outer, &inner);
        assert_eq!(
            found,
            [
                at(o, 1),
                at(o, 2),
                at(i, 1),
                at(i, 2),
                at(i, 3),
                at(o, 3),
                None
            ]
        );
    }
}
