// SPDX-License-Identifier: BSD-2-Clause
//! `run --java` with a JDK of files alone. java.rs has real ones.

use crate::support::{contains, Done, Finish, Place};
use std::os::unix::fs::PermissionsExt;

/// A place with something like a JDK, whose `java` shows what it was given, and with a jar.
struct Jdk(Place);

impl Jdk {
    fn new() -> Jdk {
        let place = Place::new();
        for folder in ["jdk/bin", "jdk/conf/security"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        let java = place.file("jdk/bin/java", "#!/bin/sh\necho \"$JAVA_TOOL_OPTIONS\"\n");
        std::fs::set_permissions(java, std::fs::Permissions::from_mode(0o755)).unwrap();
        place.file("jdk/conf/security/java.security", "");
        place.file("a.jar", "a jar");
        Jdk(place)
    }

    fn run(&self, variables: &[(&str, &str)], args: &[&str]) -> Done {
        let mut tool = self.0.tool(["run", "--java", "--"]);
        tool.args(args)
            .env_remove("JAVA_HOME")
            .env("TENROUNDS_JAR", self.0.path("a.jar"));
        tool.envs(variables.iter().copied()).done()
    }

    fn java(&self) -> String {
        self.0.path("jdk/bin/java").display().to_string()
    }
}

#[test]
fn the_jvm_gets_an_agent() {
    let jdk = Jdk::new();
    let jar = jdk.0.path("a.jar").canonicalize().unwrap();
    let options = format!(
        "\"-javaagent:{}\" --enable-native-access=ALL-UNNAMED\n",
        jar.display()
    );
    assert_eq!(jdk.run(&[], &[&jdk.java()]).ok().out, options);
    let before = [("JAVA_TOOL_OPTIONS", "-Xmx1g")];
    assert_eq!(
        jdk.run(&before, &[&jdk.java()]).ok().out,
        format!("-Xmx1g {options}")
    );
    // A command that is no JVM itself, and no JDK anywhere.
    let shown = jdk.run(
        &[("PATH", "/nowhere")],
        &["/bin/sh", "-c", "echo $JAVA_TOOL_OPTIONS"],
    );
    contains(&shown.ok().out, &["-javaagent:/"]);
    let print = jdk
        .0
        .tool(["run", "--java", "--print-env"])
        .env("TENROUNDS_JAR", &jar)
        .done()
        .ok();
    contains(&print.out, &["export JAVA_TOOL_OPTIONS='", "-javaagent:/"]);
}

#[test]
fn what_stands_in_the_way_is_said() {
    let jdk = Jdk::new();
    let java = jdk.java();
    let without = jdk.0.tool(["run", "--", &java]).done().ok();
    contains(&without.err, &["belongs to a JDK", "'--java'"]);
    assert_eq!(without.err.lines().count(), 1);
    let mut counted = jdk.0.tool(["run", "--java", "--count", "--", &java]);
    let counted = counted
        .env("TENROUNDS_JAR", jdk.0.path("a.jar"))
        .done()
        .ok();
    contains(&counted.err, &["the Java provider has no counters"]);
    let said = jdk
        .run(&[("TENROUNDS_JAR", "/nowhere.jar")], &[&java])
        .failed(1);
    contains(&said, &["/nowhere.jar", "TENROUNDS_JAR", "RPM: tenrounds"]);
    jdk.0.file("a=b.jar", "");
    let said = jdk.run(&[("TENROUNDS_JAR", "a=b.jar")], &[&java]).failed(1);
    contains(&said, &["a=b.jar: Java cannot read this path"]);
    let home = jdk.0.path("jdk").display().to_string();
    for (version, is_old) in [
        ("1.8.0_452", true),
        ("11.0.2", true),
        ("17", false),
        ("22.0.2", false),
        ("23", false),
        ("26-ea", false),
    ] {
        jdk.0.file(
            "jdk/release",
            &format!("A=\"b\"\nJAVA_VERSION=\"{version}\"\n"),
        );
        for (home, command) in [("", java.as_str()), (&home, "/bin/true")] {
            let done = jdk.run(&[("JAVA_HOME", home), ("PATH", "/nowhere")], &[command]);
            match is_old {
                true => contains(
                    &done.failed(1),
                    &["jdk is JDK", version, "needs 17 or later"],
                ),
                false => drop(done.ok()),
            }
        }
        // In JDK 22 and 23, the option would forbid native access to other modules.
        if !is_old {
            let out = jdk.run(&[], &[&java]).ok().out;
            let has_option = out.contains("--enable-native-access=ALL-UNNAMED");
            assert_eq!(has_option, !["22.0.2", "23"].contains(&version), "{out}");
            contains(&out, &["-javaagent:/"]);
        }
    }
}
