// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live`: which AES code runs in which process now: on a screen like that of top(1), or as
//! tables or JSON. Each picture is about one interval.

mod batch;
mod draw;
mod input;
mod picture;
mod screen;

use super::named::Named;
use super::sampling::{Files, Sampling};
use super::{sampler, signals, Target};
use crate::trace::args::TraceArgs;
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Host;
use picture::Picture;
use std::time::Duration;
use terminal::error::Result;

/// Watches what the arguments name, or all processes.
pub fn run(args: &TraceArgs) -> Result<()> {
    let is_batch = args.json || !screen::available();
    let mut live = Live::begin(args)?;
    signals::catch(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT]);
    match is_batch {
        true => batch::write(&mut live, args),
        false => screen::show(&mut live, args),
    }
}

/// What each form of output shows.
struct Live {
    sampling: Sampling,
    files: Files,
    host: Host,
    interval: Duration,
    processors: usize,
    named: Option<Named>,
}

impl Live {
    fn begin(args: &TraceArgs) -> Result<Live> {
        let host = host::read(LibCrypto::open().as_ref().ok());
        let sampled = &args.sampled;
        let named = match sampled.pid.is_empty() && sampled.names.is_empty() {
            true => None,
            false => Some(Named::of(sampled)?),
        };
        let target = match &named {
            Some(named) => Target::Processes(named.all.clone()),
            None => Target::Everybody,
        };
        Ok(Live {
            sampling: Sampling::open(&target, super::pids_of(&named), sampled.rate)?,
            files: Files::default(),
            host,
            interval: Duration::from_secs_f64(args.screen.interval),
            processors: sampler::processors().len(),
            named,
        })
    }

    /// Handles the samples so far. Returns whether the interval is over.
    fn take(&mut self) -> bool {
        self.sampling.take();
        self.sampling.elapsed() >= self.interval
    }

    /// Ends the interval.
    fn picture(&mut self) -> Picture {
        let trace = self.sampling.result(&mut self.files, None, None);
        if self.sampling.forget_if_full() {
            self.files = Files::default();
        }
        Picture::new(trace, self.processors)
    }

    fn has_ended(&self) -> bool {
        self.named.as_ref().is_some_and(Named::have_ended)
    }

    /// Lists hidden processes and code, and the capability that would show them.
    fn limits(&self, picture: &Picture) -> Vec<String> {
        let mut limits = self.sampling.refused.clone();
        if picture.trace.kernel_samples.is_none() {
            let text = "Code in the kernel is not sampled: this needs root, or CAP_PERFMON.";
            limits.push(text.to_owned());
        }
        let unknown = self.sampling.state.kernel_refusal();
        limits.extend(unknown.map(|why| format!("The kernel's code is not classified: {why}.")));
        limits
    }
}
