// SPDX-License-Identifier: BSD-2-Clause
//! Our module in the kernel: what keeps it from being loaded, and what it does not do although it
//! is.

use super::disks::Disk;
use super::means::Means;
use crate::finding::{Finding, Group};
use crate::kernel::drivers::{self, Driver, FILE};
use crate::kernel::module::{Module, DKMS};
use crate::kernel::signatures::Signatures;
use crate::kernel::Kernel;
use crate::root::Root;

const GROUP: Group = Group::Kernel;
const SYS: &str = "/sys/module/tenrounds";

pub fn check(root: &Root, means: &Means, kernel: &Kernel, disks: &[Disk]) -> Vec<Finding> {
    let module = &kernel.module;
    let mut found = Vec::new();
    if module.loaded {
        found.extend(version(means, module));
        found.extend(parameters(means, module));
        found.extend(outranked(means, kernel));
        found.extend(registers(module));
        found.extend(taint(root, module));
        found.extend(
            disks
                .iter()
                .filter_map(|disk| opened_before(disk, kernel.drivers())),
        );
    } else if module.loadable {
        found.extend(not_built(root, means, module));
        found.extend(unloaded(kernel));
        found.extend(signatures(means, &kernel.signatures, module));
    }
    found
}

/// How to load the module again, with these parameters.
fn reload(means: &Means, parameters: &str) -> (&'static str, String) {
    match means.loads_modules {
        true => (
            "shell",
            format!("modprobe -r tenrounds && modprobe tenrounds{parameters}   (as soon as nothing uses it)"),
        ),
        false => (
            "at the next boot",
            format!("load tenrounds{parameters} before the kernel stops loading modules"),
        ),
    }
}

fn not_built(root: &Root, means: &Means, module: &Module) -> Option<Finding> {
    if module.file.is_some() || !module.by_dkms() {
        return None;
    }
    let release = &module.release;
    let says = format!("DKMS has tenrounds, and not for the kernel that runs, {release}");
    let mut finding = Finding::warning(GROUP, "kernel-module-not-built", says);
    for built in &module.dkms {
        let kernel = built.kernel.as_deref().unwrap_or("no kernel");
        finding = finding.seen(
            format!("{DKMS}/{}", built.version),
            format!("{} for {kernel}", built.state),
        );
    }
    let headers = format!("/lib/modules/{release}/build");
    if !root.exists(format!("{headers}/Makefile")) {
        let debian = format!("linux-headers-{release}");
        let fedora = format!("kernel-devel-{release}");
        finding = finding.seen(headers, "no headers");
        finding = match means.install(&debian, &fedora) {
            Some(command) => finding.cure("shell", command),
            None => finding.cure("system", format!("install the headers of Linux {release}")),
        };
    }
    let version = &module.dkms[0].version;
    let log = format!("{DKMS}/{version}/build/make.log");
    if root.exists(&log) {
        finding = finding.seen(log, "the log of a build that failed");
    }
    Some(match means.has("dkms") {
        true => finding.cure(
            "shell",
            format!("dkms install tenrounds/{version} -k {release}"),
        ),
        false => finding,
    })
}

fn unloaded(kernel: &Kernel) -> Option<Finding> {
    let file = kernel.module.file.as_ref()?;
    if kernel.signatures.loads != Some(true) {
        return None;
    }
    let says = "the module tenrounds is there for this kernel, and not loaded";
    Some(
        Finding::note(GROUP, "kernel-module-unloaded", says)
            .seen(file, "exists")
            .seen("/proc/modules", "no tenrounds")
            .cure("shell", "modprobe tenrounds")
            .cure(
                "/etc/modules-load.d/tenrounds.conf",
                "tenrounds   (to load it at each boot)",
            ),
    )
}

/// What a kernel that demands signatures says to a module of DKMS.
fn signatures(means: &Means, s: &Signatures, module: &Module) -> Option<Finding> {
    if !s.required || s.loads == Some(true) {
        return None;
    }
    let state = match (s.exists, s.enrolled, s.signed) {
        (_, _, Some(false)) => "the module carries no signature",
        (false, _, _) => "DKMS has not made its key yet",
        (true, Some(true), _) => "its key is enrolled",
        (true, Some(false), _) => "its key is not enrolled",
        (true, None, _) => "it is unknown whether its key is enrolled",
    };
    let demands = "this kernel loads only modules that are signed with a key it knows";
    let finding = match module.present() {
        true => Finding::warning(
            GROUP,
            "kernel-module-refused",
            format!("{demands}; tenrounds would be refused: {state}"),
        ),
        false => Finding::note(
            GROUP,
            "kernel-signatures",
            format!("{demands}: one that DKMS builds here needs its key enrolled ({state})"),
        ),
    };
    let mut finding = seen_signatures(finding, s);
    if !s.exists || s.signed == Some(false) {
        finding = match module.dkms.first().filter(|_| means.has("dkms")) {
            Some(built) => finding.cure(
                "shell",
                format!(
                    "dkms install tenrounds/{} --force   (signs it; makes the key if there is none)",
                    built.version
                ),
            ),
            None => finding.cure(
                "system",
                "install the package tenrounds-dkms: DKMS makes its key when it builds a module   (man tenrounds-kernel)",
            ),
        };
    }
    if !s.exists || !means.has("mokutil") {
        let first = match s.exists {
            true => "install mokutil, then again: tenrounds doctor   (names the command that enrols the key)",
            false => "once the key exists, again: tenrounds doctor   (names the command that enrols it)",
        };
        return Some(finding.cure("then", first));
    }
    if s.enrolled != Some(true) {
        finding = finding.cure("shell", format!("{}   (asks for a password, which the firmware asks for again at the next boot: 'Enroll MOK')", s.line()));
    }
    if s.enrolled.is_none() {
        finding = finding.cure(
            "shell",
            format!(
                "mokutil --test-key {}   (says whether it is enrolled)",
                s.certificate
            ),
        );
    }
    Some(finding)
}

fn seen_signatures(finding: Finding, s: &Signatures) -> Finding {
    let boot = match s.secure_boot {
        Some(true) => "on",
        Some(false) => "off",
        None => "cannot be read",
    };
    let lockdown = s.lockdown.as_deref().unwrap_or("cannot be read");
    let exists = if s.exists { "exists" } else { "does not exist" };
    finding
        .seen("Secure Boot, by /sys/firmware/efi/efivars", boot)
        .seen("/sys/kernel/security/lockdown", lockdown)
        .seen(&s.certificate, exists)
}

fn version(means: &Means, module: &Module) -> Option<Finding> {
    let ours = env!("CARGO_PKG_VERSION");
    let version = module.version.as_ref().filter(|version| *version != ours)?;
    let says = format!("the loaded module is tenrounds {version}, this command {ours}");
    let (at, again) = reload(means, "");
    Some(
        Finding::warning(GROUP, "kernel-module-version", says)
            .seen(format!("{SYS}/version"), version)
            .cure(at, again),
    )
}

/// Parameters that make it slower than it has to be, or wrong on purpose.
fn parameters(means: &Means, module: &Module) -> Vec<Finding> {
    let meant = [
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
    let set = meant
        .iter()
        .filter_map(|(name, does)| Some((name, does, module.set(name)?)));
    set.map(|(name, does, value)| {
        let (at, cure) = match *name {
            "refuse" | "measure" => ("shell", format!("echo 0 > {SYS}/parameters/{name}")),
            _ => reload(means, ""),
        };
        Finding::warning(
            GROUP,
            "kernel-module-parameter",
            format!("the module's parameter {name} {does}"),
        )
        .seen(format!("{SYS}/parameters/{name}"), value)
        .cure(at, cure)
        .cure(
            "/etc/modprobe.d, kernel command line",
            format!("no tenrounds.{name}, and no 'options tenrounds {name}='"),
        )
    })
    .collect()
}

/// Ours passed and another driver is selected.
fn outranked(means: &Means, kernel: &Kernel) -> Option<Finding> {
    let drivers = kernel.drivers();
    let ours = drivers
        .iter()
        .filter(|d| d.backend().is_some() && d.passed() && !d.selected);
    let pairs: Vec<(&Driver, &Driver)> = ours
        .filter_map(|d| Some((d, drivers::selected(drivers, &d.algorithm)?)))
        .filter(|(_, winner)| winner.backend().is_none())
        .collect();
    let (_, strongest) = pairs.iter().max_by_key(|(_, winner)| winner.priority)?;
    let wide = pairs
        .iter()
        .all(|(_, winner)| winner.driver.contains("vaes"));
    let why = match (wide, kernel.module.backend.as_deref()) {
        (true, _) => {
            "this kernel has VAES itself there, which is as fast, so that is as it should be"
        }
        (_, Some("vperm" | "bitslice")) => {
            "the module's backend is software, which is slower than AES instructions"
        }
        (_, Some(backend)) if backend.starts_with("aesni") => {
            "without VAES the module is not faster than the kernel's own AES-NI"
        }
        _ => "the other's priority is higher",
    };
    let says = format!(
        "the kernel takes other drivers than those of tenrounds for {} algorithms: {why}",
        pairs.len()
    );
    let mut finding = Finding::note(GROUP, "kernel-module-outranked", says);
    for (ours, winner) in &pairs {
        finding = finding.seen(
            format!("{FILE}, {}", ours.algorithm),
            format!(
                "{} {} before {} {}",
                winner.driver, winner.priority, ours.driver, ours.priority
            ),
        );
    }
    let priority = format!(" priority={}", strongest.priority + 1);
    let (at, again) = reload(means, &priority);
    Some(finding.cure(
        at,
        format!("{again}   (only where it was measured to be faster)"),
    ))
}

/// More than one in a hundred is worth a word.
fn registers(module: &Module) -> Option<Finding> {
    let counters = module.counters.as_ref()?;
    let all = counters.holds + counters.refused;
    if counters.refused == 0 || counters.refused * 100 < all {
        return None;
    }
    let says = format!(
        "the kernel refused the vector registers {} times of {all}: the bitsliced code did that work, many times slower",
        counters.refused
    );
    Some(
        Finding::note(GROUP, "kernel-module-registers", says)
            .seen(
                "/sys/kernel/debug/tenrounds/counters",
                format!("refused {}", counters.refused),
            )
            .seen(
                format!("{SYS}/parameters/refuse"),
                module.set("refuse").unwrap_or("0"),
            ),
    )
}

/// What the module adds to /proc/sys/kernel/tainted.
fn taint(root: &Root, module: &Module) -> Option<Finding> {
    let taint = module.taint.as_ref()?;
    let meant = [
        ('O', "not of the kernel's own tree"),
        ('E', "not signed"),
        ('P', "of another licence"),
        ('F', "loaded by force"),
    ];
    let meant: Vec<&str> = meant
        .iter()
        .filter(|(letter, _)| taint.contains(*letter))
        .map(|(_, text)| *text)
        .collect();
    let says = format!(
        "the module marks the kernel as tainted: it is {}",
        meant.join(" and ")
    );
    let tainted = root.line("/proc/sys/kernel/tainted");
    Some(
        Finding::note(GROUP, "kernel-module-taint", says)
            .seen(format!("{SYS}/taint"), taint)
            .seen(
                "/proc/sys/kernel/tainted",
                tainted.unwrap_or_else(|| "cannot be read".to_owned()),
            ),
    )
}

/// A disk keeps the driver that it was opened with.
fn opened_before(disk: &Disk, drivers: &[Driver]) -> Option<Finding> {
    let driver = drivers
        .iter()
        .find(|d| d.selected && disk.driver.as_ref() == Some(&d.driver))?;
    if driver.backend().is_none() || driver.refcnt > 1 {
        return None;
    }
    let says = format!(
        "{} was opened before tenrounds was loaded, and keeps its old driver until it is closed",
        disk.name
    );
    Some(
        Finding::note(GROUP, "disk-other-driver", says)
            .seen(format!("{FILE}, {}", driver.driver), format!("refcnt {}: nobody uses it", driver.refcnt))
            .cure("shell", format!("cryptsetup close {0} && cryptsetup open DEVICE {0}   (the root disk: load the module in the initramfs)", disk.name)),
    )
}
