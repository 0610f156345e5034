// SPDX-License-Identifier: BSD-2-Clause
//! What `doctor` says of the PKCS#11 module.

use crate::json::valid;
use crate::machine::Machine;
use crate::support::{contains, TOOL};
use std::path::Path;

const MODULE: &str = "TENROUNDS_PKCS11";

/// The findings of this group, with their text.
fn found(machine: &Machine, variables: &[(&str, &str)]) -> Vec<(String, String)> {
    let done = machine.doctor(&["--json"], variables);
    let findings = valid(&done.out).list("/doctor/findings");
    let ours = findings
        .iter()
        .filter(|finding| finding["group"] == "pkcs11");
    ours.map(|finding| {
        (
            finding["id"].as_str().unwrap().to_owned(),
            finding.to_string(),
        )
    })
    .collect()
}

#[test]
fn a_machine_without_the_module_has_no_finding() {
    assert!(found(&Machine::healthy(), &[]).is_empty());
}

#[test]
fn json_has_what_the_module_showed() {
    let machine = Machine::healthy();
    let looked = |variables: &[(&str, &str)]| {
        let document = valid(&machine.doctor(&["--json"], variables).out);
        document.at("/doctor/pkcs11").clone()
    };
    let none = looked(&[]);
    assert!(
        none["module"].is_null() && none["works"].is_null(),
        "{none}"
    );
    let module = Path::new(TOOL).with_file_name("deps/libtenrounds_pkcs11.so");
    let module = module.to_str().unwrap();
    let seen = looked(&[(MODULE, module)]);
    assert_eq!(seen["module"], module);
    // Root tries only what no other user can replace.
    let not_tried = found(&machine, &[(MODULE, module)]);
    let not_tried = not_tried.iter().any(|(id, _)| id == "pkcs11-not-tried");
    assert_eq!(seen["works"]["model"].is_string(), !not_tried, "{seen}");
}

#[test]
fn a_module_that_cannot_be_loaded() {
    let machine = Machine::healthy();
    machine.write("broken.so", "no ELF file\n".repeat(100));
    let path = machine.dir.join("broken.so").display().to_string();
    let findings = found(&machine, &[(MODULE, &path)]);
    let ids: Vec<&str> = findings.iter().map(|(id, _)| &id[..]).collect();
    // Root tries only what no other user can replace.
    assert!(
        ids == ["pkcs11-broken"] || ids == ["pkcs11-not-tried"],
        "{findings:?}"
    );
    if ids == ["pkcs11-broken"] {
        contains(&findings[0].1, &["broken.so", "invalid ELF header"]);
    }
}
