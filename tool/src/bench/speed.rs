// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds speed`: the columns that `openssl speed` made familiar, through the core and through
//! libcrypto.

use super::chart::Paint;
use super::figure::Figure;
use super::implementation::Implementation::{self, Core, Tenrounds};
use super::limit::Limit;
use super::measure::{limits, widest, Case, Effort, TEAMS};
use super::plan::{direction, label, sizes, subjects, threads};
use super::progress;
use super::scaling::Scaling;
use super::team::WorkerProcess;
use crate::cli::SpeedArgs;
use crate::core::{Backend, Cpu};
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks;
use crate::output;
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

/// The numbers of threads, and what is measured with each.
fn cases(args: &SpeedArgs) -> Result<(Vec<usize>, Vec<Case>)> {
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
        let case = |&bytes| Case {
            subject,
            direction,
            bytes,
            threads: 1,
        };
        cases.extend(sizes.iter().map(case));
    }
    Ok((threads, cases))
}

/// Who measures: one thread, or several of which each round has all.
enum Crowd {
    One(Vec<Vec<WorkerProcess>>),
    Several(Scaling),
}

impl Crowd {
    fn start(counts: &[usize]) -> Result<Crowd> {
        let who = ROWS.map(|(who, _)| who);
        if counts != [1] {
            let widest = widest_here()?;
            return Ok(Crowd::Several(Scaling::new(&who, counts, widest)?));
        }
        let team = |_| who.into_iter().map(WorkerProcess::start).collect();
        let teams = (0..TEAMS).map(team).collect::<Result<Vec<_>>>()?;
        Ok(Crowd::One(teams))
    }

    fn first(&self) -> &[WorkerProcess] {
        match self {
            Crowd::One(teams) => &teams[0],
            Crowd::Several(scaling) => &scaling.teams[0],
        }
    }

    fn widest(&self) -> Option<Limit> {
        match self {
            Crowd::One(_) => None,
            Crowd::Several(scaling) => scaling.widest,
        }
    }

    /// One figure for each number of threads.
    fn measure(&mut self, case: Case, effort: Effort) -> Result<Vec<Figure>> {
        match self {
            Crowd::Several(scaling) => scaling.measure(case, effort),
            Crowd::One(teams) => Ok(vec![Figure {
                case,
                rounds: case.measure(teams, None, effort)?,
            }]),
        }
    }
}

/// The registers with the highest throughput, by a short look.
fn widest_here() -> Result<Option<Limit>> {
    let usable = Limit::usable(&Cpu::detect());
    if usable.is_empty() {
        return Ok(None);
    }
    let mut probe = WorkerProcess::start(Implementation::Limit)?;
    let look = Effort {
        rounds: 10,
        window_us: WINDOW_US,
    };
    Ok(widest(&limits(&mut probe, &usable, 1, look)?))
}

/// The sizes of an algorithm with one number of threads next to each other: a row.
fn order_by_threads(figures: &mut [Figure]) {
    let mut rest = figures;
    while let Some(first) = rest.first() {
        let subject = first.case.subject;
        let length = rest
            .iter()
            .take_while(|f| f.case.subject == subject)
            .count();
        let (block, others) = rest.split_at_mut(length);
        block.sort_by_key(|f| f.case.threads); // stable: sizes stay in order
        rest = others;
    }
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
    let names = figures.iter().map(|f| name(&f.case, "limit").len());
    let width = names.max().unwrap_or(0).max(20);
    let _ = writeln!(
        out,
        "{}",
        paint.bold(&format!("{:<width$}{header}", "type"))
    );
    for row in figures.chunks(columns) {
        let limit = (Implementation::Limit, "limit");
        for (who, through) in ROWS.into_iter().chain([limit]) {
            if who == Implementation::Limit && row[0].rate(who).is_none() {
                continue;
            }
            let line = |name: &str, cell: &dyn Fn(&Figure) -> Option<String>| {
                let cells = row.iter().map(|f| cell(f).unwrap_or_else(|| "-".into()));
                let cells: String = cells.map(|cell| format!("{cell:>14}")).collect();
                format!("{name:<width$}{cells}\n")
            };
            out += &line(&name(&row[0].case, through), &|f| {
                Some(format!("{:.2}k", f.rate(who)? / 1000.0))
            });
            if row[0].case.threads > 1 {
                let times = |f: &Figure| Some(f.rounds.scaling.get(&who)?.median);
                out += &line("  times one thread", &|f| Some(format!("{:.3}", times(f)?)));
                out += &line("  efficiency", &|f| {
                    let part = times(f)? / f.case.threads as f64;
                    Some(format!("{:.1}%", 100.0 * part))
                });
            }
        }
    }
    out
}

fn bytes_heading(bytes: usize) -> String {
    format!("{bytes} bytes")
}

pub fn speed(args: &SpeedArgs) -> Result<()> {
    let started = Instant::now();
    let (counts, cases) = cases(args)?;
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let mut crowd = Crowd::start(&counts)?;
    let host = crate::host::read(Some(&libcrypto));
    let backend = crowd.first().iter().find_map(|c| c.backend.clone());
    let effort = Effort::of_seconds(args.measure.seconds.unwrap_or(SECONDS), WINDOW_US);
    let paint = Paint::for_stdout();
    let expected = effort.duration(cases.len() * crowd.first().len());
    if !args.measure.json {
        output::out(heading(&host, &libcrypto, backend.as_deref()))?;
        output::err(format!(
            "This takes about {:.0} s.\n",
            expected.as_secs_f64().ceil()
        ));
    }
    let bar = progress(cases.len(), expected);
    let mut figures = Vec::new();
    for case in cases {
        bar.set_message(label(&case));
        figures.extend(crowd.measure(case, effort)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    figures.retain(|f| counts.contains(&f.case.threads));
    order_by_threads(&mut figures);
    let total = |count: fn(&Figure) -> usize| figures.iter().map(count).sum::<usize>();
    let how = How {
        seconds: started.elapsed().as_secs_f64(),
        windows_discarded: total(|f| f.rounds.discarded),
        windows_doubtful: total(|f| f.rounds.doubtful),
    };
    if args.measure.json {
        let backend = backend.as_deref().and_then(Backend::by_name);
        let widest = crowd.widest();
        let rows = figures
            .iter()
            .flat_map(|f| f.rows(backend, widest))
            .collect();
        return output::out(Document::new("speed", host, rows, Body { speed: how }).to_json());
    }
    let columns = figures
        .iter()
        .take_while(|f| same_row(&figures[0], f))
        .count();
    let mut text = table(&figures, columns, paint).to_string();
    text += &format!("Wall clock, medians. It took {:.1} s.\n", how.seconds);
    if how.windows_doubtful > 0 {
        text += &format!(
            "Warning: the machine is busy. In {} rounds that count, wall clock and CPU time disagree \
             by more than 5 %.\n",
            how.windows_doubtful
        );
    }
    output::out(text)
}

fn same_row(a: &Figure, b: &Figure) -> bool {
    (a.case.subject, a.case.threads) == (b.case.subject, b.case.threads)
}
