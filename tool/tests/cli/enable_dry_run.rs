// SPDX-License-Identifier: BSD-2-Clause
//! `enable --dry-run`: shows what `enable` would write, and writes nothing.

use crate::enable_support::{Machine, DEBIAN};
use crate::json::valid;
use crate::support::{contains, Done, Finish};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const OWN: &str = "/etc/ssl/tenrounds.cnf";

/// Everything in the test's directory: the root, the home, and the directory for temporary files.
fn everything(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            found.extend(everything(&path));
        }
        let content = fs::read(&path).unwrap_or_default();
        found.insert(path, content);
    }
    found
}

/// What the candidate's trial said of the provider.
const VERSION: &str = concat!("tenrounds.so, version ", env!("CARGO_PKG_VERSION"), "\n");

/// Runs a dry run, which must change nothing.
fn dry_run(machine: &Machine, args: &[&str]) -> Done {
    let before = everything(&machine.place.path(""));
    let line = [&["enable", "--dry-run"], args].concat();
    let done = machine.tool(&line).done();
    assert_eq!(everything(&machine.place.path("")), before);
    done
}

/// What diff(1) says of a file and what it was before.
fn diff(machine: &Machine, file: &Path, before: Option<&[u8]>) -> String {
    let old = machine.place.path("before");
    fs::write(&old, before.unwrap_or_default()).unwrap();
    let label = before.map_or(Path::new("/dev/null"), |_| file);
    let mut diff = machine.place.program("diff");
    diff.args(["-u", "--label"])
        .arg(label)
        .arg("--label")
        .arg(file);
    diff.arg(old).arg(file).done().out
}

/// The changes that a dry run announces.
fn announced(machine: &Machine, args: &[&str]) -> Vec<(PathBuf, Option<Vec<u8>>, String)> {
    let line = [args, &["--json"]].concat();
    let document = valid(&dry_run(machine, &line).ok().out);
    assert_eq!(*document.at("/enable/dry_run"), true);
    let sites = document.list("/enable/sites");
    let changes = sites.iter().flat_map(|site| {
        assert_eq!(site["outcome"], "would-enable");
        site["changes"].as_array().unwrap()
    });
    let announced = changes.map(|change| {
        let text = |field: &str| change[field].as_str().unwrap().to_owned();
        let file = PathBuf::from(text("file"));
        let before = fs::read(&file).ok();
        assert_eq!(text("action") == "change", before.is_some(), "{change}");
        (file, before, text("diff"))
    });
    announced.collect()
}

#[test]
fn for_the_system_the_diff_is_what_enable_then_does() {
    let machine = Machine::debian(DEBIAN);
    let done = dry_run(&machine, &["--system"]).ok();
    let first = done.out.lines().next().unwrap();
    contains(
        first,
        &["Dry run, nothing was changed; these 2 files would be written"],
    );
    let added = format!("\n+.include = {}\n", machine.at(OWN).display());
    let created = format!("--- /dev/null\n+++ {}\n", machine.at(OWN).display());
    contains(
        &done.out,
        &[&added, &created, VERSION, "would be enabled (system)"],
    );

    let announced = announced(&machine, &["--system"]);
    assert_eq!(announced.len(), 2);
    machine.enable().ok();
    for (file, before, text) in announced {
        assert_eq!(diff(&machine, &file, before.as_deref()), text);
    }

    let done = dry_run(&machine, &["--system"]).ok();
    contains(
        &done.out,
        &["no file would change", "enabled already (system)"],
    );
    // A file of ours that is to be another.
    let own = String::from_utf8(machine.read(OWN)).unwrap();
    machine.disable().ok();
    machine.write(OWN, own.replace("soft_load", "# soft_load"));
    let done = dry_run(&machine, &["--system"]).ok();
    contains(&done.out, &["\n-# soft_load = 1\n+soft_load = 1\n"]);
}

#[test]
fn for_a_user() {
    let machine = Machine::debian(DEBIAN);
    let done = dry_run(&machine, &[]).ok();
    contains(
        &done.out,
        &[
            "this file would be written",
            "would be enabled (user)",
            VERSION,
            "+soft_load = 1",
            "export OPENSSL_CONF=",
        ],
    );
    let announced = announced(&machine, &[]);
    assert_eq!(announced.len(), 1);
    machine.tool(&["enable"]).done().ok();
    for (file, before, text) in announced {
        assert_eq!(diff(&machine, &file, before.as_deref()), text);
    }
    let done = dry_run(&machine, &[]).ok();
    contains(&done.out, &["no file would change"]);
}

#[test]
fn what_enable_refuses_the_dry_run_refuses() {
    for text in [
        "a = b\n[broken\n",
        "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = fips=yes\n",
    ] {
        let machine = Machine::debian(text);
        let said = dry_run(&machine, &["--system"]).failed(1);
        assert_eq!(machine.enable().failed(1), said);
    }
    let machine = Machine::debian(DEBIAN);
    let said = dry_run(&machine, &["--nonsense"]).failed(2);
    contains(&said, &["'--nonsense'"]);
}

/// OpenSSL works with the file alone, and not with what `enable` would add.
#[test]
fn it_tries_what_would_be() {
    let machine = Machine::debian(DEBIAN);
    let fails = "case \"$1\" in enc) echo wrong; exit ;; esac\nexec openssl \"$@\"";
    machine.script(
        "/usr/bin/openssl",
        "OpenSSL 3.0.0 7 sep 2021",
        "/usr/lib/ssl",
        fails,
    );
    let said = dry_run(&machine, &["--system"]).failed(1);
    contains(&said, &["nothing was changed", "differs from the answer"]);
}
