// SPDX-License-Identifier: BSD-2-Clause
//! Compiles the limit probe.

// A build script passes its results to cargo on standard output.
#![allow(clippy::disallowed_macros)]

fn main() {
    for file in ["c", "../../core/include"] {
        println!("cargo:rerun-if-changed={file}");
    }
    cc::Build::new()
        .file("c/limit.c")
        .include("../../core/include")
        .include("../../core")
        .std("c11")
        .opt_level(3)
        .compile("tenrounds_limit");
}
