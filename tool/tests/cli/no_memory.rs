// SPDX-License-Identifier: BSD-2-Clause
//! Commands whose allocations fail. Rust ends the process when one of its own fails; a function of
//! the C library reports an error. Either way the command must end with an error or with the right
//! result, and `enable` and `disable` must leave the old or the new configuration. The C library is
//! glibc, whose allocator has names that the test's own can call.

use crate::enable_support::{Machine, DEBIAN};
use crate::run_reach::compile;
use crate::support::Place;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

const CONF: &str = "/etc/ssl/openssl.cnf";

fn allocator(place: &Place) -> PathBuf {
    let source = include_str!("no_memory.c");
    compile(place, "no_memory.so", source, &["-shared", "-fPIC", "-O1"])
}

/// How many allocations a command makes.
fn count(place: &Place, library: &PathBuf, mut command: Command) -> usize {
    let file = place.path("allocations");
    command.env("LD_PRELOAD", library);
    let done = command.env("NO_MEMORY_COUNT", &file).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Runs a command with one allocation that fails. Returns what it wrote if it succeeded.
fn without(library: &PathBuf, at: usize, mut command: Command) -> Option<Output> {
    command.env("LD_PRELOAD", library);
    let done = command
        .env("NO_MEMORY_AT", at.to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    match (done.status.code(), done.status.signal()) {
        (Some(0), _) => return Some(done),
        // handle_alloc_error(), or the C library when it registers a destructor of a thread.
        (_, Some(libc::SIGABRT)) => assert!(
            said.contains("memory allocation of") || said.contains("out of memory"),
            "allocation {at}: {said}"
        ),
        (Some(1..=3), _) => assert!(!said.is_empty(), "allocation {at}: no error"),
        // A panic, of the standard library with the kind of its error.
        (Some(101), _) => assert!(
            said.contains("out of memory") || said.contains("OutOfMemory"),
            "allocation {at}: {said}"
        ),
        _ => panic!("allocation {at}: {:?}: {said}", done.status),
    }
    None
}

/// Some of the allocations, at equal distances.
fn some(count: usize, few: usize) -> impl Iterator<Item = usize> {
    (1..=count).step_by(count / few + 1)
}

#[test]
fn every_command_says_so() {
    let place = Place::new();
    let library = allocator(&place);
    for args in [&["status"][..], &["scan", "/bin/sh"]] {
        let right = place.tool(args).output().unwrap().stdout;
        let n = count(&place, &library, place.tool(args));
        let mut failures = 0;
        for at in some(n, 40) {
            match without(&library, at, place.tool(args)) {
                // What libcrypto or the C library could not do is named.
                Some(done) => {
                    let text = String::from_utf8_lossy(&done.stdout);
                    let named = ["cannot", "Cannot", "out of memory", "gives no AES"];
                    assert!(
                        done.stdout == right || named.iter().any(|words| text.contains(words)),
                        "{args:?}, allocation {at}: {text}"
                    );
                }
                None => failures += 1,
            }
        }
        println!("{args:?}: {n} allocations, {failures} failures");
        assert!(failures > 10, "{args:?}: {failures} of {n}");
    }
}

#[test]
fn enable_leaves_the_old_or_the_new() {
    let machine = Machine::debian(DEBIAN);
    let library = allocator(&machine.place);
    let before = machine.tree();
    for command in [["enable", "--system"], ["disable", "--system"]] {
        let prepare = || {
            if command[0] == "disable" {
                machine.enable().ok();
            }
        };
        machine.enable().ok();
        let new = machine.read(CONF);
        machine.disable().ok();
        assert_eq!(machine.tree(), before);
        prepare();
        let n = count(&machine.place, &library, machine.tool(&command));
        machine.disable().ok();
        let mut failures = 0;
        for at in some(n, 14) {
            prepare();
            let done = without(&library, at, machine.tool(&command));
            let now = machine.read(CONF);
            let (old, wanted) = match command[0] {
                "enable" => (DEBIAN.as_bytes(), &new[..]),
                _ => (&new[..], DEBIAN.as_bytes()),
            };
            assert!(
                now == wanted || (done.is_none() && now == old),
                "{command:?}, allocation {at}: {}",
                String::from_utf8_lossy(&now)
            );
            failures += u32::from(done.is_none());
            machine.disable().ok();
            assert_eq!(machine.tree(), before, "{command:?}, allocation {at}");
        }
        println!("{command:?}: {n} allocations, {failures} failures");
        assert!(failures > 4, "{command:?}: {failures} of {n}");
    }
}
