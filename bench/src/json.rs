// SPDX-License-Identifier: BSD-2-Clause
//! A run as JSON, docs/schema/tenrounds-bench-2.schema.json: one table for each way, key size and
//! kind of time, in it one line for each subject, with a figure for each size.

use crate::answer::{Missing, Subject, LIMIT, ONE_THREAD};
use crate::goals::{id, parse_id, Goals, Judged};
use crate::grid::{Cell, Kind, Way};
use crate::limits::Bound;
use crate::peer::Spec;
use crate::peers::openssl::replaced;
use crate::plan::Environment;
use crate::published::{Effort, Host, Probed, Run};
use crate::results::{is_ours, way, Results, Row};
use crate::run::Fault;
use measure::stats::Summary;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

const SCHEMA: &str = "tenrounds-bench-2";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    version: String,
    commit: Option<String>,
    date: String,
    seed: u64,
    quick: bool,
    host: Host,
    effort: Effort,
    subjects: Vec<Known>,
    absent: Vec<Missing>,
    wrong: Vec<Wrong>,
    limits: Vec<Probed>,
    met: usize,
    missed: Vec<Missed>,
    tables: Vec<Table>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    id: String,
    title: String,
    version: String,
    ours: bool,
    environment: Environment,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    id: String,
    why: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Missed {
    id: String,
    of: String,
    target: f64,
    value: f64,
    spread: Figure,
}

/// Cells that differ in size alone.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    way: String,
    key_bits: u16,
    kind: Kind,
    threads: usize,
    environment: Environment,
    bound: Option<Bound>,
    bytes: Vec<usize>,
    rows: BTreeMap<String, Line>,
}

/// One subject's figures, one for each size; null where it was not measured.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// GB/s.
    r: Vec<Option<Figure>>,
    /// Percent of the limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    l: Vec<Option<Figure>>,
    /// The spread of `o`, `l` or `r`, the first that is there, in per mille of the median.
    s: Vec<Option<u32>>,
    /// Times the rate of one thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    t: Vec<Option<Figure>>,
    /// Times the rate of the default provider in the same libcrypto.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    o: Vec<Option<Figure>>,
}

/// A number with three digits, or one decimal from 10 on; no measurement has more. 24.0 is
/// written as 24.
#[derive(Clone, Copy, Deserialize)]
struct Figure(f64);

impl Figure {
    fn of(value: f64) -> Figure {
        let text = match value {
            v if v >= 10.0 => format!("{v:.1}"),
            v => format!("{v:.2e}"),
        };
        Figure(text.parse().unwrap_or(value))
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 && self.0.abs() < 1e9 {
            true => serializer.serialize_i64(self.0 as i64),
            false => serializer.serialize_f64(self.0),
        }
    }
}

/// Four digits, for figures that are close to a goal.
pub fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// The document as text: a line for each element of a list and each row of a table.
pub fn write(run: &Run) -> String {
    let value = serde_json::to_value(Document::of(run)).expect("plain data serialises");
    let mut fields = Vec::new();
    for (key, value) in value.as_object().expect("a document is an object") {
        let text = match (key.as_str(), value.as_array()) {
            ("tables", Some(list)) => lines(list.iter().map(table_text)),
            (_, Some(list)) => lines(list.iter().map(Value::to_string)),
            _ => value.to_string(),
        };
        fields.push(format!("\"{key}\": {text}"));
    }
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}

fn lines(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.is_empty() {
        true => "[]".into(),
        false => format!("[\n{}\n]", items.join(",\n")),
    }
}

fn table_text(table: &Value) -> String {
    let mut head = table.clone();
    let rows = head.as_object_mut().and_then(|t| t.remove("rows"));
    let rows = rows
        .as_ref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten();
    let rows: Vec<String> = rows
        .map(|(id, row)| format!("{}:{row}", Value::from(id.as_str())))
        .collect();
    let head = head.to_string();
    format!(
        "{},\"rows\":{{\n{}}}}}",
        head.trim_end_matches('}'),
        rows.join(",\n")
    )
}

/// Reads what `write` wrote. An error says what is wrong, without the file's name.
pub fn read(text: &str) -> Result<Run, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("is no JSON: {e}"))?;
    match value["schema"].as_str() {
        Some(SCHEMA) => {}
        other => {
            let other = other.unwrap_or("none");
            return Err(format!("has the schema {other:?} instead of {SCHEMA}"));
        }
    }
    let document: Document =
        serde_json::from_value(value).map_err(|e| format!("is no {SCHEMA}: {e}"))?;
    document.run()
}

impl Document {
    fn of(run: &Run) -> Document {
        let subjects = run.results.subjects.iter().map(|(environment, s)| Known {
            id: s.id.clone(),
            title: s.title.clone(),
            version: s.version.clone(),
            ours: is_ours(&s.id),
            environment: *environment,
        });
        let wrong = run.wrong.iter().map(|fault| Wrong {
            id: id(fault.environment, &fault.cell, &fault.subject, "output"),
            why: fault.why.clone(),
        });
        let missed = run.goals.missed().map(|goal| Missed {
            id: goal.id.clone(),
            of: goal.of.clone(),
            target: goal.target,
            value: short(goal.value),
            spread: Figure::of(goal.spread),
        });
        Document {
            schema: SCHEMA.into(),
            version: run.version.clone(),
            commit: run.commit.clone(),
            date: run.date.clone(),
            seed: run.seed,
            quick: run.quick,
            host: run.host.clone(),
            effort: run.effort.clone(),
            subjects: subjects.collect(),
            absent: run.absent.clone(),
            wrong: wrong.collect(),
            limits: run.limits.clone(),
            met: run.goals.met,
            missed: missed.collect(),
            tables: Table::all(&run.results),
        }
    }

    fn run(self) -> Result<Run, String> {
        let mut results = Results {
            subjects: Vec::new(),
            rows: Vec::new(),
        };
        for known in self.subjects {
            let (id, title, version) = (known.id, known.title, known.version);
            results
                .subjects
                .push((known.environment, Subject { id, title, version }));
        }
        for table in &self.tables {
            results.rows.extend(table.rows()?);
        }
        let judged = self.missed.into_iter().map(Missed::judged);
        let wrong = self.wrong.into_iter().map(Wrong::fault);
        Ok(Run {
            version: self.version,
            commit: self.commit,
            date: self.date,
            seed: self.seed,
            quick: self.quick,
            host: self.host,
            effort: self.effort,
            absent: self.absent,
            wrong: wrong.collect::<Result<_, _>>()?,
            limits: self.limits,
            results,
            goals: Goals {
                met: self.met,
                judged: judged.collect::<Result<_, _>>()?,
            },
        })
    }
}

fn spec(name: &str, key_bits: u16) -> Result<Spec, String> {
    let way = way(name).ok_or_else(|| format!("has an unknown way '{name}'"))?;
    Ok(way.spec(key_bits))
}

fn place(id: &str) -> Result<(Environment, Cell, String), String> {
    parse_id(id).ok_or_else(|| format!("has a wrong id, '{id}'"))
}

impl Wrong {
    fn fault(self) -> Result<Fault, String> {
        let (environment, cell, subject) = place(&self.id)?;
        Ok(Fault {
            environment,
            cell,
            subject,
            why: self.why,
        })
    }
}

impl Missed {
    fn judged(self) -> Result<Judged, String> {
        let (environment, cell, subject) = place(&self.id)?;
        Ok(Judged {
            id: self.id,
            environment,
            cell,
            subject,
            of: self.of,
            target: self.target,
            value: self.value,
            spread: self.spread.0,
            met: false,
        })
    }
}

impl Table {
    /// The tables of all cells, in the order in which these were measured.
    fn all(results: &Results) -> Vec<Table> {
        let mut tables: Vec<Table> = Vec::new();
        for (environment, cell) in results.cells() {
            let name = Way::of(&cell.spec).name();
            let fits = |t: &&mut Table| {
                (&*t.way, t.key_bits) == (&*name, cell.spec.key_bits)
                    && (t.kind, t.threads, t.environment) == (cell.kind, cell.threads, environment)
            };
            if let Some(table) = tables.iter_mut().find(fits) {
                table.bytes.push(cell.bytes);
                continue;
            }
            tables.push(Table {
                way: name,
                key_bits: cell.spec.key_bits,
                kind: cell.kind,
                threads: cell.threads,
                environment,
                bound: None,
                bytes: vec![cell.bytes],
                rows: BTreeMap::new(),
            });
        }
        for table in &mut tables {
            table.fill(results);
        }
        tables
    }

    fn cell(&self, spec: Spec, bytes: usize) -> Cell {
        Cell {
            spec,
            bytes,
            kind: self.kind,
            threads: self.threads,
        }
    }

    fn fill(&mut self, results: &Results) {
        let spec = spec(&self.way, self.key_bits).expect("it is the name of a way");
        let cells: Vec<Cell> = self.bytes.iter().map(|b| self.cell(spec, *b)).collect();
        let here = |row: &&Row| row.environment == self.environment && cells.contains(&row.cell);
        let rows: Vec<&Row> = results.rows.iter().filter(here).collect();
        self.bound = rows.iter().find_map(|row| row.bound);
        for row in &rows {
            if self.rows.contains_key(&row.subject) {
                continue;
            }
            let of = |cell| {
                rows.iter()
                    .find(|r| r.cell == cell && r.subject == row.subject)
                    .copied()
            };
            let own: Vec<Option<&Row>> = cells.iter().map(|cell| of(*cell)).collect();
            self.rows.insert(row.subject.clone(), Line::of(&own));
        }
    }

    fn rows(&self) -> Result<Vec<Row>, String> {
        let spec = spec(&self.way, self.key_bits)?;
        let mut rows = Vec::new();
        for (place, bytes) in self.bytes.iter().enumerate() {
            for (id, line) in &self.rows {
                let lists = [line.r.len(), line.s.len()];
                let short = lists.iter().any(|n| *n != self.bytes.len());
                if short
                    || [&line.l, &line.t, &line.o]
                        .iter()
                        .any(|f| !f.is_empty() && f.len() != self.bytes.len())
                {
                    return Err(format!(
                        "has not one figure for each size in {}, {id}",
                        self.way
                    ));
                }
                rows.extend(line.row(
                    place,
                    id,
                    self.environment,
                    self.cell(spec, *bytes),
                    self.bound,
                ));
            }
        }
        Ok(rows)
    }
}

impl Line {
    /// The rows of one subject, one for each size.
    fn of(rows: &[Option<&Row>]) -> Line {
        let list = |figure: &dyn Fn(&Row) -> Option<f64>| -> Vec<Option<Figure>> {
            let figures = rows.iter().map(|row| row.and_then(figure).map(Figure::of));
            let figures: Vec<Option<Figure>> = figures.collect();
            match figures.iter().all(Option::is_none) {
                true => Vec::new(),
                false => figures,
            }
        };
        // The limit's own row is 100 % throughout.
        let limit = |row: &Row| row.limit.filter(|_| row.subject != LIMIT);
        let of_replaced = |row: &Row| row.ratios.get(&replaced(&row.subject)?).copied();
        let spread = |row: &Row| {
            let figure = of_replaced(row).or(limit(row)).unwrap_or(row.rate);
            figure.spread() * 1000.0
        };
        Line {
            r: list(&|row| Some(row.rate.median / 1e9)),
            l: list(&|row| Some(limit(row)?.median * 100.0)),
            s: rows
                .iter()
                .map(|row| row.map(|row| spread(row).round() as u32))
                .collect(),
            t: list(&|row| Some(row.ratios.get(ONE_THREAD)?.median)),
            o: list(&|row| Some(of_replaced(row)?.median)),
        }
    }

    fn row(
        &self,
        place: usize,
        id: &str,
        environment: Environment,
        cell: Cell,
        bound: Option<Bound>,
    ) -> Option<Row> {
        let figure = |list: &Vec<Option<Figure>>| list.get(place).copied().flatten().map(|f| f.0);
        let spread = f64::from(self.s.get(place).copied().flatten()?) / 1000.0;
        let summary = |median: f64| Summary::with_spread(median, spread);
        let limit = match id {
            LIMIT => bound.map(|_| 1.0),
            _ => figure(&self.l).map(|percent| percent / 100.0),
        };
        let one_thread = figure(&self.t).map(|times| (ONE_THREAD.to_owned(), summary(times)));
        let of_replaced = figure(&self.o).zip(replaced(id));
        let of_replaced = of_replaced.map(|(times, stock)| (stock, summary(times)));
        Some(Row {
            environment,
            cell,
            subject: id.to_owned(),
            rate: summary(figure(&self.r)? * 1e9),
            bound: bound.filter(|_| limit.is_some()),
            limit: limit.map(summary),
            ratios: one_thread.into_iter().chain(of_replaced).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Noise;
    use crate::grid::SIZES;
    use crate::limits;
    use crate::peer::{Direction, Form, Mode};

    fn valid(json: &Value) {
        let schema = "../docs/schema/tenrounds-bench-2.schema.json";
        let mut schemas = boon::Schemas::new();
        let index = boon::Compiler::new().compile(schema, &mut schemas);
        let index = index.unwrap_or_else(|e| panic!("{e:#}"));
        if let Err(error) = schemas.validate(json, index) {
            panic!("{error:#}");
        }
    }

    fn cell(kind: Kind, threads: usize, bytes: usize) -> Cell {
        Cell {
            spec: Spec {
                mode: Mode::Gcm,
                key_bits: 128,
                direction: Direction::Encrypt,
                streams: 1,
                aad: crate::peer::AAD,
                gap: 0,
                form: Form::Usual,
            },
            bytes,
            kind,
            threads,
        }
    }

    fn row(cell: Cell, subject: &str, rate: f64, limit: Option<f64>) -> Row {
        let summary = |median: f64| Summary::with_spread(median, 0.02);
        Row {
            environment: Environment::Plain,
            cell,
            subject: subject.into(),
            rate: summary(rate),
            bound: limit.map(|_| limits::bound(cell.spec)),
            limit: limit.map(summary),
            ratios: BTreeMap::new(),
        }
    }

    /// GCM at two sizes, the second of which `other` does not have; alone; on two threads.
    fn run() -> Run {
        let (short, long) = (
            cell(Kind::Throughput, 1, 16),
            cell(Kind::Throughput, 1, 16384),
        );
        let mut threads = row(cell(Kind::Throughput, 2, 16384), "core", 2e10, Some(0.9));
        threads
            .ratios
            .insert(ONE_THREAD.into(), Summary::of([1.98765]).unwrap());
        let rows = vec![
            row(short, "core", 1.23456e9, Some(0.052345)),
            row(short, "limit", 2.36e10, Some(1.0)),
            row(short, "other", 1e9, Some(0.0423)),
            row(long, "core", 2.23456e10, Some(0.94686)),
            row(long, "limit", 2.36e10, Some(1.0)),
            row(cell(Kind::Alone, 1, 16), "core", 1.5e8, None),
            threads,
        ];
        let subjects = ["core", "other"].map(|id| {
            let (id, title, version) = (id.to_owned(), id.to_uppercase(), "1".to_owned());
            (Environment::Plain, Subject { id, title, version })
        });
        let judged = Judged {
            id: "gcm-encrypt/128/16/core/bound".into(),
            environment: Environment::Plain,
            cell: short,
            subject: "core".into(),
            of: crate::goals::OF_LIMIT.into(),
            target: 0.75,
            value: 0.052345,
            spread: 0.0011,
            met: false,
        };
        Run {
            version: "0.1.0".into(),
            commit: Some("0123456789ab".into()),
            date: "2026-11-21".into(),
            seed: 7,
            quick: true,
            host: Host::of(&machine::host::read(None)),
            effort: Effort {
                rounds: 2,
                processes: 1,
                window_us: 1000,
                seconds: 1.5,
                repeated: 1,
                doubtful: 0,
                noise: Some(Noise {
                    repeated: 2,
                    doubtful: 1,
                }),
            },
            absent: vec![Missing {
                id: "x".into(),
                title: "X".into(),
                why: "not here".into(),
            }],
            wrong: vec![Fault {
                environment: Environment::Plain,
                cell: short,
                subject: "broken".into(),
                why: "byte 0".into(),
            }],
            limits: vec![Probed {
                name: "aes-zmm".into(),
                what: "rounds".into(),
                bytes_per_second: 1.1e11,
                spread: 0.01,
            }],
            results: Results {
                subjects: subjects.into(),
                rows,
            },
            goals: Goals {
                met: 3,
                judged: vec![judged],
            },
        }
    }

    #[test]
    fn a_run_becomes_tables() {
        let text = write(&run());
        let json: Value = serde_json::from_str(&text).unwrap();
        valid(&json);
        let tables = json["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 3);
        assert_eq!(tables[0]["way"], "gcm-encrypt");
        assert_eq!(tables[0]["bytes"], serde_json::json!([16, 16384]));
        assert_eq!(tables[0]["bound"], "throughput");
        let core = serde_json::json!({"r": [1.23, 22.3], "l": [5.23, 94.7], "s": [20, 20]});
        assert_eq!(tables[0]["rows"]["core"], core);
        let other = serde_json::json!({"r": [1, null], "l": [4.23, null], "s": [20, null]});
        assert_eq!(tables[0]["rows"]["other"], other);
        assert_eq!(tables[0]["rows"]["limit"]["l"], Value::Null);
        assert_eq!(
            (&tables[1]["kind"], &tables[1]["bound"]),
            (&"alone".into(), &Value::Null)
        );
        assert_eq!(tables[2]["rows"]["core"]["t"], serde_json::json!([1.99]));
        assert_eq!(json["missed"][0]["value"], 0.05235);
        assert!(text.contains("\n\"core\":{\"r\":[1.23,22.3]"), "{text}");
    }

    #[test]
    fn a_run_can_be_read_back() {
        let text = write(&run());
        let read = read(&text).unwrap();
        assert_eq!(write(&read), text);
        assert_eq!(read.results.rows.len(), run().results.rows.len());
        let long = cell(Kind::Throughput, 1, 16384);
        let core = read.results.row(Environment::Plain, long, "core").unwrap();
        assert!((core.rate.median - 2.23e10).abs() < 1.0);
        assert!((core.limit.unwrap().median - 0.947).abs() < 1e-9);
        assert!(read
            .results
            .row(Environment::Plain, long, "other")
            .is_none());
        assert_eq!((read.goals.met, read.goals.count()), (3, 4));
        assert_eq!(read.goals.judged[0].said(), "5.2 ± 0.1 %, goal 75 %");
        assert_eq!(read.wrong[0].cell.bytes, 16);
        assert_eq!(read.effort.noise, run().effort.noise);
    }

    #[test]
    fn what_is_no_run_is_refused() {
        let text = write(&run());
        for (wrong, said) in [
            ("{".to_owned(), "is no JSON"),
            (
                "{}".to_owned(),
                "has the schema \"none\" instead of tenrounds-bench-2",
            ),
            (text.replace("bench-2", "bench-3"), "\"tenrounds-bench-3\""),
            (
                text.replace("\"seed\"", "\"seeds\""),
                "unknown field `seeds`",
            ),
            (
                text.replace("gcm-encrypt\"", "gcm-encript\""),
                "unknown way 'gcm-encript'",
            ),
            (
                text.replace("core/bound", "core"),
                "has a wrong id, 'gcm-encrypt/128/16/core'",
            ),
            (
                text.replace("[16,16384]", "[16]"),
                "not one figure for each size",
            ),
        ] {
            let error = read(&wrong).err().unwrap();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn figures_have_three_digits() {
        let text = |value: f64| serde_json::to_string(&Figure::of(value)).unwrap();
        let texts = [0.012345, 5.6189, 9.999, 23.649, 24.0, 101.26].map(text);
        assert_eq!(texts, ["0.0123", "5.62", "10", "23.6", "24", "101.3"]);
    }

    /// Those are read, and written as this program writes them. They stay compact.
    #[test]
    fn published_runs() {
        let dir = std::fs::read_dir("../docs/benchmarks").unwrap();
        let files = dir.map(|f| f.unwrap().path());
        let files: Vec<_> = files
            .filter(|f| f.extension().is_some_and(|e| e == "json"))
            .collect();
        assert!(files.len() >= 2, "{files:?}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            valid(&serde_json::from_str(&text).unwrap());
            let run = read(&text).unwrap_or_else(|why| panic!("{} {why}", file.display()));
            assert!(
                write(&run) == text,
                "{} is written otherwise",
                file.display()
            );
            assert!(
                text.len() < 160_000,
                "{} has {} bytes",
                file.display(),
                text.len()
            );
            assert!(run.results.cells().len() > SIZES.len());
        }
    }
}
