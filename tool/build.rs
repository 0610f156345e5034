// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the AES core and the limit probe into this program, so that `cargo build` stands alone.

use std::path::{Path, PathBuf};

/// Where C sources lie, relative to this directory.
const SOURCE_DIRS: [&str; 5] = [
    "../core",
    "../core/modes",
    "../core/portable",
    "../core/arm",
    "../core/x86",
];

fn c_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    files
}

#[allow(clippy::disallowed_macros)] // a build script passes its results to cargo on standard output
fn main() {
    let mut build = cc::Build::new();
    for dir in SOURCE_DIRS {
        println!("cargo:rerun-if-changed={dir}");
        build.files(c_files(Path::new(dir)));
    }
    println!("cargo:rerun-if-changed=../bench/limit.h");
    for file in [
        "src/shim.c",
        "src/messages.c",
        "../openssl/common/ia32cap.c",
        "../bench/limit.c",
    ] {
        println!("cargo:rerun-if-changed={file}");
        build.file(file);
    }
    build
        .include("../core/include")
        .include("../core")
        .include("../openssl/common")
        .include("../bench")
        .std("c11")
        .flag_if_supported("-Wno-psabi")
        .opt_level(3)
        .compile("tenrounds_core");
}
