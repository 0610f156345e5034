// SPDX-License-Identifier: BSD-2-Clause
//! The AES core (C): `raw` is its interface, the rest are safe wrappers: features and masks,
//! backends and their selection, keys, streams and whole messages of every mode of the catalogue.

mod backend;
mod cpu;
mod key;
#[allow(dead_code)] // the crate of bindings/rust uses all of it
#[path = "../../../bindings/rust/src/object.rs"]
mod object;
mod pieces;
#[path = "../../../bindings/rust/src/raw.rs"]
pub mod raw;
mod status;
mod stream;
#[cfg(test)]
mod tests;
mod threads;
mod tuning;

pub use backend::{passes_known_answers, select, strongest, Backend, Op, Selection};
pub use catalogue::BLOCK;
pub use cpu::{
    armcap_masked, avoided_on, feature, feature_names, ia32cap_masked, names_of, parse_mask, Cpu,
    Features, Mask,
};
pub use key::{Key, Message, Parameters};
pub use pieces::{done, Cipher, CmacMessage, GcmMessage};
pub use status::{explain, Error, Result};
pub use stream::Stream;
pub use threads::is_single_threaded;
pub use tuning::Tuning;

/// The version of the core.
pub fn version() -> &'static str {
    // SAFETY: the function returns a constant string.
    status::text(unsafe { raw::tr_version() }).unwrap_or("?")
}

extern "C" {
    fn shim_equal(a: *const u8, b: *const u8, n: usize) -> std::ffi::c_int;
}

/// Whether two secrets are equal. The time does not depend on which bytes differ.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
    // SAFETY: both have so many bytes.
    a.len() == b.len() && unsafe { shim_equal(a.as_ptr(), b.as_ptr(), a.len()) } != 0
}
