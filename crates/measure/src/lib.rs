// SPDX-License-Identifier: BSD-2-Clause
//! The measuring engine that the tool and the benchmark share: measuring processes, timed windows,
//! the rates of rounds, processors, where data lie, limits, ceilings, statistics, and the
//! comparison of two runs. docs/measuring.md explains the method.

pub mod affinity;
pub mod baseline;
pub mod busy;
pub mod child;
pub mod crew;
pub mod limit;
pub mod noise;
pub mod place;
pub mod process;
pub mod rounds;
pub mod stats;
pub mod window;
