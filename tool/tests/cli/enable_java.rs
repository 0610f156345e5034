// SPDX-License-Identifier: BSD-2-Clause
//! `enable --java-home` and `disable --java-home`, with a JDK whose keytool only says what it was
//! given. java.rs has real ones.

use crate::enable_support::Machine;
use crate::json::valid;
use crate::support::{contains, skip, Done, Finish, Place};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

struct Jdk {
    place: Place,
    file: PathBuf,
}

const SECURITY: &str = "# the JDK's\nsecurity.provider.1=SUN\nsecurity.provider.2=SunJCE\nother=1";
/// It fails if the folder has a file `broken`, does not load the provider if it has `idle`, and has
/// an inactive one if it has `masked`.
const KEYTOOL: &str = "#!/bin/sh\nhere=$(dirname \"$0\")\necho \"$@\" >>\"$here/../log\"\n\
                       echo 'jca: 2.5.4.3 => CommonName' >&2\n\
                       [ ! -e \"$here/../masked\" ] || echo 'tenrounds is inactive: masked' >&2\n\
                       [ ! -e \"$here/../broken\" ] || { echo 'no such provider'; exit 1; }\n\
                       [ -e \"$here/../idle\" ] || echo 'ProviderConfig: Loaded provider tenrounds' >&2\n";

impl Jdk {
    fn new() -> Jdk {
        let place = Place::new();
        for folder in ["jdk/bin", "jdk/conf/security", "share/java", "lib/jni"] {
            std::fs::create_dir_all(place.path(folder)).unwrap();
        }
        let keytool = place.file("jdk/bin/keytool", KEYTOOL);
        std::fs::set_permissions(keytool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let file = place.file("jdk/conf/security/java.security", SECURITY);
        place.file("share/java/a.jar", "a jar");
        place.file("lib/jni/tenrounds-loader.so", "a library");
        Jdk { place, file }
    }

    fn tool(&self, words: &[&str]) -> Done {
        self.done(&mut self.place.tool(words))
    }

    fn done(&self, tool: &mut Command) -> Done {
        tool.args(["--java-home", "jdk"])
            .env("TENROUNDS_JAR", self.place.path("share/java/a.jar"))
            .env("XDG_STATE_HOME", self.place.path("state"))
            .done()
    }

    /// `status --json`, below a root without any OpenSSL.
    fn status(&self) -> Done {
        std::fs::create_dir_all(self.place.path("root")).unwrap();
        let mut tool = self.place.tool(["status", "--json", "--root", "root"]);
        tool.env("XDG_STATE_HOME", self.place.path("state")).done()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.file).unwrap()
    }

    fn own(&self) -> PathBuf {
        self.file.with_file_name("tenrounds.cfg")
    }

    fn is_as_it_was(&self) -> bool {
        self.text() == SECURITY && !self.own().exists()
    }
}

#[test]
fn enabled_and_taken_back_byte_for_byte() {
    let jdk = Jdk::new();
    let time = || {
        let meta = std::fs::metadata(&jdk.file).unwrap();
        (meta.mtime(), meta.mtime_nsec(), meta.mode())
    };
    let before = time();
    let shown = jdk.tool(&["enable", "--dry-run"]).ok().out;
    contains(
        &shown,
        &[
            "+security.provider.1=SunPKCS11 ",
            "+library = ",
            "+nssArgs = ",
        ],
    );
    assert!(jdk.is_as_it_was() && !jdk.place.path("state").exists());

    let done = valid(&jdk.tool(&["enable", "--json"]).ok().out);
    assert_eq!(done.text("/enable/sites/0/outcome"), "enabled");
    assert_eq!(done.text("/enable/sites/0/scope"), "java");
    let own = jdk.own().display().to_string();
    let first = format!("security.provider.1=SunPKCS11 {own}\n");
    let text = jdk.text();
    assert!(text.starts_with(SECURITY), "{text}");
    contains(
        &text,
        &[
            &first,
            "security.provider.2=org.tenrounds.TenroundsProvider\n",
            "security.provider.3=SUN\n",
            "security.provider.4=SunJCE\n",
        ],
    );
    contains(
        &std::fs::read_to_string(&own).unwrap(),
        &["/tenrounds-loader.so\"\n", "/a.jar\"\n", "ignoreAll"],
    );
    // It was tried before and after.
    let log = std::fs::read_to_string(jdk.place.path("jdk/log")).unwrap();
    let last: Vec<&str> = log.lines().rev().take(2).collect();
    assert!(!last[0].contains("java.security.properties") && last[1].contains("properties=="));

    contains(&jdk.tool(&["enable"]).ok().out, &["enabled already"]);
    assert_eq!(jdk.text(), text);
    contains(&jdk.tool(&["disable"]).ok().out, &["disabled"]);
    assert!(jdk.is_as_it_was());
    assert_eq!(time(), before);
    assert!(!jdk.place.path("state/tenrounds").exists());
    contains(&jdk.tool(&["disable"]).ok().out, &["not enabled"]);
}

/// `disable --jar`, before a package or `make uninstall` removes the jar.
#[test]
fn all_jdks_that_use_a_jar_are_disabled() {
    let jdk = Jdk::new();
    let disable = |jar: &str| {
        let mut tool = jdk.place.tool(["disable", "--jar", jar]);
        tool.env("XDG_STATE_HOME", jdk.place.path("state")).done()
    };
    contains(
        &disable("share/java/a.jar").ok().out,
        &["Nothing was enabled"],
    );
    // Another JDK uses another jar.
    let mut copy = jdk.place.program("cp");
    copy.args(["-a", "jdk", "other"]).done().ok();
    jdk.place.file("share/java/b.jar", "a jar");
    let mut tool = jdk.place.tool(["enable", "--java-home", "other"]);
    tool.env("TENROUNDS_JAR", jdk.place.path("share/java/b.jar"))
        .env("XDG_STATE_HOME", jdk.place.path("state"))
        .done()
        .ok();
    let other = jdk.place.path("other/conf/security/java.security");
    let lines = || std::fs::read_to_string(&other).unwrap();
    let enabled = lines();
    jdk.tool(&["enable"]).ok();
    std::fs::remove_file(jdk.place.path("share/java/a.jar")).unwrap();
    let said = disable("share/java/a.jar").ok().out;
    jdk.place.file("share/java/a.jar", "a jar");
    contains(&said, &["jdk/conf/security/java.security: disabled"]);
    assert!(!said.contains("other/"), "{said}");
    assert!(jdk.is_as_it_was() && lines() == enabled && enabled != SECURITY);
    // Nothing tells which jar this one uses.
    std::fs::remove_file(other.with_file_name("tenrounds.cfg")).unwrap();
    contains(&disable("share/java/a.jar").ok().out, &["disabled"]);
    assert_eq!(lines(), SECURITY);
    assert!(!jdk.place.path("state/tenrounds").exists());
    // One that cannot be taken back is an error.
    jdk.tool(&["enable"]).ok();
    std::fs::write(&jdk.file, jdk.text().replace("# tenrounds: end.\n", "")).unwrap();
    contains(
        &disable("share/java/a.jar").failed(1),
        &["remove these lines by hand"],
    );
}

#[test]
fn a_jdk_that_it_does_not_work_in_stays_as_it_was() {
    let jdk = Jdk::new();
    jdk.place.file("jdk/broken", "");
    let said = jdk.tool(&["enable"]).failed(1);
    contains(&said, &["bin/keytool: ", " no such provider"]);
    assert!(!said.contains("CommonName"), "{said}");
    assert!(jdk.is_as_it_was());
    std::fs::remove_file(jdk.place.path("jdk/broken")).unwrap();
    jdk.place.file("jdk/idle", "");
    contains(
        &jdk.tool(&["enable"]).failed(1),
        &["without tenrounds", "does not load it"],
    );
    assert!(jdk.is_as_it_was());
    std::fs::remove_file(jdk.place.path("jdk/idle")).unwrap();
    jdk.place.file("jdk/masked", "");
    let said = jdk.tool(&["enable"]).failed(1);
    contains(&said, &["without tenrounds: masked"]);
    assert!(jdk.is_as_it_was());
    std::fs::remove_file(jdk.place.path("jdk/masked")).unwrap();
    std::fs::create_dir(jdk.place.path("j\u{e4}va")).unwrap();
    jdk.place.file("j\u{e4}va/a.jar", "a jar");
    let mut tool = jdk.place.tool(["enable", "--java-home", "jdk"]);
    tool.env("TENROUNDS_JAR", jdk.place.path("j\u{e4}va/a.jar"));
    let said = tool.env("XDG_STATE_HOME", jdk.place.path("state")).done();
    contains(&said.failed(1), &["a.jar: Java cannot read this path"]);
    assert!(jdk.is_as_it_was());
    let library = jdk.place.path("lib/jni/tenrounds-loader.so");
    std::fs::remove_file(&library).unwrap();
    contains(
        &jdk.tool(&["enable"]).failed(1),
        &["a.jar is missing", "lib/jni"],
    );
    std::fs::write(library, "a library").unwrap();
    jdk.place.file("jdk/release", "JAVA_VERSION=\"11.0.2\"\n");
    contains(&jdk.tool(&["enable"]).failed(1), &["jdk is JDK 11.0.2"]);
    std::fs::remove_file(jdk.place.path("jdk/release")).unwrap();
    std::fs::write(jdk.own(), "somebody's").unwrap();
    contains(&jdk.tool(&["enable"]).failed(1), &["move it away"]);
    assert_eq!(jdk.text(), SECURITY);
    std::fs::remove_file(jdk.own()).unwrap();
    std::fs::remove_file(&jdk.file).unwrap();
    contains(
        &jdk.tool(&["enable"]).failed(1),
        &["jdk is no JDK", "java.security"],
    );
}

#[test]
fn what_others_changed_since_stays() {
    let jdk = Jdk::new();
    jdk.tool(&["enable"]).ok();
    std::fs::write(&jdk.file, jdk.text() + "later=2\n").unwrap();
    contains(
        &jdk.tool(&["disable"]).ok().out,
        &["only our lines were removed"],
    );
    assert_eq!(jdk.text(), format!("{SECURITY}\nlater=2\n"));
    assert!(!jdk.own().exists());
    // Enabled again, with a part of our lines gone.
    jdk.tool(&["enable"]).ok();
    std::fs::write(&jdk.file, jdk.text().replace("# tenrounds: end.\n", "")).unwrap();
    contains(
        &jdk.tool(&["disable"]).failed(1),
        &["remove these lines by hand"],
    );
}

#[test]
fn status_tries_the_jdk() {
    let jdk = Jdk::new();
    let sites = |done: &Done| {
        let mut sites = valid(&done.out).list("/status/sites");
        sites.retain(|site| site["scope"] == "java");
        sites
    };
    assert!(sites(&jdk.status().ok()).is_empty());
    jdk.tool(&["enable"]).ok();
    let site = &sites(&jdk.status().ok())[0];
    assert_eq!(site["outcome"], "enabled", "{site}");
    let path = |path: PathBuf| path.display().to_string();
    assert_eq!(site["configuration"], path(jdk.file.clone()));
    assert_eq!(site["module"], path(jdk.place.path("share/java/a.jar")));
    std::fs::write(&jdk.file, jdk.text() + "later=2\n").unwrap();
    assert_eq!(sites(&jdk.status().ok())[0]["outcome"], "enabled");

    jdk.place.file("jdk/broken", "");
    let broken = jdk.status();
    assert_eq!(broken.status, Some(1));
    assert_eq!(sites(&broken)[0]["outcome"], "broken");
    contains(&broken.err, &["no such provider", "disable --java-home"]);
    std::fs::remove_file(jdk.place.path("jdk/broken")).unwrap();

    // An update of the JDK brought another java.security.
    std::fs::write(&jdk.file, SECURITY).unwrap();
    let site = &sites(&jdk.status().ok())[0];
    assert_eq!(site["outcome"], "half-done");
    contains(
        &site.to_string(),
        &["somebody removed", "enable --java-home"],
    );
    jdk.tool(&["disable"]).ok();
    assert!(sites(&jdk.status().ok()).is_empty());
}

/// Root runs no keytool that another user can replace, neither to enable it nor to look.
#[test]
fn root_runs_no_keytool_of_another_user() {
    // SAFETY: geteuid() has no requirements.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can change the owner of a file");
    }
    let jdk = Jdk::new();
    let give =
        |user| std::os::unix::fs::chown(jdk.place.path("jdk/bin"), Some(user), None).unwrap();
    give(12345);
    let said = jdk.tool(&["enable"]).failed(1);
    contains(
        &said,
        &["jdk/bin/keytool: could be replaced by another user"],
    );
    assert!(jdk.is_as_it_was());
    give(0);
    jdk.tool(&["enable"]).ok();
    give(12345);
    let log = std::fs::read(jdk.place.path("jdk/log")).unwrap();
    let said = jdk.status().ok().out;
    contains(
        &said,
        &["cannot tell whether it works", "jdk/bin/keytool: could"],
    );
    assert!(std::fs::read(jdk.place.path("jdk/log")).unwrap() == log);
    jdk.tool(&["disable"]).ok();
    assert!(jdk.is_as_it_was());
}

/// A JDK that is gone, or another one in its place that is too old.
#[test]
fn what_is_recorded_of_a_removed_jdk_is_forgotten() {
    for replaced in [false, true] {
        let (jdk, machine) = (Jdk::new(), Machine::debian(""));
        std::fs::create_dir(machine.at("/proc")).unwrap();
        let tool = |words: &[&str]| {
            let mut tool = jdk.place.tool(words);
            tool.args(["--java-home", &jdk.place.path("jdk").display().to_string()])
                .env("TENROUNDS_JAR", jdk.place.path("share/java/a.jar"))
                .env("XDG_STATE_HOME", machine.at("/var/lib"))
                .done()
        };
        let interrupted = || {
            let said = machine.tool(&["doctor", "--json"]).done().out;
            said.contains("enable-interrupted")
        };
        tool(&["enable"]).ok();
        std::fs::remove_dir_all(jdk.place.path("jdk")).unwrap();
        if replaced {
            std::fs::create_dir_all(jdk.place.path("jdk/conf/security")).unwrap();
            jdk.place.file("jdk/release", "JAVA_VERSION=\"11.0.2\"\n");
            std::fs::write(&jdk.file, SECURITY).unwrap();
        }
        assert!(interrupted());
        let said = tool(&["disable"]).ok().out;
        assert_eq!(said.contains("java.security is gone"), !replaced, "{said}");
        assert!(!interrupted());
        assert!(!machine.at("/var/lib/tenrounds").exists());
        // Nothing is known of it now.
        let again = tool(&["disable"]);
        match replaced {
            true => contains(&again.ok().out, &["not enabled"]),
            false => contains(&again.failed(1), &["is no JDK"]),
        }
    }
}

/// After an update of the JDK, whose state root keeps for the system.
#[test]
fn doctor_names_a_jdk_that_lost_our_lines() {
    let (jdk, machine) = (Jdk::new(), Machine::debian(""));
    std::fs::create_dir(machine.at("/proc")).unwrap();
    jdk.tool(&["enable"]).ok();
    let state = std::fs::read_to_string(jdk.place.path("state/tenrounds/enabled.json")).unwrap();
    machine.write("/var/lib/tenrounds/enabled.json", &state);
    let said = machine.tool(&["doctor", "--json"]).done().out;
    contains(
        &said,
        &["enable-interrupted", "tenrounds disable --java-home /"],
    );
    machine.write(&jdk.file.display().to_string(), jdk.text());
    let said = machine.tool(&["doctor", "--json"]).done().out;
    assert!(!said.contains("enable-interrupted"), "{said}");
}

/// Killed at every change on the disk: the file is whole, and both commands get it right
/// afterwards.
#[test]
fn killed_at_every_step() {
    for step in 0.. {
        let jdk = Jdk::new();
        let mut tool = jdk.place.faulty_tool(["enable"]);
        tool.env("TENROUNDS_DIE_AT", step.to_string());
        let died = jdk.done(&mut tool).status.is_none();
        let text = jdk.text();
        let whole = text == SECURITY || text.ends_with("# tenrounds: end.\n");
        assert!(whole, "step {step}: {text}");
        if step % 2 == 0 {
            jdk.tool(&["enable"]).ok();
            assert!(jdk.own().exists(), "step {step}");
        }
        jdk.tool(&["disable"]).ok();
        assert_eq!(jdk.text(), SECURITY, "step {step}");
        if !died {
            assert!(step > 10, "{step} steps");
            return;
        }
    }
}
