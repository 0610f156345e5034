// SPDX-License-Identifier: BSD-2-Clause
//! `trace`: which AES code runs in processes, by samples. The code under each sample is copied and
//! classified; nothing is written into a traced process but the probes of --count.

pub mod args;
mod bpftrace;
mod count;
mod crypto;
mod flow;
mod live;
pub mod named;
mod report;
mod result;
mod sampler;
mod sampling;
mod signals;
mod spots;
mod state;
mod tally;
mod target;
#[cfg(test)]
pub mod tests;
pub mod text;
mod traced;
pub mod verdict;

use crate::trace::args::{TraceArgs, TRACE_RATE};
use base::inventory::processes;
use base::replaced;
use base::root::Root;
use count::Counter;
use indicatif::{ProgressBar, ProgressStyle};
use machine::document::document;
pub use result::Trace;
use sampler::{Event, Target};
use sampling::Sampling;
use setup::openssl::trial::on_path;
use setup::run::child;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use terminal::error::{Error, Result};
use terminal::output;
use traced::Traced;

/// Traces what the arguments name. With a command, ends as the command ends.
pub fn run(args: &TraceArgs) -> Result<()> {
    // A file that cannot be written is an error before anything is traced.
    if let Some(file) = &args.output {
        terminal::writable(file)?;
    }
    if args.live {
        return live::run(args);
    }
    if args.command.is_empty() && args.names.is_empty() && args.pid.is_empty() && !args.all {
        return Err(Error::usage(
            "say what to trace: a command after --, names of processes, -p PID, --all, or --live",
        ));
    }
    if !args.command.is_empty() {
        return command(args);
    }
    signals::catch(&[libc::SIGINT, libc::SIGTERM]).map_err(Error::from_reason)?;
    report(args, traced(args)?, false)
}

/// Traces all processes that this user may see for so many seconds.
pub fn everybody(seconds: f64) -> Result<Trace> {
    traced(&TraceArgs {
        all: true,
        rate: TRACE_RATE,
        seconds: Some(seconds),
        ..TraceArgs::default()
    })
}

fn traced(args: &TraceArgs) -> Result<Trace> {
    let target = named::target(args)?;
    let counter = || Counter::of_processes(&target.running());
    let mut tracing = Tracing::begin(args, &target, counter, bar())?;
    if let Some(counter) = &mut tracing.counter {
        // bpftrace takes a while to put its probes.
        counter.loaded_meanwhile(&target.running());
    }
    let seconds = args.seconds.unwrap_or(DEFAULT_SECONDS);
    tracing.follow(Some(seconds), || target.has_ended());
    let sampler = &mut tracing.sampling.sampler;
    let gone = sampler.sampled.iter().filter(|pid| !is_alive(**pid));
    let gone = gone.map(|pid| format!("process {pid} ended before the trace did."));
    sampler.refused.extend(gone);
    // What comes now ends the report.
    signals::release();
    Ok(tracing.finish())
}

fn command(args: &TraceArgs) -> Result<()> {
    let command = prepared(&args.command);
    let counter = || {
        let name = PathBuf::from(&args.command[0]);
        let program = name.to_str().and_then(on_path).unwrap_or(name);
        Counter::of_command(&program)
    };
    // The terminal is the command's.
    let bar = ProgressBar::hidden();
    let mut tracing = Tracing::begin(args, &Target::Children, counter, bar)?;
    let mut child = child::start(command)?;
    let mut status = None;
    tracing.follow(args.seconds, || {
        status = child::ended(&mut child);
        status.is_some()
    });
    // The report does not make the command wait for its end.
    let reported = report(args, tracing.finish(), true);
    reported.unwrap_or_else(output::complain);
    let status = match status {
        Some(status) => status,
        None => child::end(child)?,
    };
    child::end_like(status)
}

/// Without --seconds, processes are traced for so long.
const DEFAULT_SECONDS: f64 = 5.0;
/// Code is copied at most so long after its first sample.
const PAUSE: Duration = Duration::from_millis(10);

/// A command to be traced. It gets the present limit of open files, which the sampler raises.
fn prepared(line: &[OsString]) -> Command {
    use nix::sys::resource::{getrlimit, setrlimit, Resource};
    let mut command = child::command(line, &[]);
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let keep = move || Ok(setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?);
        // SAFETY: the closure only calls setrlimit(), which is async-signal-safe.
        unsafe { command.pre_exec(keep) };
    }
    command
}

/// Whether a process is there and no zombie. Threads of the kernel, which have no program, live.
pub fn is_alive(pid: u32) -> bool {
    let state = processes::status::<String>(&Root::machine(), pid, "State");
    state.is_some_and(|state| !state.starts_with(['Z', 'X']))
}

/// A line that is redrawn on a terminal, and cut off at its right edge.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("a valid template");
    ProgressBar::new_spinner().with_style(style)
}

struct Tracing {
    sampling: Sampling,
    bar: ProgressBar,
    counter: Option<Counter>,
    requests: Option<crypto::Counter>,
    traced: Traced,
}

impl Tracing {
    /// Begins to sample after bpftrace was started, so that it is not sampled.
    fn begin(
        args: &TraceArgs,
        target: &Target,
        counter: impl FnOnce() -> Result<Counter>,
        bar: ProgressBar,
    ) -> Result<Tracing> {
        Ok(Tracing {
            counter: args.count.then(counter).transpose()?,
            requests: args.kernel.then(crypto::Counter::start).transpose()?,
            sampling: Sampling::open(target, args.rate)?,
            bar,
            traced: Traced::new(target),
        })
    }

    /// Takes samples until the time is over, the processes have ended, or somebody interrupts.
    fn follow(&mut self, seconds: Option<f64>, mut ended: impl FnMut() -> bool) {
        let mut shown = Instant::now();
        loop {
            let is_last = ended() || self.is_due(seconds);
            if is_last {
                self.sampling.sampler.stop();
                self.counter.iter_mut().for_each(Counter::stop);
                self.requests.iter_mut().for_each(crypto::Counter::stop);
            }
            self.take_events(seconds, is_last);
            if is_last {
                break;
            }
            self.sampling.state.refresh();
            if shown.elapsed() > Duration::from_millis(500) {
                shown = Instant::now();
                let tally = &self.sampling.state.tally;
                let share = verdict::percent(tally.aes as f64 / tally.samples.max(1) as f64);
                let samples = terminal::style::grouped(tally.samples);
                self.bar
                    .set_message(format!("{samples} samples, AES {share}"));
                self.bar.tick();
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn is_due(&self, seconds: Option<f64>) -> bool {
        let elapsed = self.sampling.elapsed().as_secs_f64();
        signals::came() || seconds.is_some_and(|seconds| elapsed >= seconds)
    }

    /// Handles the events so far. When the end is due, only those that a second suffices for.
    fn take_events(&mut self, seconds: Option<f64>, is_last: bool) {
        const GRACE: Duration = Duration::from_secs(1);
        let mut due = is_last.then(Instant::now);
        let events = self.sampling.sampler.events();
        // Reading the code of the first samples can take longer than a process lives.
        for event in &events {
            self.traced.take(event);
            if let (Some(counter), Event::Mapped { pid, mapping }) = (&mut self.counter, event) {
                counter.mapped(*pid, mapping);
            }
        }
        for event in events {
            if due.is_none() && self.is_due(seconds) {
                due = Some(Instant::now());
            }
            match due.is_some_and(|due| due.elapsed() > GRACE) {
                true => self.sampling.state.skip(&event),
                false => self.sampling.state.take(event),
            }
        }
    }

    fn finish(mut self) -> Trace {
        let lost = self.sampling.state.tally.lost > 0;
        let counts = self
            .counter
            .map(|counter| counter.finish(&self.traced, lost));
        let requests = self.requests.map(|it| it.finish(&self.traced));
        self.bar.finish_and_clear();
        self.sampling.result(counts, requests)
    }
}

/// Writes the report: to the file of --output; else to standard output, or to standard error if
/// standard output is the command's.
fn report(args: &TraceArgs, trace: Trace, has_command: bool) -> Result<()> {
    let text = match args.json {
        true => document("trace", &trace),
        false => text::render(&trace),
    };
    match (&args.output, has_command) {
        (Some(path), _) => replaced::write(path, &anstream::adapter::strip_str(&text).to_string()),
        (None, true) => {
            output::err(text);
            Ok(())
        }
        (None, false) => output::out(text),
    }
}
