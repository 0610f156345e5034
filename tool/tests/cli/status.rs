// SPDX-License-Identifier: BSD-2-Clause
//! `status`: the verdict, and what `--check` makes of it.

use crate::enable_support::{Machine, DEBIAN};
use crate::json::valid;
use crate::support::{contains, Finish, TOOL};
use std::path::Path;

/// The verdict of a machine in an environment: its field in JSON, the first line, and the status
/// of `--check`.
fn verdict(machine: &Machine, conf: Option<&Path>) -> (String, String, Option<i32>) {
    let tool = |args: &[&str]| {
        let mut tool = machine.tool(&[&["status"], args].concat());
        tool.envs(conf.map(|conf| ("OPENSSL_CONF", conf))).done()
    };
    let json = valid(&tool(&["--json"]).ok().out);
    let text = tool(&[]).ok().out;
    let check = tool(&["--check"]);
    assert_eq!(check.out, text);
    let first = text.lines().next().unwrap().to_owned();
    (json.text("/status/in_force"), first, check.status)
}

#[test]
fn for_the_system() {
    let machine = Machine::debian(DEBIAN);
    let (in_force, first, check) = verdict(&machine, None);
    assert_eq!((in_force.as_str(), check), ("no", Some(1)));
    contains(
        &first,
        &[
            "is not in force",
            &format!(
                "For your account, run `{TOOL} enable`. For the system, first install tenrounds"
            ),
        ],
    );
    let mut tool = machine.tool(&["status"]);
    let path = Path::new(TOOL).parent().unwrap().display().to_string();
    let path = format!("{path}:{}", std::env::var("PATH").unwrap());
    let on_path = tool.env("PATH", path).done().ok().out;
    contains(
        &on_path,
        &["run `sudo tenrounds enable --system`; for your account, `tenrounds enable`"],
    );

    let (_, first, _) = verdict(&machine, Some(Path::new("/dev/null")));
    contains(
        &first,
        &[&format!(
            "'/dev/null', which does not prefer it. For your account, run `{TOOL} enable`"
        )],
    );

    machine.enable().ok();
    let (in_force, first, check) = verdict(&machine, None);
    assert_eq!((in_force.as_str(), check), ("yes", Some(0)));
    contains(
        &first,
        &["tenrounds is in force: every OpenSSL that was found prefers it."],
    );
    let (in_force, first, check) = verdict(&machine, Some(Path::new("/dev/null")));
    assert_eq!((in_force.as_str(), check), ("no", Some(1)));
    contains(&first, &["'/dev/null'", "unset OPENSSL_CONF"]);

    // Another OpenSSL is installed later.
    machine.openssl("/usr/local/bin/openssl", "/usr/local/ssl");
    machine.write("/usr/local/ssl/openssl.cnf", DEBIAN);
    let (in_force, first, check) = verdict(&machine, None);
    assert_eq!((in_force.as_str(), check), ("partly", Some(1)));
    contains(&first, &["in force in part: 1 of 2 configurations"]);
    machine.enable().ok();
    assert_eq!(verdict(&machine, None).2, Some(0));
}

#[test]
fn for_a_user() {
    let machine = Machine::debian(DEBIAN);
    machine.tool(&["enable"]).done().ok();
    let (in_force, first, check) = verdict(&machine, None);
    assert_eq!((in_force.as_str(), check), ("no", Some(1)));
    contains(
        &first,
        &["not in force: it is enabled for you, but OPENSSL_CONF of this shell does not name"],
    );
    let own = machine.place.path("home/.config/tenrounds/openssl.cnf");
    let line = format!(
        "To use it in this shell: export OPENSSL_CONF='{}'",
        own.display()
    );
    contains(&first, &[&line]);
    // doctor does nothing without it.
    std::fs::create_dir(machine.at("/proc")).unwrap();
    let doctor = machine.tool(&["doctor"]).done().out;
    contains(&doctor, &["it is enabled for you, but", &line]);
    assert!(!doctor.contains("run `"), "{doctor}");
    let (in_force, first, check) = verdict(&machine, Some(&own));
    assert_eq!((in_force.as_str(), check), ("yes", Some(0)));
    contains(
        &first,
        &["OPENSSL_CONF of this shell names", ".config/tenrounds"],
    );
}

/// What `run --print-env` names prefers tenrounds, too.
#[test]
fn in_a_command_of_run() {
    let machine = Machine::debian(DEBIAN);
    let mut tool = machine
        .place
        .tool(["run", "--", crate::support::TOOL, "status", "--check"]);
    machine.at_home(&mut tool);
    let done = tool
        .args(["--root".as_ref(), machine.root.as_os_str()])
        .done()
        .ok();
    contains(
        done.out.lines().next().unwrap(),
        &["is in force", "OPENSSL_CONF of this shell names"],
    );
}

#[test]
fn one_of_two_does_not_work() {
    let machine = Machine::debian(DEBIAN);
    machine.openssl("/usr/local/bin/openssl", "/usr/local/ssl");
    machine.write("/usr/local/ssl/openssl.cnf", DEBIAN);
    machine.enable().ok();
    let version = "OpenSSL 3.0.0 7 sep 2021";
    let openssl = "/usr/local/bin/openssl";
    machine.script(openssl, version, "/usr/local/ssl", "echo broken; exit 1");
    let done = machine.status();
    contains(
        done.out.lines().next().unwrap(),
        &["in part: 1 of 2 configurations of OpenSSL prefer it and work with it. `tenrounds doctor` says"],
    );
    done.failed(1);
}

#[test]
fn what_does_not_work_is_not_in_force() {
    let machine = Machine::debian(DEBIAN);
    let copy = machine.place.path("tenrounds.so");
    std::fs::copy(crate::support::module(), &copy).unwrap();
    let mut tool = machine.tool(&["enable", "--system"]);
    tool.env("TENROUNDS_MODULE", &copy).done().ok();
    std::fs::remove_file(&copy).unwrap();
    let done = machine.status();
    contains(
        done.out.lines().next().unwrap(),
        &["prefers it, but does not work. `tenrounds doctor` says how to correct it"],
    );
    contains(&done.failed(1), &["tenrounds.so does not exist"]);
}
