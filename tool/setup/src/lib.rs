// SPDX-License-Identifier: BSD-2-Clause
//! How this machine is set up: which code libcrypto and others take AES from, and how to change it.

pub mod counters;
pub mod detect;
pub mod enable;
pub mod force;
pub mod home;
pub mod installed;
pub mod java;
pub mod openssl;
pub mod pkcs11;
pub mod run;
pub mod settings;
