// SPDX-License-Identifier: BSD-2-Clause
//! Our module in the kernel: what keeps it from being loaded, and what it does not do although it
//! is.

use base::finding::{Finding, Group};
use base::kernel::module::{Module, DKMS, SYS};

const GROUP: Group = Group::Kernel;

pub fn check(module: &Module) -> Vec<Finding> {
    if module.loaded {
        let found = version(module).into_iter();
        return found.chain(parameters(module)).collect();
    }
    let unloaded = module.file.as_ref().map(|file| unloaded(module, file));
    let found = unloaded.or_else(|| not_built(module));
    found.filter(|_| module.loadable).into_iter().collect()
}

/// How to load the module again.
fn reload(module: &Module) -> (&'static str, &'static str) {
    match module.loadable {
        true => (
            "shell",
            "modprobe -r tenrounds && modprobe tenrounds   (as soon as nothing uses it)",
        ),
        false => (
            "at the next boot",
            "load tenrounds before the kernel stops loading modules",
        ),
    }
}

fn not_built(module: &Module) -> Option<Finding> {
    let (version, release) = (module.dkms.first()?, &module.release);
    let says = format!("DKMS has tenrounds, and not for the kernel that runs, {release}");
    let headers =
        format!("install linux-headers-{release}, in Fedora kernel-devel-{release}, if it is not");
    let build = format!("dkms install tenrounds/{version} -k {release}");
    let finding = Finding::warning(GROUP, "kernel-module-not-built", says);
    let finding = finding.seen(format!("{DKMS}/{version}"), "no module for this kernel");
    Some(finding.cure("system", headers).cure("shell", build))
}

/// Whether the kernel would take its signature, only the kernel and the firmware can tell.
fn unloaded(module: &Module, file: &str) -> Finding {
    let says = "the module tenrounds is there for this kernel, and not loaded";
    let finding = Finding::note(GROUP, "kernel-module-unloaded", says)
        .seen(file, "exists")
        .cure("shell", "modprobe tenrounds")
        .cure(
            "/etc/modules-load.d/tenrounds.conf",
            "tenrounds   (to load it at each boot)",
        );
    match module.signed_only {
        true => finding
            .seen("/sys/kernel/security/lockdown", "only signed modules load")
            .cure("firmware", "enrol DKMS's key, if the kernel refuses the module   (man tenrounds-kernel, Secure Boot)"),
        false => finding,
    }
}

fn version(module: &Module) -> Option<Finding> {
    let ours = env!("CARGO_PKG_VERSION");
    let version = module.version.as_ref().filter(|version| *version != ours)?;
    let says = format!("the loaded module is tenrounds {version}, this command {ours}");
    let (at, again) = reload(module);
    let finding = Finding::warning(GROUP, "kernel-module-version", says);
    Some(
        finding
            .seen(format!("{SYS}/version"), version)
            .cure(at, again),
    )
}

/// Parameters that make the module slower than it has to be, and what each does.
const PARAMETERS: [(&str, &str); 3] = [
    ("mask", "hides features of the processor"),
    (
        "refuse",
        "refuses the vector registers, for tests: the software does the work",
    ),
    (
        "measure",
        "measures how long the vector registers are held, which costs time",
    ),
];

fn parameters(module: &Module) -> impl Iterator<Item = Finding> + '_ {
    let set = PARAMETERS.iter();
    let set = set.filter_map(|(name, does)| Some((*name, does, module.set(name)?)));
    set.map(|(name, does, value)| {
        let file = format!("{SYS}/parameters/{name}");
        let switch = format!("echo 0 > {file}");
        let (at, cure) = match name {
            "mask" => reload(module),
            _ => ("shell", &*switch),
        };
        let says = format!("the module's parameter {name} {does}");
        Finding::warning(GROUP, "kernel-module-parameter", says)
            .seen(&file, value)
            .cure(at, cure)
            .cure(
                "/etc/modprobe.d, kernel command line",
                format!("no tenrounds.{name}, and no 'options tenrounds {name}='"),
            )
    })
}
