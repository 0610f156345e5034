// SPDX-License-Identifier: BSD-2-Clause
//! The figures to reach, in one table, and how a run stands to them. A figure is a median, compared as it is;
//! against the best peer, half of the rounds may say otherwise: the upper quartile counts.

use crate::grid::{Cell, Kind, Way};
use crate::peer::{Direction, Mode, RAGGED};
use crate::plan::Environment;
use crate::results::{Results, Row};
use crate::worker::ONE_THREAD;
use terminal::size_name;

/// What a figure says about.
#[derive(Clone, Copy)]
enum Of {
    /// The fraction of the bound: of the throughput of rounds or of the latency of a chain.
    Bound,
    /// Of the bound of 128-bit registers, which is half of the throughput.
    HalfBound,
    /// GB/s.
    Rate,
    /// The ratio to the subject whose id begins so; every one of them counts.
    To(&'static [&'static str]),
    /// The ratio to one thread.
    OneThread,
}

struct Figure {
    /// As the row calls it.
    what: &'static str,
    environment: Environment,
    subject: &'static str,
    ways: &'static [(Mode, Direction)],
    streams: usize,
    key_bits: u16,
    /// From, to, in bytes, both included.
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
        of: Of::Bound,
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

/// Row by row.
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
            Of::HalfBound,
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

/// A goal and how it stands.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Way, key bits, size, subject, and what of: "gcm-encrypt/128/16384/core/bound".
    pub id: String,
    pub environment: Environment,
    pub cell: Cell,
    pub subject: String,
    pub what: String,
    pub target: f64,
    pub value: f64,
    /// Half the distance of the quartiles.
    pub spread: f64,
    pub met: bool,
    pub reason: Option<String>,
}

impl Judged {
    /// By how much it is missed, as a part of the target.
    pub fn missed_by(&self) -> f64 {
        1.0 - self.value / self.target
    }

    /// "CBC encryption, AES-128, 16 KiB".
    pub fn place(&self) -> String {
        place(self.environment, &self.cell)
    }
}

/// "CBC encryption, AES-128, 16 KiB", with what is unusual about it.
pub fn place(environment: Environment, cell: &Cell) -> String {
    let way = Way::of(&cell.spec);
    let mut text = format!("{}, AES-{}", way.title(), cell.spec.key_bits);
    if cell.spec.streams != RAGGED {
        text += &format!(", {}", size_name(cell.bytes));
    }
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

/// The goal's name in the file of reasons: way, key bits, size, what is special, subject, and what it is of.
fn id(row: &Row, of: &str) -> String {
    let cell = &row.cell;
    let mut id = format!(
        "{}/{}/{}",
        Way::of(&cell.spec).name(),
        cell.spec.key_bits,
        cell.bytes
    );
    if cell.kind == Kind::Alone {
        id += "/alone";
    }
    if cell.threads > 1 {
        id += &format!("/{}-threads", cell.threads);
    }
    if row.environment == Environment::Software {
        id += "/software";
    }
    format!("{id}/{}/{of}", row.subject)
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

    fn judge(&self, row: &Row) -> Vec<Judged> {
        let judged = |of: &str, what: String, factor: f64, s: &measure::stats::Summary| Judged {
            id: id(row, of),
            environment: row.environment,
            cell: row.cell,
            subject: row.subject.clone(),
            what,
            target: self.target,
            value: s.median * factor,
            spread: (s.q3 - s.q1) / 2.0 * factor,
            met: s.median * factor >= self.target,
            reason: None,
        };
        let what = self.what.to_owned();
        match self.of {
            Of::Bound => row
                .limit
                .iter()
                .map(|s| judged("bound", what.clone(), 1.0, s))
                .collect(),
            Of::HalfBound => row
                .limit
                .iter()
                .map(|s| judged("bound", what.clone(), 2.0, s))
                .collect(),
            Of::Rate => vec![judged("rate", what, 1e-9, &row.rate)],
            Of::To(others) => row
                .ratios
                .iter()
                .filter(|(id, _)| others.iter().any(|o| id.starts_with(o)))
                .map(|(id, s)| judged(id, format!("{what} ({id})"), 1.0, s))
                .collect(),
            Of::OneThread => {
                let ratio = row.ratios.get(ONE_THREAD);
                ratio
                    .iter()
                    .map(|s| judged(ONE_THREAD, what.clone(), 1.0, s))
                    .collect()
            }
        }
    }
}

/// At least the best peer, in every row and at every size, by the core's own calls.
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
            id: id(ours, "best"),
            environment,
            cell,
            subject: ours.subject.clone(),
            what: format!("to the best: {}", results.title(&best.subject)),
            target: 1.0,
            value: ratio.median,
            spread: (ratio.q3 - ratio.q1) / 2.0,
            met: ratio.q3 >= 1.0,
            reason: None,
        });
    }
    judged
}

/// All goals that this run can say something about.
pub fn judge(results: &Results, reasons: &Reasons) -> Vec<Judged> {
    let mut all: Vec<Judged> = Vec::new();
    for row in &results.rows {
        for figure in FIGURES.iter().filter(|f| f.concerns(row)) {
            all.extend(figure.judge(row));
        }
    }
    all.extend(against_best(results));
    for goal in &mut all {
        if !goal.met {
            goal.reason = reasons.of(&goal.id);
        }
    }
    all
}

/// Figures of the table that no row of this run says anything about: "XTS, AES-128, 512 B".
pub fn unmeasured(results: &Results) -> Vec<String> {
    let missing = FIGURES
        .iter()
        .filter(|figure| !results.rows.iter().any(|row| figure.concerns(row)));
    let mut titles: Vec<String> = missing.map(Figure::title).collect();
    titles.dedup();
    titles
}

/// Why goals are missed, by hand: bench/reasons.toml.
#[derive(Default)]
pub struct Reasons(Vec<(String, String)>);

impl Reasons {
    pub fn of(&self, id: &str) -> Option<String> {
        let fits = |(pattern, _): &&(String, String)| matches(pattern, id);
        self.0.iter().find(fits).map(|(_, why)| why.clone())
    }

    /// `[[reason]]` with `goals`, a list of patterns, and `why`.
    pub fn parse(text: &str) -> Result<Reasons, String> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let entries = table.get("reason").and_then(|r| r.as_array());
        let mut reasons = Vec::new();
        for entry in entries.into_iter().flatten() {
            let why = entry.get("why").and_then(|w| w.as_str());
            let goals = entry.get("goals").and_then(|g| g.as_array());
            let (Some(why), Some(goals)) = (why, goals) else {
                return Err("a reason needs 'goals' and 'why'".into());
            };
            for goal in goals {
                let goal = goal.as_str().ok_or("a goal is a text")?;
                reasons.push((goal.to_owned(), why.to_owned()));
            }
        }
        Ok(Reasons(reasons))
    }

    pub fn known() -> Reasons {
        Reasons::parse(include_str!("../reasons.toml")).expect("a test has read it")
    }
}

/// Whether an id fits a pattern, in which * stands for anything.
fn matches(pattern: &str, id: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = id.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Spec;
    use crate::run::{Found, Rounds};

    #[test]
    fn patterns() {
        assert!(matches(
            "gcm-*/128/*/core/bound",
            "gcm-encrypt/128/16384/core/bound"
        ));
        assert!(!matches(
            "gcm-*/128/*/core/bound",
            "gcm-encrypt/256/16384/core/bound"
        ));
        assert!(matches("a", "a") && !matches("a", "ab") && matches("*", "x"));
    }

    #[test]
    fn the_reasons_can_be_read() {
        Reasons::parse(include_str!("../reasons.toml")).unwrap();
        assert!(Reasons::parse("[[reason]]\nwhy = 'x'").is_err());
    }

    fn results(rates: &[(&str, [f64; 3])], threads: usize) -> Results {
        let cell = Cell {
            spec: Spec {
                mode: Mode::Ctr,
                key_bits: 128,
                direction: Encrypt,
                streams: 1,
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
        let why = "[[reason]]\ngoals = ['ctr/128/16384/core/*']\nwhy = 'known'";
        let judged = judge(&found, &Reasons::parse(why).unwrap());
        let ids: Vec<&str> = judged.iter().map(|j| &*j.id).collect();
        assert_eq!(ids, ["ctr/128/16384/core/bound", "ctr/128/16384/core/best"]);
        assert!((judged[0].value - 0.97).abs() < 1e-9 && !judged[0].met);
        assert!((judged[0].missed_by() - (1.0 - 0.97 / 0.98)).abs() < 1e-9);
        assert!((judged[1].value - 0.97 / 0.98).abs() < 1e-9 && !judged[1].met);
        assert_eq!(judged[0].reason.as_deref(), Some("known"));
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
        let judged = judge(&found, &Reasons::default());
        assert!(judged[0].value < 1.0 && judged[0].met);
    }

    #[test]
    fn threads_have_their_own_goals() {
        let found = results(&[("core", [1.9e9; 3]), ("core/one-thread", [1e9; 3])], 2);
        let judged = judge(&found, &Reasons::default());
        assert_eq!(judged.len(), 1);
        assert_eq!(judged[0].id, "ctr/128/16384/2-threads/core/one-thread");
        assert!(!judged[0].met);
    }
}
