// SPDX-License-Identifier: BSD-2-Clause
//! AppArmor confines programs by profiles. Most name what OpenSSL reads by including
//! <abstractions/openssl>, which knows neither tenrounds.cnf nor a module in /usr/local. A confined
//! program that may not read them works with stock OpenSSL, and says nothing.

use crate::root::Root;
use std::path::{Path, PathBuf};

/// The abstraction includes each file of this directory, from AppArmor 3.0 on.
const DROP_INS: &str = "/etc/apparmor.d/abstractions/openssl.d";
const ABSTRACTION: &str = "/etc/apparmor.d/abstractions/openssl";
const ENABLED: &str = "/sys/module/apparmor/parameters/enabled";
const PROFILES: &str = "/sys/kernel/security/apparmor/profiles";

/// Where profiles confine programs without regard to tenrounds.
pub struct Blind {
    /// What says so, and its value.
    pub seen: (&'static str, String),
    /// The command that lets these programs load tenrounds.
    pub cure: String,
}

/// Looks at profiles and drop-ins; None if confined programs may load each of these modules.
pub fn blind(root: &Root, modules: &[PathBuf]) -> Option<Blind> {
    let is_enabled = root.line(ENABLED).is_some_and(|value| value == "Y");
    let has_abstraction = root.exists(ABSTRACTION);
    let text = |name| root.text(format!("{DROP_INS}/{name}")).ok();
    let texts = root.names(DROP_INS).into_iter().filter_map(text);
    let ours: Vec<String> = texts.filter(|text| text.contains("tenrounds")).collect();
    let is_allowed = |module: &&PathBuf| ours.iter().any(|text| allows(text, module));
    let denied = modules.iter().find(|module| !is_allowed(module));
    if !is_enabled || !has_abstraction || (denied.is_none() && !ours.is_empty()) {
        return None;
    }
    // Only root can read the list.
    let seen = match root.text(PROFILES) {
        Ok(profiles) => match profiles.lines().count() {
            0 => return None,
            n => (PROFILES, format!("{n} profiles are loaded")),
        },
        Err(_) => (ENABLED, "Y".to_owned()),
    };
    let file = format!("{DROP_INS}/tenrounds");
    let mut cure = vec![format!(
        "sudo install -D -m 644 {} {file}",
        drop_in().display()
    )];
    if let Some(module) = denied.filter(|module| !is_usual(module)) {
        let line = format!("  {} mr,", module.display());
        cure.push(format!("echo '{line}' | sudo tee -a {file}"));
    }
    cure.push("sudo systemctl reload apparmor".to_owned());
    let cure = cure.join(" && ");
    Some(Blind { seen, cure })
}

/// Whether a drop-in that names tenrounds lets programs load a module.
fn allows(text: &str, module: &Path) -> bool {
    let folder = module.parent().and_then(Path::to_str);
    is_usual(module) || folder.is_some_and(|folder| text.contains(folder))
}

/// Whether the drop-in that is installed with tenrounds allows a module.
fn is_usual(module: &Path) -> bool {
    let in_folder = |folder| module.to_str().is_some_and(|path| path.starts_with(folder));
    ["/usr/lib", "/usr/local/lib", "/lib"]
        .into_iter()
        .any(in_folder)
}

/// The drop-in of this installation.
fn drop_in() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let prefix = program.parent().and_then(|bin| bin.parent());
    let installed = prefix.map(|prefix| prefix.join("share/tenrounds/apparmor"));
    let found = installed.filter(|file| file.exists());
    found.unwrap_or_else(|| PathBuf::from("packaging/apparmor/tenrounds"))
}
