// SPDX-License-Identifier: BSD-2-Clause
//! `run --java` with a JDK of files alone. tests/consumers/pkcs11_java.py has a real JVM.

use crate::support::{contains, Done, Finish, Place};
use std::os::unix::fs::PermissionsExt;

/// A place with something like a JDK, whose `java` shows what it was given, and with a module.
struct Jdk(Place);

impl Jdk {
    fn new() -> Jdk {
        let place = Place::new();
        for folder in ["jdk/bin", "jdk/conf/security"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        let java = place.file("jdk/bin/java", "#!/bin/sh\necho \"$JAVA_TOOL_OPTIONS\"\n");
        std::fs::set_permissions(java, std::fs::Permissions::from_mode(0o755)).unwrap();
        place.file(
            "jdk/conf/security/java.security",
            "security.provider.1=SUN\n",
        );
        place.file("module.so", "a module");
        Jdk(place)
    }

    fn run(&self, variables: &[(&str, &str)], args: &[&str]) -> Done {
        let mut tool = self.0.tool(["run", "--java", "--"]);
        tool.args(args)
            .env_remove("JAVA_HOME")
            .env_remove("JAVA_TOOL_OPTIONS")
            .env_remove("JDK_JAVA_OPTIONS")
            .env_remove("_JAVA_OPTIONS");
        tool.env("TENROUNDS_PKCS11", self.0.path("module.so"));
        tool.envs(variables.iter().copied()).done()
    }
}

#[test]
fn the_jvm_gets_a_file_with_the_module_first() {
    let jdk = Jdk::new();
    let java = jdk.0.path("jdk/bin/java").display().to_string();
    let options = jdk
        .run(&[("JAVA_TOOL_OPTIONS", "-Xmx1g")], &[&java])
        .ok()
        .out;
    let file = options
        .trim()
        .strip_prefix("-Xmx1g \"-Djava.security.properties=")
        .unwrap();
    let text = std::fs::read_to_string(file.trim_end_matches('"')).unwrap();
    contains(
        &text,
        &[
            "security.provider.1=SunPKCS11 /",
            "security.provider.2=SUN\n",
        ],
    );
    let config = text
        .split("SunPKCS11 ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let config = std::fs::read_to_string(config).unwrap();
    contains(
        &config,
        &[
            "name = tenrounds",
            "/module.so\"",
            "slot = 0",
            "SecureRandom",
        ],
    );
    // A command that is no JVM itself.
    let home = jdk.0.path("jdk").display().to_string();
    let shown = jdk.run(
        &[("JAVA_HOME", &home)],
        &["sh", "-c", "echo $JAVA_TOOL_OPTIONS"],
    );
    contains(&shown.ok().out, &["-Djava.security.properties=/"]);
}

#[test]
fn what_stands_in_the_way_is_said() {
    let jdk = Jdk::new();
    let java = jdk.0.path("jdk/bin/java").display().to_string();
    let without = jdk.0.tool(["run", "--", &java]).done().ok();
    contains(&without.err, &["belongs to a JDK", "'--java'"]);
    assert_eq!(without.err.lines().count(), 1);
    let own = "-Djava.security.properties=mine";
    contains(
        &jdk.run(&[], &[&java, own]).failed(1),
        &["the command names", "man 5 tenrounds"],
    );
    for variable in ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"] {
        let said = jdk.run(&[(variable, own)], &[&java]).failed(1);
        contains(&said, &[&format!("{variable} names")]);
    }
    let said = jdk
        .run(&[("TENROUNDS_PKCS11", "/nowhere.so")], &[&java])
        .failed(1);
    contains(&said, &["/nowhere.so", "TENROUNDS_PKCS11"]);
    let said = jdk.run(&[("PATH", "/nowhere")], &["/bin/true"]).failed(1);
    contains(&said, &["java.security", "JAVA_HOME"]);
    std::fs::remove_file(jdk.0.path("jdk/conf/security/java.security")).unwrap();
    let said = jdk.run(&[("PATH", "/nowhere")], &[&java]).failed(1);
    contains(&said, &["looked for", "jdk/conf/security/java.security"]);
}
