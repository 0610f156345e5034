// SPDX-License-Identifier: BSD-2-Clause
//! `enable` and `disable` for one user.

use crate::enable_support::{Machine, DEBIAN};
use crate::json::valid;
use crate::support::{contains, skip, Done, Finish};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

fn home(machine: &Machine, path: &str) -> PathBuf {
    machine.place.path("home").join(path)
}

fn at_home(machine: &Machine) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut dirs = vec![home(machine, "")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => found.push(path),
            }
        }
    }
    found
}

/// What a shell that reads the profile makes of a command.
fn shell(machine: &Machine, command: &str) -> Done {
    let profile = home(machine, ".profile");
    let script = format!(". '{}'; {command}", profile.display());
    let mut sh = machine.place.program("sh");
    machine.at_home(&mut sh);
    sh.args(["-c", &script]).done()
}

#[test]
fn on_by_the_printed_line_and_off() {
    let machine = Machine::debian(DEBIAN);
    let done = machine.tool(&["enable"]).done().ok();
    contains(
        &done.out,
        &[
            "enabled (user)",
            "ok: 16 random bytes",
            "Add it to your profile",
        ],
    );
    let line = done
        .out
        .lines()
        .find(|l| l.trim().starts_with("export "))
        .unwrap();
    fs::write(home(&machine, ".profile"), line).unwrap();
    contains(
        &shell(&machine, "openssl list -providers").ok().out,
        &["default", "tenrounds"],
    );
    contains(
        &machine.tool(&["enable"]).done().ok().out,
        &["enabled already"],
    );
    contains(
        &machine.status().ok().out,
        &["enabled (user)", "this shell's does not"],
    );
    let mut tool = machine.tool(&["disable"]);
    let conf = home(&machine, ".config/tenrounds/openssl.cnf");
    let done = tool.env("OPENSSL_CONF", &conf).done().ok();
    contains(&done.out, &["disabled", "unset OPENSSL_CONF"]);
    assert_eq!(at_home(&machine), [home(&machine, ".profile")]);
    contains(
        &machine.tool(&["disable"]).done().ok().out,
        &["not enabled"],
    );
    // What still has the variable works as before.
    contains(
        &shell(&machine, "openssl rand -hex 4; openssl list -providers")
            .ok()
            .out,
        &["default"],
    );
}

#[test]
fn root_creates_nothing_below_a_directory_of_another_user() {
    // SAFETY: geteuid() has no requirements.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can change the owner of a directory");
    }
    let machine = Machine::debian(DEBIAN);
    let other = machine.place.path("other");
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::chown(&other, Some(12345), None).unwrap();
    for variable in ["XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
        let mut tool = machine.tool(&["enable"]);
        let said = tool.env(variable, other.join("new")).done().failed(1);
        contains(&said, &["belongs to user 12345", "chown 0 "]);
        assert!(!other.join("new").exists());
    }
    // The other user can replace even root's own directory there.
    let own = other.join("tenrounds");
    fs::create_dir(&own).unwrap();
    let link = other.join("linked");
    std::os::unix::fs::symlink(&machine.root, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(12345), None).unwrap();
    for (place, why) in [
        (&other, "belongs to user 12345"),
        (&link, "is a symbolic link of user 12345"),
    ] {
        for variable in ["XDG_STATE_HOME", "XDG_CONFIG_HOME"] {
            let mut tool = machine.tool(&["enable"]);
            contains(&tool.env(variable, place).done().failed(1), &[why]);
        }
    }
    assert!(fs::read_dir(&own).unwrap().next().is_none());
    assert!(at_home(&machine).is_empty());
}

#[test]
fn what_is_in_the_way_is_refused() {
    let machine = Machine::debian(DEBIAN);
    fs::create_dir_all(home(&machine, ".config/tenrounds")).unwrap();
    let own = home(&machine, ".config/tenrounds/openssl.cnf");
    fs::write(&own, "mine\n").unwrap();
    contains(
        &machine.tool(&["enable"]).done().failed(1),
        &["did not write it; move it away"],
    );
    contains(
        &machine.tool(&["disable"]).done().failed(1),
        &["did not write it; move it away"],
    );
    assert_eq!(fs::read_to_string(&own).unwrap(), "mine\n");

    let mut tool = machine.tool(&["enable"]);
    contains(
        &tool.env_remove("HOME").done().failed(1),
        &["HOME is not set"],
    );
}

#[test]
fn the_users_own_configuration_is_included() {
    let machine = Machine::debian(DEBIAN);
    let own = machine.place.file(
        "own.cnf",
        "openssl_conf = i\n[i]\nproviders = p\n[p]\nlegacy = l\ndefault = l\n[l]\nactivate = 1\n",
    );
    let mut tool = machine.tool(&["enable"]);
    tool.env("OPENSSL_CONF", &own).done().ok();
    let mut openssl = machine.place.program("openssl");
    openssl.args(["list", "-providers"]);
    openssl.env(
        "OPENSSL_CONF",
        home(&machine, ".config/tenrounds/openssl.cnf"),
    );
    contains(
        &openssl.done().ok().out,
        &["legacy", "default", "tenrounds"],
    );
    machine.tool(&["disable"]).done().ok();
    assert!(at_home(&machine).is_empty());
}

#[test]
fn killed_anywhere_the_shell_works() {
    let machine = Machine::debian(DEBIAN);
    let own = home(&machine, ".config/tenrounds/openssl.cnf");
    for step in 0..200 {
        let output = machine.killed(&["enable"], step).output().unwrap();
        let mut openssl = machine.place.program("openssl");
        machine.at_home(&mut openssl);
        openssl
            .args(["rand", "-hex", "4"])
            .env("OPENSSL_CONF", &own);
        openssl.done().ok();
        // One way on is to finish, the other to go back.
        if step % 3 == 0 {
            machine.tool(&["enable"]).done().ok();
        }
        machine.tool(&["disable"]).done().ok();
        assert!(at_home(&machine).is_empty(), "step {step}");
        if output.status.success() {
            assert!(step > 10, "{step} steps");
            return;
        }
    }
    panic!("it never came to an end");
}

/// A directory whose name is in Latin-1, which no line of a shell can name.
#[test]
fn a_home_that_is_not_utf_8() {
    let machine = Machine::debian(DEBIAN);
    let latin = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let directory = machine.place.path("home").join(latin);
    fs::create_dir(&directory).unwrap();
    let tool = |args: &[&str]| machine.tool(args).env("HOME", &directory).done();
    let said = tool(&["enable"]).failed(1);
    contains(&said, &["not UTF-8", "set XDG_CONFIG_HOME"]);
    valid(&tool(&["status", "--json"]).ok().out);
    tool(&["disable"]).ok();
    assert!(at_home(&machine).is_empty());
}
