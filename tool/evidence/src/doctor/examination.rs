// SPDX-License-Identifier: BSD-2-Clause
//! The examination: every part of the machine in turn, then the verdict.

use super::disks::{self, Disk};
use super::pkcs11::{self, Pkcs11};
use super::verdict;
use super::{environment, kernel, module, processes, starts, system};
use base::finding::{Finding, Severity};
use base::inventory;
use base::inventory::install::Install;
use base::inventory::processes::Processes;
use base::inventory::scan::Scanner;
use base::kernel::Kernel;
use base::processor;
use base::root::Root;
use serde::Serialize;
use setup::force::{Force, InForce};
use setup::settings::config::Effect;

use std::rc::Rc;
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
        let force = Force::look(root, &processes.list);
        let preferred = force.is_preferred();
        let here = environment::here();
        let kernel = Kernel::read(root);
        let disks = disks::find(root);
        let mut findings = of_configurations(&force.effects);
        findings.extend(tried(root, &force));
        findings.extend(system::force(&force, &findings));
        findings.extend(system::fips(root, preferred));
        findings.extend(system::confined(root, preferred, &force.modules()));
        findings.extend(system::interrupted(root));
        findings.extend(environment::check(root, &here, &processes.list));
        findings.extend(processor::check(root));
        findings.extend(processes::check(&processes, preferred));
        findings.extend(kernel::check(root, &kernel));
        findings.extend(module::check(&kernel.module));
        findings.extend(disks.iter().filter_map(Disk::check));
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
            openssl: force.installs,
            processes,
            kernel,
            disks,
            pkcs11,
            seconds: begun.elapsed().as_secs_f64(),
        }
    }
}

impl Doctor {
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings.filter(|f| f.severity == severity).count()
    }

    /// "1 problem, 2 notes"; None if there is no finding.
    pub fn counts(&self) -> Option<String> {
        let words = [
            (Severity::Problem, "problem"),
            (Severity::Warning, "warning"),
            (Severity::Note, "note"),
        ];
        let counted = words
            .iter()
            .filter_map(|(severity, word)| match self.count(*severity) {
                0 => None,
                1 => Some(format!("1 {word}")),
                n => Some(format!("{n} {word}s")),
            });
        Some(counted.collect::<Vec<_>>().join(", ")).filter(|counts| !counts.is_empty())
    }
}

/// The findings of all configurations, each once, with all who read it.
fn of_configurations(effects: &[Rc<Effect>]) -> Vec<Finding> {
    let mut found: Vec<(Finding, Vec<&str>)> = Vec::new();
    for effect in effects {
        let source = &effect.source;
        for finding in effect.findings.iter().cloned() {
            let root = source.install.as_ref().and_then(|i| i.root.as_ref());
            let finding = match root {
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
fn tried(root: &Root, force: &Force) -> Vec<Finding> {
    let all = || force.system.iter().chain(&force.named);
    let mut found: Vec<Finding> = all().filter_map(starts::check).collect();
    if found.is_empty() {
        found.extend(system::works(root));
    }
    found
}
