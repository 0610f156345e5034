// SPDX-License-Identifier: BSD-2-Clause
//! The pictures of the documents, and what they show.

use crate::support::{contains, Finish, Place};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn files(dir: &str, end: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(Path::new(ROOT).join(dir)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(end)).collect()
}

/// The newest full run of a processor; a file's name ends with the date.
fn newest_run(processor: &str) -> String {
    let full = |file: &String| {
        let file = Path::new(ROOT).join("docs/benchmarks").join(file);
        let text = std::fs::read_to_string(file).unwrap();
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        run["quick"] == false
    };
    let runs = files("docs/benchmarks", ".json");
    let of_it = runs
        .into_iter()
        .filter(|file| file.starts_with(processor) && full(file));
    let newest = of_it.max();
    newest.unwrap_or_else(|| panic!("docs/benchmarks has no full run of {processor}"))
}

#[test]
fn every_picture_shows_what_its_file_says() {
    let place = Place::new();
    let mut picture = place.tool(["picture"]);
    picture.arg(Path::new(ROOT).join("docs/charts"));
    let done = picture.arg(place.path("")).done().ok();
    assert_eq!((&*done.out, &*done.err), ("", ""));
    let mut drawn = BTreeSet::new();
    for chart in files("docs/charts", ".json") {
        for theme in ["light", "dark"] {
            let name = format!("{}-{theme}.svg", chart.trim_end_matches(".json"));
            let published = Path::new(ROOT).join("docs/images").join(&name);
            assert!(
                std::fs::read_to_string(place.path(&name)).ok()
                    == std::fs::read_to_string(published).ok(),
                "docs/images/{name} does not show docs/charts/{chart}: \
                 run 'tenrounds picture docs/charts docs/images'"
            );
            drawn.insert(name);
        }
    }
    assert_eq!(drawn, files("docs/images", ".svg"));
}

#[test]
fn every_run_that_a_picture_shows_is_the_newest_of_its_processor() {
    let mut runs = 0;
    for chart in files("docs/charts", ".json") {
        let text = Path::new(ROOT).join("docs/charts").join(&chart);
        let text = std::fs::read_to_string(text).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let named = [&document["run"], &document["origin"]["run"]];
        for run in named.into_iter().filter_map(|run| run.as_str()) {
            let name = PathBuf::from(run).file_stem().unwrap().to_owned();
            let name = name.into_string().unwrap();
            // NAME-2026-11-21
            let processor = &name[..name.len() - "2026-11-21".len()];
            let newest = newest_run(processor);
            assert_eq!(
                run,
                format!("../benchmarks/{newest}"),
                "docs/charts/{chart} shows an older run"
            );
            runs += 1;
        }
    }
    assert!(runs > 0);
}

#[test]
fn what_is_no_run_is_refused() {
    let place = Place::new();
    let said = |text: &str| {
        place.file("run.json", text);
        let chart = place.file("speed.json", r#"{"form": "bars", "run": "run.json"}"#);
        let mut picture = place.tool(["picture".as_ref(), chart.as_os_str()]);
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

#[test]
fn what_is_no_chart_is_refused() {
    let place = Place::new();
    let said = |text: &str| {
        let chart = place.file("chart.json", text);
        let mut picture = place.tool(["picture".as_ref(), chart.as_os_str()]);
        picture.arg(place.path("")).done().failed(1)
    };
    contains(&said("{}"), &["chart.json: is no chart", "form"]);
    let lines = |origin: &str, figures: &str| {
        format!(
            r#"{{"form": "lines", "title": "T", "x": "bytes", "y": {{"name": "ns"}},
            "lines": [{{"name": "A", "colour": "blue"}}], "origin": {origin},
            "panels": [{{"title": "P", "bytes": [16, 64], "figures": {figures}}}]}}"#
        )
    };
    let known = r#"{"processor": "CPU", "with": "it", "date": "2026-11-21", "command": "make"}"#;
    let undated = r#"{"processor": "CPU", "with": "it", "command": "make"}"#;
    contains(
        &said(&lines(undated, r#"{"A": [1, 2]}"#)),
        &["chart.json: is no chart"],
    );
    for (figures, why) in [
        (r#"{"A": [1]}"#, "'P' has not as many figures as bytes"),
        (r#"{"B": [1, 2]}"#, "'P' has no line 'B'"),
        ("{}", "'P' has no figures"),
    ] {
        contains(&said(&lines(known, figures)), &["chart.json:", why]);
    }
    assert!(!place.path("chart-light.svg").exists());
}
