// SPDX-License-Identifier: BSD-2-Clause
//! Tests of the published pictures, and of what they show.

use super::{charts, Chart};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Tests run in the folder of their crate.
const ROOT: &str = "..";

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
    let mut drawn = BTreeSet::new();
    for chart in charts(&Path::new(ROOT).join("docs/charts")).unwrap() {
        for (theme, picture) in Chart::read(&chart).unwrap().draw(&chart).unwrap() {
            let name = chart.file_stem().unwrap().to_string_lossy();
            let name = format!("{name}-{theme}.svg");
            let published = Path::new(ROOT).join("docs/images").join(&name);
            assert!(
                std::fs::read_to_string(published).ok() == Some(picture),
                "docs/images/{name} does not show {}: \
                 run 'scripts/bench build picture docs/charts docs/images'",
                chart.display()
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

/// What is said of a chart beside which `run.json` has this text.
fn refused(chart: &str, run: &str) -> String {
    static SERIAL: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let serial = SERIAL.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let name = format!("tenrounds-chart-{}-{serial}", std::process::id());
    let dir = std::env::temp_dir().join(name);
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("run.json"), run).unwrap();
    let file = dir.join("chart.json");
    std::fs::write(&file, chart).unwrap();
    let drawn = Chart::read(&file).and_then(|chart| chart.draw(&file));
    std::fs::remove_dir_all(&dir).unwrap();
    drawn.err().expect("an error").to_string()
}

fn contains(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "no {part} in {said}");
    }
}

#[test]
fn what_is_no_run_is_refused() {
    let said = |run: &str| refused(r#"{"form": "bars", "run": "run.json"}"#, run);
    let other = said(r#"{"schema": "tenrounds-1"}"#);
    contains(&other, &["run.json has the schema \"tenrounds-1\""]);
    contains(&said("nonsense"), &["run.json is no JSON"]);
}

#[test]
fn what_is_no_chart_is_refused() {
    let said = |chart: &str| refused(chart, "");
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
}
