// SPDX-License-Identifier: BSD-2-Clause
//! `run` and signals: the command gets them, dies of them, and inherits how they are treated.

use crate::support::{contains, unread, Finish, Guarded, Place, TOOL};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

const PLAIN: [&str; 2] = ["run", "--"];
const COUNTED: [&str; 3] = ["run", "--count", "--"];

#[test]
fn death_by_a_signal_is_passed_on() {
    let place = Place::new();
    for signal in [6, 9, 13, 15] {
        let kill = format!("kill -{signal} $$");
        for options in [&PLAIN[..], &COUNTED] {
            let status = place
                .tool(options)
                .args(["sh", "-c", &kill])
                .output()
                .unwrap()
                .status;
            assert_eq!(status.signal(), Some(signal), "{options:?}");
        }
    }
}

#[test]
fn a_signal_sent_to_the_tool_reaches_the_command_and_the_counts_still_come() {
    let place = Place::new();
    // Ends by itself after 20 seconds: if this test fails, nothing else stops the shell.
    let script = "trap 'echo got it; exit 5' TERM; echo ready; i=0
        while [ $((i += 1)) -lt 400 ]; do sleep 0.05; done; exit 6";
    for options in [&PLAIN[..], &COUNTED] {
        let mut tool = place.tool(options);
        tool.args(["sh", "-c", script])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = Guarded(tool.spawn().unwrap());
        let mut out = BufReader::new(child.0.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        child.signal(libc::SIGTERM);
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "got it\n");
        let mut err = String::new();
        let stderr = child.0.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut err).unwrap();
        assert_eq!(child.0.wait().unwrap().code(), Some(5));
        if options.contains(&"--count") {
            contains(&err, &["executed nothing"]);
        }
    }
}

/// The signal lines of /proc/self/status of a command that a shell starts, with and without the
/// tool.
fn dispositions(place: &Place, setup: &str, start: &str) -> String {
    let script = format!("{setup} exec {start} grep ^Sig /proc/self/status");
    let out = place.program("sh").args(["-c", &script]).done().ok().out;
    let kept = out.lines().filter(|l| {
        ["SigBlk", "SigIgn", "SigCgt"]
            .iter()
            .any(|n| l.starts_with(n))
    });
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn ignored_signals_stay_ignored_and_others_do_not_become_so() {
    let place = Place::new();
    for setup in ["", "trap '' PIPE;", "trap '' HUP INT TERM;"] {
        let direct = dispositions(&place, setup, "");
        for options in ["run --", "run --count --output /dev/null --"] {
            let through = dispositions(&place, setup, &format!("{TOOL} {options}"));
            assert_eq!(through, direct, "{setup} {options}");
        }
    }
}

#[test]
fn a_closed_pipe_ends_the_tool_quietly() {
    let place = Place::new();
    let script = format!("{TOOL} completions zsh; echo $? >&2");
    let mut shell = place.program("sh");
    let done = shell.args(["-c", &script]).stdout(unread()).done();
    assert_eq!(done.err, "141\n", "128 + SIGPIPE, and not a word");
}
