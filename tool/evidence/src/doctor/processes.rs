// SPDX-License-Identifier: BSD-2-Clause
//! Findings about running processes: replaced libraries, and cryptography that is not reached.

use base::finding::{Finding, Group, Severity};
use base::inventory::is_old;
use base::inventory::processes::{count, Library, Process, Processes};
use base::trust::is_root;
use std::collections::BTreeSet;

/// What can be the matter with processes.
struct Kind {
    id: &'static str,
    severity: Severity,
    /// The sentence before the number of processes and their names.
    says: &'static str,
    /// What is seen in /proc/PID/maps of a process that it concerns.
    seen: fn(&Process) -> Option<String>,
    /// Restarting the services corrects it.
    restart: bool,
    /// Where there is no service to restart.
    cure: (&'static str, &'static str),
}

const KINDS: [Kind; 5] = [
    Kind {
        id: "restart-needed",
        severity: Severity::Warning,
        says: "code that was replaced on disk still runs in",
        seen: replaced,
        restart: true,
        cure: ("shell", "end these processes and start them again"),
    },
    Kind {
        id: "old-openssl",
        severity: Severity::Note,
        says: "an OpenSSL before 3.0, which knows no providers, is in",
        seen: |p| Some(p.libcrypto.iter().find(|l| library_is_old(l))?.path.clone()),
        restart: false,
        cure: ("system", "a newer build of the program; or the engine: tenrounds enable"),
    },
    Kind {
        id: "excluded-by-query",
        severity: Severity::Note,
        says: "tenrounds is loaded, but not used for all AES, in",
        seen: |p| joined(&p.queries).filter(|_| p.tenrounds.is_some()),
        restart: false,
        cure: ("system", "the program's own setting of a property query or of FIPS, if it has one"),
    },
    Kind {
        id: NOT_LOADED,
        severity: Severity::Note,
        says: "the configuration prefers tenrounds, but it is not loaded in",
        seen: without,
        restart: true,
        cure: ("shell", "start them again; what stays without reads another configuration, or none"),
    },
    Kind {
        id: "carries-own",
        severity: Severity::Note,
        says: "cryptography of the program's own, which tenrounds does not reach, is in",
        seen: |p| joined(&p.carries).filter(|_| p.tenrounds.is_none()),
        restart: false,
        cure: ("system", "install the distribution's build of the program, which uses the system's OpenSSL   (man tenrounds-run lists what tenrounds does not reach)"),
    },
];

/// Only where the configuration prefers tenrounds.
const NOT_LOADED: &str = "not-loaded";

pub fn check(processes: &Processes, tenrounds_preferred: bool) -> Vec<Finding> {
    let kinds = KINDS.iter();
    let kinds = kinds.filter(|kind| tenrounds_preferred || kind.id != NOT_LOADED);
    let found = kinds.filter_map(|kind| kind.finding(&processes.list));
    found.chain(unreadable(processes)).collect()
}

impl Kind {
    fn finding(&self, processes: &[Process]) -> Option<Finding> {
        let seen = |process| Some((process, (self.seen)(process)?));
        let concerned: Vec<(&Process, String)> = processes.iter().filter_map(seen).collect();
        if concerned.is_empty() {
            return None;
        }
        let says = format!("{} {}", self.says, who(&concerned));
        let mut finding = Finding::new(self.severity, Group::Processes, self.id, says);
        for (process, value) in &concerned {
            let from = format!("/proc/{}/maps ({})", process.pid, process.name);
            finding = finding.seen(from, value);
        }
        let units = concerned.iter().filter_map(|(p, _)| p.unit.as_deref());
        let units: BTreeSet<&str> = units.filter(|_| self.restart).collect();
        for unit in units.iter().take(5) {
            finding = finding.cure("shell", format!("systemctl restart {unit}"));
        }
        Some(match units.is_empty() {
            true => finding.cure(self.cure.0, self.cure.1),
            false => finding,
        })
    }
}

/// "3 processes: 12 (nginx), 13 (nginx) and 1 more".
fn who(processes: &[(&Process, String)]) -> String {
    const SHOWN: usize = 6;
    let names = processes.iter().take(SHOWN).map(|(p, _)| p.label());
    let names = names.collect::<Vec<String>>().join(", ");
    let all = count(processes.len());
    match processes.len().saturating_sub(SHOWN) {
        0 => format!("{all}: {names}"),
        more => format!("{all}: {names} and {more} more"),
    }
}

fn joined(list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| list.join(", "))
}

fn replaced(process: &Process) -> Option<String> {
    let library = process.libcrypto.iter().find(|library| library.deleted);
    let ours = process
        .tenrounds
        .as_ref()
        .filter(|_| process.tenrounds_deleted);
    let path = library.map(|library| &library.path).or(ours)?;
    Some(format!("{path} (deleted)"))
}

fn library_is_old(library: &Library) -> bool {
    let version = library.version.as_deref().unwrap_or_default();
    let name = library.path.rsplit('/').next().unwrap_or_default();
    version.starts_with("1.") || version.starts_with("0.") || is_old(name)
}

/// A process without tenrounds started before the configuration was written, or does not read it.
/// One in another root reads another configuration, so it is left out.
fn without(process: &Process) -> Option<String> {
    let is_new = process
        .libcrypto
        .iter()
        .any(|library| !library_is_old(library));
    let concerned = is_new && process.tenrounds.is_none() && process.root.is_none();
    concerned.then(|| "libcrypto, and no tenrounds.so".to_owned())
}

fn unreadable(processes: &Processes) -> Option<Finding> {
    let (hidden, all) = (processes.unreadable, count(processes.seen));
    let (by, cure) = match is_root() {
        true => ("even root", None),
        false => ("this user", Some("sudo tenrounds doctor")),
    };
    let says = format!("{by} cannot examine {hidden} of {all}");
    let finding = Finding::note(Group::Processes, "unreadable", says);
    let finding = finding.seen("/proc/PID/maps", "permission denied");
    let cured = cure.map(|cure| finding.clone().cure("shell", cure));
    (hidden > 0).then(|| cured.unwrap_or(finding))
}
