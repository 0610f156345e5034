// SPDX-License-Identifier: BSD-2-Clause
//! The reports of a run: the terminal's, and its page.

use crate::goals::{place, stock, unusual, Judged};
use crate::grid::{Cell, Kind};
use crate::peer::Spec;
use crate::plan::Environment;
use crate::published::Run;
use crate::reasons::Families;
use crate::results::{is_bound, is_ours, ways, Figures, Measured};
use crate::run::Found;
use crate::sheet::{fill, Sheet};
use std::fmt::Write;
use terminal::style::{clean, paint, BAD, BOLD};
use terminal::{gigabytes, size_name};

/// What the figures of all tables mean, in the words of docs/measuring.md.
const MEANING: &str = "\
GB/s, and in brackets the fraction of the **limit**: what this processor reaches with nothing but AES rounds. Modes \
whose blocks are independent have the throughput of rounds on the widest registers as their limit, modes whose blocks \
wait for each other the latency of one chain of rounds. Calls of CTR beyond 256 blocks skip two rounds of most blocks, and \
short messages of serial modes overlap at their ends, so both can exceed it. When GCM-SIV seals, its \
rounds begin at the tag, so its limit is two passes: multiplications, then rounds.";

/// What the figures of a run mean in which ours replaces the default provider.
const MEANING_OF_TIMES: &str = "\
Each figure is the throughput of tenrounds as a multiple of that of the default provider in the same \
libcrypto: the same calls of EVP, in alternated windows.";

const METHOD: &str = "Written by `tenrounds-bench`; [how it is measured]";

pub fn percent(value: f64) -> String {
    match value * 100.0 {
        p if p >= 9.95 => format!("{p:.1} %"),
        p => format!("{p:.2} %"),
    }
}

/// "23.4 (99.1 %)"; the time of a call alone; "1.03 ×" beside what it replaces.
fn figure(measured: &Measured, figures: &Figures) -> String {
    match (measured.cell.kind, figures.times) {
        (_, Some(times)) if measured.cell.threads == 1 => format!("{times:.2} ×"),
        (Kind::Alone, _) => match measured.nanoseconds(figures) {
            ns if ns < 99.95 => format!("{ns:.1} ns"),
            ns => format!("{ns:.0} ns"),
        },
        (Kind::Throughput, _) => {
            let fraction = figures.limit.map(|limit| format!(" ({})", percent(limit)));
            gigabytes(figures.rate) + &fraction.unwrap_or_default()
        }
    }
}

/// Whether ours replaces the default provider in this run.
fn replaces(run: &Run) -> bool {
    !run.cells.iter().any(|m| m.figures.contains_key("core"))
}

// ---- Tables -----------------------------------------------------------------------------------

/// The core's rate as a multiple of the best other library's.
fn to_best(measured: &Measured) -> String {
    let both = measured.best_other().zip(measured.figures.get("core"));
    let ratio = both.map(|((_, best), core)| core.rate / best.rate);
    ratio.map_or("-".into(), |ratio| format!("{ratio:.2} ×"))
}

/// Ours, and the best of the others.
fn comparison(run: &Run, cells: &[&Measured], name: &dyn Fn(&Cell) -> String) -> Sheet {
    let stock = stock(&run.subjects);
    let mut sheet = Sheet::new(&[
        "",
        ">tenrounds",
        &format!(">{}", run.title("evp")),
        &format!(">{}", stock.map_or("-", |stock| &stock.title)),
        ">best other library",
        ">tenrounds to it",
    ]);
    for measured in cells {
        let of = |id: &str| {
            let figures = measured.figures.get(id);
            figures.map_or("-".into(), |figures| figure(measured, figures))
        };
        let best = measured.best_other();
        let best = best.map(|(id, best)| format!("{}, {}", run.title(id), gigabytes(best.rate)));
        sheet.row([
            name(&measured.cell),
            of("core"),
            of("evp"),
            of(stock.map_or("-", |stock| &stock.id)),
            best.unwrap_or("-".into()),
            to_best(measured),
        ]);
    }
    sheet
}

/// The cells in which another library is faster than the core beyond the spread, the worst first.
/// None if no other library took part.
fn losses(run: &Run) -> Option<(String, Sheet)> {
    let compared = |m: &&Measured| m.figures.contains_key("core") && m.best_other().is_some();
    let cells = run.cells.iter().filter(compared).count();
    let loses = |goal: &&Judged| goal.of_best() && goal.value < 1.0;
    let mut lost: Vec<&Judged> = run.missed.iter().filter(loses).collect();
    lost.sort_by(|a, b| a.value.total_cmp(&b.value));
    let mut sheet = Sheet::new(&["cells that lose", ">tenrounds to it", "best other library"]);
    for goal in &lost {
        let ratio = format!("{:.2} × ± {:.2}", goal.value, goal.spread);
        sheet.row([place(&goal.cell), ratio, goal.of.clone()]);
    }
    let level = cells - lost.len().min(cells);
    let said = format!(
        "tenrounds is first or level with the best other library in {level} of {cells} cells."
    );
    (cells > 0).then_some((said, sheet))
}

/// The size of the summaries.
const SHOWN: usize = 16384;

/// The cell of each way that a summary shows: AES-128 at 16 KiB, or the nearest that there is.
fn summary(run: &Run) -> Sheet {
    let shown = |way: Spec| {
        let cells = run.cells.iter().filter(|m| {
            let cell = &m.cell;
            is_usual(cell) && cell.spec.with_key(128) == way
        });
        cells.min_by_key(|m| (m.cell.spec.key_bits, m.cell.bytes.abs_diff(SHOWN)))
    };
    let cells: Vec<&Measured> = ways(&run.cells).into_iter().filter_map(shown).collect();
    comparison(run, &cells, &|cell| {
        let mut name = cell.spec.title();
        if cell.spec.key_bits != 128 {
            name += &format!(", AES-{}", cell.spec.key_bits);
        }
        if cell.bytes != SHOWN && !cell.spec.is_ragged() {
            name += &format!(", {}", size_name(cell.bytes));
        }
        name
    })
}

/// One call after the other, by one thread, with the processor's AES.
fn is_usual(cell: &Cell) -> bool {
    (cell.kind, cell.threads) == (Kind::Throughput, 1) && cell.environment == Environment::Plain
}

/// Cells by subjects, of which ours come first. In a run in which ours replaces the default
/// provider, only ours have figures.
fn all_figures(run: &Run, cells: &[&Measured], name: &dyn Fn(&Cell) -> String) -> Sheet {
    let has = |id: &str| {
        let figures = cells.iter().filter_map(|m| m.figures.get(id));
        figures
            .into_iter()
            .any(|f| f.times.is_some() || !replaces(run))
    };
    let known = run.subjects.iter().map(|s| &*s.id);
    let mut ids: Vec<&str> = known.filter(|id| !is_bound(id) && has(id)).collect();
    ids.sort_by_key(|id| !is_ours(id));
    let heads = ids.iter().map(|id| format!(">{}", run.title(id)));
    let best = (!replaces(run)).then(|| ">tenrounds to the best".to_owned());
    let first = [String::new()].into_iter().chain(best);
    let mut sheet = Sheet::new(&first.chain(heads).collect::<Vec<_>>());
    for measured in cells {
        let figure = |id: &&str| {
            let figures = measured.figures.get(*id);
            figures.map_or("-".into(), |figures| figure(measured, figures))
        };
        let figures = ids.iter().map(figure);
        let best = (!replaces(run)).then(|| to_best(measured));
        let first = [name(&measured.cell)].into_iter().chain(best);
        sheet.row(first.chain(figures));
    }
    sheet
}

/// Goals that differ in size alone share a line.
fn misses(run: &Run, missed: &[&Judged]) -> Sheet {
    let mut lines: Vec<([String; 2], Vec<String>)> = Vec::new();
    for goal in missed {
        let spec = &goal.cell.spec;
        let way = format!(
            "{}, AES-{}{}",
            spec.title(),
            spec.key_bits,
            unusual(&goal.cell)
        );
        let head = [way, run.title(&goal.subject).to_owned()];
        let entry = format!("{}: {}", size_name(goal.cell.bytes), goal.said());
        match lines.iter_mut().find(|(known, _)| *known == head) {
            Some((_, entries)) => entries.push(entry),
            None => lines.push((head, vec![entry])),
        }
    }
    let mut sheet = Sheet::new(&["missed goals", "", "reached"]);
    for ([way, subject], entries) in lines {
        sheet.row([way, subject, entries.join("; ")]);
    }
    sheet
}

fn limits(run: &Run) -> Sheet {
    let mut sheet = Sheet::new(&["limit", ">GB/s", "what it is"]);
    for limit in &run.limits {
        let rate = gigabytes(limit.bytes_per_second);
        sheet.row([limit.name.clone(), rate, limit.what.clone()]);
    }
    sheet
}

// ---- The terminal -----------------------------------------------------------------------------

/// The terminal has room for the figures of so many subjects.
const MOST_SUBJECTS: usize = 9;

pub fn text(run: &Run) -> String {
    let cells: Vec<&Measured> = run.cells.iter().collect();
    let missed: Vec<&Judged> = run.missed.iter().collect();
    let mut out = String::new();
    if let Some((said, sheet)) = losses(run) {
        out += &sheet.text();
        out += &format!("{said}\n\n");
    }
    if !replaces(run) {
        let table = match run.subjects.len() <= MOST_SUBJECTS {
            true => all_figures(run, &cells, &place),
            false => comparison(run, &cells, &place),
        };
        out += &table.text();
        out += &limits(run).text();
    }
    if !missed.is_empty() {
        out += &misses(run, &missed).text();
    }
    let effort = &run.effort;
    let (met, all) = (paint(BOLD, run.met), run.goals());
    let _ = writeln!(
        out,
        "{met} of {all} goals met. Medians of {} rounds shared by {} processes, seed {}; {:.0} seconds.",
        effort.rounds, effort.processes, run.seed, effort.seconds
    );
    for (windows, what) in [
        (
            effort.doubtful,
            "wall clock and CPU time disagree by more than 5 %",
        ),
        (
            effort.noise.doubtful,
            "the noise probe differs by more than 2 % from its round's",
        ),
    ] {
        if windows > 0 {
            let _ = writeln!(out, "In {windows} windows {what}.");
        }
    }
    let absent = run.absent.iter().map(|a| (&a.title, &a.why));
    out + &absences(absent) + &faults(&run.wrong)
}

fn absences<'a>(absent: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let line = |(title, why): (&String, &String)| format!("absent: {title}: {}\n", clean(why));
    absent.map(line).collect()
}

fn faults<'a>(faults: impl IntoIterator<Item = &'a crate::run::Fault>) -> String {
    let line = |f: &crate::run::Fault| {
        let (place, why) = (place(&f.cell), clean(&f.why));
        format!("{} {}: {place}: {why}\n", paint(BAD, "wrong:"), f.subject)
    };
    faults.into_iter().map(line).collect()
}

/// For --check.
pub fn checked(found: &[Found]) -> String {
    let right: usize = found.iter().map(|f| f.right).sum();
    let wrong: usize = found.iter().map(|f| f.faults.len()).sum();
    let first = found.first();
    let subjects = first.map_or(0, |f| f.subjects.len());
    let absent = first.into_iter().flat_map(|f| &f.absent);
    absences(absent.map(|a| (&a.title, &a.why)))
        + &faults(found.iter().flat_map(|f| &f.faults))
        + &format!(
            "{right} outputs of {subjects} subjects are those of the core, {wrong} are not\n"
        )
}

// ---- The page ---------------------------------------------------------------------------------

pub fn page(run: &Run, families: &Families) -> String {
    let title = families.title(&run.host.cpu);
    let (what, meaning, method) = match replaces(run) {
        true => (
            "tenrounds in the place of OpenSSL's default provider",
            MEANING_OF_TIMES,
            "../../measuring.md#in-the-place-of-the-default-provider",
        ),
        false => (
            "AES",
            MEANING,
            "../measuring.md#side-by-side-with-other-libraries",
        ),
    };
    let mut out = format!(
        "<!-- SPDX-License-Identifier: BSD-2-Clause -->\n# {what} on {title}, {}\n\n{}\n",
        run.date,
        provenance(run)
    );
    if let Some((said, sheet)) = losses(run) {
        let _ = write!(
            out,
            "## Against the best\n\n{said}\n\n{}\n",
            sheet.markdown()
        );
    }
    if !replaces(run) {
        let _ = write!(out, "## Summary\n\n{}\n", summary(run).markdown());
    }
    out += &fill(&format!("{meaning} {METHOD}({method})."));
    out += &goals(run, families, &title);
    out += "\n## Libraries\n\n";
    let mut libraries = Sheet::new(&["", "version", "released", "licence"]);
    for subject in &run.subjects {
        let or_not = |text: &Option<String>| text.clone().unwrap_or_default();
        let (day, licence) = (
            or_not(&subject.origin.released),
            or_not(&subject.origin.licence),
        );
        libraries.row([subject.title.clone(), subject.version.clone(), day, licence]);
    }
    for missing in &run.absent {
        let why = format!("absent: {}", missing.why);
        libraries.row([missing.title.clone(), why, String::new(), String::new()]);
    }
    out += &libraries.markdown();
    if !run.limits.is_empty() {
        let limits = limits(run).markdown();
        let _ = write!(out, "\n## The limits by themselves\n\n{limits}");
    }
    out + &tables(run)
}

/// The machine, the commit and the effort, in a paragraph.
fn provenance(run: &Run) -> String {
    let (host, effort) = (&run.host, &run.effort);
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".into());
    let machine = match &host.hypervisor {
        Some(name) => format!("in a virtual machine ({name})"),
        None => "without a hypervisor".into(),
    };
    fill(&format!(
        "{}, family {} model {} stepping {}, microcode {}, governor {}, {machine}, {}, {}. tenrounds {}, commit {}, \
         measured on {}. A {} run: medians of {} rounds shared by {} processes, seed {}, {:.0} seconds. {} windows were \
         repeated because wall clock and CPU time disagreed by more than 5 %; {} count although they did. \
         {} were repeated because the noise probes beside them differed by more than 2 % from those of their round; \
         {} count although they did.",
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
        effort.noise.repeated,
        effort.noise.doubtful,
    ))
}

/// What is wrong, and the goals that are missed, by their reasons.
fn goals(run: &Run, families: &Families, title: &str) -> String {
    let best = run.missed.iter().filter(|g| g.of_best()).count();
    let mut out = format!(
        "\n## Goals\n\n{} of {} goals are met.",
        run.met,
        run.goals()
    );
    if best > 0 {
        let _ = write!(
            out,
            " {best} of the missed ones ask the core to be as fast as the best other library."
        );
    }
    out = fill(&out);
    for fault in &run.wrong {
        let place = place(&fault.cell);
        let _ = writeln!(
            out,
            "\nWrong, not timed: {}: {place}: {}",
            fault.subject, fault.why
        );
    }
    let family = families.of(&run.host.cpu);
    let why = |goal: &Judged| family.and_then(|f| f.why(&goal.id()));
    let mut reasons: Vec<Option<&str>> = run.missed.iter().map(why).collect();
    reasons.sort_by_key(Option::is_none);
    let mut seen = std::collections::HashSet::new();
    reasons.retain(|reason| seen.insert(*reason));
    for reason in reasons {
        let none = format!("No measured reason on this family ({title}):");
        let missed: Vec<&Judged> = run.missed.iter().filter(|g| why(g) == reason).collect();
        let _ = write!(
            out,
            "\n{}\n{}",
            fill(reason.unwrap_or(&none)),
            misses(run, &missed).markdown()
        );
    }
    out
}

/// All figures: a section for each key size, and for what is unusual.
fn tables(run: &Run) -> String {
    type Chosen = fn(&Cell) -> bool;
    let sections: [(&str, Chosen); 6] = [
        ("AES-128", |c| is_usual(c) && c.spec.key_bits == 128),
        ("AES-192", |c| is_usual(c) && c.spec.key_bits == 192),
        ("AES-256", |c| is_usual(c) && c.spec.key_bits == 256),
        ("One call alone, of which nothing overlaps", |c| {
            c.kind == Kind::Alone
        }),
        ("Several threads, all of them together", |c| c.threads > 1),
        ("Without the processor's AES", |c| {
            c.environment == Environment::Software
        }),
    ];
    let mut out = String::new();
    for (title, chosen) in sections {
        let here: Vec<&Measured> = run.cells.iter().filter(|m| chosen(&m.cell)).collect();
        if !here.is_empty() {
            let sheet = all_figures(run, &here, &place).markdown();
            let _ = write!(
                out,
                "\n## {title}\n\n<details><summary>Show</summary>\n\n{sheet}\n</details>\n"
            );
        }
    }
    out
}

/// The runs of a directory by name.
#[cfg(test)]
pub fn published(dir: &str) -> Vec<(String, Run)> {
    let files = std::fs::read_dir(dir).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let json = paths.filter(|path| path.extension().is_some_and(|e| e == "json"));
    json.map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, Run::read(&path).unwrap())
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIR: &str = "../docs/benchmarks";

    /// Every number of a published page comes from the file beside it.
    #[test]
    fn published_pages_are_those_of_their_files() {
        let families = Families::known();
        for dir in [DIR, "../docs/benchmarks/replace"] {
            for (name, run) in published(dir) {
                assert_eq!(replaces(&run), dir != DIR, "{name}");
                let file = format!("{dir}/{name}.md");
                let written = std::fs::read_to_string(&file).unwrap();
                assert!(
                    written == page(&run, &families),
                    "{file}: write it again (tenrounds-bench --from NAME.json --publish {dir})"
                );
            }
        }
    }

    /// The same run on a processor that nobody has measured quotes no reason.
    #[test]
    fn a_page_quotes_reasons_of_its_own_family() {
        let families = Families::known();
        for (name, mut run) in published(DIR) {
            let family = families.of(&run.host.cpu).unwrap();
            let whys = run.missed.iter().filter_map(|g| family.why(&g.id()));
            let whys: Vec<String> = whys.map(fill).collect();
            assert!(!whys.is_empty(), "{name}");
            let text = page(&run, &families);
            assert!(whys.iter().all(|why| text.contains(why)), "{name}");
            run.host.cpu.model = 255;
            let text = page(&run, &families);
            assert!(!whys.iter().any(|why| text.contains(why)), "{name}");
            let family = run.host.cpu.family;
            let none = format!("No measured reason on this family (family {family} model 255)");
            assert!(text.contains(&none), "{name}");
        }
    }

    #[test]
    fn the_terminal_says_what_was_missed() {
        for (name, run) in published(DIR) {
            let text = text(&run);
            let goals = format!(" of {} goals met", run.goals());
            assert!(
                text.contains("missed goals") && text.contains(&goals),
                "{name}: {text}"
            );
        }
    }
}
