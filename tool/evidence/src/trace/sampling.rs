// SPDX-License-Identifier: BSD-2-Clause
//! Samples of some processes, and what they show.

use super::report::{self, Files};
use super::result::{Counts, KernelCounts, Trace};
use super::sampler::{Sampler, Target};
use super::state::State;
use std::time::{Duration, Instant};
use terminal::error::Result;

pub struct Sampling {
    pub sampler: Sampler,
    pub state: State,
    files: Files,
    rate: u32,
    /// When the time of the next result began.
    begun: Instant,
}

impl Sampling {
    /// Begins to sample. A command must not have been started yet.
    pub fn open(target: &Target, rate: u32) -> Result<Sampling> {
        Ok(Sampling {
            sampler: Sampler::open(target, rate)?,
            state: State::default(),
            files: Files::default(),
            rate,
            begun: Instant::now(),
        })
    }

    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Handles the events so far. To be called every `PAUSE`, so that code is copied soon after its
    /// first sample.
    pub fn take(&mut self) {
        for event in self.sampler.events() {
            self.state.take(event);
        }
        self.state.refresh();
    }

    /// What was seen since the last result.
    pub fn result(&mut self, counts: Option<Counts>, kernel: Option<KernelCounts>) -> Trace {
        let tally = self.state.take_tally();
        let mut trace = Trace {
            seconds: self.elapsed().as_secs_f64(),
            rate: self.rate,
            kernel_samples: self.sampler.kernel.then_some(tally.kernel),
            troubles: self.sampler.refused.clone(),
            counts,
            kernel,
            ..Trace::default()
        };
        self.begun = Instant::now();
        report::complete(&mut trace, &tally, &self.state, &mut self.files);
        if self.state.forget_if_full() {
            self.files = Files::default();
        }
        trace
    }
}
