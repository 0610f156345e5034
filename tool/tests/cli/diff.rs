// SPDX-License-Identifier: BSD-2-Clause
//! diff, on files that were made up for it.

use crate::json::{valid, Document};
use crate::support::{contains, Done, Finish, Place};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/diff");
pub const BENCH_OLD: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/diff/bench-old.json"
);
pub const BENCH_NEW: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/diff/bench-new.json"
);

fn diff(old: &str, new: &str, more: &[&str]) -> Done {
    let place = Place::new();
    let [old, new] = [old, new].map(|file| format!("{FIXTURES}/{file}"));
    let args = ["diff", &old, &new];
    place.tool([&args[..], more].concat()).done()
}

fn row(document: &Document, name: &str) -> serde_json::Value {
    let rows = document.list("/diff/rows");
    let found = rows.iter().find(|row| row["row"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {rows:#?}"))
        .clone()
}

/// The newer file in the schema of now and in the older one, which is converted.
#[test]
fn what_changed_beyond_both_spreads_is_marked() {
    for new in ["bench-new.json", "bench-new-2.json"] {
        let document = valid(&diff("bench-old.json", new, &["--json"]).ok().out);
        let verdict = |name: &str| row(&document, name)["verdict"].clone();
        assert_eq!(verdict("aes-128 ctr, 16 KiB, core"), "faster");
        assert_eq!(verdict("aes-128 ctr, 16 KiB, openssl-3.0"), "same");
        assert_eq!(verdict("aes-128 ctr, 64 B, core"), "slower");
        assert_eq!(verdict("aes-128 cbc-encrypt-16, 64 B, core"), "same");
        assert_eq!(document.list("/diff/rows").len(), 4);
        let names = |list: &str| document.list(&format!("/diff/{list}"));
        assert_eq!(names("only_in_old"), ["aes-128 gcm-encrypt, 31 B, core"]);
        assert_eq!(names("only_in_new"), ["aes-128 gcm-encrypt, 100 B, core"]);
        assert_eq!(names("without_limit"), ["aes-128 ctr, 16 B, core"]);
        assert_eq!(
            (document.at("/diff/slower"), document.at("/diff/faster")),
            (&1.into(), &1.into())
        );
        let unlike = document.list("/diff/unlike");
        let what: Vec<&str> = unlike.iter().map(|u| u["what"].as_str().unwrap()).collect();
        assert_eq!(
            what,
            [
                "microcode",
                "tenrounds",
                "version of core",
                "TENROUNDS_MASK"
            ]
        );
        assert_eq!(
            (&unlike[3]["old"], &unlike[3]["new"]),
            (&"-".into(), &"novaes".into())
        );
    }
}

#[test]
fn as_text() {
    let text = diff("bench-old.json", "bench-new.json", &[]).ok().out;
    contains(
        &text,
        &[
            "NOT ALIKE",
            "0xa101148",
            "novaes",
            "SLOWER",
            "faster",
            "-10.0 %",
            "0.960",
            "0.980",
        ],
    );
    contains(
        &text,
        &[
            "Only in the old file",
            "31 B",
            "Only in the new file",
            "100 B",
            "Without a limit",
        ],
    );
    contains(&text, &["4 rows in both: 1 slower and 1 faster"]);
    contains(
        &text,
        &["limit: nothing but AES rounds", "+-: the spread of"],
    );
    assert!(text.is_ascii(), "{text}");
}

/// Half the speed of a machine that does half of all is no change.
#[test]
fn absolute_speeds_do_not_count() {
    let done = diff("compare-old.json", "compare-new.json", &["--fail-slower"]).ok();
    contains(
        &done.out,
        &["2 rows in both: 0 slower and 0 faster", "tenrounds"],
    );
    assert!(!done.out.contains("NOT ALIKE"), "{}", done.out);
}

#[test]
fn the_exit_status_is_asked_for() {
    diff("bench-old.json", "bench-new.json", &[]).ok();
    let done = diff("bench-old.json", "bench-new.json", &["--fail-slower"]);
    assert_eq!((done.status, done.err.as_str()), (Some(3), ""));
    diff("bench-new.json", "bench-new.json", &["--fail-slower"]).ok();
}

#[test]
fn what_cannot_be_compared_is_said() {
    let said = diff("bench-old.json", "compare-new.json", &[]);
    assert_eq!(said.status, Some(2));
    contains(
        &said.err,
        &["bench-old.json is of tenrounds-bench-1", "of tenrounds-1"],
    );
    contains(
        &diff("nothing.json", "bench-new.json", &[]).failed(1),
        &["nothing.json"],
    );
    let other = "../doctor/machine/proc/modules";
    contains(
        &diff(other, "bench-new.json", &[]).failed(1),
        &["is no JSON"],
    );
}

/// What the tool says to a file with this text.
fn refused(text: &str) -> String {
    let place = Place::new();
    let file = place.file("file.json", text);
    place.tool(["diff"]).args([&file, &file]).done().failed(1)
}

#[test]
fn a_file_of_another_schema_is_refused_with_what_to_do() {
    contains(
        &refused(r#"{"schema": "tenrounds-0", "version": "0.0.7"}"#),
        &[
            "file.json: has the schema tenrounds-0, written by tenrounds 0.0.7",
            "measure again",
        ],
    );
    contains(
        &refused(r#"{"schema": "tenrounds-bench-3"}"#),
        &["the schema tenrounds-bench-3;", "which reads tenrounds-1"],
    );
    for other in [r#"{"schema": "else"}"#, "[1]", "{}"] {
        contains(
            &refused(other),
            &["is no measurement of tenrounds", "tenrounds compare --json"],
        );
    }
    contains(
        &refused(r#"{"schema": "tenrounds-1", "command": "compare", "compare": {"paths": {}}}"#),
        &["`tenrounds compare --paths`", "no limit"],
    );
    contains(
        &refused(r#"{"schema": "tenrounds-1", "command": "detect", "results": []}"#),
        &["`tenrounds detect`", "no limit"],
    );
    contains(
        &refused(r#"{"schema": "tenrounds-bench-2", "tables": [{"way": "ctr"}]}"#),
        &["is no tenrounds-bench-2: missing field"],
    );
}

/// Otherwise --fail-slower would pass what it has not looked at.
#[test]
fn files_without_a_common_row_are_an_error() {
    let said = refused(r#"{"schema": "tenrounds-bench-1", "rows": []}"#);
    contains(&said, &["nothing to compare", "measure both"]);
}
