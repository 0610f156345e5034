// SPDX-License-Identifier: BSD-2-Clause
//! The tool with faults, for tests. What is installed must not have them. Variables plant them:
//!
//! - TENROUNDS_SABOTAGE makes known-answer tests of backends fail (tests/faults.c);
//! - TENROUNDS_DIE_AT=N ends it by SIGKILL before its change N on the disk, counted from 0;
//! - TENROUNDS_CORRUPT=IMPLEMENTATION changes a byte of this implementation's output in `bench`.

use std::ffi::{c_char, CStr};
use std::sync::atomic::{AtomicU64, Ordering};
use tenrounds::fault::{plant, Place};

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

/// Whether a variable names this number.
fn is_now(variable: &str, now: u64) -> bool {
    std::env::var(variable).is_ok_and(|at| at == now.to_string())
}

fn fault(place: Place) -> bool {
    static CHANGES: AtomicU64 = AtomicU64::new(0);
    match place {
        Place::Change if is_now("TENROUNDS_DIE_AT", CHANGES.fetch_add(1, Ordering::Relaxed)) => {
            // SAFETY: raise() takes any signal.
            unsafe { libc::raise(libc::SIGKILL) };
            false
        }
        Place::Output(name) => std::env::var("TENROUNDS_CORRUPT").is_ok_and(|who| who == name),
        Place::Change => false,
    }
}

fn main() -> std::process::ExitCode {
    plant(fault);
    tenrounds::main()
}
