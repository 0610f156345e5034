// SPDX-License-Identifier: BSD-2-Clause
//! compare --baseline, on files that were made up for it.

use crate::json::{valid, Document};
use crate::support::{contains, Done, Finish, Place};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/baseline");

fn compare(old: &str, new: &str, more: &[&str]) -> Done {
    let place = Place::new();
    let [old, new] = [old, new].map(|file| format!("{FIXTURES}/{file}"));
    let args = ["compare", "--baseline", &old, &new];
    place.tool([&args[..], more].concat()).done()
}

fn row(document: &Document, name: &str) -> serde_json::Value {
    let rows = document.list("/baseline/rows");
    let found = rows.iter().find(|row| row["row"] == name);
    found
        .unwrap_or_else(|| panic!("no {name} in {rows:#?}"))
        .clone()
}

#[test]
fn what_changed_beyond_both_spreads_is_marked() {
    let document = valid(
        &compare("bench-old.json", "bench-new.json", &["--json"])
            .ok()
            .out,
    );
    let verdict = |name: &str| row(&document, name)["verdict"].clone();
    assert_eq!(verdict("aes-128-ctr encrypt, 16 KiB, core"), "faster");
    assert_eq!(verdict("aes-128-ctr encrypt, 16 KiB, openssl-3.0"), "same");
    assert_eq!(verdict("aes-128-ctr encrypt, 64 B, core"), "slower");
    assert_eq!(
        verdict("aes-128-cbc encrypt, 64 B, core, 16 streams"),
        "same"
    );
    assert_eq!(document.list("/baseline/rows").len(), 4);
    assert_eq!(
        document.list("/baseline/only_in_baseline"),
        ["aes-128-gcm encrypt, 31 B, core"]
    );
    assert_eq!(
        document.list("/baseline/only_now"),
        ["aes-128-gcm encrypt, 100 B, core"]
    );
    assert_eq!(
        document.list("/baseline/without_limit"),
        ["aes-128-ctr encrypt, 16 B, core"]
    );
    assert_eq!(
        (
            document.at("/baseline/slower"),
            document.at("/baseline/faster")
        ),
        (&1.into(), &1.into())
    );
    let unlike = document.list("/baseline/unlike");
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
        (&unlike[3]["baseline"], &unlike[3]["now"]),
        (&"-".into(), &"novaes".into())
    );
}

#[test]
fn as_text() {
    let text = compare("bench-old.json", "bench-new.json", &[]).ok().out;
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
            "Only in the baseline",
            "31 B",
            "Only now",
            "100 B",
            "Without a limit",
        ],
    );
    contains(&text, &["4 rows in both: 1 slower and 1 faster"]);
    assert!(text.is_ascii(), "{text}");
}

/// Half the speed of a machine that does half of all is no change.
#[test]
fn absolute_speeds_do_not_count() {
    let done = compare("compare-old.json", "compare-new.json", &["--fail-slower"]).ok();
    contains(
        &done.out,
        &["2 rows in both: 0 slower and 0 faster", "tenrounds"],
    );
    assert!(!done.out.contains("NOT ALIKE"), "{}", done.out);
}

#[test]
fn the_exit_status_is_asked_for() {
    compare("bench-old.json", "bench-new.json", &[]).ok();
    let done = compare("bench-old.json", "bench-new.json", &["--fail-slower"]);
    assert_eq!((done.status, done.err.as_str()), (Some(3), ""));
    compare("bench-new.json", "bench-new.json", &["--fail-slower"]).ok();
}

#[test]
fn what_cannot_be_compared_is_said() {
    let err = compare("bench-old.json", "compare-new.json", &[]).failed(2);
    contains(
        &err,
        &["bench-old.json is of tenrounds-bench-1", "of tenrounds-1"],
    );
    contains(
        &compare("nothing.json", "bench-new.json", &[]).failed(1),
        &["nothing.json"],
    );
    let other = "../doctor/machine/proc/modules";
    contains(
        &compare(other, "bench-new.json", &[]).failed(1),
        &["is no JSON"],
    );
    let place = Place::new();
    let file = place.file("other.json", "{\"schema\": \"else\"}");
    let done = place
        .tool(["compare", "--baseline"])
        .args([&file, &file])
        .done();
    contains(
        &done.failed(1),
        &["its schema is \"else\"", "compare --json"],
    );
    let args = ["compare", "--baseline", "a", "b", "--quick"];
    contains(&place.tool(args).done().failed(2), &["--quick"]);
    contains(
        &place.tool(["compare", "--fail-slower"]).done().failed(2),
        &["--baseline"],
    );
}
