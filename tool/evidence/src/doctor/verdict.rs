// SPDX-License-Identifier: BSD-2-Clause
//! The verdict of the doctor: whether tenrounds is in force, and what to do first.

use base::finding::{Finding, Severity};
use base::inventory::processes::{Process, Processes};
use setup::force::{Force, InForce};

pub fn lines(force: &Force, processes: &Processes, findings: &[Finding]) -> Vec<String> {
    let in_force = force.verdict();
    let mut verdict = format!("{}: {}.", in_force.phrase(), force.why());
    if in_force != InForce::No {
        verdict += &format!(" {}", loaded(processes));
    }
    let mut lines = vec![verdict];
    lines.extend(first(force, findings));
    lines
}

/// How many processes have loaded tenrounds.
fn loaded(processes: &Processes) -> String {
    // Also one inside a program or another library, if it has loaded tenrounds.
    let openssl = |p: &&Process| !p.libcrypto.is_empty() || p.tenrounds.is_some();
    let using = processes.list.iter().filter(openssl);
    let ours = using.clone().filter(|p| p.tenrounds.is_some()).count();
    match using.count() {
        0 => "No running process uses OpenSSL.".to_owned(),
        n => format!("{ours} of {n} running processes with OpenSSL have it loaded."),
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
    let refused = ["fips-system", "fips-demanded"];
    let refused = findings.iter().find(|f| refused.contains(&f.id));
    match (force.step(), refused) {
        (Some(_), Some(finding)) if force.verdict() == InForce::No => {
            Some(format!("It cannot be enabled: {}.", finding.says))
        }
        (step, _) => step.map(|step| format!("{step}.")),
    }
}
