// SPDX-License-Identifier: BSD-2-Clause
//! A published run as the source of a picture.

use super::super::runs::{self, Row};
use crate::error::{Error, Result};
use ::measure::busy::Disturbance;
use drawing::About;
use serde_json::Value;
use std::path::PathBuf;

/// A published run.
pub struct Run {
    pub file: PathBuf,
    pub document: Value,
    pub rows: Vec<Row>,
}

/// What a row was measured for: a way with a key size, "plain" or "software".
#[derive(Clone, Copy)]
pub struct Cell<'a> {
    pub way: &'a str,
    pub key_bits: u16,
    pub environment: &'a str,
}

pub fn read(file: PathBuf) -> Result<Run> {
    let wrong = |why: String| Error::failure(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(|why| wrong(why.to_string()))?;
    let document: Value =
        serde_json::from_str(&text).map_err(|why| wrong(format!("is no JSON: {why}")))?;
    let rows = runs::rows(&document).unwrap_or(Err("is no run of tenrounds-bench".into()));
    let rows = rows.map_err(wrong)?;
    Ok(Run {
        file,
        document,
        rows,
    })
}

impl Run {
    pub fn text(&self, pointer: &str) -> &str {
        let value = self.document.pointer(pointer);
        value.and_then(Value::as_str).unwrap_or_default()
    }

    pub fn count(&self, pointer: &str) -> usize {
        let value = self.document.pointer(pointer);
        value.and_then(Value::as_u64).unwrap_or_default() as usize
    }

    /// The id and title of stock OpenSSL: the version in which tenrounds was measured, too.
    pub fn openssl(&self) -> Result<(&str, &str)> {
        let subjects = self.document["subjects"].as_array();
        let subjects = subjects.into_iter().flatten();
        let known = subjects.filter_map(|s| Some((s["id"].as_str()?, s["title"].as_str()?)));
        let known: Vec<(&str, &str)> = known.collect();
        let ours = known.iter().find(|(id, _)| *id == "evp");
        let same = |(id, title): &&(&str, &str)| {
            id.starts_with("openssl") && ours.is_some_and(|(_, ours)| ours.ends_with(title))
        };
        let stock = known.iter().find(same).copied();
        stock.ok_or_else(|| self.wrong("has not measured the OpenSSL of the subject 'evp'"))
    }

    pub fn wrong(&self, why: &str) -> Error {
        Error::failure(format!("{}: {why}", self.file.display()))
    }

    /// None if the run has not measured it.
    pub fn find(&self, cell: Cell, bytes: usize, subject: &str) -> Option<&Row> {
        let wanted = |row: &&Row| {
            let what = &row.what;
            (what.way.as_str(), what.key_bits) == (cell.way, cell.key_bits)
                && (what.threads, &*what.kind, &*what.environment)
                    == (1, "throughput", cell.environment)
                && (row.bytes, row.subject.as_str()) == (bytes, subject)
        };
        self.rows.iter().find(wanted)
    }

    pub fn row(&self, cell: Cell, bytes: usize, subject: &str) -> Result<&Row> {
        let Cell { way, key_bits, .. } = cell;
        let missing = || format!("has no row of aes-{key_bits} {way}, {bytes} bytes, {subject}");
        let row = self.find(cell, bytes, subject);
        row.ok_or_else(|| self.wrong(&missing()))
    }

    /// A row's fraction of the limit.
    pub fn fraction(&self, row: &Row) -> Result<f64> {
        let fraction = row.fraction.map(|f| f.limit_fraction);
        fraction.ok_or_else(|| self.wrong(&format!("has no limit for {}", row.what.way)))
    }

    /// Bytes per second through one AES round on registers of this width: "aes-xmm".
    pub fn rounds(&self, width: &str) -> Result<f64> {
        let mut limits = self.document["limits"].as_array().into_iter().flatten();
        let found = limits.find(|limit| limit["name"] == width);
        let rate = found.and_then(|limit| limit["bytes_per_second"].as_f64());
        rate.ok_or_else(|| self.wrong(&format!("has no limit '{width}'")))
    }

    pub fn about(&self) -> Result<String> {
        let disturbance = Disturbance {
            load: None,
            windows: self.count("/effort/rounds") * self.rows.len(),
            repeated: self.count("/effort/repeated"),
            doubtful: self.count("/effort/doubtful"),
        };
        let processor = format!(
            "{} (family {} model {})",
            self.text("/host/cpu/brand"),
            self.count("/host/cpu/family"),
            self.count("/host/cpu/model")
        );
        let about = About {
            processor: &processor,
            hypervisor: Some(self.text("/host/hypervisor")).filter(|name| !name.is_empty()),
            busy: disturbance.is_busy(),
            openssl: self.openssl()?.1,
            version: self.text("/version"),
            date: self.text("/date"),
        };
        Ok(about.line())
    }
}
