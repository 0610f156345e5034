// SPDX-License-Identifier: BSD-2-Clause
//! `trace`: which AES code runs in processes, by samples. The code under each sample is copied and
//! classified; nothing is written into a traced process but the probes of --count.

mod bpftrace;
mod count;
mod crypto;
mod event;
#[cfg(test)]
pub mod example;
mod flow;
mod live;
pub mod named;
mod report;
mod result;
mod sampler;
mod spots;
mod state;
mod tally;
mod target;
pub mod text;
pub mod verdict;

use crate::cli::{SampledArgs, TraceArgs, TRACE_RATE};
use crate::openssl::trial::on_path;
use crate::replaced;
use crate::root::Root;
use crate::run::child;
use count::Counter;
use indicatif::{ProgressBar, ProgressStyle};
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Document;
use named::Named;
use report::{Circumstances, Files};
pub use result::{Finding, Module, ModuleKind, Place, Process, Trace};
pub use sampler::Target;
use sampler::{Event, Sampler, Wanted};
use serde::Serialize;
use state::State;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use terminal::error::{Error, Result};
use terminal::output;

#[derive(Serialize)]
struct Body {
    trace: Trace,
}

/// Traces what the arguments name. With a command, ends as the command ends.
pub fn run(args: &TraceArgs) -> Result<()> {
    // A file that cannot be written is an error before anything is traced.
    for file in args.output.iter().chain(&args.svg) {
        terminal::writable(file)?;
    }
    if args.live {
        return live::run(args);
    }
    if args.print_bpftrace {
        return write(args, count::script()?, false);
    }
    let sampled = &args.sampled;
    if args.command.is_empty() && sampled.names.is_empty() && sampled.pid.is_empty() && !sampled.all
    {
        return Err(Error::usage(
            "say what to trace: a command after --, names of processes, -p PID, --all, or --live",
        ));
    }
    match args.command.is_empty() {
        true => processes(args),
        false => command(args),
    }
}

fn processes(args: &TraceArgs) -> Result<()> {
    catch(&[libc::SIGINT, libc::SIGTERM]);
    report(args, traced(args)?, false)
}

/// Traces all processes that this user may see for so many seconds.
pub fn everybody(seconds: f64) -> Result<Trace> {
    traced(&TraceArgs {
        sampled: SampledArgs {
            all: true,
            rate: TRACE_RATE,
            ..SampledArgs::default()
        },
        seconds: Some(seconds),
        ..TraceArgs::default()
    })
}

fn traced(args: &TraceArgs) -> Result<Trace> {
    let named = match args.sampled.all {
        true => None,
        false => Some(Named::of(&args.sampled)?),
    };
    let pids = named.as_ref().map(|named| &named.all[..]);
    let target = match pids {
        None => Target::Everybody,
        Some(pids) => Target::Processes(pids.to_vec()),
    };
    // bpftrace takes a while to put its probes.
    let mut counter = match args.count {
        true => Some(enabled(Counter::of_processes(pids.unwrap_or_default())?)?),
        false => None,
    };
    let requests = match args.kernel {
        true => Some(enabled_in_kernel(crypto::Counter::new(pids)?)?),
        false => None,
    };
    let (sampler, mut refused) = opened(&target, pids_of(&named), wanted(args))?;
    if let Some(counter) = &mut counter {
        counter.loaded_meanwhile();
    }
    let is_sampled = |pid: &u32| !sampler.refused.iter().any(|(refused, _)| refused == pid);
    let sampled = pids_of(&named).iter().copied().filter(is_sampled);
    let sampled: Vec<u32> = sampled.collect();
    let seconds = args.seconds.unwrap_or(DEFAULT_SECONDS);
    let mut tracing = Tracing::new(sampler, args);
    tracing.counter = counter;
    tracing.requests = requests;
    tracing.follow(Some(seconds), || {
        named.as_ref().is_some_and(Named::have_ended)
    });
    let gone = sampled.iter().filter(|pid| !is_alive(**pid));
    refused.extend(gone.map(|pid| format!("process {pid} ended before the trace did.")));
    // What comes now ends the report.
    release(&[libc::SIGINT, libc::SIGTERM]);
    Ok(tracing.finish(refused))
}

/// The processes that arguments name.
pub fn pids_of(named: &Option<Named>) -> &[u32] {
    named.as_ref().map_or(&[], |named| &named.pids)
}

/// The samples that the arguments ask for.
fn wanted(args: &TraceArgs) -> Wanted {
    Wanted {
        rate: args.sampled.rate,
        kernel: true,
    }
}

/// A sampler that runs, and what it leaves out. A process that was not named may end before it is
/// sampled.
fn opened(target: &Target, named: &[u32], wanted: Wanted) -> Result<(Sampler, Vec<String>)> {
    let mut sampler = Sampler::open(target, wanted)?;
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
    Ok((sampler, refused))
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

fn command(args: &TraceArgs) -> Result<()> {
    let command = prepared(&args.command);
    let counter = match args.count {
        true => {
            let name = PathBuf::from(&args.command[0]);
            let program = name.to_str().and_then(on_path).unwrap_or(name);
            Some(enabled(Counter::of_command(&program)?)?)
        }
        false => None,
    };
    let requests = match args.kernel {
        true => Some(enabled_in_kernel(crypto::Counter::new(Some(&[]))?)?),
        false => None,
    };
    // After bpftrace was started, so that it is not sampled.
    let (sampler, troubles) = opened(&Target::Children, &[], wanted(args))?;
    let mut child = child::start(command)?;
    let mut tracing = Tracing::new(sampler, args);
    tracing.counter = counter;
    tracing.requests = requests;
    tracing.of_command = true;
    // The terminal is the command's.
    tracing.bar = ProgressBar::hidden();
    let mut status = None;
    tracing.follow(args.seconds, || {
        status = child::ended(&mut child);
        status.is_some()
    });
    // The report does not make the command wait for its end.
    let reported = report(args, tracing.finish(troubles), true);
    reported.unwrap_or_else(output::complain);
    let status = match status {
        Some(status) => status,
        None => child::end(child)?,
    };
    child::end_like(status)
}

/// Says what counting costs, and begins.
fn enabled(mut counter: Counter) -> Result<Counter> {
    let (functions, files) = counter.extent();
    let ours = match counter.has_sites() {
        true => ", and what tenrounds executes",
        false => "",
    };
    let text = match functions {
        _ if counter.is_refused() => {
            "Counting what tenrounds executes, which costs nothing more.".to_owned()
        }
        0 if !counter.has_sites() => "No library with counted functions was found yet.".to_owned(),
        _ => format!("Counting {functions} functions in {files} files{ours}. Until the trace ends, each of their calls takes about 1 to 3 µs longer, in all processes: calls of 16 bytes become 20 to 30 times as slow."),
    };
    output::err(terminal::style::item("", text));
    counter.enable()?;
    Ok(counter)
}

/// Says what counting in the kernel costs, and begins.
fn enabled_in_kernel(mut counter: crypto::Counter) -> Result<crypto::Counter> {
    let text = "Counting requests to the kernel's ciphers and hashes. Until the trace ends, these requests, messages of sockets, and copies between user space and the kernel take longer, in all processes.";
    output::err(terminal::style::item("", text));
    counter.enable()?;
    Ok(counter)
}

/// Without --seconds, processes are traced for so long.
const DEFAULT_SECONDS: f64 = 5.0;
/// Code is copied at most so long after its first sample.
pub const PAUSE: Duration = Duration::from_millis(10);

/// A command to be traced. The sampler may be opened before it starts.
pub fn prepared(line: &[OsString]) -> Command {
    let mut command = child::command(line, &[]);
    keep_limit(&mut command);
    command
}

/// Starts the command with this process' present limit of open files, which the sampler raises.
fn keep_limit(command: &mut Command) {
    use nix::sys::resource::{getrlimit, setrlimit, Resource};
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else {
        return;
    };
    // SAFETY: the closure only calls setrlimit(), which is async-signal-safe.
    unsafe {
        command.pre_exec(move || Ok(setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?));
    }
}

/// Whether a process is there and no zombie. Threads of the kernel, which have no program, live.
pub fn is_alive(pid: u32) -> bool {
    let status = Root::machine().text(format!("/proc/{pid}/status"));
    let status = status.unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.trim_start().starts_with(['Z', 'X']))
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether a signal asked for the end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

extern "C" fn remember(_: libc::c_int) {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// These signals end the trace and not the report. Those that are ignored, as by nohup(1), stay
/// ignored.
pub fn catch(signals: &[libc::c_int]) {
    for &signal in signals {
        // SAFETY: the handler only stores to an atomic.
        unsafe {
            let before = libc::signal(signal, remember as *const () as libc::sighandler_t);
            if before == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// Gives signals that `catch` caught their meaning back.
fn release(signals: &[libc::c_int]) {
    for &signal in signals {
        // SAFETY: all zeros is a valid sigaction, and the pointers are valid or null.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut now);
            if now.sa_sigaction == remember as *const () as libc::sighandler_t {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}

/// A line that is redrawn on a terminal, and cut off at its right edge.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {wide_msg}").expect("a valid template");
    ProgressBar::new_spinner().with_style(style)
}

struct Tracing {
    sampler: Sampler,
    state: State,
    begun: Instant,
    bar: ProgressBar,
    rate: u32,
    evidence: bool,
    counter: Option<Counter>,
    requests: Option<crypto::Counter>,
    /// Only the command and what it starts are traced.
    of_command: bool,
}

impl Tracing {
    fn new(sampler: Sampler, args: &TraceArgs) -> Tracing {
        Tracing {
            rate: args.sampled.rate,
            sampler,
            state: State::new(args.evidence),
            begun: Instant::now(),
            bar: bar(),
            evidence: args.evidence,
            counter: None,
            requests: None,
            of_command: false,
        }
    }

    /// Takes samples until the time is over, the processes have ended, or somebody interrupts.
    fn follow(&mut self, seconds: Option<f64>, mut ended: impl FnMut() -> bool) {
        let mut shown = Instant::now();
        loop {
            let is_last = ended() || self.is_due(seconds);
            if is_last {
                self.sampler.stop();
                self.counter.iter_mut().for_each(Counter::stop);
                self.requests.iter_mut().for_each(crypto::Counter::stop);
            }
            self.take_events(seconds, is_last);
            if is_last {
                break;
            }
            self.state.refresh();
            if shown.elapsed() > Duration::from_millis(500) {
                shown = Instant::now();
                self.bar.set_message(self.live());
                self.bar.tick();
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn is_due(&self, seconds: Option<f64>) -> bool {
        interrupted()
            || seconds.is_some_and(|seconds| self.begun.elapsed().as_secs_f64() >= seconds)
    }

    /// Handles the events so far. When the end is due, only those that a second suffices for.
    fn take_events(&mut self, seconds: Option<f64>, is_last: bool) {
        const GRACE: Duration = Duration::from_secs(1);
        let mut due = is_last.then(Instant::now);
        let events = self.sampler.events();
        // Reading the code of the first samples can take longer than a process lives.
        events.iter().for_each(|event| self.tell_counters(event));
        for event in events {
            if due.is_none() && self.is_due(seconds) {
                due = Some(Instant::now());
            }
            match due.is_some_and(|due| due.elapsed() > GRACE) {
                true => self.state.skip(&event),
                false => self.state.take(event),
            }
        }
    }

    fn tell_counters(&mut self, event: &Event) {
        if let Some(counter) = &mut self.counter {
            match event {
                Event::Mapped(mapped) => counter.mapped(mapped.pid, &mapped.mapping()),
                Event::Named { pid, tid, name, .. } if pid == tid => counter.named(*pid, name),
                Event::Forked { pid, parent } if pid != parent => counter.forked(*pid, *parent),
                _ => {}
            }
        }
        if let Some(requests) = &mut self.requests {
            match event {
                Event::Named { pid, tid, name, .. } if pid == tid => requests.named(*pid, name),
                Event::Forked { pid, parent } if pid != parent => requests.forked(*pid, *parent),
                _ => {}
            }
        }
    }

    /// The present state in one line: the share of AES, and the code that takes most of it.
    fn live(&self) -> String {
        const SHOWN: usize = 3;
        let tally = &self.state.tally;
        let part = |samples: u64| verdict::percent(samples as f64 / tally.samples.max(1) as f64);
        let all = terminal::style::grouped(tally.samples);
        let mut line = format!("{all} samples, AES {}", part(tally.aes));
        let strongest = self.state.strongest();
        for (index, found) in strongest.iter().take(SHOWN).enumerate() {
            let before = if index == 0 { ": " } else { ", " };
            let (name, pid, work) = (found.name, found.pid, found.work.name());
            line += &format!("{before}{name} ({pid}) {work} {}", part(found.samples));
        }
        line
    }

    fn finish(mut self, troubles: Vec<String>) -> Trace {
        let seconds = self.begun.elapsed().as_secs_f64();
        let kernel = self.sampler.kernel;
        // Its counters must not follow the programs that are asked for packages.
        drop(self.sampler);
        let tally = self.state.take_tally();
        let lost = tally.lost > 0;
        let counts = self
            .counter
            .map(|counter| counter.finish(self.of_command, lost));
        self.bar.finish_and_clear();
        let circumstances = Circumstances {
            seconds,
            rate: self.rate,
            kernel,
            troubles,
            evidence: self.evidence,
            counts,
            requests: self.requests.map(crypto::Counter::finish),
        };
        report::trace(&tally, &self.state, &mut Files::new(true), circumstances)
    }
}

/// Writes the report: to a file; else to standard error with a command, whose output standard
/// output is.
fn report(args: &TraceArgs, trace: Trace, has_command: bool) -> Result<()> {
    let drawing = args.svg.as_ref();
    let drawing = drawing.map(|path| (path, flow::svg(&flow::flows(&trace))));
    let text = match args.json {
        true => {
            let host = host::read(LibCrypto::open().as_ref().ok());
            Document::new("trace", host, Vec::new(), Body { trace }).to_json()
        }
        false => text::render(&trace, args.evidence),
    };
    // A drawing that cannot be written does not cost the text.
    let said = write(args, text, has_command);
    let drawn = drawing.map_or(Ok(()), |(path, svg)| replaced::write(path, &svg));
    said.and(drawn)
}

/// Writes to the file of --output, or to standard output, which belongs to the command if there is
/// one.
fn write(args: &TraceArgs, text: String, has_command: bool) -> Result<()> {
    match (&args.output, has_command) {
        (Some(path), _) => replaced::write(path, &anstream::adapter::strip_str(&text).to_string()),
        (None, true) => {
            output::err(text);
            Ok(())
        }
        (None, false) => output::out(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use classify::hot::Work;

    const SCHEMA: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/schema/tenrounds-1.schema.json"
    );

    /// Counts of the kernel and of user space are as the schema has them. Few machines that run the
    /// other tests have such counts.
    #[test]
    fn exact_counts_fit_the_schema() {
        let mut trace = example::trace(vec![example::process(
            7,
            "one",
            vec![example::finding(Work::AesNi, 30)],
        )]);
        trace.counts = Some(example::counts());
        trace.kernel = Some(example::kernel_counts());
        let host = host::read(None);
        let text = Document::new("trace", host, Vec::new(), Body { trace }).to_json();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut schemas = boon::Schemas::new();
        let schema = boon::Compiler::new().compile(SCHEMA, &mut schemas).unwrap();
        let wrong = |document: &serde_json::Value| {
            let result = schemas.validate(document, schema);
            result
                .err()
                .map(|error| format!("{error:#}\nin {document:#}"))
        };
        assert_eq!(wrong(&document), None);
        // The schema notices what is missing.
        for pointer in [
            "/trace/kernel",
            "/trace/kernel/drivers/0",
            "/trace/kernel/requests/0",
            "/trace/kernel/messages/0",
            "/trace/kernel/copies/0",
            "/trace/counts/executed/0",
        ] {
            let mut changed = document.clone();
            let object = changed
                .pointer_mut(pointer)
                .unwrap()
                .as_object_mut()
                .unwrap();
            let name = object.keys().next().unwrap().clone();
            object.remove(&name);
            assert!(wrong(&changed).is_some(), "{pointer} without {name}");
        }
    }
}
