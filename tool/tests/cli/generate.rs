// SPDX-License-Identifier: BSD-2-Clause
//! Man pages and completions.

use crate::support::{contains, Finish, Place};

#[test]
fn the_staged_tree_has_pages_for_all_and_completions_for_three_shells() {
    let place = Place::new();
    let root = place.path("dist");
    place
        .tool(["generate".as_ref(), root.as_os_str()])
        .done()
        .ok();
    let read = |file: &str| std::fs::read_to_string(root.join("share").join(file)).expect(file);
    for command in [
        "detect",
        "run",
        "speed",
        "compare",
        "compare-paths",
        "diff",
        "selftest",
        "completions",
    ] {
        let page = read(&format!("man/man1/tenrounds-{command}.1"));
        contains(&page, &[".TH", ".SH SYNOPSIS", command]);
    }
    contains(&read("man/man1/tenrounds.1"), &["detect", "TENROUNDS_MASK"]);
    assert!(!root.join("share/man/man1/tenrounds-worker.1").exists());
    contains(
        &read("bash-completion/completions/tenrounds"),
        &["detect", "--print-env"],
    );
    contains(
        &read("zsh/site-functions/_tenrounds"),
        &["#compdef tenrounds", "--print-env"],
    );
    contains(
        &read("fish/vendor_completions.d/tenrounds.fish"),
        &["selftest", "print-env"],
    );
}

#[test]
fn completions_for_one_shell_go_to_standard_output() {
    let place = Place::new();
    contains(
        &place.tool(["completions", "bash"]).done().ok().out,
        &["_tenrounds()"],
    );
}

#[test]
fn an_unwritable_tree_is_named() {
    let place = Place::new();
    let said = place.tool(["generate", "/proc/dist"]).done().failed(1);
    contains(&said, &["/proc/dist"]);
}
