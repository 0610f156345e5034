// SPDX-License-Identifier: BSD-2-Clause
//! Help, and what is said to a wrong command line.

use crate::support::{contains, Done, Finish, Place};

const COMMANDS: [&str; 9] = [
    "doctor",
    "run",
    "enable",
    "disable",
    "status",
    "bench",
    "selftest",
    "trace",
    "completions",
];

#[test]
fn every_command_explains_itself() {
    let place = Place::new();
    let help = place.tool(["--help"]).done().ok().out;
    contains(&help, &COMMANDS);
    contains(&help, &["Examples:", "Exit status:", "tenrounds(5)"]);
    for hidden in ["worker", "probe", "generate"] {
        assert!(!help.contains(hidden), "{hidden}");
    }
    for command in COMMANDS {
        let long = place.tool([command, "--help"]).done().ok().out;
        let usage = format!("Usage: tenrounds {command}");
        contains(&long, &[&usage, "Examples:", "Exit status:"]);
        assert!(!long.contains("--root"), "{command}");
        let short = place.tool([command, "-h"]).done().ok().out;
        contains(&short, &[&usage, "see more with '--help'"]);
        assert!(short.lines().count() < long.lines().count(), "{command}");
        let same = place.tool(["help", command]).done().ok().out;
        assert_eq!(same, long, "tenrounds help {command}");
    }
    contains(
        &place.tool(["--version"]).done().ok().out,
        &["tenrounds 0."],
    );
}

#[test]
fn without_a_command_the_help_is_shown() {
    let place = Place::new();
    let bare = place.tool([""; 0]).done();
    assert_eq!((bare.status, bare.out.as_str()), (Some(2), ""));
    contains(&bare.err, &["Usage: tenrounds", "status", "doctor"]);
    contains(&place.tool(["help"]).done().ok().out, &COMMANDS);
}

/// Each line fits, and no line of a paragraph ends long before it has to.
#[test]
fn help_is_wrapped_by_the_terminal_alone() {
    let place = Place::new();
    for command in COMMANDS {
        for columns in [80, 200] {
            let mut tool = place.tool([command, "--help"]);
            let help = tool.env("COLUMNS", columns.to_string()).done().ok().out;
            let widest = help.lines().map(|line| line.chars().count()).max();
            let limit = columns.min(100);
            assert!(widest <= Some(limit), "{command}, {columns}: {widest:?}");
            for pair in help.lines().collect::<Vec<_>>().windows(2) {
                let indent = |line: &str| line.len() - line.trim_start().len();
                let prose =
                    pair[0].split_whitespace().count() > 5 && indent(pair[0]) == indent(pair[1]);
                let next = pair[1].split_whitespace().next().unwrap_or_default();
                let ends =
                    pair[0].ends_with(['.', ':']) || next.is_empty() || next.starts_with('-');
                let fits = pair[0].chars().count() + 1 + next.chars().count() <= limit;
                let usage = pair[1].contains(&format!("tenrounds {command}"));
                // A command of a command, and what it does.
                let row = pair[0].trim_start().contains("  ");
                assert!(
                    !prose || ends || usage || row || !fits,
                    "{command}: {pair:?}"
                );
            }
        }
    }
}

#[test]
fn wrong_words_are_answered_with_the_nearest_and_the_usage() {
    let place = Place::new();
    let said = |args: &[&str]| place.tool(args).done().failed(2);
    contains(&said(&["stauts"]), &["'stauts'", "'status'"]);
    contains(
        &said(&["status", "--jsn"]),
        &["'--jsn'", "'--json'", "Usage: tenrounds status"],
    );
    contains(&said(&["run"]), &["<COMMAND>", "Usage: tenrounds run"]);
    contains(
        &said(&["completions", "tcsh"]),
        &["'tcsh'", "bash", "zsh", "fish"],
    );
}

#[test]
fn an_unknown_algorithm_or_size_is_named() {
    let place = Place::new();
    let said = place.tool(["bench", "aes-128-crt"]).done().failed(2);
    contains(
        &said,
        &[
            "aes-128-crt",
            "did you mean 'aes-128-ctr'?",
            "aes-{128,192,256}",
            "Usage: tenrounds bench",
        ],
    );
    for size in ["0", "16X", "1G"] {
        let mut tool = place.tool(["bench", "aes-128-ctr", "--bytes", size]);
        contains(&tool.done().failed(2), &[size, "16384"]);
    }
    let mut tool = place.tool(["bench", "aes-128-ctr", "--threads", "none"]);
    contains(&tool.done().failed(2), &["none", "threads"]);
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

#[test]
fn colours_by_variable() {
    let place = Place::new();
    let coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let mut tool = place.tool(args);
        let done: Done = tool.envs(variables.iter().copied()).done();
        format!("{}{}", done.out, done.err).contains('\x1b')
    };
    let no_color = ("NO_COLOR", "1");
    // Output, help and errors alike.
    for line in [
        &["status"][..],
        &["--help"],
        &["detcet"],
        &["status", "--x"],
    ] {
        let forced = ("CLICOLOR_FORCE", "1");
        assert!(!coloured(line, &[]), "{line:?}: no terminal");
        assert!(coloured(line, &[forced]), "{line:?}");
        assert!(!coloured(line, &[forced, no_color]), "{line:?}");
    }
}
