// SPDX-License-Identifier: BSD-2-Clause
//! The part of docs/benchmarks/README.md that compares the published runs.

use crate::grid::Way;
use crate::json;
use crate::markdown::{figure, fill, meaning, provenance, shown, shown_name};
use crate::plan::Environment;
use crate::published::{Probed, Run};
use crate::reasons::Families;
use crate::results::Row;
use crate::table::percent;
use std::fmt::Write;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::gigabytes;

const BEGIN: &str = "<!-- written by tenrounds-bench --publish: begin -->";
const END: &str = "<!-- end -->";

/// Reads a published run.
pub fn read(file: &Path) -> Result<Run> {
    let failed = |why: String| Error::failure(format!("{} {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| failed(format!("cannot be read: {e}")))?;
    json::read(&text).map_err(failed)
}

/// The runs of a directory by name, the newest first.
pub fn published(dir: &Path) -> Result<Vec<(String, Run)>> {
    let failed = |e: std::io::Error| Error::failure(format!("cannot read {}: {e}", dir.display()));
    let mut runs = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path
            .file_stem()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        if path.extension().is_some_and(|e| e == "json") {
            runs.push((name.to_owned(), read(&path)?));
        }
    }
    runs.sort_by(|(a, one), (b, other)| (&other.date, b).cmp(&(&one.date, a)));
    Ok(runs)
}

/// The last run of each processor family, by its title.
fn latest<'a>(runs: &'a [(String, Run)], families: &Families) -> Vec<(String, &'a str, &'a Run)> {
    let mut latest: Vec<(String, &str, &Run)> = Vec::new();
    for (name, run) in runs {
        let title = families.title(&run.host.cpu);
        if !latest.iter().any(|(known, ..)| *known == title) {
            latest.push((title, name, run));
        }
    }
    latest
}

/// The README with the comparison renewed. `runs`: the newest first.
pub fn readme(text: &str, runs: &[(String, Run)], families: &Families) -> Result<String> {
    let (Some(begin), Some(end)) = (text.find(BEGIN), text.find(END)) else {
        return Err(Error::failure(format!(
            "README.md of that directory lacks the lines '{BEGIN}' and '{END}', between which the runs belong"
        )));
    };
    let latest = latest(runs, families);
    let mut part = format!(
        "\n\n## The families\n\n{}\n{}\n",
        table(&latest),
        fill(&meaning(latest.iter().map(|(.., run)| *run)))
    );
    part += "## The runs\n";
    for (name, run) in runs {
        let title = families.title(&run.host.cpu);
        let _ = write!(
            part,
            "\n### [{title}, {}]({name}.md)\n\n{}\n{}",
            run.date,
            provenance(run),
            fill(&format!(
                "{} of {} goals are met. The limits by themselves: {}.",
                run.goals.met,
                run.goals.count(),
                limits(run)
            ))
        );
    }
    Ok(format!(
        "{}{part}\n{}",
        &text[..begin + BEGIN.len()],
        &text[end..]
    ))
}

/// "independent AES rounds, 512 bits: 236 GB/s", and so on.
fn limits(run: &Run) -> String {
    let wide = run
        .limits
        .iter()
        .filter(|l| l.name.starts_with("aes-") && l.name != "aes-chain");
    let wide = wide.max_by(|a, b| a.bytes_per_second.total_cmp(&b.bytes_per_second));
    let named = |name: &str| run.limits.iter().find(|l| l.name == name);
    let found = [wide, named("aes-chain"), named("clmul-zmm")];
    let text = |limit: &Probed| {
        let what = limit.what.split(':').next().unwrap_or_default();
        format!("{what}: {} GB/s", gigabytes(limit.bytes_per_second))
    };
    let texts: Vec<String> = found.into_iter().flatten().map(text).collect();
    texts.join("; ")
}

/// AES-128 at 16 KiB: the core's own calls, the provider, and the OpenSSL that it is in.
fn table(latest: &[(String, &str, &Run)]) -> String {
    let mut out = String::from("| AES-128, 16 KiB |");
    for (title, _, run) in latest {
        let stock = run.results.stock();
        let stock = stock
            .as_deref()
            .map_or("OpenSSL", |id| run.results.title(id));
        let _ = write!(out, " {title}: tenrounds | in {stock} | {stock} itself |");
    }
    let _ = write!(out, "\n|---|{}\n", "---:|".repeat(3 * latest.len()));
    for way in all_ways(latest) {
        let cells: Vec<_> = latest.iter().map(|(.., run)| shown(run, way)).collect();
        let Some(named) = cells.iter().flatten().next() else {
            continue;
        };
        let _ = write!(out, "| {} |", shown_name(named));
        for ((.., run), cell) in latest.iter().zip(&cells) {
            let stock = run.results.stock().unwrap_or_default();
            for id in ["core", "evp", &stock] {
                let row = cell.and_then(|cell| run.results.row(Environment::Plain, cell, id));
                let _ = write!(out, " {} |", row.map_or("-".into(), |row| both(run, row)));
            }
        }
        out.push('\n');
    }
    out
}

/// "16.1 (68.4 %; 89.0 % of the ceiling)": the core's own, where there is one.
fn both(run: &Run, row: &Row) -> String {
    let results = &run.results;
    let bound = results.tighter_bound();
    let more = results
        .of_bound(row.environment, row.cell, &row.subject, bound.id)
        .filter(|_| row.subject == "core")
        .map(|fraction| format!("; {} {})", percent(fraction), bound.of));
    match more {
        Some(more) => figure(row).trim_end_matches(')').to_owned() + &more,
        None => figure(row),
    }
}

fn all_ways(latest: &[(String, &str, &Run)]) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for way in latest.iter().flat_map(|(.., run)| run.results.ways()) {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: &str = "../docs/benchmarks";

    #[test]
    fn the_readme_compares_the_published_runs() {
        let runs = published(Path::new(DIR)).unwrap();
        let readme = std::fs::read_to_string(Path::new(DIR).join("README.md")).unwrap();
        let again = super::readme(&readme, &runs, &Families::known()).unwrap();
        assert!(
            readme == again,
            "write it again: tenrounds-bench --from NAME.json --publish {DIR}"
        );
        for family in ["Emerald Rapids: tenrounds", "Zen 4: tenrounds"] {
            assert!(readme.contains(family), "{family}");
        }
    }

    #[test]
    fn a_readme_without_a_place_is_refused() {
        let error = readme("nothing", &[], &Families::known()).err().unwrap();
        assert!(error.to_string().contains("lacks the lines"), "{error}");
        let empty = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        let text = readme(&empty, &[], &Families::known()).unwrap();
        assert!(text.starts_with("a\n") && text.ends_with("\nb\n") && !text.contains("old"));
    }

    #[test]
    fn only_the_last_run_of_a_family_is_compared() {
        let families = Families::known();
        let runs = published(Path::new(DIR)).unwrap();
        let names = |runs: &[(String, Run)]| -> Vec<String> {
            let latest = latest(runs, &families);
            latest.iter().map(|(_, name, _)| name.to_string()).collect()
        };
        let before = names(&runs);
        let mut more = runs;
        let newest = before.last().unwrap();
        let mut older = read(&Path::new(DIR).join(format!("{newest}.json"))).unwrap();
        older.date = "2020-01-01".into();
        more.push(("older".into(), older));
        assert_eq!(names(&more), before);
    }
}
