// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the AES core into the program, so that `cargo build` needs no other build system.

// A build script passes its results to cargo on standard output.
#![allow(clippy::disallowed_macros)]

use std::path::{Path, PathBuf};

const ROOT: &str = "../..";

/// The folders of the core's sources. Those of another architecture compile to nothing.
const FOLDERS: [&str; 6] = [
    "core/dispatch",
    "core/modes",
    "core/simd",
    "core/portable",
    "core/arm",
    "core/x86",
];

fn c_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    files
}

fn main() {
    let root = Path::new(ROOT);
    let mut build = cc::Build::new();
    let add = |build: &mut cc::Build, file: PathBuf| {
        println!("cargo:rerun-if-changed={}", file.display());
        build.file(file);
    };
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        println!("cargo:rerun-if-changed={}", folder.display());
        build.files(c_files(&folder));
    }
    println!("cargo:rerun-if-changed={ROOT}/core/include");
    add(&mut build, root.join("openssl/common/ia32cap.c"));
    add(&mut build, root.join("openssl/common/armcap.c"));
    add(&mut build, root.join("openssl/common/counters_file.c"));
    add(&mut build, PathBuf::from("c/shim.c"));
    add(&mut build, PathBuf::from("c/layout.c"));
    add(&mut build, PathBuf::from("c/threads.c"));
    build
        .include(root.join("core/include"))
        .include(root.join("core"))
        .include(root.join("openssl/common"))
        .std("c11")
        .flag_if_supported("-Wno-psabi")
        // The linker would drop unused functions, but not the notes of their probes (sys/sdt.h):
        // tracers refuse a file with a note that points outside of code.
        .flag_if_supported("-fno-function-sections")
        .opt_level(3)
        .compile("tenrounds_core");
}
