// SPDX-License-Identifier: BSD-2-Clause
//! What `doctor` and `status` say of the PKCS#11 module and those who name it.

use crate::json::valid;
use crate::machine::Machine;
use crate::support::{contains, Finish, TOOL};
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
fn entries_that_lead_nowhere() {
    let machine = Machine::healthy();
    machine.write(
        "usr/share/p11-kit/modules/tenrounds.module",
        "module: tenrounds-pkcs11.so\n",
    );
    machine.write(
        "usr/share/p11-kit/modules/other.module",
        "module: /nowhere/other.so\n",
    );
    machine.write(
        "usr/lib/jvm/java-17/conf/security/java.security",
        "security.provider.1=SunPKCS11 /etc/tenrounds/java.cfg\nsecurity.provider.2=SUN\n",
    );
    let config = "name = tenrounds\nlibrary = \"/opt/tenrounds-pkcs11.so\"\n";
    machine.write("etc/tenrounds/java.cfg", config);
    let findings = found(&machine, &[]);
    let ids: Vec<&str> = findings.iter().map(|(id, _)| &id[..]).collect();
    assert_eq!(ids, ["pkcs11-missing", "pkcs11-missing"]);
    contains(&findings[0].1, &["p11-kit/modules/tenrounds.module"]);
    contains(
        &findings[1].1,
        &[
            "java-17/conf/security/java.security",
            "/opt/tenrounds-pkcs11.so",
        ],
    );
    let root = machine.dir.display().to_string();
    let detect = machine
        .place()
        .tool(["status", "--json", "--root", &root])
        .done()
        .ok();
    let registered = valid(&detect.out).list("/detect/pkcs11/registered");
    assert_eq!(registered.len(), 2);
    assert!(registered.iter().all(|r| r["exists"] == false));

    machine.write("usr/local/lib/pkcs11/tenrounds-pkcs11.so", "");
    machine.write("opt/tenrounds-pkcs11.so", "");
    assert!(found(&machine, &[]).is_empty());
}

#[test]
fn entries_of_users_and_of_java_home() {
    let machine = Machine::healthy();
    let entry = "module: /opt/tenrounds-pkcs11.so\n";
    machine.write("home/me/.config/pkcs11/modules/a.module", entry);
    machine.write("srv/config/pkcs11/modules/b.module", entry);
    machine.write(
        "opt/jdk/conf/security/java.security",
        "security.provider.1=SunPKCS11 /etc/java.cfg\n",
    );
    machine.write("etc/java.cfg", "library = /opt/tenrounds-pkcs11.so\n");
    let files = |variables: &[(&str, &str)]| -> Vec<String> {
        let found = found(&machine, variables);
        let file = |(_, text): &(String, String)| {
            let names = ["a.module", "b.module", "jdk/conf/security/java.security"];
            names
                .into_iter()
                .find(|name| text.contains(name))
                .unwrap()
                .to_owned()
        };
        found.iter().map(file).collect()
    };
    let nowhere = [("HOME", "/nowhere"), ("JAVA_HOME", "")];
    assert_eq!(files(&nowhere), ["a.module"]);
    // Each file once, also if two variables lead to it.
    assert_eq!(
        files(&[("HOME", "/home/me"), ("JAVA_HOME", "")]),
        ["a.module"]
    );
    let both = [
        ("XDG_CONFIG_HOME", "/srv/config"),
        ("JAVA_HOME", "/opt/jdk"),
    ];
    assert_eq!(
        files(&both),
        ["a.module", "b.module", "jdk/conf/security/java.security"]
    );
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
