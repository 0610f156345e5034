// SPDX-License-Identifier: BSD-2-Clause
//! Our module, tenrounds.ko: whether it is loaded, with what, what it has counted, and for which
//! kernels DKMS has built it.

use super::drivers::Driver;
use crate::root::Root;
use serde::Serialize;
use std::collections::BTreeMap;
use terminal::style::clean;

const SYS: &str = "/sys/module/tenrounds";
const DEBUG: &str = "/sys/kernel/debug/tenrounds";
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
    pub loaded: bool,
    /// The version of the loaded module.
    pub version: Option<String>,
    /// The backend that the loaded module has selected.
    pub backend: Option<String>,
    /// Its references: open transforms keep it loaded.
    pub users: Option<u64>,
    /// "OE": out of the kernel's tree, unsigned (Linux, admin-guide/tainted-kernels.rst).
    pub taint: Option<String>,
    /// Those that this user may read.
    pub parameters: BTreeMap<String, String>,
    /// null: not loaded, or debugfs is not there or not for this user.
    pub counters: Option<Counters>,
    /// The module for the running kernel.
    pub file: Option<String>,
    /// What DKMS has of it.
    pub dkms: Vec<Built>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    pub algorithms: Vec<Count>,
    /// Acquisitions of the vector registers that were granted.
    pub holds: u64,
    /// Those refused, where the bitsliced code did the work.
    pub refused: u64,
    /// Only while the parameter `measure` is set.
    pub longest_hold_ns: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Count {
    pub algorithm: String,
    pub calls: u64,
    pub bytes: u64,
    /// Pieces in which requests were walked through.
    pub steps: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Built {
    pub version: String,
    /// null: for none yet.
    pub kernel: Option<String>,
    /// "added", "built", "installed".
    pub state: &'static str,
}

impl Module {
    pub fn read(root: &Root, drivers: &[Driver]) -> Module {
        let release = root.line("/proc/sys/kernel/osrelease").unwrap_or_default();
        let of_drivers = drivers.iter().find_map(Driver::backend);
        let line = |file: String| root.line(file).map(clean);
        let sys = |file: &str| line(format!("{SYS}/{file}"));
        let loaded = root.exists(SYS) || in_modules(root);
        let disabled = root.line("/proc/sys/kernel/modules_disabled");
        let loadable = root.exists("/proc/modules") && disabled.as_deref() != Some("1");
        let backend = line(format!("{DEBUG}/backend"));
        Module {
            version: sys("version"),
            users: sys("refcnt").and_then(|n| n.parse().ok()),
            taint: sys("taint"),
            backend: backend.or_else(|| of_drivers.map(str::to_owned)),
            parameters: parameters(root),
            counters: root
                .text(format!("{DEBUG}/counters"))
                .ok()
                .map(|t| counters(&t)),
            file: file(root, &release),
            dkms: dkms(root),
            loadable,
            loaded,
            release,
        }
    }

    /// Whether DKMS has it, for whatever kernel.
    pub fn by_dkms(&self) -> bool {
        !self.dkms.is_empty()
    }

    /// Whether it is here at all.
    pub fn present(&self) -> bool {
        self.loaded || self.file.is_some() || self.by_dkms()
    }

    /// A parameter that says something else than by default.
    pub fn set(&self, name: &str) -> Option<&str> {
        let value = self.parameters.get(name)?.as_str();
        (!["", "0", "N", "(null)"].contains(&value)).then_some(value)
    }
}

fn in_modules(root: &Root) -> bool {
    let text = root.text("/proc/modules").unwrap_or_default();
    text.lines().any(|line| line.starts_with("tenrounds "))
}

fn parameters(root: &Root) -> BTreeMap<String, String> {
    let dir = format!("{SYS}/parameters");
    let read = |name: String| {
        let value = root.text(format!("{dir}/{name}")).ok()?;
        Some((name, clean(value.trim())))
    };
    root.names(&dir).into_iter().filter_map(read).collect()
}

/// "xts(aes) calls 1 bytes 512 steps 1", then "holds 1" and so on; what is not known is passed
/// over.
fn counters(text: &str) -> Counters {
    let mut all = Counters::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        match words.as_slice() {
            ["holds", _] => all.holds = number(1).unwrap_or(0),
            ["refused", _] => all.refused = number(1).unwrap_or(0),
            ["longest_hold_ns", _] => all.longest_hold_ns = number(1),
            [algorithm, "calls", _, "bytes", _, "steps", _] => all.algorithms.push(Count {
                algorithm: clean(algorithm),
                calls: number(2).unwrap_or(0),
                bytes: number(4).unwrap_or(0),
                steps: number(6).unwrap_or(0),
            }),
            _ => {}
        }
    }
    all
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
    let dir = format!("/lib/modules/{release}");
    let dep = root.text(format!("{dir}/modules.dep")).unwrap_or_default();
    let mut listed = dep.lines().filter_map(|line| line.split_once(':'));
    let listed = listed.find(|(path, _)| path.rsplit('/').next().is_some_and(is_module));
    if let Some((path, _)) = listed {
        return Some(match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{dir}/{path}"),
        });
    }
    FOLDERS.iter().find_map(|folder| {
        let names = root.names(format!("{dir}/{folder}"));
        let name = names.into_iter().find(|name| is_module(name))?;
        Some(format!("{dir}/{folder}/{name}"))
    })
}

/// DKMS keeps VERSION/KERNEL/ARCH/module/*.ko of what is built, and a link kernel-KERNEL-ARCH to
/// the version that is installed for a kernel.
fn dkms(root: &Root) -> Vec<Built> {
    let names = root.names(DKMS);
    let versions = names
        .iter()
        .filter(|name| root.exists(format!("{DKMS}/{name}/source")));
    versions
        .flat_map(|version| of_version(root, version))
        .collect()
}

fn of_version(root: &Root, version: &str) -> Vec<Built> {
    let dir = format!("{DKMS}/{version}");
    let kernels = root.names(&dir).into_iter().flat_map(|kernel| {
        let machines = root.names(format!("{dir}/{kernel}")).into_iter();
        let built = machines
            .filter(|machine| root.exists(format!("{dir}/{kernel}/{machine}/module")))
            .map(|machine| {
                let link = format!("{DKMS}/kernel-{kernel}-{machine}");
                let installed = root.link(link).is_some_and(|to| to.starts_with(version));
                Built {
                    version: version.to_owned(),
                    kernel: Some(kernel.clone()),
                    state: if installed { "installed" } else { "built" },
                }
            });
        built.collect::<Vec<_>>()
    });
    let built: Vec<Built> = kernels.collect();
    match built.is_empty() {
        false => built,
        true => vec![Built {
            version: version.to_owned(),
            kernel: None,
            state: "added",
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_what_is_none() {
        let text =
            "xts(aes) calls 3 bytes 1536 steps 4\nrfc4106(gcm(aes)) calls x bytes 1 steps 1\n\
                    holds 7\nrefused 2\nlongest_hold_ns 900\nsurprise 1 2\n\n";
        let read = counters(text);
        assert_eq!((read.holds, read.refused), (7, 2));
        assert_eq!(read.longest_hold_ns, Some(900));
        assert_eq!(read.algorithms.len(), 2);
        assert_eq!(read.algorithms[0].bytes, 1536);
        assert_eq!(read.algorithms[1].calls, 0);
        assert_eq!(counters(""), Counters::default());
    }

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
