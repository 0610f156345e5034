// SPDX-License-Identifier: BSD-2-Clause
//! `status --prometheus`: the parser of Prometheus' own Python client reads what it writes, and it
//! tells the same as JSON.

use crate::enable_support::{Machine, DEBIAN};
use crate::json::valid;
use crate::support::{contains, skip, Finish};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// Prints each sample as "name{label=value,...} number", labels in the order of their names.
const PARSE: &str = r#"
import sys
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    assert family.documentation and family.type in ("gauge", "counter"), family
    for sample in family.samples:
        labels = ",".join(f"{name}={value}" for name, value in sorted(sample.labels.items()))
        print(f"{sample.name}{{{labels}}} {sample.value:g}")
"#;

/// The samples of a text; None where the parser is not installed.
fn samples(text: &str) -> Option<Vec<String>> {
    let mut python = Command::new("/usr/bin/python3");
    let known = python.args(["-c", "import prometheus_client"]).output();
    if !known.is_ok_and(|output| output.status.success()) {
        skip("no Python with prometheus_client (package python3-prometheus-client)");
        return None;
    }
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", PARSE]).stdin(Stdio::piped());
    let mut parser = python.stdout(Stdio::piped()).spawn().unwrap();
    parser
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = parser.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    Some(
        String::from_utf8(output.stdout)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn the_parser_of_prometheus_reads_what_json_says() {
    let machine = Machine::debian(DEBIAN);
    std::fs::create_dir(machine.at("/proc")).unwrap();
    let text = || {
        machine
            .tool(&["status", "--prometheus"])
            .env("TENROUNDS_MASK", "novaes")
            .done()
    };
    let Some(before) = samples(&text().ok().out) else {
        return;
    };
    assert!(
        before.contains(&"tenrounds_in_force{} 0".to_owned()),
        "{before:?}"
    );
    machine.enable().ok();
    let after = samples(&text().ok().out).unwrap();
    let mut status = machine.tool(&["status", "--json"]);
    let json = valid(&status.env("TENROUNDS_MASK", "novaes").done().ok().out);
    let conf = json.text("/status/sites/0/configuration");
    let backend = json.text("/status/machine/backend");
    let version = json.text("/status/sites/0/openssl/0/version");
    let program = json.text("/status/sites/0/openssl/0/path");
    for expected in [
        "tenrounds_in_force{} 1".to_owned(),
        format!("tenrounds_configuration_enabled{{path={conf},scope=system}} 1"),
        format!("tenrounds_configuration_broken{{path={conf},scope=system}} 0"),
        format!("tenrounds_backend_info{{backend={backend}}} 1"),
        format!("tenrounds_openssl_info{{path={program},version={version}}} 1"),
        format!(
            "tenrounds_build_info{{version={}}} 1",
            env!("CARGO_PKG_VERSION")
        ),
        "tenrounds_feature_masked{feature=vaes,variable=TENROUNDS_MASK} 1".to_owned(),
        "tenrounds_processes{state=loaded} 0".to_owned(),
    ] {
        assert!(after.contains(&expected), "{expected}: {after:?}");
    }
}

#[test]
fn a_file_is_replaced_whole() {
    let machine = Machine::debian(DEBIAN);
    let directory = machine.place.path("textfile");
    std::fs::create_dir(&directory).unwrap();
    let file = directory.join("tenrounds.prom");
    let option = format!("--prometheus={}", file.display());
    std::fs::write(&file, "old").unwrap();
    let done = machine.tool(&["status", &option]).done().ok();
    assert_eq!(done.out, "");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(
        text.ends_with('\n') && text.contains("\ntenrounds_in_force 0\n"),
        "{text}"
    );
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o644);
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
    let nowhere = format!("--prometheus={}/none/x.prom", directory.display());
    let said = machine.tool(&["status", &nowhere]).done().failed(1);
    contains(&said, &["cannot write", "/none/x.prom", "No such file"]);
}
