// SPDX-License-Identifier: BSD-2-Clause
//! The rows of a run of tenrounds-bench, as docs/benchmarks has them: schema tenrounds-bench-2, and
//! tenrounds-bench-1, which is converted.

use super::figure::size_name;
use crate::style::clean;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A row's fraction of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fraction {
    pub limit_fraction: f64,
    /// As the run has it, as a fraction of the median.
    pub spread: f64,
}

impl Fraction {
    /// None if either makes no sense.
    pub fn new(limit_fraction: f64, spread: f64) -> Option<Fraction> {
        let sane = limit_fraction > 0.0 && spread >= 0.0 && spread.is_finite();
        sane.then_some(Fraction {
            limit_fraction,
            spread,
        })
    }

    pub fn margin(&self) -> f64 {
        self.limit_fraction * self.spread
    }
}

/// What was measured: a way is a mode in a direction and a number of streams, such as "ctr",
/// "gcm-encrypt", "cbc-encrypt-16".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct What {
    pub way: String,
    pub key_bits: u16,
    pub kind: String,
    pub threads: usize,
    pub environment: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub what: What,
    pub bytes: usize,
    /// The id of a library, "core", "evp", "limit", ...
    pub subject: String,
    /// GB/s.
    pub rate: f64,
    pub fraction: Option<Fraction>,
}

impl Row {
    /// "aes-128 ctr, 16 KiB, core": different for different rows.
    pub fn name(&self) -> String {
        let what = &self.what;
        let (bits, way, subject) = (what.key_bits, &what.way, &self.subject);
        let mut name = format!("aes-{bits} {way}, {}, {subject}", size_name(self.bytes));
        if what.threads > 1 {
            name += &format!(", {} threads", what.threads);
        }
        for (value, usual) in [(&what.kind, "throughput"), (&what.environment, "plain")] {
            if value != usual {
                name += &format!(", {value}");
            }
        }
        clean(name)
    }
}

/// A row of tenrounds-bench-1.
#[derive(Deserialize)]
struct First {
    mode: String,
    key_bits: u16,
    direction: String,
    streams: usize,
    bytes: usize,
    kind: String,
    threads: usize,
    environment: String,
    subject: String,
    bytes_per_second: f64,
    limit_fraction: Option<Quartiles>,
}

#[derive(Deserialize)]
struct Quartiles {
    median: f64,
    q1: f64,
    q3: f64,
}

/// The number of streams that are of unequal lengths.
const RAGGED: usize = 64;

impl From<First> for Row {
    fn from(row: First) -> Row {
        let mode = match &*row.mode {
            both @ ("ofb" | "ctr" | "cmac") => both.to_owned(),
            mode => format!("{mode}-{}", row.direction),
        };
        let way = match row.streams {
            1 => mode,
            RAGGED => mode + "-ragged",
            streams => format!("{mode}-{streams}"),
        };
        let fraction = row.limit_fraction.and_then(|of| {
            let spread = (of.q3 - of.q1) / 2.0 / of.median;
            Fraction::new(of.median, spread)
        });
        Row {
            what: What {
                way,
                key_bits: row.key_bits,
                kind: row.kind,
                threads: row.threads,
                environment: row.environment,
            },
            bytes: row.bytes,
            subject: row.subject,
            rate: row.bytes_per_second / 1e9,
            fraction,
        }
    }
}

/// A table of tenrounds-bench-2: a line for each subject, in it a figure for each size.
#[derive(Deserialize)]
struct Table {
    way: String,
    key_bits: u16,
    kind: String,
    threads: usize,
    environment: String,
    bytes: Vec<usize>,
    rows: BTreeMap<String, Line>,
}

#[derive(Deserialize)]
struct Line {
    /// GB/s; null where it was not measured.
    r: Vec<Option<f64>>,
    /// Percent of the limit.
    #[serde(default)]
    l: Vec<Option<f64>>,
    /// Half the distance between the quartiles, in thousandths of the median.
    s: Vec<Option<f64>>,
}

impl Table {
    fn rows(&self) -> Vec<Row> {
        let at = |list: &[Option<f64>], place: usize| list.get(place).copied().flatten();
        let mut rows = Vec::new();
        for (subject, line) in &self.rows {
            for (place, &bytes) in self.bytes.iter().enumerate() {
                let fraction = at(&line.l, place).zip(at(&line.s, place));
                let Some(rate) = at(&line.r, place) else {
                    continue;
                };
                rows.push(Row {
                    what: What {
                        way: self.way.clone(),
                        key_bits: self.key_bits,
                        kind: self.kind.clone(),
                        threads: self.threads,
                        environment: self.environment.clone(),
                    },
                    bytes,
                    subject: subject.clone(),
                    rate,
                    fraction: fraction.and_then(|(l, s)| Fraction::new(l / 100.0, s / 1000.0)),
                });
            }
        }
        rows
    }
}

/// The rows of a document of tenrounds-bench; None for other documents. An error if it is not what
/// its schema says.
pub fn rows(document: &Value) -> Option<Result<Vec<Row>, String>> {
    let wrong = |schema: &str, why: serde_json::Error| format!("is no {schema}: {why}");
    match document["schema"].as_str()? {
        schema @ "tenrounds-bench-1" => {
            let rows = Vec::<First>::deserialize(&document["rows"]);
            let rows = rows.map(|rows| rows.into_iter().map(Row::from).collect());
            Some(rows.map_err(|why| wrong(schema, why)))
        }
        schema @ "tenrounds-bench-2" => {
            let tables = Vec::<Table>::deserialize(&document["tables"]);
            let rows = tables.map(|tables| tables.iter().flat_map(Table::rows).collect());
            Some(rows.map_err(|why| wrong(schema, why)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn one(document: Value) -> Row {
        let rows = rows(&document).expect("a run").expect("rows");
        assert_eq!(rows.len(), 1, "{rows:?}");
        rows[0].clone()
    }

    fn first(more: &[(&str, Value)]) -> Row {
        let mut row = json!({
            "mode": "cbc", "key_bits": 128, "direction": "encrypt", "streams": 1, "bytes": 1024,
            "kind": "throughput", "threads": 1, "environment": "plain", "subject": "core",
            "bytes_per_second": 1.4e9, "limit_fraction": {"median": 0.5, "q1": 0.49, "q3": 0.51}
        });
        for (field, value) in more {
            row[*field] = value.clone();
        }
        one(json!({"schema": "tenrounds-bench-1", "rows": [row]}))
    }

    #[test]
    fn rows_have_names_of_their_own() {
        let name = |more: &[(&str, Value)]| first(more).name();
        assert_eq!(name(&[]), "aes-128 cbc-encrypt, 1 KiB, core");
        assert_eq!(
            name(&[("streams", 16.into()), ("threads", 2.into())]),
            "aes-128 cbc-encrypt-16, 1 KiB, core, 2 threads"
        );
        assert_eq!(
            name(&[("kind", "alone".into()), ("environment", "software".into())]),
            "aes-128 cbc-encrypt, 1 KiB, core, alone, software"
        );
        assert_eq!(
            name(&[("mode", "ctr".into()), ("streams", 64.into())]),
            "aes-128 ctr-ragged, 1 KiB, core"
        );
    }

    #[test]
    fn both_schemas_say_the_same() {
        let second = one(json!({"schema": "tenrounds-bench-2", "tables": [{
            "way": "cbc-encrypt", "key_bits": 128, "kind": "throughput", "threads": 1,
            "environment": "plain", "bound": "latency", "bytes": [16, 1024],
            "rows": {"core": {"r": [null, 1.4], "l": [null, 50], "s": [null, 20]}}
        }]}));
        let first = first(&[]);
        assert_eq!((&second.what, second.bytes), (&first.what, first.bytes));
        assert_eq!((second.rate, &*second.subject), (first.rate, "core"));
        let (a, b) = (first.fraction.unwrap(), second.fraction.unwrap());
        assert_eq!(a.limit_fraction, b.limit_fraction);
        assert!((a.spread - b.spread).abs() < 1e-12, "{a:?} {b:?}");
    }

    #[test]
    fn a_fraction_needs_a_limit_and_a_spread() {
        assert_eq!(first(&[("limit_fraction", Value::Null)]).fraction, None);
        assert_eq!(Fraction::new(0.0, 0.1), None);
        assert_eq!(Fraction::new(0.5, f64::NAN), None);
        assert_eq!(Fraction::new(0.5, -0.1), None);
    }

    #[test]
    fn what_is_no_run_is_said() {
        assert!(rows(&json!({"schema": "tenrounds-1"})).is_none());
        assert!(rows(&json!([])).is_none());
        let broken = json!({"schema": "tenrounds-bench-2", "tables": [{"way": "ctr"}]});
        let said = rows(&broken).unwrap().unwrap_err();
        assert!(
            said.contains("tenrounds-bench-2") && said.contains("key_bits"),
            "{said}"
        );
    }
}
