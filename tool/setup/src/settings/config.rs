// SPDX-License-Identifier: BSD-2-Clause
//! The configuration that each OpenSSL reads: what stops it, what it does not do although it looks
//! so, and what locks people out. config(5) and property(7) say what holds; sections of one name
//! are merged, and the last assignment counts.

use super::module;
use crate::openssl::cnf::{plain_name, Assignment, Cnf, Trouble};
use crate::openssl::configuration::{clauses, is_fips, prefers_ours, BY_NAME, PROPERTY};
use base::finding::{Finding, Group};
use base::inventory::install::Install;
use base::root::Root;
use base::trust::{self, Loose, Trusted};
use std::path::{Path, PathBuf};

const GROUP: Group = Group::Configuration;

/// A configuration and whom it concerns.
#[derive(Debug)]
pub struct Source {
    /// The root in which its paths are resolved.
    pub view: Root,
    pub file: PathBuf,
    /// Who reads it, in words.
    pub reader: String,
    pub install: Option<Install>,
}

impl Source {
    /// The configuration that an installed OpenSSL reads; None if its file does not tell.
    pub fn of(install: &Install) -> Option<Source> {
        Some(Source {
            view: install.view.clone(),
            file: install.configuration()?,
            reader: install.name(),
            install: Some(install.clone()),
        })
    }

    /// Whether its paths are in this command's root, not in that of a container or chroot.
    pub fn in_this_root(&self) -> bool {
        let install = self.install.as_ref();
        install.is_none_or(|install| install.root.is_none())
    }

    fn locate(&self, module: &str) -> Option<PathBuf> {
        module::locate(&self.view, module, self.install.as_ref())
    }
}

/// What a configuration comes to.
#[derive(Debug)]
pub struct Effect {
    pub source: Source,
    pub findings: Vec<Finding>,
    /// It loads tenrounds and prefers it.
    pub prefers_tenrounds: bool,
    /// The providers that it activates; empty if the file cannot be parsed completely.
    pub activates: Vec<(String, Assignment)>,
    pub cnf: Cnf,
}

impl Effect {
    /// Reads and checks a configuration. A file that does not exist has no effect.
    pub fn of(source: Source) -> Effect {
        let exists = !source.file.as_os_str().is_empty() && source.view.exists(&source.file);
        let cnf = match exists {
            true => Cnf::read(&source.view, &source.file),
            false => Cnf::default(),
        };
        let reading = Reading {
            root: &source.view,
            source: &source,
            cnf: &cnf,
        };
        let mut findings = reading.troubles();
        let (mut prefers_tenrounds, mut activates) = (false, Vec::new());
        // What libcrypto does not parse to its end says nothing reliable of the rest.
        if cnf.troubles.iter().all(|trouble| trouble.unreadable) {
            let providers = reading.providers();
            findings.extend(reading.not_read());
            findings.extend(reading.missing_sections(&providers));
            findings.extend(reading.default_inactive(&providers));
            findings.extend(reading.modules(&providers));
            findings.extend(reading.properties(&providers));
            findings.extend(reading.fips(&providers));
            prefers_tenrounds = reading.prefers_tenrounds(&providers);
            let active = providers.iter().filter(|p| p.active);
            activates = active
                .map(|p| (p.name.to_owned(), p.named.clone()))
                .collect();
        }
        Effect {
            findings,
            prefers_tenrounds,
            activates,
            source,
            cnf,
        }
    }

    /// The files of the configuration: the first, and those that it includes.
    fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.source.file.clone()];
        files.extend(self.cnf.assignments.iter().map(|a| a.place.file.clone()));
        files.sort();
        files.dedup();
        files
    }

    /// The module of tenrounds that it loads.
    pub fn module(&self) -> Option<PathBuf> {
        let mut active = self.activates.iter();
        let (name, named) = active.find(|(name, _)| name == "tenrounds")?;
        self.source
            .locate(self.cnf.value(&named.value, "module").unwrap_or(name))
    }

    /// Why users other than root cannot read the configuration or the module of tenrounds.
    pub fn hidden(&self) -> Option<Loose> {
        let view = &self.source.view;
        let mut files = self.files().into_iter().chain(self.module());
        files.find_map(|file| trust::hidden(view.top(), &view.path(file)))
    }

    /// The part of a configuration that another user can replace: a file of the configuration, a
    /// provider's module or an engine. Root does not try such a configuration. None if there is no
    /// such part, and always None if this process is not root.
    pub fn refused_to_root(&self) -> Option<Loose> {
        if !trust::is_root() {
            return None;
        }
        let mut files = self.files();
        for line in &self.cnf.assignments {
            match plain_name(&line.name) {
                "module" => files.extend(self.source.locate(&line.value)),
                "dynamic_path" => files.push(PathBuf::from(&line.value)),
                _ => {}
            }
        }
        // Without a line "module", a provider's module has its name.
        let named = self.activates.iter();
        files.extend(named.filter_map(|(name, _)| self.source.locate(name)));
        let view = &self.source.view;
        let trusted = Trusted::root_and(view.top(), 0);
        // A file that does not exist is not loaded.
        let loose = |file: &PathBuf| trusted.loose(&view.path(file)).ok()?.into_iter().next();
        files.iter().find_map(loose)
    }
}

/// A provider that a configuration names.
struct Provider<'a> {
    name: &'a str,
    /// The line that names it, whose value is its section.
    named: &'a Assignment,
    activate: Option<&'a Assignment>,
    module: Option<&'a Assignment>,
    active: bool,
}

struct Reading<'a> {
    root: &'a Root,
    source: &'a Source,
    cnf: &'a Cnf,
}

fn is_active(providers: &[Provider], name: &str) -> bool {
    providers.iter().any(|p| p.active && p.name == name)
}

fn is_off(value: &str) -> bool {
    ["0", "no", "off", "false"].contains(&value.to_ascii_lowercase().as_str())
}

impl<'a> Reading<'a> {
    fn file(&self) -> &Path {
        &self.source.file
    }

    /// Whether this OpenSSL takes "activate = 0" for yes: 3.0 looks only whether the line is there
    /// (crypto/provider_conf.c).
    fn any_value_activates(&self) -> bool {
        let install = self.source.install.as_ref();
        install.is_some_and(|i| i.major() == 3 && i.minor() == 0)
    }

    fn troubles(&self) -> Vec<Finding> {
        let file = self.file().display();
        let finding = |trouble: &Trouble| {
            let Trouble { place, what, .. } = trouble;
            match trouble.unreadable {
                true => Finding::warning(
                    GROUP,
                    "conf-unreadable",
                    format!("{file} cannot be read completely: {what}"),
                )
                .seen(place, what)
                .cure(
                    "shell",
                    "look with: namei -l on the path that is named; or run the doctor as root",
                ),
                false => Finding::problem(
                    GROUP,
                    "conf-syntax",
                    format!("OpenSSL cannot read {file}: all of it is ignored, or programs fail"),
                )
                .seen(place, what)
                .cure(place, "fix this line"),
            }
        };
        self.cnf.troubles.iter().take(10).map(finding).collect()
    }

    /// openssl_conf counts only before the first section.
    fn not_read(&self) -> Option<Finding> {
        let is_stray = |a: &&Assignment| a.name == "openssl_conf" && a.section != "default";
        let mut strays = self.cnf.assignments.iter().filter(is_stray);
        let stray = strays.next().filter(|_| self.cnf.init().is_none())?;
        let (section, value, file) = (&stray.section, &stray.value, self.file().display());
        let says = format!("openssl_conf stands in section [{section}], where OpenSSL does not look: nothing of [{value}] is read");
        let cure = format!("move 'openssl_conf = {value}' above the first [section] of {file}");
        let finding = Finding::warning(GROUP, "conf-not-read", says).seen(&stray.place, stray);
        Some(finding.cure(&stray.place, cure))
    }

    fn providers(&self) -> Vec<Provider<'a>> {
        let Some(list) = self.cnf.initial("providers") else {
            return Vec::new();
        };
        let mut providers: Vec<Provider> = Vec::new();
        for named in self.cnf.section(&list.value) {
            let name = plain_name(&named.name);
            providers.retain(|p| p.name != name);
            let activate = self.cnf.get(&named.value, "activate");
            let active = activate.is_some_and(|a| self.any_value_activates() || !is_off(&a.value));
            providers.push(Provider {
                name,
                named,
                activate,
                module: self.cnf.get(&named.value, "module"),
                active,
            });
        }
        providers
    }

    fn missing_sections(&self, providers: &[Provider]) -> Vec<Finding> {
        let parts = ["providers", "alg_section", "ssl_conf", "engines"];
        let named = parts.iter().filter_map(|part| self.cnf.initial(part));
        let init = self.cnf.get("default", "openssl_conf");
        let all = init
            .into_iter()
            .chain(named)
            .chain(providers.iter().map(|p| p.named));
        let missing = all.filter(|a| !self.cnf.has_section(&a.value));
        missing
            .map(|a| {
                let name = &a.value;
                let says = format!(
                    "there is no section [{name}]: OpenSSL stops reading its configuration there"
                );
                let cure = format!("write the section [{name}], or remove this line");
                let finding = Finding::problem(GROUP, "section-missing", says);
                finding.seen(&a.place, a).cure(&a.place, cure)
            })
            .collect()
    }

    fn default_inactive(&self, providers: &[Provider]) -> Option<Finding> {
        let fips = is_active(providers, "fips") && is_active(providers, "base");
        let other = providers
            .iter()
            .find(|p| p.active && !["default", "base"].contains(&p.name));
        let is_missing = !is_active(providers, "default") && !fips;
        let other = other.filter(|_| is_missing)?;
        Some(self.default_is_missing(other, providers))
    }

    fn default_is_missing(&self, other: &Provider, providers: &[Provider]) -> Finding {
        let says = format!(
            "'{}' is activated and 'default' is not: no program that reads {} has any other algorithm; logins by ssh may fail",
            other.name,
            self.file().display()
        );
        let list = &other.named.section;
        let activate = other.activate.expect("active by a line");
        let finding =
            Finding::problem(GROUP, "default-not-activated", says).seen(&activate.place, activate);
        match providers.iter().find(|p| p.name == "default") {
            Some(default) => finding.seen(&default.named.place, default.named).cure(
                &default.named.place,
                format!("in the section [{}]: activate = 1", default.named.value),
            ),
            None => finding
                .seen(self.file().display(), format!("[{list}] has no line 'default = ...'"))
                .cure(
                    &other.named.place,
                    format!("in [{list}]: default = default_sect   and at the end: [default_sect] with activate = 1"),
                ),
        }
    }

    fn modules(&self, providers: &[Provider]) -> Vec<Finding> {
        let loadable = |p: &&Provider| {
            let built_in = ["default", "base", "null"].contains(&p.name) && p.module.is_none();
            p.active && !built_in
        };
        providers
            .iter()
            .filter(loadable)
            .flat_map(|p| {
                let place = p.module.unwrap_or(p.named);
                let path = p.module.map_or(p.name, |module| &module.value);
                let loaded = module::Loaded {
                    provider: p.name,
                    path,
                    line: place,
                    configuration: self.file(),
                };
                module::check(self.root, &loaded, self.source.install.as_ref())
            })
            .collect()
    }

    fn properties(&self, providers: &[Provider]) -> Vec<Finding> {
        let mut found = Vec::new();
        let set = self.cnf.default_properties();
        let all = self.cnf.assignments.iter();
        let nodejs = self.cnf.value("default", "nodejs_conf");
        let nodejs = nodejs.and_then(|section| self.cnf.value(section, "alg_section"));
        let mut stray = all
            .filter(|a| a.name == "default_properties" && nodejs != Some(a.section.as_str()))
            .filter(|a| !set.iter().any(|s| s.place == a.place));
        if let Some(stray) = stray.next() {
            let says = format!(
                "default_properties stands in section [{}], which no alg_section names: it is not read",
                stray.section
            );
            let finding =
                Finding::warning(GROUP, "properties-not-read", says).seen(&stray.place, stray);
            let init = self.cnf.init();
            let init = init.unwrap_or("the section that openssl_conf names");
            found.push(finding.cure(
                self.file().display(),
                format!("in [{init}]: alg_section = {}", stray.section),
            ));
        }
        if let Some(holds) = set.last() {
            found.extend(clauses(&holds.value).filter_map(|clause| mandatory(holds, clause)));
            found.extend(preferred_but_absent(holds, providers));
        }
        found
    }

    fn fips(&self, providers: &[Provider]) -> Option<Finding> {
        let provider = providers
            .iter()
            .find(|p| p.active && p.name == "fips")
            .map(|p| p.named);
        let section = self.cnf.initial("alg_section");
        let mode = section.and_then(|section| self.cnf.get(&section.value, "fips_mode"));
        let mode = mode.filter(|a| !is_off(&a.value));
        let properties = self.cnf.default_properties().last().copied();
        let properties = properties.filter(|a| clauses(&a.value).any(is_fips));
        let lines: Vec<&Assignment> = [provider, mode, properties].into_iter().flatten().collect();
        let is_demanded = mode.is_some() || properties.is_some();
        let finding = match is_active(providers, "tenrounds") {
            _ if !is_demanded => return None,
            true => Finding::warning(
                GROUP,
                "fips-demanded",
                "FIPS is demanded by configuration, and tenrounds, which is not validated, is activated: OpenSSL never takes AES from it",
            )
            .cure(&lines[0].place, "remove tenrounds (tenrounds disable), or these lines"),
            false => Finding::note(
                GROUP,
                "fips-demanded",
                "FIPS is demanded by configuration: OpenSSL takes AES from validated providers only, and tenrounds is none",
            ),
        };
        Some(
            lines
                .into_iter()
                .fold(finding, |finding, a| finding.seen(&a.place, a)),
        )
    }

    fn prefers_tenrounds(&self, providers: &[Provider]) -> bool {
        let set = self.cnf.default_properties();
        let prefers = set
            .last()
            .is_some_and(|a| clauses(&a.value).any(prefers_ours));
        prefers && is_active(providers, "tenrounds")
    }
}

/// A clause without a question mark makes everything else unavailable.
fn mandatory(set: &Assignment, clause: &str) -> Option<Finding> {
    let plain: String = clause.chars().filter(|c| *c != ' ').collect();
    if plain.starts_with(['?', '-']) || is_fips(clause) || plain.contains("!=") {
        return None;
    }
    let says = match plain.strip_prefix("provider=") {
        Some(provider) => format!(
            "every algorithm has to come from '{provider}': what it does not have is not available to any program"
        ),
        None => format!("'{clause}' is demanded of every algorithm: what has no such property is not available"),
    };
    let preference = match prefers_ours(clause) {
        true => PROPERTY.to_owned(),
        false => format!("?{clause}"),
    };
    let fixed = set.value.replace(clause, &preference);
    Some(
        Finding::problem(GROUP, "properties-demanded", says)
            .seen(&set.place, set)
            .cure(&set.place, format!("default_properties = {fixed}")),
    )
}

fn preferred_but_absent(set: &Assignment, providers: &[Provider]) -> Option<Finding> {
    let wanted = clauses(&set.value).any(|clause| [PROPERTY, BY_NAME].contains(&clause));
    if !wanted || is_active(providers, "tenrounds") {
        return None;
    }
    let says = "tenrounds is preferred, but not activated: nothing is taken from it";
    let finding = Finding::warning(GROUP, "preferred-not-activated", says).seen(&set.place, set);
    Some(match providers.iter().find(|p| p.name == "tenrounds") {
        Some(p) => finding.seen(&p.named.place, p.named).cure(
            &p.named.place,
            format!("in the section [{}]: activate = 1", p.named.value),
        ),
        None => finding.cure("shell", "tenrounds enable"),
    })
}
