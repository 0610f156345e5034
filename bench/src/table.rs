// SPDX-License-Identifier: BSD-2-Clause
//! What is printed: a line for each cell, and what was wrong or absent.

use crate::cli::Run;
use crate::goals::{place, unmeasured, Judged};
use crate::grid::{Cell, Kind};
use crate::plan::Environment;
use crate::results::Row;
use crate::run::Found;
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

/// "0.97 of 0.98", "1.46 of 1.4".
pub fn standing(goal: &Judged) -> String {
    format!("{:.3} of {}", goal.value, goal.target)
}

/// The goals of a cell in a few words: met, or which is missed by how much.
fn verdict(goals: &[&Judged]) -> String {
    let missed: Vec<&&Judged> = goals.iter().filter(|g| !g.met).collect();
    if goals.is_empty() {
        return paint(DIM, "no goal");
    }
    if missed.is_empty() {
        return paint(GOOD, "met");
    }
    let said: Vec<String> = missed
        .iter()
        .map(|g| {
            let what = match g.id.rsplit('/').next() {
                Some("best") => g.what.trim_start_matches("to the best: ").to_owned(),
                Some("bound" | "rate") | None => format!("{} {}", g.subject, standing(g)),
                Some(other) => format!("{} to {other} {}", g.subject, standing(g)),
            };
            format!("{what}, by {}", percent(g.missed_by()))
        })
        .collect();
    paint(WARN, said.join("; "))
}

pub fn by_cell(goals: &[Judged]) -> BTreeMap<String, Vec<&Judged>> {
    let mut map: BTreeMap<String, Vec<&Judged>> = BTreeMap::new();
    for goal in goals {
        map.entry(goal.place()).or_default().push(goal);
    }
    map
}

fn line(run: &Run, environment: Environment, cell: Cell, goals: &[&Judged]) -> Vec<String> {
    let results = run.results;
    let row = |id: &str| results.row(environment, cell, id);
    let of = |id: &str| {
        let limit = row(id).and_then(|r| r.limit);
        limit.map_or(String::new(), |l| percent(l.median))
    };
    let best = results.best_peer(environment, cell);
    let to_best = best.and_then(|b| Some(row("core")?.ratios.get(&b.subject)?.median));
    vec![
        place(environment, &cell),
        row("core").map_or(String::new(), figure),
        of("core"),
        row("evp").map_or(String::new(), figure),
        of("evp"),
        best.map_or(String::new(), |b| results.title(&b.subject).to_owned()),
        best.map_or(String::new(), figure),
        to_best.map_or(String::new(), |r| format!("{r:.2}×")),
        verdict(goals),
    ]
}

/// The table, and notes below it.
pub fn text(run: &Run) -> String {
    let mut table = Table::new(&[
        "",
        ">core",
        ">of limit",
        ">evp",
        ">of limit",
        "best other",
        ">",
        ">core to it",
        "goal",
    ]);
    let goals = by_cell(run.goals);
    for (environment, cell) in run.results.cells() {
        let of_cell = goals.get(&place(environment, &cell));
        table.row(line(run, environment, cell, of_cell.map_or(&[], |g| g)));
    }
    let met = run.goals.iter().filter(|g| g.met).count();
    let mut out = format!("{table}\n");
    for figure in run.found.iter().flat_map(|f| &f.probe) {
        if let Some(summary) = figure.summary() {
            let rate = gigabytes(summary.median);
            let _ = writeln!(
                out,
                "  limit: {rate:>6} GB/s  {} ({})",
                figure.what, figure.name
            );
        }
    }
    let _ = writeln!(
        out,
        "\n{} of {} goals met. Medians of {} rounds shared by {} processes, seed {}; {:.0} seconds.",
        paint(BOLD, met),
        run.goals.len(),
        run.rounds,
        run.processes,
        run.seed,
        run.seconds
    );
    let unmeasured = unmeasured(run.results);
    if !unmeasured.is_empty() {
        let _ = writeln!(out, "Not measured here: {}.", unmeasured.join("; "));
    }
    out + &notes(run.found)
}

/// What is absent, doubtful or wrong.
fn notes(found: &[Found]) -> String {
    let mut out = String::new();
    for missing in found.first().into_iter().flat_map(|f| &f.absent) {
        let _ = writeln!(out, "absent: {}: {}", missing.title, clean(&missing.why));
    }
    let doubtful: usize = found.iter().map(|f| f.doubtful).sum();
    if doubtful > 0 {
        let _ = writeln!(
            out,
            "The machine was busy: in {doubtful} windows wall clock and CPU time disagree by more than 5 %."
        );
    }
    out + &faults(found)
}

fn faults(found: &[Found]) -> String {
    let mut out = String::new();
    for fault in found.iter().flat_map(|f| &f.faults) {
        let _ = writeln!(
            out,
            "{} {}: {}: {}",
            paint(BAD, "wrong:"),
            fault.subject,
            place(fault.environment, &fault.cell),
            clean(&fault.why)
        );
    }
    out
}

/// For --check.
pub fn checked(found: &[Found]) -> String {
    let right: usize = found.iter().map(|f| f.right).sum();
    let wrong: usize = found.iter().map(|f| f.faults.len()).sum();
    let mut out = String::new();
    for missing in found.first().into_iter().flat_map(|f| &f.absent) {
        let _ = writeln!(out, "absent: {}: {}", missing.title, clean(&missing.why));
    }
    let subjects = found.first().map_or(0, |f| f.subjects.len());
    out += &faults(found);
    let _ = writeln!(
        out,
        "{right} outputs of {subjects} subjects are those of the core, {wrong} are not"
    );
    out
}
