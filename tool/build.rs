// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the AES core and the limit probe into this program, so that `cargo build` stands alone.

use std::path::{Path, PathBuf};

/// Where C sources lie, relative to this directory.
const SOURCE_DIRS: [&str; 6] = [
    "../core/dispatch",
    "../core/modes",
    "../core/simd",
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
    // The fault switch of tests takes the place of core/dispatch/faults.c.
    let faults = std::env::var_os("CARGO_FEATURE_FAULTS").is_some();
    for dir in SOURCE_DIRS {
        println!("cargo:rerun-if-changed={dir}");
        let mut files = c_files(Path::new(dir));
        if faults {
            files.retain(|file| !file.ends_with("dispatch/faults.c"));
        }
        build.files(files);
    }
    if faults {
        println!("cargo:rerun-if-changed=../tests/faults.c");
        build.file("../tests/faults.c");
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
