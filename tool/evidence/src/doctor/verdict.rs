// SPDX-License-Identifier: BSD-2-Clause
//! The verdict of the doctor: whether tenrounds is in force, and what to do first.

use base::finding::{Finding, Severity};
use base::inventory::processes::{Process, Processes};
use setup::force::{Force, InForce};
use setup::openssl::enabling;

pub fn lines(force: &Force, processes: &Processes, findings: &[Finding]) -> Vec<String> {
    let verdict = match (force.verdict(), force.problem()) {
        (InForce::No, None) => match &force.named {
            Some(_) => "tenrounds is not in force: what OPENSSL_CONF of this shell names does not prefer it.",
            None => "tenrounds is not in force: no configuration of OpenSSL prefers it.",
        }
        .to_owned(),
        (InForce::No, Some(_)) => {
            "tenrounds is not in force: OpenSSL's configuration prefers it, but is broken."
                .to_owned()
        }
        (in_force, _) => in_words(force, in_force, processes),
    };
    let mut lines = vec![verdict];
    lines.extend(first(force, findings));
    lines
}

fn in_words(force: &Force, in_force: InForce, processes: &Processes) -> String {
    // Also one inside a program or another library, if it has loaded tenrounds.
    let openssl = |p: &&Process| !p.libcrypto.is_empty() || p.tenrounds.is_some();
    let using = processes.list.iter().filter(openssl);
    let ours = using.clone().filter(|p| p.tenrounds.is_some()).count();
    let have = match using.count() {
        0 => "no running process uses OpenSSL".to_owned(),
        n => format!("{ours} of {n} running processes with OpenSSL have it loaded"),
    };
    let (working, all) = force.counts();
    match in_force {
        InForce::Partly if working == all && force.hidden().is_none() => {
            format!("tenrounds is in force in part: root did not try every configuration of OpenSSL; {have}.")
        }
        InForce::Partly if working == all => {
            format!("tenrounds is in force in part: not for all users; {have}.")
        }
        InForce::Partly => format!(
            "tenrounds is in force in part: {working} of {all} configurations of OpenSSL prefer it; {have}."
        ),
        _ => match &force.named {
            Some(named) => format!(
                "tenrounds is in force: OPENSSL_CONF of this shell names {}, which prefers it; {have}.",
                named.file.display()
            ),
            None => format!("tenrounds is in force: OpenSSL's configuration prefers it; {have}."),
        },
    }
}

/// The first cure of the worst finding, or how to enable tenrounds.
fn first(force: &Force, findings: &[Finding]) -> Option<String> {
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
        _ if force.verdict() != InForce::No || force.problem().is_some() => None,
        Some(finding) => Some(format!("It cannot be enabled: {}.", finding.says)),
        None if force.system.is_empty() => {
            Some("It cannot be enabled yet: no OpenSSL 3 or later is installed.".to_owned())
        }
        None => Some(format!("{}.", enabling::how(true))),
    }
}
