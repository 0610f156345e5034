// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live` on a terminal and for scripts, with programs whose AES code is known.

use crate::json::valid;
use crate::pseudo_terminal::{text_of, PseudoTerminal};
use crate::support::{contains, skip, Finish, Guarded, Nobody, Place};
use crate::trace::{can_sample, while_it_runs, work, working};
use std::process::Stdio;
use std::time::Instant;

/// Updates that come fast.
const FAST: [&str; 2] = ["--interval", "0.4"];

/// The class of a backend's CTR; None for those whose class is not certain.
fn class(backend: &str) -> Option<&'static str> {
    Some(match backend {
        "vaes512" => "VAES 512",
        "vaes256" => "VAES 256",
        "aesni" => "AES-NI 128",
        "armce" => "Arm CE",
        other => {
            skip(&format!("this processor's strongest backend is {other}"));
            return None;
        }
    })
}

/// `trace --live` on a terminal.
fn live(place: &Place, options: &[&str], rows: u16, columns: u16) -> PseudoTerminal {
    let mut tool = place.tool(["trace", "--live"]);
    PseudoTerminal::start(tool.args(FAST).args(options), rows, columns)
}

/// The same of one process.
fn watch_one(place: &Place, child: &Guarded, options: &[&str]) -> PseudoTerminal {
    let pid = child.0.id().to_string();
    live(place, &[&["-p", &pid], options].concat(), 24, 100)
}

#[test]
fn each_table_takes_the_place_of_the_one_before() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let (child, backend) = working(&place, &program, "ctr", "");
    let Some(class) = class(&backend) else { return };
    let mut terminal = watch_one(&place, &child, &[]);
    terminal.shows(&["AES", " of the machine", "nginx", class, "File", "/work"]);
    // The program does nothing else. The first samples may be few, and one of them in the kernel.
    let begin = ["nginx", &format!("({})", child.0.id())];
    terminal.wait("row with the share", |screen| {
        let text = text_of(screen);
        let row = text.lines().find(|line| line.contains("nginx"));
        let fields: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
        let share = fields.get(2).and_then(|share| share.parse::<f64>().ok());
        fields.starts_with(&begin) && share.is_some_and(|share| share > 80.0 && share <= 100.0)
    });
    assert_eq!(terminal.text().matches(" of the machine").count(), 1);
    // A smaller terminal has the beginning of the table.
    for (rows, columns) in [(10, 40), (3, 100), (24, 160)] {
        terminal.resize(rows, columns);
        terminal.wait("headline", |screen| text_of(screen).starts_with("AES "));
    }
    terminal.shows(&["nginx", class, "File"]);
    // It ends with the program, and the last table stays.
    drop(child);
    assert_eq!(terminal.ends().code(), Some(0));
    terminal.shows(&["nginx", class, "File"]);
}

/// A shell that runs one program after another: the first is killed by the PID in its row.
#[test]
fn the_row_changes_with_the_code() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let (_, backend) = working(&place, &program, "ctr", "");
    let Some(first) = class(&backend) else { return };
    let (_, backend) = working(&place, &program, "ctr", "novaes");
    let Some(second) = class(&backend) else {
        return;
    };
    let script = "\"$0\" ctr '' first; exec \"$0\" ctr novaes second";
    let mut shell = place.program("sh");
    let shell = shell.args(["-c", script]).arg(&program);
    let shell = Guarded(shell.stdout(Stdio::null()).spawn().unwrap());
    let mut terminal = watch_one(&place, &shell, &[]);
    terminal.shows(&["first (", first]);
    let row = terminal.line("first (").unwrap();
    let pid = row.split(['(', ')']).nth(1).unwrap();
    let pid = pid.parse().unwrap();
    // SAFETY: kill() takes any numbers.
    let killed = unsafe { libc::kill(pid, libc::SIGKILL) };
    assert_eq!(killed, 0);
    terminal.wait("second row alone", |screen| {
        let text = text_of(screen);
        let row = text.lines().find(|line| line.contains("second ("));
        !text.contains("first (") && row.is_some_and(|row| row.contains(second))
    });
    terminal.press("\x03");
    assert_eq!(terminal.ends().code(), Some(0));
}

#[test]
fn it_ends_by_signals_and_with_its_terminal() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let own = std::process::id().to_string();
    let started = || {
        let mut terminal = live(&place, &["-p", &own], 24, 80);
        terminal.shows(&[" of the machine"]);
        terminal
    };
    let mut terminal = started();
    terminal.press("\x03");
    assert_eq!(terminal.ends().code(), Some(0), "Ctrl-C");
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut terminal = started();
        terminal.child.signal(signal);
        assert_eq!(terminal.ends().code(), Some(0), "signal {signal}");
    }
    let mut terminal = live(&place, &["-p", &own, "-n", "2"], 24, 80);
    assert_eq!(terminal.ends().code(), Some(0), "-n");
    // As by a broken connection.
    started().hang_up().ends();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn tables_have_a_colour_unless_it_is_switched_off() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    const TABLES: &str = "tables (cache-timing!)";
    let child = crate::trace::openssl(&place, "aes-128-cbc", Some("0:0"), &[]);
    let pid = child.0.id().to_string();
    for (variable, has_colour) in [(("UNUSED", ""), true), (("NO_COLOR", "1"), false)] {
        let mut tool = place.tool(["trace", "--live", "-p", &pid]);
        let tool = tool.args(FAST).env(variable.0, variable.1);
        let mut terminal = PseudoTerminal::start(tool, 24, 100);
        terminal.shows(&["openssl", TABLES, "libcrypto.so.3"]);
        // Two tables: the second takes the place of the first.
        terminal.writes();
        terminal.shows(&[" of the machine"]);
        assert_eq!(terminal.text().matches(" of the machine").count(), 1);
        terminal.press("\x03");
        terminal.ends();
        let written = String::from_utf8_lossy(&terminal.written).into_owned();
        let yellow = format!("\x1b[33m{TABLES}");
        assert_eq!(written.contains(&yellow), has_colour, "{variable:?}");
        assert_eq!(written.contains("\x1b[1m"), has_colour);
    }
}

#[test]
fn tables_and_json_for_scripts() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let (child, backend) = working(&place, &program, "ctr", "");
    let Some(class) = class(&backend) else { return };
    let pid = child.0.id().to_string();
    let two = ["--interval", "0.3", "-n", "2", "-p", &pid];
    let begun = Instant::now();
    let done = while_it_runs(&child, 0.6, || {
        place
            .tool(["trace", "--live", "--json"])
            .args(two)
            .done()
            .ok()
    });
    let elapsed = begun.elapsed().as_secs_f64();
    assert_eq!(done.out.lines().count(), 2);
    // SAFETY: it has no preconditions.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) } as f64;
    for line in done.out.lines() {
        let document = valid(line);
        assert_eq!(document.text("/command"), "trace");
        assert_eq!(document.at("/trace/processes/0/name"), "nginx");
        let share = document.at("/trace/machine_share").as_f64().unwrap();
        // The program has one thread.
        assert!(share > 0.0 && share <= 1.1 / processors, "{document:#?}");
        let seconds = document.at("/trace/seconds").as_f64().unwrap();
        assert!(
            seconds >= 0.3 && seconds < elapsed,
            "{seconds} of {elapsed}"
        );
    }
    let done = while_it_runs(&child, 0.6, || {
        place.tool(["trace", "--live"]).args(two).done().ok()
    });
    contains(&done.out, &["AES", "of the machine", "nginx", class, &pid]);
    assert_eq!(done.out.matches("Process").count(), 2, "{}", done.out);
}

#[test]
fn what_cannot_be_watched_is_said() {
    let place = Place::new();
    for wrong in [
        &["trace", "--live", "--all", "-p", "1"][..],
        &["trace", "--live", "-p", "0"],
        &["trace", "--live", "--interval", "0"],
        &["trace", "--live", "--", "true"],
        &["trace", "--live", "-n", "0"],
        &["trace", "--live", "--count"],
        &["trace", "--all", "--updates", "1"],
    ] {
        place.tool(wrong).done().failed(2);
    }
    if !can_sample(&place) {
        return;
    }
    let said = place
        .tool(["trace", "--live", "-p", "4194305"])
        .done()
        .failed(1);
    contains(
        &said,
        &["4194305", "there is no such process, or it has ended"],
    );
    let own = std::process::id().to_string();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut tool = place.tool([
        "trace",
        "--live",
        "-n",
        "1",
        "--interval",
        "0.1",
        "-p",
        &own,
    ]);
    let said = tool.stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let said = crate::support::Done::from(said.wait_with_output().unwrap());
    contains(&said.failed(1), &["cannot write to standard output"]);
}

/// Without privileges, the screen says what is missing.
#[test]
fn another_user_sees_own_processes_and_which_capability_shows_more() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let Some(nobody) = Nobody::new() else { return };
    let own = Guarded(nobody.program(&place, "sleep").arg("600").spawn().unwrap());
    let mut command = nobody.tool(&place, ["trace", "--live"]);
    let mut terminal = PseudoTerminal::start(command.args(FAST), 24, 100);
    terminal.shows(&["Only your own processes", "CAP_PERFMON", "CAP_SYS_PTRACE"]);
    terminal.press("\x03");
    assert_eq!(terminal.ends().code(), Some(0));
    drop(own);
}
