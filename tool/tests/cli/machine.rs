// SPDX-License-Identifier: BSD-2-Clause
//! A machine to examine: a copy of tests/fixtures/doctor/machine, which is healthy, with the
//! libraries that cannot be kept as text. A test then breaks one thing.

use crate::json::{valid, Document};
use crate::support::{Done, Finish, Place};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/doctor");

/// What libcrypto says of itself (crypto/info.c), and a module with our version.
const LIBCRYPTO: &str = "const char v[] = \"OpenSSL 3.0.13 30 Jan 2024\";\n\
    const char d[] = \"OPENSSLDIR: \\\"/usr/lib/ssl\\\"\";\n\
    const char m[] = \"MODULESDIR: \\\"/usr/lib/ossl-modules\\\"\";\n\
    int EVP_EncryptInit_ex(void) { return 0; }\n";
const MODULE: &str =
    "const char version[] = \"VERSION\"; int OSSL_provider_init(void) { return 1; }\n";

pub struct Machine {
    place: Place,
    pub dir: PathBuf,
}

impl Machine {
    pub fn healthy() -> Machine {
        let place = Place::new();
        let dir = place.path("machine");
        copy(&Path::new(FIXTURES).join("machine"), &dir);
        let machine = Machine { place, dir };
        machine.write("proc/100/environ", "PATH=/bin\0HOME=/root\0");
        machine.libcrypto("3.0.13");
        let current = MODULE.replace("VERSION", env!("CARGO_PKG_VERSION"));
        let module = library("module", &current);
        machine.write("usr/lib/ossl-modules/tenrounds.so", &module);
        machine.write("usr/lib/ossl-modules/foreign.so", foreign(&module));
        let old = library("old", &MODULE.replace("VERSION", "0.0.9"));
        machine.write("usr/lib/ossl-modules/old.so", &old);
        machine
    }

    /// The system's libcrypto, of this version.
    pub fn libcrypto(&self, version: &'static str) {
        let source = LIBCRYPTO.replace("3.0.13", version);
        self.write("usr/lib/libcrypto.so.3", library(version, &source));
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// A file with one text replaced by another, which has to be there.
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.dir.join(path)).unwrap();
        assert!(text.contains(from), "no {from:?} in {path}");
        self.write(path, text.replace(from, to));
    }

    pub fn remove(&self, path: &str) {
        let path = self.dir.join(path);
        match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        }
        .unwrap();
    }

    /// A program, compiled into the machine.
    pub fn compile(&self, path: &str, source: &str, options: &[&str]) {
        self.write(path, compile(source, options));
    }

    /// Adds an `openssl` that names this machine's version and directory, and otherwise runs ours.
    pub fn openssl(&self) {
        let text =
            "#!/bin/sh\nif [ \"$1\" = version ]; then\n  echo 'OpenSSL 3.0.13 30 Jan 2024'\n  \
            echo 'OPENSSLDIR: \"/usr/lib/ssl\"'\n  exit\nfi\nexec openssl \"$@\"\n";
        self.write("usr/bin/openssl", text);
        self.set_mode("usr/bin/openssl", 0o755);
    }

    pub fn set_mode(&self, path: &str, mode: u32) {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.dir.join(path), mode).unwrap();
    }

    pub fn link(&self, path: &str, target: &str) {
        let path = self.dir.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// The tool on this machine, with the provider under test.
    pub fn tool(&self, args: &[&str]) -> Command {
        let mut command = self.place.tool(args);
        // What this user has enabled does not matter.
        command.env("HOME", self.place.path("home"));
        command.arg("--root").arg(&self.dir);
        command
    }

    pub fn doctor(&self, args: &[&str], environment: &[(&str, &str)]) -> Done {
        let mut command = self.tool(&["doctor"]);
        command.args(args).envs(environment.iter().copied()).done()
    }

    /// The document, whose verdict agrees with the exit status.
    pub fn examined(&self, environment: &[(&str, &str)]) -> Examined {
        let done = self.doctor(&["--json"], environment);
        assert_eq!(done.err, "");
        let document = valid(&done.out);
        let status = document.at("/doctor/status").as_i64();
        assert_eq!(status, done.status.map(i64::from));
        Examined(document)
    }
}

/// What the doctor found.
#[derive(Debug)]
pub struct Examined(pub Document);

impl Examined {
    pub fn ids(&self) -> Vec<String> {
        let findings = self.0.list("/doctor/findings");
        let mut ids: Vec<String> = findings
            .iter()
            .map(|f| f["id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids.dedup();
        ids
    }

    pub fn status(&self) -> i64 {
        self.0.at("/doctor/status").as_i64().unwrap()
    }

    /// All findings about configurations.
    pub fn of_configuration(&self) -> Vec<serde_json::Value> {
        let mut findings = self.0.list("/doctor/findings");
        findings.retain(|f| f["group"] == "configuration");
        findings
    }

    /// The only finding of this kind, as text; its evidence and cure are not empty.
    pub fn the(&self, id: &str) -> String {
        let findings = self.0.list("/doctor/findings");
        let found: Vec<_> = findings.iter().filter(|f| f["id"] == id).collect();
        assert_eq!(found.len(), 1, "{id}: {findings:#?}");
        assert!(!found[0]["evidence"].as_array().unwrap().is_empty(), "{id}");
        found[0].to_string()
    }
}

fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(status.unwrap().success());
}

/// A shared library of this source, compiled once.
fn library(name: &'static str, source: &str) -> Vec<u8> {
    static BUILT: OnceLock<std::sync::Mutex<std::collections::HashMap<&str, Vec<u8>>>> =
        OnceLock::new();
    let mut built = BUILT.get_or_init(Default::default).lock().unwrap();
    built
        .entry(name)
        .or_insert_with(|| compile(source, &["-shared", "-fPIC"]))
        .clone()
}

fn compile(source: &str, options: &[&str]) -> Vec<u8> {
    let place = Place::new();
    let (file, output) = (place.file("a.c", source), place.path("a.so"));
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(cc)
        .args(options)
        .arg("-o")
        .arg(&output)
        .arg(&file)
        .status();
    assert!(status.unwrap().success(), "cannot compile:\n{source}");
    std::fs::read(output).unwrap()
}

/// The same with another processor in its header (ELF's e_machine): 64-bit Arm, or there x86-64.
fn foreign(library: &[u8]) -> Vec<u8> {
    let mut changed = library.to_vec();
    changed[18] = if cfg!(target_arch = "aarch64") {
        0x3e
    } else {
        0xb7
    };
    changed
}
