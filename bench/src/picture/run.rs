// SPDX-License-Identifier: BSD-2-Clause
//! A published run as the source of a picture.

use crate::grid::{Cell, Kind};
use crate::overview;
use crate::plan::Environment;
use crate::published;
use crate::results::{way, Row};
use drawing::About;
use measure::busy::Disturbance;
use std::path::PathBuf;
use terminal::error::{Error, Result};

/// A published run.
pub struct Run {
    pub file: PathBuf,
    pub run: published::Run,
}

/// What a row was measured for: a way with a key size, "plain" or "software".
#[derive(Clone, Copy)]
pub struct Of<'a> {
    pub way: &'a str,
    pub key_bits: u16,
    pub environment: Environment,
}

pub fn read(file: PathBuf) -> Result<Run> {
    let run = overview::read(&file)?;
    Ok(Run { file, run })
}

impl Run {
    /// The id and title of stock OpenSSL: the version in which tenrounds was measured, too.
    pub fn openssl(&self) -> Result<(&str, &str)> {
        let known = || {
            let subjects = self.run.results.subjects.iter();
            subjects.map(|(_, subject)| (&*subject.id, &*subject.title))
        };
        let ours = known().find(|(id, _)| *id == "evp");
        let same = |(id, title): &(&str, &str)| {
            id.starts_with("openssl") && ours.is_some_and(|(_, ours)| ours.ends_with(title))
        };
        let stock = known().find(same);
        stock.ok_or_else(|| self.wrong("has not measured the OpenSSL of the subject 'evp'"))
    }

    pub fn wrong(&self, why: &str) -> Error {
        Error::failure(format!("{}: {why}", self.file.display()))
    }

    /// None if the run has not measured it.
    pub fn find(&self, of: Of, bytes: usize, subject: &str) -> Option<&Row> {
        let cell = Cell {
            spec: way(of.way)?.spec(of.key_bits),
            bytes,
            kind: Kind::Throughput,
            threads: 1,
        };
        self.run.results.row(of.environment, cell, subject)
    }

    pub fn row(&self, of: Of, bytes: usize, subject: &str) -> Result<&Row> {
        let Of { way, key_bits, .. } = of;
        let missing = || format!("has no row of aes-{key_bits} {way}, {bytes} bytes, {subject}");
        let row = self.find(of, bytes, subject);
        row.ok_or_else(|| self.wrong(&missing()))
    }

    /// A row's fraction of the limit.
    pub fn fraction(&self, of: Of, row: &Row) -> Result<f64> {
        let fraction = row.limit.map(|limit| limit.median);
        fraction.ok_or_else(|| self.wrong(&format!("has no limit for {}", of.way)))
    }

    /// Bytes per second through one AES round on registers of this width: "aes-xmm".
    pub fn rounds(&self, width: &str) -> Result<f64> {
        let found = self.run.limits.iter().find(|limit| limit.name == width);
        let rate = found.map(|limit| limit.bytes_per_second);
        rate.ok_or_else(|| self.wrong(&format!("has no limit '{width}'")))
    }

    pub fn about(&self) -> Result<String> {
        let published::Run { host, effort, .. } = &self.run;
        let disturbance = Disturbance {
            load: None,
            windows: effort.rounds * self.run.results.rows.len(),
            repeated: effort.repeated,
            doubtful: effort.doubtful,
        };
        let cpu = &host.cpu;
        let processor = format!(
            "{} (family {} model {})",
            cpu.brand, cpu.family, cpu.model
        );
        let about = About {
            processor: &processor,
            hypervisor: host.hypervisor.as_deref(),
            busy: disturbance.is_busy(),
            openssl: self.openssl()?.1,
            version: &self.run.version,
            date: &self.run.date,
        };
        Ok(about.line())
    }
}
