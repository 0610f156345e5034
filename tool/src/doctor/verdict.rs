// SPDX-License-Identifier: BSD-2-Clause
//! The verdict of the doctor: whether tenrounds is in force, and what to do first.

use super::config::{Effect, Source};
use crate::finding::{Finding, Group, Severity};
use crate::inventory::processes::{Process, Processes};
use crate::openssl::enabling;
use serde::Serialize;

/// Whether the configurations of this machine, or OPENSSL_CONF of this shell, prefer tenrounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InForce {
    Yes,
    /// Some of them do.
    Partly,
    No,
}

impl InForce {
    /// A configuration that does not work is not in force.
    pub fn of(sources: &[Source], effects: &[Effect], findings: &[Finding]) -> InForce {
        let broken =
            |f: &Finding| f.severity == Severity::Problem && f.group == Group::Configuration;
        let (preferring, all) = counts(sources, effects);
        match preferring {
            _ if findings.iter().any(broken) => InForce::No,
            0 => InForce::No,
            n if n == all => InForce::Yes,
            _ => InForce::Partly,
        }
    }
}

/// How many configurations prefer tenrounds, of how many that programs outside of containers read.
fn counts(sources: &[Source], effects: &[Effect]) -> (usize, usize) {
    let mut files = Vec::new();
    let mut preferring = 0;
    for (source, effect) in sources.iter().zip(effects) {
        let knows_providers = source.install.map_or(true, |install| install.major() >= 3);
        let file = source.view.identity(&source.file);
        if !source.in_this_root() || !knows_providers || files.contains(&file) {
            continue;
        }
        files.push(file);
        preferring += usize::from(effect.prefers_tenrounds);
    }
    (preferring, files.len())
}

pub fn lines(
    in_force: InForce,
    sources: &[Source],
    effects: &[Effect],
    processes: &Processes,
    findings: &[Finding],
) -> Vec<String> {
    let counts = counts(sources, effects);
    let verdict = match (in_force, counts) {
        (InForce::No, (0, _)) => {
            "tenrounds is not in force: no configuration of OpenSSL prefers it.".to_owned()
        }
        (InForce::No, _) => {
            "tenrounds is not in force: OpenSSL's configuration prefers it, but is broken."
                .to_owned()
        }
        _ => in_words(in_force, counts, processes),
    };
    let mut lines = vec![verdict];
    lines.extend(first(counts, findings));
    lines
}

fn in_words(in_force: InForce, (preferring, all): (usize, usize), processes: &Processes) -> String {
    let openssl = |p: &&Process| !p.libcrypto.is_empty();
    let using = processes.list.iter().filter(openssl);
    let ours = using.clone().filter(|p| p.tenrounds.is_some()).count();
    let have = match using.count() {
        0 => "no running process uses OpenSSL".to_owned(),
        n => format!("{ours} of {n} running processes with OpenSSL have it loaded"),
    };
    match in_force {
        InForce::Partly => format!(
            "tenrounds is in force in part: {preferring} of {all} configurations of OpenSSL prefer it; {have}."
        ),
        _ => format!("tenrounds is in force: OpenSSL's configuration prefers it; {have}."),
    }
}

/// The first cure of the worst finding, or how to enable tenrounds.
fn first((preferring, all): (usize, usize), findings: &[Finding]) -> Option<String> {
    let grave = |finding: &&Finding| finding.severity > Severity::Note;
    let cured = findings.iter().filter(grave).find(|f| !f.cures.is_empty());
    if let Some(finding) = cured {
        let cure = &finding.cures[0];
        // Three blanks separate what to do from a remark.
        let set = cure.set.split("   (").next().unwrap_or_default();
        let at = match cure.at.as_str() {
            "shell" | "system" => String::new(),
            at => format!(" at {at}"),
        };
        return Some(format!("Do first{at}: {set}. Reason: {}.", finding.says));
    }
    let refused = findings
        .iter()
        .find(|f| ["fips-system", "fips-demanded"].contains(&f.id));
    match refused {
        _ if preferring > 0 => None,
        Some(finding) => Some(format!("It cannot be enabled: {}.", finding.says)),
        None if all == 0 => {
            Some("It cannot be enabled yet: no OpenSSL 3 or later is installed.".to_owned())
        }
        None => Some(format!("{}.", enabling::how(true))),
    }
}
