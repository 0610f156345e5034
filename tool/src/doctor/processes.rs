// SPDX-License-Identifier: BSD-2-Clause
//! Findings about running processes: replaced libraries, and cryptography that is not reached.

use crate::finding::{Finding, Group};
use crate::inventory::is_old;
use crate::inventory::processes::{count, Library, Process, Processes};
use crate::inventory::scan::BUDGET;
use crate::trust::is_root;
use std::collections::BTreeSet;

/// "12 (nginx), 13 (nginx) and 4 more".
fn who(processes: &[&Process]) -> String {
    const SHOWN: usize = 6;
    let names: Vec<String> = processes.iter().take(SHOWN).map(|p| p.label()).collect();
    match processes.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}

pub fn check(processes: &Processes, tenrounds_preferred: bool) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(restart(processes));
    found.extend(old(processes));
    found.extend(by_program(processes));
    found.extend(by_query(processes));
    found.extend(unreadable_conf(processes));
    if tenrounds_preferred {
        found.extend(without(processes));
    }
    found.extend(carrying(processes));
    found.extend(unreadable(processes));
    found
}

fn those(processes: &Processes, which: impl Fn(&Process) -> bool) -> Vec<&Process> {
    processes.list.iter().filter(|p| which(p)).collect()
}

fn restart(processes: &Processes) -> Option<Finding> {
    let stale = those(processes, Process::is_restart_needed);
    if stale.is_empty() {
        return None;
    }
    let says = format!(
        "code that was replaced on disk still runs in {}: {}",
        count(stale.len()),
        who(&stale)
    );
    let mut finding = Finding::warning(Group::Processes, "restart-needed", says);
    for process in stale.iter().take(5) {
        let library = process.libcrypto.iter().find(|library| library.deleted);
        let path = library
            .map(|l| l.path.as_str())
            .or(process.tenrounds.as_deref());
        let value = format!("{} (deleted)", path.unwrap_or_default());
        finding = finding.seen(format!("/proc/{}/maps", process.pid), value);
    }
    let units: BTreeSet<&str> = stale.iter().filter_map(|p| p.unit.as_deref()).collect();
    for unit in units.iter().take(5) {
        finding = finding.cure("shell", format!("systemctl restart {unit}"));
    }
    match units.is_empty() {
        true => Some(finding.cure("shell", "end these processes and start them again")),
        false => Some(finding),
    }
}

fn library_is_old(library: &Library) -> bool {
    let by_version = library
        .version
        .as_deref()
        .is_some_and(|v| v.starts_with("1.") || v.starts_with("0."));
    let name = library.path.rsplit('/').next().unwrap_or_default();
    by_version || is_old(name)
}

fn old(processes: &Processes) -> Option<Finding> {
    let old = those(processes, |p| p.libcrypto.iter().any(library_is_old));
    let first = old.first()?;
    let says = format!(
        "{} with an OpenSSL before 3.0, which knows no providers: {}",
        count(old.len()),
        who(&old)
    );
    let library = first.libcrypto.iter().find(|l| library_is_old(l))?;
    Some(
        Finding::note(Group::Processes, "old-openssl", says)
            .seen(format!("/proc/{}/maps", first.pid), &library.path)
            .cure(
                "system",
                "a newer build of the program; or the engine: tenrounds enable",
            ),
    )
}

fn by_program(processes: &Processes) -> Option<Finding> {
    let set = those(processes, |p| {
        !p.sets_properties.is_empty() && !p.libcrypto.is_empty()
    });
    let first = set.first()?;
    let says = format!(
        "{} can set default properties by program, over those of the configuration: {}",
        count(set.len()),
        who(&set)
    );
    Some(
        Finding::note(Group::Processes, "properties-by-program", says)
            .seen(
                &first.sets_properties[0],
                "calls EVP_set_default_properties() or EVP_default_properties_enable_fips()",
            )
            .cure(
                "shell",
                "tenrounds run --count -- COMMAND   (shows what is executed)",
            ),
    )
}

/// Processes that have loaded tenrounds, and ask OpenSSL for algorithms that are not from it.
fn by_query(processes: &Processes) -> Option<Finding> {
    let asking = those(processes, |p| {
        !p.queries.is_empty() && p.tenrounds.is_some()
    });
    if asking.is_empty() {
        return None;
    }
    let says = format!(
        "tenrounds is loaded, but not used for all AES, in {}: {}",
        count(asking.len()),
        who(&asking)
    );
    let mut finding = Finding::note(Group::Processes, "excluded-by-query", says);
    for process in asking.iter().take(5) {
        finding = finding.seen(
            format!("/proc/{}/maps", process.pid),
            process.queries.join(", "),
        );
    }
    Some(finding.cure(
        "system",
        "the program's own setting of a property query or of FIPS, if it has one",
    ))
}

/// Processes whose user cannot read the configuration that their environment names, as after
/// another user started them.
fn unreadable_conf(processes: &Processes) -> Option<Finding> {
    let blind = those(processes, |p| {
        p.unreadable.is_some() && p.tenrounds.is_none()
    });
    if blind.is_empty() {
        return None;
    }
    let says = format!(
        "OPENSSL_CONF names a file that the user of the process cannot read, so OpenSSL works without it, in {}: {}",
        count(blind.len()),
        who(&blind)
    );
    let mut finding = Finding::warning(Group::Processes, "conf-hidden", says);
    for process in blind.iter().take(5) {
        let why = process.unreadable.as_deref().unwrap_or_default();
        finding = finding.seen(format!("/proc/{}/environ", process.pid), why);
    }
    Some(finding.cure(
        "shell",
        "tenrounds enable --system; or start it as root by tenrounds run, whose files all users can read",
    ))
}

/// Processes that use OpenSSL without tenrounds: they started before the configuration was written,
/// or do not read it. Processes in another root read another configuration, so they are left out.
fn without(processes: &Processes) -> Option<Finding> {
    let new = |p: &Process| p.libcrypto.iter().any(|library| !library_is_old(library));
    let without = those(processes, |p| {
        new(p) && p.tenrounds.is_none() && p.root.is_none()
    });
    let first = without.first()?;
    let says = format!(
        "the configuration prefers tenrounds, but it is not loaded in {} with OpenSSL: {}",
        count(without.len()),
        who(&without)
    );
    let finding = Finding::note(Group::Processes, "not-loaded", says).seen(
        format!("/proc/{}/maps", first.pid),
        "libcrypto, and no tenrounds.so",
    );
    Some(match first.unit.as_deref() {
        Some(unit) => finding.cure("shell", format!("systemctl restart {unit}")),
        None => finding.cure(
            "shell",
            "start them again; what stays without reads another configuration, or none",
        ),
    })
}

/// Processes with cryptography of their own. An OpenSSL of their own is reached if it has loaded
/// tenrounds.
fn carrying(processes: &Processes) -> Vec<Finding> {
    let carrying = those(processes, |p| {
        !p.carries.is_empty() && p.tenrounds.is_none()
    });
    let other = those(processes, |p| !p.other.is_empty() && p.libcrypto.is_empty());
    let mut found = Vec::new();
    if !carrying.is_empty() {
        let verb = if carrying.len() == 1 {
            "bundles"
        } else {
            "bundle"
        };
        let says = format!(
            "{} {verb} cryptography that tenrounds does not reach: {}",
            count(carrying.len()),
            who(&carrying)
        );
        let mut finding = Finding::note(Group::Processes, "carries-own", says);
        for process in carrying.iter().take(5) {
            finding = finding.seen(
                format!("/proc/{}/maps", process.pid),
                process.carries.join(", "),
            );
        }
        found.push(finding.cure(
            "system",
            "install the distribution's build of the program, which uses the system's OpenSSL   (man tenrounds-run lists what tenrounds does not reach)",
        ));
    }
    if let Some(first) = other.first() {
        let says = format!(
            "{} with another library for AES: {}",
            count(other.len()),
            who(&other)
        );
        found.push(
            Finding::note(Group::Processes, "other-library", says)
                .seen(format!("/proc/{}/maps", first.pid), first.other.join(", "))
                .cure(
                    "system",
                    "nothing: only programs that use OpenSSL are reached",
                ),
        );
    }
    found
}

fn unreadable(processes: &Processes) -> Vec<Finding> {
    let mut found = Vec::new();
    if processes.unreadable > 0 {
        let by = if is_root() { "even root" } else { "this user" };
        let says = format!(
            "{by} cannot examine {} of {}",
            processes.unreadable,
            count(processes.seen)
        );
        let finding = Finding::note(Group::Processes, "unreadable", says)
            .seen("/proc/PID/maps", "permission denied");
        found.push(match is_root() {
            true => finding,
            false => finding.cure("shell", "sudo tenrounds doctor"),
        });
    }
    if processes.unscanned > 0 {
        let says = format!(
            "{} files were not examined: that would have taken too long",
            processes.unscanned
        );
        found.push(
            Finding::note(Group::Processes, "incomplete", says)
                .seen("time", format!("more than {} s", BUDGET.as_secs()))
                .cure(
                    "shell",
                    "tenrounds doctor   (again; files are read faster then)",
                ),
        );
    }
    found
}
