// SPDX-License-Identifier: BSD-2-Clause
//! The command: options, the report and the exit status.
#![allow(clippy::disallowed_macros)] // a program for tests: it may panic on a full disk

use crate::coverage::coverage;
use crate::process::Event;
use crate::watch::Watch;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: taint [--coverage LABEL=OBJECT]... PROGRAM [ARGUMENT...]";

struct Options {
    /// LABEL=OBJECT: object files whose basic blocks are counted, and what the report calls them.
    sources: Vec<(String, String)>,
    program: String,
    arguments: Vec<String>,
}

fn parse(arguments: Vec<String>) -> Option<Options> {
    let mut options = Options {
        sources: Vec::new(),
        program: String::new(),
        arguments: Vec::new(),
    };
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--coverage" => {
                let source = rest.next()?;
                let (label, path) = source.split_once('=')?;
                options.sources.push((label.to_owned(), path.to_owned()));
            }
            _ if argument.starts_with('-') => return None,
            _ => {
                options.program = argument;
                break;
            }
        }
    }
    options.arguments = rest.collect();
    (!options.program.is_empty()).then_some(options)
}

pub fn main(arguments: Vec<String>) -> ExitCode {
    let Some(options) = parse(arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("taint: {}: {error}", options.program);
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> std::io::Result<u8> {
    let begin = Instant::now();
    let mut watch = Watch::start(&options.program, &options.arguments)?;
    let program = watch.program()?;
    let event = watch.run()?;
    report(&watch);
    for (source, found) in coverage(&program, &options.sources, &watch.code)? {
        eprintln!(
            "taint: {source}: {} of {} basic blocks",
            found.followed, found.blocks
        );
        for place in &found.missed {
            eprintln!("    not followed: {place}");
        }
    }
    eprintln!(
        "taint: {} findings; {} instructions followed in {} stops, {:.1} s",
        watch.leaks,
        watch.steps,
        watch.stops(),
        begin.elapsed().as_secs_f64()
    );
    Ok(match event {
        Event::Exited(0) if watch.leaks > 0 => 1,
        Event::Exited(status) => status as u8,
        Event::Killed(signal) => {
            eprintln!("taint: the program was killed by {signal}");
            2
        }
        Event::Stopped => 2,
    })
}

fn report(watch: &Watch) {
    for ((leak, _), finding) in &watch.findings {
        eprintln!("taint: {leak}, {} times", finding.times);
        eprintln!("    {}", finding.text);
        for caller in &finding.callers {
            eprintln!("    called from {caller}");
        }
    }
}
