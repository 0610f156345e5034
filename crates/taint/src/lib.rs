// SPDX-License-Identifier: BSD-2-Clause
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
//! Follows secrets through a native program: see README.md.

pub mod command;
pub mod coverage;
pub mod decoded;
pub mod process;
pub mod request;
pub mod rule;
pub mod state;
pub mod symbols;
pub mod table;
pub mod walk;
pub mod watch;
