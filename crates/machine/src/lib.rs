// SPDX-License-Identifier: BSD-2-Clause
//! The machine: processor, hypervisor, libcrypto and masks (`host`, `masks`), the backend that is
//! selected here (`selection`), and the head of every JSON document (`schema`).

pub mod document;
pub mod host;
pub mod masks;
pub mod schema;
pub mod selection;
