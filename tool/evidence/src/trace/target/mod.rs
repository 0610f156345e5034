// SPDX-License-Identifier: BSD-2-Clause
//! What is traced: the processes, what they map, their memory, and the files that they run.

pub mod kernel;
pub mod memory;
pub mod module;
