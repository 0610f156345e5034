// SPDX-License-Identifier: BSD-2-Clause
//! A PKCS#11 module: Cryptoki 2.40 (OASIS) over the core's own calls.
//!
//! [`entry`] has the functions that C calls, [`module`] the sessions and objects of the process,
//! [`session`] the operations of a session, [`objects`] and [`object`] what a handle names.
//! [`keys`] makes keys, [`cipher`] with [`whole`] encrypts and decrypts, [`mac`] signs.
//! [`mechanism`] and [`attribute`] are the tables that everything is looked up in.

mod attribute;
mod buffers;
mod cipher;
mod counting;
pub mod entry;
mod information;
mod keys;
mod lock;
mod mac;
mod mechanism;
mod module;
mod object;
mod objects;
mod rv;
mod session;
mod slab;
mod whole;
