// SPDX-License-Identifier: BSD-2-Clause
//! Nothing: this crate is fetched for its dependencies.
