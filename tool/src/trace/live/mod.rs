// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live`: which AES code runs in which process, in the last seconds: on a screen like
//! that of top(1), or as tables or JSON.

mod batch;
mod command;
mod draw;
mod input;
mod rates;
mod result;
mod samples;
mod screen;
mod view;

use crate::cli::TraceArgs;
use crate::trace::named::Named;
use crate::trace::{self, Target};
use command::Running;
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Host;
use rates::Rates;
use result::Picture;
use samples::Samples;
use std::time::Duration;
use terminal::error::Result;

/// Watches what the arguments name. With a command, ends as the command ended.
pub fn run(args: &TraceArgs) -> Result<()> {
    let batch = args.json || !screen::available();
    let mut watching = Watching::begin(args, !batch)?;
    trace::catch(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT]);
    if watching.command.is_some() {
        // A closed pipe must not end this process before it has ended the command.
        // SAFETY: the arguments are valid.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    }
    match batch {
        true => batch::write(&mut watching, args)?,
        false => screen::show(&mut watching, args)?,
    }
    watching.command.map_or(Ok(()), Running::finish)
}

/// The samples and everything else that each form of output shows.
struct Watching {
    samples: Samples,
    rates: Rates,
    host: Host,
    /// Results cover this time, up to now.
    window: Duration,
    processors: usize,
    command: Option<Running>,
    named: Option<Named>,
}

impl Watching {
    /// With `evidence`, the results have the code around samples.
    fn begin(args: &TraceArgs, evidence: bool) -> Result<Watching> {
        let host = host::read(LibCrypto::open().as_ref().ok());
        let sampled = &args.sampled;
        let named = match sampled.pid.is_empty() && sampled.names.is_empty() {
            true => None,
            false => Some(Named::of(sampled)?),
        };
        let target = match &named {
            _ if !args.command.is_empty() => Target::Children,
            Some(named) => Target::Processes(named.all.clone()),
            None => Target::Everybody,
        };
        let samples = Samples::open(&target, trace::pids_of(&named), sampled.rate, evidence)?;
        let command = match target {
            Target::Children => Some(Running::start(&args.command)?),
            _ => None,
        };
        Ok(Watching {
            samples,
            rates: Rates::default(),
            host,
            window: Duration::from_secs_f64(args.screen.window),
            processors: Samples::processors(),
            command,
            named,
        })
    }

    /// Completes a part of the time, and shows the window that ends with it.
    fn update(&mut self) -> Picture {
        self.samples.step(self.window);
        let trace = self.samples.trace();
        let rates = self.rates.read(&trace.processes, self.window);
        Picture::new(trace, self.processors, rates)
    }

    /// Says that the command, or all named processes, have ended; None while one runs.
    fn ended(&mut self) -> Option<String> {
        if let Some(command) = &mut self.command {
            return command.ended();
        }
        let named = self.named.as_ref().filter(|named| named.have_ended())?;
        Some(match named.all.len() {
            1 => "The process has ended.".to_owned(),
            _ => "All processes have ended.".to_owned(),
        })
    }

    /// Lists hidden processes and code, and the capability that would show them.
    fn limits(&self, picture: &Picture) -> Vec<String> {
        let mut limits = self.samples.refused.clone();
        if picture.trace.kernel_samples.is_none() {
            let text = "Code in the kernel is not sampled: this needs root, or CAP_PERFMON.";
            limits.push(text.to_owned());
        }
        let unknown = self.samples.kernel_refusal();
        limits.extend(unknown.map(|why| format!("The kernel's code is not classified: {why}.")));
        limits
    }
}
