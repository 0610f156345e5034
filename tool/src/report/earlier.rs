// SPDX-License-Identifier: BSD-2-Clause
//! An earlier report, as far as it is shown beside the new one.

use super::facts::Summary;
use crate::root::Root;
use machine::schema::SCHEMA;
use serde::{Deserialize, Serialize};
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::style::clean;

/// The object `before` of the JSON document.
#[derive(Debug, Serialize, Deserialize)]
pub struct Earlier {
    /// The day of the report.
    pub date: String,
    /// The version of tenrounds.
    pub version: String,
    pub processor: String,
    pub kernel: String,
    pub openssl: Option<String>,
    pub summary: Summary,
}

/// What tells whether a file is a report at all.
#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    schema: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    version: String,
}

/// The document, as far as it matters here.
#[derive(Deserialize)]
struct Document {
    host: Host,
    report: Part,
}

#[derive(Deserialize)]
struct Host {
    cpu: Cpu,
    kernel: String,
    openssl: Option<OpenSsl>,
}

#[derive(Deserialize)]
struct Cpu {
    brand: String,
}

#[derive(Deserialize)]
struct OpenSsl {
    version: String,
}

#[derive(Deserialize)]
struct Part {
    date: String,
    summary: Summary,
}

impl Earlier {
    pub fn read(path: &Path) -> Result<Earlier> {
        let wrong = |why: String| Error::failure(format!("{}: {why}", path.display()));
        let text = Root::machine().text(path);
        let text = text.map_err(|error| wrong(error.to_string()))?;
        let kind: Kind = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("is no JSON object of tenrounds: {error}")))?;
        kind.check().map_err(wrong)?;
        let document: Document = serde_json::from_str(&text)
            .map_err(|error| wrong(format!("is a damaged report: {error}")))?;
        Ok(Earlier {
            date: document.report.date,
            version: kind.version,
            processor: document.host.cpu.brand,
            kernel: document.host.kernel,
            openssl: document.host.openssl.map(|openssl| openssl.version),
            summary: document.report.summary,
        })
    }
}

impl Kind {
    fn check(&self) -> std::result::Result<(), String> {
        match (self.schema.as_str(), self.command.as_str()) {
            (SCHEMA, "report") => Ok(()),
            (SCHEMA, command) => Err(format!(
                "was written by `tenrounds {}`; --compare takes a file of `tenrounds report --json FILE`",
                clean(command)
            )),
            (schema, _) => Err(format!(
                "has the schema '{}', and this tenrounds reads {SCHEMA}; make a new report",
                clean(schema)
            )),
        }
    }
}
