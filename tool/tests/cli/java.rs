// SPDX-License-Identifier: BSD-2-Clause
//! `run --java` and `enable --java-home` with each JDK that scripts/java would use: those of 17 and
//! later in the folder JDKS (/usr/lib/jvm), and that of JAVA_HOME.

use crate::json::valid;
use crate::support::{built_module, contains, skip, Finish, Place};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// It says which provider a program gets that names none.
const WHICH: &str = "public class Which { public static void main(String[] words) throws Exception {
    System.out.print(javax.crypto.Cipher.getInstance(\"AES/GCM/NoPadding\").getProvider().getName());
} }";
const FILE: &str = "conf/security/java.security";

fn jdks() -> BTreeSet<PathBuf> {
    let folder = std::env::var_os("JDKS").unwrap_or("/usr/lib/jvm".into());
    let homes = std::fs::read_dir(folder).into_iter().flatten();
    let homes = homes.map(|home| home.unwrap().path());
    let named = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let all = homes
        .chain(named)
        .filter(|home| home.join("bin/javac").is_file());
    let all = all.map(|home| home.canonicalize().unwrap());
    all.filter(|home| version(home) >= 17).collect()
}

/// What the file `release` says: 17.
fn version(home: &Path) -> u32 {
    let text = std::fs::read_to_string(home.join("release")).unwrap_or_default();
    let mut lines = text.lines();
    let version = lines.find_map(|line| line.strip_prefix("JAVA_VERSION=\""));
    let major = version.and_then(|version| version.split(['.', '"']).next());
    major.and_then(|major| major.parse().ok()).unwrap_or(0)
}

/// The jar and its library, below the prefix.
const JAR: &str = "share/java/tenrounds.jar";
const LIBRARY: &str = "lib/jni/tenrounds-loader.so";

/// What 'make stage' has laid out.
fn staged(file: &str) -> PathBuf {
    let module = built_module().canonicalize().unwrap();
    let file = module.ancestors().nth(3).unwrap().join(file);
    assert!(file.is_file(), "'make stage' writes {}", file.display());
    file
}

/// A copy of the jar and its library, which nobody else can replace.
fn installed(place: &Place) -> PathBuf {
    for file in [JAR, LIBRARY] {
        let copy = place.path(file);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(staged(file), copy).unwrap();
    }
    place.path(JAR).canonicalize().unwrap()
}

/// Does something with each JDK, in a place with the class Which.
fn with_each(done: impl Fn(&Path, &Place)) {
    let all = jdks();
    if all.is_empty() {
        return skip("java: there is no JDK of 17 or later");
    }
    for jdk in all {
        let place = Place::new();
        let source = place.file("Which.java", WHICH);
        let mut javac = place.program(jdk.join("bin/javac"));
        javac.args(["--release", "17"]).arg(source).done().ok();
        done(&jdk, &place);
    }
}

/// The provider that a program gets. Nothing warns, but for the JVM's line about its variable.
fn provider(java: &mut Command) -> String {
    let done = java.args(["-cp", ".", "Which"]).done().ok();
    let said = done
        .err
        .lines()
        .filter(|line| !line.starts_with("Picked up JAVA_TOOL_OPTIONS"));
    assert_eq!(said.collect::<String>(), "");
    done.out
}

#[test]
fn run_gives_each_jdk_the_provider() {
    with_each(|jdk, place| {
        let java = jdk.join("bin/java");
        assert_eq!(provider(&mut place.program(&java)), "SunJCE");
        let run = ["run", "--java", "--"];
        // One run inside of another gives the option once.
        let tool = crate::support::TOOL;
        for words in [
            &run[..],
            &["run", "--java", "--", tool, "run", "--java", "--"],
        ] {
            let mut tool = place.tool(words);
            tool.arg(&java).env("TENROUNDS_JAR", staged(JAR));
            assert_eq!(provider(&mut tool), "tenrounds", "{}", jdk.display());
        }
        let mut masked = place.tool(["run", "--mask", "noaes", "--java", "--"]);
        masked.arg(&java).args(["-cp", ".", "Which"]);
        let masked = masked.env("TENROUNDS_JAR", staged(JAR)).done().ok();
        assert_eq!(masked.out, "SunJCE");
    });
}

#[test]
fn enabled_in_each_jdk_without_an_option() {
    with_each(|jdk, place| {
        // A runtime of its own, because the files of the JDK stay as they are.
        let home = place.path("image");
        let mut jlink = place.program(jdk.join("bin/jlink"));
        jlink.args(["--add-modules", "java.base,jdk.crypto.cryptoki", "--output"]);
        jlink.arg(&home).done().ok();
        let file = home.join(FILE);
        let before = std::fs::read(&file).unwrap();
        let jar = installed(place);
        let java = || provider(&mut place.program(home.join("bin/java")));
        let tool = |words: &[&str]| {
            let mut tool = place.tool(words);
            tool.env("TENROUNDS_JAR", &jar)
                .env("XDG_STATE_HOME", place.path("state"));
            tool
        };
        let image = ["--java-home", "image"];
        let masked = |words: &[&str]| tool(words).env("TENROUNDS_MASK", "noaes").done();
        let said = masked(&[&["enable"], &image[..]].concat()).failed(1);
        contains(&said, &["without tenrounds: TENROUNDS_MASK masks"]);
        assert!(std::fs::read(&file).unwrap() == before);
        tool(&["enable"]).args(image).done().ok();
        assert_eq!(java(), "tenrounds", "{}", jdk.display());
        std::fs::create_dir(place.path("root")).unwrap();
        let said = masked(&["status", "--root", "root"]).failed(1);
        contains(&said, &["without tenrounds: TENROUNDS_MASK masks"]);
        let status = tool(&["status", "--json", "--root", "root"]).done().ok();
        let sites = valid(&status.out).list("/status/sites");
        let ours = sites.iter().find(|site| site["scope"] == "java").unwrap();
        assert_eq!(ours["outcome"], "enabled", "{ours}");
        assert_eq!(ours["module"], jar.display().to_string());

        // Without the jar, Java works as before, and status says so.
        let own = file.with_file_name("tenrounds.cfg");
        let text = std::fs::read_to_string(&own).unwrap();
        std::fs::write(&own, text.replace("tenrounds.jar", "gone.jar")).unwrap();
        assert_eq!(java(), "SunJCE");
        let status = tool(&["status", "--root", "root"]).done();
        contains(
            &status.failed(1),
            &["without tenrounds", "disable --java-home"],
        );
        tool(&["disable"]).args(image).done().ok();
        assert!(std::fs::read(&file).unwrap() == before && !own.exists());
        assert_eq!(java(), "SunJCE");
    });
}
