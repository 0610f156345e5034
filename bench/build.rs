// SPDX-License-Identifier: BSD-2-Clause
//! Compiles callgrind's requests, and for the tests the operations that scripts/bench-commits
//! times.

fn main() {
    println!("cargo:rerun-if-changed=../core/include");
    for (file, library) in [("callgrind.c", "callgrind"), ("paired/ops.c", "paired_ops")] {
        println!("cargo:rerun-if-changed={file}");
        cc::Build::new()
            .file(file)
            .include("../core/include")
            .std("c11")
            .warnings(true)
            .extra_warnings(true)
            .warnings_into_errors(true)
            .compile(library);
    }
    println!("cargo:rerun-if-changed=paired/ops.h");
}
