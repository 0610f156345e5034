// SPDX-License-Identifier: BSD-2-Clause
//! What `compare` found.

use super::figure::Figure;
use super::measure::Effort;
use crate::core::Backend;
use crate::schema::Host;
use ::measure::busy::{Disturbance, Load};
use ::measure::limit::Limit;
use ::measure::stats::Summary;
use std::time::Duration;

/// Everything that a comparison found.
pub struct Comparison {
    pub host: Host,
    pub figures: Vec<Figure>,
    /// RC4 and ChaCha20-Poly1305 of OpenSSL.
    pub references: Vec<Figure>,
    pub limits: Vec<(Limit, Summary)>,
    pub widest: Option<Limit>,
    pub backend: Option<Backend>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    pub effort: Effort,
    pub took: Duration,
    pub load: Option<Load>,
}

impl Comparison {
    pub fn openssl_version(&self) -> &str {
        self.host
            .openssl
            .as_ref()
            .map_or("OpenSSL", |o| o.version.as_str())
    }

    /// All figures; those of the reference ciphers come last.
    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().chain(&self.references)
    }

    pub fn disturbance(&self) -> Disturbance {
        Disturbance::of(self.load, self.all().map(|f| f.rounds.disturbance()))
    }

    /// "40", or "12 to 40" where a busy machine left no time for all.
    pub fn rounds(&self) -> String {
        let rounds = self.all().flat_map(|f| f.rounds.rates.values());
        let fewest = rounds.map(Vec::len).min();
        match fewest.filter(|fewest| *fewest < self.effort.rounds) {
            Some(fewest) => format!("{fewest} to {}", self.effort.rounds),
            None => self.effort.rounds.to_string(),
        }
    }
}
