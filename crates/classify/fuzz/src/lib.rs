// SPDX-License-Identifier: BSD-2-Clause
//! Fuzz target of the readers of untrusted ELF files ([`file`](mod@file)). scripts/fuzz compiles
//! this crate with coverage, and links the function below with libFuzzer. A panic aborts the
//! process, so that libFuzzer keeps the input.

mod file;

fn input<'d>(data: *const u8, len: usize) -> &'d [u8] {
    match len {
        0 => &[],
        // SAFETY: libFuzzer's pointer is valid for the length, until the target returns.
        _ => unsafe { std::slice::from_raw_parts(data, len) },
    }
}

#[no_mangle]
pub extern "C" fn fuzz_classify_file(data: *const u8, len: usize) -> i32 {
    file::fuzz(input(data, len));
    0
}
