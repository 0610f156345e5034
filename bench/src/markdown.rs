// SPDX-License-Identifier: BSD-2-Clause
//! The run as a page, and its part of the directory's README.

use crate::cli::Run;
use crate::goals::{place, unmeasured, Judged};
use crate::grid::{Cell, Kind, Way};
use crate::plan::Environment;
use crate::results::{is_bound, is_ours, Row};
use crate::table::{by_cell, nanoseconds, percent};
use std::fmt::Write;
use terminal::error::{Error, Result};
use terminal::{gigabytes, size_name};

const BEGIN: &str = "<!-- written by tenrounds-bench --publish: begin -->";
const END: &str = "<!-- end -->";

/// A table of cells that differ in size alone.
struct Block {
    environment: Environment,
    way: Way,
    key_bits: u16,
    kind: Kind,
    threads: usize,
    cells: Vec<Cell>,
}

fn blocks(run: &Run) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (environment, cell) in run.results.cells() {
        let way = Way::of(&cell.spec);
        let fits = |b: &&mut Block| {
            (b.environment, b.way, b.key_bits, b.kind, b.threads)
                == (
                    environment,
                    way,
                    cell.spec.key_bits,
                    cell.kind,
                    cell.threads,
                )
        };
        match blocks.iter_mut().find(fits) {
            Some(block) => block.cells.push(cell),
            None => blocks.push(Block {
                environment,
                way,
                key_bits: cell.spec.key_bits,
                kind: cell.kind,
                threads: cell.threads,
                cells: vec![cell],
            }),
        }
    }
    blocks
}

/// The others of a block, those before the first that are ours.
fn columns<'a>(run: &'a Run, block: &Block) -> Vec<&'a str> {
    let mut ids: Vec<&str> = Vec::new();
    let here = |r: &&Row| r.environment == block.environment && block.cells.contains(&r.cell);
    for row in run.results.rows.iter().filter(here) {
        if !is_bound(&row.subject) && !ids.contains(&&*row.subject) {
            ids.push(&row.subject);
        }
    }
    let order = |id: &&str| run.results.subjects.iter().position(|(_, s)| s.id == *id);
    ids.sort_by_key(|id| (!is_ours(id), order(id)));
    ids
}

fn value(row: &Row) -> String {
    let fraction = row.limit.map(|l| format!(" ({})", percent(l.median)));
    match row.cell.kind {
        Kind::Alone => nanoseconds(row),
        Kind::Throughput => gigabytes(row.rate.median) + &fraction.unwrap_or_default(),
    }
}

fn verdict(goals: Option<&Vec<&Judged>>) -> String {
    let Some(goals) = goals else {
        return String::new();
    };
    let missed: Vec<String> = goals
        .iter()
        .filter(|g| !g.met)
        .map(|g| format!("{} missed by {}", short_name(g), percent(g.missed_by())))
        .collect();
    match missed.is_empty() {
        true => "met".into(),
        false => missed.join("; "),
    }
}

fn short_name(goal: &Judged) -> String {
    match goal.id.rsplit('/').next() {
        Some("best") => goal.what.trim_start_matches("to the ").to_owned(),
        Some("rate") => format!("{} {} GB/s", goal.subject, goal.target),
        Some("bound") | None => format!("{} {}", goal.subject, goal.target),
        Some(other) => format!("{} {}× {other}", goal.subject, goal.target),
    }
}

fn table(run: &Run, block: &Block) -> String {
    let ids = columns(run, block);
    let heads: Vec<&str> = ids.iter().map(|id| run.results.title(id)).collect();
    let mut out = format!(
        "| | {} | goal |\n|---{}|---|\n",
        heads.join(" | "),
        "|---:".repeat(ids.len())
    );
    let goals = by_cell(run.goals);
    for cell in &block.cells {
        let cells: Vec<String> = ids
            .iter()
            .map(|id| {
                let row = run.results.row(block.environment, *cell, id);
                row.map_or("-".into(), value)
            })
            .collect();
        let goals = goals.get(&place(block.environment, cell));
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            size_name(cell.bytes),
            cells.join(" | "),
            verdict(goals)
        );
    }
    out
}

fn heading(block: &Block) -> String {
    let mut text = format!("{}, AES-{}", block.way.title(), block.key_bits);
    if block.kind == Kind::Alone {
        text += ", one call alone";
    }
    if block.threads > 1 {
        text += &format!(", {} threads", block.threads);
    }
    if block.environment == Environment::Software {
        text += ", without the processor's AES";
    }
    text
}

fn host(run: &Run) -> String {
    let host = &run.host;
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let mut out = format!(
        "{}, family {} model {} stepping {}, microcode {}, governor {}, {}, {}, {}. {}, {}. Medians of {} rounds shared by \
         {} processes, seed {}, {:.0} seconds.\n",
        host.cpu.brand,
        host.cpu.family,
        host.cpu.model,
        host.cpu.stepping,
        or_unknown(&host.microcode),
        or_unknown(&host.governor),
        host.hypervisor.as_ref().map_or("no hypervisor".into(), |h| format!("in a virtual machine ({h})")),
        or_unknown(&host.os),
        host.kernel,
        run.date,
        if run.quick { "a quick run" } else { "a full run" },
        run.rounds,
        run.processes,
        run.seed,
        run.seconds,
    );
    let unmeasured = unmeasured(run.results);
    if !unmeasured.is_empty() {
        let _ = writeln!(out, "Goals not measured here: {}.", unmeasured.join("; "));
    }
    let doubtful: usize = run.found.iter().map(|f| f.doubtful).sum();
    let repeated: usize = run.found.iter().map(|f| f.repeated).sum();
    let _ = writeln!(
        out,
        "{repeated} windows were repeated because wall clock and CPU time disagreed by more than 5 %; {doubtful} count although \
         they did."
    );
    out
}

/// The page of a run.
pub fn text(run: &Run, pictures: &[&str]) -> String {
    let mut out = String::from("<!-- SPDX-License-Identifier: BSD-2-Clause -->\n# Benchmark\n\n");
    out += &host(run);
    out += "\nGB/s, and in brackets the part of what the processor can do at all: of independent AES rounds, or of a chain of them \
            where a mode is one (calls of such a mode that are messages of their own can overlap at their ends, and exceed it \
            when short). A call alone: its time, nothing of two calls at once. Written by `tenrounds-bench`; \
            [how it is measured](../measuring.md#side-by-side-with-other-libraries).\n\n";
    for picture in pictures {
        let _ = writeln!(out, "![{picture}]({picture})\n");
    }
    out += "## Who\n\n| | version |\n|---|---|\n";
    for (environment, subject) in &run.results.subjects {
        if *environment == Environment::Plain {
            let _ = writeln!(out, "| {} | {} |", subject.title, subject.version);
        }
    }
    for missing in run.found.first().into_iter().flat_map(|f| &f.absent) {
        let _ = writeln!(out, "| {} | absent: {} |", missing.title, missing.why);
    }
    out += "\n## The limits\n\n| | GB/s | |\n|---|---:|---|\n";
    for figure in run.found.iter().flat_map(|f| &f.probe) {
        if let Some(s) = figure.summary() {
            let _ = writeln!(
                out,
                "| {} | {} | {} |",
                figure.name,
                gigabytes(s.median),
                figure.what
            );
        }
    }
    out += "\n";
    out += &misses(run, "##");
    for block in blocks(run) {
        let _ = writeln!(out, "## {}\n\n{}", heading(&block), table(run, &block));
    }
    out.trim_end().to_owned() + "\n"
}

/// The goals that are missed, those of one reason together.
fn misses(run: &Run, level: &str) -> String {
    let met = run.goals.iter().filter(|g| g.met).count();
    let mut out = format!(
        "{level} Goals that are missed\n\n{met} of {} goals are met.\n",
        run.goals.len()
    );
    let faults: Vec<_> = run.found.iter().flat_map(|f| &f.faults).collect();
    if !faults.is_empty() {
        let _ = write!(out, "\nWrong outputs, not timed:\n\n");
        for f in faults {
            let _ = writeln!(
                out,
                "- {}: {}: {}",
                f.subject,
                place(f.environment, &f.cell),
                f.why
            );
        }
    }
    let missed = || run.goals.iter().filter(|g| !g.met);
    let mut reasons: Vec<Option<&str>> = Vec::new();
    for goal in missed() {
        if !reasons.contains(&goal.reason.as_deref()) {
            reasons.push(goal.reason.as_deref());
        }
    }
    reasons.sort_by_key(|r| r.is_none());
    for reason in reasons {
        let _ = write!(
            out,
            "\n{}\n\n| | goal | reached | missed by |\n|---|---|---:|---:|\n",
            reason.unwrap_or("Not explained yet:")
        );
        for goal in missed().filter(|g| g.reason.as_deref() == reason) {
            let _ = writeln!(
                out,
                "| {} | {}, {}: {} | {:.3} ± {:.3} | {} |",
                goal.place(),
                goal.subject,
                goal.what,
                goal.target,
                goal.value,
                goal.spread,
                percent(goal.missed_by())
            );
        }
    }
    out + "\n"
}

/// The directory's README with the part about this run renewed.
pub fn readme(text: &str, run: &Run, name: &str) -> Result<String> {
    let places = (text.find(BEGIN), text.find(END));
    let (Some(begin), Some(end)) = places else {
        return Err(Error::failure(format!(
            "README.md of that directory has no lines '{BEGIN}' and '{END}', between which the misses belong"
        )));
    };
    let part = format!(
        "\n\n## The last run: [{name}]({name}.md)\n\n{}\n{}",
        host(run),
        misses(run, "###")
    );
    Ok(format!(
        "{}{}{}",
        &text[..begin + BEGIN.len()],
        part,
        &text[end..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_a_place_for_the_misses() {
        let readme = include_str!("../../docs/benchmarks/README.md");
        assert!(readme.find(BEGIN).unwrap() < readme.find(END).unwrap());
    }
}
