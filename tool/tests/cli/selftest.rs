// SPDX-License-Identifier: BSD-2-Clause

use crate::json::valid;
use crate::support::{bitslice_alone, contains, emulated, Finish, Place, SHUFFLES};

#[test]
fn every_backend_has_its_line() {
    let place = Place::new();
    let mut tool = place.tool(["selftest", "--seed", "7"]);
    if emulated() {
        // All lengths take a minute there; tests/core/crosscheck.c tries them, too.
        tool.args(["--up-to", "100"]);
    }
    let done = tool.done().ok();
    let backends: &[_] = if cfg!(target_arch = "aarch64") {
        &["armce", "armce-noclmul", "vperm"]
    } else {
        &["vaes512", "vaes256", "aesni"]
    };
    contains(&done.out, backends);
    contains(&done.out, &["bitslice", "pass", "seed 7"]);
    assert!(!done.out.contains("FAIL"), "{}", done.out);
}

#[test]
fn one_seed_is_one_run() {
    let place = Place::new();
    let run = |seed| {
        valid(
            &place
                .tool(["selftest", "--json", "--up-to", "32", "--seed", seed])
                .done()
                .ok()
                .out,
        )
    };
    assert_eq!(run("1").at("/selftest"), run("1").at("/selftest"));
}

#[test]
fn a_failure_is_seen() {
    let place = Place::new();
    let sabotaged = || {
        let mut tool = place.faulty_tool(["selftest", "--up-to", "32"]);
        tool.env("TENROUNDS_SABOTAGE", "bitslice");
        tool
    };
    let done = sabotaged().done();
    contains(&done.out, &["FAIL"]);
    contains(&done.failed(1), &["bitslice failed"]);
    let done = sabotaged().arg("--json").done();
    assert_eq!(done.status, Some(1));
    let json = valid(&done.out);
    assert_eq!(json.at("/selftest/passed"), false);
    for line in json.list("/selftest/backends") {
        if line["usable"] == true {
            assert_eq!(line["known_answers"], line["name"] != "bitslice", "{line}");
            assert_eq!(line["cross_check"], true, "{line}");
        }
    }
}

#[test]
fn a_masked_backend_is_not_run_and_says_why() {
    let place = Place::new();
    let mut tool = place.tool(["selftest", "--json", "--up-to", "32"]);
    let json = valid(&tool.env("TENROUNDS_MASK", bitslice_alone()).done().ok().out);
    for line in json.list("/selftest/backends") {
        if line["name"] == "bitslice" {
            assert_eq!(line["known_answers"], true);
            assert!(line["cross_check"].is_null(), "there is no other: {line}");
        } else {
            assert!(line["known_answers"].is_null(), "{line}");
            let why = [line["masked"].to_string(), line["missing"].to_string()].concat();
            let lacks = if line["name"] == "vperm" {
                SHUFFLES
            } else {
                "aes"
            };
            contains(&why, &[lacks]);
        }
    }
}

#[test]
fn a_wrong_mask_is_not_a_test_passed() {
    let place = Place::new();
    let mut tool = place.tool(["selftest"]);
    contains(
        &tool.env("TENROUNDS_MASK", "noeas").done().failed(2),
        &["'noeas'", "'noaes'"],
    );
}
