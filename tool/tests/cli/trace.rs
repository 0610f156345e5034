// SPDX-License-Identifier: BSD-2-Clause
//! `trace` on programs whose AES code is known: the core's backends in a stripped program under a
//! false name, and the system's openssl under masks. trace_corpus.rs has the longer list.

use crate::json::{valid, Document};
use crate::pseudo_terminal::{text_of, PseudoTerminal};
use crate::support::{
    built_module, contains, is_crowded, skip, sleeping, until, within, Done, Finish, Guarded,
    Nobody, Place, PATIENCE, TOOL,
};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
#[cfg(target_arch = "x86_64")]
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
#[cfg(target_arch = "x86_64")]
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/work.c");

/// Whether the kernel lets this process sample its own children. Reports a test that is skipped for
/// want of that.
pub fn can_sample(place: &Place) -> bool {
    let own = std::process::id().to_string();
    let done = place
        .tool(["trace", "--seconds", "0.01", "-p", &own])
        .done();
    match done.status {
        Some(0) => true,
        _ => {
            contains(&done.err, &["perf_event_open"]);
            skip(&format!(
                "the kernel refuses perf_event_open: {}",
                done.err.trim()
            ));
            false
        }
    }
}

/// The program work.c, static and stripped.
pub fn work(place: &Place) -> PathBuf {
    let library = built_module().ancestors().find_map(|dir| {
        let file = dir.join("libtenrounds.a");
        file.exists().then_some(file)
    });
    let library = library.expect("libtenrounds.a is staged with the module");
    let headers = library.parent().unwrap().join("../include");
    let program = place.path("work");
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(cc);
    cc.args(["-O1", "-static", "-s", "-I"]).arg(headers);
    cc.arg(SOURCE).arg(library).arg("-o").arg(&program);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    program
}

/// The program at work, once it says by which backend.
pub fn working(place: &Place, program: &Path, mode: &str, mask: &str) -> (Guarded, String) {
    let mut work = place.program(program);
    work.args([mode, mask, "nginx"]).stdout(Stdio::piped());
    let mut child = work.started();
    let mut backend = String::new();
    let out = child.0.stdout.as_mut().unwrap();
    BufReader::new(out).read_line(&mut backend).unwrap();
    assert!(!backend.is_empty(), "{work:?} ended");
    (child, backend.trim_end().to_owned())
}

/// What a tool says of a process that works all the time. If the process had hardly any processor
/// in these seconds, there was nothing to see: then the tool looks again.
pub fn while_it_runs<T>(child: &Guarded, seconds: f64, look: impl Fn() -> T) -> T {
    let begun = Instant::now();
    loop {
        let before = child.used();
        let seen = look();
        let used = child.used() - before;
        if used.as_secs_f64() >= seconds / 4.0 || begun.elapsed() > within(PATIENCE) {
            return seen;
        }
    }
}

/// A trace of a process that works.
pub fn traced(place: &Place, child: &Guarded, seconds: &str) -> Document {
    let document = valid(&traced_with(place, child, &["--json"], seconds));
    assert_eq!(document.text("/command"), "trace");
    document
}

/// The output of `trace` with these options, until a process that works has used so many seconds of
/// processor time.
pub fn traced_with(place: &Place, child: &Guarded, options: &[&str], seconds: &str) -> String {
    let pid = child.0.id().to_string();
    let mut tool = place.tool(["trace", "--seconds", "600", "-p", &pid]);
    tool.args(options);
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let tool = tool.unwrap();
    wait_for_samples(tool.id());
    let before = child.used();
    let time = Duration::from_secs_f64(seconds.parse().unwrap());
    until("work", || child.used() - before >= time);
    assert_eq!(signalled(tool.id(), libc::SIGINT), 0);
    Done::from(tool.wait_with_output().unwrap()).ok().out
}

/// The finding with the most samples; null if there is none.
#[cfg(target_arch = "x86_64")]
pub fn first(document: &Document) -> Value {
    let processes = document.list("/trace/processes");
    let findings = processes
        .first()
        .map(|process| process["findings"][0].clone());
    findings.unwrap_or_default()
}

/// All works of a document that are AES.
pub fn aes_works(document: &Document) -> Vec<String> {
    let processes = document.list("/trace/processes");
    processes.iter().flat_map(aes_works_of).collect()
}

/// The same of a process.
fn aes_works_of(process: &Value) -> Vec<String> {
    const OTHERS: [&str; 6] = [
        "bitslice",
        "clmul",
        "hash",
        "sbox",
        "ghash-clmul",
        "ghash-tables",
    ];
    let findings = process["findings"].as_array().unwrap().iter();
    let works = findings.map(|finding| finding["work"].as_str().unwrap().to_owned());
    works
        .filter(|work| !OTHERS.contains(&work.as_str()))
        .collect()
}

/// Copies a program into a file that exists in memory alone.
#[cfg(target_arch = "x86_64")]
fn in_memory(program: &Path, name: &std::ffi::CStr) -> OwnedFd {
    use std::io::Write;
    // SAFETY: the name is a C string; the new descriptor belongs to nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(name.as_ptr(), 0)) };
    let mut file = std::fs::File::from(fd);
    file.write_all(&std::fs::read(program).unwrap()).unwrap();
    file.into()
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_stripped_program_in_memory_under_a_false_name_and_three_masks() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let memory = in_memory(&program, c"nginx");
    std::fs::remove_file(&program).unwrap();
    let path = PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        memory.as_raw_fd()
    ));
    let mut answers = Vec::new();
    for mask in ["", "noavx512", "novaes"] {
        let (child, backend) = working(&place, &path, "ctr", mask);
        let document = traced(&place, &child, "0.5");
        let expected = match backend.as_str() {
            "vaes512" => ("vaes512", "VAES 512"),
            "vaes256" => ("vaes256", "VAES 256"),
            "aesni" => ("aes-ni", "128-bit AES-NI"),
            other => return skip(&format!("this processor's strongest backend is {other}")),
        };
        let found = first(&document);
        assert_eq!(found["work"], expected.0, "{document:#?}");
        assert_eq!(found["confidence"], "certain");
        assert_eq!(found["module"]["kind"], "memory");
        assert_eq!(document.at("/trace/processes/0/name"), "nginx");
        assert!(
            document.at("/trace/aes_share").as_f64() > Some(0.5),
            "{document:#?}"
        );
        let verdict = document.text("/trace/verdict/0");
        contains(
            &verdict,
            &["nginx (", "in nginx (a file in memory)", expected.1],
        );
        answers.push(backend);
    }
    // A processor with all three has three answers.
    if answers[0] == "vaes512" {
        assert_eq!(answers, ["vaes512", "vaes256", "aesni"]);
    }
}

/// `openssl speed`, once it encrypts.
pub fn at_work(command: &mut Command) -> Guarded {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.started();
    // It says when it begins, and ends the line later.
    let mut said = Vec::new();
    let err = child.0.stderr.as_mut().unwrap();
    while !said.ends_with(b"Doing ") {
        let mut byte = [0];
        err.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    child
}

/// `openssl speed` at work.
pub fn openssl(place: &Place, cipher: &str, mask: Option<&str>, options: &[&str]) -> Guarded {
    let mut openssl = place.program("openssl");
    openssl
        .args([
            "speed", "-seconds", "600", "-bytes", "16384", "-evp", cipher,
        ])
        .args(options);
    if let Some(mask) = mask {
        openssl.env("OPENSSL_ia32cap", mask);
    }
    at_work(&mut openssl)
}

#[cfg(target_arch = "x86_64")]
#[test]
fn openssl_without_instructions_uses_tables_at_the_address_that_is_said() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let child = openssl(&place, "aes-128-cbc", Some("0:0"), &[]);
    let document = traced(&place, &child, "0.6");
    let found = first(&document);
    assert_eq!(found["work"], "tables", "{document:#?}");
    assert_eq!(found["module"]["library"]["name"], "OpenSSL");
    assert_eq!(found["reach"], "provider");
    contains(
        &document.text("/trace/verdict/0"),
        &["openssl (", "by tables", "with tenrounds"],
    );
    // The table is where it is said to be.
    let table = &found["evidence"]["table"];
    let mut entry = [0; 8];
    let memory = std::fs::File::open(format!("/proc/{}/mem", child.0.id())).unwrap();
    memory
        .read_exact_at(&mut entry, table["address"].as_u64().unwrap())
        .unwrap();
    let beginning: &[u8] = match table["kind"].as_str().unwrap() {
        "te" => &[0xc6, 0x63, 0x63, 0xa5],
        "sbox" => &[0x63, 0x7c, 0x77, 0x7b],
        other => panic!("encryption does not use {other}"),
    };
    let mut seen = entry[..4].to_vec();
    let mut sorted = beginning.to_vec();
    if table["kind"] == "te" {
        // In any rotation and byte order.
        seen.sort_unstable();
        sorted.sort_unstable();
    }
    assert_eq!(seen, sorted);
}

/// The widest AES instructions of this processor that may be used.
pub fn widest_aes(place: &Place) -> &'static str {
    let detected = place.tool(["status", "--json"]).done().ok();
    let of_these = ["vaes512", "vaes256"];
    let found = of_these
        .into_iter()
        .find(|backend| detected.out.contains(&format!("\"{backend}\"")));
    found.unwrap_or("aes-ni")
}

/// The mode, and what tenrounds would run on this processor and with masks.
#[cfg(target_arch = "x86_64")]
#[test]
fn the_verdict_names_the_mode_and_what_tenrounds_would_run() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    // Without VAES, which libcrypto uses since 3.1.
    let child = openssl(&place, "aes-128-gcm", Some("~0:~0x20000000000"), &[]);
    let pid = child.0.id();
    let found = first(&traced(&place, &child, "0.4"));
    assert_eq!([&found["work"], &found["mode"]], ["aes-ni", "gcm"]);
    let wide = |bits| format!("with tenrounds it would run on VAES at {bits} bits.");
    let narrow = || "tenrounds uses instructions of the same width.".to_owned();
    let (unmasked, without512) = match widest_aes(&place) {
        "vaes512" => (wide(512), wide(256)),
        "vaes256" => (wide(256), wide(256)),
        _ => (narrow(), narrow()),
    };
    let pid = pid.to_string();
    for (mask, with) in [
        ("", unmasked),
        ("noavx512", without512),
        ("novaes", narrow()),
    ] {
        let said = while_it_runs(&child, 0.2, || {
            let mut tool = place.tool(["trace", "--seconds", "0.2", "-p", &pid]);
            tool.env("TENROUNDS_MASK", mask).done().ok().out
        });
        let verdict = said.lines().next().unwrap();
        let begin = format!("openssl ({pid}): AES-GCM in libcrypto.so.3 on 128-bit AES-NI");
        assert!(verdict.starts_with(&begin), "{mask}: {verdict}");
        assert!(
            verdict.ends_with(&format!(" % of its time; {with}")),
            "{mask}: {verdict}"
        );
    }
}

/// The process that a server's PID file names only starts and waits for others. Its workers run
/// when the trace begins.
#[test]
fn the_descendants_of_a_process_that_exist() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let name = format!("w{}", std::process::id());
    let mut master = place.program("sh");
    // The worker and the shell between them end with this test.
    let line = "setpriv --pdeathsig KILL sh -c '
        setpriv --pdeathsig KILL \"$0\" ctr \"\" $1 & echo $!; wait' \"$0\" $1 & wait";
    master.args(["-c", line]).arg(&program).arg(&name);
    let mut master = master.stdout(Stdio::piped()).started();
    let mut said = BufReader::new(master.0.stdout.as_mut().unwrap()).lines();
    let lines = [said.next(), said.next()].map(|line| line.unwrap().unwrap());
    let worker: u64 = lines.iter().find_map(|line| line.parse().ok()).unwrap();
    let pid = master.0.id().to_string();
    for whom in [&["-p", pid.as_str()][..], &[name.as_str()]] {
        let begun = Instant::now();
        let seen = loop {
            let mut tool = place.tool(["trace", "--json", "--seconds", "0.3"]);
            let document = valid(&tool.args(whom).done().ok().out);
            let seen = document.list("/trace/processes");
            if !seen.is_empty() || begun.elapsed() > within(PATIENCE) {
                break seen;
            }
        };
        let pids: Vec<&Value> = seen.iter().map(|process| &process["pid"]).collect();
        assert!(pids.contains(&&worker.into()), "{whom:?}: {seen:#?}");
        assert!(!aes_works_of(&seen[0]).is_empty(), "{seen:#?}");
    }
    // The name of the program's file.
    let mut tool = place.tool([
        "trace",
        "--live",
        "--json",
        "-n",
        "1",
        "--interval",
        "0.1",
        "work",
    ]);
    tool.done().ok();
}

/// A finding's function and threads. Without symbols, the address in the file stands for the name.
#[cfg(target_arch = "x86_64")]
#[test]
fn functions_and_threads_of_a_finding() {
    use crate::support::kernel_sees;
    use serde_json::json;
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    if !kernel_sees("aes") {
        return skip("trace: threads.c needs a processor with AES instructions");
    }
    let program = compiled(&place, "threads.c");
    for is_stripped in [false, true] {
        if is_stripped {
            let mut strip = place.program("strip");
            strip.arg(&program).done().ok();
        }
        let child = ready(place.program(&program));
        let found = first(&traced(&place, &child, "0.6"));
        assert_eq!(
            [&found["work"], &found["threads"]],
            [&json!("aes-ni"), &json!(3)]
        );
        let at = &found["places"][0];
        let text = traced_with(&place, &child, &[], "0.2");
        let wanted = match is_stripped {
            false => "rounds_of_threads".to_owned(),
            true => format!("+{:#x}", at["address"].as_u64().unwrap()),
        };
        assert_eq!(at["function"].is_null(), is_stripped, "{at}");
        contains(&text, &[&wanted]);
    }
}

#[test]
fn other_ciphers_are_no_aes() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    // Both have S-boxes of their own. ARIA's first is that of AES, in words; and it has GCM.
    for cipher in ["camellia-128-cbc", "aria-128-gcm"] {
        let child = openssl(&place, cipher, None, &[]);
        let document = traced(&place, &child, "0.4");
        assert!(
            document.at("/trace/samples").as_u64() > Some(10),
            "{document:#?}"
        );
        assert_eq!(aes_works(&document), [""; 0], "{cipher}: {document:#?}");
        contains(
            &document.text("/trace/verdict/0"),
            &["No AES code was seen in "],
        );
        assert_eq!(document.at("/trace/aes_share"), 0.0);
    }
}

/// A loop in memory that it has written itself: INC EAX, and back.
#[cfg(target_arch = "x86_64")]
const WRITTEN: &str = r#"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
    void *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 2;
    memcpy(code, "\xff\xc0\xeb\xfc", 4);
    puts("on");
    fflush(stdout);
    alarm(600);
    ((void (*)(void))code)();
}
"#;

/// Neither is known to be AES, and neither is known to be something else.
#[cfg(target_arch = "x86_64")]
#[test]
fn code_that_may_be_aes_has_no_bound() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let source = place.file("written.c", WRITTEN);
    let written = place.path("written");
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(cc);
    cc.arg(&source).arg("-o").arg(&written);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    let bitsliced = work(&place);
    let mask = crate::support::bitslice_alone();
    for program in [&written, &bitsliced] {
        // The first ignores its arguments.
        let (child, _) = working(&place, program, "cbc", &mask);
        let document = traced(&place, &child, "0.4");
        contains(
            &document.text("/trace/verdict/0"),
            &[
                "Cannot tell whether AES runs: ",
                "written at run time, or in long Boolean code",
            ],
        );
        let unclear = document.at("/trace/unclear_samples").as_u64();
        let samples = document.at("/trace/samples").as_u64();
        assert!(2 * unclear.unwrap() > samples.unwrap(), "{document:#?}");
    }
}

/// A command that encrypts for about a tenth of a second, half of the time of its processes. A mode
/// that is faster than the pipe had few samples, and sometimes none.
pub const ENCRYPT: &str = "head -c 100000000 /dev/zero | openssl enc -aes-256-cbc -K 0000000000000000000000000000000000000000000000000000000000000000 -iv 00000000000000000000000000000000 >/dev/null";

#[test]
fn a_command_with_its_children_and_its_status() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let script = format!("{ENCRYPT}; echo output; exit 7");
    let done = place.tool(["trace", "--", "sh", "-c", &script]).done();
    assert_eq!(done.status, Some(7), "{done:?}");
    assert_eq!(done.out, "output\n");
    let first = done.err.lines().next().unwrap();
    contains(first, &["openssl (", "AES", "libcrypto.so"]);
    contains(&done.err, &[" samples in ", "take less than "]);
    // To a file, without colours.
    let file = place.path("report.json");
    let mut tool = place.tool(["trace", "--json", "--output"]);
    let done = tool
        .arg(&file)
        .args(["--", "sh", "-c", ENCRYPT])
        .done()
        .ok();
    assert_eq!((done.out.as_str(), done.err.as_str()), ("", ""));
    let document = valid(&std::fs::read_to_string(&file).unwrap());
    let processes = document.list("/trace/processes");
    assert!(
        processes.iter().any(|process| process["name"] == "openssl"),
        "{processes:#?}"
    );
}

/// The trace ends with the last of its processes, and says which ones ended.
#[test]
fn a_process_that_ends_is_said() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    // Ends when the test closes its input.
    let start = || {
        let mut cat = place.program("cat");
        Guarded(cat.stdin(Stdio::piped()).spawn().unwrap())
    };
    let trace = |line: &[&str]| {
        let mut tool = place.tool(["trace"]);
        tool.args(line)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        tool.spawn().unwrap()
    };
    let (mut short, long) = (start(), start());
    let (ended, lives) = (short.0.id().to_string(), long.0.id().to_string());
    let begun = Instant::now();
    let tool = trace(&["--seconds", "500", "-p", &ended]);
    wait_for_samples(tool.id());
    drop(short.0.stdin.take());
    let said = Done::from(tool.wait_with_output().unwrap()).ok().out;
    contains(
        &said,
        &[&format!("process {ended} ended before the trace did.")],
    );
    assert!(begun.elapsed().as_secs() < 400);
    let mut short = start();
    let ended = short.0.id().to_string();
    let both = format!("{ended},{lives}");
    let tool = trace(&["--seconds", "500", "--json", "-p", &both]);
    wait_for_samples(tool.id());
    drop(short.0.stdin.take());
    until("end", || short.status("State").starts_with('Z'));
    assert_eq!(signalled(tool.id(), libc::SIGINT), 0);
    let document = valid(&Done::from(tool.wait_with_output().unwrap()).ok().out);
    let troubles = format!("{:?}", document.list("/trace/troubles"));
    contains(&troubles, &[&format!("process {ended} ended")]);
    assert!(
        !troubles.contains(&format!("process {lives} ")),
        "{troubles}"
    );
}

#[test]
fn what_cannot_be_traced_is_said() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let said = place.tool(["trace", "-p", "4194305"]).done().failed(1);
    contains(
        &said,
        &["4194305", "there is no such process, or it has ended"],
    );
    let said = place
        .tool(["trace", "--", "no-such-command"])
        .done()
        .failed(127);
    contains(&said, &["no-such-command: command not found"]);
    for wrong in [
        &["trace"][..],
        &["trace", "--all", "-p", "1"],
        &["trace", "-p", "0"],
        &["trace", "-p", "x"],
    ] {
        place.tool(wrong).done().failed(2);
    }
    // A file that cannot be written is noticed before the command starts.
    let said = place
        .tool(["trace", "-o", "/nonexistent/x", "--", "no-such-command"])
        .done()
        .failed(1);
    contains(&said, &["cannot write /nonexistent/x"]);
    let idle = sleeping(place.program("sleep"));
    let pid = idle.0.id().to_string();
    let line = ["trace", "--seconds", "0.1", "-p", &pid];
    contains(&place.tool(line).done().ok().out, &["There is no sample: "]);
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let own = std::process::id().to_string();
    let mut tool = place.tool(["trace", "--seconds", "0.01", "-p", &own]);
    let said = Done::from(
        tool.stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap(),
    );
    contains(&said.failed(1), &["cannot write to standard output"]);
}

/// A program of the source folder.
#[cfg(target_arch = "x86_64")]
fn compiled(place: &Place, source: &str) -> PathBuf {
    let program = place.path("program");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace");
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(cc);
    cc.args(["-O1", "-Wall", "-pthread"]);
    cc.arg(Path::new(folder).join(source))
        .arg("-o")
        .arg(&program);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    program
}

/// A program that says when it is ready, once it does.
#[cfg(target_arch = "x86_64")]
pub fn ready(mut command: Command) -> Guarded {
    let mut child = command.stdout(Stdio::piped()).started();
    let mut line = String::new();
    let out = child.0.stdout.as_mut().unwrap();
    BufReader::new(out).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

/// Waits until a trace samples a process: by perf_event_open(2). When all is
/// prepared, its first thread sleeps between two looks at the samples.
pub fn wait_for_samples(tool: u32) {
    let asleep = format!("{} ", libc::SYS_clock_nanosleep);
    until("samples", || {
        let files = std::fs::read_dir(format!("/proc/{tool}/fd")).unwrap();
        let mut targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        let call = std::fs::read_to_string(format!("/proc/{tool}/syscall")).unwrap();
        let has_events = targets.any(|it| it.as_os_str() == "anon_inode:[perf_event]");
        has_events && call.starts_with(&asleep)
    });
}

fn signalled(process: u32, signal: i32) -> i32 {
    // SAFETY: kill() takes any numbers and touches no memory of ours.
    unsafe { libc::kill(i32::try_from(process).unwrap(), signal) }
}

/// Code at an address whose other code was classified before, as a just-in-time compiler may put it
/// there.
#[cfg(target_arch = "x86_64")]
#[test]
fn code_that_is_rewritten_is_classified_again() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = compiled(&place, "rewrites.c");
    let child = ready(place.program(&program));
    let pid = child.0.id().to_string();
    let mut tool = place.tool(["trace", "--json", "--seconds", "500", "-p", &pid]);
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let tool = tool.unwrap();
    wait_for_samples(tool.id());
    let runs_for = |seconds| {
        let before = child.used();
        let time = Duration::from_secs(seconds);
        until("time", || child.used() - before >= time);
    };
    runs_for(1);
    child.signal(libc::SIGUSR1);
    runs_for(3);
    assert_eq!(signalled(tool.id(), libc::SIGINT), 0);
    let done = Done::from(tool.wait_with_output().unwrap());
    let document = valid(&done.ok().out);
    assert_eq!(aes_works(&document), ["aes-ni"], "{document:#?}");
    assert_eq!(first(&document)["module"]["kind"], "written-at-run-time");
    // AES runs for 3 of 4 seconds, and is seen for at least 1 of them.
    let share = document.at("/trace/aes_share").as_f64().unwrap();
    assert!((0.15..0.97).contains(&share), "{document:#?}");
}

/// The class, with the file that it is found in.
#[cfg(target_arch = "x86_64")]
fn class_and_module(place: &Place, child: &Guarded) -> (Value, Value) {
    let document = traced(place, child, "0.5");
    let mut found = first(&document);
    let module = found["module"].take();
    (found["work"].take(), module)
}

/// A program that only its own mount namespace has. Under the same name, others see another file.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_in_another_mount_namespace() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let Some(mut unshare) = crate::enable_support::namespace() else {
        return;
    };
    let program = work(&place);
    let (child, _) = working(&place, &program, "ctr", "");
    let (work, module) = class_and_module(&place, &child);
    drop(child);
    let folder = place.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let hidden = folder.join("hidden");
    std::fs::write(&hidden, "not a program").unwrap();
    // The first line of the program follows those of the shell.
    let script = "mount -t tmpfs none \"$1\"; cp \"$2\" \"$1/hidden\"; echo $$; exec \"$1/hidden\" ctr '' nginx";
    unshare.args(["sh", "-eu", "-c", script, "sh"]);
    unshare.arg(&folder).arg(&program).stdout(Stdio::piped());
    let mut outer = Guarded(unshare.spawn().unwrap());
    let mut lines = BufReader::new(outer.0.stdout.take().unwrap()).lines();
    let pid = lines.next().unwrap().unwrap();
    lines.next().unwrap().unwrap();
    // It is no child of this process, and so has a longer time.
    let line = ["trace", "--json", "--seconds", "1", "-p", &pid];
    let document = valid(&place.tool(line).done().ok().out);
    outer.signal(libc::SIGTERM);
    // timeout(1) passes the signal on to the program only while it lives.
    outer.ends();
    let found = first(&document);
    assert_eq!(found["work"], work, "{document:#?}");
    // The kernel names a file of another namespace from that namespace's root, so that in a chroot
    // more comes before the path.
    let path = found["module"]["path"].as_str().unwrap();
    assert!(path.ends_with(hidden.to_str().unwrap()), "{path}");
    assert_eq!(found["module"]["kind"], "file");
    assert!(module["build_id"].is_string(), "{module}");
    assert_eq!(found["module"]["build_id"], module["build_id"]);
}

/// A program whose file was deleted, and then replaced by another one.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_that_was_deleted() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let (child, _) = working(&place, &program, "ctr", "");
    let (work, module) = class_and_module(&place, &child);
    assert_eq!(module["kind"], "file");
    std::fs::remove_file(&program).unwrap();
    let deleted = class_and_module(&place, &child);
    std::fs::write(&program, "not a program").unwrap();
    let replaced = class_and_module(&place, &child);
    for (class, found) in [deleted, replaced] {
        assert_eq!(class, work);
        assert_eq!(found["kind"], "deleted", "{found}");
        assert_eq!(found["path"], program.to_str().unwrap());
        assert!(found["build_id"].is_string(), "{found}");
        assert_eq!(found["build_id"], module["build_id"]);
    }
}

/// On a terminal, the share of AES is shown soon.
#[test]
fn a_terminal_shows_the_first_answer_within_two_seconds() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let child = openssl(&place, "aes-128-ctr", None, &[]);
    let pid = child.0.id().to_string();
    let wanted = " samples, AES ";
    let look = || {
        let begun = Instant::now();
        let mut tool = place.tool(["trace", "--seconds", "600", "-p", &pid]);
        let mut terminal = PseudoTerminal::start(&mut tool, 24, 100);
        let text = terminal.wait("live line", |screen| text_of(screen).contains(wanted));
        (begun.elapsed(), text)
    };
    // Other work only ever adds to the time, so one of several shows what the tool needs.
    let most = within(Duration::from_secs(if is_crowded() { 10 } else { 2 }));
    let mut looks = (0..10).map(|_| look());
    let seen = looks.find(|(elapsed, _)| *elapsed < most);
    let (_, text) = seen.expect("an answer within two seconds");
    let line = text.lines().find(|line| line.contains(wanted)).unwrap();
    contains(line, &[" %"]);
    assert_eq!(text.matches(wanted).count(), 1, "{text}");
}

/// A signal during the report, when the samples have been taken, ends it.
#[test]
fn a_signal_ends_the_report() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let child = openssl(&place, "aes-128-ctr", None, &[]);
    let pid = child.0.id().to_string();
    let (_reader, full) = crate::trace_count::full_pipe();
    let mut tool = place.tool(["trace", "--seconds", "0.5", "-p", &pid]);
    let mut tool = Guarded(tool.stdout(full).spawn().unwrap());
    // It waits until somebody reads.
    let call = format!("/proc/{}/syscall", tool.0.id());
    let writing = format!("{} 0x1 ", libc::SYS_write);
    until("write of the report", || {
        std::fs::read_to_string(&call).is_ok_and(|call| call.starts_with(&writing))
    });
    tool.signal(libc::SIGTERM);
    assert_eq!(tool.0.wait().unwrap().signal(), Some(libc::SIGTERM));
}

#[test]
fn a_process_with_many_threads() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = std::sync::Arc::new(std::sync::Mutex::new(ended));
    let threads: Vec<_> = (0..500)
        .map(|_| {
            let ended = ended.clone();
            std::thread::spawn(move || {
                let _ = ended.lock().unwrap().recv();
            })
        })
        .collect();
    let own = std::process::id().to_string();
    let done = place
        .tool(["trace", "--json", "--seconds", "0.1", "-p", &own])
        .done()
        .ok();
    // Too few descriptors are said, and do not reach the traced command.
    let limited = |limit: &str, line: &[&str]| {
        let mut shell = place.program("sh");
        let script = format!("ulimit {limit}; exec \"$0\" trace \"$@\"");
        shell.args(["-c", &script, TOOL]).args(line).done()
    };
    // Children of other tests may be sampled beside it.
    let said = limited("-n 200", &["--seconds", "0.1", "-p", &own]);
    let inherited = limited("-Sn 200", &["--", "sh", "-c", "ulimit -Sn"]);
    drop(end);
    let said = said.out + &said.err;
    contains(&said, &["more threads than files may be open"]);
    assert_eq!(inherited.ok().out, "200\n");
    for thread in threads {
        thread.join().unwrap();
    }
    let document = valid(&done.out);
    // There may be other troubles: another test's child that ended, unreadable code of the kernel.
    let refused = format!("process {own} is not traced");
    let troubles = document.list("/trace/troubles");
    let mut troubles = troubles.iter().filter_map(|trouble| trouble.as_str());
    assert!(
        !troubles.any(|it| it.starts_with(&refused)),
        "{document:#?}"
    );
}

/// The same class is found without privileges, and the kernel's part is said to be invisible.
#[test]
fn another_user_sees_the_same_class_and_not_the_kernel() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let Some(nobody) = Nobody::new() else { return };
    let tool = |line: &[&str]| nobody.tool(&place, line);
    let mut own = tool(&["trace", "--json", "--", "sh", "-c", ENCRYPT]);
    let own = own.stdout(Stdio::null()).done();
    let mut text = tool(&["trace", "--", "sh", "-c", ENCRYPT]);
    let text = text.stdout(Stdio::null()).done();
    // Root's process is another user's.
    let refused = tool(&["trace", "-p", &std::process::id().to_string()]).done();
    let counting = tool(&["trace", "--count", "--", "true"]).done();
    // Of all processes, this user sees its own.
    let mut speed = nobody.program(&place, "openssl");
    let speed = at_work(speed.args([
        "speed",
        "-seconds",
        "600",
        "-bytes",
        "16384",
        "-evp",
        "aes-128-ctr",
    ]));
    let all = while_it_runs(&speed, 0.4, || {
        tool(&["trace", "--json", "--all", "--seconds", "0.4"]).done()
    });
    assert_eq!(counting.status, Some(1));
    contains(&counting.err, &["cannot count calls: this needs root"]);
    let words = text
        .ok()
        .err
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    contains(
        &words,
        &["The kernel's part is not visible to this user: it needs root or CAP_PERFMON."],
    );
    assert!(!words.contains("samples are in the kernel"), "{words}");
    let document = valid(&own.ok().err);
    assert_eq!(document.at("/trace/kernel_samples"), &Value::Null);
    let works = aes_works(&document);
    let expected = match cfg!(target_arch = "aarch64") {
        true => "arm-ce",
        false => "aes-ni",
    };
    assert_eq!(works, [expected], "{document:#?}");
    contains(
        &refused.failed(1),
        &["belongs to another user", "CAP_PERFMON"],
    );
    let document = valid(&all.ok().out);
    // Other tests may have processes of this user, too.
    let processes = document.list("/trace/processes");
    let ours = processes.iter().find(|it| it["pid"] == speed.0.id());
    let works = ours.map(aes_works_of).unwrap_or_default();
    assert_eq!(works, [expected], "{document:#?}");
    contains(
        &document.text("/trace/troubles/0"),
        &["Only your own processes", "CAP_PERFMON"],
    );
}

/// Where perf_event_open is refused, nobody can tell what runs: the error has the cure, and a
/// command is not started.
#[test]
fn a_kernel_that_refuses_to_sample_is_an_error_with_its_cure() {
    let place = Place::new();
    let file = place.path("started");
    let mut tool = place.tool(["trace", "--", "touch"]);
    let said = without_perf(tool.arg(&file)).done().failed(1);
    let cure = [
        "refuses perf_event_open",
        "cannot tell what runs",
        "kernel.perf_event_paranoid",
    ];
    contains(&said, &cure);
    assert!(!file.exists());
    let work = openssl(&place, "aes-128-ctr", None, &[]);
    let pid = work.0.id().to_string();
    let line = ["trace", "--seconds", "0.1", "-p", &pid];
    contains(&without_perf(&mut place.tool(line)).done().failed(1), &cure);
    let said = without_perf(&mut place.tool(["trace", "--seconds", "0.1", "--all"])).done();
    contains(
        &said.failed(1),
        &["does not let this user sample all processes"],
    );
}

/// Lets perf_event_open fail in this command, as the filters of many containers do.
pub fn without_perf(command: &mut Command) -> &mut Command {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    let instruction = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let filter = [
        instruction(LOAD_NUMBER, 0, 0),
        instruction(JUMP_IF_EQUAL, 1, libc::SYS_perf_event_open as u32),
        instruction(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let refuse = move || {
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_ptr().cast_mut(),
        };
        // SAFETY: the program is valid, and the kernel only reads it.
        let result = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
                | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
        };
        match result {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure only calls prctl(), which is async-signal-safe.
    unsafe { command.pre_exec(refuse) }
}
