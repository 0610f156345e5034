// SPDX-License-Identifier: BSD-2-Clause
//! What `enable`, `disable` and `status` say.

use super::fleet::Fleet;
use super::site::{Outcome, Site};
use crate::detect::{self, Detect};
use crate::force::{Force, InForce};
use crate::openssl::programs::PassedOver;
use crate::openssl::trial::Verdict;
use base::root::Root;
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Document;
use serde::Serialize;
use std::path::{Path, PathBuf};
use terminal::error::Result;
use terminal::output;
use terminal::style::{item, paint, BAD, BOLD, DIM, GOOD, WARN};

const MORE: &str =
    "--verbose adds other modes, instructions, masks, backends, kernel drivers, settings";
/// OpenSSL reads its configuration once, when a program starts.
const RESTART: &str = "programs that run already continue without tenrounds until they are restarted; `sudo tenrounds doctor --verbose` lists them";

#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// Of `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_force: Option<InForce>,
    /// What the verdict rests on.
    #[serde(skip)]
    pub force: Option<Force>,
    /// Of `status`: what each mode runs on here, an object of its own in JSON.
    #[serde(skip)]
    detect: Option<Detect>,
    /// The same as text: a sentence, and a table.
    #[serde(skip)]
    runs_on: String,
    #[serde(skip)]
    table: String,
    /// Of `enable`: nothing was written.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    pub sites: Vec<Site>,
    pub passed_over: Vec<PassedOver>,
    /// The line for the shell.
    pub export: Option<String>,
    /// Of `status`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<Fleet>,
    pub notes: Vec<String>,
    pub seconds: f64,
}

impl Report {
    pub fn new(dry_run: bool) -> Report {
        Report {
            dry_run,
            ..Report::default()
        }
    }

    /// Looks at what each mode runs on. Says what it warns of, but for a libcrypto that cannot be
    /// loaded, which is an error of the command.
    pub fn detect(&mut self, root: &Root, verbose: bool) -> Result<()> {
        let (host, detect) = detect::look(root);
        let detect = detect?;
        let error = LibCrypto::open().err().map(|error| error.to_string());
        let warnings = detect.warnings.iter();
        warnings
            .filter(|warning| Some(*warning) != error.as_ref())
            .for_each(output::complain);
        let verdict = detect.verdict.iter();
        self.runs_on = verdict.map(|line| item("", line)).collect();
        let table = detect::table(&host, &detect, verbose);
        let more = match verbose {
            true => detect::details(&host, &detect),
            false => item("", paint(DIM, MORE)),
        };
        self.table = format!("\n{table}\n{more}");
        self.detect = Some(detect);
        Ok(())
    }

    /// Adds a site. Notes a provider of another version than this tool's.
    pub fn add(&mut self, site: Site) {
        let tool = env!("CARGO_PKG_VERSION");
        if let (Some(version), Some(module)) = (&site.provider_version, &site.module) {
            let note = format!(
                "{} is version {version}, and this tool is {tool}: install both from one build, then 'tenrounds enable' again",
                module.display()
            );
            if version != tool && !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.sites.push(site);
    }

    /// Notes an OPENSSL_CONF of this shell that overrides what `enable` did. One that names `ours`
    /// does what it should.
    pub fn note_variable(&mut self, ours: Option<&Path>) {
        let named = std::env::var_os("OPENSSL_CONF").map(PathBuf::from);
        if let Some(named) = named.filter(|named| Some(named.as_path()) != ours) {
            self.notes.push(format!(
                "OPENSSL_CONF of this shell names '{}': programs started from here read that file instead",
                named.display()
            ));
        }
    }

    /// Whether a site makes the command fail.
    pub fn is_bad(&self) -> bool {
        self.sites.iter().any(|site| site.outcome.is_bad())
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
        if let Some(detect) = &self.detect {
            let value = serde_json::to_value(detect).expect("plain data");
            body.insert("detect".to_owned(), value);
        }
        Document::new(command, host, Vec::new(), body).to_json()
    }

    fn text(&self, command: &'static str) -> String {
        let mut text = self.verdict();
        text += &self.runs_on;
        let told = self.sites.iter().position(|site| site.outcome.is_bad());
        for (i, site) in self.sites.iter().enumerate() {
            // The error gives this site's reason.
            let reason = site.reason.as_ref().filter(|_| told != Some(i));
            text += &show_site(site, reason);
        }
        if self.sites.is_empty() {
            text += match command {
                "disable" => "Nothing was enabled.\n",
                _ => "No OpenSSL 3 or later was found.\n",
            };
        }
        for over in &self.passed_over {
            let line = format!("{} {}", over.path.display(), over.reason);
            text += &item("", paint(DIM, line));
        }
        let is_new = |site: &Site| site.scope == "system" && site.outcome == Outcome::Enabled;
        let restart =
            (command == "enable" && self.sites.iter().any(is_new)).then(|| RESTART.to_owned());
        for note in restart.iter().chain(&self.notes) {
            text += &item(&paint(WARN, "Note: "), note);
        }
        text += &self.table;
        if command == "enable" && !self.is_bad() {
            text += &self.how_to_use();
            text += &format!("{}\n", paint(DIM, format!("{:.2} s", self.seconds)));
        }
        text
    }

    /// The first line: of `status` whether tenrounds is in force, of a dry run that it was one.
    fn verdict(&self) -> String {
        if self.dry_run {
            let changes = self.sites.iter().flat_map(|site| &site.changes);
            let would = match changes.count() {
                0 => "no file would change".to_owned(),
                1 => "this file would be written".to_owned(),
                n => format!("these {n} files would be written"),
            };
            return item(
                "",
                paint(BOLD, format!("Dry run, nothing was changed; {would}:")),
            );
        }
        let Some(force) = &self.force else {
            return String::new();
        };
        let in_force = force.verdict();
        let style = match in_force {
            InForce::Yes => GOOD,
            InForce::Partly => WARN,
            InForce::No => BOLD,
        };
        let broken = force
            .problem()
            .map(|_| "`tenrounds doctor` says how to correct it".to_owned());
        let step = force.step().or(broken).map(|step| format!(" {step}."));
        let verdict = paint(style, in_force.phrase());
        let why = force.why();
        item("", format!("{verdict}: {why}.{}", step.unwrap_or_default()))
    }

    /// What the user of a shell does with a configuration of their own.
    fn how_to_use(&self) -> String {
        let Some(export) = &self.export else {
            return String::new();
        };
        let enables = match self.dry_run {
            true => "would enable",
            false => "enables",
        };
        let line = format!("This line {enables} it in a shell. Add it to your profile:");
        item("", line) + &format!("  {export}\n")
    }
}

fn word(site: &Site) -> String {
    match site.outcome {
        Outcome::Enabled => paint(GOOD, "enabled"),
        Outcome::AlreadyEnabled => paint(GOOD, "enabled already"),
        Outcome::WouldEnable => paint(GOOD, "would be enabled"),
        Outcome::Disabled => paint(GOOD, "disabled"),
        Outcome::NotEnabled => "not enabled".to_owned(),
        Outcome::Refused => paint(BAD, "left as it is"),
        Outcome::Broken => paint(BAD, "enabled, and does not work"),
        Outcome::Damaged => paint(BAD, "changed by hand"),
        Outcome::HalfDone => paint(WARN, "interrupted"),
    }
}

fn show_site(site: &Site, reason: Option<&String>) -> String {
    let name = paint(BOLD, site.configuration.display());
    let mut all = item("", format!("{name}: {} ({})", word(site), site.scope));
    let mut line = |head: &str, text: String| all += &item(&format!("  {head:<10} "), text);
    for program in &site.openssl {
        line(
            "read by",
            format!("{}, {}", program.path.display(), program.version),
        );
    }
    if let Some(reason) = reason {
        let head = match site.outcome {
            Outcome::Enabled => "note",
            _ => "because",
        };
        line(head, reason.clone());
    }
    if let Some(own) = &site.own_file {
        line("enabled by", own.display().to_string());
    }
    if let Some(module) = &site.module {
        let version = site.provider_version.as_deref().unwrap_or("unknown");
        match site.scope {
            "java" => line("module", module.display().to_string()),
            _ => line(
                "provider",
                format!("{}, version {version}", module.display()),
            ),
        }
    }
    for check in &site.checks {
        let verdict = match check.verdict {
            Verdict::Passed => paint(GOOD, "ok"),
            Verdict::Failed => paint(BAD, "FAILED"),
        };
        line(check.name, format!("{verdict}: {}", check.saw));
    }
    let changes = site.changes.iter().map(|change| change.text());
    all + &changes.collect::<String>()
}
