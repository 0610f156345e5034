// SPDX-License-Identifier: BSD-2-Clause
//! The documents of two runs of `bench`, as measure::baseline compares them.

use super::figure::size_name;
use ::measure::baseline::{facts, Fraction, Side};
pub use ::measure::baseline::{Baseline, SLOWER};
use machine::schema::{Document, SCHEMA};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::style::clean;

/// The earlier run.
pub struct Old(Side);

impl Old {
    pub fn read(path: &Path) -> Result<Old> {
        let wrong = |why: String| Error::failure(format!("{}: {why}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|why| wrong(why.to_string()))?;
        let document = serde_json::from_str(&text);
        let document: Value = document.map_err(|why| wrong(format!("is no JSON: {why}")))?;
        let rows = rows(&document).map_err(wrong)?;
        Ok(Old(side(path.display().to_string(), rows, &document)))
    }

    /// Compares with the document of a new run.
    pub fn compare(&self, new: &Document<impl Serialize>) -> Result<Baseline> {
        let document = serde_json::to_value(new).expect("plain data serialises");
        let rows = rows(&document).map_err(Error::failure)?;
        Baseline::of(&self.0, &side("this run".into(), rows, &document))
    }
}

type Rows = Vec<(String, Option<Fraction>)>;

fn side(name: String, rows: Rows, document: &Value) -> Side {
    Side {
        name,
        rows,
        facts: facts(document),
    }
}

/// A row of the tool: "aes-128-ctr encrypt, 16 KiB, tenrounds".
fn name_of(row: &Value) -> String {
    let text = |field: &str| row[field].as_str().unwrap_or_default();
    let number = |field: &str| row[field].as_u64().unwrap_or_default();
    let mut name = format!(
        "{} {}, {}, {}",
        text("algorithm"),
        text("direction"),
        size_name(number("bytes") as usize),
        text("implementation")
    );
    if number("threads") > 1 {
        name += &format!(", {} threads", number("threads"));
    }
    clean(name)
}

fn fraction_of(row: &Value) -> Option<Fraction> {
    Fraction::new(row["limit_fraction"].as_f64()?, row["spread"].as_f64()?)
}

/// What bounds the others is not compared with itself.
fn is_bound(who: &str) -> bool {
    matches!(who, "limit" | "ceiling")
}

/// The rows of a document of `bench`.
fn rows(document: &Value) -> std::result::Result<Rows, String> {
    let text = |value: &Value| value.as_str().map(clean);
    match (text(&document["schema"]), text(&document["command"])) {
        (Some(schema), _) if schema != SCHEMA => Err(format!(
            "has the schema {schema} instead of {SCHEMA}; measure again, with tenrounds bench --json"
        )),
        (Some(_), Some(command)) if command != "bench" => Err(format!(
            "was written by `tenrounds {command}` and not by `tenrounds bench --json`"
        )),
        (Some(_), Some(_)) => {
            let rows = document["results"].as_array().ok_or("has no rows")?;
            let is_bound = |row: &&Value| {
                let who = row["implementation"].as_str();
                who.is_some_and(is_bound)
            };
            let rows = rows.iter().filter(|row| !is_bound(row));
            Ok(rows.map(|row| (name_of(row), fraction_of(row))).collect())
        }
        _ => Err("is no measurement of tenrounds bench --json".into()),
    }
}
