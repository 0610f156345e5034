// SPDX-License-Identifier: BSD-2-Clause
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::disallowed_macros)]
//! Two source files of one name are told apart by their object files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const FIRST: &str = "
int enter(int);
static __attribute__((noinline)) int first(int n) { return n + 1; }
int main(int argc, char **argv) { (void)argv; return first(argc) + enter(argc) > 100; }
";
const SECOND: &str = "
int enter(int);
static __attribute__((noinline)) int second(int n) { return n * n + 7; }
int enter(int n) { return second(n) + 1; }
";

fn cc(folder: &Path, arguments: &[&str]) {
    let status = Command::new("cc")
        .current_dir(folder)
        .args(["-O1", "-Wall"])
        .args(arguments)
        .status()
        .expect("cc");
    assert!(status.success());
}

#[test]
fn sources_of_one_name() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("coverage");
    for (name, text) in [("a", FIRST), ("b", SECOND)] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
        fs::write(folder.join(name).join("same.c"), text).expect("a source");
    }
    cc(&folder, &["-c", "a/same.c", "-o", "a.o"]);
    cc(&folder, &["-c", "b/same.c", "-o", "b.o"]);
    cc(&folder, &["a.o", "b.o", "-o", "program"]);
    let output = Command::new(env!("CARGO_BIN_EXE_taint"))
        .current_dir(&folder)
        .args(["--coverage", "a/same.c=a.o", "--coverage", "b/same.c=b.o"])
        .arg("./program")
        .output()
        .expect("taint");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // The program marks no secret, so no block is followed.
    let mut functions = Vec::new();
    let mut label = "";
    for line in text.lines() {
        if let Some(place) = line.strip_prefix("    not followed: ") {
            if let Some(name) = place.strip_suffix("+0x0") {
                functions.push((label, name));
            }
        } else if line.ends_with(" basic blocks") {
            label = line.split([' ', ':']).nth(2).unwrap_or_default();
        }
    }
    functions.sort_unstable();
    assert_eq!(
        functions,
        [
            ("a/same.c", "first"),
            ("a/same.c", "main"),
            ("b/same.c", "enter"),
            ("b/same.c", "second")
        ],
        "{text}"
    );
}
