// SPDX-License-Identifier: BSD-2-Clause
//! Help, and what is said to a wrong command line.

use crate::support::{contains, Finish, Place};

#[test]
fn every_command_explains_itself() {
    let place = Place::new();
    let help = place.tool(["--help"]).done().ok().out;
    contains(
        &help,
        &[
            "detect",
            "doctor",
            "run",
            "enable",
            "disable",
            "status",
            "speed",
            "compare",
            "compare-paths",
            "diff",
            "selftest",
            "TENROUNDS_MASK",
        ],
    );
    for command in [
        "detect",
        "doctor",
        "run",
        "enable",
        "disable",
        "status",
        "speed",
        "compare",
        "compare-paths",
        "diff",
        "selftest",
        "completions",
    ] {
        let help = place.tool([command, "--help"]).done().ok().out;
        contains(&help, &["Usage: tenrounds", command]);
    }
    contains(
        &place.tool(["--version"]).done().ok().out,
        &["tenrounds 0."],
    );
}

#[test]
fn wrong_words_are_answered_in_one_line() {
    let place = Place::new();
    let said = |args: &[&str]| place.tool(args).done().failed(2);
    contains(&said(&["detcet"]), &["'detcet'", "'detect'"]);
    contains(&said(&["detect", "--jsn"]), &["'--jsn'", "'--json'"]);
    contains(&said(&[]), &["detect, doctor, run, enable"]);
    contains(&said(&["run"]), &["no <COMMAND>"]);
    contains(
        &said(&["selftest", "--backend", "vaes215"]),
        &["'vaes215'", "mean 'vaes512'", "bitslice"],
    );
    contains(
        &said(&["completions", "tcsh"]),
        &["'tcsh'", "bash", "zsh", "fish"],
    );
}

#[test]
fn an_unknown_algorithm_or_size_is_named() {
    let place = Place::new();
    for command in ["speed", "compare"] {
        let said = place.tool([command, "aes-128-crt"]).done().failed(2);
        contains(
            &said,
            &[
                "aes-128-crt",
                "did you mean 'aes-128-ctr'?",
                "aes-{128,192,256}",
            ],
        );
        for size in ["0", "16X", "1G"] {
            let said = place
                .tool([command, "aes-128-ctr", "--bytes", size])
                .done()
                .failed(2);
            contains(&said, &[size, "16384"]);
        }
        let said = place
            .tool([command, "aes-128-ctr", "--threads", "none"])
            .done()
            .failed(2);
        contains(&said, &["none", "threads"]);
    }
}

#[test]
fn an_unknown_mask_is_named_with_the_nearest() {
    let place = Place::new();
    let said = place
        .tool(["run", "--mask", "noaes,noavx521", "--", "true"])
        .done()
        .failed(2);
    contains(
        &said,
        &[
            "'noavx521'",
            "did you mean 'noavx512'?",
            "noclmul",
            "novaes",
        ],
    );
}
