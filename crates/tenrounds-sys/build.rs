// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the AES core into the program, so that `cargo build` needs no other build system.

// A build script passes its results to cargo on standard output.
#![allow(clippy::disallowed_macros)]

use std::path::{Path, PathBuf};

const ROOT: &str = "../..";

/// The core's sources, as core/meson.build lists them. Those of another architecture compile to
/// nothing.
fn core_sources(core: &Path) -> Vec<PathBuf> {
    let list = core.join("meson.build");
    println!("cargo:rerun-if-changed={}", list.display());
    let text = std::fs::read_to_string(&list).unwrap_or_else(|e| panic!("{}: {e}", list.display()));
    let lines = text.lines().map(str::trim);
    let names = lines.filter_map(|line| line.strip_prefix('\'')?.strip_suffix(".c',"));
    names
        .map(|name| core.join(name).with_extension("c"))
        .collect()
}

fn main() {
    let root = Path::new(ROOT);
    let mut build = cc::Build::new();
    let add = |build: &mut cc::Build, file: PathBuf| {
        println!("cargo:rerun-if-changed={}", file.display());
        build.file(file);
    };
    println!("cargo:rerun-if-changed={ROOT}/core");
    build.files(core_sources(&root.join("core")));
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
