// SPDX-License-Identifier: BSD-2-Clause
//! The output of every command against docs/schema/tenrounds-1.schema.json.

use crate::support::{Finish, Place};
use serde_json::Value;

const SCHEMA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../docs/schema/tenrounds-1.schema.json"
);

/// A document that is valid.
#[derive(Debug)]
pub struct Document(Value);

impl Document {
    pub fn at(&self, pointer: &str) -> &Value {
        self.0
            .pointer(pointer)
            .unwrap_or_else(|| panic!("no {pointer} in {:#}", self.0))
    }

    pub fn text(&self, pointer: &str) -> String {
        self.at(pointer)
            .as_str()
            .unwrap_or_else(|| panic!("{pointer} is no text"))
            .to_owned()
    }

    pub fn list(&self, pointer: &str) -> Vec<Value> {
        self.at(pointer)
            .as_array()
            .unwrap_or_else(|| panic!("{pointer} is no list"))
            .clone()
    }
}

fn errors(document: &Value) -> Option<String> {
    let mut schemas = boon::Schemas::new();
    let schema = boon::Compiler::new()
        .compile(SCHEMA, &mut schemas)
        .expect("the schema compiles");
    schemas
        .validate(document, schema)
        .err()
        .map(|error| format!("{error:#}"))
}

/// Parses a document and holds it against the schema.
pub fn valid(text: &str) -> Document {
    let document: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in {text}"));
    match errors(&document) {
        None => Document(document),
        Some(error) => panic!("{error}\nin {document:#}"),
    }
}

/// Options for a measurement that takes little time.
const QUICK: [&str; 6] = [
    "aes-128-ctr",
    "--bytes",
    "1024",
    "--seconds",
    "0.01",
    "--json",
];

/// Runs a command, and holds its output against the schema; for `run`, the file with the counts.
fn writes_what_the_schema_says(command: &str, args: &[&str]) {
    let place = Place::new();
    let file = place.path("counts.json");
    let mut tool = place.tool([command]);
    if command == "run" {
        tool.args(["--count", "--json", "--output"]).arg(&file);
    }
    let done = tool.args(args).done();
    // The doctor's status tells of the machine.
    let done = if command == "doctor" { done } else { done.ok() };
    let written = match command {
        "run" => std::fs::read_to_string(&file).unwrap(),
        _ => done.out,
    };
    let document = valid(&written);
    assert_eq!(document.text("/command"), command);
}

#[test]
fn every_command_writes_what_the_schema_says() {
    let commands: [(&str, &[&str]); 6] = [
        ("doctor", &["--json"]),
        ("selftest", &["--json", "--up-to", "32"]),
        ("status", &["--json"]),
        ("scan", &["--json", crate::support::TOOL]),
        ("bench", &QUICK),
        ("run", &["--", "openssl", "rand", "-hex", "16"]),
    ];
    for (command, args) in commands {
        writes_what_the_schema_says(command, args);
    }
}

/// On its own, because scripts/arm leaves it out.
#[test]
fn paths_write_what_the_schema_says() {
    writes_what_the_schema_says("bench", &[&QUICK[..], &["--paths"]].concat());
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let place = Place::new();
    let right: Value =
        serde_json::from_str(&place.tool(["status", "--json"]).done().ok().out).unwrap();
    assert_eq!(errors(&right), None);
    let wrong = |change: &dyn Fn(&mut Value)| {
        let mut document = right.clone();
        change(&mut document);
        errors(&document).is_some()
    };
    assert!(wrong(&|d| d["schema"] = "tenrounds-2".into()));
    assert!(wrong(&|d| d["command"] = "selftest".into()));
    assert!(wrong(&|d| d["host"]["cpu"]["threads"] = 0.into()));
    assert!(wrong(
        &|d| d["detect"]["table"][0]["backend"] = "sse9".into()
    ));
    assert!(wrong(&|d| d["surprise"] = true.into()));
    assert!(wrong(&|d| d["detect"]["surprise"] = true.into()));
    assert!(wrong(&|d| d["results"] = serde_json::json!([{}])));
}
