// SPDX-License-Identifier: BSD-2-Clause
//! Samples of some processes, and what they show.

use super::is_alive;
pub use super::report::Files;
use super::report::{self, Circumstances};
use super::result::{Counts, KernelCounts, Trace};
use super::sampler::{Sampler, Target};
use super::state::State;
use std::time::{Duration, Instant};
use terminal::error::{Error, Result};

pub struct Sampling {
    pub sampler: Sampler,
    pub state: State,
    /// What is not sampled, and why.
    pub refused: Vec<String>,
    rate: u32,
    /// When the time of the next result began.
    begun: Instant,
}

impl Sampling {
    /// Begins to sample. A command must not have been started yet. A process that was not named may
    /// end before it is sampled.
    pub fn open(target: &Target, named: &[u32], rate: u32) -> Result<Sampling> {
        let mut sampler = Sampler::open(target, rate)?;
        let is_nobody =
            matches!(target, Target::Processes(pids) if pids.len() == sampler.refused.len());
        let is_worth_it = |pid: &u32| named.contains(pid) || is_alive(*pid);
        sampler.refused.retain(|(pid, _)| is_worth_it(pid));
        let mut refused = refusals(&sampler);
        if let (true, Some(first)) = (is_nobody, refused.first()) {
            return Err(Error::failure(first.clone()));
        }
        if sampler.only_own {
            refused.push("Only your own processes are traced: those of others need root, or CAP_PERFMON and CAP_SYS_PTRACE.".to_owned());
        }
        Ok(Sampling {
            sampler,
            state: State::default(),
            refused,
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
    pub fn result(
        &mut self,
        files: &mut Files,
        counts: Option<Counts>,
        requests: Option<KernelCounts>,
    ) -> Trace {
        let circumstances = Circumstances {
            seconds: self.begun.elapsed().as_secs_f64(),
            rate: self.rate,
            kernel: self.sampler.kernel,
            troubles: self.refused.clone(),
            counts,
            requests,
        };
        self.begun = Instant::now();
        let tally = self.state.take_tally();
        report::trace(&tally, &self.state, files, circumstances)
    }

    /// Forgets all files if there are many. Returns whether it did.
    pub fn forget_if_full(&mut self) -> bool {
        let is_full = self.state.is_full();
        if is_full {
            self.state.forget_files();
        }
        is_full
    }
}

/// The processes that are not sampled, and why.
fn refusals(sampler: &Sampler) -> Vec<String> {
    match sampler.refused.len() {
        // Only for want of descriptors.
        count if count > 0 && sampler.only_own => vec![format!(
            "{count} of your processes are not traced: their threads need more files than may be open; raise the limit (ulimit -n)"
        )],
        _ => {
            let each = sampler.refused.iter();
            each.map(|(pid, why)| format!("process {pid} is not traced: {why}"))
                .collect()
        }
    }
}
