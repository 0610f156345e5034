// SPDX-License-Identifier: BSD-2-Clause
//! The document of a trace against the schema, and traces for other tests.

pub mod example;

use super::*;
use classify::hot::Work;

const SCHEMA: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/schema/tenrounds-1.schema.json"
);

/// Counts of the kernel and of user space are as the schema has them. Few machines that run the
/// other tests have such counts.
#[test]
fn exact_counts_fit_the_schema() {
    let mut trace = example::trace(vec![example::process(
        7,
        "one",
        vec![example::finding(Work::AesNi, 30)],
    )]);
    trace.counts = Some(example::counts());
    trace.kernel = Some(example::kernel_counts());
    let text = document("trace", &trace);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut schemas = boon::Schemas::new();
    let schema = boon::Compiler::new().compile(SCHEMA, &mut schemas).unwrap();
    let wrong = |document: &serde_json::Value| {
        let result = schemas.validate(document, schema);
        result
            .err()
            .map(|error| format!("{error:#}\nin {document:#}"))
    };
    assert_eq!(wrong(&document), None);
    // The schema notices what is missing.
    for pointer in [
        "/trace/kernel",
        "/trace/kernel/requests/0",
        "/trace/kernel/messages/0",
        "/trace/kernel/copies/0",
    ] {
        let mut changed = document.clone();
        let object = changed
            .pointer_mut(pointer)
            .unwrap()
            .as_object_mut()
            .unwrap();
        let name = object.keys().next().unwrap().clone();
        object.remove(&name);
        assert!(wrong(&changed).is_some(), "{pointer} without {name}");
    }
}
