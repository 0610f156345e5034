// SPDX-License-Identifier: BSD-2-Clause
//! What is wrong, which files hold AES code, and which code runs.

pub mod doctor;
pub mod scan;
pub mod trace;
