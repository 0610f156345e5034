// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds speed`: stock OpenSSL and tenrounds in the columns that `openssl speed` made
//! familiar.

mod scaling;

use crate::algorithm::Direction;
use crate::bench::case::Case;
use crate::bench::chart::{columns, label_width, Layout, Paint, Row};
use crate::bench::figure::Figure;
use crate::bench::how::How;
use crate::bench::implementation::Implementation::{self, Core, Limit, OpenSsl, Tenrounds};
use crate::bench::measure::note_absent;
use crate::bench::measure::{limits, widest, Effort, TEAMS};
use crate::bench::passes;
use crate::bench::plan::{self, threads, work};
use crate::bench::report::{answer, percent, spread, times, words};
use crate::bench::team::WorkerProcess;
use crate::cli::SpeedArgs;
use crate::core::{Backend, Cpu};
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks;
use crate::output;
use crate::schema::{Document, Host};
use crate::style::item;
use ::measure::busy::{Disturbance, Watch};
use ::measure::limit;
use anstyle::Style;
use indicatif::ProgressBar;
use scaling::Scaling;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Seconds for each figure. What is measured if nothing is named then takes nine seconds on an idle
/// machine.
const SECONDS: f64 = 0.1;
/// And no more than this on a busy one, plus the rounds that are never left out.
const USUAL_TIME: Duration = Duration::from_secs(12);
const WINDOW_US: u64 = 2000;

/// The rows of an algorithm, in this order.
const ROWS: [(Implementation, &str); 4] = [
    (OpenSsl, "OpenSSL"),
    (Tenrounds, "tenrounds"),
    (Core, "core"),
    (Limit, "limit"),
];

const EFFICIENCY: &str =
    "efficiency: the rate of N threads as a fraction of N times the rate of one thread in the same \
     round. More than 100%: the one thread was slowed down, by the clock or by other programs.";

/// What JSON says besides the rows.
#[derive(Serialize)]
struct Body {
    speed: How,
}

/// What is measured, with one thread, and notes on what was left out.
fn cases(args: &SpeedArgs) -> Result<(Vec<Case>, Vec<String>)> {
    let work = work(&args.cases.algorithms, args.measure.decrypt, false)?;
    if let Some((other, _)) = work.iter().find(|(subject, _)| !subject.is_aes()) {
        return Err(Error::usage(format!(
            "tenrounds has no {}; `tenrounds compare` shows OpenSSL's",
            other.title()
        )));
    }
    plan::cases(&args.measure, &args.cases, work, &[1])
}

/// Who measures: one thread, or several of which each round has all.
enum Crowd {
    One(Vec<Vec<WorkerProcess>>),
    Several(Scaling),
}

impl Crowd {
    fn start(counts: &[usize], core: bool) -> Result<Crowd> {
        let core = core.then_some(Core);
        let who: Vec<_> = [OpenSsl, Tenrounds].into_iter().chain(core).collect();
        if counts != [1] {
            let widest = widest_here()?;
            return Ok(Crowd::Several(Scaling::new(&who, counts, widest)?));
        }
        let team = |_| who.iter().map(|who| WorkerProcess::start(*who)).collect();
        let teams = (0..TEAMS).map(team).collect::<Result<Vec<_>>>()?;
        Ok(Crowd::One(teams))
    }

    fn teams(&self) -> &[Vec<WorkerProcess>] {
        match self {
            Crowd::One(teams) => teams,
            Crowd::Several(scaling) => &scaling.teams,
        }
    }

    fn widest(&self) -> Option<limit::Limit> {
        match self {
            Crowd::One(_) => None,
            Crowd::Several(scaling) => scaling.widest,
        }
    }

    /// For each case a figure for each number of threads.
    fn measure(
        &mut self,
        cases: &[Case],
        effort: (Effort, Option<Instant>),
        bar: &ProgressBar,
    ) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        match self {
            Crowd::Several(scaling) => {
                let (counts, widest) = (scaling.counts.clone(), scaling.widest);
                let share = |team: &mut [WorkerProcess], case: &Case, effort| {
                    scaling::share(team, case, &counts, widest, effort)
                };
                let found = passes::measure(cases, &mut scaling.teams, effort, bar, share)?;
                for (case, all) in cases.iter().zip(found) {
                    figures.extend(scaling.figures(*case, all));
                }
            }
            Crowd::One(teams) => {
                let share = |team: &mut [WorkerProcess], case: &Case, effort| {
                    Ok(vec![case.measure(team, None, effort)?])
                };
                let found = passes::measure(cases, teams, effort, bar, share)?;
                for (&case, all) in cases.iter().zip(found) {
                    figures.extend(all.into_iter().map(|rounds| Figure { case, rounds }));
                }
            }
        }
        Ok(figures)
    }
}

/// The registers with the highest throughput, by a short look.
fn widest_here() -> Result<Option<limit::Limit>> {
    let usable = limit::Limit::usable(&Cpu::detect());
    if usable.is_empty() {
        return Ok(None);
    }
    let mut probe = WorkerProcess::start(Limit)?;
    let look = Effort {
        rounds: 10,
        window_us: WINDOW_US,
    };
    Ok(widest(&limits(&mut probe, &usable, 1, look)?))
}

fn same_work(a: &Figure, b: &Figure) -> bool {
    (a.case.subject, a.case.direction) == (b.case.subject, b.case.direction)
}

/// The sizes of an algorithm with one number of threads next to each other: a row.
fn order_by_threads(figures: &mut [Figure]) {
    let mut rest = figures;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|f| same_work(first, f)).count();
        let (block, others) = rest.split_at_mut(length);
        block.sort_by_key(|f| f.case.threads); // stable: sizes stay in order
        rest = others;
    }
}

/// The lines that `openssl speed` begins with.
fn heading(host: &Host, libcrypto: &LibCrypto, backend: Option<&str>) -> String {
    let mut lines = vec![
        format!(
            "version: {}, tenrounds {}",
            libcrypto.version(),
            env!("CARGO_PKG_VERSION")
        ),
        format!("CPU: {}", host.cpu.brand),
    ];
    let settings = libcrypto.cpu_settings();
    lines.extend(settings.map(|settings| format!("CPUINFO: {settings}")));
    for (name, mask) in &host.masks {
        let (value, hex) = (&mask.value, &mask.hex);
        lines.push(format!(
            "mask: {name}={value} ({}={hex})",
            masks::LIBCRYPTO_MASK
        ));
    }
    lines.push(format!("backend: {}", backend.unwrap_or("none")));
    lines.push("The 'numbers' are in 1000s of bytes per second processed.".into());
    lines.iter().map(|line| item("", line)).collect()
}

/// "AES-256-CBC decrypt tenrounds x2". Without a direction it is encryption.
fn name(case: &Case, who: &str) -> String {
    let direction = match case.direction {
        Direction::Encrypt => "",
        Direction::Decrypt => " decrypt",
    };
    let name = format!("{}{direction} {who}", case.subject.title());
    match case.threads {
        1 => name,
        n => format!("{name} x{n}"),
    }
}

/// A row of cells for figures of several sizes; "-" where there is none.
fn row(label: String, figures: &[Figure], cell: impl Fn(&Figure) -> Option<String>) -> Row {
    let cells = figures.iter().map(cell);
    Row::new(
        label,
        cells
            .map(|cell| cell.unwrap_or_else(|| "-".into()))
            .collect(),
    )
}

/// The rows of an algorithm with one number of threads.
fn rows(figures: &[Figure], paint: Paint) -> Vec<Row> {
    let dim = Style::new().dimmed();
    let sign = paint.plus_minus();
    let mut rows = Vec::new();
    for (who, title) in ROWS {
        if figures.iter().all(|f| f.rate(who).is_none()) {
            continue;
        }
        rows.push(row(name(&figures[0].case, title), figures, |f| {
            Some(format!("{:.2}k", f.rate(who)? / 1000.0))
        }));
        let within = |f: &Figure| f.rounds.rates.rate(&who).map(spread);
        rows.push(row(format!("  {sign}"), figures, within).styled(dim));
        if figures[0].case.threads > 1 {
            let times = |f: &Figure| Some(f.rounds.scaling.get(&who)?.median);
            rows.push(row("  times one thread".into(), figures, |f| {
                times(f).map(|n| format!("{n:.3}"))
            }));
            rows.push(row("  efficiency".into(), figures, |f| {
                let part = times(f)? / f.case.threads as f64;
                Some(format!("{:.1}%", 100.0 * part))
            }));
        }
    }
    let speed_up = |f: &Figure| f.rounds.rates.ratio(&Tenrounds, &OpenSsl);
    if figures.iter().any(|f| speed_up(f).is_some()) {
        rows.push(row("  speed-up".into(), figures, |f| {
            let ratio = speed_up(f)?;
            Some(format!("{} {sign}{}", times(ratio.median), spread(ratio)))
        }));
    }
    let of_limit = |f: &Figure| f.ratio(Tenrounds, Limit).map(percent);
    if figures.iter().any(|f| of_limit(f).is_some()) {
        rows.push(row("  of limit".into(), figures, of_limit));
    }
    rows
}

fn table(figures: &[Figure], paint: Paint) -> String {
    let together =
        |f: &&Figure| same_work(&figures[0], f) && f.case.threads == figures[0].case.threads;
    let sizes = figures.iter().take_while(together).count();
    let heads = row("type".into(), &figures[..sizes], |f| {
        Some(format!("{} bytes", f.case.bytes))
    });
    let mut all = vec![heads.styled(Style::new().bold())];
    all.extend(figures.chunks(sizes).flat_map(|f| rows(f, paint)));
    let layout = Layout {
        indent: 0,
        label: label_width(all.iter().map(|row| row.label.as_str())),
        cell: 14,
    };
    columns(paint, layout, &all)
}

pub fn speed(args: &SpeedArgs) -> Result<()> {
    let watch = Watch::start();
    let started = Instant::now();
    let (cases, mut notes) = cases(args)?;
    let counts = threads(&args.cases.threads)?;
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let mut crowd = Crowd::start(&counts, args.cases.core)?;
    let host = crate::host::read(Some(&libcrypto));
    let backend = crowd.teams()[0].iter().find_map(|c| c.backend.clone());
    let effort = Effort::of_seconds(args.measure.seconds.unwrap_or(SECONDS), WINDOW_US);
    let paint = Paint::for_stdout();
    let expected = effort.duration(cases.len() * crowd.teams()[0].len());
    if !args.measure.json {
        let seconds = expected.as_secs_f64().ceil();
        output::err(format!("This takes about {seconds:.0} s.\n"));
    }
    let bar = passes::bar(&cases, crowd.teams(), effort);
    let usual = args.cases.algorithms.is_empty() && args.measure.seconds.is_none();
    let end = usual.then_some(started + USUAL_TIME);
    let mut figures = crowd.measure(&cases, (effort, end), &bar)?;
    for figure in &figures {
        note_absent(&figure.rounds, &mut notes);
    }
    bar.finish_and_clear();
    let widest = crowd.widest();
    drop(crowd);
    figures.retain(|f| counts.contains(&f.case.threads));
    order_by_threads(&mut figures);
    let disturbance = Disturbance::of(watch.end(), figures.iter().map(|f| f.rounds.disturbance()));
    let took = started.elapsed();
    if args.measure.json {
        let how = How::new(took, effort, disturbance, &notes);
        let backend = backend.as_deref().and_then(Backend::by_name);
        let rows = figures.iter().flat_map(|f| f.rows(backend, widest));
        let rows = rows.collect();
        return output::out(Document::new("speed", host, rows, Body { speed: how }).to_json());
    }
    let mut text = item("", paint.bold(&answer(&figures)));
    text += &heading(&host, &libcrypto, backend.as_deref());
    text += &table(&figures, paint);
    let scales = figures.iter().any(|f| f.case.threads > 1);
    for line in words(&figures)
        .into_iter()
        .chain(scales.then_some(EFFICIENCY))
    {
        text += &paint.paragraph(line);
    }
    for note in notes {
        text += &paint.paragraph(&format!("Note: {note}"));
    }
    text += &paint.paragraph(&format!(
        "Wall clock, medians. {}: half of the rounds differ from the median by at most this, and so \
         do the medians of all processes. It took {:.1} s.",
        paint.plus_minus(),
        took.as_secs_f64()
    ));
    output::out(text + &paint.remark(disturbance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::plan::SIZES;

    #[test]
    fn without_arguments_it_takes_ten_seconds() {
        let windows = work(&[], false, false).unwrap().len() * SIZES.len() * 2;
        let took = Effort::of_seconds(SECONDS, WINDOW_US).duration(windows);
        assert!((7.0..10.5).contains(&took.as_secs_f64()), "{took:?}");
    }
}
