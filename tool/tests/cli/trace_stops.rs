// SPDX-License-Identifier: BSD-2-Clause
//! `trace` by ptrace(2), where perf_event_open(2) is refused. What is traced must behave as if it
//! were not.

use crate::json::valid;
use crate::support::{contains, until, Finish, Guarded, Place};
use crate::trace::{aes_works, openssl, while_it_runs};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A program of tests/trace.
fn compiled(place: &Place, name: &str) -> PathBuf {
    let program = place.path(name);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace");
    let source = Path::new(source).join(name).with_extension("c");
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(cc);
    cc.args(["-O1", "-pthread", "-o"]).args([&program, &source]);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    program
}

/// The program signals.c.
fn signals(place: &Place) -> PathBuf {
    compiled(place, "signals")
}

/// The program at work in its own time.
fn working(place: &Place) -> Guarded {
    let mut program = place.program(signals(place));
    let mut child = Guarded(
        program
            .arg("600000")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut ready = [0; 6];
    child
        .0
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut ready)
        .unwrap();
    child
}

/// `trace -p` of a process.
fn tracing(place: &Place, child: &Guarded, seconds: &str) -> Guarded {
    let pid = child.0.id().to_string();
    let mut tool = place.tool(["trace", "--seconds", seconds, "-p", &pid]);
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::null());
    Guarded(without_perf(tool).spawn().unwrap())
}

#[test]
fn signals_arrive_once_and_a_stopped_process_stays_stopped() {
    let place = Place::new();
    let mut child = working(&place);
    let mut tool = tracing(&place, &child, "600");
    until("tracer", || child.status("TracerPid") != "0");
    let mut sent = 0;
    let mut stops = 0;
    while tool.0.try_wait().unwrap().is_none() {
        for _ in 0..20 {
            child.signal(libc::SIGRTMIN());
            sent += 1;
            std::thread::sleep(Duration::from_micros(500));
        }
        child.signal(libc::SIGSTOP);
        until("stop", || child.status("State").starts_with('T'));
        // Signals wait.
        child.signal(libc::SIGRTMIN());
        sent += 1;
        std::thread::sleep(Duration::from_millis(25));
        // "t (tracing stop)" while the tracer looks at the signal.
        assert!(child.status("State").starts_with(['T', 't']));
        child.signal(libc::SIGCONT);
        until("end of the stop", || child.status("State").starts_with('R'));
        stops += 1;
        // It detaches while signals come.
        if stops == 60 {
            tool.signal(libc::SIGINT);
        }
        assert!(stops < 600, "it goes on after SIGINT");
    }
    assert!(stops >= 60, "{stops}");
    let mut report = String::new();
    tool.0
        .stdout
        .as_mut()
        .unwrap()
        .read_to_string(&mut report)
        .unwrap();
    let samples: u64 = report
        .lines()
        .find_map(|line| line.split_once(" samples in "))
        .map_or(0, |(count, _)| count.trim().parse().unwrap());
    assert!(samples > 5, "{report}");
    child.signal(libc::SIGTERM);
    let mut counted = String::new();
    child
        .0
        .stdout
        .as_mut()
        .unwrap()
        .read_to_string(&mut counted)
        .unwrap();
    assert_eq!(counted.trim().parse(), Ok(sent));
    assert_eq!(child.0.wait().unwrap().code(), Some(7));
}

#[test]
fn a_killed_tracer_leaves_the_process_running() {
    let place = Place::new();
    let child = working(&place);
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGKILL] {
        let mut tool = tracing(&place, &child, "600");
        until("tracer", || child.status("TracerPid") != "0");
        std::thread::sleep(Duration::from_millis(200));
        tool.signal(signal);
        tool.ends();
        until("end of the trace", || child.status("TracerPid") == "0");
        until("work", || child.status("State").starts_with(['R', 'S']));
    }
}

/// A process that shares a busy processor at the lowest priority stops long after it was told to.
/// This is not the end of the command, and afterwards it goes on.
#[test]
fn a_command_that_stops_late() {
    let place = Place::new();
    let program = signals(&place);
    let _busy = busy(&place);
    for seconds in ["0.7", "60"] {
        let mut tool = place.tool(["trace", "--seconds", seconds, "--"]);
        tool.args(["taskset", "-c", "0", "nice", "-n", "19"]);
        tool.arg(&program).arg("40");
        let done = without_perf(&mut tool).done();
        assert_eq!(
            (done.status, done.out.as_str()),
            (Some(7), "ready\n0\n"),
            "{done:?}"
        );
    }
}

/// A process that is killed while a tracer waits for its stop. Its parent is told.
#[test]
fn the_end_of_a_process_reaches_its_parent() {
    let place = Place::new();
    let _busy = busy(&place);
    let mut program = place.program("taskset");
    program
        .args(["-c", "0", "nice", "-n", "19"])
        .arg(signals(&place));
    let mut child = Guarded(program.arg("600000").stdout(Stdio::null()).spawn().unwrap());
    let _tool = tracing(&place, &child, "600");
    until("tracer", || child.status("TracerPid") != "0");
    child.signal(libc::SIGKILL);
    child.ends();
}

/// A thread that is not the first gets another ID in execve(2), when it may be attached.
#[test]
fn a_thread_that_executes_another_program_goes_on() {
    let place = Place::new();
    let program = compiled(&place, "executes");
    let mut tool = place.tool(["trace", "--"]);
    let tool = tool.arg(program).arg("12").stderr(Stdio::null());
    let mut tool = Guarded(without_perf(tool).spawn().unwrap());
    let status = tool.ends();
    assert_eq!(status.code(), Some(7));
}

/// Keeps the first processor busy.
fn busy(place: &Place) -> Guarded {
    let mut busy = place.program("taskset");
    busy.args(["-c", "0", "sh", "-c", "while :; do :; done"]);
    Guarded(busy.spawn().unwrap())
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

#[test]
fn ptrace_takes_the_samples_where_perf_event_open_is_refused() {
    let place = Place::new();
    // Not through a pipe: on a crowded machine nearly every stop of its reader is in read(2).
    let speed = "openssl speed -seconds 2 -bytes 16384 -evp aes-128-ctr >/dev/null 2>&1";
    let script = format!("{speed}; echo output; exit 7");
    let mut tool = place.tool(["trace", "--", "sh", "-c", &script]);
    let done = without_perf(&mut tool).done();
    assert_eq!(done.status, Some(7), "{done:?}");
    assert_eq!(done.out, "output\n");
    let first = done.err.lines().next().unwrap();
    contains(first, &["openssl (", "AES", "libcrypto.so"]);
    contains(&done.err, &["ptrace takes the samples"]);
    // A program that runs, and goes on afterwards.
    let work = openssl(&place, "aes-128-ctr", None, &[]);
    let pid = work.0.id().to_string();
    let line = ["trace", "--json", "--seconds", "1.5", "-p", &pid];
    let look = || without_perf(&mut place.tool(line)).done().ok().out;
    let document = valid(&while_it_runs(&work, 1.5, look));
    assert!(!aes_works(&document).is_empty(), "{document:?}");
    assert_eq!(document.text("/trace/processes/0/name"), "openssl");
    let samples = document.at("/trace/samples");
    assert!(
        samples.as_u64().is_some_and(|count| count <= 160),
        "{samples}"
    );
    assert_eq!(work.status("TracerPid"), "0");
    until("work", || work.status("State").starts_with('R'));
    // Nobody asked to stop all processes.
    let said = without_perf(&mut place.tool(["trace", "--seconds", "0.1", "--all"])).done();
    contains(
        &said.failed(1),
        &["does not let this user sample all processes"],
    );
}
