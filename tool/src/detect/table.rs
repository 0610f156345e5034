// SPDX-License-Identifier: BSD-2-Clause
//! Each mode with what runs it here: in tenrounds, in OpenSSL, in the kernel.

use super::code::{stock, Code};
use crate::algorithm::Direction;
use crate::bench::subject::{self, Bound, Subject};
use crate::core::{Backend, Op};
use crate::error::Result;
use crate::kernel::drivers::{selected, Driver};
use crate::openssl::probe::Served;
use crate::schema::OpenSsl;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a mode asks of the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Needs {
    /// Independent blocks: many at once.
    Parallel,
    /// The same, and a hash over them.
    Hash,
    /// Each block waits for the one before.
    Chain,
}

impl Needs {
    pub const ALL: [Needs; 3] = [Needs::Parallel, Needs::Hash, Needs::Chain];

    pub fn title(self) -> &'static str {
        match self {
            Needs::Parallel => "Independent blocks: the more at once, the faster",
            Needs::Hash => "Independent blocks, and a hash over them by carry-less multiplication",
            Needs::Chain => {
                "A chain, each block waits for the one before: wide registers do not help"
            }
        }
    }

    fn of(bound: Bound) -> Option<Needs> {
        Some(match bound {
            Bound::Throughput => Needs::Parallel,
            Bound::Hashed | Bound::HashThenThroughput => Needs::Hash,
            Bound::Latency | Bound::LatencyThenThroughput => Needs::Chain,
            Bound::Unknown => return None,
        })
    }
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub mode: &'static str,
    /// Those for which the row holds.
    pub directions: Vec<&'static str>,
    pub needs: Needs,
    /// The backend whose code does the mode; null: this build has none.
    pub backend: Option<&'static str>,
    /// What that is made of.
    pub tenrounds: Option<Code>,
    /// OpenSSL's own code; null: it does not have the mode, or cannot be asked.
    pub openssl: Option<Code>,
    /// The driver that the kernel selects; null: none.
    pub driver: Option<String>,
    /// What that is made of; null: its name does not say.
    pub kernel: Option<Code>,
}

/// The names under which OpenSSL has the modes.
pub fn names() -> Result<Vec<String>> {
    Ok(subjects()?.into_iter().map(Subject::fetched).collect())
}

/// Every mode with one key size. XTS has no 192 bits.
fn subjects() -> Result<Vec<Subject>> {
    subject::parse(&["aes-128".to_owned()])
}

/// What the rows are about.
pub struct Sides<'a> {
    pub selected: Backend,
    pub openssl: Option<&'a OpenSsl>,
    /// What the probe found, by name.
    pub served: &'a BTreeMap<String, Served>,
    pub drivers: &'a [Driver],
}

pub fn rows(sides: &Sides) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for subject in subjects()? {
        for direction in subject.directions() {
            let Some(row) = row(subject, *direction, sides) else {
                continue;
            };
            match rows.last_mut().filter(|last| same(last, &row)) {
                Some(last) => last.directions.push(direction.name()),
                None => rows.push(row),
            }
        }
    }
    Ok(rows)
}

fn row(subject: Subject, direction: Direction, sides: &Sides) -> Option<Row> {
    let needs = Needs::of(subject.bound(direction))?;
    let ops = match needs {
        // SIV's second pass is CTR; the chain bounds it.
        Needs::Chain if subject.ops(direction)[0] == "ctr" => ["cbc_encrypt", ""],
        _ => subject.ops(direction),
    };
    let ops = ops.into_iter();
    let doing = |op| sides.selected.doing_any(Op::by_name(op)?);
    let backend = ops.filter(|op| !op.is_empty()).find_map(doing);
    let backend = backend.map(Backend::name);
    let has_it = |openssl: &&OpenSsl| {
        let served = sides.served.get(&subject.fetched());
        openssl.cpu_settings.is_some() && served.is_some_and(|served| served.by_default)
    };
    let stock = sides.openssl.filter(has_it).map(|openssl| {
        let version = version(&openssl.version);
        stock(subject.mode(), direction, version, &openssl.sees)
    });
    let driver = selected(sides.drivers, &format!("{}(aes)", subject.mode()));
    Some(Row {
        mode: subject.mode(),
        directions: vec![direction.name()],
        needs,
        backend,
        tenrounds: backend.map(Code::of_backend),
        openssl: stock,
        driver: driver.map(|driver| driver.driver.clone()),
        kernel: driver.and_then(Code::of_driver),
    })
}

/// Whether two directions of a mode need no rows of their own.
fn same(a: &Row, b: &Row) -> bool {
    let facts = |row: &Row| (row.mode, row.needs, row.tenrounds, row.openssl, row.kernel);
    facts(a) == facts(b)
}

/// (3, 0) of "OpenSSL 3.0.13 30 Jan 2024".
fn version(text: &str) -> (u32, u32) {
    let number = text.split(' ').nth(1).unwrap_or_default();
    let mut parts = number.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(version("OpenSSL 3.0.13 30 Jan 2024"), (3, 0));
        assert_eq!(version("OpenSSL 4.1.0-dev "), (4, 1));
        assert_eq!(version("strange"), (0, 0));
    }

    #[test]
    fn every_mode_has_a_row_and_chains_are_apart() {
        let sides = Sides {
            selected: Backend::by_name("vaes512").unwrap_or(Backend::all()[0]),
            openssl: None,
            served: &BTreeMap::new(),
            drivers: &[],
        };
        let rows = rows(&sides).unwrap();
        let needs = |mode: &str, direction: &str| {
            let mut of_mode = rows.iter().filter(|row| row.mode == mode);
            of_mode
                .find(|row| row.directions.contains(&direction))
                .map(|row| row.needs)
        };
        assert_eq!(needs("ctr", "encrypt"), Some(Needs::Parallel));
        assert_eq!(needs("cbc", "encrypt"), Some(Needs::Chain));
        assert_eq!(needs("cbc", "decrypt"), Some(Needs::Parallel));
        assert_eq!(needs("gcm", "decrypt"), Some(Needs::Hash));
        assert_eq!(needs("cmac", "encrypt"), Some(Needs::Chain));
        assert!(rows.iter().all(|row| row.backend.is_some()), "{rows:?}");
        let xts: Vec<_> = rows.iter().filter(|row| row.mode == "xts").collect();
        assert_eq!(xts.len(), 1, "both directions in one row");
    }
}
