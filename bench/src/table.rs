// SPDX-License-Identifier: BSD-2-Clause
//! The terminal's report: a line for each cell, and notes on what was wrong or absent.

use crate::answer::{Missing, OPERATIONS};
use crate::goals::{place, unmeasured, Judged, Maker};
use crate::grid::{Cell, Kind};
use crate::plan::Environment;
use crate::published::Run;
use crate::results::Row;
use crate::run::{Fault, Found};
use std::collections::BTreeMap;
use std::fmt::Write;
use terminal::gigabytes;
use terminal::style::{clean, paint, BAD, BOLD, DIM, GOOD, WARN};
use terminal::table::Table;

pub fn percent(value: f64) -> String {
    match value * 100.0 {
        p if p >= 9.95 => format!("{p:.1} %"),
        p => format!("{p:.2} %"),
    }
}

/// Figures of a short call, which are better told by its time.
pub fn nanoseconds(row: &Row) -> String {
    match row.ns_per_call() {
        ns if ns < 99.95 => format!("{ns:.1} ns"),
        ns => format!("{ns:.0} ns"),
    }
}

fn figure(row: &Row) -> String {
    match row.cell.kind {
        Kind::Alone => nanoseconds(row),
        Kind::Throughput => gigabytes(row.rate.median) + " GB/s",
    }
}

/// The goals of a cell: met, or which are missed by how much. Empty where it has none; a published
/// run names only those that it misses.
fn verdict(goals: &[&Judged]) -> String {
    if goals.is_empty() {
        return String::new();
    }
    let missed = goals.iter().filter(|g| !g.met).map(|g| {
        let subject = if g.of_best() { "" } else { &*g.subject };
        let missed_by = percent(g.missed_by());
        let said = format!("{subject} {}, missed by {missed_by}", g.said());
        said.trim_start().to_owned()
    });
    match missed.collect::<Vec<String>>() {
        none if none.is_empty() => paint(GOOD, "met"),
        missed => paint(WARN, missed.join("; ")),
    }
}

fn by_cell(goals: &[Judged]) -> BTreeMap<String, Vec<&Judged>> {
    let mut map: BTreeMap<String, Vec<&Judged>> = BTreeMap::new();
    for goal in goals {
        map.entry(goal.place()).or_default().push(goal);
    }
    map
}

fn line(run: &Run, environment: Environment, cell: Cell, goals: &[&Judged]) -> Vec<String> {
    let results = &run.results;
    let row = |id: &str| results.row(environment, cell, id);
    let of = |id: &str| {
        let limit = row(id).and_then(|r| r.limit);
        limit.map_or(String::new(), |l| percent(l.median))
    };
    let operations = results.of_bound(environment, cell, "core", OPERATIONS);
    let best = results.best_peer(environment, cell);
    let to_best = best.zip(row("core")).map(|(best, core)| {
        let paired = core.ratios.get(&best.subject).map(|ratio| ratio.median);
        paired.unwrap_or(core.rate.median / best.rate.median)
    });
    vec![
        place(environment, &cell),
        row("core").map_or(String::new(), figure),
        of("core"),
        operations.map_or(String::new(), percent),
        row("evp").map_or(String::new(), figure),
        of("evp"),
        best.map_or(String::new(), |b| results.title(&b.subject).to_owned()),
        best.map_or(String::new(), figure),
        to_best.map_or(String::new(), |r| format!("{r:.2} ×")),
        verdict(goals),
    ]
}

/// What the columns say, in the words of `tenrounds bench`.
const MEANING: &str =
    "limit: nothing but AES rounds, independent ones or one chain, as the mode needs them\n\
     ops: the operations of the core's own kernel, of which none waits for another one";

/// "Medians of 40 rounds shared by 8 processes, seed 7; 380 seconds."
pub fn effort(run: &Run) -> String {
    let effort = &run.effort;
    format!(
        "Medians of {} rounds shared by {} processes, seed {}; {:.0} seconds.",
        effort.rounds, effort.processes, run.seed, effort.seconds
    )
}

/// The table, and notes below it.
pub fn text(run: &Run) -> String {
    let mut table = Table::new(&[
        "",
        ">core",
        ">of limit",
        ">of ops",
        ">in OpenSSL",
        ">of limit",
        "best other",
        ">",
        ">core to it",
        "goal",
    ]);
    let goals = by_cell(&run.goals.judged);
    for (environment, cell) in run.results.cells() {
        let of_cell = goals.get(&place(environment, &cell));
        table.row(line(run, environment, cell, of_cell.map_or(&[], |g| g)));
    }
    let mut out = format!("{table}\n{}\n", paint(DIM, MEANING));
    for limit in &run.limits {
        let rate = gigabytes(limit.bytes_per_second);
        let _ = writeln!(out, "  {rate:>6} GB/s  {} ({})", limit.what, limit.name);
    }
    let (met, all) = (paint(BOLD, run.goals.met), run.goals.count());
    let _ = writeln!(out, "\n{met} of {all} goals met. {}", effort(run));
    let unmeasured = unmeasured(&run.results, Maker::of(&run.host.cpu.vendor));
    if !unmeasured.is_empty() {
        let _ = writeln!(out, "Not measured here: {}.", unmeasured.join("; "));
    }
    out += &absent(&run.absent);
    if run.effort.doubtful > 0 {
        let _ = writeln!(
            out,
            "The machine was busy: in {} windows wall clock and CPU time disagree by more than 5 %.",
            run.effort.doubtful
        );
    }
    let noisy = run.effort.noise.map_or(0, |noise| noise.doubtful);
    if noisy > 0 {
        let _ = writeln!(
            out,
            "The machine was noisy: in {noisy} windows the noise probe differs by more than 2 % from the others of its round."
        );
    }
    out + &faults(run.wrong.iter())
}

fn absent(missing: &[Missing]) -> String {
    let line = |m: &Missing| format!("absent: {}: {}\n", m.title, clean(&m.why));
    missing.iter().map(line).collect()
}

fn faults<'a>(faults: impl Iterator<Item = &'a Fault>) -> String {
    let line = |f: &Fault| {
        let place = place(f.environment, &f.cell);
        format!(
            "{} {}: {place}: {}\n",
            paint(BAD, "wrong:"),
            f.subject,
            clean(&f.why)
        )
    };
    faults.map(line).collect()
}

/// For --check.
pub fn checked(found: &[Found]) -> String {
    let right: usize = found.iter().map(|f| f.right).sum();
    let wrong: usize = found.iter().map(|f| f.faults.len()).sum();
    let first = found.first();
    let subjects = first.map_or(0, |f| f.subjects.len());
    absent(first.map_or(&[], |f| &f.absent))
        + &faults(found.iter().flat_map(|f| &f.faults))
        + &format!(
            "{right} outputs of {subjects} subjects are those of the core, {wrong} are not\n"
        )
}
