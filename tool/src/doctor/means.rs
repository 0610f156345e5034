// SPDX-License-Identifier: BSD-2-Clause
//! What can be done on this machine: a cure must not name a command that cannot work here.

use crate::kernel::module::Module;
use crate::kernel::Kernel;
use crate::root::Root;

const PATH: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

pub struct Means {
    root: Root,
    /// The kernel loads modules.
    pub loads_modules: bool,
    /// The modules that the running kernel's package lists; None if the list cannot be read.
    modules: Option<String>,
    pub hypervisor: bool,
}

impl Means {
    pub fn of(root: &Root, kernel: &Kernel) -> Means {
        let Module {
            release, loadable, ..
        } = &kernel.module;
        let list = root.text(format!("/lib/modules/{release}/modules.dep"));
        let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
        Means {
            root: root.clone(),
            loads_modules: *loadable,
            modules: list.ok(),
            hypervisor: cpuinfo.split_whitespace().any(|word| word == "hypervisor"),
        }
    }

    /// Whether a program is installed.
    pub fn has(&self, program: &str) -> bool {
        let at = |dir: &&str| self.root.exists(format!("{dir}/{program}"));
        PATH.iter().any(at)
    }

    /// Whether modprobe would find a module of the kernel's own.
    pub fn can_load(&self, module: &str) -> bool {
        let name = format!("/{}.ko", module.replace('_', "-"));
        let listed = |list: &String| list.replace('_', "-").contains(&name);
        self.loads_modules && self.modules.as_ref().is_some_and(listed)
    }

    /// The command that installs a package, by its name in Debian and in Fedora; None if neither's
    /// package manager is installed.
    pub fn install(&self, debian: &str, fedora: &str) -> Option<String> {
        if self.has("apt-get") {
            return Some(format!("apt-get install {debian}"));
        }
        self.has("dnf").then(|| format!("dnf install {fedora}"))
    }
}
