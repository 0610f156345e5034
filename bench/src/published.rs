// SPDX-License-Identifier: BSD-2-Clause
//! A run as the reports need it, and how it was measured.

use crate::answer::{Missing, Noise};
use crate::goals::Goals;
use crate::grid::{Kind, Way};
use crate::plan::Environment;
use crate::results::{is_bound, Results, Row};
use crate::run::Fault;
use measure::baseline::{Fraction, Side};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use terminal::size_name;

/// Just measured, or read from a published file.
pub struct Run {
    /// Of tenrounds.
    pub version: String,
    /// The commit that was measured, where it is known.
    pub commit: Option<String>,
    pub date: String,
    pub seed: u64,
    pub quick: bool,
    pub host: Host,
    pub effort: Effort,
    pub absent: Vec<Missing>,
    pub wrong: Vec<Fault>,
    pub limits: Vec<Probed>,
    pub results: Results,
    pub goals: Goals,
}

/// A run as measure::baseline compares it: rows such as "aes-128 ctr, 16 KiB, core".
pub fn side(name: String, run: &Run) -> Side {
    let row = |row: &Row| {
        let cell = &row.cell;
        let (way, bits) = (Way::of(&cell.spec).name(), cell.spec.key_bits);
        let mut name = format!(
            "aes-{bits} {way}, {}, {}",
            size_name(cell.bytes),
            row.subject
        );
        if cell.threads > 1 {
            name += &format!(", {} threads", cell.threads);
        }
        if cell.kind == Kind::Alone {
            name += ", alone";
        }
        if row.environment == Environment::Software {
            name += ", software";
        }
        let fraction = row
            .limit
            .and_then(|of| Fraction::new(of.median, of.spread()));
        (name, fraction)
    };
    let (host, cpu) = (&run.host, &run.host.cpu);
    let known = |fact: &Option<String>| fact.clone().unwrap_or("-".into());
    let mut facts = vec![
        ("processor".to_owned(), cpu.brand.clone()),
        ("family".to_owned(), cpu.family.to_string()),
        ("model".to_owned(), cpu.model.to_string()),
        ("stepping".to_owned(), cpu.stepping.to_string()),
        ("microcode".to_owned(), known(&host.microcode)),
        ("governor".to_owned(), known(&host.governor)),
        ("hypervisor".to_owned(), known(&host.hypervisor)),
        ("kernel".to_owned(), host.kernel.clone()),
        ("tenrounds".to_owned(), run.version.clone()),
    ];
    let subjects = run.results.subjects.iter();
    facts.extend(subjects.map(|(_, s)| (format!("version of {}", s.id), s.version.clone())));
    let rows = run.results.rows.iter();
    Side {
        name,
        rows: rows
            .filter(|row| !is_bound(&row.subject))
            .map(row)
            .collect(),
        facts: facts.into_iter().collect(),
    }
}

/// The machine. Fields that no report shows are kept as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub cpu: Cpu,
    pub microcode: Option<String>,
    pub governor: Option<String>,
    pub hypervisor: Option<String>,
    pub os: Option<String>,
    pub kernel: String,
    #[serde(flatten)]
    more: serde_json::Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    pub vendor: String,
    pub brand: String,
    pub family: u16,
    pub model: u16,
    pub stepping: u8,
    pub threads: usize,
}

impl Host {
    pub fn of(host: &machine::schema::Host) -> Host {
        let value = serde_json::to_value(host).expect("plain data serialises");
        serde_json::from_value(value).expect("these are its fields")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Of each cell, all processes together.
    pub rounds: usize,
    pub processes: usize,
    pub window_us: u64,
    pub seconds: f64,
    /// Windows that were repeated because wall clock and CPU time disagreed.
    pub repeated: usize,
    /// Windows that count although they did, for want of better ones.
    pub doubtful: usize,
    /// What the noise probe found; absent in runs before there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// A figure of the limit probe by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probed {
    pub name: String,
    pub what: String,
    pub bytes_per_second: f64,
    pub spread: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::baseline::Baseline;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn the_rows_of_a_published_run_have_names_of_their_own_and_equal_themselves() {
        let file = "../docs/benchmarks/amd-epyc-family-25-model-17-2026-11-26.json";
        let run = crate::overview::read(Path::new(file)).unwrap();
        let both = side("run".into(), &run);
        let names: BTreeSet<&String> = both.rows.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), both.rows.len());
        assert!(names.contains(&"aes-128 ctr, 16 KiB, core".to_owned()));
        let found = Baseline::of(&both, &both).unwrap();
        let text = found.text("+-", None);
        assert!(
            text.contains("rows in both: 0 slower and 0 faster"),
            "{text}"
        );
        assert!(!text.contains("NOT ALIKE"), "{text}");
    }
}
