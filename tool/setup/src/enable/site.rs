// SPDX-License-Identifier: BSD-2-Clause
//! One configuration file, and what became of it.

use super::change::Diff;
use crate::openssl::programs::Program;
use crate::openssl::trial::{Check, Trial};
use base::paths::shown;

use serde::Serialize;
use std::path::PathBuf;
use terminal::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Enabled,
    AlreadyEnabled,
    /// A dry run found nothing against it.
    WouldEnable,
    Disabled,
    NotEnabled,
    /// It stays as it was, because of the reason.
    Refused,
    /// Enabled, and does not work.
    Broken,
    /// Somebody changed what `enable` wrote.
    Damaged,
    /// An `enable` or `disable` was interrupted; what is in force works.
    HalfDone,
}

impl Outcome {
    /// Those that make the command fail.
    pub const BAD: [Outcome; 3] = [Outcome::Refused, Outcome::Broken, Outcome::Damaged];

    pub fn is_bad(self) -> bool {
        Outcome::BAD.contains(&self)
    }
}

/// One configuration file.
#[derive(Debug, Serialize)]
pub struct Site {
    /// "system", "user", or "java" for a JDK.
    pub scope: &'static str,
    /// The options of the command line that lead to it, after a blank.
    #[serde(skip)]
    options: String,
    /// As OpenSSL calls it.
    #[serde(serialize_with = "shown")]
    pub configuration: PathBuf,
    /// The programs that read it.
    pub openssl: Vec<Program>,
    pub outcome: Outcome,
    pub reason: Option<String>,
    /// Our own file.
    #[serde(serialize_with = "shown")]
    pub own_file: Option<PathBuf>,
    #[serde(serialize_with = "shown")]
    pub module: Option<PathBuf>,
    pub provider_version: Option<String>,
    pub checks: Vec<Check>,
    /// Of a dry run: what would be written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Diff>,
}

impl Site {
    pub fn new(
        scope: &'static str,
        options: String,
        configuration: PathBuf,
        openssl: Vec<Program>,
    ) -> Site {
        Site {
            scope,
            options,
            configuration,
            openssl,
            outcome: Outcome::NotEnabled,
            reason: None,
            own_file: None,
            module: None,
            provider_version: None,
            checks: Vec::new(),
            changes: Vec::new(),
        }
    }

    /// Marks the site as enabled but not working. If its provider is damaged, that is the reason,
    /// not `problem`.
    pub fn broken(&mut self, problem: &str) {
        let is_provider = ["system", "user"].contains(&self.scope);
        let module = self.module.as_deref().filter(|_| is_provider);
        let damage = module.and_then(libcrypto::module::damage);
        let problem = damage.as_deref().unwrap_or(problem);
        let options = &self.options;
        self.outcome = Outcome::Broken;
        self.reason = Some(format!(
            "{problem}; to disable tenrounds: tenrounds disable{options}"
        ));
    }

    /// Marks the site as left as it is.
    pub fn refuse(&mut self, error: &Error) {
        self.outcome = Outcome::Refused;
        self.reason = Some(error.to_string());
    }

    pub fn tried(&mut self, trial: Trial) {
        self.provider_version = trial.provider_version;
        self.checks = trial.checks;
    }
}
