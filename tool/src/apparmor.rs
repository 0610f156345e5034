// SPDX-License-Identifier: BSD-2-Clause
//! AppArmor confines programs by profiles. Most name what OpenSSL reads by including
//! <abstractions/openssl>, which knows neither tenrounds.cnf nor a module in /usr/local. A confined
//! program that may not read them works with stock OpenSSL, and says nothing.

use crate::root::Root;
use std::path::PathBuf;

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

/// Looks at profiles and drop-ins; None if nothing is to be done.
pub fn blind(root: &Root) -> Option<Blind> {
    let is_enabled = root.line(ENABLED).is_some_and(|value| value == "Y");
    let has_abstraction = root.exists(ABSTRACTION);
    let names_us = |name: String| {
        let text = root.text(format!("{DROP_INS}/{name}"));
        text.is_ok_and(|text| text.contains("tenrounds"))
    };
    if !is_enabled || !has_abstraction || root.names(DROP_INS).into_iter().any(names_us) {
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
    let cure = format!(
        "sudo install -D -m 644 {} {DROP_INS}/tenrounds && sudo systemctl reload apparmor",
        drop_in().display()
    );
    Some(Blind { seen, cure })
}

/// The drop-in of this installation.
fn drop_in() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let prefix = program.parent().and_then(|bin| bin.parent());
    let installed = prefix.map(|prefix| prefix.join("share/tenrounds/apparmor"));
    let found = installed.filter(|file| file.exists());
    found.unwrap_or_else(|| PathBuf::from("packaging/apparmor/tenrounds"))
}
