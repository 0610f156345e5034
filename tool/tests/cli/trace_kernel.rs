// SPDX-License-Identifier: BSD-2-Clause
//! `trace --kernel` on this machine. tests/kernel/requests.sh compares its counts with those of a
//! program, in guests.

use crate::json::valid;
use crate::support::{contains, Finish, Place};
use std::path::Path;

/// A kernel that can count does so; another one, or another user, is told what is missing.
#[test]
fn requests_are_counted_or_the_reason_is_said() {
    let place = Place::new();
    let line = ["trace", "--kernel", "--json", "--seconds", "0.2", "--all"];
    let done = place.tool(line).done();
    if done.status == Some(0) {
        let document = valid(&done.out);
        let lists = ["requests", "messages", "copies", "troubles"];
        for list in lists {
            document.list(&format!("/trace/kernel/{list}"));
        }
        return;
    }
    let said = done.failed(1);
    contains(&said, &["cannot count in this kernel: "]);
    for (file, option) in [
        (
            "/sys/bus/event_source/devices/kprobe/type",
            "CONFIG_KPROBE_EVENTS",
        ),
        ("/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"),
    ] {
        let is_named = said.contains(file) && said.contains(option);
        assert_eq!(is_named, !Path::new(file).exists(), "{said}");
    }
}

/// A command is not started if its requests cannot be counted.
#[test]
fn no_command_without_its_counts() {
    let place = Place::new();
    let file = place.path("started");
    let mut tool = place.tool(["trace", "--kernel", "--", "touch"]);
    let done = tool.arg(&file).done();
    assert_eq!(done.status == Some(0), file.exists(), "{}", done.err);
}
