// SPDX-License-Identifier: BSD-2-Clause
//! How a run was measured, for the JSON of `bench` and `report`: docs/json.md.

use super::measure::Effort;
use ::measure::busy::{Disturbance, Load};
use serde::Serialize;
use std::time::Duration;

#[derive(Serialize)]
pub struct How {
    /// Seconds that the command took.
    seconds: f64,
    /// Rounds of each figure, microseconds of each window.
    pub rounds: usize,
    pub window_us: u64,
    /// Windows repeated because wall clock and CPU time disagreed, and windows that count
    /// nevertheless.
    windows_repeated: usize,
    windows_doubtful: usize,
    pub busy: bool,
    /// null: /proc/stat could not be read.
    load: Option<Load>,
    pub notes: Vec<String>,
}

impl How {
    pub fn new(took: Duration, effort: Effort, disturbance: Disturbance, notes: &[String]) -> How {
        How {
            seconds: took.as_secs_f64(),
            rounds: effort.rounds,
            window_us: effort.window_us,
            windows_repeated: disturbance.repeated,
            windows_doubtful: disturbance.doubtful,
            busy: disturbance.is_busy(),
            load: disturbance.load,
            notes: notes.to_vec(),
        }
    }
}
