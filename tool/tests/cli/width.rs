// SPDX-License-Identifier: BSD-2-Clause
//! The output of the commands on narrow terminals: lines are wrapped, and 20 columns are no reason
//! to panic.

use crate::enable_support::Commands;
use crate::support::{contains, Done, Finish, TOOL};
use std::process::Stdio;

/// Command lines whose output people read, and the words that open it.
const LINES: [(&[&str], &str); 11] = [
    (&["status", "--verbose"], "tenrounds is"),
    (&["doctor"], "tenrounds"),
    (&["doctor", "--verbose"], "tenrounds"),
    (&["status"], "tenrounds is"),
    (&["enable", "--dry-run"], "Dry run"),
    (&["enable", "--system", "--dry-run"], "Dry run"),
    (&["disable"], ""),
    (&["scan", TOOL], "/"),
    (&["scan", TOOL], "/"),
    (&["selftest", "--seed", "1", "--up-to", "32"], "Passed"),
    (&["run", "--count", "--", "true"], ""),
];

/// Lines that are too long, although none of their words is. A diff is never broken.
fn too_long(text: &str, columns: usize) -> Vec<&str> {
    let of_diff = |line: &&str| line.starts_with(['+', '-', '@']);
    let long_word = |line: &&str| {
        let mut words = line.split_whitespace();
        words.any(|word| word.chars().count() + 16 > columns)
    };
    let lines = text.lines();
    let lines = lines.filter(|line| line.chars().count() > columns);
    lines
        .filter(|line| !of_diff(line) && !long_word(line))
        .collect()
}

#[test]
fn lines_are_wrapped_to_the_terminal() {
    let test = Commands::new();
    for (line, first) in LINES {
        for columns in [80, 40] {
            let mut tool = test.tool(line);
            let done = tool.env("COLUMNS", columns.to_string()).done();
            assert!(matches!(done.status, Some(0..=2)), "{line:?}: {done:?}");
            assert!(done.out.starts_with(first), "{line:?}: {}", done.out);
            assert!(!done.out.contains('\x1b'), "{line:?}");
            let long = too_long(&done.out, columns);
            assert!(long.is_empty(), "{line:?} in {columns} columns: {long:#?}");
            let long = too_long(&done.err, columns);
            assert!(long.is_empty(), "{line:?} in {columns} columns: {long:#?}");
        }
    }
}

/// What goes to standard error: errors of the tool and of its command line, masks, counts, and the
/// heading of `bench`.
#[test]
fn standard_error_and_headings_are_wrapped() {
    let test = Commands::new();
    for line in [
        &["enable", "--system", "--java-home", "/tmp"][..],
        &["completions", "tcsh"],
        &["completions", "bash", "--nonsense"],
        &["detcet"],
        &["run", "--mask", "noavx512,novaes", "--count", "--", "true"],
        &["run", "--count", "--", "openssl", "rand", "-hex", "8"],
        &["run", "--", "/nonexistent/command/of/no/package"],
        &["bench", "--baseline", "/nonexistent/old.json"],
        &["bench", "aes-128-ctr", "--bytes", "1K", "--seconds", "0.01"],
    ] {
        let whole = test.enables.place.tool(line).done();
        let mut tool = test.enables.place.tool(line);
        let done = tool.env("COLUMNS", "40").done();
        for text in [&done.out, &done.err] {
            let long = too_long(text, 40);
            assert!(long.is_empty(), "{line:?}: {long:#?}");
        }
        assert_eq!(done.status, whole.status, "{line:?}");
        // A narrow table is a list, which repeats its heads.
        let words = |text: &str| text.split_whitespace().count();
        let same = words(&done.err) == words(&whole.err);
        assert!(
            same || whole.err.contains("Executed by"),
            "{line:?}: {done:?}"
        );
    }
}

/// The words are the same in any width, and without one each paragraph is one line.
#[test]
fn nothing_is_lost_by_wrapping() {
    let test = Commands::new();
    let words = |done: Done| -> Vec<String> {
        let mut words: Vec<String> = done.out.split_whitespace().map(str::to_owned).collect();
        words.retain(|word| word.parse::<f64>().is_err()); // times
        words
    };
    for (line, _) in LINES.iter().filter(|(line, _)| {
        !line.contains(&"--verbose") && !["status", "selftest", "run", "scan"].contains(&line[0])
    }) {
        let whole = test.tool(line).done();
        let mut narrow = test.tool(line);
        let narrow = narrow.env("COLUMNS", "30").done();
        assert!(narrow.out.lines().count() >= whole.out.lines().count());
        assert_eq!(words(narrow), words(whole), "{line:?}");
    }
    let status = test.tool(&["status"]).done().ok().out;
    contains(
        status.lines().nth(1).unwrap(),
        &["AES-GCM", "tenrounds bench gcm"],
    );
}

#[test]
fn twenty_columns_and_fewer_are_survived() {
    let test = Commands::new();
    let help = [
        &["--help"][..],
        &["enable", "--help"],
        &["run", "--help"],
        &["detcet"],
    ];
    for columns in ["20", "7", "1"] {
        for (line, _) in LINES {
            let done = test.tool(line).env("COLUMNS", columns).done();
            assert!(matches!(done.status, Some(0..=2)), "{line:?}: {done:?}");
            assert!(!done.err.contains("panicked"), "{line:?}: {done:?}");
            assert!(!done.out.is_empty() || !done.err.is_empty());
        }
        for line in help {
            let done = test.enables.place.tool(line).env("COLUMNS", columns).done();
            assert!(matches!(done.status, Some(0 | 2)), "{line:?}: {done:?}");
        }
    }
    for nonsense in ["0", "-1", "wide", ""] {
        let done = test.tool(&["status"]).env("COLUMNS", nonsense).done().ok();
        contains(&done.out, &["not enabled (system)"]);
    }
}

/// On a terminal of 40 columns, by script(1): its width counts, and colours are used.
#[test]
fn a_terminal_is_asked_for_its_width() {
    let test = Commands::new();
    let mut script = test.enables.place.program("script");
    let line = format!(
        "stty cols 40 rows 24; '{}' status --root '{}'",
        TOOL,
        test.enables.root.display()
    );
    script
        .args(["-qec", &line, "/dev/null"])
        .stdin(Stdio::null());
    test.enables.at_home(&mut script);
    let Ok(output) = script.env("TERM", "xterm").env("COLUMNS", "200").output() else {
        return crate::support::skip("there is no script(1)");
    };
    let text = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    assert!(text.contains('\x1b'), "{text:?}");
    let plain = strip(&text);
    contains(&plain, &["tenrounds is not in force:"]);
    let long = too_long(&plain, 40);
    assert!(long.is_empty(), "{long:#?}");
}

/// Without the escape sequences of colours.
fn strip(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}
