// SPDX-License-Identifier: BSD-2-Clause
//! `trace --callers` on a program whose chain of calls to AES code is known.

use crate::json::valid;
use crate::support::{contains, module, Finish, Nobody, Place, TOOL};
use crate::trace::without_perf;
use crate::trace::{aes_works, can_sample, ready, traced_with, while_it_runs, ENCRYPT};
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/chain.c");

/// The program, with its two libraries and that of the core. It has no frame pointers.
fn chain(place: &Place, depth: u32) -> PathBuf {
    let core = module().ancestors().find_map(|dir| {
        let file = dir.join("libtenrounds.so.2");
        file.exists().then_some(file)
    });
    let core = core.expect("libtenrounds.so.2 is staged with the module");
    let depth = format!("-DDEPTH={depth}");
    let cc = |part: &[&str], needed: &[&Path], output: &str| {
        let output = place.path(output);
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-O2", "-fomit-frame-pointer", &depth, "-I"]);
        cc.arg(core.with_file_name("../include")).args(part);
        cc.arg(SOURCE).args(needed).arg("-o").arg(&output);
        cc.arg(format!("-Wl,-rpath,{}", core.parent().unwrap().display()));
        assert!(cc.status().unwrap().success(), "{cc:?}");
        output
    };
    let library = |part, needed: &Path, name| cc(&["-shared", "-fPIC", part], &[needed], name);
    let inner = library("-DINNER", &core, "libinner.so");
    let outer = library("-DOUTER", &inner, "libouter.so");
    cc(&[], &[&outer, &inner], "program")
}

/// The functions and files of a chain.
fn calls(chain: &Value) -> Vec<(&str, &str)> {
    let calls = chain["calls"].as_array().unwrap().iter();
    calls
        .map(|call| {
            let file = call["file"].as_str().unwrap();
            let file = file.rsplit('/').next().unwrap();
            (call["function"].as_str().unwrap_or_default(), file)
        })
        .collect()
}

#[test]
fn a_chain_through_two_libraries() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = chain(&place, 0);
    let child = ready(place.program(&program));
    let pid = child.0.id().to_string();
    let line = ["trace", "--callers", "--json", "--seconds", "1", "-p", &pid];
    for perf in [true, false] {
        let look = || {
            // The buffer has room for the stacks of a quarter of a second. If this user may, the
            // tool comes before other work, so that none is lost on a busy machine.
            let mut tool = place.program("nice");
            tool.args(["-n", "-20", TOOL]).args(line);
            match perf {
                true => tool.done(),
                false => without_perf(&mut tool).done(),
            }
        };
        let document = valid(&while_it_runs(&child, 1.0, look).ok().out);
        let findings = &document.at("/trace/processes/0/findings");
        let places = findings[0]["places"].as_array().unwrap();
        let mut samples = [0, 0];
        for chain in places
            .iter()
            .flat_map(|place| place["callers"].as_array().unwrap())
        {
            let calls = calls(chain);
            let known = [
                ("inner_encrypt", "libinner.so"),
                ("outer_write", "libouter.so"),
                ("send_chain", "program"),
            ];
            let is_known = calls.ends_with(&known) && chain["complete"] == true;
            // Before them come only functions of the core.
            let core = &calls[..calls.len().saturating_sub(known.len())];
            let is_known = is_known
                && core
                    .iter()
                    .all(|(_, file)| file.starts_with("libtenrounds.so"));
            samples[usize::from(is_known)] += chain["samples"].as_u64().unwrap();
        }
        let [others, known] = samples;
        assert!(
            known > 10 && others * 50 <= known,
            "{samples:?}: {document:#?}"
        );
        assert_eq!(Some(others + known), findings[0]["samples"].as_u64());
        assert_eq!(document.at("/trace/lost"), 0);
    }
    let text = traced_with(&place, &child, &["--callers"], "0.3");
    contains(
        &text,
        &[
            ": callers of ",
            "inner_encrypt <- outer_write <- program send_chain",
        ],
    );
    // Without the option, nothing is said of callers.
    let document = valid(&traced_with(&place, &child, &["--json"], "0.3"));
    let callers = document.at("/trace/processes/0/findings/0/places/0/callers");
    assert_eq!(callers, &Value::Null);
}

/// A chain is followed through 32 functions. Who called the last one is then unknown.
#[test]
fn a_chain_that_is_too_long_is_not_complete() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let child = ready(place.program(chain(&place, 40)));
    let options = ["--callers", "--json"];
    let document = valid(&traced_with(&place, &child, &options, "0.5"));
    let places = document.at("/trace/processes/0/findings/0/places");
    let mut samples = 0;
    for chain in places
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|place| place["callers"].as_array().unwrap())
    {
        assert_eq!(chain["complete"], false, "{document:#?}");
        // Without the function that was sampled.
        if calls(chain).len() == 31 {
            samples += chain["samples"].as_u64().unwrap();
        }
    }
    assert!(samples > 10, "{document:#?}");
}

/// The first of 2 ring buffers could take all the memory that this user may lock.
#[test]
fn a_user_with_little_locked_memory() {
    const LIMIT: libc::rlim_t = 1040 << 10;
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let Some(nobody) = Nobody::new() else { return };
    let mut tool = nobody.tool(
        &place,
        ["trace", "--callers", "--json", "--", "sh", "-c", ENCRYPT],
    );
    let limit = || {
        let limit = libc::rlimit {
            rlim_cur: LIMIT,
            rlim_max: LIMIT,
        };
        // SAFETY: the structure is valid.
        match unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure only calls setrlimit(), which is async-signal-safe.
    unsafe { tool.pre_exec(limit) };
    let document = valid(&tool.stdout(Stdio::null()).done().ok().err);
    assert_eq!(aes_works(&document), ["aes-ni"], "{document:#?}");
    let troubles = document.at("/trace/troubles").to_string();
    assert!(!troubles.contains("ptrace"), "{troubles}");
}
