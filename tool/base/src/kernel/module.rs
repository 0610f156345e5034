// SPDX-License-Identifier: BSD-2-Clause
//! Our module, tenrounds.ko: whether it is loaded, with what, and whether it could be.

use super::drivers::Driver;
use crate::root::Root;
use serde::Serialize;
use std::collections::BTreeMap;
use terminal::style::clean;

pub const SYS: &str = "/sys/module/tenrounds";
pub const DKMS: &str = "/var/lib/dkms/tenrounds";
/// Where a module that is not of the kernel's own package lies below /lib/modules/RELEASE
/// (dkms(8)).
const FOLDERS: [&str; 4] = ["updates/dkms", "updates", "extra", "weak-updates"];

#[derive(Debug, Clone, Serialize)]
pub struct Module {
    /// The release of the running kernel.
    pub release: String,
    /// The kernel loads modules at all.
    pub loadable: bool,
    /// It loads only modules with a signature that it knows.
    pub signed_only: bool,
    pub loaded: bool,
    /// The version of the loaded module.
    pub version: Option<String>,
    /// The backend that the loaded module has selected.
    pub backend: Option<String>,
    /// Those that this user may read.
    pub parameters: BTreeMap<String, String>,
    /// The module for the running kernel.
    pub file: Option<String>,
    /// The versions of which DKMS has the sources, to build them for each kernel.
    pub dkms: Vec<String>,
}

impl Module {
    pub fn read(root: &Root, drivers: &[Driver]) -> Module {
        let line = |file: &str| root.line(file).map(clean);
        let release = root.line("/proc/sys/kernel/osrelease").unwrap_or_default();
        let modules = root.text("/proc/modules");
        let is_ours = |line: &str| line.starts_with("tenrounds ");
        let disabled = root.line("/proc/sys/kernel/modules_disabled");
        // kernel_lockdown(7): "none [integrity] confidentiality".
        let lockdown = root.line("/sys/kernel/security/lockdown");
        let enforced = root.line("/sys/module/module/parameters/sig_enforce");
        let of_driver = || drivers.iter().find_map(Driver::backend).map(str::to_owned);
        let has_sources = |version: &String| root.exists(format!("{DKMS}/{version}/source"));
        Module {
            loadable: modules.is_ok() && disabled.as_deref() != Some("1"),
            signed_only: enforced.as_deref() == Some("Y")
                || lockdown.is_some_and(|levels| !levels.contains("[none]")),
            loaded: root.exists(SYS) || modules.is_ok_and(|text| text.lines().any(is_ours)),
            version: line(&format!("{SYS}/version")),
            backend: line("/sys/kernel/debug/tenrounds/backend").or_else(of_driver),
            parameters: parameters(root),
            file: file(root, &release),
            dkms: root.names(DKMS).into_iter().filter(has_sources).collect(),
            release,
        }
    }

    /// A parameter that says something else than by default.
    pub fn set(&self, name: &str) -> Option<&str> {
        let value = self.parameters.get(name)?.as_str();
        (!["", "0", "N", "(null)"].contains(&value)).then_some(value)
    }
}

fn parameters(root: &Root) -> BTreeMap<String, String> {
    let dir = format!("{SYS}/parameters");
    let read = |name: String| {
        let value = root.text(format!("{dir}/{name}")).ok()?;
        Some((name, clean(value.trim())))
    };
    root.names(&dir).into_iter().filter_map(read).collect()
}

fn is_module(name: &str) -> bool {
    let end = name.strip_prefix("tenrounds.ko");
    end.is_some_and(|end| ["", ".xz", ".zst", ".gz"].contains(&end))
}

/// Where modprobe would find it.
fn file(root: &Root, release: &str) -> Option<String> {
    if release.is_empty() {
        return None;
    }
    FOLDERS.iter().find_map(|folder| {
        let dir = format!("/lib/modules/{release}/{folder}");
        let name = root.names(&dir).into_iter().find(|name| is_module(name))?;
        Some(format!("{dir}/{name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules() {
        for name in ["tenrounds.ko", "tenrounds.ko.xz", "tenrounds.ko.zst"] {
            assert!(is_module(name), "{name}");
        }
        for name in ["tenrounds.kobold", "atenrounds.ko", "tenrounds.ko.xz.old"] {
            assert!(!is_module(name), "{name}");
        }
    }
}
