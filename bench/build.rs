// SPDX-License-Identifier: BSD-2-Clause
//! Compiles, for the tests, the operations that scripts/bench-commits times.

fn main() {
    println!("cargo:rerun-if-changed=../core/include");
    println!("cargo:rerun-if-changed=paired/ops.c");
    println!("cargo:rerun-if-changed=paired/ops.h");
    cc::Build::new()
        .file("paired/ops.c")
        .include("../core/include")
        .std("c11")
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("paired_ops");
}
