// SPDX-License-Identifier: BSD-2-Clause
//! Variables that override what is configured, of this shell and of running processes.

use base::finding::{Finding, Group, Severity};
use base::inventory::processes::Process;
use base::inventory::VARIABLES;
use base::root::Root;
use machine::masks;
use std::collections::BTreeMap;
use std::path::Path;
use tenrounds_sys::names_of;

/// The id of the finding that libcrypto's own mask is set.
const CPU_MASK: &str = match cfg!(target_arch = "aarch64") {
    true => "armcap",
    false => "ia32cap",
};

/// What this process was given.
pub fn here() -> Vec<(&'static str, String)> {
    let set = |name: &&'static str| {
        let value = std::env::var_os(name)?;
        Some((*name, value.to_string_lossy().into_owned()))
    };
    VARIABLES.iter().filter_map(set).collect()
}

pub fn check(root: &Root, here: &[(&'static str, String)], processes: &[Process]) -> Vec<Finding> {
    let of_shell = |(name, value): &(&str, String)| {
        let finding = variable(root, name, value, "this shell").seen(format!("${name}"), value);
        finding.cure("shell", format!("unset {name}   (grep -rs {name} /etc/environment /etc/profile* ~/.profile finds who sets it)"))
    };
    let mut found: Vec<Finding> = here.iter().map(of_shell).collect();
    found.extend(of_processes(processes));
    found
}

/// What a variable does to whom.
fn variable(root: &Root, name: &str, value: &str, who: &str) -> Finding {
    use Severity::{Note, Problem, Warning};
    let absent = || Path::new(value).is_absolute() && !root.exists(value);
    let overrides = || {
        (
            Note,
            "variable-overrides",
            format!("{name} is set in {who}, and overrides the default"),
        )
    };
    let masked = |id, features| match names_of(features).join(", ") {
        names if names.is_empty() => overrides(),
        names => (
            Warning,
            id,
            format!("{name} removes {names} in {who}: AES is slower than it could be"),
        ),
    };
    let (severity, id, says) = match name {
        masks::TENROUNDS_MASK => match masks::parse(value, name) {
            Err(error) => (Warning, "mask-unknown", format!("in {who}, {error}")),
            Ok(mask) => masked("mask", mask.masked),
        },
        masks::LIBCRYPTO_MASK => masked(CPU_MASK, masks::removed_by(value)),
        "OPENSSL_CONF" if value.is_empty() || absent() => (
            Warning,
            "conf-variable-missing",
            format!("OPENSSL_CONF in {who} names no file: OpenSSL goes on without any configuration"),
        ),
        "OPENSSL_MODULES" if absent() => (
            Problem,
            "modules-variable-missing",
            format!("OPENSSL_MODULES in {who} names a directory that does not exist: no provider module is found there"),
        ),
        "OPENSSL_CONF" if by_run(value) => (
            Note,
            "variable-run",
            format!("tenrounds is preferred in {who}, by 'tenrounds run' or 'enable'"),
        ),
        _ => overrides(),
    };
    Finding::new(severity, Group::Environment, id, says)
}

/// Whether it is one of the configurations that `run` and `enable` write.
fn by_run(path: &str) -> bool {
    let parent = Path::new(path).parent().and_then(Path::file_name);
    parent.is_some_and(|dir| dir.to_string_lossy().starts_with("tenrounds"))
}

/// Makes one finding of all processes with the same variable and value. If the value is a path,
/// processes whose root has it and those whose root lacks it are separate findings.
fn of_processes(processes: &[Process]) -> Vec<Finding> {
    let mut holders: BTreeMap<(&str, &str, bool), Vec<&Process>> = BTreeMap::new();
    for process in processes {
        for (name, value) in process.variables.iter().flatten() {
            let there = process.view.exists(value);
            holders
                .entry((name, value, there))
                .or_default()
                .push(process);
        }
    }
    let finding = |((name, value, _), holders): ((&str, &str, bool), Vec<&Process>)| {
        let first = holders[0];
        let who = match holders.len() {
            1 => format!("process {}", first.label()),
            n => format!("{n} processes, such as {}", first.label()),
        };
        let mut finding = variable(&first.view, name, value, &who);
        for holder in &holders {
            let from = format!("/proc/{}/environ", holder.pid);
            finding = finding.seen(from, format!("{name}={value}"));
        }
        match first.unit.as_deref() {
            Some(unit) => finding.cure(
                "shell",
                format!("systemctl cat {unit} | grep -n {name}   (remove it there, then: systemctl restart {unit})"),
            ),
            None => finding.cure("where it is started", format!("unset {name}, and start it again")),
        }
    };
    holders.into_iter().map(finding).collect()
}
