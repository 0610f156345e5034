// SPDX-License-Identifier: BSD-2-Clause
//! The whole system: FIPS mode, interrupted runs of enable and disable, and whether this
//! environment's OpenSSL works at all.

use base::apparmor;
use base::finding::{Finding, Group, Severity};
use base::root::Root;
use libcrypto::LibCrypto;
use setup::enable;
use setup::force::Force;
use setup::openssl::probe;
use std::path::PathBuf;

const GROUP: Group = Group::Configuration;
const FIPS: &str = "/proc/sys/crypto/fips_enabled";

pub fn fips(root: &Root, tenrounds_preferred: bool) -> Option<Finding> {
    let value = root.line(FIPS).filter(|value| value != "0")?;
    let finding = match tenrounds_preferred {
        true => {
            let says =
                "the system is in FIPS mode, and tenrounds, which is not validated, is preferred";
            let cure = "tenrounds disable   (or leave FIPS mode: boot without fips=1)";
            Finding::warning(GROUP, "fips-system", says).cure("shell", cure)
        }
        false => {
            let says = "the system is in FIPS mode: AES has to come from validated modules, and tenrounds is none";
            Finding::note(GROUP, "fips-system", says)
        }
    };
    Some(finding.seen(FIPS, value))
}

/// Runs of `enable` and `disable` for the system or a JDK that were killed or lost their power. If
/// what they noted cannot be read, nothing can be completed or undone.
pub fn interrupted(root: &Root) -> Vec<Finding> {
    let finding = |(file, options): (PathBuf, String)| {
        let says = format!("{}; programs work without tenrounds", enable::INTERRUPTED);
        Finding::warning(GROUP, "enable-interrupted", says)
            .seen("the configuration", file.display())
            .cure(
                "shell",
                format!("tenrounds enable{options}   (completes it)"),
            )
            .cure("shell", format!("tenrounds disable{options}   (undoes it)"))
    };
    match enable::interrupted(root.top()) {
        Ok(found) => found.into_iter().map(finding).collect(),
        Err(error) => {
            let says = "what 'tenrounds enable --system' has changed cannot be read";
            let finding = Finding::warning(GROUP, "enable-state", says);
            let finding = finding.seen("the error, and the way out", error);
            let cure = "tenrounds status   (shows which configurations prefer tenrounds)";
            vec![finding.cure("shell", cure)]
        }
    }
}

/// What keeps a configuration that prefers tenrounds from reaching programs.
pub fn force(force: &Force, findings: &[Finding]) -> Vec<Finding> {
    let mut found = Vec::new();
    let explained = |f: &Finding| f.group == GROUP && f.severity == Severity::Problem;
    if let (Some((of, why)), false) = (force.problem(), findings.iter().any(explained)) {
        let says = format!(
            "{} prefers tenrounds, but OpenSSL does not take AES from it",
            of.file.display()
        );
        let finding = Finding::problem(GROUP, "does-not-work", says).seen("a trial", why);
        found.push(finding.cure(
            "shell",
            "tenrounds status   (shows each check of the trial)",
        ));
    }
    if let Some(hidden) = force.hidden() {
        let says = "only some users' programs take AES from tenrounds: the others cannot read its configuration or its module";
        let finding = Finding::warning(GROUP, "hidden-from-others", says);
        let finding = finding.seen(hidden.part.display(), &hidden.why);
        found.push(match &hidden.cure {
            Some(cure) => finding.cure("shell", format!("sudo {cure}")),
            None => finding.cure(
                "shell",
                "namei -l on the module and the configuration   (shows their modes)",
            ),
        });
    }
    found
}

/// Programs that AppArmor confines, and that may not load tenrounds.
pub fn confined(root: &Root, preferred: bool, modules: &[PathBuf]) -> Option<Finding> {
    let blind = apparmor::blind(root, modules).filter(|_| preferred)?;
    let says = "AppArmor lets confined programs read neither the configuration nor the module of tenrounds: they run stock OpenSSL";
    let (from, value) = blind.seen;
    Some(
        Finding::warning(GROUP, "apparmor", says)
            .seen(from, value)
            .cure("shell", blind.cure),
    )
}

/// Runs a child process with this environment. libcrypto reads its configuration there, fetches a
/// cipher and draws random numbers.
pub fn works(root: &Root) -> Option<Finding> {
    if !root.is_machine() || LibCrypto::open().is_err() {
        return None;
    }
    let why = match probe::ask(&[]) {
        Ok(probe) if probe.works() && probe.refused.is_none() => return None,
        Ok(probe) => probe
            .refused
            .or(probe.error)
            .unwrap_or_else(|| "it gives no reason".to_owned()),
        Err(error) => error.to_string(),
    };
    let says = "OpenSSL does not work in this environment, as it is configured";
    let finding = Finding::problem(GROUP, "openssl-broken", says);
    let finding = finding.seen("a child process that uses it", why);
    let without = "OPENSSL_CONF=/dev/null openssl list -providers   (if this works, the configuration is wrong)";
    let where_it_is =
        "tenrounds status   (shows where tenrounds is enabled, and how to disable it)";
    Some(finding.cure("shell", without).cure("shell", where_it_is))
}
