// SPDX-License-Identifier: BSD-2-Clause
//! The goals, in one table, and how a run stands to them. A median is compared with its goal as it
//! is. Against the best peer the upper quartile counts, so that a tie within the noise is met.

use crate::answer::ONE_THREAD;
use crate::grid::{Cell, Kind, Way};
use crate::peer::{Direction, Mode, Spec, RAGGED};
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
    /// That of 128-bit registers, which is half of it.
    HalfLimit,
    /// GB/s.
    Rate,
    /// Each subject whose id begins so.
    To(&'static [&'static str]),
    /// One thread.
    OneThread,
}

struct Figure {
    /// A short name, for goals that a run does not measure.
    what: &'static str,
    environment: Environment,
    subject: &'static str,
    ways: &'static [(Mode, Direction)],
    streams: usize,
    key_bits: u16,
    /// From, to, in bytes; both included.
    sizes: (usize, usize),
    target: f64,
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
const SHORT_EVP: &[(Mode, Direction)] = &[
    (Mode::Ctr, Encrypt),
    (Mode::Cbc, Encrypt),
    (Mode::Cbc, Decrypt),
];
const EVERY: usize = usize::MAX;

const fn figure(
    what: &'static str,
    ways: &'static [(Mode, Direction)],
    sizes: (usize, usize),
    target: f64,
) -> Figure {
    Figure {
        what,
        environment: Environment::Plain,
        subject: "core",
        ways,
        streams: 1,
        key_bits: 128,
        sizes,
        target,
        of: Of::Limit,
    }
}

const fn by(subject: &'static str, figure: Figure) -> Figure {
    Figure { subject, ..figure }
}

const fn of(of: Of, figure: Figure) -> Figure {
    Figure { of, ..figure }
}

const fn key(key_bits: u16, figure: Figure) -> Figure {
    Figure { key_bits, ..figure }
}

const fn streams(streams: usize, figure: Figure) -> Figure {
    Figure { streams, ..figure }
}

const fn masked(figure: Figure) -> Figure {
    Figure {
        environment: Environment::Software,
        subject: "evp",
        of: Of::To(&["openssl-3.0"]),
        ..figure
    }
}

const FIGURES: &[Figure] = &[
    figure("ECB, CTR, CBC dec, CFB dec", PARALLEL, (8192, EVERY), 0.98),
    figure("ECB, CTR, CBC dec, CFB dec", PARALLEL, (1024, 1024), 0.95),
    figure("ECB, CTR, CBC dec, CFB dec", PARALLEL, (256, 256), 0.80),
    by(
        "core-vaes256",
        figure("the same, vaes256", PARALLEL, (8192, EVERY), 0.96),
    ),
    by(
        "core-aesni",
        of(
            Of::HalfLimit,
            figure("the same, aesni, of half", PARALLEL, (8192, EVERY), 0.98),
        ),
    ),
    figure("XTS", XTS, (16384, 16384), 0.97),
    figure("XTS", XTS, (4096, 4096), 0.93),
    figure("XTS", XTS, (512, 512), 0.80),
    figure("GCM", GCM, (16384, 16384), 0.95),
    key(256, figure("GCM", GCM, (16384, 16384), 0.98)),
    figure("GCM", GCM, (1024, 1024), 0.75),
    of(Of::Rate, figure("GCM, GB/s", GCM, (16, 16), 1.4)),
    by(
        "core-vaes256",
        figure("GCM, vaes256", GCM, (16384, 16384), 0.90),
    ),
    figure("CBC, CFB, OFB enc", CHAINED, (1024, EVERY), 0.995),
    streams(16, figure("CBC enc, 16 streams", CBC, (16384, 16384), 0.93)),
    streams(16, figure("CBC enc, 16 streams", CBC, (1024, 1024), 0.80)),
    streams(16, figure("CBC enc, 16 streams", CBC, (128, 128), 0.50)),
    streams(
        RAGGED,
        figure("CBC enc, ragged streams", CBC, (0, EVERY), 0.85),
    ),
    figure("CCM, of its chain", CCM, (16384, 16384), 0.97),
    streams(
        16,
        figure("CCM, 16 streams, of L/2", SEAL_CCM, (16384, 16384), 0.85),
    ),
    by("evp", figure("EVP, GCM message", GCM, (16384, 16384), 0.93)),
    by(
        "evp",
        of(
            Of::To(&["openssl-4", "aws-lc"]),
            figure("EVP, GCM, to the best's", GCM, (16, 256), 1.0),
        ),
    ),
    by(
        "evp",
        of(
            Of::To(&["openssl-3.0", "openssl-4"]),
            figure("EVP, CTR and CBC, to OpenSSL", SHORT_EVP, (16, 64), 1.1),
        ),
    ),
    masked(figure("software, CBC enc", CBC, (0, EVERY), 1.0)),
    masked(figure("software, CTR", CTR, (0, EVERY), 3.0)),
    masked(figure("software, GCM", SEAL_GCM, (0, EVERY), 3.0)),
    of(
        Of::OneThread,
        figure("two threads to one", CTR, (0, EVERY), 1.95),
    ),
    of(
        Of::OneThread,
        figure("two threads to one", SEAL_GCM, (0, EVERY), 1.95),
    ),
    by(
        "evp",
        of(
            Of::OneThread,
            figure("EVP, two threads to one", CTR, (0, EVERY), 1.95),
        ),
    ),
    by(
        "evp",
        of(
            Of::OneThread,
            figure("EVP, two threads to one", SEAL_GCM, (0, EVERY), 1.95),
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
    /// Half the distance of the quartiles.
    pub spread: f64,
    pub met: bool,
}

pub const OF_LIMIT: &str = "limit";
pub const OF_HALF_LIMIT: &str = "half the limit";
pub const OF_RATE: &str = "GB/s";
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

/// The name of what is said of a subject in a cell: way, key bits, size, what is unusual, subject, and
/// what of it.
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
        spec: Spec {
            mode: way.mode,
            key_bits: parts.next()?.parse().ok()?,
            direction: way.direction,
            streams: way.streams,
            aad: way.aad,
        },
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

    fn concerns(&self, row: &Row) -> bool {
        let (cell, spec) = (&row.cell, &row.cell.spec);
        let threads = matches!(self.of, Of::OneThread);
        row.environment == self.environment
            && row.subject == self.subject
            && cell.kind == Kind::Throughput
            && (cell.threads > 1) == threads
            && spec.streams == self.streams
            && spec.key_bits == self.key_bits
            && self.ways.contains(&(spec.mode, spec.direction))
            && (self.sizes.0..=self.sizes.1).contains(&cell.bytes)
    }

    fn judge(&self, row: &Row, results: &Results) -> Vec<Judged> {
        let judged = |name: &str, of: &str, factor: f64, s: &Summary| Judged {
            id: id(row.environment, &row.cell, &row.subject, name),
            environment: row.environment,
            cell: row.cell,
            subject: row.subject.clone(),
            of: of.to_owned(),
            target: self.target,
            value: s.median * factor,
            spread: (s.q3 - s.q1) / 2.0 * factor,
            met: s.median * factor >= self.target,
        };
        let limit = |of: &str, factor: f64| {
            let found = row.limit.iter();
            found.map(|s| judged("bound", of, factor, s)).collect()
        };
        match self.of {
            Of::Limit => limit(OF_LIMIT, 1.0),
            Of::HalfLimit => limit(OF_HALF_LIMIT, 2.0),
            Of::Rate => vec![judged("rate", OF_RATE, 1e-9, &row.rate)],
            Of::To(others) => {
                let meant = |id: &str| others.iter().any(|o| id.starts_with(o));
                let found = row.ratios.iter().filter(|(id, _)| meant(id));
                found
                    .map(|(id, s)| judged(id, results.title(id), 1.0, s))
                    .collect()
            }
            Of::OneThread => {
                let found = row.ratios.get(ONE_THREAD).into_iter();
                found
                    .map(|s| judged(ONE_THREAD, OF_ONE_THREAD, 1.0, s))
                    .collect()
            }
        }
    }
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
            spread: (ratio.q3 - ratio.q1) / 2.0,
            met: ratio.q3 >= 1.0,
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
            spread: (ratio.q3 - ratio.q1) / 2.0,
            met: ratio.q3 >= 1.0,
        })
    })
}

/// All goals that a run measures.
pub fn judge(results: &Results) -> Goals {
    let mut judged: Vec<Judged> = Vec::new();
    for row in &results.rows {
        for figure in FIGURES.iter().filter(|f| f.concerns(row)) {
            judged.extend(figure.judge(row, results));
        }
    }
    judged.extend(against_best(results));
    judged.extend(against_replaced(results));
    let met = judged.iter().filter(|g| g.met).count();
    Goals { met, judged }
}

/// Goals that no row of a run measures: "XTS, AES-128, 512 B".
pub fn unmeasured(results: &Results) -> Vec<String> {
    let missing = FIGURES
        .iter()
        .filter(|figure| !results.rows.iter().any(|row| figure.concerns(row)));
    let mut titles: Vec<String> = missing.map(Figure::title).collect();
    titles.dedup();
    titles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Found, Rounds};

    fn results(rates: &[(&str, [f64; 3])], threads: usize) -> Results {
        let cell = Cell {
            spec: Spec {
                mode: Mode::Ctr,
                key_bits: 128,
                direction: Encrypt,
                streams: 1,
                aad: crate::peer::AAD,
            },
            bytes: 16384,
            kind: Kind::Throughput,
            threads,
        };
        let rounds = rates.iter().map(|(id, r)| (id.to_string(), r.to_vec()));
        Results::of(&[Found {
            environment: Environment::Plain,
            subjects: Vec::new(),
            absent: Vec::new(),
            probe: Vec::new(),
            cells: vec![(cell, Rounds(rounds.collect()))],
            faults: Vec::new(),
            right: 0,
            repeated: 0,
            doubtful: 0,
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
        let goals = judge(&found);
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

    #[test]
    fn the_best_peer_may_win_within_the_spread() {
        let found = results(
            &[
                ("core", [0.99e9, 0.99e9, 1.03e9]),
                ("other", [1e9, 1e9, 1e9]),
            ],
            1,
        );
        let goals = judge(&found);
        assert!(goals.judged[0].value < 1.0 && goals.judged[0].met);
        assert_eq!((goals.met, goals.missed().count()), (1, 0));
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
        let goals = judge(&found);
        let ids: Vec<&str> = goals.judged.iter().map(|j| &*j.id).collect();
        let of = |version: &str| format!("ctr/128/16384/evp-{version}/openssl-{version}");
        assert_eq!(ids, [of("3.5.5"), of("4.0.3")]);
        assert!((goals.judged[0].value - 0.95).abs() < 1e-9 && !goals.judged[0].met);
        assert!(goals.judged[1].met);
    }

    #[test]
    fn threads_have_their_own_goals() {
        let found = results(&[("core", [1.9e9; 3]), ("core/one-thread", [1e9; 3])], 2);
        let judged = judge(&found).judged;
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
