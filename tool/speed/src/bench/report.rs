// SPDX-License-Identifier: BSD-2-Clause
//! A run as a person reads it. In brief: the answer, the machine, and all algorithms at the largest
//! size. In whole, each algorithm also has a table over all sizes, with intervals, and the words
//! are explained. With --openssl the tables have the columns of `openssl speed`.

use super::case::Case;
use super::figure::{blocks, size_name, title, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::measure::WINDOW_US;
use super::paths;
use super::run::Run;
use ::measure::stats::{Summary, INTERVAL};
use catalogue::{Direction, Mode};
use terminal::gigabytes;
use terminal::style::{columns, item, paint, unicode, wrapped, BOLD, DIM, WARN};
use terminal::table::Table;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Brief,
    Whole,
    OpenSsl,
}

/// The most rows of the brief table: it is for 15 lines.
const ROWS: usize = 8;

pub fn text(run: &Run, form: Form) -> String {
    let answer = match &run.paths {
        Some(_) => paths_answer(run),
        None => answer(&run.figures),
    };
    let mut out = item("", paint(BOLD, answer));
    for line in heading(run, form) {
        out += &paragraph(&line);
    }
    let blocks = run.blocks();
    match form {
        Form::Brief => out += &brief(run, &blocks),
        Form::OpenSsl => out += &speed_table(run, &blocks),
        Form::Whole => {
            if blocks.len() > 1 {
                out += &format!("\n{}", overview(&blocks));
            }
            for block in blocks {
                out += &format!("\n{}", sizes(run, block, form));
            }
            out.push('\n');
        }
    }
    if form != Form::Brief {
        for line in words(&run.figures) {
            out += &paragraph(line);
        }
        out += &paragraph(&format!("{}: {INTERVAL}", plus_minus()));
    }
    for note in &run.notes {
        out += &paragraph(&format!("Note: {note}"));
    }
    if form != Form::Brief {
        out += &paragraph(&method(run));
    }
    out += &disturbance(run);
    if form == Form::Brief {
        let hint = "--verbose: all sizes, the intervals, and what the words mean.";
        out += &paint(DIM, hint);
        out.push('\n');
    }
    out
}

/// "±", or "+-" where there is no terminal that shows it.
pub fn plus_minus() -> &'static str {
    match columns().is_some() && unicode() {
        true => "±",
        false => "+-",
    }
}

/// The columns of a paragraph: no more than people like to read.
pub fn page() -> usize {
    columns().map_or(80, |columns| columns.min(80))
}

fn paragraph(text: &str) -> String {
    wrapped("", text, Some(page()))
}

/// The processor, the software, and the limits.
fn heading(run: &Run, form: Form) -> Vec<String> {
    let mut lines = vec![
        run.place(),
        format!(
            "{}; tenrounds {}, backend {}",
            run.openssl_version(),
            env!("CARGO_PKG_VERSION"),
            run.backend()
        ),
    ];
    lines.extend(run.masks());
    if let Some(paths) = &run.paths {
        lines.push(run.host.kernel.clone());
        lines.extend(paths.drivers.iter().map(|driver| driver.shown()));
        let why = paths.unavailable.iter();
        lines.extend(why.map(|why| format!("AF_ALG is not available: {why}")));
    } else if form == Form::OpenSsl {
        lines.extend(
            run.cpu_settings
                .iter()
                .map(|says| format!("CPUINFO: {says}")),
        );
    } else {
        let limits = run.limits.iter();
        let limits =
            limits.map(|(limit, rate)| format!("{} {}", limit.name(), gigabytes(rate.median)));
        lines.push(match limits.collect::<Vec<_>>() {
            none if none.is_empty() => "limit: none, this processor has no AES instructions".into(),
            limits => format!("AES rounds alone, GB/s: {}", limits.join(", ")),
        });
    }
    lines
}

pub fn label(who: Implementation) -> &'static str {
    match who {
        OpenSsl => "OpenSSL",
        AfAlg => "AF_ALG",
        other => other.name(),
    }
}

fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        p if p >= 9.95 => format!("{p:.0}%"),
        p => format!("{p:.1}%"),
    }
}

/// The spread of a figure, in percent of it.
fn spread(summary: Summary) -> String {
    percent(summary.spread())
}

fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 0.0995 => format!("{r:.2}x"),
        r => format!("{r:.3}x"),
    }
}

/// Three figures of gigabytes per second, also of few.
fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second / 1e9 {
        v if v >= 0.0995 => gigabytes(bytes_per_second),
        v if v >= 0.00995 => format!("{v:.4}"),
        v => format!("{v:.5}"),
    }
}

pub fn largest(block: &[Figure]) -> &Figure {
    let largest = block.iter().max_by_key(|f| f.case.bytes);
    largest.expect("a block is not empty")
}

type Rows = Vec<(String, Vec<String>)>;

/// Rows of cells under heads. A terminal that is too narrow gets half of the columns at a time.
fn table(heads: &[String], rows: &Rows) -> String {
    let right = heads[1..].iter().map(|head| format!(">{head}"));
    let heads: Vec<String> = std::iter::once(heads[0].clone()).chain(right).collect();
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for (label, cells) in rows {
        table.row([&[label.clone()][..], cells].concat());
    }
    let too_wide = columns().is_some_and(|columns| table.width() > columns);
    if !too_wide || heads.len() < 4 {
        return table.to_string();
    }
    let middle = heads.len().div_ceil(2);
    let part = |columns: std::ops::Range<usize>| {
        let heads = [&heads[..1], &heads[columns.clone()]].concat();
        let heads: Vec<String> = heads
            .iter()
            .map(|h| h.trim_start_matches('>').into())
            .collect();
        let cells = |(label, cells): &(String, Vec<String>)| {
            (
                label.clone(),
                cells[columns.start - 1..columns.end - 1].to_vec(),
            )
        };
        self::table(&heads, &rows.iter().map(cells).collect())
    };
    part(1..middle) + &part(middle..heads.len())
}

fn brief(run: &Run, blocks: &[&[Figure]]) -> String {
    let shown = &blocks[..blocks.len().min(ROWS)];
    let mut out = match shown {
        [one] => sizes(run, one, Form::Brief),
        shown => overview(shown),
    };
    if blocks.len() > ROWS {
        out += &format!("{} more rows: --verbose\n", blocks.len() - ROWS);
    }
    out
}

/// The columns of the overview.
const OVERVIEW: [Implementation; 5] = [Software, OpenSsl, Tenrounds, AfAlg, Crossing];

/// A line for each algorithm, at its largest size.
fn overview(blocks: &[&[Figure]]) -> String {
    let Some(first) = blocks.first() else {
        return String::new();
    };
    type Cell = Box<dyn Fn(&Figure) -> Option<String>>;
    let rates = OVERVIEW
        .map(|who| -> (&str, Cell) { (label(who), Box::new(move |f| f.rate(who).map(rate))) });
    let ratio = |label, to, shown: fn(f64) -> String| -> (&str, Cell) {
        (label, Box::new(move |f| f.ratio(Tenrounds, to).map(shown)))
    };
    let ratios = [
        ratio("speed-up", OpenSsl, times),
        ratio("of limit", Limit, percent),
    ];
    let mut columns: Vec<(&str, Cell)> = rates.into_iter().chain(ratios).collect();
    columns.retain(|(_, cell)| blocks.iter().any(|block| cell(largest(block)).is_some()));
    let heads = std::iter::once("GB/s").chain(columns.iter().map(|(label, _)| *label));
    let row = |block: &&[Figure]| {
        let cells = columns.iter().map(|(_, cell)| cell(largest(block)));
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".into()));
        (title_with_threads(&block[0].case), cells.collect())
    };
    let heading = paint(BOLD, format!("At {}", size_name(largest(first).case.bytes)));
    let heads: Vec<String> = heads.map(str::to_owned).collect();
    format!(
        "{heading}\n{}",
        table(&heads, &blocks.iter().map(row).collect())
    )
}

/// The table of one algorithm at all sizes.
fn sizes(run: &Run, block: &[Figure], form: Form) -> String {
    let sizes = block.iter().map(|f| size_name(f.case.bytes));
    let heads: Vec<String> = std::iter::once("GB/s".to_owned()).chain(sizes).collect();
    let title = paint(BOLD, title_with_threads(&block[0].case));
    format!("{title}\n{}", table(&heads, &rows(run, block, form)))
}

/// The columns of `openssl speed`, for all algorithms.
fn speed_table(run: &Run, blocks: &[&[Figure]]) -> String {
    let Some(first) = blocks.first() else {
        return String::new();
    };
    let sizes = first.iter().map(|f| format!("{} bytes", f.case.bytes));
    let heads: Vec<String> = std::iter::once("type".to_owned()).chain(sizes).collect();
    let rows = blocks
        .iter()
        .flat_map(|block| rows(run, block, Form::OpenSsl));
    let unit = "The 'numbers' are in 1000s of bytes per second processed.\n";
    unit.to_owned() + &table(&heads, &rows.collect())
}

/// "AES-256-CBC decrypt tenrounds x2". Without a direction it is encryption.
fn speed_label(case: &Case, who: Implementation) -> String {
    let direction = match case.direction {
        Direction::Encrypt => "",
        Direction::Decrypt => " decrypt",
    };
    let name = format!("{}{direction} {}", case.cipher.title(), label(who));
    match case.threads {
        1 => name,
        n => format!("{name} x{n}"),
    }
}

/// The rows of one algorithm over all sizes. Those without any figure are left out.
fn rows(run: &Run, block: &[Figure], form: Form) -> Rows {
    let mut rows = Rows::new();
    let mut row = |label: &str, cell: &dyn Fn(&Figure) -> Option<String>| {
        let cells: Vec<Option<String>> = block.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells
                .into_iter()
                .map(|cell| cell.unwrap_or_else(|| "-".into()));
            rows.push((label.to_owned(), cells.collect()));
        }
    };
    let case = &block[0].case;
    let interval = |summary| Some(paint(DIM, spread(summary?)));
    for who in Implementation::all() {
        match form {
            Form::OpenSsl => row(&speed_label(case, who), &|f| {
                Some(format!("{:.2}k", f.rate(who)? / 1000.0))
            }),
            _ => row(label(who), &|f| f.rate(who).map(rate)),
        }
        if form != Form::Brief && !who.is_bound() && who != Software {
            row(plus_minus(), &|f| interval(f.rounds.rates.rate(&who)));
        }
    }
    row("speed-up", &|f| f.ratio(Tenrounds, OpenSsl).map(times));
    if form != Form::Brief {
        let of = |f: &Figure| f.rounds.rates.ratio(&Tenrounds, &OpenSsl);
        row(plus_minus(), &|f| interval(of(f)));
    }
    row("of limit", &|f| f.ratio(Tenrounds, Limit).map(percent));
    let scaling = |f: &Figure| Some(f.scaling(Tenrounds)?.median);
    if case.threads > 1 {
        row("times one thread", &|f| Some(format!("{:.3}", scaling(f)?)));
        row("efficiency", &|f| {
            Some(percent(scaling(f)? / case.threads as f64))
        });
    }
    if run.paths.is_some() && form == Form::Whole {
        for way in paths::WAYS {
            row(&format!("{} / OpenSSL", label(way)), &|f| {
                f.ratio(way, OpenSsl).map(times)
            });
        }
        for who in Implementation::all() {
            row(&format!("{}: user, system ns", label(who)), &|f| {
                let (user, system) = f.cpu_time(who)?;
                Some(format!("{user:.0}, {system:.0}"))
            });
        }
    }
    rows
}

/// The first line, at the largest size: of one algorithm its rates, of several the smallest and the
/// largest ratio to OpenSSL.
pub fn answer(figures: &[Figure]) -> String {
    let figures: Vec<&Figure> = blocks(figures).into_iter().map(largest).collect();
    let ratio = |f: &Figure| f.ratio(Tenrounds, OpenSsl);
    let compared = figures.iter().filter_map(|f| Some((ratio(f)?, *f)));
    let mut compared: Vec<(f64, &Figure)> = compared.collect();
    compared.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some(&f) = compared.first().map(|(_, f)| f).or(figures.first()) else {
        return "Nothing was measured.".into();
    };
    let size = size_name(f.case.bytes);
    let doubt = match worst_interval(&compared) {
        Some(worst) if worst.spread() >= HOPELESS => {
            return format!(
                "At {size}, tenrounds cannot be compared with OpenSSL: the machine was never \
                 quiet, and the interval of a ratio is +-{}. Measure again while nothing else runs.",
                spread(worst)
            )
        }
        Some(worst) if worst.spread() > QUIET => format!(
            " The intervals are wide, up to +-{} of a ratio: the machine was not quiet.",
            spread(worst)
        ),
        _ => String::new(),
    };
    if let [(least, slow), .., (most, fast)] = compared[..] {
        return format!(
            "At {size}, tenrounds is {least:.2} ({}) to {most:.2} ({}) times as fast as OpenSSL.{doubt}",
            title_with_threads(&slow.case),
            title_with_threads(&fast.case)
        );
    }
    let rate = |who| Some(format!("{} {} GB/s", label(who), gigabytes(f.rate(who)?)));
    let parts = [
        rate(Tenrounds),
        rate(OpenSsl),
        ratio(f).map(|ratio| format!("{ratio:.2} times as fast")),
        f.ratio(Tenrounds, Limit)
            .map(|part| format!("{} of the limit", percent(part))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let threads = match f.case.threads {
        1 => String::new(),
        n => format!(", {n} threads"),
    };
    let (title, parts) = (title(&f.case), parts.join(", "));
    format!("{title}, {size}{threads}: {parts}.{doubt}")
}

/// On an idle machine ratios vary by some percent, because they are paired within rounds.
const QUIET: f64 = 0.15;
/// They vary by as much as they are.
const HOPELESS: f64 = 1.0;

/// The widest interval of the ratios of the first line.
fn worst_interval(compared: &[(f64, &Figure)]) -> Option<Summary> {
    let ratios = compared
        .iter()
        .filter_map(|(_, f)| f.rounds.rates.ratio(&Tenrounds, &OpenSsl));
    ratios.max_by(|a, b| a.spread().total_cmp(&b.spread()))
}

/// The first line of --paths: the best way into the kernel against stock OpenSSL.
fn paths_answer(run: &Run) -> String {
    let blocks = run.blocks();
    let all = blocks.iter().flat_map(|block| {
        let found = paths::crossovers(block).into_iter();
        let measured = found.filter(|found| found.path == AfAlg && found.against == OpenSsl);
        measured.map(|found| (block[0].case, found))
    });
    let best = all.max_by(|(_, a), (_, b)| a.best_ratio.total_cmp(&b.best_ratio));
    let Some((case, best)) = best else {
        return "The kernel's AES cannot be measured here.".into();
    };
    let (who, other) = (label(best.path), run.openssl());
    let (most, place) = (times(best.best_ratio), size_name(best.best_bytes));
    let title = title_with_threads(&case);
    match best.bytes {
        Some(bytes) => format!(
            "{title}: {who} is faster than {other} from {} on ({most} at most, at {place}).",
            size_name(bytes)
        ),
        None => {
            format!("{title}: {who} is never faster than {other} ({most} at most, at {place}).")
        }
    }
}

const EFFICIENCY: &str =
    "efficiency: the rate of N threads as a fraction of N times the rate of one thread in the same \
     round. More than 100%: the one thread was slowed down, by the clock or by other programs.";

/// What the words of a run mean: those that are in it.
fn words(figures: &[Figure]) -> Vec<&'static str> {
    let has = |who| figures.iter().any(|f| f.rate(who).is_some());
    let noise = |f: &Figure| beyond_the_limit(f) && !skips_rounds(f);
    let words = [
        (
            has(Limit),
            "limit: the throughput of AES rounds alone on this processor. If each block waits for \
             the previous one, as in CBC encryption, it is that of one chain of rounds.",
        ),
        (
            has(Crossing),
            "crossing: as many system calls as AF_ALG needs, and one copy of the data into pages of \
             the kernel (a pipe to /dev/null), without a cipher. user, system: CPU time of a call \
             by the kernel's account, which is rough where it counts clock ticks.",
        ),
        (figures.iter().any(|f| f.case.threads > 1), EFFICIENCY),
        (figures.iter().any(skips_rounds), SKIPS_ROUNDS),
        (
            figures.iter().any(noise),
            "Slightly more than 100% of the limit is noise: the limit is measured, too.",
        ),
    ];
    words.into_iter().filter(|w| w.0).map(|w| w.1).collect()
}

pub const SKIPS_ROUNDS: &str =
    "More than 100% of the limit: long CTR calls compute two rounds once for many blocks.";

/// Whether it does so by what is shown as more than 100%.
fn beyond_the_limit(figure: &Figure) -> bool {
    let fraction = figure.ratio(Tenrounds, Limit);
    fraction.is_some_and(|fraction| fraction >= 1.005)
}

/// Whether it is beyond the limit because it does not do all rounds (core/simd/ctr_states.h).
pub fn skips_rounds(figure: &Figure) -> bool {
    let case = &figure.case;
    (case.cipher.mode(), case.bytes > 4096) == (Mode::Ctr, true) && beyond_the_limit(figure)
}

fn method(run: &Run) -> String {
    format!(
        "Each figure is the median of {} rounds of windows of {} ms by the wall clock, interleaved; \
         ratios are paired within rounds. All outputs were equal. It took {:.1} s.",
        run.shown_rounds(),
        WINDOW_US as f64 / 1000.0,
        run.took.as_secs_f64()
    )
}

/// What disturbed the measurement.
fn disturbance(run: &Run) -> String {
    let warning = run.disturbance().warning();
    warning.map_or_else(String::new, |warning| {
        paint(WARN, paragraph(&warning).trim_end()) + "\n"
    })
}

#[cfg(test)]
mod tests {
    use super::super::case::Case;
    use super::super::figure::Rounds;
    use super::*;
    use base::ciphers::Cipher;
    use catalogue::Direction;

    /// Figures of tenrounds at these fractions of the limit.
    fn at(name: &str, fractions: &[f64]) -> Vec<Figure> {
        let case = Case {
            cipher: Cipher::by_name(name).unwrap(),
            direction: Direction::Encrypt,
            bytes: 16384,
            threads: 1,
        };
        let figure = |fraction: &f64| {
            let mut rounds = Rounds::default();
            rounds.rates.by_subject.insert(Limit, vec![1e9; 3]);
            rounds
                .rates
                .by_subject
                .insert(Tenrounds, vec![fraction * 1e9; 3]);
            Figure { case, rounds }
        };
        fractions.iter().map(figure).collect()
    }

    #[test]
    fn only_words_that_occur_are_explained() {
        let said = |name: &str, fractions: &[f64]| words(&at(name, fractions)).join("\n");
        assert!(said("aes-128-gcm", &[0.6]).starts_with("limit: "));
        assert!(said("aes-128-ctr", &[0.9, 1.13]).contains("two rounds once"));
        assert!(!said("aes-128-ctr", &[0.9, 1.004]).contains("100%"));
        // A mode that does all rounds.
        let noise = said("aes-128-ecb", &[1.02]);
        assert!(!noise.contains("two rounds once") && noise.contains("is noise"));
        assert_eq!(words(&[]), Vec::<&str>::new());
    }

    /// Ratios of rounds that differ: quiet, disturbed, and never quiet.
    #[test]
    fn the_first_line_carries_its_doubt() {
        let said = |ratios: [f64; 4]| {
            let figure = |name: &str| {
                let mut figures = at(name, &[0.5]);
                let rates = &mut figures[0].rounds.rates;
                rates.by_subject.insert(OpenSsl, vec![1e9; 4]);
                rates
                    .by_subject
                    .insert(Tenrounds, ratios.map(|ratio| ratio * 1e9).to_vec());
                figures
            };
            let mut both = figure("aes-128-ctr");
            both.extend(figure("aes-128-gcm"));
            (answer(&figure("aes-128-ctr")), answer(&both))
        };
        let (one, both) = said([2.0, 2.0, 2.02, 2.02]);
        assert!(
            one.contains("times as fast") && !one.contains("quiet"),
            "{one}"
        );
        assert!(both.ends_with("times as fast as OpenSSL."), "{both}");
        for text in <[String; 2]>::from(said([1.0, 1.5, 2.5, 4.0])) {
            assert!(text.contains("times as fast"), "{text}");
            assert!(text.contains("The intervals are wide, up to "), "{text}");
        }
        for text in <[String; 2]>::from(said([0.1, 0.1, 9.0, 60.0])) {
            assert!(text.contains("the machine was never quiet"), "{text}");
            assert!(!text.contains("times as fast"), "{text}");
        }
    }

    #[test]
    fn spreads_have_two_or_three_figures() {
        let of = |low, high| {
            spread(Summary {
                median: 100.0,
                low,
                high,
            })
        };
        assert_eq!([of(99.6, 100.4), of(80.0, 120.0)], ["0.4%", "20%"]);
    }
}
