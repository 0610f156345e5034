// SPDX-License-Identifier: BSD-2-Clause
//! What the floors above share: the machine as a tree of files, what is installed, what runs, how
//! files are replaced, and findings.

pub mod advice;
pub mod apparmor;
pub mod arguments;
pub mod ciphers;
pub mod fault;
pub mod finding;
pub mod inventory;
pub mod kernel;
pub mod limited;
pub mod memory;
pub mod needed;
pub mod paths;
pub mod processor;
pub mod replaced;
pub mod root;
pub mod template;
pub mod trust;
