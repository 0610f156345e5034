// SPDX-License-Identifier: BSD-2-Clause
//! Each mode with what runs it here: in tenrounds, in OpenSSL, in the kernel.

use super::code::{stock, Code};
use crate::openssl::probe::Served;
use base::kernel::drivers::{selected, Driver};
use catalogue::{Cipher, Direction, Mode, Needs};
use machine::schema::OpenSsl;
use serde::Serialize;
use std::collections::BTreeMap;
use tenrounds_sys::Backend;

/// The groups of the table.
pub const GROUPS: [(Needs, &str); 4] = [
    (
        Needs::Aes,
        "Independent blocks: the more at once, the faster",
    ),
    (
        Needs::AesAndClmul,
        "Independent blocks, and a hash over them by carry-less multiplication",
    ),
    (
        Needs::OneChain,
        "A chain, each block waits for the one before: wide registers do not help",
    ),
    (
        Needs::OneBlock,
        "A chain of calls for one block each: the rest of a wide register is empty",
    ),
];

#[derive(Debug, Serialize)]
pub struct Row {
    pub mode: &'static str,
    /// Those for which the row holds.
    pub directions: Vec<&'static str>,
    /// "parallel", "hash", "chain" or "block".
    #[serde(serialize_with = "as_word")]
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
    /// As the text has it.
    #[serde(skip)]
    pub title: &'static str,
    /// Not only `--verbose` shows it.
    #[serde(skip)]
    pub usual: bool,
}

fn as_word<S: serde::Serializer>(needs: &Needs, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match needs {
        Needs::Aes => "parallel",
        Needs::AesAndClmul => "hash",
        Needs::OneChain => "chain",
        Needs::OneBlock => "block",
    })
}

/// The names under which OpenSSL has the modes.
pub fn names() -> Vec<String> {
    ciphers().map(name).collect()
}

/// Every mode with one key size, which all have.
fn ciphers() -> impl Iterator<Item = Cipher> {
    Mode::aes().filter_map(|mode| Cipher::new(mode, 128))
}

/// The first of the provider's names, which are OpenSSL's own.
fn name(cipher: Cipher) -> String {
    let names = cipher.row().hosts.provider.first();
    let name = names.and_then(|names| names.first());
    name.map_or(cipher.fetched(), |name| name.replace("{}", "128"))
}

/// What the rows are about.
pub struct Sides<'a> {
    pub selected: Backend,
    pub openssl: Option<&'a OpenSsl>,
    /// What the probe found, by name.
    pub served: &'a BTreeMap<String, Served>,
    pub drivers: &'a [Driver],
}

pub fn rows(sides: &Sides) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for cipher in ciphers() {
        for direction in cipher.directions() {
            let row = row(cipher, *direction, sides);
            match rows.last_mut().filter(|last| same(last, &row)) {
                Some(last) => last.directions.push(direction.name()),
                None => rows.push(row),
            }
        }
    }
    rows
}

fn row(cipher: Cipher, direction: Direction, sides: &Sides) -> Row {
    let mode = cipher.row();
    let backend = sides.selected.doing_mode(cipher.mode(), direction);
    let backend = backend.map(Backend::name);
    let has_it = |openssl: &&OpenSsl| {
        let served = sides.served.get(&name(cipher));
        openssl.cpu_settings.is_some() && served.is_some_and(|served| served.by_default)
    };
    let stock = sides.openssl.filter(has_it).map(|openssl| {
        let version = version(&openssl.version);
        stock(cipher.mode(), direction, version, &openssl.sees)
    });
    let driver = mode.hosts.kernel;
    let driver = driver.and_then(|algorithm| selected(sides.drivers, algorithm));
    Row {
        mode: mode.name,
        title: mode.title,
        usual: mode.measured,
        directions: vec![direction.name()],
        needs: mode.needs[direction as usize],
        backend,
        tenrounds: backend.map(Code::of_backend),
        openssl: stock,
        driver: driver.map(|driver| driver.driver.clone()),
        kernel: driver.and_then(Code::of_driver),
    }
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
        let rows = rows(&sides);
        let needs = |mode: &str, direction: &str| {
            let mut of_mode = rows.iter().filter(|row| row.mode == mode);
            of_mode
                .find(|row| row.directions.contains(&direction))
                .map(|row| row.needs)
        };
        assert_eq!(needs("ctr", "encrypt"), Some(Needs::Aes));
        assert_eq!(needs("cbc", "encrypt"), Some(Needs::OneChain));
        assert_eq!(needs("cbc", "decrypt"), Some(Needs::Aes));
        assert_eq!(needs("gcm", "decrypt"), Some(Needs::AesAndClmul));
        assert_eq!(needs("cmac", "encrypt"), Some(Needs::OneChain));
        assert_eq!(needs("cfb8", "encrypt"), Some(Needs::OneBlock));
        assert!(rows.iter().all(|row| row.backend.is_some()), "{rows:?}");
        let xts: Vec<_> = rows.iter().filter(|row| row.mode == "xts").collect();
        assert_eq!(xts.len(), 1, "both directions in one row");
    }
}
