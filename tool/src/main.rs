// SPDX-License-Identifier: BSD-2-Clause
//! The program is the library's.

fn main() -> std::process::ExitCode {
    tenrounds::main()
}
