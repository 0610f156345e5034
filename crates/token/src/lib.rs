// SPDX-License-Identifier: BSD-2-Clause
//! Token files of the PKCS#11 module: objects, encrypted under a PIN, in one file.
//!
//! [`place`] says where a token lies, [`format`] what its bytes mean, [`pin`] how a PIN leads to
//! the key of the objects, [`pages`] where this key is in memory, [`file`] how the file is read and
//! replaced, and [`store`] joins them: log in, change, read again what another process has written.
//! docs/token-file.md describes the format.
//!
//! A file is never changed in place. Whoever changes it holds a lock, writes a new file beside it,
//! and renames that. So readers need no lock and see either the old or the new file, whole.

mod error;
mod file;
pub mod format;
mod pages;
mod pin;
pub mod place;
mod store;

pub use error::{Error, Exposure, Result};
pub use file::Identity;
pub use format::{Contents, Record, Role, LABEL_LEN};
pub use pin::MasterKey;
pub use store::Token;

/// Bytes of a PIN.
pub const PIN_LEN: std::ops::RangeInclusive<usize> = 4..=255;
