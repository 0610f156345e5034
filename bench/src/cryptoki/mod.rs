// SPDX-License-Identifier: BSD-2-Clause
//! PKCS#11 modules beside each other and beside the core's own calls, in one process:
//! `tenrounds-bench pkcs11`, which scripts/bench-pkcs11 starts. docs/benchmarks/pkcs11 has a run.

mod module;
mod pair;
mod report;
mod row;

use crate::{process, threads};
use clap::Parser;
use measure::affinity::pin_to_number;
use measure::process::say;
use measure::window::{undisturbed, Pace};
use module::{Kind, Module};
use row::{Core, Message, Row, Subject, What};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use terminal::error::{Error, Result};

/// The first arguments of this command, and of its measuring processes.
pub const COMMAND: &str = "pkcs11";
pub const WORKER: &str = "pkcs11-worker";

/// A window, without its warming up.
const WINDOW_US: u64 = 50;

/// Times PKCS#11 modules against the core's own calls (scripts/bench-pkcs11)
#[derive(Parser)]
#[command(name = "tenrounds-bench pkcs11")]
pub struct Args {
    /// The module of tenrounds
    #[arg(long, value_name = "FILE")]
    module: PathBuf,
    /// SoftHSM's module
    #[arg(long, value_name = "FILE")]
    softhsm: Option<PathBuf>,
    /// NSS's softoken
    #[arg(long, value_name = "FILE")]
    nss: Option<PathBuf>,
    /// Rounds of windows for each row
    #[arg(long, value_name = "N", default_value_t = 201)]
    rounds: usize,
    /// Write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page and its JSON into a folder, named after the processor and the date
    #[arg(long, value_name = "DIR")]
    publish: Option<PathBuf>,
}

/// What a process measures.
#[derive(Clone, Serialize, Deserialize)]
struct Plan {
    /// Ours, SoftHSM's, NSS's.
    modules: Vec<(String, PathBuf)>,
    rounds: usize,
    job: Job,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Job {
    /// All rows, in a process of one thread.
    OneThread,
    /// All rows, in a process with a second thread, which waits: locks then are atomic.
    AnotherThread,
    /// Two threads against one ([`pair`]).
    Pair,
}

pub const CORE: &str = "core";
pub const OURS: &str = "tenrounds";
const SOFTHSM: &str = "SoftHSM";
const NSS: &str = "NSS";

#[derive(Serialize, Deserialize)]
enum Answer {
    Hello {
        backend: String,
    },
    /// What each subject took in each round, the core first: nanoseconds per call, or how often as
    /// many calls two threads did as one.
    Times {
        row: String,
        rounds: Vec<Vec<f64>>,
    },
}

fn kind_of(name: &str) -> Kind {
    match name {
        SOFTHSM => Kind::SoftHsm,
        NSS => Kind::Nss,
        _ => Kind::Plain,
    }
}

/// Compares what all subjects write with the core's output, before anything is timed.
fn check(row: &Row, subjects: &[Subject], message: &mut Message) -> Result<()> {
    if row.what == What::Key {
        return Ok(());
    }
    let mut expected = Vec::new();
    for subject in subjects {
        message.out.fill(0);
        subject.run(row.what, message)?;
        let output = message.output(row.what);
        match subject {
            Subject::Core(_) => expected = output.to_vec(),
            _ if output == expected => {}
            _ => {
                return Err(Error::failure(format!(
                    "{} encrypts to something else: {}",
                    subject.name(),
                    row.name()
                )))
            }
        }
    }
    Ok(())
}

/// Does a number of calls, and returns it.
fn calls(subject: &Subject, what: What, message: &mut Message, number: u64) -> Result<u64> {
    for _ in 0..number {
        subject.run(what, message)?;
    }
    Ok(number)
}

fn times(row: &Row, rounds: usize, subjects: &[Subject]) -> Result<Vec<Vec<f64>>> {
    let mut message = Message::new(row.bytes);
    check(row, subjects, &mut message)?;
    let mut paces: Vec<Pace> = subjects.iter().map(|_| Pace::default()).collect();
    let mut found = Vec::new();
    for number in 0..rounds {
        let mut round = vec![0.0; subjects.len()];
        for step in 0..subjects.len() {
            let which = (number + step) % subjects.len();
            let mut work = |number| calls(&subjects[which], row.what, &mut message, number);
            let pace = &mut paces[which];
            let take = &mut || pace.warm_window(WINDOW_US, &mut work);
            round[which] = 1e9 / undisturbed(take)?.0.rate();
        }
        found.push(round);
    }
    Ok(found)
}

fn measure(plan: &Plan) -> Result<()> {
    pin_to_number(0)?;
    let selected = tenrounds_sys::select(None, 0).backend;
    let backend = selected.ok_or_else(|| Error::failure("no backend passes its tests"))?;
    let core = Core::new(backend)?;
    let open = |(name, path): &(String, PathBuf)| Module::open(name, path, kind_of(name));
    let modules: Vec<Module> = plan.modules.iter().map(open).collect::<Result<_>>()?;
    say(Ok(Answer::Hello {
        backend: backend.name().to_owned(),
    }))?;
    if plan.job == Job::Pair {
        return pair::measure(&core, &modules, plan.rounds, &mut |row, rounds| {
            say(Ok(Answer::Times { row, rounds }))
        });
    }
    let of_modules = modules.iter().map(|m| Subject::of(m, m.session()));
    let subjects = std::iter::once(Ok(Subject::Core(&core))).chain(of_modules);
    let subjects: Vec<Subject> = subjects.collect::<Result<_>>()?;
    if plan.job == Job::AnotherThread {
        std::thread::spawn(|| loop {
            std::thread::park();
        });
    }
    for row in row::all() {
        let rounds = times(&row, plan.rounds, &subjects)?;
        say(Ok(Answer::Times {
            row: row.name(),
            rounds,
        }))?;
    }
    Ok(())
}

/// What a measuring process does.
pub fn serve() -> Result<()> {
    process::serve(measure)
}

/// The exit status.
pub fn run(args: &Args) -> Result<u8> {
    if let Some(file) = &args.json {
        terminal::writable(file)?;
    }
    let others = [(SOFTHSM, &args.softhsm), (NSS, &args.nss)];
    let others = others
        .into_iter()
        .filter_map(|(name, path)| Some((name, path.clone()?)));
    let modules: Vec<(String, PathBuf)> = std::iter::once((OURS, args.module.clone()))
        .chain(others)
        .map(|(name, path)| (name.to_owned(), path))
        .collect();
    let mut jobs = vec![Job::OneThread, Job::AnotherThread];
    if threads::available() > 1 {
        jobs.push(Job::Pair);
    }
    let (mut parts, mut pairs) = (Vec::new(), Vec::new());
    for job in jobs {
        let plan = Plan {
            modules: modules.clone(),
            rounds: args.rounds,
            job,
        };
        let (mut backend, mut rows) = (String::new(), Vec::new());
        process::ask(WORKER, &plan, &[], &mut |answer| match answer {
            Answer::Hello { backend: name } => backend = name,
            Answer::Times { row, rounds } if job == Job::Pair => {
                pairs.push(report::Pair::of(row, &rounds));
            }
            Answer::Times { row, rounds } => rows.push(report::Figures::of(row, &rounds)),
        })?;
        if job != Job::Pair {
            parts.push(report::Part {
                threaded: job == Job::AnotherThread,
                backend,
                rows,
            });
        }
    }
    let names: Vec<String> = std::iter::once(CORE.to_owned())
        .chain(modules.into_iter().map(|(name, _)| name))
        .collect();
    let report = report::Report::new(names, parts, pairs);
    report.write(args.json.as_deref(), args.publish.as_deref())?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    /// The core's calls here are those that the module makes.
    #[test]
    fn the_core_computes_the_modes() {
        let backend = tenrounds_sys::Backend::by_name("bitslice").unwrap();
        let core = Core::new(backend).unwrap();
        let mut message = Message::new(32);
        core.run(What::Gcm, &mut message).unwrap();
        let key = tenrounds_sys::Key::new(catalogue::Mode::Gcm, backend, &row::KEY).unwrap();
        let parameters = tenrounds_sys::Parameters {
            iv: vec![7; 12],
            tag_len: 16,
            ..Default::default()
        };
        let sealed = key.encrypt(&parameters, &message.data).unwrap();
        assert_eq!(message.output(What::Gcm), sealed);
        core.run(What::Cbc, &mut message).unwrap();
        let cbc = message.output(What::Cbc).to_vec();
        core.run(What::Ctr, &mut message).unwrap();
        assert_ne!(message.output(What::Ctr), cbc);
    }
}
