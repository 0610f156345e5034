// SPDX-License-Identifier: BSD-2-Clause
//! A run as a person reads it: the answer, the machine, and all algorithms at the largest size. The
//! whole also has each at all sizes, with intervals, what the words mean, and how it was measured.

use super::chart::{bars, columns, gigabytes, label_width, table, Bar, Layout, Paint, Row};
use super::figure::{blocks, size_name, title, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::openssl::EFFICIENCY;
use super::run::Run;
use crate::ciphers::Bound;
use ::measure::stats::Summary;
use anstyle::{AnsiColor, Style};
use catalogue::Mode;
use terminal::style::item;

const SHOWN: [Implementation; 6] = [Software, OpenSsl, Tenrounds, Core, Ceiling, Limit];
const DIM: Style = Style::new().dimmed();
/// The most rows of the brief table: it is for 15 lines.
const ROWS: usize = 8;

/// The answer in about 15 lines.
pub fn brief(run: &Run, paint: Paint) -> String {
    let mut out = item("", paint.bold(&answer(&run.figures))) + &heading(run, paint);
    let blocks = run.blocks();
    out += &match &blocks[..] {
        [one] => sizes(one, paint, false),
        all => overview(&all[..all.len().min(ROWS)], paint),
    };
    if let Some(more) = blocks.len().checked_sub(ROWS).filter(|more| *more > 0) {
        out += &paint.paragraph(&format!("{more} more rows: --verbose"));
    }
    for note in &run.notes {
        out += &paint.paragraph(&format!("Note: {note}"));
    }
    out += &paint.remark(run.disturbance());
    let hint = "--verbose: all sizes, the intervals, and what the words mean.";
    out + &paint.style(DIM, paint.paragraph(hint).trim_end()) + "\n"
}

/// Everything.
pub fn whole(run: &Run, paint: Paint) -> String {
    let mut out = item("", paint.bold(&answer(&run.figures))) + &heading(run, paint);
    let blocks = run.blocks();
    if blocks.len() > 1 {
        out += &(overview(&blocks, paint) + "\n");
    }
    for figures in &blocks {
        out += &block(figures, paint);
    }
    for line in words(&run.figures) {
        out += &paint.paragraph(line);
    }
    out + &ending(run, paint)
}

fn heading(run: &Run, paint: Paint) -> String {
    let mut out = paint.paragraph(&run.place());
    let mut say = |line: &str| out += &paint.paragraph(line);
    say(&format!(
        "{}; tenrounds {}, backend {}",
        run.openssl_version(),
        env!("CARGO_PKG_VERSION"),
        run.backend()
    ));
    run.masks().for_each(|mask| say(&mask));
    let limits = run
        .limits
        .iter()
        .map(|(limit, rate)| format!("{} {}", limit.name(), gigabytes(rate.median)));
    let limits: Vec<String> = limits.collect();
    say(&match limits.is_empty() {
        true => "limit: none, this processor has no AES instructions".into(),
        false => format!("AES rounds alone, GB/s: {}", limits.join(", ")),
    });
    out + "\n"
}

fn label(who: Implementation) -> &'static str {
    match who {
        OpenSsl => "OpenSSL",
        Core => "core",
        other => other.name(),
    }
}

fn colour(who: Implementation) -> AnsiColor {
    match who {
        Software => AnsiColor::Red,
        OpenSsl => AnsiColor::Yellow,
        Tenrounds | Core => AnsiColor::Green,
        _ => AnsiColor::Blue,
    }
}

pub fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        p if p >= 9.95 => format!("{p:.0}%"),
        p => format!("{p:.1}%"),
    }
}

/// The spread of a figure, in percent of it.
pub fn spread(summary: Summary) -> String {
    percent(summary.spread())
}

pub fn times(ratio: f64) -> String {
    format!("{ratio:.2}x")
}

/// A cell for every figure of a block; "-" where there is none.
fn cells(block: &[Figure], cell: impl Fn(&Figure) -> Option<String>) -> Vec<String> {
    block
        .iter()
        .map(|f| cell(f).unwrap_or_else(|| "-".into()))
        .collect()
}

fn measured(block: &[Figure]) -> impl Iterator<Item = Implementation> + '_ {
    SHOWN
        .into_iter()
        .filter(|who| block[0].rounds.rates.contains_key(who))
}

fn largest(block: &[Figure]) -> &Figure {
    let largest = block.iter().max_by_key(|f| f.case.bytes);
    largest.expect("a block is not empty")
}

/// The first line, at the largest size: of one algorithm its rates, of several the smallest and the
/// largest ratio to OpenSSL.
pub fn answer(figures: &[Figure]) -> String {
    let figures: Vec<&Figure> = blocks(figures).into_iter().map(largest).collect();
    let size = |f: &Figure| size_name(f.case.bytes);
    let ratio = |f: &Figure| f.ratio(Tenrounds, OpenSsl);
    let mut compared: Vec<(f64, &&Figure)> = figures
        .iter()
        .filter_map(|f| Some((ratio(f)?, f)))
        .collect();
    compared.sort_by(|a, b| a.0.total_cmp(&b.0));
    let doubt = doubt(&compared);
    if let (Doubt::All(worst), Some((_, f))) = (&doubt, compared.first()) {
        return format!(
            "At {}, tenrounds cannot be compared with OpenSSL: the machine was never quiet, and the interval of a ratio is +-{worst}. Measure again while nothing else runs.",
            size(f)
        );
    }
    let doubt = match doubt {
        Doubt::Some(worst) => {
            format!(
                " The intervals are wide, up to +-{worst} of a ratio: the machine was not quiet."
            )
        }
        _ => String::new(),
    };
    if let [(least, slow), .., (most, fast)] = compared[..] {
        return format!(
            "At {}, tenrounds is {least:.2} ({}) to {most:.2} ({}) times as fast as OpenSSL.{doubt}",
            size(fast),
            title_with_threads(&slow.case),
            title_with_threads(&fast.case)
        );
    }
    let Some(&f) = compared.first().map(|(_, f)| *f).or(figures.first()) else {
        return "Nothing was measured.".into();
    };
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
    format!("{title}, {}{threads}: {parts}.{doubt}", size(f))
}

/// How far the ratios of the first line can be trusted.
enum Doubt {
    None,
    /// They vary by up to this.
    Some(String),
    /// They vary by as much as they are.
    All(String),
}

/// On an idle machine ratios vary by some percent, because they are paired within rounds.
fn doubt(compared: &[(f64, &&Figure)]) -> Doubt {
    const QUIET: f64 = 0.15;
    const HOPELESS: f64 = 1.0;
    let ratios = compared
        .iter()
        .map(|(_, f)| f.rounds.rates.ratio(&Tenrounds, &OpenSsl));
    let worst = ratios
        .flatten()
        .max_by(|a, b| a.spread().total_cmp(&b.spread()));
    match worst {
        Some(worst) if worst.spread() >= HOPELESS => Doubt::All(spread(worst)),
        Some(worst) if worst.spread() > QUIET => Doubt::Some(spread(worst)),
        _ => Doubt::None,
    }
}

/// A line for each algorithm, at its largest size.
fn overview(blocks: &[&[Figure]], paint: Paint) -> String {
    let Some(first) = blocks.first() else {
        return String::new();
    };
    let titles: Vec<String> = blocks
        .iter()
        .map(|b| title_with_threads(&b[0].case))
        .collect();
    let heads = ["software", "OpenSSL", "tenrounds", "speed-up", "of limit"];
    let heads = Row::new("GB/s", heads.map(str::to_owned).to_vec()).styled(DIM);
    let row = |(block, title): (&&[Figure], &String)| {
        let f = largest(block);
        let cells = [
            f.rate(Software).map(gigabytes),
            f.rate(OpenSsl).map(gigabytes),
            f.rate(Tenrounds).map(gigabytes),
            f.ratio(Tenrounds, OpenSsl).map(times),
            f.ratio(Tenrounds, Limit).map(percent),
        ];
        let cells = cells.map(|cell| cell.unwrap_or_else(|| "-".into()));
        Row::new(title, cells.to_vec())
    };
    let rows: Vec<Row> = std::iter::once(heads)
        .chain(blocks.iter().zip(&titles).map(row))
        .collect();
    let heading = format!("At {}", size_name(largest(first).case.bytes));
    let layout = Layout {
        indent: 2,
        label: label_width(titles.iter().map(String::as_str)),
        cell: 10,
    };
    paint.bold(&heading) + "\n" + &columns(paint, layout, &rows)
}

/// The table of one algorithm at all sizes, with or without intervals.
fn sizes(block: &[Figure], paint: Paint, intervals: bool) -> String {
    let sizes = cells(block, |f| Some(size_name(f.case.bytes)));
    let mut rows = vec![Row::new("GB/s", sizes).styled(DIM)];
    let sign = format!(" {}", paint.plus_minus());
    let within = |rows: &mut Vec<Row>, cells| {
        if intervals {
            rows.push(Row::new(sign.clone(), cells).styled(DIM));
        }
    };
    for who in measured(block) {
        let style = match who {
            Tenrounds => Style::new().bold(),
            _ => Style::new(),
        };
        let rates = cells(block, |f| f.rate(who).map(gigabytes));
        rows.push(Row::new(label(who), rates).styled(style));
        if matches!(who, OpenSsl | Tenrounds | Core) {
            let spreads = cells(block, |f| f.rounds.rates.rate(&who).map(spread));
            within(&mut rows, spreads);
        }
    }
    let speed_up = |f: &Figure| f.rounds.rates.ratio(&Tenrounds, &OpenSsl);
    if block.iter().any(|f| speed_up(f).is_some()) {
        let medians = cells(block, |f| speed_up(f).map(|s| times(s.median)));
        rows.push(Row::new("speed-up", medians));
        within(&mut rows, cells(block, |f| speed_up(f).map(spread)));
    }
    let mut fractions = |label, of: &dyn Fn(&Figure) -> Option<f64>| {
        if block.iter().any(|f| of(f).is_some()) {
            rows.push(Row::new(label, cells(block, |f| of(f).map(percent))));
        }
    };
    fractions("of limit", &|f| f.ratio(Tenrounds, Limit));
    fractions("of ceiling", &|f| f.ratio(Tenrounds, Ceiling));
    if block[0].case.threads > 1 {
        fractions("efficiency", &|f| {
            Some(f.rounds.scaling.get(&Tenrounds)?.median / f.case.threads as f64)
        });
    }
    let width = label_width(rows.iter().map(|row| row.label.as_str()));
    let title = paint.bold(&title_with_threads(&block[0].case));
    format!("{title}\n{}", table(paint, width, &rows))
}

/// One algorithm at all sizes, and as bars at the largest.
fn block(block: &[Figure], paint: Paint) -> String {
    let largest = largest(block);
    let bar = |who| bar(who, largest, paint);
    let drawn: Vec<Bar> = measured(block).filter_map(bar).collect();
    let width = label_width(drawn.iter().map(|bar| bar.label.as_str()));
    let size = size_name(largest.case.bytes);
    let verdict = verdict(largest).map_or(format!("At {size}:"), |verdict| {
        format!("At {size}, tenrounds: {verdict}")
    });
    format!(
        "{}\n{}{}\n",
        sizes(block, paint, true),
        paint.paragraph(&verdict),
        bars(paint, width, &drawn)
    )
}

fn bar(who: Implementation, figure: &Figure, paint: Paint) -> Option<Bar> {
    let rate = figure.rounds.rates.rate(&who)?;
    Some(Bar {
        label: label(who).into(),
        value: rate.median,
        text: format!(
            "{} GB/s {}{}",
            gigabytes(rate.median),
            paint.plus_minus(),
            spread(rate)
        ),
        colour: colour(who),
    })
}

/// tenrounds against whatever else was measured: "2.41x OpenSSL, 97% of the limit".
fn verdict(figure: &Figure) -> Option<String> {
    let to = |other| figure.ratio(Tenrounds, other);
    let why = match figure.case.cipher.bound(figure.case.direction) {
        Bound::Latency => " (each block waits for the one before)",
        Bound::LatencyThenThroughput | Bound::HashThenThroughput => " (of two passes)",
        _ => "",
    };
    let parts = [
        to(OpenSsl).map(|ratio| format!("{} OpenSSL", times(ratio))),
        to(Limit).map(|fraction| format!("{} of the limit{why}", percent(fraction))),
        to(Ceiling).map(|fraction| format!("{} of the ceiling", percent(fraction))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What the words of a run mean: those that are in it.
pub fn words(figures: &[Figure]) -> Vec<&'static str> {
    let has = |who| figures.iter().any(|f| f.rate(who).is_some());
    let noise = |f: &Figure| beyond_the_limit(f) && !skips_rounds(f);
    let words = [
        (
            has(Limit),
            "limit: the throughput of AES rounds alone on this processor. If each block waits for \
             the previous one, as in CBC encryption, it is that of one chain of rounds.",
        ),
        (
            has(Ceiling),
            "ceiling: the throughput of AES rounds and GCM's multiplications alone.",
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
    let fractions = [Tenrounds, Core].map(|who| figure.ratio(who, Limit));
    fractions
        .into_iter()
        .flatten()
        .any(|fraction| fraction >= 1.005)
}

/// Whether it is beyond the limit because it does not do all rounds (core/simd/ctr_states.h).
pub fn skips_rounds(figure: &Figure) -> bool {
    let case = &figure.case;
    (case.cipher.mode(), case.bytes > 4096) == (Mode::Ctr, true) && beyond_the_limit(figure)
}

/// What the signs mean, what was left out, and how it was measured.
pub fn ending(run: &Run, paint: Paint) -> String {
    let mut out = paint.paragraph(&format!(
        "{}: {}",
        paint.plus_minus(),
        ::measure::stats::INTERVAL
    ));
    for note in &run.notes {
        out += &paint.paragraph(&format!("Note: {note}"));
    }
    out += &paint.paragraph(&format!(
        "Each figure is the median of {} rounds of windows of {} ms by the wall clock, interleaved; \
         ratios are paired within rounds. All outputs were equal. It took {:.1} s.",
        run.rounds(),
        run.effort.window_us as f64 / 1000.0,
        run.took.as_secs_f64()
    ));
    out + &paint.remark(run.disturbance())
}

#[cfg(test)]
mod tests {
    use super::super::case::Case;
    use super::super::measure::Rounds;
    use super::*;
    use crate::ciphers::Cipher;
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
            rounds.rates.insert(Limit, vec![1e9; 3]);
            rounds.rates.insert(Tenrounds, vec![fraction * 1e9; 3]);
            Figure::new(case, rounds)
        };
        fractions.iter().map(figure).collect()
    }

    #[test]
    fn only_words_that_occur_are_explained() {
        let said = |name: &str, fractions: &[f64]| words(&at(name, fractions)).join("\n");
        assert!(said("aes-128-gcm", &[0.6]).starts_with("limit: "));
        assert!(!said("aes-128-gcm", &[0.6]).contains("ceiling"));
        assert!(said("aes-128-ctr", &[0.9, 1.13]).contains("two rounds once"));
        assert!(!said("aes-128-ctr", &[0.9, 1.004]).contains("100%"));
        // A mode that does all rounds.
        let noise = said("aes-128-ecb", &[1.02]);
        assert!(!noise.contains("two rounds once") && noise.contains("is noise"));
        let mut gcm = at("aes-128-gcm", &[0.6]);
        gcm[0].rounds.rates.insert(Ceiling, vec![0.77e9; 3]);
        assert!(words(&gcm).join("\n").contains("ceiling: "));
        assert_eq!(words(&[]), Vec::<&str>::new());
    }

    #[test]
    fn a_latency_bound_limit_is_said_to_be_one() {
        let said = |name: &str| verdict(&at(name, &[0.99])[0]).unwrap();
        assert!(said("aes-128-cbc").contains("each block waits for the one before"));
        assert_eq!(said("aes-128-ctr"), "99% of the limit");
    }

    /// Ratios of rounds that differ: quiet, disturbed, and never quiet.
    #[test]
    fn the_first_line_carries_its_doubt() {
        let said = |ratios: [f64; 4]| {
            let figure = |name: &str| {
                let mut figures = at(name, &[0.5]);
                let rates = &mut figures[0].rounds.rates;
                rates.insert(OpenSsl, vec![1e9; 4]);
                rates.insert(Tenrounds, ratios.map(|ratio| ratio * 1e9).to_vec());
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
