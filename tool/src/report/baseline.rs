// SPDX-License-Identifier: BSD-2-Clause
//! An earlier report, as far as it is shown beside the new one.

use super::facts::Summary;
use base::root::Root;
use machine::schema::SCHEMA;
use serde::de::DeserializeOwned;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::style::clean;

/// The object `baseline` of the JSON document.
#[derive(Debug, Serialize)]
pub struct Baseline {
    /// The day of the report.
    pub date: String,
    /// The version of tenrounds.
    pub version: String,
    pub processor: String,
    pub kernel: String,
    pub openssl: Option<String>,
    pub summary: Summary,
}

impl Baseline {
    pub fn read(path: &Path) -> Result<Baseline> {
        let wrong = |why: String| Error::failure(format!("{}: {why}", path.display()));
        let text = Root::machine().text(path);
        let text = text.map_err(|error| wrong(error.to_string()))?;
        let document = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("is no JSON object of tenrounds: {error}")))?;
        check(&document).map_err(wrong)?;
        Baseline::of(&document).map_err(|why| wrong(format!("is a damaged report: {why}")))
    }

    fn of(document: &Value) -> std::result::Result<Baseline, String> {
        Ok(Baseline {
            date: field(document, "/report/date")?,
            version: field(document, "/version")?,
            processor: field(document, "/host/cpu/brand")?,
            kernel: field(document, "/host/kernel")?,
            openssl: field(document, "/host/openssl/version").unwrap_or(None),
            summary: field(document, "/report/summary")?,
        })
    }
}

fn field<T: DeserializeOwned>(document: &Value, place: &str) -> std::result::Result<T, String> {
    let value = document
        .pointer(place)
        .ok_or(format!("it has no {place}"))?;
    T::deserialize(value).map_err(|error| format!("{place}: {error}"))
}

fn check(document: &Value) -> std::result::Result<(), String> {
    let text = |name: &str| document[name].as_str().unwrap_or_default();
    match (text("schema"), text("command")) {
        (SCHEMA, "report") => Ok(()),
        (SCHEMA, command) => Err(format!(
            "was written by `tenrounds {}`; --baseline takes a file of `tenrounds report --json FILE`",
            clean(command)
        )),
        (schema, _) => Err(format!(
            "has the schema '{}', and this tenrounds reads {SCHEMA}; make a new report",
            clean(schema)
        )),
    }
}
