// SPDX-License-Identifier: BSD-2-Clause
//! A PKCS#11 module: Cryptoki 2.40 and 3.0 (OASIS) over the core's own calls.
//!
//! [`entry`] has the functions that C calls, [`module`] the sessions and slots of the process,
//! [`slot`] a slot and [`objects`] its objects, [`stored`] those of a token file, [`record`] their
//! form there, [`session`] the operations of a session, [`cipher`] with [`whole`], [`mac`] and
//! [`digest`] what they compute. [`keyring`] is for the tool. [`mechanism`] and [`attribute`] are
//! the tables that everything is looked up in.

pub mod attribute;
mod buffers;
mod cipher;
mod counting;
mod date;
mod digest;
pub mod entry;
mod information;
pub mod keyring;
mod keys;
mod lock;
mod mac;
mod mechanism;
mod module;
mod object;
mod objects;
mod record;
mod rv;
mod session;
mod slab;
mod slot;
mod stored;
mod whole;
