// SPDX-License-Identifier: BSD-2-Clause
//! The modes of AES, one row each ([`ROWS`]): names, OIDs, key sizes, directions, the shape of a
//! message, what bounds the speed, and which hosts offer it.
//!
//! `selftest`, `status`, `bench`, completions, man pages and the tables in the
//! documentation take their lists from here. To add a mode, add a constant to [`Mode`] and a row.

mod cipher;
mod row;
mod rows;

pub use cipher::{all, Cipher};
pub use row::{Bound, Call, Direction, Hosts, Mode, Needs, Row, Shape, BLOCK, KEY_BITS};
pub use rows::ROWS;
