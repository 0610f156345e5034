// SPDX-License-Identifier: BSD-2-Clause
//! The examination: every part of the machine in turn, then the verdict.

use super::disks::{self, Disk};
use super::means::Means;
use super::pkcs11::{self, Pkcs11};
use super::verdict;
use super::{clock, environment, kernel, module, processes, system};
use base::finding::{Finding, Severity};
use base::inventory;
use base::inventory::install::{self, Install};
use base::inventory::processes::Processes;
use base::inventory::scan::Scanner;
use base::kernel::Kernel;
use base::processor;
use base::root::Root;
use serde::Serialize;
use setup::force::{Force, InForce};
use setup::openssl::programs::Site;
use setup::settings::config::{self, Effect, Source};
use setup::settings::starts;
use std::path::PathBuf;
use std::time::Instant;

/// The object `doctor` of the JSON document.
#[derive(Debug, Serialize)]
pub struct Doctor {
    /// "healthy", "warnings" or "problems".
    pub verdict: &'static str,
    /// The exit status: 0, 1, 2.
    pub status: u8,
    /// Whether tenrounds is in force.
    pub in_force: InForce,
    /// The first lines of the text, after the one that monitoring shows.
    pub summary: Vec<String>,
    pub findings: Vec<Finding>,
    pub openssl: Vec<Install>,
    pub processes: Processes,
    pub kernel: Kernel,
    pub disks: Vec<Disk>,
    pub pkcs11: Pkcs11,
    pub seconds: f64,
}

impl Doctor {
    pub fn examine(root: &Root) -> Doctor {
        let begun = Instant::now();
        let processes = inventory::processes::find(root, &mut Scanner::default());
        let openssl = install::find(root, &processes.list);
        let here = environment::here();
        let sources = sources(root, &openssl, &here);
        let effects: Vec<Effect> = sources.iter().map(config::check).collect();
        let ours = sources.iter().zip(&effects);
        let mut ours = ours.filter(|(source, _)| source.in_this_root());
        let preferred = ours.any(|(_, effect)| effect.prefers_tenrounds);
        let kernel = Kernel::read(root);
        let means = Means::of(root, &kernel);
        let disks = disks::find(root);
        let mut findings = of_configurations(&sources, &effects);
        let force = Force::look(root);
        findings.extend(tried(root, &force.sites, &sources, &effects));
        findings.extend(system::force(&force, &findings));
        findings.extend(system::fips(root, preferred));
        findings.extend(system::confined(root, preferred, &force.modules()));
        findings.extend(system::interrupted(root));
        findings.extend(environment::check(root, &here, &processes.list));
        findings.extend(processor::check(root));
        findings.extend(processes::check(&processes, preferred));
        findings.extend(kernel::check(&means, kernel.drivers.as_deref()));
        findings.extend(module::check(&means, &kernel));
        findings.extend(disks.iter().filter_map(Disk::check));
        findings.extend(clock::check(root));
        let (pkcs11, of_pkcs11) = pkcs11::check(root);
        findings.extend(of_pkcs11);
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let (verdict, status) = match findings.first().map(|finding| finding.severity) {
            Some(Severity::Problem) => ("problems", 2),
            Some(Severity::Warning) => ("warnings", 1),
            Some(Severity::Note) | None => ("healthy", 0),
        };
        let in_force = force.verdict();
        let summary = verdict::lines(&force, &processes, &findings);
        Doctor {
            verdict,
            status,
            in_force,
            summary,
            findings,
            openssl,
            processes,
            kernel,
            disks,
            pkcs11,
            seconds: begun.elapsed().as_secs_f64(),
        }
    }
}

/// The findings of all configurations, each once, with all who read it.
fn of_configurations(sources: &[Source], effects: &[Effect]) -> Vec<Finding> {
    let mut found: Vec<(Finding, Vec<&str>)> = Vec::new();
    for (source, effect) in sources.iter().zip(effects) {
        for finding in effect.findings.iter().cloned() {
            let finding = match source.install.and_then(|install| install.root.as_ref()) {
                Some(root) => finding.seen(root, "these paths are relative to this root"),
                None => finding,
            };
            let mut known = found.iter_mut();
            match known.find(|(f, _)| f.id == finding.id && f.evidence == finding.evidence) {
                Some((_, readers)) => readers.push(&source.reader),
                None => found.push((finding, vec![&source.reader])),
            }
        }
    }
    let found = found.into_iter();
    found
        .map(|(finding, readers)| finding.seen("who reads it", readers.join(", ")))
        .collect()
}

/// What OpenSSL says when it is tried with each configuration.
fn tried(root: &Root, sites: &[Site], sources: &[Source], effects: &[Effect]) -> Vec<Finding> {
    let mut started = starts::check(root, sites, sources, effects);
    let mut all = sources.iter().zip(effects);
    let refused = |(source, effect): (&Source, &Effect)| {
        source.in_this_root() && starts::refused_to_root(source, effect).is_some()
    };
    if started.is_empty() && !all.any(refused) {
        started.extend(system::works(root));
    }
    started
}

/// The configuration of each OpenSSL, and that of OPENSSL_CONF for the first of them.
fn sources<'a>(
    root: &'a Root,
    installs: &'a [Install],
    here: &[(&'static str, String)],
) -> Vec<Source<'a>> {
    let mut sources: Vec<Source> = installs
        .iter()
        .filter_map(|install| {
            Some(Source {
                view: &install.view,
                file: install.configuration()?,
                reader: install.name(),
                install: Some(install),
                by_variable: false,
            })
        })
        .collect();
    let variable = here.iter().find(|(name, _)| *name == "OPENSSL_CONF");
    if let Some((_, file)) = variable.filter(|(_, file)| !file.is_empty()) {
        let dir = std::env::current_dir().unwrap_or_default();
        let dir = if root.is_machine() {
            dir
        } else {
            PathBuf::from("/")
        };
        sources.push(Source {
            view: root,
            file: dir.join(file),
            reader: "whatever this shell starts (OPENSSL_CONF)".to_owned(),
            install: installs
                .iter()
                .find(|install| install.major() >= 3 && install.root.is_none()),
            by_variable: true,
        });
    }
    sources
}
