// SPDX-License-Identifier: BSD-2-Clause
//! Fuzz target of the PKCS#11 module: [`parameters`] of calls. scripts/fuzz compiles this crate
//! with coverage, and links the function below with libFuzzer.

// A target stops by a panic, whose reason goes to the standard error. The arguments of ck! may be
// unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod arguments;
mod input;
mod parameters;
#[path = "../../tests/support/mod.rs"]
mod support;

use cryptoki_sys::*;
use input::Input;
use std::sync::Once;

/// Runs a target. The module turns a panic into CKR_GENERAL_ERROR; here it ends the process, so
/// that libFuzzer keeps the input.
fn run(target: fn(Input<'_>), data: *const u8, len: usize) -> i32 {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            eprintln!("{panic}");
            std::process::abort();
        }));
    });
    let data = match len {
        0 => &[],
        // SAFETY: libFuzzer's pointer is valid for the length.
        _ => unsafe { std::slice::from_raw_parts(data, len) },
    };
    target(Input::new(data));
    0
}

/// Codes that the standard knows, without those that say that something is broken.
fn is_expected(code: CK_RV) -> bool {
    ![CKR_GENERAL_ERROR, CKR_DEVICE_ERROR, CKR_FUNCTION_FAILED].contains(&code)
}

#[no_mangle]
pub extern "C" fn fuzz_pkcs11_parameters(data: *const u8, len: usize) -> i32 {
    run(parameters::fuzz, data, len)
}
