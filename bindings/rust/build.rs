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
pub fn sources(core: &Path, hosted: bool) -> Vec<PathBuf> {
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

/// C that compiles only if raw.rs has the layouts of tenrounds.h: room for its opaque types, and
/// each field where C has it.
pub fn assertions(raw: &str) -> String {
    let mut text = String::from("#include <stddef.h>\n#include \"tenrounds.h\"\n");
    let mut fields = Vec::new();
    let mut name = "";
    for line in raw.lines().map(str::trim) {
        let opaque = line.strip_suffix(';').and_then(|row| row.split_once(": "));
        let field = line
            .strip_prefix("pub ")
            .and_then(|row| row.strip_suffix(','));
        if let Some(("pub const GCM_ROUND_KEYS", place)) = opaque {
            let place = place.trim_start_matches("usize = ");
            text += &assertion(&format!("offsetof(struct tr_gcm_key, aes.enc) == {place}"));
        } else if let Some((name, size)) = opaque.filter(|(_, size)| size.parse::<usize>().is_ok())
        {
            text += &assertion(&format!(
                "sizeof(struct {name}) <= {size} && _Alignof(struct {name}) == 16"
            ));
            // The sizes are those of 64-bit systems.
            text += &assertion(&format!(
                "sizeof(void *) < 8 || sizeof(struct {name}) == {size}"
            ));
        } else if let Some(head) = line.strip_prefix("pub struct ") {
            name = head.trim_end_matches(" {");
        } else if let Some((field, kind)) = field.and_then(|field| field.split_once(": ")) {
            fields.push((if field == "input" { "in" } else { field }, kind));
        } else if line == "}" && !fields.is_empty() {
            text += &same_layout(name, &fields);
            fields.clear();
        }
    }
    text
}

/// A struct of C with the types of a struct in raw.rs, which has its layout, and its comparison
/// with the header's.
fn same_layout(name: &str, fields: &[(&str, &str)]) -> String {
    let declared = fields.iter().map(|(field, kind)| match *kind {
        kind if kind.starts_with('*') => format!("void *{field};"),
        "u8" | "u32" | "u64" => format!("uint{}_t {field};", &kind[1..]),
        "usize" => format!("size_t {field};"),
        "tr_status" => format!("int {field};"),
        "[u8; 16]" => format!("uint8_t {field}[16];"),
        kind => {
            let kind = kind.trim_start_matches("core::mem::MaybeUninit<");
            format!("struct {} {field};", kind.trim_end_matches('>'))
        }
    });
    let mut text = format!(
        "struct rust_{name} {{ {} }};\n",
        declared.collect::<String>()
    );
    text += &assertion(&format!(
        "sizeof(struct rust_{name}) == sizeof(struct {name})"
    ));
    for (field, _) in fields {
        text += &assertion(&format!(
            "offsetof(struct rust_{name}, {field}) == offsetof(struct {name}, {field})"
        ));
    }
    text
}

fn assertion(what: &str) -> String {
    format!("_Static_assert({what}, \"raw.rs\");\n")
}

pub fn read(file: &Path) -> String {
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
