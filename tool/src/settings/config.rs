// SPDX-License-Identifier: BSD-2-Clause
//! The configuration that each OpenSSL reads: what stops it, what it does not do although it looks
//! so, and what locks people out. config(5) and property(7) say what holds; sections of one name
//! are merged, and the last assignment counts.

use super::module;
use crate::finding::{Finding, Group};
use crate::inventory::install::Install;
use crate::openssl::cnf::{plain_name, Assignment, Cnf, Place, Trouble};
use crate::openssl::configuration::{clauses, is_fips, prefers_ours, BY_NAME, OWN_HEAD, PROPERTY};
use crate::root::Root;
use crate::trust::{self, Loose};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const GROUP: Group = Group::Configuration;

/// A configuration and whom it concerns.
pub struct Source<'a> {
    /// The root in which its paths are resolved.
    pub view: &'a Root,
    pub file: PathBuf,
    /// Who reads it, in words.
    pub reader: String,
    pub install: Option<&'a Install>,
    /// Whether OPENSSL_CONF of this shell names it.
    pub by_variable: bool,
}

impl Source<'_> {
    /// Whether its paths are in this command's root, not in that of a container or chroot.
    pub fn in_this_root(&self) -> bool {
        self.install.is_none_or(|install| install.root.is_none())
    }
}

/// What a configuration comes to.
#[derive(Default)]
pub struct Effect {
    pub findings: Vec<Finding>,
    /// It loads tenrounds and prefers it.
    pub prefers_tenrounds: bool,
    /// The providers that it activates; empty if the file cannot be parsed completely.
    pub activates: Vec<(String, Assignment)>,
    pub cnf: Cnf,
}

impl Effect {
    /// The files of the configuration: the first, and those that it includes.
    pub fn files(&self, source: &Source) -> Vec<PathBuf> {
        let mut files = vec![source.file.clone()];
        files.extend(self.cnf.assignments.iter().map(|a| a.place.file.clone()));
        files.sort();
        files.dedup();
        files
    }

    /// The module of tenrounds that it loads.
    pub fn module(&self, source: &Source) -> Option<PathBuf> {
        let mut active = self.activates.iter();
        let (name, named) = active.find(|(name, _)| name == "tenrounds")?;
        let path = self.cnf.value(&named.value, "module").unwrap_or(name);
        module::locate(source.view, path, source.install)
    }

    /// Why users other than root cannot read the configuration or the module of tenrounds.
    pub fn hidden(&self, source: &Source) -> Option<Loose> {
        let files = self.files(source).into_iter().chain(self.module(source));
        let top = source.view.top();
        files
            .map(|file| source.view.path(file))
            .find_map(|file| trust::hidden(top, &file))
    }
}

pub fn check(source: &Source) -> Effect {
    let root = source.view;
    if !root.exists(&source.file) {
        return Effect::default();
    }
    let cnf = Cnf::read(root, &source.file);
    let reading = Reading {
        root,
        source,
        cnf: &cnf,
    };
    let mut findings = reading.troubles();
    if cnf.troubles.iter().any(|trouble| !trouble.unreadable) {
        // What libcrypto does not parse to its end says nothing reliable of the rest.
        return Effect {
            findings,
            cnf,
            ..Effect::default()
        };
    }
    findings.extend(reading.not_read());
    findings.extend(reading.duplicates());
    let providers = reading.providers();
    findings.extend(reading.missing_sections(&providers));
    findings.extend(reading.default_inactive(&providers));
    findings.extend(reading.modules(&providers));
    findings.extend(reading.properties(&providers));
    findings.extend(reading.fips(&providers));
    findings.extend(reading.engines());
    let active = providers.iter().filter(|p| p.active);
    Effect {
        prefers_tenrounds: reading.prefers_tenrounds(&providers),
        activates: active
            .map(|p| (p.name.to_owned(), p.named.clone()))
            .collect(),
        findings,
        cnf,
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
    source: &'a Source<'a>,
    cnf: &'a Cnf,
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
        let install = self.source.install;
        install.is_some_and(|i| i.major() == 3 && i.minor() == 0)
    }

    fn troubles(&self) -> Vec<Finding> {
        let finding = |trouble: &Trouble| {
            let finding = match trouble.unreadable {
                true => Finding::warning(
                    GROUP,
                    "conf-unreadable",
                    format!(
                        "{} cannot be read completely: {}",
                        self.file().display(),
                        trouble.what
                    ),
                )
                .cure(
                    "shell",
                    "look with: namei -l on the path that is named; or run the doctor as root",
                ),
                false => Finding::problem(
                    GROUP,
                    "conf-syntax",
                    format!(
                        "OpenSSL cannot read {}: all of it is ignored, or programs fail",
                        self.file().display()
                    ),
                )
                .cure(&trouble.place, "fix this line"),
            };
            finding.seen(&trouble.place, &trouble.what)
        };
        self.cnf.troubles.iter().take(10).map(finding).collect()
    }

    /// openssl_conf counts only before the first section.
    fn not_read(&self) -> Option<Finding> {
        let stray = self
            .cnf
            .assignments
            .iter()
            .find(|a| a.name == "openssl_conf" && a.section != "default")?;
        if self.cnf.init().is_some() {
            return None;
        }
        let says = format!(
            "openssl_conf stands in section [{}], where OpenSSL does not look: nothing of [{}] is read",
            stray.section, stray.value
        );
        let finding = Finding::warning(GROUP, "conf-not-read", says).seen(&stray.place, stray);
        Some(finding.cure(
            &stray.place,
            format!(
                "move 'openssl_conf = {}' above the first [section] of {}",
                stray.value,
                self.file().display()
            ),
        ))
    }

    /// Sections that matter here and are opened twice in one file. Files that `enable` wrote are
    /// exempt.
    fn duplicates(&self) -> Vec<Finding> {
        let mut places: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
        for (name, place) in &self.cnf.headers {
            if !self.is_ours(&place.file) {
                places.entry(name).or_default().push(place);
            }
        }
        let twice = places.into_iter().filter(|(name, places)| {
            let in_one_file = |file: &Path| places.iter().filter(|p| p.file == file).count();
            self.matters(name) && places.iter().any(|place| in_one_file(&place.file) > 1)
        });
        twice
            .map(|(name, places)| {
                let says = format!(
                    "the section [{name}] stands {} times: OpenSSL merges them, and of each name the last line holds",
                    places.len()
                );
                let mut finding = Finding::warning(GROUP, "section-twice", says);
                for place in places.iter().take(5) {
                    finding = finding.seen(place, format!("[{name}]"));
                }
                let last = places.last().expect("at least two");
                finding.cure(last, format!("put the lines under one [{name}], and remove the other header"))
            })
            .collect()
    }

    /// Whether `enable` wrote a file.
    fn is_ours(&self, file: &Path) -> bool {
        let head = self.root.line(file);
        head.is_some_and(|head| head.strip_prefix("# ") == Some(OWN_HEAD))
    }

    /// Whether a section is part of what is initialised.
    fn matters(&self, section: &str) -> bool {
        let Some(init) = self.cnf.init() else {
            return false;
        };
        let named_by = |parent: &str| self.cnf.section(parent).any(|a| a.value == section);
        let providers = self.cnf.initial("providers");
        section == init || named_by(init) || providers.is_some_and(|a| named_by(&a.value))
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
        all.filter(|a| !self.cnf.has_section(&a.value))
            .map(|a| {
                let says = format!(
                    "there is no section [{}]: OpenSSL stops reading its configuration there",
                    a.value
                );
                Finding::problem(GROUP, "section-missing", says)
                    .seen(&a.place, a)
                    .cure(
                        &a.place,
                        format!("write the section [{}], or remove this line", a.value),
                    )
            })
            .collect()
    }

    fn default_inactive(&self, providers: &[Provider]) -> Vec<Finding> {
        let mut found = Vec::new();
        for p in providers.iter().filter(|p| p.active) {
            let activate = p.activate.expect("active by a line");
            if is_off(&activate.value) {
                let says = format!(
                    "'{}' is activated although its line says {}: OpenSSL 3.0 takes any value for yes",
                    p.name, activate.value
                );
                let finding =
                    Finding::warning(GROUP, "activate-off", says).seen(&activate.place, activate);
                found.push(finding.cure(&activate.place, "remove this line"));
            }
        }
        let is_active = |name: &str| providers.iter().any(|p| p.active && p.name == name);
        let fips = is_active("fips") && is_active("base");
        let other = providers
            .iter()
            .find(|p| p.active && !["default", "base"].contains(&p.name));
        if let (Some(other), false) = (other, is_active("default") || fips) {
            found.push(self.default_is_missing(other, providers));
        }
        found
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
                module::check(self.root, &loaded, self.source.install)
            })
            .collect()
    }

    fn properties(&self, providers: &[Provider]) -> Vec<Finding> {
        let mut found = Vec::new();
        let set = self.cnf.default_properties();
        found.extend(self.set_twice(&set));
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
            found.extend(preferred_by_name(holds, providers));
        }
        found
    }

    /// Warns if an earlier line has clauses that the last line lacks: OpenSSL uses only the last
    /// line.
    fn set_twice(&self, set: &[&Assignment]) -> Option<Finding> {
        let last = set.last()?;
        let held: Vec<&str> = clauses(&last.value).collect();
        let kept = |a: &&Assignment| clauses(&a.value).all(|clause| held.contains(&clause));
        if set.iter().all(kept) {
            return None;
        }
        let says = format!(
            "{} lines set default_properties, and only the last holds: {}",
            set.len(),
            last.value
        );
        let mut finding = Finding::warning(GROUP, "properties-twice", says);
        for a in set {
            finding = finding.seen(&a.place, a);
        }
        Some(finding.cure(
            &set[0].place,
            "keep one of these lines, with all that is meant, separated by commas",
        ))
    }

    fn fips(&self, providers: &[Provider]) -> Vec<Finding> {
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
        if lines.is_empty() {
            return Vec::new();
        }
        let demanded = mode.is_some() || properties.is_some();
        let tenrounds = providers.iter().any(|p| p.active && p.name == "tenrounds");
        let mut finding = match (demanded, tenrounds) {
            (true, true) => Finding::warning(
                GROUP,
                "fips-demanded",
                "FIPS is demanded by configuration, and tenrounds, which is not validated, is activated: OpenSSL never takes AES from it",
            )
            .cure(&lines[0].place, "remove tenrounds (tenrounds disable), or these lines"),
            (true, false) => Finding::note(
                GROUP,
                "fips-demanded",
                "FIPS is demanded by configuration: OpenSSL takes AES from validated providers only, and tenrounds is none",
            ),
            (false, _) => Finding::note(
                GROUP,
                "fips-active",
                "the FIPS provider is active, but not demanded: AES may come from any provider",
            ),
        };
        for a in lines {
            finding = finding.seen(&a.place, a);
        }
        vec![finding]
    }

    /// OpenSSL 4 has no engines.
    fn engines(&self) -> Option<Finding> {
        let engines = self.cnf.initial("engines")?;
        if self.source.install?.major() < 4 {
            return None;
        }
        let says = format!(
            "engines are configured, and {} has none",
            self.source.install?.name()
        );
        let finding = Finding::warning(GROUP, "engines-gone", says).seen(&engines.place, engines);
        Some(finding.cure(
            &engines.place,
            "remove this line, and use the provider of the same name",
        ))
    }

    fn prefers_tenrounds(&self, providers: &[Provider]) -> bool {
        let active = providers.iter().any(|p| p.active && p.name == "tenrounds");
        let set = self.cnf.default_properties();
        active
            && set
                .last()
                .is_some_and(|a| clauses(&a.value).any(prefers_ours))
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

/// A program's query that names a provider cancels a preference by name.
fn preferred_by_name(set: &Assignment, providers: &[Provider]) -> Option<Finding> {
    let by_name = clauses(&set.value).any(|clause| clause == BY_NAME);
    let active = providers.iter().any(|p| p.active && p.name == "tenrounds");
    let says = "tenrounds is preferred by name: programs that ask for another property of a provider, as stunnel does, are not reached";
    let fixed = set.value.replace(BY_NAME, PROPERTY);
    (by_name && active).then(|| {
        Finding::note(GROUP, "preferred-by-name", says)
            .seen(&set.place, set)
            .cure(&set.place, format!("default_properties = {fixed}"))
    })
}

fn preferred_but_absent(set: &Assignment, providers: &[Provider]) -> Option<Finding> {
    let wanted = clauses(&set.value).any(|clause| [PROPERTY, BY_NAME].contains(&clause));
    if !wanted || providers.iter().any(|p| p.active && p.name == "tenrounds") {
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
