// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the AES core into the program, so that `cargo build` needs no other build system.

// A build script passes its results to cargo on standard output.
#![allow(clippy::disallowed_macros)]

use std::path::{Path, PathBuf};

const ROOT: &str = "../..";

// The crate's list of sources, and its comparison of raw.rs with C.
#[allow(dead_code)]
#[path = "../../bindings/rust/build.rs"]
mod binding;

fn main() {
    let root = Path::new(ROOT);
    let mut build = cc::Build::new();
    let add = |build: &mut cc::Build, file: PathBuf| {
        println!("cargo:rerun-if-changed={}", file.display());
        build.file(file);
    };
    println!("cargo:rerun-if-changed={ROOT}/core");
    build.files(binding::sources(&root.join("core"), true));
    add(&mut build, root.join("openssl/common/ia32cap.c"));
    add(&mut build, root.join("openssl/common/armcap.c"));
    add(&mut build, root.join("openssl/common/counters_file.c"));
    add(&mut build, PathBuf::from("c/shim.c"));
    add(&mut build, PathBuf::from("c/threads.c"));
    let raw = binding::read(&root.join("bindings/rust/src/raw.rs"));
    let layout = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default()).join("layout.c");
    std::fs::write(&layout, binding::assertions(&raw)).expect("OUT_DIR can be written");
    build
        .file(layout)
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
