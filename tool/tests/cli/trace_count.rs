// SPDX-License-Identifier: BSD-2-Clause
//! `trace --count` against what programs say of their own calls.

use crate::json::{valid, Document};
use crate::support::{contains, skip, Finish, Guarded, Place};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CALLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/calls.c");
#[cfg(target_arch = "x86_64")]
const RED_ZONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/red_zone.c");

fn compile(place: &Place, source: &str, options: &[&str], name: &str) -> PathBuf {
    let program = place.path(name);
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(cc);
    cc.args(["-O1", "-Wall", "-Werror", source, "-o"])
        .arg(&program)
        .args(options);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    program
}

/// Whether this user may count. Reports a test that is skipped for want of that.
fn can_count(place: &Place) -> bool {
    let done = place.tool(["trace", "--count", "--", "true"]).done();
    if done.status == Some(0) && done.err.contains("Counting ") {
        return true;
    }
    contains(&done.err, &["cannot count calls"]);
    skip(&format!("no probes: {}", done.err.trim()));
    false
}

/// The counts of a command's trace, and what the command printed.
fn counted(place: &Place, command: &[&Path], arguments: &[&str]) -> (Document, String) {
    let file = place.path("trace.json");
    let mut tool = place.tool(["trace", "--count", "--json", "-o"]);
    tool.arg(&file).arg("--").args(command).args(arguments);
    let done = tool.done().ok();
    (valid(&std::fs::read_to_string(file).unwrap()), done.out)
}

/// A row for each function and algorithm, as calls.c prints it.
fn printed(out: &str) -> BTreeMap<(String, String), Value> {
    let mut rows = BTreeMap::new();
    for line in out.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let key = (words[1].to_owned(), words[2].to_owned());
        let numbers: Vec<u64> = words[3..]
            .iter()
            .map(|word| word.parse().unwrap())
            .collect();
        match (words[0], &numbers[..]) {
            ("sum", [calls, bytes, in_place, without_output]) => {
                let row = json!({
                    "calls": calls, "bytes": bytes, "in_place": in_place,
                    "without_output": without_output, "sizes": [],
                });
                rows.insert(key, row);
            }
            ("size", [from, calls, bytes]) => {
                let to = if *from == 0 { 0 } else { 2 * from - 1 };
                let size = json!({"from": from, "to": to, "calls": calls, "bytes": bytes});
                let row = rows.get_mut(&key).unwrap();
                row["sizes"].as_array_mut().unwrap().push(size);
            }
            _ => panic!("{line}"),
        }
    }
    rows
}

#[test]
fn random_calls_are_counted_exactly() {
    let place = Place::new();
    if !can_count(&place) {
        return;
    }
    let program = compile(&place, CALLS, &["-lcrypto", "-lpthread"], "calls");
    let seed = fastrand::u32(..).to_string();
    println!("seed {seed}");
    let (document, out) = counted(&place, &[&program], &[&seed]);
    let printed = printed(&out);
    assert_eq!(printed.len(), 9);
    let mut seen = BTreeMap::new();
    for row in document.list("/trace/counts/calls") {
        assert_eq!(row["name"], "calls");
        assert!(
            row["file"].as_str().unwrap().contains("libcrypto.so"),
            "{row}"
        );
        let key = |name: &str| row[name].as_str().unwrap().to_owned();
        let mut row = row.clone();
        let key = (key("function"), key("algorithm"));
        let kept = ["calls", "bytes", "in_place", "without_output", "sizes"];
        row.as_object_mut()
            .unwrap()
            .retain(|name, _| kept.contains(&name.as_str()));
        assert!(seen.insert(key, row).is_none());
    }
    for (key, row) in &printed {
        assert_eq!(seen.get(key), Some(row), "{key:?}, seed {seed}");
    }
}

#[test]
fn only_the_named_process_is_counted() {
    let place = Place::new();
    if !can_count(&place) {
        return;
    }
    let speed = |bytes: &str| {
        let mut speed = place.program("openssl");
        speed.args([
            "speed",
            "-seconds",
            "60",
            "-bytes",
            bytes,
            "-evp",
            "aes-128-cbc",
        ]);
        speed.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Guarded(speed.spawn().unwrap());
        // It says when it begins, and ends the line later.
        let mut begun = [0; 6];
        let err = child.0.stderr.as_mut().unwrap();
        err.read_exact(&mut begun).unwrap();
        assert_eq!(&begun, b"Doing ");
        child
    };
    let (named, _other) = (speed("1024"), speed("4096"));
    let pid = named.0.id().to_string();
    let line = ["trace", "--count", "--json", "--seconds", "0.3", "-p", &pid];
    let document = valid(&place.tool(line).done().ok().out);
    let calls = document.list("/trace/counts/calls");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert_eq!(calls[0]["pid"], named.0.id());
    assert_eq!(calls[0]["algorithm"], "aes-128-cbc");
    let sizes = calls[0]["sizes"].as_array().unwrap();
    assert_eq!((sizes.len(), &sizes[0]["from"]), (1, &json!(1024)));
}

/// A library with the name of libcrypto, whose EVP_EncryptUpdate() begins with a NOP of five bytes,
/// and whose EVP_DecryptUpdate() does not. A function jumps to both with data below the stack
/// pointer.
#[cfg(target_arch = "x86_64")]
#[test]
fn data_below_the_stack_pointer_survives() {
    let place = Place::new();
    if !can_count(&place) {
        return;
    }
    let library = compile(
        &place,
        RED_ZONE,
        &["-shared", "-fPIC", "-DLIBRARY"],
        "libcrypto.so",
    );
    let folder = library.parent().unwrap().to_str().unwrap();
    let path = format!("-Wl,-rpath,{folder}");
    // The loader's code for the first call would use the stack.
    let options = ["-L", folder, "-lcrypto", &path, "-Wl,-z,now"];
    let program = compile(&place, RED_ZONE, &options, "red-zone");
    let file = place.path("trace.json");
    let mut tool = place.tool(["trace", "--count", "--json", "-o"]);
    tool.env("LD_LIBRARY_PATH", folder)
        .arg(&file)
        .arg("--")
        .arg(&program);
    let done = tool.done().ok();
    assert_eq!(done.out, "0 of 200000 calls lost their data\n");
    let document = valid(&std::fs::read_to_string(file).unwrap());
    let calls = document.list("/trace/counts/calls");
    let ours: Vec<&Value> = calls
        .iter()
        .filter(|row| row["file"].as_str().unwrap().starts_with(folder))
        .collect();
    assert_eq!(ours.len(), 1, "{calls:?}");
    assert_eq!(ours[0]["function"], "EVP_DecryptUpdate");
    assert_eq!(
        (&ours[0]["calls"], &ours[0]["bytes"]),
        (&json!(100_000), &json!(1_600_000))
    );
    let troubles = document.list("/trace/counts/troubles");
    contains(
        &format!("{troubles:?}"),
        &["libcrypto.so: EVP_EncryptUpdate not counted"],
    );
}

/// The script has each counted function of the system's libcrypto, and our probe in both hosts.
#[test]
fn a_script_for_bpftrace() {
    let place = Place::new();
    let pkcs11 = place.file("tenrounds-pkcs11.so", "");
    let print = || {
        let mut tool = place.tool(["trace", "--print-bpftrace"]);
        tool.env("TENROUNDS_PKCS11", &pkcs11);
        tool
    };
    let script = print().done().ok().out;
    for function in ["EVP_EncryptUpdate", "EVP_DecryptUpdate", "EVP_Cipher"] {
        let probes = script
            .lines()
            .filter(|line| line.starts_with("uprobe:/") && line.ends_with(&format!(":{function}")));
        assert!(probes.count() > 0, "{function}: {script}");
    }
    contains(
        &script,
        &[
            "= \"aes-128-gcm\";",
            "/tenrounds.so:tenrounds:bulk\n",
            "@executed[comm, \"provider\", str(arg1), arg0] = sum(arg2);",
            "/tenrounds-pkcs11.so:tenrounds:bulk\n",
            "@executed[comm, \"pkcs11\", str(arg1), arg0] = sum(arg2);",
            "END {",
        ],
    );
    let file = place.path("aes.bt");
    let mut tool = print();
    assert_eq!(tool.arg("--output").arg(&file).done().ok().out, "");
    assert_eq!(std::fs::read_to_string(file).unwrap(), script);
    for with in [&["--all"][..], &["--json"], &["--count"], &["--", "true"]] {
        let all = ["trace", "--print-bpftrace"].iter().chain(with);
        contains(&place.tool(all).done().failed(2), &["--print-bpftrace"]);
    }
}

/// bpftrace reads the script, and finds no wrong name or type. Whether it can count here depends on
/// the kernel.
#[test]
#[ignore = "needs bpftrace: scripts/check-full runs it"]
fn bpftrace_reads_the_script() {
    if crate::support::emulated() {
        return;
    }
    let version = Command::new("bpftrace").arg("--version").output();
    let version = version.map_or(String::new(), |done| {
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    });
    let minor = version
        .strip_prefix("bpftrace v0.")
        .and_then(|rest| rest.split('.').next());
    // Newer ones have another option -d, which prints nothing after types were checked.
    if !minor
        .and_then(|minor| minor.parse().ok())
        .is_some_and(|minor: u32| (11..=20).contains(&minor))
    {
        return skip(&format!(
            "this needs bpftrace 0.11 to 0.20, and finds '{version}'"
        ));
    }
    let place = Place::new();
    let script = place.tool(["trace", "--print-bpftrace"]).done().ok().out;
    let read = |name: &str, script: &str| {
        let file = place.file(name, script);
        let done = Command::new("bpftrace").arg("-d").arg(file).output();
        let done = done.expect("this needs bpftrace");
        String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr)
    };
    let said = read("aes.bt", &script);
    assert!(said.contains("AST after: ResourceAnalyser"), "{said}");
    // What it says of a wrong script, so that the check above can fail.
    let wrong = script.replacen("$bytes = ", "$bytes = $missing + ", 1);
    let said = read("wrong.bt", &wrong);
    assert!(!said.contains("AST after: ResourceAnalyser"), "{said}");
}
