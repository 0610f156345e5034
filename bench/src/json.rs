// SPDX-License-Identifier: BSD-2-Clause
//! The run as JSON: docs/schema/tenrounds-bench-1.schema.json.

use crate::cli::Run;
use crate::limits::Bound;
use crate::results::is_ours;
use crate::worker::Missing;
use machine::schema::Host;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub struct Document {
    schema: &'static str,
    version: String,
    date: String,
    seed: u64,
    quick: bool,
    host: Host,
    effort: Effort,
    subjects: Vec<Subject>,
    absent: Vec<Missing>,
    wrong: Vec<Wrong>,
    limits: Vec<Limit>,
    rows: Vec<Row>,
    goals: Vec<Goal>,
}

#[derive(Serialize)]
struct Effort {
    rounds: usize,
    processes: usize,
    window_us: u64,
    seconds: f64,
    repeated: usize,
    doubtful: usize,
}

#[derive(Serialize)]
struct Subject {
    id: String,
    title: String,
    version: String,
    ours: bool,
    environment: &'static str,
}

#[derive(Serialize)]
struct Wrong {
    subject: String,
    environment: &'static str,
    mode: &'static str,
    key_bits: u16,
    direction: &'static str,
    streams: usize,
    bytes: usize,
    why: String,
}

#[derive(Serialize)]
struct Limit {
    name: String,
    what: String,
    bytes_per_second: f64,
    spread: f64,
}

#[derive(Serialize)]
struct Summary {
    median: f64,
    q1: f64,
    q3: f64,
}

#[derive(Serialize)]
struct Row {
    mode: &'static str,
    key_bits: u16,
    direction: &'static str,
    streams: usize,
    bytes: usize,
    kind: &'static str,
    threads: usize,
    environment: &'static str,
    subject: String,
    bytes_per_second: f64,
    ns_per_call: f64,
    spread: f64,
    bound: Option<Bound>,
    limit_fraction: Option<Summary>,
    ratio_to: BTreeMap<String, Summary>,
}

#[derive(Serialize)]
struct Goal {
    id: String,
    what: String,
    target: f64,
    value: f64,
    met: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// Four figures; no measurement has more.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn summary(s: &measure::stats::Summary) -> Summary {
    Summary {
        median: short(s.median),
        q1: short(s.q1),
        q3: short(s.q3),
    }
}

impl Document {
    pub fn of(run: &Run) -> Document {
        let found = run.found;
        let row = |row: &crate::results::Row| Row {
            mode: row.cell.spec.mode.name(),
            key_bits: row.cell.spec.key_bits,
            direction: row.cell.spec.direction.name(),
            streams: row.cell.spec.streams,
            bytes: row.cell.bytes,
            kind: row.cell.kind.name(),
            threads: row.cell.threads,
            environment: row.environment.name(),
            subject: row.subject.clone(),
            bytes_per_second: short(row.rate.median),
            ns_per_call: short(row.ns_per_call()),
            spread: short(row.rate.spread()),
            bound: row.bound,
            limit_fraction: row.limit.as_ref().map(summary),
            ratio_to: row
                .ratios
                .iter()
                .map(|(id, s)| (id.clone(), summary(s)))
                .collect(),
        };
        Document {
            schema: "tenrounds-bench-1",
            version: tenrounds_sys::version().to_owned(),
            date: run.date.clone(),
            seed: run.seed,
            quick: run.quick,
            host: run.host.clone(),
            effort: Effort {
                rounds: run.rounds,
                processes: run.processes,
                window_us: 1000,
                seconds: short(run.seconds),
                repeated: found.iter().map(|f| f.repeated).sum(),
                doubtful: found.iter().map(|f| f.doubtful).sum(),
            },
            subjects: run
                .results
                .subjects
                .iter()
                .map(|(environment, s)| Subject {
                    id: s.id.clone(),
                    title: s.title.clone(),
                    version: s.version.clone(),
                    ours: is_ours(&s.id),
                    environment: environment.name(),
                })
                .collect(),
            absent: found.first().map_or(Vec::new(), |f| f.absent.clone()),
            wrong: found
                .iter()
                .flat_map(|f| &f.faults)
                .map(|f| Wrong {
                    subject: f.subject.clone(),
                    environment: f.environment.name(),
                    mode: f.cell.spec.mode.name(),
                    key_bits: f.cell.spec.key_bits,
                    direction: f.cell.spec.direction.name(),
                    streams: f.cell.spec.streams,
                    bytes: f.cell.bytes,
                    why: f.why.clone(),
                })
                .collect(),
            limits: found
                .iter()
                .flat_map(|f| &f.probe)
                .filter_map(|figure| {
                    let summary = figure.summary()?;
                    Some(Limit {
                        name: figure.name.clone(),
                        what: figure.what.clone(),
                        bytes_per_second: short(summary.median),
                        spread: short(summary.spread()),
                    })
                })
                .collect(),
            rows: run.results.rows.iter().map(row).collect(),
            goals: run
                .goals
                .iter()
                .map(|g| Goal {
                    id: g.id.clone(),
                    what: format!("{}: {}", g.place(), g.what),
                    target: g.target,
                    value: short(g.value),
                    met: g.met,
                    reason: g.reason.clone(),
                })
                .collect(),
        }
    }

    /// Indented, but a line for each row and goal.
    pub fn to_json(&self) -> String {
        let value = serde_json::to_value(self).expect("plain data serialises");
        let mut out = String::from("{\n");
        let object = value.as_object().expect("a document is an object");
        for (index, (key, value)) in object.iter().enumerate() {
            let comma = if index + 1 < object.len() { "," } else { "" };
            out += &format!("  \"{key}\": ");
            match value.as_array() {
                Some(list) if !list.is_empty() => {
                    let lines: Vec<String> = list.iter().map(|v| format!("    {v}")).collect();
                    out += &format!("[\n{}\n  ]{comma}\n", lines.join(",\n"));
                }
                _ => out += &format!("{value}{comma}\n"),
            }
        }
        out + "}\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::goals::{judge, Reasons};
    use crate::grid::{Cell, Kind};
    use crate::limits::Figure;
    use crate::peer::{Direction, Mode, Spec};
    use crate::plan::Environment;
    use crate::results::Results;
    use crate::run::{Fault, Found, Rounds};

    fn valid(json: &serde_json::Value) {
        let schema = "../docs/schema/tenrounds-bench-1.schema.json";
        let mut schemas = boon::Schemas::new();
        let index = boon::Compiler::new().compile(schema, &mut schemas);
        let index = index.unwrap_or_else(|e| panic!("{e:#}"));
        if let Err(error) = schemas.validate(json, index) {
            panic!("{error:#}");
        }
    }

    fn cell(kind: Kind, threads: usize) -> Cell {
        Cell {
            spec: Spec {
                mode: Mode::Gcm,
                key_bits: 128,
                direction: Direction::Encrypt,
                streams: 1,
            },
            bytes: 16384,
            kind,
            threads,
        }
    }

    fn rounds(rates: &[(&str, f64)]) -> Rounds {
        let of = |(id, rate): &(&str, f64)| (id.to_string(), vec![*rate, rate * 1.01]);
        Rounds(rates.iter().map(of).collect())
    }

    #[test]
    fn documents_follow_the_schema() {
        let subject = |id: &str| crate::worker::Subject {
            id: id.into(),
            title: id.into(),
            version: "1".into(),
        };
        let found = [Found {
            environment: Environment::Plain,
            subjects: vec![subject("core"), subject("other")],
            absent: vec![Missing {
                id: "x".into(),
                title: "X".into(),
                why: "not here".into(),
            }],
            probe: vec![Figure {
                name: "aes-zmm".into(),
                what: "rounds".into(),
                rates: vec![1e11, 1.1e11],
            }],
            cells: vec![
                (
                    cell(Kind::Throughput, 1),
                    rounds(&[("core", 1.23456789e10), ("other", 1e10), ("limit", 2e10)]),
                ),
                (
                    cell(Kind::Alone, 1),
                    rounds(&[("core", 1e9), ("other", 2e9)]),
                ),
                (
                    cell(Kind::Throughput, 2),
                    rounds(&[("core", 2e10), ("core/one-thread", 1e10)]),
                ),
            ],
            faults: vec![Fault {
                environment: Environment::Plain,
                cell: cell(Kind::Throughput, 1),
                subject: "broken".into(),
                why: "byte 0".into(),
            }],
            right: 2,
            repeated: 1,
            doubtful: 0,
        }];
        let results = Results::of(&found);
        let reasons = Reasons::parse("[[reason]]\ngoals = ['*']\nwhy = 'so'").unwrap();
        let goals = judge(&results, &reasons);
        let run = Run {
            seed: 7,
            quick: true,
            host: machine::host::read(None),
            date: terminal::today(),
            seconds: 1.5,
            processes: 1,
            rounds: 2,
            found: &found,
            results: &results,
            goals: &goals,
        };
        let text = Document::of(&run).to_json();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        valid(&json);
        let row = |subject: &str, kind: &str, threads: u64| {
            let rows = json["rows"].as_array().unwrap();
            let fits = |r: &&serde_json::Value| {
                r["subject"] == subject && r["kind"] == kind && r["threads"] == threads
            };
            rows.iter().find(fits).unwrap().clone()
        };
        let core = row("core", "throughput", 1);
        assert_eq!(core["bytes_per_second"], 1.241e10);
        assert_eq!(core["bound"], "throughput");
        assert!((core["ratio_to"]["other"]["median"].as_f64().unwrap() - 1.235).abs() < 1e-9);
        assert_eq!(row("core", "alone", 1)["bound"], serde_json::Value::Null);
        assert_eq!(
            row("core", "throughput", 2)["ratio_to"]["one-thread"]["median"],
            2.0
        );
        assert_eq!(json["wrong"][0]["subject"], "broken");
        let goals = json["goals"].as_array().unwrap();
        assert!(goals
            .iter()
            .any(|g| g["met"] == false && g["reason"] == "so"));
        assert!(goals
            .iter()
            .any(|g| g["met"] == true && g["reason"].is_null()));
    }

    #[test]
    fn what_is_published_follows_the_schema() {
        let dir = std::fs::read_dir("../docs/benchmarks").unwrap();
        for file in dir.map(|f| f.unwrap().path()) {
            if file.extension().is_some_and(|e| e == "json") {
                let text = std::fs::read_to_string(&file).unwrap();
                valid(&serde_json::from_str(&text).unwrap());
            }
        }
    }
}
