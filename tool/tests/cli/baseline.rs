// SPDX-License-Identifier: BSD-2-Clause
//! `bench --baseline`: a run against a file that was made up for it.

use crate::json::valid;
use crate::support::{contains, Done, Finish, Place};

const OLD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/baseline.json");

/// A short run against an earlier one.
fn against(old: &str, more: &[&str]) -> Done {
    let place = Place::new();
    let args = ["bench", "aes-128-ctr", "--bytes", "64", "--seconds", "0.01"];
    let args = [&args[..], &["--baseline", old], more].concat();
    place.tool(args).done()
}

#[test]
fn what_changed_beyond_both_spreads_is_marked() {
    if !crate::support::kernel_sees("aes") {
        return; // there is no limit to compare by
    }
    let document = valid(&against(OLD, &["--json"]).ok().out);
    let rows = document.list("/bench/baseline/rows");
    let verdict = |who: &str| {
        let name = format!("aes-128-ctr encrypt, 64 B, {who}");
        let row = rows.iter().find(|row| row["row"] == *name);
        row.unwrap_or_else(|| panic!("no {name} in {rows:#?}"))["verdict"].clone()
    };
    assert_eq!(verdict("tenrounds"), "slower");
    assert_eq!(verdict("openssl"), "faster");
    let names = |list: &str| document.list(&format!("/bench/baseline/{list}"));
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert_eq!(
        names("only_in_old"),
        ["aes-128-ctr encrypt, 31 B, tenrounds"]
    );
    assert_eq!(
        names("without_limit"),
        ["aes-128-ctr encrypt, 64 B, software"]
    );
    let unlike = names("unlike");
    for what in [
        "microcode",
        "processor",
        "kernel",
        "tenrounds",
        "TENROUNDS_MASK",
    ] {
        assert!(unlike.iter().any(|u| u["what"] == what), "{unlike:#?}");
    }
    let text = against(OLD, &[]).ok().out;
    contains(&text, &["NOT ALIKE", "novaes", "SLOWER", "faster"]);
    let words: Vec<&str> = text.split_whitespace().collect();
    let answer =
        "2 rows in both: 1 slower and 1 faster beyond both spreads. 1 only in the old file. \
                  1 without a limit. --json names all.";
    contains(&words.join(" "), &[answer]);
    assert!(text.is_ascii(), "{text}");
    // The exit status is asked for.
    let done = against(OLD, &["--fail-slower"]);
    assert_eq!((done.status, done.err.as_str()), (Some(3), ""));
}

#[test]
fn what_cannot_be_compared_is_said() {
    contains(&against("/no/such.json", &[]).failed(1), &["/no/such.json"]);
    let place = Place::new();
    let refused = |text: &str| {
        place.file("old.json", text);
        let file = place.path("old.json");
        against(&file.to_string_lossy(), &["--fail-slower"]).failed(1)
    };
    contains(&refused("nonsense"), &["old.json: is no JSON"]);
    contains(
        &refused(r#"{"schema": "tenrounds-0", "command": "bench"}"#),
        &["has the schema tenrounds-0", "measure again"],
    );
    contains(
        &refused(r#"{"schema": "tenrounds-1", "command": "status", "results": []}"#),
        &["`tenrounds status`", "tenrounds bench --json"],
    );
    for other in ["[1]", "{}"] {
        contains(
            &refused(other),
            &["is no measurement", "tenrounds bench --json"],
        );
    }
    // Otherwise --fail-slower would pass what it has not looked at.
    let empty = r#"{"schema": "tenrounds-1", "command": "bench", "results": []}"#;
    contains(&refused(empty), &["nothing to compare", "measure both"]);
}

#[test]
fn the_old_words_name_the_new_one() {
    let place = Place::new();
    for (old, new) in [
        ("speed", "tenrounds bench --openssl"),
        ("compare", "tenrounds bench"),
        ("compare-paths", "tenrounds bench --paths"),
        ("diff", "tenrounds bench --baseline OLD.json"),
    ] {
        let done = place.tool([old, "aes-128-ctr", "--json"]).done();
        assert_eq!((done.status, done.out.as_str()), (Some(2), ""));
        contains(&done.err, &[&format!("'tenrounds {old}' is now '{new}'")]);
    }
    let gone = place.tool(["token", "create"]).done();
    contains(
        &gone.failed(2),
        &["'tenrounds token' is gone", "docs/pkcs11.md"],
    );
}
