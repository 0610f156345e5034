// SPDX-License-Identifier: BSD-2-Clause
//! Checks that OpenSSL starts with each configuration. Runs `openssl` in child processes, as
//! `enable` does, because parsing the file does not show everything that OpenSSL refuses.

use super::config::{Effect, Source};
use super::module;
use crate::finding::{Finding, Group};
use crate::openssl::cnf::{plain_name, Assignment, Cnf};
use crate::openssl::configuration::OWN;
use crate::openssl::programs::{self, Program};
use crate::openssl::trial;
use crate::root::Root;
use crate::trust::{is_root, Loose, Trusted};
use libcrypto::LibCrypto;
use std::path::{Path, PathBuf};

const GROUP: Group = Group::Configuration;
/// The maximum number of OpenSSL's errors that a finding shows.
const SHOWN: usize = 4;

/// A configuration, and the programs that read it.
struct Trial<'a> {
    source: &'a Source<'a>,
    /// The value of OPENSSL_CONF for the programs; None if they read this file by default.
    conf: Option<PathBuf>,
    programs: &'a [Program],
    effect: &'a Effect,
}

pub fn check(root: &Root, sources: &[Source], effects: &[Effect]) -> Vec<Finding> {
    let libcrypto = LibCrypto::open().ok();
    let found = programs::installations(root.top(), libcrypto.as_ref());
    let own: Vec<(&Source, &Effect)> = sources
        .iter()
        .zip(effects)
        .filter(|(source, _)| source.in_this_root())
        .collect();
    let mut trials = Vec::new();
    for site in &found.sites {
        let identity = Root::machine().identity(&site.conf);
        let mut by_file = own.iter().filter(|(source, _)| !source.by_variable);
        let is_it = |source: &Source| identity.is_some() && root.identity(&source.file) == identity;
        if let Some((source, effect)) = by_file.find(|(source, _)| is_it(source)) {
            trials.push(Trial {
                source,
                conf: (!root.is_machine()).then(|| site.conf.clone()),
                programs: &site.programs,
                effect,
            });
        }
    }
    for (source, effect) in own.iter().filter(|(source, _)| source.by_variable) {
        if root.exists(&source.file) {
            trials.extend(found.sites.first().map(|site| Trial {
                source,
                conf: Some(root.path(&source.file)),
                programs: &site.programs,
                effect,
            }));
        }
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
        let says = format!(
            "OpenSSL does not start with {}: programs that use it fail",
            self.source.file.display()
        );
        let by = format!("{} {}", program.display(), trial::STARTED);
        let mut finding = Finding::problem(GROUP, "openssl-broken", says).seen(by, &said[0]);
        let errors: Vec<Said> = said.iter().filter_map(|line| Said::parse(line)).collect();
        let cnf = &self.effect.cnf;
        let line = errors.iter().find_map(|error| error.line(cnf));
        if let Some(line) = line {
            finding = finding.seen(&line.place, line);
        }
        for error in errors.iter().take(SHOWN) {
            finding = finding.seen(format!("OpenSSL, {}", error.function), error.text());
        }
        let finding = match line {
            Some(line) => finding.cure(&line.place, correction(cnf, line)),
            None => finding.cure(
                "shell",
                "OPENSSL_CONF=/dev/null openssl list -providers   (if this works, the configuration is wrong)",
            ),
        };
        self.disable(finding)
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

/// The cure for a line that OpenSSL refuses.
fn correction(cnf: &Cnf, line: &Assignment) -> String {
    let init = cnf.get("default", "openssl_conf");
    let in_init = init.is_some_and(|init| init.value == line.section);
    match plain_name(&line.name) {
        name @ ("activate" | "module" | "soft_load") if in_init => format!(
            "remove this line: '{name}' belongs in the section of one provider, not in [{}]",
            line.section
        ),
        "dynamic_path" => {
            "set it to the engine's file, or remove the engine from the section that 'engines' names"
                .to_owned()
        }
        _ => "correct or remove this line".to_owned(),
    }
}

/// One line of OpenSSL's error queue: "ID:error:CODE:LIBRARY:FUNCTION:REASON:FILE:LINE:DATA".
#[derive(Debug)]
struct Said<'a> {
    function: &'a str,
    reason: &'a str,
    data: &'a str,
}

impl<'a> Said<'a> {
    fn parse(line: &'a str) -> Option<Said<'a>> {
        let parts: Vec<&str> = line.splitn(9, ':').collect();
        match parts[..] {
            [_, "error", _, _, function, reason, _, _, data] => Some(Said {
                function,
                reason,
                data: data.trim(),
            }),
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self.data {
            "" => self.reason.to_owned(),
            data => format!("{}: {data}", self.reason),
        }
    }

    /// The value of a key in the data: "foo" for "section" in "section=foo, name=bar".
    fn value(&self, key: &str) -> Option<&'a str> {
        let mut words = self.data.split([',', ' ']);
        words.find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    /// The line of the configuration that this error is about; None if the error does not identify
    /// it.
    fn line<'c>(&self, cnf: &'c Cnf) -> Option<&'c Assignment> {
        let all = || cnf.assignments.iter().rev();
        let with_value = |value: &str| all().find(|a| a.value == value);
        if let (Some(section), Some(name)) = (self.value("section"), self.value("name")) {
            return cnf.get(section, name);
        }
        if let (Some(name), Some(value)) = (self.value("name"), self.value("value")) {
            return all().find(|a| plain_name(&a.name) == name && a.value == value);
        }
        if let Some(file) = self.data.strip_prefix("filename(") {
            return with_value(file.split_once(')')?.0);
        }
        if let Some(section) = self.value("section") {
            return with_value(section);
        }
        let init = cnf.get("default", "openssl_conf")?;
        cnf.get(&init.value, self.value("module")?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_openssl() {
        let line =
            "40D7:error:13000066:engine routines:int_engine_configure:engine configuration error:\
            ../crypto/engine/eng_cnf.c:138:section=foo_s, name=dynamic_path, value=/a:b.so";
        let said = Said::parse(line).unwrap();
        assert_eq!(said.function, "int_engine_configure");
        assert_eq!(said.value("name"), Some("dynamic_path"));
        assert_eq!(said.value("value"), Some("/a:b.so"));
        assert!(Said::parse("FATAL: Startup failure (dev note: apps_startup())").is_none());
    }
}
