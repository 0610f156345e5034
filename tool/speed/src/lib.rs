// SPDX-License-Identifier: BSD-2-Clause
//! How fast AES is.

pub mod bench;
