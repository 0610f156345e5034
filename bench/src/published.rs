// SPDX-License-Identifier: BSD-2-Clause
//! A run as it is published: docs/schema/tenrounds-bench-3.schema.json.

use crate::answer::{Missing, Subject};
use crate::goals::Judged;
use crate::results::Measured;
use crate::run::Fault;
use measure::rounds::Disturbed;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;
use terminal::error::{Error, Result};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub schema: Schema,
    /// Of tenrounds.
    pub version: String,
    /// The commit that was measured, where it is known.
    pub commit: Option<String>,
    pub date: String,
    pub seed: u64,
    pub quick: bool,
    pub host: Host,
    pub effort: Effort,
    pub subjects: Vec<Subject>,
    pub absent: Vec<Missing>,
    pub wrong: Vec<Fault>,
    pub limits: Vec<Probed>,
    /// The number of goals that are met.
    pub met: usize,
    pub missed: Vec<Judged>,
    pub cells: Vec<Measured>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum Schema {
    #[serde(rename = "tenrounds-bench-3")]
    Third,
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
    /// What the noise probe found.
    pub noise: Disturbed,
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

impl Run {
    /// Reads a published run.
    pub fn read(file: &Path) -> Result<Run> {
        let failed = |why: String| Error::failure(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|e| failed(e.to_string()))?;
        serde_json::from_str(&text)
            .map_err(|e| failed(format!("this is no run of tenrounds-bench: {e}")))
    }

    /// The run as JSON, with a line for each element of a list.
    pub fn json(&self) -> String {
        let value = serde_json::to_value(self).expect("plain data serialises");
        let field = |(key, value): (&String, &Value)| match value.as_array() {
            Some(list) if !list.is_empty() => {
                let lines: Vec<String> = list.iter().map(Value::to_string).collect();
                format!("\"{key}\": [\n{}\n]", lines.join(",\n"))
            }
            _ => format!("\"{key}\": {value}"),
        };
        let fields = value.as_object().into_iter().flatten().map(field);
        format!("{{\n{}\n}}\n", fields.collect::<Vec<_>>().join(",\n"))
    }

    /// The title of a subject: "OpenSSL 4.0.3".
    pub fn title<'a>(&'a self, id: &'a str) -> &'a str {
        let named = self.subjects.iter().find(|s| s.id == id);
        named.map_or(id, |s| &s.title)
    }

    /// The number of goals.
    pub fn goals(&self) -> usize {
        self.met + self.missed.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report;

    fn valid(json: &Value) {
        let schema = "../docs/schema/tenrounds-bench-3.schema.json";
        let mut schemas = boon::Schemas::new();
        let index = boon::Compiler::new().compile(schema, &mut schemas);
        let index = index.unwrap_or_else(|e| panic!("{e:#}"));
        if let Err(error) = schemas.validate(json, index) {
            panic!("{error:#}");
        }
    }

    /// Published runs are read, and written as this program writes them.
    #[test]
    fn published_runs() {
        for (dir, least) in [("../docs/benchmarks", 2), ("../docs/benchmarks/replace", 3)] {
            let runs = report::published(dir);
            assert!(runs.len() >= least);
            for (name, run) in runs {
                let file = format!("{dir}/{name}.json");
                let text = std::fs::read_to_string(&file).unwrap();
                valid(&serde_json::from_str(&text).unwrap());
                assert!(run.json() == text, "{file} is written otherwise");
                assert!(text.len() < 1_100_000, "{file} has {} bytes", text.len());
            }
        }
    }

    #[test]
    fn what_is_no_run_is_refused() {
        let runs = report::published("../docs/benchmarks");
        let text = runs[0].1.json();
        let file = std::env::temp_dir().join(format!("bench-{}.json", std::process::id()));
        for (wrong, said) in [
            ("{", "EOF"),
            (&*text.replace("bench-3", "bench-2"), "tenrounds-bench-2"),
            (
                &text.replace("\"seed\"", "\"seeds\""),
                "unknown field `seeds`",
            ),
            (
                &text.replace("gcm-encrypt\"", "gcm-encript\""),
                "unknown way 'gcm-encript'",
            ),
        ] {
            std::fs::write(&file, wrong).unwrap();
            let error = Run::read(&file).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
    }
}
