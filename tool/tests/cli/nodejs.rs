// SPDX-License-Identifier: BSD-2-Clause
//! Node.js with its own OpenSSL: `nodejs_conf` names our section for it, unless one on the machine
//! is too old to start with that.

use crate::enable_support::{Machine, DEBIAN};
use crate::run_reach::compile;
use crate::support::{contains, Finish, Place};
use std::fs;
use std::path::{Path, PathBuf};

const OWN: &str = "/etc/ssl/tenrounds.cnf";

/// A program with the texts that tell a Node.js and the version of its OpenSSL.
fn node(place: &Place, openssl: &str) -> PathBuf {
    fs::create_dir_all(place.path("bin")).unwrap();
    let source = format!(
        "const char texts[] = \"nodejs_conf\\0OpenSSL {openssl}\";\n\
         int main(int n, char **v) {{ return texts[n] == **v; }}"
    );
    compile(place, "bin/node", &source, &["-s"])
}

#[test]
fn the_system_names_our_section_unless_one_is_too_old() {
    let with = |openssl: &str| {
        let machine = Machine::debian(DEBIAN);
        let program = node(&machine.place, openssl);
        machine.write(
            "/home/ann/.nvm/versions/node/v1/bin/node",
            fs::read(program).unwrap(),
        );
        let out = machine.enable().ok().out;
        (out, String::from_utf8(machine.read(OWN)).unwrap())
    };
    let (out, own) = with("3.0.2 15 Mar 2022");
    assert!(own.contains("\nnodejs_conf = tenrounds_nodejs\n"), "{own}");
    assert!(!out.contains("nodejs_conf"), "{out}");
    let (out, own) = with("1.1.1v 1 Aug 2023");
    assert!(!own.contains("nodejs_conf"), "{own}");
    let named = [
        "'nodejs_conf' is left out",
        "/home/ann/.nvm/versions/node/v1/bin/node",
        "1.1.1",
    ];
    contains(&out, &named);
}

#[test]
fn a_pipe_in_a_home_is_not_opened() {
    let machine = Machine::debian(DEBIAN);
    let program = machine.write("/home/eve/.nvm/versions/node/v1/bin/node", "");
    fs::remove_file(&program).unwrap();
    nix::unistd::mkfifo(&program, nix::sys::stat::Mode::S_IRWXU).unwrap();
    machine.enable().ok();
}

/// The configuration that lines of `run --print-env` name, with this program's directory on PATH.
fn configuration(place: &Place, node: &Path) -> String {
    let mut path = node.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    let mut run = place.tool(["run", "--print-env"]);
    let lines = run.env("PATH", path).done().ok().out;
    let (_, rest) = lines.split_once("OPENSSL_CONF='").expect("OPENSSL_CONF");
    fs::read_to_string(rest.split_once('\'').unwrap().0).unwrap()
}

#[test]
fn a_shell_gets_no_section_if_the_one_on_its_path_is_too_old() {
    let place = Place::new();
    let old = configuration(&place, &node(&place, "1.1.1v 1 Aug 2023"));
    contains(&old, &["default_properties"]);
    assert!(!old.contains("nodejs_conf"), "{old}");
}

#[test]
fn run_says_which_one_it_does_not_reach() {
    let place = Place::new();
    let said = |openssl: &str| {
        let program = node(&place, openssl);
        let mut run = place.tool(["run", "--"]);
        run.arg(program).done().ok().err
    };
    contains(
        &said("1.1.1v 1 Aug 2023"),
        &["brings OpenSSL 1.1.1v, which knows no providers"],
    );
    assert_eq!(said("3.5.9 1 Sep 2026"), "");
}

#[test]
fn run_names_our_section() {
    let place = Place::new();
    let mut run = place.tool(["run", "--", "sh", "-c", "cat \"$OPENSSL_CONF\""]);
    contains(&run.done().ok().out, &["nodejs_conf"]);
}
