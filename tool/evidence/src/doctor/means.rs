// SPDX-License-Identifier: BSD-2-Clause
//! What can be done on this machine: a cure must not name a command that cannot work here.

use base::kernel::Kernel;
use base::root::Root;

pub struct Means {
    /// The kernel loads modules.
    pub loads_modules: bool,
    /// The modules that the running kernel's package lists; empty if the list cannot be read.
    modules: String,
    /// /proc/cpuinfo.
    cpuinfo: String,
}

impl Means {
    pub fn of(root: &Root, kernel: &Kernel) -> Means {
        let list = format!("/lib/modules/{}/modules.dep", kernel.module.release);
        let modules = root.text(list).unwrap_or_default();
        Means {
            loads_modules: kernel.module.loadable,
            modules: modules.replace('_', "-"),
            cpuinfo: root.text("/proc/cpuinfo").unwrap_or_default(),
        }
    }

    /// Whether modprobe would find a module of the kernel's own.
    pub fn can_load(&self, module: &str) -> bool {
        let name = format!("/{}.ko", module.replace('_', "-"));
        self.loads_modules && self.modules.contains(&name)
    }

    /// The first value of a field of /proc/cpuinfo.
    fn cpu(&self, field: &str) -> Option<&str> {
        let mut lines = self.cpuinfo.lines().filter_map(|line| line.split_once(':'));
        let line = lines.find(|(name, _)| name.trim() == field);
        line.map(|(_, value)| value.trim())
    }

    /// Whether the kernel shows this feature of the processor.
    pub fn cpu_has(&self, flag: &str) -> bool {
        let flags = self.cpu("flags").or_else(|| self.cpu("Features"));
        flags.is_some_and(|flags| flags.split_whitespace().any(|f| f == flag))
    }
}
