// SPDX-License-Identifier: BSD-2-Clause
//! What `status` and `doctor` say of the kernel's drivers, and of our module, on machines that have
//! or lack one thing each.

use crate::json::valid;
use crate::machine::Machine;
use crate::support::{contains, Finish, Place};
use std::os::unix::fs::symlink;

const RELEASE: &str = "6.1.0-56-cloud-amd64";
const VERSION: &str = env!("CARGO_PKG_VERSION");

fn entry(algorithm: &str, driver: &str, priority: u32, refcnt: u32, selftest: &str) -> String {
    format!(
        "name         : {algorithm}\ndriver       : {driver}\nmodule       : tenrounds\n\
         priority     : {priority}\nrefcnt       : {refcnt}\nselftest     : {selftest}\n\
         internal     : no\ntype         : skcipher\n\n"
    )
}

/// Debian 12's kernel, which has no VAES, on a processor that has.
fn debian() -> Machine {
    let machine = Machine::healthy();
    machine.write("proc/sys/kernel/osrelease", format!("{RELEASE}\n"));
    let own = [
        ("xts(aes)", "xts-aes-aesni", 401),
        ("cbc(aes)", "cbc-aes-aesni", 400),
    ];
    let own = own.map(|(name, driver, priority)| entry(name, driver, priority, 2, "passed"));
    machine.write("proc/crypto", own.concat());
    machine
}

/// It has the module of DKMS, for its kernel.
fn installed() -> Machine {
    let machine = debian();
    let dkms = format!("var/lib/dkms/tenrounds/{VERSION}");
    machine.write(&format!("usr/src/tenrounds-{VERSION}/dkms.conf"), "");
    machine.write(&format!("{dkms}/{RELEASE}/x86_64/module/tenrounds.ko"), "");
    symlink(
        format!("/usr/src/tenrounds-{VERSION}"),
        machine.dir.join(&dkms).join("source"),
    )
    .unwrap();
    let modules = format!("lib/modules/{RELEASE}");
    machine.write(&format!("{modules}/updates/dkms/tenrounds.ko"), "\x7fELF");
    machine
}

/// And it is loaded.
fn loaded() -> Machine {
    let machine = installed();
    machine.write("proc/modules", "tenrounds 98304 3 - Live 0x0 (OE)\n");
    for (file, text) in [
        ("version", VERSION),
        ("parameters/mask", "(null)"),
        ("parameters/priority", "0"),
        ("parameters/refuse", "0"),
    ] {
        machine.write(&format!("sys/module/tenrounds/{file}"), format!("{text}\n"));
    }
    machine.write("sys/kernel/debug/tenrounds/backend", "vaes512\n");
    let own = std::fs::read_to_string(machine.dir.join("proc/crypto")).unwrap();
    let ours = entry("xts(aes)", "xts-aes-tenrounds-vaes512", 450, 2, "passed");
    machine.write(
        "proc/crypto",
        ours + &entry("cbc(aes)", "cbc-aes-tenrounds-vaes512", 450, 1, "passed") + &own,
    );
    machine
}

/// The kernel locked down, as Debian, Ubuntu and Fedora do with Secure Boot.
fn secure(machine: &Machine) {
    machine.write(
        "sys/kernel/security/lockdown",
        "none [integrity] confidentiality\n",
    );
}

fn detect(machine: &Machine, json: bool) -> String {
    let place = Place::new();
    let mut tool = place.tool(["status", "--root", machine.dir.to_str().unwrap()]);
    tool.arg(if json { "--json" } else { "--verbose" });
    tool.done().ok().out
}

#[test]
fn drivers_and_who_is_selected() {
    let machine = loaded();
    let document = valid(&detect(&machine, true));
    let drivers = document.list("/detect/kernel/drivers");
    let selected: Vec<_> = drivers
        .iter()
        .filter(|d| d["selected"] == true)
        .map(|d| d["driver"].as_str().unwrap())
        .collect();
    assert_eq!(
        selected,
        ["cbc-aes-tenrounds-vaes512", "xts-aes-tenrounds-vaes512"]
    );
    assert_eq!(drivers[0]["refcnt"], 1);
    assert_eq!(drivers[0]["module"], "tenrounds");
    let module = document.at("/detect/kernel/module");
    assert_eq!(module["backend"], "vaes512");
    assert_eq!(module["dkms"][0], VERSION);
    let text = detect(&machine, false);
    contains(
        &text,
        &[
            "xts-aes-tenrounds-vaes512",
            "xts-aes-aesni 401",
            "selected for 2 of its 2",
            "VAES at 512 bits (tenrounds)",
        ],
    );
    let kernel = |mode| {
        let rows = document.list("/detect/table");
        let row = rows.into_iter().find(|row| row["mode"] == mode).unwrap();
        (row["driver"].clone(), row["kernel"].clone())
    };
    assert_eq!(
        kernel("xts"),
        ("xts-aes-tenrounds-vaes512".into(), "vaes512".into())
    );
    assert_eq!(
        kernel("gcm"),
        (serde_json::Value::Null, serde_json::Value::Null)
    );
    contains(&text, &["loaded, backend vaes512"]);
}

/// Of two drivers with one priority the kernel takes the first in its list, which is the newer one.
#[test]
fn of_equal_drivers_the_first_counts() {
    let machine = debian();
    let both = [
        entry("xts(aes)", "second", 401, 1, "passed"),
        entry("xts(aes)", "first", 401, 1, "passed"),
    ];
    machine.write("proc/crypto", both.concat());
    let document = valid(&detect(&machine, true));
    let drivers = document.list("/detect/kernel/drivers");
    assert_eq!(
        (
            drivers[0]["driver"].as_str(),
            drivers[0]["selected"].as_bool()
        ),
        (Some("second"), Some(true))
    );
    assert_eq!(drivers[1]["selected"], false);
}

#[test]
fn a_driver_that_failed_its_self_test_is_not_selected() {
    let machine = loaded();
    let all = std::fs::read_to_string(machine.dir.join("proc/crypto")).unwrap();
    machine.write("proc/crypto", all.replacen("passed", "unknown", 1));
    let examined = machine.examined(&[]);
    contains(
        &examined.the("kernel-selftest"),
        &[
            "xts-aes-tenrounds-vaes512",
            "self-test unknown",
            "xts-aes-aesni, priority 401",
        ],
    );
    assert_eq!(examined.status(), 1);
    contains(
        &detect(&machine, false),
        &[
            "xts-aes-tenrounds-vaes512 450 self-test unknown",
            "selected for 1 of its 2",
        ],
    );
}

#[test]
fn a_loaded_module_is_healthy() {
    let examined = loaded().examined(&[]);
    assert_eq!(examined.ids(), ["not-loaded"]);
    assert_eq!(examined.status(), 0);
}

#[test]
fn a_loaded_module_that_does_less_than_it_could() {
    let cases = [
        (
            "sys/module/tenrounds/parameters/mask",
            "novaes\n",
            "kernel-module-parameter",
            "modprobe -r tenrounds",
        ),
        (
            "sys/module/tenrounds/parameters/refuse",
            "1\n",
            "kernel-module-parameter",
            "echo 0 > /sys/module/tenrounds/parameters/refuse",
        ),
        (
            "sys/module/tenrounds/version",
            "0.0.9\n",
            "kernel-module-version",
            "tenrounds 0.0.9",
        ),
    ];
    for (file, text, id, part) in cases {
        let machine = loaded();
        machine.write(file, text);
        contains(&machine.examined(&[]).the(id), &[part, file]);
    }
}

/// Only builds for tests have this parameter.
#[test]
fn parameters_of_test_builds_are_not_known() {
    let machine = loaded();
    machine.write("sys/module/tenrounds/parameters/sabotage", "vaes512\n");
    let ids = machine.examined(&[]).ids();
    assert!(
        !ids.contains(&"kernel-module-parameter".to_owned()),
        "{ids:?}"
    );
}

/// A kernel that has stopped to load modules is told nothing that would need one.
#[test]
fn nothing_that_the_kernel_cannot_do() {
    let machines = [
        (loaded(), "sys/module/tenrounds/version", "0.0.9\n"),
        (loaded(), "sys/module/tenrounds/parameters/mask", "novaes\n"),
        (installed(), "proc/sys/kernel/tainted", "0\n"),
        (debian(), "proc/sys/kernel/tainted", "0\n"),
    ];
    for (machine, file, text) in machines {
        machine.write(file, text);
        machine.write("proc/sys/kernel/modules_disabled", "1\n");
        secure(&machine);
        let all = machine.doctor(&["--verbose"], &[]).out;
        for part in ["modprobe ", "mokutil", "dkms install", "docs/"] {
            assert!(!all.contains(part), "{part} for {file}:\n{all}");
        }
    }
}

#[test]
fn a_module_that_is_not_loaded() {
    let machine = installed();
    let examined = machine.examined(&[]);
    contains(
        &examined.the("kernel-module-unloaded"),
        &["updates/dkms/tenrounds.ko", "modprobe tenrounds"],
    );
    assert_eq!(examined.status(), 0);
    contains(
        &detect(&machine, false),
        &["not loaded; modprobe tenrounds loads /lib/modules"],
    );
    machine.write("proc/sys/kernel/osrelease", "6.12.117+deb12-cloud-amd64\n");
    let examined = machine.examined(&[]);
    let release = "linux-headers-6.12.117+deb12-cloud-amd64";
    contains(
        &examined.the("kernel-module-not-built"),
        &[release, "kernel-devel-6.12", "-k 6.12.117+deb12"],
    );
    assert_eq!(examined.status(), 1);
    machine.write("proc/sys/kernel/modules_disabled", "1\n");
    contains(&detect(&machine, false), &["this kernel loads no modules"]);
}

#[test]
fn no_module_and_no_vaes() {
    contains(
        &debian().examined(&[]).the("kernel-no-vaes"),
        &["tenrounds-dkms"],
    );
    let ids = loaded().examined(&[]).ids();
    assert!(!ids.contains(&"kernel-no-vaes".to_owned()), "{ids:?}");
}

#[test]
fn a_kernel_that_demands_signatures() {
    let machine = installed();
    let hint = "enrol DKMS's key";
    let said = || machine.examined(&[]).the("kernel-module-unloaded");
    let required = || {
        let json = valid(&detect(&machine, true));
        *json.at("/detect/kernel/module/signed_only") == true
    };
    assert!(!required() && !said().contains(hint));
    secure(&machine);
    assert!(required() && said().contains(hint));
    let lockdown = "sys/kernel/security/lockdown";
    machine.write(lockdown, "[none] integrity confidentiality\n");
    assert!(!required());
    machine.write("sys/module/module/parameters/sig_enforce", "Y\n");
    assert!(required());
    machine.write("sys/module/module/parameters/sig_enforce", "N\n");
    machine.remove(lockdown);
    assert!(!required());
}

#[test]
fn hostile_files_of_the_kernel_are_survived() {
    let machine = loaded();
    let noise: Vec<u8> = (0u32..100_000)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for file in [
        "proc/crypto",
        "proc/modules",
        "sys/kernel/debug/tenrounds/backend",
        "sys/module/tenrounds/parameters/mask",
        "sys/kernel/security/lockdown",
    ] {
        machine.write(file, &noise);
    }
    assert!(machine.examined(&[]).status() <= 2);
    assert!(!detect(&machine, false).contains('\x1b'));
}
