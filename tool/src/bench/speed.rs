// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds speed`: the columns that `openssl speed` made familiar, through the core and through
//! libcrypto.

use super::chart::Paint;
use super::figure::Figure;
use super::implementation::Implementation::{self, Core, Tenrounds};
use super::measure::{Case, Effort, TEAMS};
use super::plan::{direction, label, sizes, subjects, threads};
use super::progress;
use super::team::WorkerProcess;
use crate::cli::SpeedArgs;
use crate::core::Backend;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks;
use crate::schema::{Document, Host};
use serde::Serialize;
use std::fmt::Write;
use std::time::Instant;

const DEFAULT: [&str; 1] = ["all"];
const SECONDS: f64 = 0.1;
const WINDOW_US: u64 = 2000;

/// Through what each row goes.
const ROWS: [(Implementation, &str); 2] = [(Core, "core"), (Tenrounds, "evp")];

/// What JSON says besides the rows.
#[derive(Serialize)]
struct Body {
    speed: How,
}

/// How it was measured.
#[derive(Serialize)]
struct How {
    /// Seconds that the command took.
    seconds: f64,
    /// Windows repeated because wall clock and CPU time disagreed, and windows that count nevertheless.
    windows_discarded: usize,
    windows_doubtful: usize,
}

fn cases(args: &SpeedArgs) -> Result<Vec<Case>> {
    let subjects = subjects(&args.algorithms, &DEFAULT)?;
    if let Some(other) = subjects.iter().find(|s| !s.is_aes()) {
        return Err(Error::usage(format!(
            "tenrounds has no {}; `tenrounds compare` shows OpenSSL's",
            other.title()
        )));
    }
    let sizes = sizes(&args.measure, &subjects)?;
    let mut threads = threads(&args.measure)?;
    if threads.is_empty() {
        threads.push(1);
    }
    let mut cases = Vec::new();
    for &subject in &subjects {
        let direction = direction(&args.measure, subject);
        for &threads in &threads {
            let case = |&bytes| Case {
                subject,
                direction,
                bytes,
                threads,
            };
            cases.extend(sizes.iter().map(case));
        }
    }
    Ok(cases)
}

fn heading(host: &Host, libcrypto: &LibCrypto, backend: Option<&str>) -> String {
    let mut out = format!(
        "version: {}, tenrounds {}\nCPU: {}\n",
        libcrypto.version(),
        env!("CARGO_PKG_VERSION"),
        host.cpu.brand
    );
    if let Some(settings) = libcrypto.cpu_settings() {
        let _ = writeln!(out, "CPUINFO: {settings}");
    }
    for (name, mask) in &host.masks {
        let _ = writeln!(
            out,
            "mask: {name}={} (OPENSSL_ia32cap={})",
            mask.value, mask.hex
        );
    }
    let _ = writeln!(out, "backend: {}", backend.unwrap_or("none"));
    out
}

fn name(case: &Case, through: &str) -> String {
    match case.threads {
        1 => format!("{} {through}", case.subject.title()),
        n => format!("{} {through} x{n}", case.subject.title()),
    }
}

fn table(figures: &[Figure], columns: usize, paint: Paint) -> String {
    let mut out = "The 'numbers' are in 1000s of bytes per second processed.\n".to_owned();
    let header: String = figures[..columns]
        .iter()
        .map(|f| format!("{:>14}", bytes_heading(f.case.bytes)))
        .collect();
    let _ = writeln!(out, "{}", paint.bold(&format!("{:<20}{header}", "type")));
    for row in figures.chunks(columns) {
        for (who, through) in ROWS {
            let cell = |f: &Figure| {
                f.rate(who)
                    .map_or("-".into(), |rate| format!("{:.2}k", rate / 1000.0))
            };
            let cells: String = row.iter().map(|f| format!("{:>14}", cell(f))).collect();
            let _ = writeln!(out, "{:<20}{cells}", name(&row[0].case, through));
        }
    }
    out
}

fn bytes_heading(bytes: usize) -> String {
    format!("{bytes} bytes")
}

pub fn speed(args: &SpeedArgs) -> Result<()> {
    let started = Instant::now();
    let cases = cases(args)?;
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let team = || {
        ROWS.iter()
            .map(|(who, _)| WorkerProcess::start(*who))
            .collect::<Result<Vec<_>>>()
    };
    let mut teams = (0..TEAMS).map(|_| team()).collect::<Result<Vec<_>>>()?;
    let host = crate::host::read(Some(&libcrypto));
    let backend = teams[0].iter().find_map(|c| c.backend.clone());
    let effort = Effort::of_seconds(args.measure.seconds.unwrap_or(SECONDS), WINDOW_US);
    let paint = Paint::for_stdout();
    let expected = effort.duration(cases.len() * teams[0].len());
    if !args.measure.json {
        anstream::print!("{}", heading(&host, &libcrypto, backend.as_deref()));
        anstream::eprintln!("This takes about {:.0} s.", expected.as_secs_f64().ceil());
    }
    let bar = progress(cases.len(), expected);
    let mut figures = Vec::new();
    for case in cases {
        bar.set_message(label(&case));
        figures.push(Figure {
            case,
            rounds: case.measure(&mut teams, None, effort)?,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    let total = |count: fn(&Figure) -> usize| figures.iter().map(count).sum::<usize>();
    let how = How {
        seconds: started.elapsed().as_secs_f64(),
        windows_discarded: total(|f| f.rounds.discarded),
        windows_doubtful: total(|f| f.rounds.doubtful),
    };
    if args.measure.json {
        let backend = backend.as_deref().and_then(Backend::by_name);
        let rows = figures.iter().flat_map(|f| f.rows(backend, None)).collect();
        anstream::print!(
            "{}",
            Document::new("speed", host, rows, Body { speed: how }).to_json()
        );
        return Ok(());
    }
    let columns = figures
        .iter()
        .take_while(|f| same_row(&figures[0], f))
        .count();
    anstream::print!("{}", table(&figures, columns, paint));
    anstream::println!("Wall clock, medians. It took {:.1} s.", how.seconds);
    if how.windows_doubtful > 0 {
        anstream::println!(
            "Warning: the machine is busy. In {} rounds that count, wall clock and CPU time disagree \
             by more than 5 %.",
            how.windows_doubtful
        );
    }
    Ok(())
}

fn same_row(a: &Figure, b: &Figure) -> bool {
    (a.case.subject, a.case.threads) == (b.case.subject, b.case.threads)
}
