// SPDX-License-Identifier: BSD-2-Clause
//! The reports of `--replace`: how fast a program gets if this project's provider takes the place
//! of the default one inside the same libcrypto. Every figure is a paired ratio, ours to theirs.

use crate::goals::place;
use crate::grid::Way;
use crate::markdown;
use crate::peer::BLOCK;
use crate::peers::openssl::replaced;
use crate::plan::Environment;
use crate::published::Run;
use crate::reasons::Families;
use crate::results::Row;
use crate::table::effort;
use measure::stats::Summary;
use std::fmt::Write;
use terminal::size_name;
use terminal::style::{paint, BOLD, GOOD, WARN};
use terminal::table::Table;

/// Whether a run is one of these.
pub fn is(run: &Run) -> bool {
    pairs(run).next().is_some()
}

/// Ours, and how it stands to what it replaces.
fn pairs(run: &Run) -> impl Iterator<Item = (&Row, Summary)> {
    run.results.rows.iter().filter_map(|row| {
        let stock = replaced(&row.subject)?;
        Some((row, *row.ratios.get(&stock)?))
    })
}

/// Whether a cell is slower beyond the spread.
fn is_slower(run: &Run, row: &Row) -> bool {
    run.goals.missed().any(|goal| {
        (goal.environment, goal.cell, &goal.subject) == (row.environment, row.cell, &row.subject)
    })
}

/// As many digits as the JSON has.
fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 10.0 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}

/// The cells of one way with one key size in one environment, in one libcrypto.
#[derive(PartialEq, Eq, Clone)]
struct Group<'a> {
    environment: Environment,
    way: Way,
    key_bits: Option<u16>,
    subject: &'a str,
}

fn in_group(row: &Row, group: &Group<'_>) -> bool {
    let spec = &row.cell.spec;
    row.environment == group.environment
        && row.subject == group.subject
        && Way::of(spec) == group.way
        && group.key_bits.is_none_or(|bits| bits == spec.key_bits)
}

/// What is left in order, each once.
fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    for one in all {
        if !kept.contains(&one) {
            kept.push(one);
        }
    }
    kept
}

fn subjects(run: &Run) -> Vec<&str> {
    distinct(pairs(run).map(|(row, _)| &*row.subject))
}

fn ways(run: &Run) -> Vec<(Environment, Way)> {
    distinct(pairs(run).map(|(row, _)| (row.environment, Way::of(&row.cell.spec))))
}

/// "3.5.5" of "evp-3.5.5".
fn version(subject: &str) -> &str {
    subject.trim_start_matches("evp-")
}

fn named(environment: Environment, way: Way) -> String {
    match environment {
        Environment::Plain => way.title(),
        Environment::Software => way.title() + ", software",
    }
}

/// "0.98 to 3.21", the lowest and the highest of a group, and whether none is below 1 beyond its
/// spread.
fn range(run: &Run, group: &Group<'_>) -> Option<(String, bool)> {
    let here = || pairs(run).filter(|(row, _)| in_group(row, group));
    let medians = || here().map(|(_, ratio)| ratio.median);
    let lowest = medians().min_by(f64::total_cmp)?;
    let highest = medians().max_by(f64::total_cmp)?;
    let good = !here().any(|(row, _)| is_slower(run, row));
    Some((format!("{} to {}", times(lowest), times(highest)), good))
}

/// The terminal's report: the verdict, a line for each way, and every cell that got slower.
pub fn text(run: &Run) -> String {
    let missed: Vec<_> = run.goals.missed().collect();
    let verdict = match missed.len() {
        0 => paint(GOOD, "Nothing gets slower"),
        n => paint(
            WARN,
            format!("{n} of {} cells get slower", run.goals.count()),
        ),
    };
    let mut out = format!(
        "{verdict} beyond the spread where tenrounds replaces the default provider in the same libcrypto.\n\n"
    );
    let subjects = subjects(run);
    let heads: Vec<String> = subjects
        .iter()
        .map(|s| format!(">{}", version(s)))
        .collect();
    let heads: Vec<&str> = std::iter::once("times as fast as OpenSSL")
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut table = Table::new(&heads);
    for (environment, way) in ways(run) {
        let mut cells = vec![named(environment, way)];
        for subject in &subjects {
            let group = Group {
                environment,
                way,
                key_bits: None,
                subject,
            };
            cells.push(match range(run, &group) {
                Some((text, true)) => text,
                Some((text, false)) => paint(WARN, text),
                None => "not in it".into(),
            });
        }
        table.row(cells);
    }
    let _ = writeln!(out, "{table}");
    for goal in &missed {
        let at = place(goal.environment, &goal.cell);
        let _ = writeln!(
            out,
            "slower: {at}: {:.3} ± {:.3} × {}",
            goal.value, goal.spread, goal.of
        );
    }
    let (met, all) = (paint(BOLD, run.goals.met), run.goals.count());
    let _ = writeln!(
        out,
        "{met} of {all} cells are at least as fast. {}",
        effort(run)
    );
    out
}

/// The page: every cell's ratio.
pub fn page(run: &Run, families: &Families) -> String {
    let title = families.title(&run.host.cpu);
    let mut out = format!(
        "<!-- SPDX-License-Identifier: BSD-2-Clause -->\n# tenrounds in the place of OpenSSL's default provider on \
         {title}, {}\n\n{}\n{}\n",
        run.date,
        markdown::provenance(run),
        markdown::fill(
            "Each figure is the throughput of tenrounds as a multiple of that of the default provider in the same \
             libcrypto: the same calls of EVP, in alternated windows. Bold cells are slower beyond the spread. Written by \
             `make bench-replace`; [how it is measured](../../measuring.md#in-the-place-of-the-default-provider)."
        )
    );
    out += &markdown::missed(run, families.of(&run.host.cpu), &title);
    for subject in subjects(run) {
        let stock = replaced(subject).expect("it is one of a pair");
        let _ = writeln!(out, "## {}\n", run.results.title(&stock));
        out += &table(run, subject);
    }
    out.trim_end().to_owned() + "\n"
}

/// A line for each way and key size, a column for each size.
fn table(run: &Run, subject: &str) -> String {
    let here = || pairs(run).filter(|(row, _)| row.subject == subject);
    // Its longest size names a column.
    let mut sizes: Vec<usize> = here().map(|(row, _)| row.cell.bytes).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    sizes.dedup_by_key(|size| column(*size));
    sizes.reverse();
    let mut out = String::from("| |");
    for &size in &sizes {
        let _ = write!(out, " {} |", size_name(size));
    }
    let _ = write!(out, "\n|---|{}\n", "---:|".repeat(sizes.len()));
    let lines = distinct(here().map(|(row, _)| Group {
        environment: row.environment,
        way: Way::of(&row.cell.spec),
        key_bits: Some(row.cell.spec.key_bits),
        subject,
    }));
    for group in lines {
        let bits = group.key_bits.expect("it was just set");
        let _ = write!(out, "| {}, {bits} |", named(group.environment, group.way));
        for &size in &sizes {
            let found = here()
                .find(|(row, _)| in_group(row, &group) && column(row.cell.bytes) == column(size));
            let _ = match found {
                Some((row, ratio)) if is_slower(run, row) => {
                    write!(out, " **{}** |", times(ratio.median))
                }
                Some((_, ratio)) => write!(out, " {} |", times(ratio.median)),
                None => write!(out, " |"),
            };
        }
        out += "\n";
    }
    out + "\n"
}

/// Modes of whole blocks round sizes down: 100 and 96 share a column. Those of a few blocks do not.
fn column(bytes: usize) -> usize {
    match bytes {
        0..64 => bytes,
        _ => bytes / BLOCK * BLOCK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of a published page comes from the file beside it.
    #[test]
    fn published_pages_are_those_of_their_files() {
        let dir = "../docs/benchmarks/replace";
        let runs = crate::overview::published(std::path::Path::new(dir)).unwrap();
        assert!(!runs.is_empty());
        for (name, run) in runs {
            assert!(is(&run), "{name}");
            let file = format!("{dir}/{name}.md");
            let written = std::fs::read_to_string(&file).unwrap();
            let again = page(&run, &Families::known());
            assert!(
                written == again,
                "{file}: write it again (tenrounds-bench --from NAME.json --publish {dir})"
            );
        }
    }

    #[test]
    fn sizes_of_whole_blocks_share_their_column() {
        assert_eq!(column(100), column(96));
        assert_eq!(column(1350), column(1344));
        assert_ne!(column(31), column(16));
        assert_ne!(column(256), column(16));
    }
}
