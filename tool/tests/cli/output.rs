// SPDX-License-Identifier: BSD-2-Clause
//! What every command does if it cannot write. On standard output that is an error, and on standard
//! error it changes nothing. If the reader has closed the pipe, the command ends silently.

use crate::enable_support::Commands;
use crate::support::{contains, unread, Done, Finish};
use std::fs::OpenOptions;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

/// The command lines that write to standard output. For every command, including the hidden ones:
/// its help, its normal output, and its JSON if it has any. Add each new command here.
/// bench --paths has tests of its own, which scripts/arm leaves out.
fn lines() -> Vec<Vec<String>> {
    let mut lines = all_lines();
    lines.retain(|line| !of_paths(line));
    lines
}

fn lines_of_paths() -> Vec<Vec<String>> {
    let mut lines = all_lines();
    lines.retain(|line| of_paths(line));
    assert_eq!(lines.len(), 2);
    lines
}

fn of_paths(line: &[String]) -> bool {
    line.contains(&"--paths".to_owned())
}

fn all_lines() -> Vec<Vec<String>> {
    let root = tenrounds::commands();
    let mut lines = vec![vec!["--help".to_owned()], vec!["--version".to_owned()]];
    for command in root.get_subcommands() {
        let name = command.get_name();
        for below in command.get_subcommands() {
            let words = [name, below.get_name(), "--help"];
            lines.push(words.map(str::to_owned).to_vec());
        }
        if !command.is_disable_help_flag_set() {
            lines.push(vec![name.to_owned(), "--help".to_owned()]);
        }
        let quick = ["aes-128-ctr", "--bytes", "16", "--seconds", "0.01"];
        let arguments: &[&str] = match name {
            "doctor" | "enable" | "disable" | "status" | "probe" => &[],
            "run" => &["--print-env"],
            "bench" => &quick,
            "selftest" => &["--up-to", "32"],
            "scan" => &[crate::support::TOOL],
            "completions" => &["bash"],
            "worker" => &["limit"],
            // They write only files, or need one that is prepared.
            "generate" => continue,
            // Their own tests do: it needs a kernel that samples, and a report takes seconds.
            "trace" | "report" => continue,
            new => panic!("say here how 'tenrounds {new}' writes to standard output"),
        };
        let words = std::iter::once(name).chain(arguments.iter().copied());
        let line: Vec<String> = words.map(str::to_owned).collect();
        let has_json = command.get_arguments().any(|a| a.get_id() == "json");
        if has_json && name != "run" {
            let mut json = line.clone();
            json.push("--json".into());
            lines.push(json);
        }
        if name == "bench" {
            for more in [
                &["--paths"][..],
                &["--paths", "--json"],
                &["--openssl"],
                &["--verbose"],
            ] {
                let more = more.iter().map(|word| word.to_string());
                lines.push(line.iter().cloned().chain(more).collect());
            }
        }
        lines.push(line);
    }
    lines
}

fn full() -> Stdio {
    let file = OpenOptions::new().write(true).open("/dev/full");
    file.expect("/dev/full").into()
}

#[test]
fn a_full_standard_output_is_an_error() {
    fails_if_standard_output_is_full(&lines());
}

#[test]
fn a_full_standard_output_is_an_error_of_paths() {
    fails_if_standard_output_is_full(&lines_of_paths());
}

fn fails_if_standard_output_is_full(lines: &[Vec<String>]) {
    let test = Commands::new();
    for line in lines {
        let done = Done::from(test.tool(line).stdout(full()).output().unwrap());
        let expected = if line[0] == "doctor" { 3 } else { 1 };
        assert_eq!(done.status, Some(expected), "{line:?}: {done:?}");
        let said = done.err.lines().last().unwrap_or_default();
        contains(
            said,
            &["tenrounds: cannot write to standard output: No space left"],
        );
        assert!(!done.err.contains("panicked"), "{line:?}: {done:?}");
    }
}

fn is_the_same_if_standard_error_is_full(test: &Commands, lines: &[Vec<String>]) {
    for line in lines {
        let usual = test.tool(line).done().status;
        let done = Done::from(test.tool(line).stderr(full()).output().unwrap());
        assert_eq!(done.status, usual, "{line:?}: {done:?}");
        assert!(!done.out.is_empty(), "{line:?}");
    }
}

#[test]
fn a_full_standard_error_changes_nothing_of_paths() {
    is_the_same_if_standard_error_is_full(&Commands::new(), &lines_of_paths());
}

#[test]
fn a_full_standard_error_changes_nothing() {
    let test = Commands::new();
    is_the_same_if_standard_error_is_full(&test, &lines());
    for status in [0, 7] {
        let exit = format!("exit {status}");
        let place = &test.enables.place;
        let mut run = place.tool(["run", "--count", "--mask", "noaes", "--", "sh", "-c", &exit]);
        assert_eq!(
            run.stderr(full()).output().unwrap().status.code(),
            Some(status)
        );
    }
    let wrong = test.tool(&["detcet".to_owned()]).stderr(full()).output();
    assert_eq!(wrong.unwrap().status.code(), Some(2));
}

/// SIGPIPE ends the command. If the caller ignores SIGPIPE, the command ends by itself.
#[test]
fn a_pipe_that_nobody_reads_ends_it_quietly() {
    ends_quietly_if_nobody_reads(&lines());
}

#[test]
fn a_pipe_that_nobody_reads_ends_paths_quietly() {
    ends_quietly_if_nobody_reads(&lines_of_paths());
}

fn ends_quietly_if_nobody_reads(lines: &[Vec<String>]) {
    let test = Commands::new();
    for line in lines {
        for ignored in [false, true] {
            let mut command = test.tool(line);
            if ignored {
                let ignore = || {
                    // SAFETY: SIG_IGN installs no handler.
                    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
                    Ok(())
                };
                // SAFETY: the closure only calls signal(), which is async-signal-safe.
                unsafe { command.pre_exec(ignore) };
            }
            let output = command.stdout(unread()).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            let said = said.lines().filter(|line| !line.starts_with("This takes"));
            assert_eq!(said.count(), 0, "{line:?}");
            match ignored {
                false => assert_eq!(output.status.signal(), Some(libc::SIGPIPE), "{line:?}"),
                true => assert!(matches!(output.status.code(), Some(1 | 3)), "{line:?}"),
            }
        }
    }
}
