// SPDX-License-Identifier: BSD-2-Clause
//! `trace --count` against what programs say of their own calls.

use crate::json::{valid, Document};
use crate::support::{contains, skip, skip_in_a_container, until, Finish, Guarded, Place};
use crate::trace::at_work;
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const CALLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/calls.c");
#[cfg(target_arch = "x86_64")]
#[cfg(target_arch = "x86_64")]
const RED_ZONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/red_zone.c");

fn compile(place: &Place, source: &str, options: &[&str], name: &str) -> PathBuf {
    let program = place.path(name);
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(cc);
    cc.args(["-O1", "-Wall", source, "-o"])
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
    let reason = format!("no probes: {}", done.err.trim());
    match done.err.contains("needs the first PID namespace") {
        true => skip_in_a_container(&reason),
        false => skip(&reason),
    }
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
    random_calls_are_exact(&place, &[&program]);
}

/// Runs a command as process 1 of a PID namespace.
const UNSHARE: [&str; 4] = ["unshare", "--fork", "--pid", "--mount-proc"];

/// Whether this user may count, and make PID namespaces. Reports a test that is skipped.
fn can_count_in_namespaces(place: &Place) -> bool {
    let mut unshare = place.program(UNSHARE[0]);
    let made = unshare.args(&UNSHARE[1..]).arg("true").done();
    if made.status != Some(0) {
        skip(&format!("no PID namespace: {}", made.err.trim()));
        return false;
    }
    can_count(place)
}

/// As in a container.
#[test]
fn random_calls_in_a_pid_namespace_are_counted_exactly() {
    // The initial namespace has this number (PROC_PID_INIT_INO of Linux). What happens inside
    // another one is tested below.
    let own = std::fs::read_link("/proc/self/ns/pid").unwrap();
    if own.as_os_str() != "pid:[4026531836]" {
        return println!("{} is not the initial PID namespace", own.display());
    }
    let place = Place::new();
    if !can_count_in_namespaces(&place) {
        return;
    }
    let program = compile(&place, CALLS, &["-lcrypto", "-lpthread"], "calls");
    let mut command = UNSHARE.map(Path::new).to_vec();
    command.push(&program);
    random_calls_are_exact(&place, &command);
}

/// bpftrace numbers processes as the first PID namespace does.
#[test]
fn a_trace_in_a_pid_namespace_is_refused() {
    let place = Place::new();
    if !can_count_in_namespaces(&place) {
        return;
    }
    let mut tool = place.program(UNSHARE[0]);
    tool.args(&UNSHARE[1..]).arg(crate::support::TOOL);
    tool.args(["trace", "--count", "--", "true"]);
    contains(
        &tool.done().failed(1),
        &["cannot count calls: this needs the first PID namespace"],
    );
}

/// Without bpftrace, the error names it, and how to get it.
#[test]
fn bpftrace_that_is_missing_is_named() {
    let place = Place::new();
    if !can_count(&place) {
        return;
    }
    let mut tool = place.tool(["trace", "--count", "--", "true"]);
    tool.env("PATH", place.path(""));
    contains(
        &tool.done().failed(1),
        &["the program bpftrace is missing: apt install bpftrace"],
    );
}

fn random_calls_are_exact(place: &Place, command: &[&Path]) {
    let seed = fastrand::u32(..).to_string();
    println!("seed {seed}");
    let (document, out) = counted(place, command, &[&seed]);
    let printed = printed(&out);
    assert_eq!(printed.len(), 9);
    let seen = rows(&document, "calls", "libcrypto.so");
    for (key, row) in &printed {
        assert_eq!(seen.get(key), Some(row), "{key:?}, seed {seed}");
    }
}

/// The rows of a program and a library, as `printed` has them.
fn rows(document: &Document, program: &str, library: &str) -> BTreeMap<(String, String), Value> {
    let mut seen = BTreeMap::new();
    for row in document.list("/trace/counts/calls") {
        assert_eq!(row["name"], program);
        let key = |name: &str| row[name].as_str().unwrap_or("-").to_owned();
        assert!(key("file").contains(library), "{row}");
        let mut kept = row.clone();
        let names = ["calls", "bytes", "in_place", "without_output", "sizes"];
        let object = kept.as_object_mut().unwrap();
        object.retain(|name, _| names.contains(&name.as_str()));
        let before = seen.insert((key("function"), key("algorithm")), kept);
        assert!(before.is_none(), "{row}");
    }
    seen
}

/// Arguments of openssl.
fn speed<'a>(bytes: &'a str, cipher: &'a str) -> [&'a str; 7] {
    ["speed", "-seconds", "600", "-bytes", bytes, "-evp", cipher]
}

/// A trace shows the calls since it began, also of a process that has worked before.
#[test]
fn counts_begin_with_the_trace() {
    let place = Place::new();
    if !can_count(&place) {
        return;
    }
    let counts = |seconds: &str, pid: &str| {
        let line = [
            "trace",
            "--count",
            "--json",
            "--seconds",
            seconds,
            "-p",
            pid,
        ];
        let document = valid(&place.tool(line).done().ok().out);
        let rows = document.list("/trace/counts/calls");
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(rows[0]["algorithm"], "aes-128-ctr");
        rows[0]["calls"].as_u64().unwrap()
    };
    let child = at_work(place.program("openssl").args(speed("16384", "aes-128-ctr")));
    let pid = child.0.id().to_string();
    let long = counts("5", &pid);
    // Without its earlier work. The machine may be busy meanwhile.
    let short = counts("0.5", &pid);
    assert!(short > 0 && short < long, "{short} of {long}");
}

/// Where a process has mapped libcrypto, and its file.
fn libcrypto_of(pid: u32) -> (u64, String) {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mapping = maps.lines().find(|line| line.contains("/libcrypto.so"));
    let words: Vec<&str> = mapping.unwrap().split_whitespace().collect();
    assert_eq!(words[2], "00000000", "{maps}");
    let begin = words[0].split_once('-').unwrap().0;
    (u64::from_str_radix(begin, 16).unwrap(), words[5].to_owned())
}

/// Where a process has a function of libcrypto.
fn address_of(pid: u32, name: &str) -> u64 {
    let (begin, file) = libcrypto_of(pid);
    let mut readelf = Command::new("readelf");
    let symbols = readelf.args(["--dyn-syms", "-W", &file]).done().ok().out;
    let symbol = symbols
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|line| line.len() > 7 && line[7].split('@').next() == Some(name));
    begin + u64::from_str_radix(symbol.unwrap()[1], 16).unwrap()
}

/// A pipe without room.
pub fn full_pipe() -> (std::fs::File, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: the pointer is valid for two descriptors, which belong to nobody else.
    let (read, write) = unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    let mut writer = std::fs::File::from(write.try_clone().unwrap());
    // SAFETY: a plain system call on an open descriptor.
    let set = |flags: i32| unsafe { libc::fcntl(ends[1], libc::F_SETFL, flags) };
    assert_eq!(set(libc::O_NONBLOCK), 0);
    while writer.write(&[b' '; 4096]).is_ok() {}
    assert_eq!(set(0), 0);
    (read.into(), write)
}

/// The cost is said before the first probe, and a tracer that is killed leaves none behind.
#[test]
fn probes_come_after_their_cost_was_said_and_go_with_the_tracer() {
    let place = Place::new();
    if !can_count(&place) {
        return;
    }
    // Of its own library: while another test counts a command, the library of the system has probes
    // in every process.
    let speed = speed("4096", "aes-128-cbc");
    let usual = at_work(place.program("openssl").args(speed));
    std::fs::copy(libcrypto_of(usual.0.id()).1, place.path("libcrypto.so.3")).unwrap();
    drop(usual);
    let mut openssl = place.program("openssl");
    let child = at_work(openssl.args(speed).env("LD_LIBRARY_PATH", place.path("")));
    let pid = child.0.id();
    let address = address_of(pid, "EVP_EncryptUpdate");
    assert!(Path::new(&libcrypto_of(pid).1).starts_with(place.path("")));
    let memory = std::fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let code = || {
        let mut code = [0; 16];
        memory.read_exact_at(&mut code, address).unwrap();
        code
    };
    let before = code();
    let named = pid.to_string();
    let mut tool = place.tool(["trace", "--count", "--seconds", "600", "-p", &named]);
    // The tool has to wait with its first words.
    let (mut said, full) = full_pipe();
    tool.stdout(Stdio::null()).stderr(full);
    let mut tool = Guarded(tool.spawn().unwrap());
    let call = format!("/proc/{}/syscall", tool.0.id());
    let writing = format!("{} 0x2 ", libc::SYS_write);
    until("write to standard error", || {
        std::fs::read_to_string(&call).is_ok_and(|call| call.starts_with(&writing))
    });
    assert_eq!(code(), before);
    let mut bytes = [0; 8192];
    let mut text = String::new();
    while !text.contains("Counting ") {
        let count = said.read(&mut bytes).unwrap();
        text += &String::from_utf8_lossy(&bytes[..count]);
    }
    until("probe", || code() != before);
    tool.signal(libc::SIGKILL);
    tool.0.wait().unwrap();
    until("end of the probe", || code() == before);
    assert!(Path::new(&format!("/proc/{pid}/exe")).exists());
}

#[test]
fn only_the_named_process_is_counted() {
    let place = Place::new();
    if !can_count(&place) {
        return;
    }
    let speed = |bytes| at_work(place.program("openssl").args(speed(bytes, "aes-128-cbc")));
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
