// SPDX-License-Identifier: BSD-2-Clause
//! What can be done on this machine: a cure must not name a command that cannot work here.

use base::kernel::Kernel;
use base::processor::Cpuinfo;
use base::root::Root;

pub struct Means {
    /// The kernel loads modules.
    pub loads_modules: bool,
    /// The modules that the running kernel's package lists; empty if the list cannot be read.
    modules: String,
    cpuinfo: Option<Cpuinfo>,
}

impl Means {
    pub fn of(root: &Root, kernel: &Kernel) -> Means {
        let list = format!("/lib/modules/{}/modules.dep", kernel.module.release);
        let modules = root.text(list).unwrap_or_default();
        Means {
            loads_modules: kernel.module.loadable,
            modules: modules.replace('_', "-"),
            cpuinfo: Cpuinfo::read(root),
        }
    }

    /// Whether modprobe would find a module of the kernel's own.
    pub fn can_load(&self, module: &str) -> bool {
        let name = format!("/{}.ko", module.replace('_', "-"));
        self.loads_modules && self.modules.contains(&name)
    }

    /// Whether the kernel shows this feature of the processor.
    pub fn cpu_has(&self, flag: &str) -> bool {
        self.cpuinfo
            .as_ref()
            .is_some_and(|cpuinfo| cpuinfo.has(flag))
    }
}
