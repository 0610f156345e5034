// SPDX-License-Identifier: BSD-2-Clause
//! Samples without an end, of which those of the last seconds are kept.

use crate::trace::report::{self, Circumstances, Files};
use crate::trace::result::Trace;
use crate::trace::sampler::{self, Sampler, Target, Wanted};
use crate::trace::state::State;
use crate::trace::tally::Tally;
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use terminal::error::Result;

pub struct Samples {
    sampler: Sampler,
    state: State,
    files: Files,
    rate: u32,
    /// Whether the evidence has the code.
    evidence: bool,
    /// What is not sampled, and why.
    pub refused: Vec<String>,
    /// The last seconds, the oldest part first.
    parts: VecDeque<(Duration, Tally)>,
    /// When the part that is not complete began.
    since: Instant,
}

impl Samples {
    /// Begins to sample. A command must not have been started yet.
    pub fn open(target: &Target, named: &[u32], rate: u32, evidence: bool) -> Result<Samples> {
        let wanted = Wanted { rate, kernel: true };
        let (sampler, refused) = crate::trace::opened(target, named, wanted)?;
        Ok(Samples {
            rate,
            sampler,
            state: State::new(evidence),
            files: Files::new(false),
            evidence,
            refused,
            parts: VecDeque::new(),
            since: Instant::now(),
        })
    }

    /// Handles the events so far. Code is copied at most `PAUSE` after its first sample if this is
    /// called so often.
    pub fn take(&mut self) {
        for event in self.sampler.events() {
            self.state.take(event);
        }
        self.state.refresh();
    }

    /// How long the part lasts that is not complete.
    pub fn age(&self) -> Duration {
        self.since.elapsed()
    }

    /// Completes a part, and forgets those that are older than the window.
    pub fn step(&mut self, window: Duration) {
        let now = Instant::now();
        if self.state.is_full() {
            // A new window begins.
            self.state.forget_files();
            self.files = Files::new(false);
            self.parts.clear();
        }
        let part = (now - self.since, self.state.take_tally());
        self.since = now;
        self.add(part, window);
        let mut all: Duration = self.parts.iter().map(|(length, _)| *length).sum();
        while let Some((oldest, _)) = self.parts.front() {
            all -= *oldest;
            if self.parts.len() == 1 || all < window.mul_f64(1.0 - SLACK) {
                break;
            }
            self.parts.pop_front();
        }
    }

    /// Adds a part, to the last one while both are short.
    fn add(&mut self, (length, tally): (Duration, Tally), window: Duration) {
        match self.parts.back_mut() {
            Some((last, known)) if *last + length <= window / MOST_PARTS => {
                *last += length;
                known.merge(&tally);
            }
            _ => self.parts.push_back((length, tally)),
        }
    }

    /// What the complete parts of the window show.
    pub fn trace(&mut self) -> Trace {
        let mut tally = Tally::default();
        let mut length = Duration::ZERO;
        for (part, seen) in &self.parts {
            length += *part;
            tally.merge(seen);
        }
        let circumstances = Circumstances {
            seconds: length.as_secs_f64(),
            rate: self.rate,
            kernel: self.sampler.kernel,
            troubles: self.refused.clone(),
            evidence: self.evidence,
            counts: None,
            requests: None,
        };
        report::trace(&tally, &self.state, &mut self.files, circumstances)
    }

    /// Why the kernel's code is not classified; None if it is, or had no samples.
    pub fn kernel_refusal(&self) -> Option<&str> {
        self.state.kernel_refusal()
    }

    /// The processors that are sampled.
    pub fn processors() -> usize {
        sampler::processors().len()
    }
}

/// A window has at most about twice so many parts, because each result adds all of them up.
const MOST_PARTS: u32 = 60;
/// Parts that together are shorter than the window by so much are a whole window: a part begins
/// some milliseconds late.
const SLACK: f64 = 0.05;
