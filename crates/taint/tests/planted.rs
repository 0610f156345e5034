// SPDX-License-Identifier: BSD-2-Clause
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::disallowed_macros)]
//! Each planted leak of tests/planted.c is found, and its constant-time counterpart passes.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("planted");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/planted.c");
        let status = Command::new("cc")
            .args(["-O2", "-fno-tree-vectorize", "-Wall", "-o"])
            .args([program.as_os_str(), source.as_ref()])
            .status()
            .expect("cc");
        assert!(status.success());
        program
    })
}

fn taint(what: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taint"))
        .args([program().as_os_str(), what.as_ref()])
        .output()
        .expect("taint")
}

/// The report without its last line, which has the time.
fn report(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[..lines.len() - 1].join("\n")
}

/// The report. None if this processor cannot run it.
fn reported(what: &str, status: i32) -> Option<String> {
    let output = taint(what);
    if output.status.code() == Some(77) {
        println!("# SKIP {what}: this processor has no AVX-512");
        return None;
    }
    let text = report(&output);
    assert_eq!(output.status.code(), Some(status), "{what}: {text}");
    Some(text)
}

#[track_caller]
fn leaks(what: &str, expected: &[&str], function: &str) {
    let Some(text) = reported(what, 1) else {
        return;
    };
    for leak in expected {
        assert!(text.contains(leak), "{what}: {leak}: {text}");
    }
    // The compiler may have made a copy, whose name has a suffix.
    let place = |end: &str| text.contains(&format!("\n    {function}{end}"));
    assert!(place("+0x") || place("."), "{what}: {text}");
    let found = text
        .lines()
        .filter(|line| line.starts_with("taint: "))
        .count();
    assert_eq!(found, expected.len(), "{what}: {text}");
}

#[track_caller]
fn clean(what: &str) {
    if let Some(text) = reported(what, 0) {
        assert_eq!(text, "");
    }
}

const BRANCH: &str = "a branch depends on a secret";
const ADDRESS: &str = "a memory address depends on a secret";
const COUNT: &str = "a shift count depends on a secret";
const OPERAND: &str = "a secret operand of an instruction";

#[test]
fn a_table_of_aes() {
    let output = taint("aes-table");
    assert_eq!(
        output.stdout, b"69c4e0d86a7b0430d8cdb78070b4c55a",
        "FIPS-197 C.1"
    );
    leaks("aes-table", &[ADDRESS], "by_table");
}

#[test]
fn aes_without_a_table() {
    let output = taint("aes");
    assert_eq!(
        output.stdout, b"69c4e0d86a7b0430d8cdb78070b4c55a",
        "FIPS-197 C.1"
    );
    assert_eq!(
        (output.status.code(), report(&output)),
        (Some(0), String::new())
    );
}

#[test]
fn a_comparison_that_ends_early() {
    leaks("tag-early", &[BRANCH], "early_exit");
    leaks("tag-early-words", &[BRANCH], "early_exit_words");
    clean("tag");
}

#[test]
fn a_branch_on_a_byte_of_the_key() {
    leaks("branch", &[BRANCH], "branch_on_key");
}

#[test]
fn a_shift_by_a_secret() {
    leaks("shift", &[COUNT], "shift_by_secret");
}

#[test]
fn a_division() {
    leaks("divide", &[OPERAND], "divide");
}

#[test]
fn the_length_of_a_string_instruction() {
    leaks(
        "string",
        &["the length of a string instruction"],
        "string_length",
    );
}

#[test]
fn a_secret_for_a_system_call() {
    let text = reported("system-call", 1).expect("runs everywhere");
    assert!(text.contains("a system call is given a secret"), "{text}");
}

#[test]
fn a_leak_that_only_the_path_for_512_bits_has() {
    clean("narrow");
    leaks("wide", &[BRANCH], "wide");
}

#[test]
fn a_leak_among_signals() {
    leaks("signals", &[BRANCH], "branch_on_key");
    leaks("signals-counted", &[BRANCH], "branch_on_key");
}

#[test]
fn a_program_that_ends_in_a_signal_handler() {
    let output = taint("signals-leave");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(!text.contains(" findings; "), "{text}");
}

#[test]
fn an_instruction_that_nobody_classified() {
    leaks(
        "unknown",
        &["does not know", "does not know"],
        "unknown_instruction",
    );
}
