// SPDX-License-Identifier: BSD-2-Clause
//! What `enable`, `disable` and `status` say.

use super::find::Program;
use super::running::Running;
use super::trial::{Check, Trial, Verdict};
use crate::error::Result;
use crate::host;
use crate::libcrypto::LibCrypto;
use crate::masks::{IA32CAP, TENROUNDS_MASK};
use crate::output;
use crate::provider;
use crate::schema::Document;
use crate::style::{paint, BAD, BOLD, DIM, GOOD, WARN};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    Enabled,
    AlreadyEnabled,
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
    /// Whether this outcome makes the command fail.
    pub fn is_bad(self) -> bool {
        matches!(self, Outcome::Refused | Outcome::Broken | Outcome::Damaged)
    }
}

/// One configuration file.
#[derive(Debug, Serialize)]
pub struct Site {
    /// "system" or "user".
    pub scope: &'static str,
    /// As OpenSSL calls it.
    pub configuration: PathBuf,
    /// The same with all symbolic links followed.
    pub file: Option<PathBuf>,
    /// The programs that read it.
    pub openssl: Vec<Program>,
    pub outcome: Outcome,
    pub reason: Option<String>,
    /// Our own file.
    pub own_file: Option<PathBuf>,
    pub backup: Option<PathBuf>,
    pub module: Option<PathBuf>,
    pub provider_version: Option<String>,
    pub checks: Vec<Check>,
}

impl Site {
    pub fn new(scope: &'static str, configuration: PathBuf, openssl: Vec<Program>) -> Site {
        Site {
            scope,
            configuration,
            file: None,
            openssl,
            outcome: Outcome::NotEnabled,
            reason: None,
            own_file: None,
            backup: None,
            module: None,
            provider_version: None,
            checks: Vec::new(),
        }
    }

    /// Marks the site as enabled but not working. If its module is damaged, that is the reason, not
    /// `problem`.
    pub fn broken(&mut self, problem: &str) {
        let damage = self.module.as_deref().and_then(provider::damage);
        let undo = match self.scope {
            "system" => "tenrounds disable --system",
            _ => "tenrounds disable",
        };
        self.outcome = Outcome::Broken;
        self.reason = Some(format!(
            "{}; to disable tenrounds: {undo}",
            damage.as_deref().unwrap_or(problem)
        ));
    }

    pub fn tried(&mut self, trial: Trial) {
        self.provider_version = trial.provider_version;
        self.checks = trial.checks;
    }
}

/// An `openssl` that does not count.
#[derive(Debug, Serialize)]
pub struct PassedOver {
    pub path: PathBuf,
    pub reason: String,
}

/// A variable of this environment that has a say.
#[derive(Debug, Serialize)]
pub struct Override {
    pub variable: &'static str,
    pub value: String,
    pub effect: &'static str,
}

#[derive(Debug, Default, Serialize)]
pub struct Report {
    pub sites: Vec<Site>,
    pub passed_over: Vec<PassedOver>,
    pub overrides: Vec<Override>,
    /// The line for the shell.
    pub export: Option<String>,
    /// The profile that has it.
    pub profile: Option<PathBuf>,
    /// The services that run without tenrounds until restarted; null if the command did not look
    /// for them.
    pub running: Option<Running>,
    pub notes: Vec<String>,
    pub seconds: f64,
}

impl Report {
    pub fn passed_over(&mut self, found: Vec<(PathBuf, String)>) {
        let over = found.into_iter();
        self.passed_over
            .extend(over.map(|(path, reason)| PassedOver { path, reason }));
    }

    /// A provider of another version than this tool's.
    pub fn note_version(&mut self, version: Option<&str>, module: Option<&std::path::Path>) {
        let tool = env!("CARGO_PKG_VERSION");
        let Some(version) = version.filter(|version| *version != tool) else {
            return;
        };
        let module = module.map_or("the provider".to_owned(), |m| m.display().to_string());
        let note = format!(
            "{module} is version {version}, and this tool is {tool}: install both from one build, then 'tenrounds enable' again"
        );
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The variables that have a say. One that leads to `ours` does what it should.
    pub fn note_overrides(&mut self, ours: Option<&std::path::Path>) {
        let known: [(&'static str, &'static str); 4] = [
            (
                "OPENSSL_CONF",
                "programs started from here read this file instead",
            ),
            (
                "OPENSSL_CONF_INCLUDE",
                "relative names of included files are looked for there",
            ),
            (
                TENROUNDS_MASK,
                "tenrounds does without these features in programs started from here",
            ),
            (
                IA32CAP,
                "OpenSSL and tenrounds see this processor instead in programs started from here",
            ),
        ];
        for (variable, effect) in known {
            let Some(value) = std::env::var_os(variable) else {
                continue;
            };
            if variable == "OPENSSL_CONF" && ours.is_some_and(|ours| ours.as_os_str() == value) {
                continue;
            }
            self.overrides.push(Override {
                variable,
                value: value.to_string_lossy().into_owned(),
                effect,
            });
        }
    }

    pub fn show(&self, command: &'static str, json: bool) -> Result<()> {
        output::out(match json {
            true => self.json(command),
            false => self.text(command),
        })
    }

    fn json(&self, command: &'static str) -> String {
        let libcrypto = LibCrypto::open().ok();
        let host = host::read(libcrypto.as_ref());
        let mut body = serde_json::Map::new();
        let value = serde_json::to_value(self).expect("plain data");
        body.insert(command.to_owned(), value);
        Document::new(command, host, Vec::new(), body).to_json()
    }

    fn text(&self, command: &'static str) -> String {
        let mut text = String::new();
        let told = self.sites.iter().position(|site| site.outcome.is_bad());
        for (i, site) in self.sites.iter().enumerate() {
            // The error gives this site's reason.
            let reason = site.reason.as_ref().filter(|_| told != Some(i));
            text += &show_site(site, reason, command);
        }
        if self.sites.is_empty() {
            text += "No OpenSSL 3 or later was found.\n";
        }
        for over in &self.passed_over {
            let line = format!("{} {}", over.path.display(), over.reason);
            text += &format!("{}\n", paint(DIM, line));
        }
        for one in &self.overrides {
            let head = paint(WARN, format!("{}={}", one.variable, one.value));
            text += &format!("{head}: {}\n", one.effect);
        }
        if let Some(note) = self.running.as_ref().and_then(Running::text) {
            text += &format!("{} {note}\n", paint(WARN, "Note:"));
        }
        for note in &self.notes {
            text += &format!("{} {note}\n", paint(WARN, "Note:"));
        }
        match (&self.export, &self.profile) {
            (Some(_), Some(profile)) => {
                text += &format!(
                    "{} enables it in new shells. For this shell: . {}\n",
                    profile.display(),
                    profile.display()
                );
            }
            (Some(export), None) if command == "enable" => {
                text += &format!(
                    "This line enables it in a shell. Add it to your profile, or run 'tenrounds enable --profile':\n  {export}\n"
                );
            }
            _ => {}
        }
        if command == "enable" {
            text += &format!("{}\n", paint(DIM, format!("{:.2} s", self.seconds)));
        }
        text
    }
}

fn word(site: &Site) -> String {
    match site.outcome {
        Outcome::Enabled => paint(GOOD, "enabled"),
        Outcome::AlreadyEnabled => paint(GOOD, "enabled already"),
        Outcome::Disabled => paint(GOOD, "disabled"),
        Outcome::NotEnabled => "not enabled".to_owned(),
        Outcome::Refused => paint(BAD, "left as it is"),
        Outcome::Broken => paint(BAD, "enabled, and does not work"),
        Outcome::Damaged => paint(BAD, "changed by hand"),
        Outcome::HalfDone => paint(WARN, "interrupted"),
    }
}

fn show_site(site: &Site, reason: Option<&String>, command: &str) -> String {
    let name = paint(BOLD, site.configuration.display());
    let mut all = format!("{name}: {} ({})\n", word(site), site.scope);
    let mut line = |head: &str, text: String| all += &format!("  {head:<10} {text}\n");
    if let Some(file) = site
        .file
        .as_ref()
        .filter(|file| **file != site.configuration)
    {
        line("is", file.display().to_string());
    }
    for program in &site.openssl {
        line(
            "read by",
            format!("{}, {}", program.path.display(), program.version),
        );
    }
    if let Some(reason) = reason {
        line("because", reason.clone());
    }
    if let Some(own) = &site.own_file {
        line("by", own.display().to_string());
    }
    if let Some(module) = &site.module {
        let version = site.provider_version.as_deref().unwrap_or("unknown");
        line(
            "provider",
            format!("{}, version {version}", module.display()),
        );
    }
    if let Some(backup) = site.backup.as_ref().filter(|_| command != "disable") {
        line("as it was", backup.display().to_string());
    }
    for check in &site.checks {
        let verdict = match check.verdict {
            Verdict::Passed => paint(GOOD, "ok"),
            Verdict::Failed => paint(BAD, "FAILED"),
            Verdict::Impossible => paint(WARN, "not possible here"),
        };
        line(check.name, format!("{verdict}: {}", check.saw));
    }
    all
}
