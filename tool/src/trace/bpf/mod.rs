// SPDX-License-Identifier: BSD-2-Clause
//! BPF programs at probes, which count in the kernel.

pub mod assembler;
#[cfg(test)]
pub mod machine;
pub mod system;
