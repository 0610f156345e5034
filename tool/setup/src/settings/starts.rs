// SPDX-License-Identifier: BSD-2-Clause
//! Checks that OpenSSL starts with each configuration. Runs `openssl` in child processes, as
//! `enable` does, because parsing the file does not show everything that OpenSSL refuses.

use super::config::{Effect, Source};
use super::module;
use crate::openssl::cnf::plain_name;
use crate::openssl::configuration::OWN;
use crate::openssl::programs::{Program, Site};
use crate::openssl::trial;
use base::finding::{Finding, Group};
use base::root::Root;
use base::trust::{is_root, Loose, Trusted};
use std::path::{Path, PathBuf};

const GROUP: Group = Group::Configuration;
/// The maximum number of OpenSSL's errors that a finding shows.
const SHOWN: usize = 6;

/// A configuration, and the programs that read it.
struct Trial<'a> {
    source: &'a Source<'a>,
    /// The value of OPENSSL_CONF for the programs; None if they read this file by default.
    conf: Option<PathBuf>,
    programs: &'a [Program],
    effect: &'a Effect,
}

/// `sites` are those of the inventory, each with its programs.
pub fn check(root: &Root, sites: &[Site], sources: &[Source], effects: &[Effect]) -> Vec<Finding> {
    let own = sources.iter().zip(effects);
    let own = own.filter(|(source, _)| source.in_this_root());
    let (by_variable, by_file): (Vec<_>, Vec<_>) = own.partition(|(source, _)| source.by_variable);
    let mut trials = Vec::new();
    for site in sites {
        let identity = Root::machine().identity(&site.conf);
        let is_it = |source: &Source| identity.is_some() && root.identity(&source.file) == identity;
        if let Some((source, effect)) = by_file.iter().find(|(source, _)| is_it(source)) {
            trials.push(Trial {
                source,
                conf: (!root.is_machine()).then(|| site.conf.clone()),
                programs: &site.programs,
                effect,
            });
        }
    }
    for (source, effect) in by_variable {
        let site = sites.first().filter(|_| root.exists(&source.file));
        trials.extend(site.map(|site| Trial {
            source,
            conf: Some(root.path(&source.file)),
            programs: &site.programs,
            effect,
        }));
    }
    trials.iter().filter_map(Trial::run).collect()
}

/// The part of a configuration that another user can replace: a file of the configuration, a
/// provider's module or an engine. Root does not try such a configuration. None if there is no such
/// part, and always None if this process is not root.
pub fn refused_to_root(source: &Source, effect: &Effect) -> Option<Loose> {
    if !is_root() {
        return None;
    }
    let root = source.view;
    let mut files = effect.files(source);
    for line in &effect.cnf.assignments {
        match plain_name(&line.name) {
            "module" => files.extend(module::locate(root, &line.value, source.install)),
            "dynamic_path" => files.push(PathBuf::from(&line.value)),
            _ => {}
        }
    }
    // Without a line "module", a provider's module has its name.
    let named = effect.activates.iter();
    files.extend(named.filter_map(|(name, _)| module::locate(root, name, source.install)));
    files.sort();
    files.dedup();
    let trusted = Trusted::root_and(root.top(), 0);
    // A file that does not exist is not loaded.
    let loose = |file: &PathBuf| trusted.loose(&root.path(file)).ok()?.into_iter().next();
    files.iter().find_map(loose)
}

impl Trial<'_> {
    fn run(&self) -> Option<Finding> {
        if let Some(loose) = refused_to_root(self.source, self.effect) {
            let says = format!(
                "{} was not tried: root does not run what other users can replace",
                self.source.file.display()
            );
            let seen = Finding::note(GROUP, "not-tried", says);
            return Some(seen.seen(loose.part.display(), loose.why));
        }
        self.programs
            .iter()
            .find_map(|program| match trial::starts(&program.path, self.conf()) {
                Err(said) => Some(self.broken(&program.path, &said)),
                Ok(()) => self.not_loaded(&program.path),
            })
    }

    fn conf(&self) -> Option<&Path> {
        self.conf.as_deref()
    }

    fn broken(&self, program: &Path, said: &[String]) -> Finding {
        let file = self.source.file.display();
        let says = format!("OpenSSL does not start with {file}: programs that use it fail");
        let by = format!("{} {}", program.display(), trial::STARTED);
        let finding = Finding::problem(GROUP, "openssl-broken", says);
        let said = said.iter().take(SHOWN);
        let finding = said.fold(finding, |finding, line| finding.seen(&by, line));
        self.disable(finding.cure(
            "shell",
            "OPENSSL_CONF=/dev/null openssl list -providers   (if this works, the configuration is wrong)",
        ))
    }

    /// Adds the command that undoes `enable`, if the configuration prefers tenrounds.
    fn disable(&self, finding: Finding) -> Finding {
        let mut places = self.effect.cnf.assignments.iter().map(|a| &a.place.file);
        let system = places.any(|file| file.file_name().is_some_and(|name| name == OWN));
        match (self.effect.prefers_tenrounds, system) {
            (false, _) => finding,
            (true, true) => finding.cure(
                "shell",
                "sudo tenrounds disable --system   (removes only what 'enable' added)",
            ),
            (true, false) => {
                finding.cure("shell", "tenrounds disable   (if 'enable' was the cause)")
            }
        }
    }

    /// Finds a provider that is activated but not loaded. OpenSSL then starts without it and gives
    /// no reason.
    fn not_loaded(&self, program: &Path) -> Option<Finding> {
        // A finding about a module already gives the reason.
        let known = |finding: &Finding| finding.id.starts_with("module-");
        if self.effect.findings.iter().any(known) {
            return None;
        }
        let active = trial::active_providers(program, self.conf()).ok()?;
        let cnf = &self.effect.cnf;
        let (name, named) = self.effect.activates.iter().find(|(name, named)| {
            let name = cnf
                .get(&named.value, "identity")
                .map_or(name, |identity| &identity.value);
            !active.iter().any(|(active, _)| active == name)
        })?;
        let shown: Vec<&str> = active.iter().map(|(name, _)| name.as_str()).collect();
        let says = format!(
            "the provider '{name}' is activated in {}, but OpenSSL runs without it",
            self.source.file.display()
        );
        let module = cnf
            .get(&named.value, "module")
            .map_or(name, |module| &module.value);
        Some(
            Finding::problem(GROUP, "provider-not-loaded", says)
                .seen(&named.place, named)
                .seen(
                    format!("{} list -providers", program.display()),
                    format!("active: {}", shown.join(", ")),
                )
                .cure(
                    "shell",
                    format!("OPENSSL_CONF=/dev/null {} list -providers -provider {module}   (shows why it cannot be loaded)", program.display()),
                ),
        )
    }
}
