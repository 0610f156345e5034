// SPDX-License-Identifier: BSD-2-Clause
//! Follows secrets through a program: see README.md.
#![allow(clippy::disallowed_macros)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    taint::command::main(std::env::args().skip(1).collect())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    eprintln!("taint: only for Linux on x86-64");
    std::process::exit(2);
}
