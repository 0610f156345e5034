// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the AES core with the C compiler alone.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// What the core calls is a C library's, or the four functions that every Rust program has.
const FREESTANDING: [&str; 6] = [
    "-ffreestanding",
    "-fno-stack-protector",
    "-fno-builtin-bcmp",
    "-U_FORTIFY_SOURCE",
    // Keep stdlib.h out of the compiler's header of intrinsics.
    "-D_MM_MALLOC_H_INCLUDED",
    "-D__MM_MALLOC_H",
];

/// The core's sources, as meson.build lists them. Those of another architecture compile to nothing.
fn sources(core: &Path, hosted: bool) -> Vec<PathBuf> {
    let list = read(&core.join("meson.build"));
    let names = list.lines().map(str::trim);
    let names = names.filter_map(|line| line.strip_prefix('\'')?.strip_suffix(','));
    let names = names.map(|name| match name.trim_end_matches('\'') {
        "dispatch/env_hosted.c" if !hosted => "archive/environment.c",
        name => name,
    });
    let files: Vec<PathBuf> = names
        .filter(|n| n.ends_with(".c"))
        .map(|n| core.join(n))
        .collect();
    assert!(!files.is_empty(), "{} lists no sources", core.display());
    files
}

/// C that compiles only if the opaque types of raw.rs have room for the core's.
fn assertions(raw: &str) -> String {
    let rows = raw
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';')?.split_once(": "));
    let sizes = rows.filter_map(|(name, size)| Some((name, size.parse::<usize>().ok()?)));
    let mut text = String::from("#include <stddef.h>\n#include \"tenrounds.h\"\n");
    for (name, size) in sizes {
        let holds = format!("sizeof(struct {name}) <= {size} && _Alignof(struct {name}) == 16");
        text += &format!("_Static_assert({holds}, \"{name}\");\n");
    }
    let round_keys = raw
        .split_once("GCM_ROUND_KEYS: usize = ")
        .expect("raw.rs has it")
        .1;
    let (place, _) = round_keys.split_once(';').expect("a number");
    let holds = format!("offsetof(struct tr_gcm_key, aes.enc) == {place}");
    text + &format!("_Static_assert({holds}, \"GCM_ROUND_KEYS\");\n")
}

fn read(file: &Path) -> String {
    println!("cargo:rerun-if-changed={}", file.display());
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

fn main() {
    let core = Path::new("core");
    println!("cargo:rerun-if-changed=core");
    let variable = |name| env::var(name).unwrap_or_default();
    let hosted =
        !variable("CARGO_FEATURE_STD").is_empty() && variable("CARGO_CFG_TARGET_OS") == "linux";

    let layout = Path::new(&variable("OUT_DIR")).join("layout.c");
    fs::write(&layout, assertions(&read(Path::new("src/raw.rs")))).expect("OUT_DIR can be written");

    let mut build = cc::Build::new();
    build
        .files(sources(core, hosted))
        .file(layout)
        .include(core)
        .include(core.join("include"))
        .std("c11")
        .opt_level(3)
        .flag("-fvisibility=hidden")
        .flag_if_supported("-Wno-psabi")
        // A linker that drops functions would keep the notes of their probes (sys/sdt.h).
        .flag_if_supported("-fno-function-sections")
        // With the header's visibility, two copies of the core in a program could call each other.
        .define("TR_API", "");
    if !hosted {
        build.define("TR_ENV_ARCHIVE", "1");
        FREESTANDING.iter().for_each(|flag| {
            build.flag(flag);
        });
    }
    if variable("CARGO_CFG_TARGET_ARCH") == "aarch64" {
        build.flag_if_supported("-mno-outline-atomics");
    }
    build.compile("tenrounds");
}
