// SPDX-License-Identifier: BSD-2-Clause
//! The tool with the fault switch of tests/faults.c, for tests: TENROUNDS_SABOTAGE makes
//! known-answer tests of backends fail. What is installed must not have it.

use std::ffi::{c_char, CStr};

extern "C" {
    /// secure_getenv(3).
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

const NAME: &CStr = c"TENROUNDS_SABOTAGE";

/// The linker takes this function, and leaves out core/dispatch/faults.c.
#[no_mangle]
extern "C" fn tr_env_sabotage() -> *const c_char {
    // SAFETY: the name ends in a zero byte.
    unsafe { secure_getenv(NAME.as_ptr()) }
}

fn main() -> std::process::ExitCode {
    tenrounds::main()
}
