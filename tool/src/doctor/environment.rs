// SPDX-License-Identifier: BSD-2-Clause
//! Variables that override what is configured: of this shell, of running processes, and in the
//! files that set them for everybody.

use crate::finding::{Finding, Group};
use crate::inventory::processes::Process;
use crate::inventory::VARIABLES;
use crate::root::Root;
use machine::masks;
use std::collections::BTreeMap;
use std::path::Path;
use tenrounds_sys::{names_of, Features, Mask};

/// Files from which a shell or a service gets variables.
const FILES: [&str; 4] = [
    "/etc/environment",
    "/etc/profile",
    "/etc/bash.bashrc",
    "/etc/systemd/system.conf",
];
const DIRECTORIES: [&str; 3] = [
    "/etc/profile.d",
    "/etc/environment.d",
    "/etc/systemd/system.conf.d",
];

/// The id of the finding that libcrypto's own mask is set.
const CPU_MASK: &str = if cfg!(target_arch = "aarch64") {
    "armcap"
} else {
    "ia32cap"
};

/// What this process was given.
pub fn here() -> Vec<(&'static str, String)> {
    VARIABLES
        .iter()
        .filter_map(|name| {
            let value = std::env::var_os(name)?;
            Some((*name, value.to_string_lossy().into_owned()))
        })
        .collect()
}

pub fn check(root: &Root, here: &[(&'static str, String)], processes: &[Process]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (name, value) in here {
        let who = "this shell";
        let finding = variable(root, name, value, who);
        let finding = finding.seen(format!("${name}"), value);
        found.push(finding.cure("shell", format!("unset {name}")));
    }
    found.extend(of_processes(processes));
    found.extend(in_files(root));
    found
}

/// What a variable does to whom.
fn variable(root: &Root, name: &str, value: &str, who: &str) -> Finding {
    let group = Group::Environment;
    let absent = |path: &str| Path::new(path).is_absolute() && !root.exists(path);
    match name {
        masks::TENROUNDS_MASK => match masks::parse(value, name) {
            Err(error) => Finding::warning(group, "mask-unknown", format!("in {who}, {error}")),
            Ok(Mask { masked: 0, wanted }) if wanted != 0 => Finding::note(
                group,
                "variable-overrides",
                format!("{name} demands 512-bit registers in {who}, also where they lower the clock"),
            ),
            Ok(mask) => masked("mask", name, mask.masked, who),
        },
        masks::LIBCRYPTO_MASK => masked(CPU_MASK, name, masks::removed_by(value), who),
        "OPENSSL_CONF" if value.is_empty() => Finding::warning(
            group,
            "conf-variable-empty",
            format!("OPENSSL_CONF is empty in {who}: OpenSSL reads no configuration there"),
        ),
        "OPENSSL_CONF" if absent(value) => Finding::warning(
            group,
            "conf-variable-missing",
            format!("OPENSSL_CONF in {who} names a file that does not exist: OpenSSL goes on without any configuration"),
        ),
        "OPENSSL_MODULES" if absent(value) => Finding::problem(
            group,
            "modules-variable-missing",
            format!("OPENSSL_MODULES in {who} names a directory that does not exist: no provider module is found there"),
        ),
        "OPENSSL_CONF" if by_run(value) => Finding::note(
            group,
            "variable-run",
            format!("tenrounds is preferred in {who}, by 'tenrounds run' or 'enable'"),
        ),
        _ => Finding::note(
            group,
            "variable-overrides",
            format!("{name} overrides in {who} what is built into OpenSSL"),
        ),
    }
}

/// Whether it is one of the configurations that `run` and `enable` write.
fn by_run(path: &str) -> bool {
    let path = Path::new(path);
    let parent = path.parent().and_then(Path::file_name);
    parent.is_some_and(|dir| dir.to_string_lossy().starts_with("tenrounds"))
}

fn masked(id: &'static str, name: &str, features: Features, who: &str) -> Finding {
    let group = Group::Environment;
    match names_of(features).join(", ") {
        names if names.is_empty() => Finding::note(
            group,
            "variable-overrides",
            format!("{name} is set in {who}, and removes no feature"),
        ),
        names => Finding::warning(
            group,
            id,
            format!("{name} removes {names} in {who}: AES is slower than it could be"),
        ),
    }
}

/// Makes one finding of all processes with the same variable and value. If the value is a path,
/// processes whose root has it and those whose root lacks it are separate findings.
fn of_processes(processes: &[Process]) -> Vec<Finding> {
    let mut holders: BTreeMap<(&str, &str, bool), Vec<&Process>> = BTreeMap::new();
    for process in processes {
        for (name, value) in process.variables.iter().flatten() {
            let there = process.view.exists(value);
            let alike = holders.entry((name, value, there)).or_default();
            alike.push(process);
        }
    }
    holders
        .into_iter()
        .map(|((name, value, _), holders)| {
            let first = holders[0];
            let who = match holders.len() {
                1 => format!("process {} ({})", first.pid, first.name),
                n => format!("{n} processes, such as {} ({})", first.pid, first.name),
            };
            let mut finding = variable(&first.view, name, value, &who);
            for holder in holders.iter().take(5) {
                finding = finding.seen(format!("/proc/{}/environ", holder.pid), format!("{name}={value}"));
            }
            match first.unit.as_deref() {
                Some(unit) => finding.cure(
                    "shell",
                    format!("systemctl cat {unit} | grep -n {name}   (remove it there, then: systemctl restart {unit})"),
                ),
                None => finding.cure("where it is started", format!("unset {name}, and start it again")),
            }
        })
        .collect()
}

/// Lines that set such a variable for whoever logs in or for every service.
fn in_files(root: &Root) -> Vec<Finding> {
    let in_directories = DIRECTORIES.iter().flat_map(|dir| {
        let names = root.names(dir).into_iter();
        names.map(move |name| format!("{dir}/{name}"))
    });
    let files = FILES.iter().map(|file| (*file).to_owned());
    let mut found = Vec::new();
    for file in files.chain(in_directories) {
        let Ok(text) = root.text(&file) else { continue };
        for (index, line) in text.lines().enumerate() {
            let Some((name, value)) = sets(line) else {
                continue;
            };
            let finding = variable(root, name, &value, "whatever reads this file");
            let place = format!("{file}:{}", index + 1);
            let finding = finding.seen(&place, line.trim());
            found.push(finding.cure(&place, format!("remove: {}", line.trim())));
        }
    }
    found
}

/// The variable of ours that a line sets, as a shell, pam_env or systemd reads it.
fn sets(line: &str) -> Option<(&'static str, String)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let line = line
        .strip_prefix("DefaultEnvironment=")
        .or_else(|| line.strip_prefix("export "))
        .unwrap_or(line);
    let line = line.trim_start_matches(['"', '\'', ' ']);
    VARIABLES.iter().find_map(|name| {
        let value = line.strip_prefix(name)?.strip_prefix('=')?;
        Some((*name, value.trim_matches(['"', '\'', ' ']).to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_set() {
        let mask = |value: &str| Some((masks::TENROUNDS_MASK, value.to_owned()));
        assert_eq!(sets("export TENROUNDS_MASK=noaes"), mask("noaes"));
        assert_eq!(
            sets("DefaultEnvironment=\"TENROUNDS_MASK=novaes\""),
            mask("novaes")
        );
        assert_eq!(sets("# TENROUNDS_MASK=noaes"), None);
        assert_eq!(sets("TENROUNDS_MASKS=1"), None);
    }
}
