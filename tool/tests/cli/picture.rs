// SPDX-License-Identifier: BSD-2-Clause
//! The README's picture and the run that it shows.

use crate::support::{contains, Finish, Place};
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn the_readme_s_picture_shows_the_newest_published_run() {
    let place = Place::new();
    let root = Path::new(ROOT);
    let runs = root.join("docs/benchmarks");
    let mut picture = place.tool(["picture"]);
    let done = picture.args([&runs, &place.path("")]).done().ok();
    assert_eq!((&*done.out, &*done.err), ("", ""));
    for name in ["speed-light.svg", "speed-dark.svg"] {
        let drawn = std::fs::read_to_string(place.path(name)).unwrap();
        let published = std::fs::read_to_string(root.join("docs/images").join(name)).unwrap();
        assert!(
            drawn == published,
            "docs/images/{name} does not show the newest run of docs/benchmarks: run 'tenrounds \
             picture docs/benchmarks docs/images'"
        );
    }
}

#[test]
fn only_the_newest_full_run_counts() {
    let place = Place::new();
    let run = |name: &str, date: &str, quick: bool| {
        let text = format!(
            r#"{{"schema": "tenrounds-bench-2", "date": "{date}", "quick": {quick}, "tables": []}}"#
        );
        place.file(name, &text);
    };
    let said = || {
        let mut picture = place.tool(["picture"]);
        picture
            .args([place.path(""), place.path("")])
            .done()
            .failed(1)
    };
    contains(&said(), &["no JSON of a full run", "make bench"]);
    run("b.json", "2026-11-20", false);
    run("a.json", "2026-11-21", false);
    run("c.json", "2026-11-22", true);
    contains(&said(), &["a.json: has not measured the OpenSSL"]);
    place.file("d.json", r#"{"schema": "tenrounds-1"}"#);
    contains(&said(), &["d.json: is no run of tenrounds-bench"]);
    assert!(!place.path("speed-light.svg").exists());
}
