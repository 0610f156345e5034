// SPDX-License-Identifier: BSD-2-Clause
//! The goals, in one table, and how a run stands to them. A median is compared with its goal as it
//! is. Where the goal is to be as fast as another implementation, the upper end of its confidence
//! interval counts, so that a tie within the noise is met.

use crate::answer::{CEILING, ONE_THREAD};
use crate::grid::{Cell, Kind, Way};
use crate::peer::{Direction, Form, Mode, RAGGED, STAGGER, UNITS, UNIT_BYTES};
use crate::peers::openssl::replaced;
use crate::plan::Environment;
use crate::results::{way, Results, Row};
use measure::stats::Summary;
use terminal::size_name;

/// What a goal compares with.
#[derive(Clone, Copy)]
enum Of {
    /// The limit of the cell.
    Limit,
    /// The limit of 128-bit registers, which is half of it.
    HalfLimit,
    /// The bound that the longest of unequal streams sets, at most the limit.
    LongestChain,
    /// The stock provider in the same libcrypto.
    Stock,
    /// The fastest of the other libraries.
    Best,
    /// One thread.
    OneThread,
}

/// Who made a processor. What bounds a mode differs between makers, so goals do, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Maker {
    Intel,
    Amd,
    Other,
}

impl Maker {
    /// By the vendor that CPUID names.
    pub fn of(vendor: &str) -> Maker {
        match vendor {
            "GenuineIntel" => Maker::Intel,
            "AuthenticAMD" => Maker::Amd,
            _ => Maker::Other,
        }
    }
}

/// The target of each maker's processors; None where they have no such goal.
#[derive(Clone, Copy)]
struct Targets {
    intel: Option<f64>,
    amd: Option<f64>,
    other: Option<f64>,
}

impl Targets {
    fn of(&self, maker: Maker) -> Option<f64> {
        match maker {
            Maker::Intel => self.intel,
            Maker::Amd => self.amd,
            Maker::Other => self.other,
        }
    }
}

/// The same target on every processor.
const fn every(target: f64) -> Targets {
    let target = Some(target);
    Targets {
        intel: target,
        amd: target,
        other: target,
    }
}

/// One for Intel and one for AMD.
const fn each(intel: f64, amd: f64) -> Targets {
    Targets {
        intel: Some(intel),
        amd: Some(amd),
        other: None,
    }
}

/// For Intel alone.
const fn intel(target: f64) -> Targets {
    Targets {
        intel: Some(target),
        amd: None,
        other: None,
    }
}

struct Figure {
    /// A short name, for goals that a run does not measure.
    what: &'static str,
    environment: Environment,
    subject: &'static str,
    ways: &'static [(Mode, Direction)],
    streams: usize,
    /// Bytes between streams.
    gap: usize,
    key_bits: u16,
    /// From, to, in bytes; both included.
    sizes: (usize, usize),
    targets: Targets,
    of: Of,
}

use Direction::{Decrypt, Encrypt};
const PARALLEL: &[(Mode, Direction)] = &[
    (Mode::Ecb, Encrypt),
    (Mode::Ecb, Decrypt),
    (Mode::Ctr, Encrypt),
    (Mode::Cbc, Decrypt),
    (Mode::Cfb128, Decrypt),
];
const CHAINED: &[(Mode, Direction)] = &[
    (Mode::Cbc, Encrypt),
    (Mode::Cfb128, Encrypt),
    (Mode::Ofb, Encrypt),
];
const XTS: &[(Mode, Direction)] = &[(Mode::Xts, Encrypt), (Mode::Xts, Decrypt)];
const GCM: &[(Mode, Direction)] = &[(Mode::Gcm, Encrypt), (Mode::Gcm, Decrypt)];
const CCM: &[(Mode, Direction)] = &[(Mode::Ccm, Encrypt), (Mode::Ccm, Decrypt)];
const SEAL_CCM: &[(Mode, Direction)] = &[(Mode::Ccm, Encrypt)];
const CBC: &[(Mode, Direction)] = &[(Mode::Cbc, Encrypt)];
const CTR: &[(Mode, Direction)] = &[(Mode::Ctr, Encrypt)];
const SEAL_GCM: &[(Mode, Direction)] = &[(Mode::Gcm, Encrypt)];
const CTR_AND_CBC_DEC: &[(Mode, Direction)] = &[(Mode::Ctr, Encrypt), (Mode::Cbc, Decrypt)];
const EVERY: usize = usize::MAX;

const fn figure(
    what: &'static str,
    ways: &'static [(Mode, Direction)],
    sizes: (usize, usize),
    targets: Targets,
) -> Figure {
    Figure {
        what,
        environment: Environment::Plain,
        subject: "core",
        ways,
        streams: 1,
        gap: 0,
        key_bits: 128,
        sizes,
        targets,
        of: Of::Limit,
    }
}

const fn by(subject: &'static str, figure: Figure) -> Figure {
    Figure { subject, ..figure }
}

const fn of(of: Of, figure: Figure) -> Figure {
    Figure { of, ..figure }
}

const fn streams(streams: usize, figure: Figure) -> Figure {
    Figure { streams, ..figure }
}

const fn staggered(figure: Figure) -> Figure {
    Figure {
        gap: STAGGER,
        ..streams(16, figure)
    }
}

/// Ours in a libcrypto against the stock provider in the same one.
const fn in_libcrypto(figure: Figure) -> Figure {
    by("evp", of(Of::Stock, figure))
}

const fn masked(figure: Figure) -> Figure {
    Figure {
        environment: Environment::Software,
        ..in_libcrypto(figure)
    }
}

/// Of two figures that ask for the same thing in a cell, the higher target counts.
const FIGURES: &[Figure] = &[
    figure(
        "ECB, CTR, CBC dec, CFB dec",
        PARALLEL,
        (8192, EVERY),
        every(0.98),
    ),
    figure(
        "ECB, CTR, CBC dec, CFB dec",
        PARALLEL,
        (1024, 1024),
        every(0.95),
    ),
    figure(
        "ECB, CTR, CBC dec, CFB dec",
        PARALLEL,
        (256, 256),
        every(0.80),
    ),
    by(
        "core-vaes256",
        figure("the same, vaes256", PARALLEL, (8192, EVERY), every(0.96)),
    ),
    by(
        "core-aesni",
        of(
            Of::HalfLimit,
            figure(
                "the same, aesni, of half",
                PARALLEL,
                (8192, EVERY),
                every(0.98),
            ),
        ),
    ),
    figure("CTR", CTR, (16384, 16384), each(1.12, 1.07)),
    figure("XTS", XTS, (1 << 20, 1 << 20), each(0.98, 0.95)),
    figure("XTS", XTS, (16384, 16384), each(0.98, 0.93)),
    figure("XTS", XTS, (4096, 4096), each(0.93, 0.85)),
    streams(
        UNITS,
        figure(
            "XTS, 8 units in one call",
            XTS,
            (UNIT_BYTES, UNIT_BYTES),
            each(0.85, 0.80),
        ),
    ),
    of(
        Of::Best,
        figure("XTS, to the best", XTS, (1350, 1350), intel(1.05)),
    ),
    of(
        Of::Best,
        figure("XTS, to the best", XTS, (100, 100), intel(1.05)),
    ),
    of(
        Of::Best,
        figure("XTS, to the best", XTS, (16, 31), intel(1.05)),
    ),
    figure("GCM", GCM, (65536, 65536), each(1.04, 0.75)),
    figure("GCM", GCM, (16384, 16384), each(0.97, 0.70)),
    figure("GCM sealing", SEAL_GCM, (1350, 1350), intel(0.70)),
    figure("GCM sealing", SEAL_GCM, (1024, 1024), intel(0.75)),
    figure("GCM sealing", SEAL_GCM, (512, 512), intel(0.58)),
    by(
        "core-vaes256",
        figure("GCM, vaes256", GCM, (16384, 16384), each(0.70, 0.58)),
    ),
    figure("CBC, CFB, OFB enc", CHAINED, (1024, EVERY), every(0.995)),
    staggered(figure(
        "CBC enc, 16 staggered streams",
        CBC,
        (16384, 16384),
        each(0.94, 0.85),
    )),
    staggered(figure(
        "CBC enc, 16 staggered streams",
        CBC,
        (1024, 1024),
        each(0.82, 0.72),
    )),
    staggered(figure(
        "CBC enc, 16 staggered streams",
        CBC,
        (128, 128),
        each(0.45, 0.33),
    )),
    of(
        Of::LongestChain,
        streams(
            RAGGED,
            figure("CBC enc, ragged streams", CBC, (0, EVERY), every(0.85)),
        ),
    ),
    figure("CCM, of its chain", CCM, (16384, 16384), every(0.97)),
    streams(
        16,
        figure(
            "CCM, 16 streams, of L/2",
            SEAL_CCM,
            (16384, 16384),
            every(0.85),
        ),
    ),
    by(
        "evp",
        figure("EVP, GCM message", GCM, (16384, 16384), each(0.90, 0.66)),
    ),
    in_libcrypto(figure("EVP, GCM, to stock", GCM, (16, 256), every(1.0))),
    in_libcrypto(figure(
        "EVP, CTR and CBC dec, to stock",
        CTR_AND_CBC_DEC,
        (16, 64),
        every(1.1),
    )),
    in_libcrypto(figure("EVP, CBC enc, to stock", CBC, (16, 64), every(1.0))),
    masked(figure("software, CBC enc", CBC, (16, 16), every(1.05))),
    masked(figure("software, CBC enc", CBC, (256, EVERY), every(1.05))),
    masked(figure("software, CTR", CTR, (16, 16), every(2.2))),
    masked(figure("software, CTR", CTR, (256, EVERY), every(3.3))),
    masked(figure("software, GCM", SEAL_GCM, (16, 16), every(2.9))),
    masked(figure("software, GCM", SEAL_GCM, (256, EVERY), every(3.2))),
    of(
        Of::OneThread,
        figure("two threads to one", CTR, (0, EVERY), every(1.95)),
    ),
    of(
        Of::OneThread,
        figure("two threads to one", SEAL_GCM, (0, EVERY), every(1.95)),
    ),
    by(
        "evp",
        of(
            Of::OneThread,
            figure("EVP, two threads to one", CTR, (0, EVERY), every(1.95)),
        ),
    ),
    by(
        "evp",
        of(
            Of::OneThread,
            figure("EVP, two threads to one", SEAL_GCM, (0, EVERY), every(1.95)),
        ),
    ),
];

/// A goal and how a run stands to it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Way, key bits, size, subject, and what it compares with: "gcm-encrypt/128/16384/core/bound".
    pub id: String,
    pub environment: Environment,
    pub cell: Cell,
    pub subject: String,
    /// What `target` is a multiple of: [`OF_LIMIT`] or its like, or the title of another library.
    pub of: String,
    pub target: f64,
    pub value: f64,
    /// Of the value, not a fraction of it.
    pub spread: f64,
    pub met: bool,
}

pub const OF_LIMIT: &str = "limit";
pub const OF_HALF_LIMIT: &str = "half the limit";
/// The unit of a goal that published runs have and later runs do not.
const OF_RATE: &str = "GB/s";
pub const OF_LONGEST_CHAIN: &str = "what the longest chain allows";
const LONGEST_CHAIN: &str = "longest-chain";
pub const OF_ONE_THREAD: &str = "one thread";

impl Judged {
    /// By how much it is missed, as a fraction of the target.
    pub fn missed_by(&self) -> f64 {
        1.0 - self.value / self.target
    }

    /// "CBC encryption, AES-128, 16 KiB".
    pub fn place(&self) -> String {
        place(self.environment, &self.cell)
    }

    /// Whether it compares with the best of the other libraries.
    pub fn of_best(&self) -> bool {
        self.id.ends_with("/best")
    }

    /// "51.5 ± 0.7 %, goal 80 %" of the limit, "0.961 ± 0.014 GB/s, goal 1.4",
    /// "1.003 ± 0.009 × OpenSSL 4.0.3, goal 1.1".
    pub fn said(&self) -> String {
        let percent = |of: &str| {
            let (value, spread) = (self.value * 100.0, self.spread * 100.0);
            let goal = (self.target * 1000.0).round() / 10.0;
            format!("{value:.1} ± {spread:.1} %{of}, goal {goal} %")
        };
        let times = if self.of == OF_RATE { "" } else { "× " };
        let number = format!("{:.3} ± {:.3} {times}{}", self.value, self.spread, self.of);
        match &*self.of {
            OF_LIMIT => percent(""),
            OF_HALF_LIMIT => percent(" of half the limit"),
            OF_LONGEST_CHAIN => percent(" of what the longest chain allows"),
            _ if self.of_best() || replaced(&self.subject).is_some() => number,
            _ => format!("{number}, goal {}", self.target),
        }
    }
}

/// The goals of a run.
#[derive(Clone, Debug, Default)]
pub struct Goals {
    pub met: usize,
    /// All of a run that was just measured; those that are missed of a published one.
    pub judged: Vec<Judged>,
}

impl Goals {
    pub fn missed(&self) -> impl Iterator<Item = &Judged> {
        self.judged.iter().filter(|g| !g.met)
    }

    pub fn count(&self) -> usize {
        self.met + self.missed().count()
    }
}

/// "CBC encryption, AES-128, 16 KiB", with what is unusual about it.
pub fn place(environment: Environment, cell: &Cell) -> String {
    let mut text = format!(
        "{}, AES-{}",
        Way::of(&cell.spec).title(),
        cell.spec.key_bits
    );
    if cell.spec.streams != RAGGED {
        text += &format!(", {}", size_name(cell.bytes));
    }
    text + &unusual(environment, cell)
}

/// ", alone", ", 2 threads", ", software".
pub fn unusual(environment: Environment, cell: &Cell) -> String {
    let mut text = String::new();
    if cell.kind == Kind::Alone {
        text += ", alone";
    }
    if cell.threads > 1 {
        text += &format!(", {} threads", cell.threads);
    }
    if environment == Environment::Software {
        text += ", software";
    }
    text
}

/// The name of what is said of a subject in a cell: way, key bits, size, what is unusual, subject,
/// and what of it.
pub fn id(environment: Environment, cell: &Cell, subject: &str, of: &str) -> String {
    let way = Way::of(&cell.spec).name();
    let mut id = format!("{way}/{}/{}", cell.spec.key_bits, cell.bytes);
    if cell.kind == Kind::Alone {
        id += "/alone";
    }
    if cell.threads > 1 {
        id += &format!("/{}{THREADS}", cell.threads);
    }
    if environment == Environment::Software {
        id += "/software";
    }
    format!("{id}/{subject}/{of}")
}

const THREADS: &str = "-threads";

/// The reverse of `id`: environment, cell and subject. None for what is no id.
pub fn parse_id(id: &str) -> Option<(Environment, Cell, String)> {
    let mut parts = id.split('/');
    let way = way(parts.next()?)?;
    let mut cell = Cell {
        spec: way.spec(parts.next()?.parse().ok()?),
        bytes: parts.next()?.parse().ok()?,
        kind: Kind::Throughput,
        threads: 1,
    };
    let mut environment = Environment::Plain;
    loop {
        match parts.next()? {
            "alone" => cell.kind = Kind::Alone,
            "software" => environment = Environment::Software,
            part => match part.strip_suffix(THREADS) {
                Some(threads) => cell.threads = threads.parse().ok()?,
                None => {
                    let of = parts.next();
                    return (of.is_some() && parts.next().is_none())
                        .then(|| (environment, cell, part.to_owned()));
                }
            },
        }
    }
}

impl Figure {
    fn title(&self) -> String {
        let (from, to) = self.sizes;
        let sizes = match (from, to) {
            (0, EVERY) => String::new(),
            (_, EVERY) => format!(", from {} on", size_name(from)),
            _ if from == to => format!(", {}", size_name(from)),
            _ => format!(", {} to {}", size_name(from), size_name(to)),
        };
        format!("{}, AES-{}{sizes}", self.what, self.key_bits)
    }

    fn concerns(&self, environment: Environment, cell: &Cell, subject: &str) -> bool {
        let spec = &cell.spec;
        let threads = matches!(self.of, Of::OneThread);
        environment == self.environment
            && subject == self.subject
            && cell.kind == Kind::Throughput
            && (cell.threads > 1) == threads
            && (spec.streams, spec.gap) == (self.streams, self.gap)
            && spec.form == Form::Usual
            && spec.key_bits == self.key_bits
            && self.ways.contains(&(spec.mode, spec.direction))
            && (self.sizes.0..=self.sizes.1).contains(&cell.bytes)
    }

    fn judge(&self, row: &Row, target: f64, results: &Results) -> Option<Judged> {
        let judged = |name: &str, of: &str, factor: f64, s: &Summary| Judged {
            id: id(row.environment, &row.cell, &row.subject, name),
            environment: row.environment,
            cell: row.cell,
            subject: row.subject.clone(),
            of: of.to_owned(),
            target,
            value: s.median * factor,
            spread: s.spread() * s.median * factor,
            met: s.median * factor >= target,
        };
        let limit = row.limit.as_ref();
        let to = |other: &str| {
            let ratio = row.ratios.get(other)?;
            Some(Judged {
                met: reached(ratio, target),
                ..judged(other, results.title(other), 1.0, ratio)
            })
        };
        match self.of {
            Of::Limit => Some(judged("bound", OF_LIMIT, 1.0, limit?)),
            Of::HalfLimit => Some(judged("bound", OF_HALF_LIMIT, 2.0, limit?)),
            Of::LongestChain => {
                let chain = results.row(row.environment, row.cell, CEILING)?;
                let most = chain.limit?.median.min(1.0);
                Some(judged(LONGEST_CHAIN, OF_LONGEST_CHAIN, 1.0 / most, limit?))
            }
            Of::Stock => to(&results.stock()?),
            Of::Best => to(&results.best_peer(row.environment, row.cell)?.subject),
            Of::OneThread => {
                let ratio = row.ratios.get(ONE_THREAD)?;
                Some(judged(ONE_THREAD, OF_ONE_THREAD, 1.0, ratio))
            }
        }
    }
}

/// Whether a ratio to another implementation reaches a target. A target of 1 may be a tie.
fn reached(ratio: &Summary, target: f64) -> bool {
    let value = if target == 1.0 {
        ratio.high
    } else {
        ratio.median
    };
    value >= target
}

/// At least the best peer, in every cell, by the core's own calls.
fn against_best(results: &Results) -> Vec<Judged> {
    let mut judged = Vec::new();
    for (environment, cell) in results.cells() {
        let ours = results.row(environment, cell, "core");
        let best = results.best_peer(environment, cell);
        let (Some(ours), Some(best)) = (ours, best) else {
            continue;
        };
        let Some(ratio) = ours.ratios.get(&best.subject) else {
            continue;
        };
        judged.push(Judged {
            id: id(environment, &cell, &ours.subject, "best"),
            environment,
            cell,
            subject: ours.subject.clone(),
            of: results.title(&best.subject).to_owned(),
            target: 1.0,
            value: ratio.median,
            spread: ratio.spread() * ratio.median,
            met: reached(ratio, 1.0),
        });
    }
    judged
}

/// At least the default provider in the same libcrypto, in every cell.
fn against_replaced(results: &Results) -> impl Iterator<Item = Judged> + '_ {
    results.rows.iter().filter_map(|row| {
        let stock = replaced(&row.subject)?;
        let ratio = row.ratios.get(&stock)?;
        Some(Judged {
            id: id(row.environment, &row.cell, &row.subject, &stock),
            environment: row.environment,
            cell: row.cell,
            subject: row.subject.clone(),
            of: results.title(&stock).to_owned(),
            target: 1.0,
            value: ratio.median,
            spread: ratio.spread() * ratio.median,
            met: reached(ratio, 1.0),
        })
    })
}

/// All goals that a run measures on a processor of that maker.
pub fn judge(results: &Results, maker: Maker) -> Goals {
    let mut judged: Vec<Judged> = Vec::new();
    for row in &results.rows {
        let begin = judged.len();
        for figure in FIGURES {
            let concerned = figure.concerns(row.environment, &row.cell, &row.subject);
            let target = figure.targets.of(maker).filter(|_| concerned);
            let Some(goal) = target.and_then(|t| figure.judge(row, t, results)) else {
                continue;
            };
            match judged[begin..].iter_mut().find(|known| known.id == goal.id) {
                Some(known) if known.target < goal.target => *known = goal,
                Some(_) => {}
                None => judged.push(goal),
            }
        }
    }
    judged.extend(against_best(results));
    judged.extend(against_replaced(results));
    let met = judged.iter().filter(|g| g.met).count();
    Goals { met, judged }
}

/// Goals of that maker's processors that no row of a run measures: "XTS, AES-128, 4 KiB".
pub fn unmeasured(results: &Results, maker: Maker) -> Vec<String> {
    let measured = |figure: &Figure| {
        let mut rows = results.rows.iter();
        rows.any(|row| figure.concerns(row.environment, &row.cell, &row.subject))
    };
    let figures = FIGURES.iter().filter(|f| f.targets.of(maker).is_some());
    let missing = figures.filter(|figure| !measured(figure));
    let mut titles: Vec<String> = missing.map(Figure::title).collect();
    titles.dedup();
    titles
}

/// The ids that goals in these cells can have, on a processor of any maker.
#[cfg(test)]
pub fn possible_ids(cells: &[(Environment, Cell)]) -> Vec<String> {
    let mut ids = Vec::new();
    for (environment, cell) in cells {
        let mut add = |subject: &str, of: &str| ids.push(id(*environment, cell, subject, of));
        for figure in FIGURES {
            if figure.concerns(*environment, cell, figure.subject) {
                let of = match figure.of {
                    Of::Limit | Of::HalfLimit => "bound",
                    Of::LongestChain => LONGEST_CHAIN,
                    Of::Stock => "openssl-3.0.22",
                    Of::Best => "aws-lc",
                    Of::OneThread => ONE_THREAD,
                };
                add(figure.subject, of);
            }
        }
        if cell.threads == 1 {
            add("core", "best");
        }
        if cell.spec.streams == 1 {
            add("evp-3.5.5", "openssl-3.5.5");
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Subject;
    use crate::peer::Spec;
    use crate::run::Found;
    use measure::rounds::Rates;
    use std::collections::BTreeMap;

    type Part<'a> = &'a [(&'a str, [f64; 3])];

    fn results(rates: Part, threads: usize) -> Results {
        results_of(&[rates], threads)
    }

    /// Of several processes.
    fn results_of(processes: &[Part], threads: usize) -> Results {
        let cell = Cell {
            spec: Spec {
                mode: Mode::Ctr,
                key_bits: 128,
                direction: Encrypt,
                streams: 1,
                aad: crate::peer::AAD,
                gap: 0,
                form: Form::Usual,
            },
            bytes: 16384,
            kind: Kind::Throughput,
            threads,
        };
        let mut rates = Rates::default();
        for process in processes {
            let part = process.iter().map(|(id, r)| (id.to_string(), r.to_vec()));
            rates.absorb(part.collect::<BTreeMap<_, _>>());
        }
        Results::of(&[Found {
            environment: Environment::Plain,
            subjects: Vec::new(),
            absent: Vec::new(),
            probe: Vec::new(),
            cells: vec![(cell, rates)],
            faults: Vec::new(),
            right: 0,
            repeated: 0,
            doubtful: 0,
            noise: Default::default(),
        }])
    }

    #[test]
    fn goals_are_judged_by_paired_ratios() {
        let found = results(
            &[
                // The clock drifts; within rounds all stand as 0.97 to 1 to 0.98.
                ("core", [0.97e9, 1.94e9, 3.88e9]),
                ("limit", [1e9, 2e9, 4e9]),
                ("other", [0.98e9, 1.96e9, 3.92e9]),
                ("slow", [0.1e9, 0.1e9, 0.1e9]),
            ],
            1,
        );
        let goals = judge(&found, Maker::Other);
        let judged = &goals.judged;
        let ids: Vec<&str> = judged.iter().map(|j| &*j.id).collect();
        assert_eq!(ids, ["ctr/128/16384/core/bound", "ctr/128/16384/core/best"]);
        assert!((judged[0].value - 0.97).abs() < 1e-9 && !judged[0].met);
        assert!((judged[0].missed_by() - (1.0 - 0.97 / 0.98)).abs() < 1e-9);
        assert!((judged[1].value - 0.97 / 0.98).abs() < 1e-9 && !judged[1].met);
        assert_eq!((goals.met, goals.count()), (0, 2));
        assert_eq!(judged[0].said(), "97.0 ± 0.0 %, goal 98 %");
        assert_eq!(judged[1].said(), "0.990 ± 0.000 × other");
    }

    /// CTR at 16 KiB: 0.98 everywhere, 1.07 on AMD, 1.12 on Intel.
    #[test]
    fn makers_have_goals_of_their_own() {
        let found = results(&[("core", [1.1e9; 3]), ("limit", [1e9; 3])], 1);
        for (vendor, target, met) in [
            ("AuthenticAMD", 1.07, true),
            ("GenuineIntel", 1.12, false),
            ("CentaurHauls", 0.98, true),
        ] {
            let judged = judge(&found, Maker::of(vendor)).judged;
            assert_eq!(judged.len(), 1, "{vendor}");
            assert_eq!((judged[0].target, judged[0].met), (target, met), "{vendor}");
        }
        let sealing = "GCM sealing, AES-128, 512 B";
        let titles = |maker| unmeasured(&found, maker);
        assert!(titles(Maker::Intel).iter().any(|t| t == sealing));
        assert!(!titles(Maker::Amd).iter().any(|t| t == sealing));
        assert!(!titles(Maker::Other).iter().any(|t| t.starts_with("XTS")));
    }

    #[test]
    fn ragged_streams_are_judged_by_their_longest_chain() {
        let found = |chain: f64| {
            let rates = [
                ("core", [0.6e9; 3]),
                ("limit", [1e9; 3]),
                ("ceiling", [chain; 3]),
            ];
            let mut found = results(&rates, 1);
            found.rows.iter_mut().for_each(|row| {
                row.cell.spec.mode = Mode::Cbc;
                row.cell.spec.streams = RAGGED;
            });
            judge(&found, Maker::Amd).judged.remove(0)
        };
        let judged = found(0.7e9);
        assert_eq!(judged.id, "cbc-encrypt-ragged/128/16384/core/longest-chain");
        assert!(judged.met && (judged.value - 0.6 / 0.7).abs() < 1e-9);
        let said = "85.7 ± 0.0 % of what the longest chain allows, goal 85 %";
        assert_eq!(judged.said(), said);
        // A processor whose chain is fast has the limit as the bound.
        let judged = found(2e9);
        assert!(!judged.met && (judged.value - 0.6).abs() < 1e-9);
    }

    #[test]
    fn the_provider_is_compared_in_its_own_libcrypto() {
        let cbc = |ours: f64| {
            let mut found = results(
                &[
                    ("evp", [1e9 * ours, 1e9 * ours, 1.002e9]),
                    ("openssl-3.0.22", [1e9; 3]),
                    ("openssl-4.0.3", [9e9; 3]),
                ],
                1,
            );
            let subject = |id: &str| Subject {
                id: id.into(),
                title: id.into(),
                version: "3.0.22 (libcrypto.so.3)".into(),
            };
            let ids = ["evp", "openssl-3.0.22", "openssl-4.0.3"];
            found.subjects = ids.map(|id| (Environment::Plain, subject(id))).into();
            found.rows.iter_mut().for_each(|row| {
                row.cell.bytes = 16;
                row.cell.spec.mode = Mode::Cbc;
            });
            judge(&found, Maker::Other).judged
        };
        // The latency of the chain bounds both, so a tie within the noise is met.
        let judged = cbc(0.999);
        assert_eq!(judged.len(), 1);
        assert_eq!(judged[0].id, "cbc-encrypt/128/16/evp/openssl-3.0.22");
        assert!(judged[0].met && judged[0].target == 1.0);
        assert!(!reached(&Summary::of([1.099]).unwrap(), 1.1));
    }

    #[test]
    fn the_best_peer_may_win_within_the_spread() {
        let found = results(
            &[
                ("core", [0.99e9, 0.99e9, 1.03e9]),
                ("other", [1e9, 1e9, 1e9]),
            ],
            1,
        );
        let goals = judge(&found, Maker::Amd);
        assert!(goals.judged[0].value < 1.0 && goals.judged[0].met);
        assert_eq!((goals.met, goals.missed().count()), (1, 0));
    }

    #[test]
    fn the_interval_reaches_a_process_that_differs() {
        let fast: Part = &[("core", [0.9e9; 3]), ("limit", [1e9; 3])];
        let slow: Part = &[("core", [0.8e9; 3]), ("limit", [1e9; 3])];
        let goals = judge(&results_of(&[fast, fast, slow], 1), Maker::Amd);
        assert!((goals.judged[0].value - 0.9).abs() < 1e-9);
        // Half of 0.8 to 0.9.
        assert!((goals.judged[0].spread - 0.05).abs() < 1e-9);
    }

    #[test]
    fn a_replaced_provider_is_compared_in_its_own_libcrypto() {
        let found = results(
            &[
                ("evp-3.5.5", [0.98e9, 1.9e9, 3.8e9]),
                ("openssl-3.5.5", [1e9, 2e9, 4e9]),
                // In another libcrypto.
                ("openssl-4.0.3", [9e9; 3]),
                ("evp-4.0.3", [9e9; 3]),
            ],
            1,
        );
        let goals = judge(&found, Maker::Amd);
        let ids: Vec<&str> = goals.judged.iter().map(|j| &*j.id).collect();
        let of = |version: &str| format!("ctr/128/16384/evp-{version}/openssl-{version}");
        assert_eq!(ids, [of("3.5.5"), of("4.0.3")]);
        assert!((goals.judged[0].value - 0.95).abs() < 1e-9 && !goals.judged[0].met);
        assert!(goals.judged[1].met);
    }

    #[test]
    fn threads_have_their_own_goals() {
        let found = results(&[("core", [1.9e9; 3]), ("core/one-thread", [1e9; 3])], 2);
        let judged = judge(&found, Maker::Amd).judged;
        assert_eq!(judged.len(), 1);
        assert_eq!(judged[0].id, "ctr/128/16384/2-threads/core/one-thread");
        assert!(!judged[0].met);
        assert_eq!(judged[0].said(), "1.900 ± 0.000 × one thread, goal 1.95");
    }

    #[test]
    fn ids_can_be_read_back() {
        for text in [
            "ctr/128/16384/core/bound",
            "cmac/256/16/alone/core/best",
            "cmac-16/128/64/core/best",
            "gcm-encrypt/128/16384/2-threads/evp/one-thread",
            "cbc-encrypt-16-staggered/128/1024/core/bound",
            "xts-encrypt-8-units/128/512/core/best",
            "cbc-encrypt-ragged/128/194560/core-vaes256/bound",
            "cbc-decrypt/128/1024/alone/software/evp/openssl-3.0.22",
        ] {
            let (environment, cell, subject) = parse_id(text).unwrap();
            assert_eq!(
                id(
                    environment,
                    &cell,
                    &subject,
                    text.rsplit('/').next().unwrap()
                ),
                text
            );
        }
        for wrong in [
            "",
            "ctr/128/16384/core",
            "none/128/16/core/bound",
            "ctr/128/x/core/bound",
            "ctr/128/16/core/bound/y",
        ] {
            assert!(parse_id(wrong).is_none(), "{wrong}");
        }
    }
}
