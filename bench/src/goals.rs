// SPDX-License-Identifier: BSD-2-Clause
//! How a run stands to its goals: those of bench/goals.toml, and in every cell the best other
//! library and the default provider that ours replaces. A median is compared with its goal as it
//! is. Where the goal is to be as fast as another implementation, the upper end of the confidence
//! interval counts, so that a tie within the noise is met.

use crate::answer::{Subject, CEILING, LIMIT};
use crate::grid::{Cell, Kind};
use crate::peers::openssl::replaced;
use crate::plan::Environment;
use crate::results::{short, Measured};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use terminal::size_name;

/// What a goal compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    #[default]
    Limit,
    HalfLimit,
    LongestChain,
    Stock,
    Best,
    /// The default provider in the libcrypto of the subject.
    Replaced,
}

/// A goal of bench/goals.toml, which describes the fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Goal {
    ways: Vec<String>,
    #[serde(default = "every_size")]
    bytes: [usize; 2],
    #[serde(default = "core")]
    subject: String,
    #[serde(default)]
    of: Of,
    every: Option<f64>,
    intel: Option<f64>,
    amd: Option<f64>,
}

fn every_size() -> [usize; 2] {
    [0, usize::MAX]
}

fn core() -> String {
    "core".into()
}

/// The key size of these goals.
const KEY_BITS: u16 = 128;

fn known() -> Vec<Goal> {
    #[derive(Deserialize)]
    struct Goals {
        goal: Vec<Goal>,
    }
    let goals: Goals = toml::from_str(include_str!("../goals.toml")).expect("a test reads it");
    goals.goal
}

impl Goal {
    /// By the vendor that CPUID names.
    fn target(&self, vendor: &str) -> Option<f64> {
        let of_maker = match vendor {
            "GenuineIntel" => self.intel,
            "AuthenticAMD" => self.amd,
            _ => None,
        };
        of_maker.or(self.every)
    }

    fn concerns(&self, cell: &Cell, subject: &str) -> bool {
        let [first, last] = self.bytes;
        (cell.environment, &*self.subject) == (Environment::Plain, subject)
            && (cell.kind, cell.spec.key_bits) == (Kind::Throughput, KEY_BITS)
            && (first..=last).contains(&cell.bytes)
            && self.ways.contains(&cell.spec.way())
    }
}

/// A goal in a cell, and how a run stands to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judged {
    #[serde(flatten)]
    pub cell: Cell,
    pub subject: String,
    /// bound, longest-chain, best, one-thread, or the id of the other subject.
    pub against: String,
    /// What `target` is a multiple of: the limit or its like, or the title of another library.
    pub of: String,
    pub target: f64,
    pub value: f64,
    /// Of the value, not a fraction of it.
    pub spread: f64,
}

const BOUND: &str = "bound";
const LONGEST_CHAIN: &str = "longest-chain";
const BEST: &str = "best";

impl Judged {
    /// Whether it compares with the best of the other libraries.
    pub fn of_best(&self) -> bool {
        self.against == BEST
    }

    /// The name by which bench/reasons.toml knows it: way, key bits, size, what is unusual, the
    /// subject, and what it is compared with.
    pub fn id(&self) -> String {
        let (cell, spec) = (&self.cell, &self.cell.spec);
        let marks = marks(cell).map(|mark| format!("/{}", mark.replace(' ', "-")));
        let (way, bits, bytes) = (spec.way(), spec.key_bits, cell.bytes);
        let (subject, against) = (&self.subject, &self.against);
        format!(
            "{way}/{bits}/{bytes}{}/{subject}/{against}",
            marks.collect::<String>()
        )
    }

    /// "51.5 ± 0.7 %, goal 80 %" of the limit, "1.003 ± 0.009 × OpenSSL 4.0.3, goal 1.1".
    pub fn said(&self) -> String {
        if [BOUND, LONGEST_CHAIN].contains(&&*self.against) {
            let (value, spread) = (self.value * 100.0, self.spread * 100.0);
            let of = match &*self.of {
                "limit" => String::new(),
                of => format!(" of {of}"),
            };
            let goal = (self.target * 1000.0).round() / 10.0;
            return format!("{value:.1} ± {spread:.1} %{of}, goal {goal} %");
        }
        let number = format!("{:.3} ± {:.3} × {}", self.value, self.spread, self.of);
        match self.of_best() || replaced(&self.subject).is_some() {
            true => number,
            false => format!("{number}, goal {}", self.target),
        }
    }
}

/// "CBC encryption, AES-128, 16 KiB", with what is unusual about it.
pub fn place(cell: &Cell) -> String {
    let size = match cell.spec.is_ragged() {
        true => String::new(),
        false => format!(", {}", size_name(cell.bytes)),
    };
    let (title, bits) = (cell.spec.title(), cell.spec.key_bits);
    format!("{title}, AES-{bits}{size}{}", unusual(cell))
}

/// ", alone", ", 2 threads", ", software".
pub fn unusual(cell: &Cell) -> String {
    marks(cell).map(|mark| format!(", {mark}")).collect()
}

fn marks(cell: &Cell) -> impl Iterator<Item = String> {
    let alone = (cell.kind == Kind::Alone).then(|| "alone".to_owned());
    let threads = (cell.threads > 1).then(|| format!("{} threads", cell.threads));
    let software = cell.environment == Environment::Software;
    let software = software.then(|| "software".to_owned());
    alone.into_iter().chain(threads).chain(software)
}

/// The id of the stock OpenSSL of the libcrypto in which the provider was measured.
pub fn stock(subjects: &[Subject]) -> Option<&Subject> {
    let evp = subjects.iter().find(|s| s.id == "evp")?;
    let id = format!("openssl-{}", evp.version.split(' ').next()?);
    subjects.iter().find(|s| s.id == id)
}

/// A subject in a cell against what a goal names, and whether the target is reached. None where
/// that was not measured.
fn judge(
    measured: &Measured,
    subject: &str,
    (of, target): (Of, f64),
    subjects: &[Subject],
) -> Option<(Judged, bool)> {
    let other = |id: String, against: &str| {
        let named = subjects.iter().find(|s| s.id == id);
        let title = named.map_or(&id, |s| &s.title).clone();
        let against = if against.is_empty() { &*id } else { against };
        (against.to_owned(), title, 1.0, id)
    };
    let bound = |against: &str, of: &str, factor| {
        (against.to_owned(), of.to_owned(), factor, LIMIT.to_owned())
    };
    let (against, of, factor, id) = match of {
        Of::Limit => bound(BOUND, "limit", 1.0),
        Of::HalfLimit => bound(BOUND, "half the limit", 2.0),
        Of::LongestChain => {
            let chain = measured.figures.get(CEILING)?.limit?.min(1.0);
            bound(LONGEST_CHAIN, "what the longest chain allows", 1.0 / chain)
        }
        Of::Stock => other(stock(subjects)?.id.clone(), ""),
        Of::Best => other(measured.best_other()?.0.clone(), BEST),
        Of::Replaced => other(replaced(subject)?, ""),
    };
    let ratio = measured.figures.get(subject)?.ratios.get(&id)?;
    let value = ratio.median * factor;
    // A target of 1 may be a tie.
    let reached = if target == 1.0 { ratio.high } else { value };
    let judged = Judged {
        cell: measured.cell,
        subject: subject.to_owned(),
        against,
        of,
        target,
        value: short(value),
        spread: short(ratio.spread() * value),
    };
    Some((judged, reached >= target))
}

/// All goals of a run on a processor: how many are met, and the others.
pub fn judge_all(cells: &[Measured], subjects: &[Subject], vendor: &str) -> (usize, Vec<Judged>) {
    let known = known();
    let (mut met, mut missed) = (0, Vec::new());
    for measured in cells {
        for subject in measured.figures.keys() {
            let of_cell = known.iter().filter(|g| g.concerns(&measured.cell, subject));
            let mut asked: Vec<(Of, f64)> = of_cell
                .filter_map(|goal| Some((goal.of, goal.target(vendor)?)))
                .collect();
            // Of two goals that ask for the same thing, the higher target counts.
            asked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
            let mut seen = HashSet::new();
            asked.retain(|(of, _)| seen.insert(*of));
            if subject == "core" && !seen.contains(&Of::Best) {
                asked.push((Of::Best, 1.0));
            }
            asked.push((Of::Replaced, 1.0));
            for asked in asked {
                match judge(measured, subject, asked, subjects) {
                    Some((_, true)) => met += 1,
                    Some((judged, false)) => missed.push(judged),
                    None => {}
                }
            }
        }
    }
    (met, missed)
}

/// The ids that goals in these cells can have, on a processor of any maker.
#[cfg(test)]
pub fn possible_ids(cells: &[Cell]) -> Vec<String> {
    let mut ids = Vec::new();
    for cell in cells {
        let mut add = |subject: &str, against: &str| {
            let judged = Judged {
                cell: *cell,
                subject: subject.into(),
                against: against.into(),
                of: String::new(),
                target: 1.0,
                value: 1.0,
                spread: 0.0,
            };
            ids.push(judged.id());
        };
        for goal in known() {
            if goal.concerns(cell, &goal.subject) {
                let against = match goal.of {
                    Of::Limit | Of::HalfLimit => BOUND,
                    Of::LongestChain => LONGEST_CHAIN,
                    Of::Stock | Of::Replaced => "openssl-3.0.22",
                    Of::Best => BEST,
                };
                add(&goal.subject, against);
            }
        }
        add("core", BEST);
        if cell.spec.streams == 1 {
            add("evp-3.5.5", "openssl-3.5.5");
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::ways;
    use crate::results;
    use crate::run::Found;
    use measure::rounds::Rates;

    type Part<'a> = &'a [(&'a str, [f64; 3])];

    fn cell(way: &str, bytes: usize) -> Cell {
        let mut ways = ways(&[way.to_owned()]).unwrap();
        Cell {
            spec: ways.remove(0),
            bytes,
            kind: Kind::Throughput,
            threads: 1,
            environment: Environment::Plain,
        }
    }

    /// The goals in a cell that several processes measured.
    fn goals(cell: Cell, vendor: &str, processes: &[Part]) -> (usize, Vec<Judged>) {
        let mut rates = Rates::default();
        for process in processes {
            let part = process.iter().map(|(id, r)| (id.to_string(), r.to_vec()));
            rates.add(part);
        }
        let found = Found {
            cells: vec![(cell, rates)],
            ..Found::default()
        };
        let subject = |id: &str| Subject {
            id: id.into(),
            title: id.into(),
            version: "3.0.22 (libcrypto.so.3)".into(),
            origin: Default::default(),
        };
        let subjects = ["evp", "openssl-3.0.22", "openssl-4.0.3"].map(subject);
        judge_all(&results::all(&[found]), &subjects, vendor)
    }

    fn ids(judged: &[Judged]) -> Vec<String> {
        judged.iter().map(Judged::id).collect()
    }

    /// A way that the grid does not know would be a goal that nothing measures.
    #[test]
    fn the_goals_name_ways() {
        for goal in known() {
            for way in &goal.ways {
                let known = ways(std::slice::from_ref(way)).unwrap();
                assert!(known.iter().any(|spec| spec.way() == *way), "{way}");
            }
            assert!([goal.every, goal.intel, goal.amd]
                .iter()
                .any(Option::is_some));
        }
    }

    #[test]
    fn goals_are_judged_by_paired_ratios() {
        let rates: Part = &[
            // The clock drifts; within rounds all stand as 0.97 to 1 to 0.98.
            ("core", [0.97e9, 1.94e9, 3.88e9]),
            ("limit", [1e9, 2e9, 4e9]),
            ("other", [0.98e9, 1.96e9, 3.92e9]),
            ("slow", [0.1e9, 0.1e9, 0.1e9]),
        ];
        let (met, missed) = goals(cell("ctr", 16384), "", &[rates]);
        assert_eq!(met, 0);
        let both = ["ctr/128/16384/core/bound", "ctr/128/16384/core/best"];
        assert_eq!(ids(&missed), both);
        assert!((missed[0].value - 0.97).abs() < 1e-9);
        assert!((missed[1].value - 0.97 / 0.98).abs() < 1e-3);
        assert_eq!(missed[0].said(), "97.0 ± 0.0 %, goal 98 %");
        assert_eq!(missed[1].said(), "0.990 ± 0.000 × other");
    }

    /// CTR at 16 KiB: 0.98 everywhere, 1.07 on AMD, 1.12 on Intel.
    #[test]
    fn makers_have_goals_of_their_own() {
        let rates: Part = &[("core", [1.1e9; 3]), ("limit", [1e9; 3])];
        for (vendor, met) in [
            ("AuthenticAMD", 1),
            ("GenuineIntel", 0),
            ("CentaurHauls", 1),
        ] {
            let (found, missed) = goals(cell("ctr", 16384), vendor, &[rates]);
            assert_eq!((found, missed.len()), (met, 1 - met), "{vendor}");
            assert!(missed.iter().all(|goal| goal.target == 1.12));
        }
    }

    #[test]
    fn ragged_streams_are_judged_by_their_longest_chain() {
        let found = |core: f64, chain: f64| {
            let rates: Part = &[
                ("core", [core; 3]),
                ("limit", [1e9; 3]),
                ("ceiling", [chain; 3]),
            ];
            goals(cell("cbc-encrypt-ragged", 194560), "AuthenticAMD", &[rates])
        };
        assert_eq!(found(0.6e9, 0.7e9).0, 1);
        let (_, missed) = found(0.56e9, 0.7e9);
        let id = "cbc-encrypt-ragged/128/194560/core/longest-chain";
        assert_eq!(ids(&missed), [id]);
        let said = "80.0 ± 0.0 % of what the longest chain allows, goal 85 %";
        assert_eq!(missed[0].said(), said);
        // A processor whose chain is fast has the limit as the bound.
        let (_, missed) = found(0.6e9, 2e9);
        assert!((missed[0].value - 0.6).abs() < 1e-9);
    }

    #[test]
    fn the_provider_is_compared_in_its_own_libcrypto() {
        let cbc = |ours: f64| {
            let rates: Part = &[
                ("evp", [1e9 * ours, 1e9 * ours, 1.002e9]),
                ("openssl-3.0.22", [1e9; 3]),
                ("openssl-4.0.3", [9e9; 3]),
            ];
            goals(cell("cbc-encrypt", 16), "", &[rates])
        };
        // The latency of the chain bounds both, so a tie within the noise is met.
        assert_eq!(cbc(0.999).0, 1);
        let (_, missed) = cbc(0.9);
        // The interval of three rounds reaches the third one.
        assert!(missed.is_empty() || ids(&missed) == ["cbc-encrypt/128/16/evp/openssl-3.0.22"]);
    }

    #[test]
    fn the_best_peer_may_win_within_the_spread() {
        let rates: Part = &[("core", [0.99e9, 0.99e9, 1.03e9]), ("other", [1e9; 3])];
        let (met, missed) = goals(cell("ctr", 16384), "AuthenticAMD", &[rates]);
        assert_eq!((met, missed.len()), (1, 0));
    }

    #[test]
    fn the_interval_reaches_a_process_that_differs() {
        let fast: Part = &[("core", [0.9e9; 3]), ("limit", [1e9; 3])];
        let slow: Part = &[("core", [0.8e9; 3]), ("limit", [1e9; 3])];
        let processes = [fast, fast, slow];
        let (_, missed) = goals(cell("ctr", 16384), "AuthenticAMD", &processes);
        assert!((missed[0].value - 0.9).abs() < 1e-9);
        // Half of 0.8 to 0.9.
        assert!((missed[0].spread - 0.05).abs() < 1e-9);
    }

    #[test]
    fn a_replaced_provider_is_compared_in_its_own_libcrypto() {
        let rates: Part = &[
            ("evp-3.5.5", [0.98e9, 1.9e9, 3.8e9]),
            ("openssl-3.5.5", [1e9, 2e9, 4e9]),
            // In another libcrypto.
            ("openssl-4.0.3", [9e9; 3]),
            ("evp-4.0.3", [9e9; 3]),
        ];
        let (met, missed) = goals(cell("ctr", 16384), "AuthenticAMD", &[rates]);
        assert_eq!(met, 1);
        assert_eq!(ids(&missed), ["ctr/128/16384/evp-3.5.5/openssl-3.5.5"]);
        assert!((missed[0].value - 0.95).abs() < 1e-9);
    }

    #[test]
    fn ids_say_what_is_unusual() {
        let judged = Judged {
            cell: Cell {
                kind: Kind::Alone,
                environment: Environment::Software,
                ..cell("cbc-decrypt", 1024)
            },
            subject: "evp".into(),
            against: "openssl-3.0.22".into(),
            of: "OpenSSL 3.0.22".into(),
            target: 1.0,
            value: 0.9,
            spread: 0.0,
        };
        assert_eq!(
            judged.id(),
            "cbc-decrypt/128/1024/alone/software/evp/openssl-3.0.22"
        );
    }
}
