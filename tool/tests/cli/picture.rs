// SPDX-License-Identifier: BSD-2-Clause
//! The README's picture and the run that it shows.

use crate::support::{contains, Finish, Place};
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The newest full run of the processor that a picture names; a file's name ends with the date.
fn newest_run(picture: &str) -> String {
    let (_, family) = picture.split_once("(family ").expect("a processor");
    let (family, rest) = family.split_once(" model ").expect("its model");
    let (model, _) = rest.split_once(')').expect("its end");
    let processor = format!("-family-{family}-model-{model}-");
    let files = std::fs::read_dir(Path::new(ROOT).join("docs/benchmarks")).unwrap();
    let files = files.map(|file| file.unwrap().path().display().to_string());
    let full = |file: &String| {
        let text = std::fs::read_to_string(file).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        run["quick"] == false
    };
    let runs = files.filter(|file| file.contains(&processor) && file.ends_with(".json"));
    let newest = runs.filter(full).max();
    newest.unwrap_or_else(|| panic!("docs/benchmarks has no full run of {processor}"))
}

#[test]
fn the_readme_s_picture_shows_the_newest_run_of_its_processor() {
    for name in ["speed-light.svg", "speed-dark.svg"] {
        let place = Place::new();
        let published = Path::new(ROOT).join("docs/images").join(name);
        let published = std::fs::read_to_string(published).unwrap();
        let run = newest_run(&published);
        let mut picture = place.tool(["picture", &run]);
        let done = picture.arg(place.path("")).done().ok();
        assert_eq!((&*done.out, &*done.err), ("", ""));
        let drawn = std::fs::read_to_string(place.path(name)).unwrap();
        assert!(
            drawn == published,
            "docs/images/{name} does not show {run}: run 'tenrounds picture {run} docs/images'"
        );
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let place = Place::new();
    let said = |text: &str| {
        let run = place.file("run.json", text);
        let mut picture = place.tool(["picture".as_ref(), run.as_os_str()]);
        picture.arg(place.path("")).done().failed(1)
    };
    let refused = said(r#"{"schema": "tenrounds-1"}"#);
    contains(&refused, &["run.json: is no run of tenrounds-bench"]);
    contains(&said("nonsense"), &["run.json: is no JSON"]);
    let empty = said(r#"{"schema": "tenrounds-bench-2", "tables": []}"#);
    contains(
        &empty,
        &["has not measured the OpenSSL of the subject 'evp'"],
    );
    assert!(!place.path("speed-light.svg").exists());
}
