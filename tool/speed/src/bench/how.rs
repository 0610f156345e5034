// SPDX-License-Identifier: BSD-2-Clause
//! How a run was measured, for the JSON of `bench` and `report`: docs/json.md.

use super::measure::WINDOW_US;
use super::run::Run;
use ::measure::busy::Load;
use serde::Serialize;

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
    pub fn new(run: &Run) -> How {
        let disturbance = run.disturbance();
        How {
            seconds: run.took.as_secs_f64(),
            rounds: run.rounds,
            window_us: WINDOW_US,
            windows_repeated: run.clocks.repeated,
            windows_doubtful: run.clocks.doubtful,
            busy: disturbance.is_busy(),
            load: run.load,
            notes: run.notes.clone(),
        }
    }
}
