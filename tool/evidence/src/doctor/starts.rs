// SPDX-License-Identifier: BSD-2-Clause
//! What the trial of a configuration tells the doctor: that OpenSSL does not start with it, or runs
//! without a provider that it activates. Parsing the file does not show everything that OpenSSL
//! refuses.

use base::finding::{Finding, Group};
use setup::force::Configuration;
use setup::openssl::configuration::OWN;
use setup::openssl::trial;
use std::path::Path;

const GROUP: Group = Group::Configuration;
/// The maximum number of OpenSSL's errors that a finding shows.
const SHOWN: usize = 6;

pub fn check(of: &Configuration) -> Option<Finding> {
    let file = of.effect.source.file.display();
    if let Some(loose) = &of.not_tried {
        let says = format!("{file} was not tried: root does not run what other users can replace");
        let finding = Finding::note(GROUP, "not-tried", says);
        return Some(finding.seen(loose.part.display(), &loose.why));
    }
    if let Some((program, said)) = &of.refused {
        let says = format!("OpenSSL does not start with {file}: programs that use it fail");
        let by = format!("{} {}", program.display(), trial::STARTED);
        let finding = Finding::problem(GROUP, "openssl-broken", says);
        let said = said.iter().take(SHOWN);
        let finding = said.fold(finding, |finding, line| finding.seen(&by, line));
        return Some(disable(of, finding.cure(
            "shell",
            "OPENSSL_CONF=/dev/null openssl list -providers   (if this works, the configuration is wrong)",
        )));
    }
    let mut programs = of.programs.iter();
    programs.find_map(|program| not_loaded(of, &program.path))
}

/// Adds the command that undoes `enable`, if the configuration prefers tenrounds.
fn disable(of: &Configuration, finding: Finding) -> Finding {
    let mut places = of.effect.cnf.assignments.iter().map(|a| &a.place.file);
    let is_own = |file: &std::path::PathBuf| file.file_name().is_some_and(|name| name == OWN);
    match (of.prefers(), places.any(is_own)) {
        (false, _) => finding,
        (true, true) => finding.cure(
            "shell",
            "sudo tenrounds disable --system   (removes only what 'enable' added)",
        ),
        (true, false) => finding.cure("shell", "tenrounds disable   (if 'enable' was the cause)"),
    }
}

/// Finds a provider that is activated but not loaded. OpenSSL then starts without it and gives no
/// reason.
fn not_loaded(of: &Configuration, program: &Path) -> Option<Finding> {
    let (cnf, findings) = (&of.effect.cnf, &of.effect.findings);
    // A finding about a module already gives the reason.
    if findings
        .iter()
        .any(|finding| finding.id.starts_with("module-"))
    {
        return None;
    }
    let active = trial::active_providers(program, of.conf.as_deref()).ok()?;
    let is_active = |name: &str| active.iter().any(|(active, _)| active == name);
    let mut activated = of.effect.activates.iter();
    let (name, named) = activated
        .find(|(name, named)| !is_active(cnf.value(&named.value, "identity").unwrap_or(name)))?;
    let shown: Vec<&str> = active.iter().map(|(name, _)| name.as_str()).collect();
    let (file, program) = (of.effect.source.file.display(), program.display());
    let says = format!("the provider '{name}' is activated in {file}, but OpenSSL runs without it");
    let module = cnf.value(&named.value, "module").unwrap_or(name);
    let list = format!("{program} list -providers");
    let shows_why = format!(
        "OPENSSL_CONF=/dev/null {list} -provider {module}   (shows why it cannot be loaded)"
    );
    let finding = Finding::problem(GROUP, "provider-not-loaded", says).seen(&named.place, named);
    let finding = finding.seen(&list, format!("active: {}", shown.join(", ")));
    Some(finding.cure("shell", shows_why))
}
