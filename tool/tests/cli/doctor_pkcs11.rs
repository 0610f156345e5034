// SPDX-License-Identifier: BSD-2-Clause
//! What `doctor` and `detect` say of the PKCS#11 module, its tokens and those who name it.

use crate::json::valid;
use crate::machine::Machine;
use crate::support::{contains, Finish};
use std::os::unix::fs::PermissionsExt;

const MODULE: &str = "TENROUNDS_PKCS11";
const TOKEN: &str = "TENROUNDS_TOKEN";

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
        .tool(["detect", "--json", "--root", &root])
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

#[test]
fn damaged_and_exposed_tokens_are_named() {
    let machine = Machine::healthy();
    let path = machine.dir.join("token");
    let name = path.display().to_string();
    let ids = || -> Vec<String> {
        let found = found(&machine, &[(TOKEN, &name)]);
        for (_, text) in &found {
            contains(text, &["/token"]);
        }
        found.into_iter().map(|(id, _)| id).collect()
    };
    assert!(ids().is_empty(), "a token that is not made yet");
    let mode = |mode| {
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    machine.write("token", "nothing of the kind");
    mode(0o600);
    assert_eq!(ids(), ["token-damaged"]);
    machine.write("token", [&b"tenrounds token\n"[..], &[9, 0, 0, 0]].concat());
    assert_eq!(ids(), ["token-newer"]);
    mode(0o644);
    assert_eq!(ids(), ["token-exposed"]);
}
