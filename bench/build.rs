// SPDX-License-Identifier: BSD-2-Clause
//! Compiles what only C knows: the sizes of the core's objects.

fn main() {
    println!("cargo:rerun-if-changed=src/sizes.c");
    println!("cargo:rerun-if-changed=../core/include");
    cc::Build::new()
        .file("src/sizes.c")
        .include("../core/include")
        .std("c11")
        .compile("tenrounds_bench_sizes");
}
