// SPDX-License-Identifier: BSD-2-Clause
//! Work that is measured, and its windows.

use ::measure::place::Buffer;
use ::measure::window::{Pace, Window};
use terminal::error::Result;

/// Calls of a sample: more than one, so that state carried from call to call is compared, too.
pub const SAMPLE_CALLS: usize = 3;

/// Work that can be repeated any number of times.
pub trait Job: Send {
    /// Does it `calls` times and returns the bytes that were processed.
    fn run(&mut self, calls: u64) -> Result<u64>;

    /// Called before each window: its data move to another line of the cache.
    fn move_on(&mut self) {}

    /// Starts afresh and returns the output for an input that is the same everywhere.
    fn sample(&mut self) -> Result<Vec<u8>>;
}

/// The output of the calls of a sample, in place.
pub fn sample_in_place<J: Job>(job: &mut J, buffer: fn(&mut J) -> &mut Buffer) -> Result<Vec<u8>> {
    let mut output = Vec::new();
    for _ in 0..SAMPLE_CALLS {
        buffer(job).fill();
        job.run(1)?;
        output.extend_from_slice(buffer(job).data());
    }
    Ok(output)
}

/// A job and its pace.
pub struct Runner {
    pub job: Box<dyn Job>,
    pace: Pace,
}

impl Runner {
    pub fn new(job: Box<dyn Job>) -> Runner {
        Runner {
            job,
            pace: Pace::default(),
        }
    }

    /// Warms up, with the data on another line.
    pub fn warm_up(&mut self) -> Result<()> {
        self.job.move_on();
        let job = &mut self.job;
        self.pace.warm_up(&mut |calls| job.run(calls))
    }

    /// A window of about that length.
    pub fn window(&mut self, microseconds: u64) -> Result<Window> {
        let job = &mut self.job;
        self.pace.window(microseconds, &mut |calls| job.run(calls))
    }
}
