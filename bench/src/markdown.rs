// SPDX-License-Identifier: BSD-2-Clause
//! A run as a page: its summary, the goals that it misses, and all figures as tables.

use crate::answer::OPERATIONS;
use crate::goals::{unmeasured, unusual, Judged, Maker};
use crate::grid::{Cell, Kind, Way};
use crate::peer::RAGGED;
use crate::plan::Environment;
use crate::published::Run;
use crate::reasons::{Families, Family};
use crate::results::{is_bound, is_ours, Row};
use crate::table::{nanoseconds, percent};
use std::fmt::Write;
use terminal::{gigabytes, size_name};

/// What the columns of all tables mean, in the words of docs/measuring.md.
const MEANING: &str = "\
GB/s, and in brackets the fraction of the **limit**: what this processor reaches with nothing but AES rounds. Modes \
whose blocks are independent have the throughput of rounds on the widest registers as their limit, modes whose blocks \
wait for each other the latency of one chain of rounds. Calls of CTR beyond 256 blocks skip two rounds of most blocks, and \
short messages of serial modes overlap at their ends, so both can exceed it. GCM, and GCM-SIV when it opens, also \
multiply for each block: their **ceiling** is nothing but AES rounds and carry-less multiplications. The ceiling of streams \
of unequal lengths is the chain of the longest. When GCM-SIV seals, its \
rounds begin at the tag, so its limit is two passes: multiplications, then rounds. ± is the spread.";

/// What the column of operations means, where they were measured.
const OPERATIONS_MEANING: &str = "\
**Of its operations**: the fraction of what the operations of tenrounds' own kernel allow if none waits for another one: \
rounds, loads, stores, XORs, counters, tweaks and multiplications, in the numbers of core/simd.";

/// What the figures of these runs mean.
pub fn meaning<'a>(mut runs: impl Iterator<Item = &'a Run>) -> String {
    match runs.any(|run| run.results.tighter_bound().id == OPERATIONS) {
        true => format!("{MEANING} {OPERATIONS_MEANING}"),
        false => MEANING.into(),
    }
}

/// Lines of at most 100 columns.
pub fn fill(text: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 100 {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += width;
    }
    out + "\n"
}

/// The machine, the commit and the effort, in a paragraph.
pub fn provenance(run: &Run) -> String {
    let host = &run.host;
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let machine = match &host.hypervisor {
        Some(name) => format!("in a virtual machine ({name})"),
        None => "without a hypervisor".into(),
    };
    let effort = &run.effort;
    let noise = effort.noise.map_or(String::new(), |noise| {
        format!(
            " {} were repeated because the noise probes beside them differed by more than 2 % from those of their round; \
             {} count although they did.",
            noise.repeated, noise.doubtful
        )
    });
    fill(&format!(
        "{}, family {} model {} stepping {}, microcode {}, governor {}, {machine}, {}, {}. tenrounds {}, commit {}, \
         measured on {}. A {} run: medians of {} rounds shared by {} processes, seed {}, {:.0} seconds. {} windows were \
         repeated because wall clock and CPU time disagreed by more than 5 %; {} count although they did.{noise}",
        host.cpu.brand,
        host.cpu.family,
        host.cpu.model,
        host.cpu.stepping,
        or_unknown(&host.microcode),
        or_unknown(&host.governor),
        or_unknown(&host.os),
        host.kernel,
        run.version,
        run.commit.as_deref().unwrap_or("not recorded"),
        run.date,
        if run.quick { "quick" } else { "full" },
        effort.rounds,
        effort.processes,
        run.seed,
        effort.seconds,
        effort.repeated,
        effort.doubtful,
    ))
}

/// The size of the summaries.
const SHOWN: usize = 16384;

/// The cell of a way that a summary shows: AES-128 at 16 KiB, or the nearest that there is.
pub fn shown(run: &Run, way: Way) -> Option<Cell> {
    let cells = run.results.cells().into_iter();
    let fits = |(environment, cell): &(Environment, Cell)| {
        *environment == Environment::Plain
            && cell.kind == Kind::Throughput
            && cell.threads == 1
            && Way::of(&cell.spec) == way
    };
    let far = |cell: &Cell| (cell.spec.key_bits, cell.bytes.abs_diff(SHOWN));
    cells.filter(fits).map(|(_, cell)| cell).min_by_key(far)
}

/// "GCM sealing", with the size where it is not that of the others.
pub fn shown_name(cell: &Cell) -> String {
    let mut name = Way::of(&cell.spec).title();
    if cell.spec.key_bits != 128 {
        name += &format!(", AES-{}", cell.spec.key_bits);
    }
    if cell.bytes != SHOWN && cell.spec.streams != RAGGED {
        name += &format!(", {}", size_name(cell.bytes));
    }
    name
}

/// "23.4 (99.1 %)"; for a call alone its time.
pub fn figure(row: &Row) -> String {
    let fraction = row.limit.map(|l| format!(" ({})", percent(l.median)));
    match row.cell.kind {
        Kind::Alone => nanoseconds(row),
        Kind::Throughput => gigabytes(row.rate.median) + &fraction.unwrap_or_default(),
    }
}

/// What a picture shows, for a reader who does not see it.
fn alternative(picture: &str) -> &'static str {
    match picture.ends_with("alone.svg") {
        true => "A panel for each mode: nanoseconds of a call alone over its bytes, with a line for each library. The tables below have the figures",
        false => "A panel for each mode: percent of the limit over the bytes of a call, with a line for each library. The tables below have the figures",
    }
}

/// The page.
pub fn text(run: &Run, families: &Families, pictures: &[&str]) -> String {
    let title = families.title(&run.host.cpu);
    let mut out = format!(
        "<!-- SPDX-License-Identifier: BSD-2-Clause -->\n# AES on {title}, {}\n\n{}\n## Summary\n\n",
        run.date,
        provenance(run)
    );
    out += &summary(run);
    let _ = write!(
        out,
        "\n{}\n{}\n",
        fill(&meaning(std::iter::once(run))),
        fill("Written by `tenrounds-bench`; [how it is measured](../measuring.md#side-by-side-with-other-libraries).")
    );
    for picture in pictures {
        let _ = writeln!(out, "![{}]({picture})\n", alternative(picture));
    }
    out += &goals(run, families.of(&run.host.cpu), &title);
    out += &subjects(run);
    out += &limits(run);
    out += &tables(run);
    out.trim_end().to_owned() + "\n"
}

fn summary(run: &Run) -> String {
    let results = &run.results;
    let bound = results.tighter_bound();
    let stock = results.stock();
    let stock = stock.as_deref().unwrap_or("-");
    let mut out = format!(
        "| AES-128, {} | tenrounds | {} | {} | {} | best other library | tenrounds to it |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
        size_name(SHOWN),
        bound.of,
        results.title("evp"),
        results.title(stock),
    );
    for cell in results.ways().into_iter().filter_map(|way| shown(run, way)) {
        let row = |id: &str| results.row(Environment::Plain, cell, id);
        let of = |id: &str| row(id).map_or("-".into(), figure);
        let best = results.best_peer(Environment::Plain, cell);
        let fraction = results.of_bound(Environment::Plain, cell, "core", bound.id);
        let to_best = best
            .zip(row("core"))
            .map(|(b, c)| c.rate.median / b.rate.median);
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            shown_name(&cell),
            of("core"),
            fraction.map_or(String::new(), percent),
            of("evp"),
            of(stock),
            best.map_or("-".into(), |b| format!(
                "{}, {}",
                results.title(&b.subject),
                gigabytes(b.rate.median)
            )),
            to_best.map_or("-".into(), |r| format!("{r:.2} ×")),
        );
    }
    out
}

// ---- Goals ------------------------------------------------------------------------------------

fn goals(run: &Run, family: Option<&Family>, title: &str) -> String {
    let best = run.goals.missed().filter(|g| g.of_best()).count();
    let mut out = format!(
        "## Goals\n\n{}\n",
        fill(&format!(
            "{} of {} goals are met. {} of the missed ones are fixed figures, with their goal beside \
             them; those in percent are of the limit. The other {best} ask the core's own call to be at least \
             as fast as the best other library in the same cell.",
            run.goals.met,
            run.goals.count(),
            run.goals.missed().count() - best,
        ))
    );
    let unmeasured = unmeasured(&run.results, Maker::of(&run.host.cpu.vendor));
    if !unmeasured.is_empty() {
        let _ = writeln!(
            out,
            "{}",
            fill(&format!("Not measured here: {}.", unmeasured.join("; ")))
        );
    }
    out + &missed(run, family, title)
}

/// What is wrong, and the goals that are missed, by their reasons.
pub fn missed(run: &Run, family: Option<&Family>, title: &str) -> String {
    let mut out = String::new();
    if !run.wrong.is_empty() {
        out += "Wrong outputs, not timed:\n\n";
        for fault in &run.wrong {
            let place = crate::goals::place(fault.environment, &fault.cell);
            let _ = writeln!(out, "- {}: {place}: {}", fault.subject, fault.why);
        }
        out += "\n";
    }
    let why = |goal: &Judged| family.and_then(|f| f.why(&goal.id));
    let mut reasons: Vec<Option<&str>> = Vec::new();
    for goal in run.goals.missed() {
        if !reasons.contains(&why(goal)) {
            reasons.push(why(goal));
        }
    }
    reasons.sort_by_key(Option::is_none);
    for reason in reasons {
        let none = format!("No measured reason on this family ({title}):");
        let missed: Vec<&Judged> = run.goals.missed().filter(|g| why(g) == reason).collect();
        let _ = write!(
            out,
            "{}\n{}\n",
            fill(reason.unwrap_or(&none)),
            misses(run, &missed)
        );
    }
    out
}

/// Goals that differ in size alone share a line.
fn misses(run: &Run, missed: &[&Judged]) -> String {
    let mut lines: Vec<([String; 2], Vec<String>)> = Vec::new();
    for goal in missed {
        let spec = &goal.cell.spec;
        let way = format!("{}, AES-{}", Way::of(spec).title(), spec.key_bits);
        let head = [
            way + &unusual(goal.environment, &goal.cell),
            goal.subject.clone(),
        ];
        let entry = format!("{}: {}", size_name(goal.cell.bytes), goal.said());
        match lines.iter_mut().find(|(known, _)| *known == head) {
            Some((_, entries)) => entries.push(entry),
            None => lines.push((head, vec![entry])),
        }
    }
    let mut out = String::from("| | | reached |\n|---|---|---|\n");
    for ([way, subject], entries) in lines {
        let _ = writeln!(
            out,
            "| {way} | {} | {} |",
            run.results.title(&subject),
            entries.join("; ")
        );
    }
    out
}

// ---- What took part ---------------------------------------------------------------------------

fn subjects(run: &Run) -> String {
    let mut out = String::from("## Libraries\n\n| | version |\n|---|---|\n");
    for (environment, subject) in &run.results.subjects {
        if *environment == Environment::Plain {
            let _ = writeln!(out, "| {} | {} |", subject.title, subject.version);
        }
    }
    for missing in &run.absent {
        let _ = writeln!(out, "| {} | absent: {} |", missing.title, missing.why);
    }
    out + "\n"
}

fn limits(run: &Run) -> String {
    let mut out = String::from("## The limits by themselves\n\n| | GB/s | |\n|---|---:|---|\n");
    for limit in &run.limits {
        let rate = gigabytes(limit.bytes_per_second);
        let _ = writeln!(out, "| {} | {rate} | {} |", limit.name, limit.what);
    }
    out + "\n"
}

// ---- Tables -----------------------------------------------------------------------------------

type Place = (Environment, Cell);

fn tables(run: &Run) -> String {
    let cells = run.results.cells();
    let plain = |(environment, cell): &&Place, kind: Kind| {
        *environment == Environment::Plain && cell.kind == kind && cell.threads == 1
    };
    let of = |chosen: &dyn Fn(&&Place) -> bool| -> Vec<Place> {
        cells.iter().filter(chosen).copied().collect()
    };
    let mut out = String::new();
    for bits in [128, 192, 256] {
        let here = of(&|p| plain(p, Kind::Throughput) && p.1.spec.key_bits == bits);
        if !here.is_empty() {
            let text = ways(run, &here);
            out += &section(
                &format!("Throughput, AES-{bits}"),
                "One call after the other.",
                &text,
                bits != 128,
            );
        }
    }
    let rest: [(&str, &str, Vec<Place>); 3] = [
        (
            "One call alone",
            "The time of a call of which nothing overlaps with another call.",
            of(&|p| plain(p, Kind::Alone)),
        ),
        (
            "Several threads",
            "Each on a processor of its own; all of them together.",
            of(&|p| p.1.threads > 1),
        ),
        (
            "Without the processor's AES",
            "AES and carry-less multiplication are masked, for OpenSSL and for tenrounds.",
            of(&|p| p.0 == Environment::Software),
        ),
    ];
    for (title, what, here) in rest {
        if !here.is_empty() {
            out += &section(title, what, &table(run, &here, &long_name), true);
        }
    }
    out
}

fn section(title: &str, what: &str, text: &str, folded: bool) -> String {
    let text = text.trim_end();
    match folded {
        true => format!(
            "## {title}\n\n{what}\n\n<details><summary>Show</summary>\n\n{text}\n\n</details>\n\n"
        ),
        false => format!("## {title}\n\n{what}\n\n{text}\n\n"),
    }
}

/// One table for each way.
fn ways(run: &Run, cells: &[Place]) -> String {
    let mut out = String::new();
    for way in run.results.ways() {
        let here: Vec<Place> = cells
            .iter()
            .filter(|(_, c)| Way::of(&c.spec) == way)
            .copied()
            .collect();
        if !here.is_empty() {
            let sizes = table(run, &here, &|place| size_name(place.1.bytes));
            let _ = writeln!(out, "### {}\n\n{sizes}", way.title());
        }
    }
    out
}

/// "CTR, AES-128, 16 B", without what its section says.
fn long_name((_, cell): &Place) -> String {
    let calm = Cell {
        kind: Kind::Throughput,
        threads: 1,
        ..*cell
    };
    let mut name = crate::goals::place(Environment::Plain, &calm);
    if cell.threads > 1 {
        name += &format!(", {} threads", cell.threads);
    }
    if cell.kind == Kind::Alone {
        name += ", alone";
    }
    name
}

/// Cells by subjects, of which ours come first.
fn table(run: &Run, cells: &[Place], name: &dyn Fn(&Place) -> String) -> String {
    let mut ids: Vec<&str> = Vec::new();
    let here = |row: &&Row| cells.contains(&(row.environment, row.cell));
    for row in run.results.rows.iter().filter(here) {
        if !is_bound(&row.subject) && !ids.contains(&&*row.subject) {
            ids.push(&row.subject);
        }
    }
    let order = |id: &&str| run.results.subjects.iter().position(|(_, s)| s.id == *id);
    ids.sort_by_key(|id| (!is_ours(id), order(id)));
    let heads: Vec<&str> = ids.iter().map(|id| run.results.title(id)).collect();
    let mut out = format!(
        "| | {} |\n|---{}|\n",
        heads.join(" | "),
        "|---:".repeat(ids.len())
    );
    for place in cells {
        let value = |id: &&str| {
            let row = run.results.row(place.0, place.1, id);
            row.map_or("-".into(), figure)
        };
        let values: Vec<String> = ids.iter().map(value).collect();
        let _ = writeln!(out, "| {} | {} |", name(place), values.join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart;
    use std::path::Path;

    #[test]
    fn lines_have_at_most_100_columns() {
        let text = "word ".repeat(50);
        let filled = fill(&text);
        assert!(filled.lines().all(|l| l.chars().count() <= 100), "{filled}");
        assert_eq!(filled.split_whitespace().count(), 50);
        assert_eq!(fill(""), "\n");
        let long = "x".repeat(120);
        assert_eq!(fill(&format!("a {long} b")), format!("a\n{long}\nb\n"));
    }

    /// Every number of a published page comes from the file beside it.
    #[test]
    fn published_pages_are_those_of_their_files() {
        for (name, run) in crate::overview::published(Path::new("../docs/benchmarks")).unwrap() {
            let pictures = chart::all(&run, &name).unwrap();
            for (file, drawn) in &pictures {
                let published = Path::new("../docs/benchmarks").join(file);
                let published = std::fs::read_to_string(published).unwrap();
                assert!(published == *drawn, "{file}: draw it again (tenrounds-bench --from {name}.json --publish docs/benchmarks)");
            }
            let pictures: Vec<&str> = pictures.iter().map(|(file, _)| &**file).collect();
            let file = format!("../docs/benchmarks/{name}.md");
            let page = std::fs::read_to_string(&file).unwrap();
            let again = text(&run, &Families::known(), &pictures);
            assert!(page == again, "{file}: write it again (tenrounds-bench --from NAME.json --publish docs/benchmarks)");
            assert!(pictures.iter().all(|picture| page.contains(picture)));
        }
    }

    /// The same run on a processor that nobody has measured quotes no reason.
    #[test]
    fn a_page_quotes_reasons_of_its_own_family() {
        let families = Families::known();
        for (name, mut run) in crate::overview::published(Path::new("../docs/benchmarks")).unwrap()
        {
            let family = families.of(&run.host.cpu).unwrap();
            let whys: Vec<String> = run
                .goals
                .missed()
                .filter_map(|g| family.why(&g.id))
                .map(fill)
                .collect();
            assert!(!whys.is_empty(), "{name}");
            let page = text(&run, &families, &[]);
            assert!(whys.iter().all(|why| page.contains(why)), "{name}");
            run.host.cpu.model = 255;
            let page = text(&run, &families, &[]);
            assert!(!whys.iter().any(|why| page.contains(why)), "{name}");
            let none = format!(
                "No measured reason on this family (family {} model 255)",
                run.host.cpu.family
            );
            assert!(page.contains(&none), "{name}");
        }
    }
}
