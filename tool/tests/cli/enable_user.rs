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
            "ok: a handshake",
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
        &machine.tool(&["enable", "--user"]).done().ok().out,
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
fn the_profile_by_a_flag_and_back_to_the_byte() {
    let machine = Machine::debian(DEBIAN);
    let profile = "umask 022\nPATH=$PATH:/opt/bin";
    fs::write(home(&machine, ".profile"), profile).unwrap();
    for _ in 0..2 {
        let done = machine.tool(&["enable", "--profile"]).done().ok();
        contains(&done.out, &["enables it in new shells", ".profile"]);
    }
    let text = fs::read_to_string(home(&machine, ".profile")).unwrap();
    assert_eq!(text.matches("OPENSSL_CONF=").count(), 1, "{text}");
    contains(
        &shell(&machine, "openssl list -providers").ok().out,
        &["default", "tenrounds"],
    );
    machine.tool(&["disable"]).done().ok();
    assert_eq!(
        fs::read_to_string(home(&machine, ".profile")).unwrap(),
        profile
    );
    assert_eq!(at_home(&machine), [home(&machine, ".profile")]);

    let other = home(&machine, "config.fish");
    let option = format!("--profile={}", other.display());
    machine.tool(&["enable", &option]).done().ok();
    contains(
        &fs::read_to_string(&other).unwrap(),
        &["set -gx OPENSSL_CONF '"],
    );
    let document = valid(&machine.tool(&["disable", "--json"]).done().ok().out);
    assert_eq!(document.text("/disable/sites/0/scope"), "user");
    assert!(!other.exists());
}

#[test]
fn a_profile_changed_since_loses_our_lines_only() {
    let machine = Machine::debian(DEBIAN);
    machine.tool(&["enable", "--profile"]).done().ok();
    let profile = home(&machine, ".profile");
    let text = fs::read_to_string(&profile).unwrap();
    fs::write(&profile, format!("umask 022\n{text}alias l=ls\n")).unwrap();
    contains(
        &machine.tool(&["disable"]).done().ok().out,
        &["only our lines"],
    );
    assert_eq!(
        fs::read_to_string(&profile).unwrap(),
        "umask 022\nalias l=ls\n"
    );
}

#[test]
fn no_profile_names_a_missing_file() {
    let machine = Machine::debian(DEBIAN);
    machine.tool(&["enable", "--profile"]).done().ok();
    let (profile, own) = (
        home(&machine, ".profile"),
        home(&machine, ".config/tenrounds/openssl.cnf"),
    );
    let [line, text] = [&profile, &own].map(|file| fs::read_to_string(file).unwrap());
    fs::write(&profile, line.replace("# tenrounds: end.", "")).unwrap();
    let said = machine.tool(&["disable"]).done().failed(1);
    contains(&said, &["a file that stays names it", ".profile: line 1"]);
    assert_eq!(fs::read_to_string(&own).unwrap(), text);

    fs::write(&profile, &line).unwrap();
    fs::write(&own, format!("{text}# mine\n")).unwrap();
    let said = machine.tool(&["disable"]).done().failed(1);
    contains(
        &said,
        &["openssl.cnf: was changed by somebody", "move it away"],
    );
    assert_eq!(fs::read_to_string(&profile).unwrap(), line);
    assert!(own.exists());

    fs::write(&own, &text).unwrap();
    machine.tool(&["disable"]).done().ok();
    assert!(at_home(&machine).is_empty());
}

/// A kill between the link and the rename leaves the old file's second name, which is no reason
/// to refuse the file.
#[test]
fn the_second_name_that_a_killed_run_left() {
    let machine = Machine::debian(DEBIAN);
    let profile = home(&machine, ".profile");
    fs::write(&profile, "umask 022\n").unwrap();
    fs::hard_link(&profile, home(&machine, "..profile.tenrounds-old")).unwrap();
    fs::hard_link(&profile, home(&machine, "other")).unwrap();
    let said = machine.tool(&["enable", "--profile"]).done().failed(1);
    contains(&said, &["2 names (hard links)"]);
    fs::remove_file(home(&machine, "other")).unwrap();
    machine.tool(&["enable", "--profile"]).done().ok();
    contains(
        &shell(&machine, "openssl list -providers").ok().out,
        &["tenrounds"],
    );
    machine.tool(&["disable"]).done().ok();
    assert_eq!(at_home(&machine), [profile]);
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
    assert!(at_home(&machine).is_empty());
}

#[test]
fn what_is_in_the_way_is_refused() {
    let machine = Machine::debian(DEBIAN);
    fs::write(
        home(&machine, ".profile"),
        "export OPENSSL_CONF=/my/own.cnf\n",
    )
    .unwrap();
    let said = machine.tool(&["enable", "--profile"]).done().failed(1);
    contains(&said, &[".profile: line 1 names OPENSSL_CONF="]);
    assert_eq!(at_home(&machine), [home(&machine, ".profile")]);

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
    let both = machine
        .tool(&["enable", "--user", "--system"])
        .done()
        .failed(2);
    contains(&both, &["--system"]);
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
    let profile = home(&machine, ".profile");
    for step in 0..200 {
        fs::write(&profile, "umask 022\n").unwrap();
        let mut tool = machine.killed(&["enable", "--profile"], step);
        let output = tool.output().unwrap();
        shell(&machine, "openssl rand -hex 4").ok();
        // One way on is to finish, the other to go back.
        if step % 3 == 0 {
            machine.tool(&["enable", "--profile"]).done().ok();
        }
        machine.tool(&["disable"]).done().ok();
        assert_eq!(
            fs::read_to_string(&profile).unwrap(),
            "umask 022\n",
            "step {step}"
        );
        assert_eq!(
            at_home(&machine),
            std::slice::from_ref(&profile),
            "step {step}"
        );
        if output.status.success() {
            assert!(step > 20, "{step} steps");
            return;
        }
    }
    panic!("it never came to an end");
}

/// A directory whose name is in Latin-1.
#[test]
fn a_home_that_is_not_utf_8() {
    let machine = Machine::debian(DEBIAN);
    let latin = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let directory = machine.place.path("home").join(latin);
    fs::create_dir(&directory).unwrap();
    let tool = |args: &[&str]| machine.tool(args).env("HOME", &directory).done();
    let done = tool(&["enable"]).ok();
    let mut lines = done.out.lines();
    let line = lines.find(|l| l.trim().starts_with("export ")).unwrap();
    contains(
        line,
        &[r#"OPENSSL_CONF="$HOME"'/.config/tenrounds/openssl.cnf'"#],
    );
    let mut sh = machine.place.program("sh");
    let script = format!("{line}; openssl list -providers");
    let shown = sh.env("HOME", &directory).args(["-c", &script]).done().ok();
    contains(&shown.out, &["tenrounds"]);
    valid(&tool(&["status", "--json"]).ok().out);
    tool(&["enable", "--profile"]).ok();
    contains(&tool(&["status"]).ok().out, &["enabled (user)"]);
    tool(&["disable"]).ok();
    assert!(!directory.join(".config").exists());
    assert_eq!(
        fs::read(directory.join(".profile")).unwrap_or_default(),
        b""
    );
}
