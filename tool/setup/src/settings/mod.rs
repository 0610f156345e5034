// SPDX-License-Identifier: BSD-2-Clause
//! What a configuration of OpenSSL comes to: what it loads and prefers, whether its modules fit,
//! and whether programs start with it. `enable`, `status` and `doctor` share this.

pub mod config;
pub mod module;
