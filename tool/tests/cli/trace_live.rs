// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live` on a terminal of its own, and its tables and JSON, with programs whose AES code
//! is known.

use crate::json::valid;
use crate::pseudo_terminal::{text_of, PseudoTerminal};
use crate::support::{contains, skip, Finish, Guarded, Nobody, Place};
use crate::trace::{can_sample, while_it_runs, work, working};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Updates that come fast.
const FAST: [&str; 2] = ["--interval", "0.4"];

/// The class of a backend's CTR; None for those whose class is not certain.
fn class(backend: &str) -> Option<&'static str> {
    Some(match backend {
        "vaes512" => "VAES 512",
        "vaes256" => "VAES 256",
        "aesni" => "AES-NI 128",
        "armce" | "armce-eor3" => "Arm CE",
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
fn the_row_shows_the_class_fits_the_terminal_and_goes_with_the_work() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let (child, backend) = working(&place, &program, "ctr", "");
    let Some(class) = class(&backend) else { return };
    let mut terminal = watch_one(&place, &child, &[]);
    terminal.shows(&[
        "AES",
        " of the machine",
        "nginx",
        class,
        "LIBRARY",
        "tenrounds 0.",
        "q quit",
    ]);
    // The program does nothing else. The first samples may be few, and one of them in the kernel.
    let begin = ["nginx", &format!("({})", child.0.id())];
    terminal.wait("row with the share", |screen| {
        let text = text_of(screen);
        let row = text.lines().find(|line| line.contains("nginx"));
        let fields: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
        let share = fields.get(2).and_then(|share| share.parse::<f64>().ok());
        fields.starts_with(&begin) && share.is_some_and(|share| share > 80.0 && share <= 100.0)
    });

    terminal.resize(10, 40);
    let narrow = terminal.wait("narrow table", |screen| {
        let text = text_of(screen);
        text.contains("nginx (") && text.contains("PROCESS") && !text.contains("LIBRARY")
    });
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 40),
        "{narrow}"
    );
    for (rows, columns) in [(5, 40), (2, 20), (1, 1), (3, 300)] {
        terminal.resize(rows, columns);
        let expected = &"AES"[..usize::from(columns).min(3)];
        terminal.wait("AES", |screen| text_of(screen).starts_with(expected));
    }
    terminal.resize(24, 160);
    terminal.shows(&["nginx", class, "LIBRARY"]);

    drop(child);
    terminal.wait("end of the row", |screen| {
        let text = text_of(screen);
        text.contains("What was watched has ended.") && !text.contains("nginx")
    });
    terminal.press("q");
    assert_eq!(terminal.ends_restored().code(), Some(0));
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
    terminal.press("q");
    assert_eq!(terminal.ends_restored().code(), Some(0));
}

#[test]
fn keys_lead_to_details_and_pause() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let program = work(&place);
    let (child, backend) = working(&place, &program, "ctr", "");
    let Some(class) = class(&backend) else { return };
    let mut terminal = watch_one(&place, &child, &[]);
    terminal.shows(&["nginx", class, "Enter details"]);
    terminal.press("\r");
    terminal.shows(&["nginx (", class, "decided by the code from", "Esc back"]);
    terminal.press("\x1b");
    terminal.shows(&["PROCESS"]);
    terminal.press(" ");
    terminal.shows(&["PAUSED"]);
    // While it is paused, an ended process stays.
    drop(child);
    std::thread::sleep(Duration::from_millis(1500));
    terminal.drain();
    terminal.press("j");
    terminal.writes();
    terminal.shows(&["PAUSED", "nginx"]);
    terminal.press(" ");
    terminal.shows(&["What was watched has ended."]);
    terminal.press("q");
    assert_eq!(terminal.ends_restored().code(), Some(0));
}

#[test]
fn the_terminal_is_restored_however_it_ends() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let own = std::process::id().to_string();
    let started = |options: &[&str]| {
        let mut terminal = live(&place, &[&["-p", &own], options].concat(), 24, 80);
        terminal.wait("drawing", vt100::Screen::alternate_screen);
        assert!(terminal.is_raw());
        terminal
    };
    let mut terminal = started(&[]);
    terminal.press("\x03");
    assert_eq!(terminal.ends_restored().code(), Some(0), "Ctrl-C");
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut terminal = started(&[]);
        terminal.child.signal(signal);
        assert_eq!(terminal.ends_restored().code(), Some(0), "signal {signal}");
    }
    // Half a sequence does not keep it from hearing signals.
    let mut terminal = started(&[]);
    terminal.press("\x1b[");
    std::thread::sleep(Duration::from_millis(100));
    terminal.child.signal(libc::SIGTERM);
    assert_eq!(terminal.ends_restored().code(), Some(0), "SIGTERM");
    // These may end before anybody looks.
    let short = |options: &[&str]| live(&place, &[&["-p", &own], options].concat(), 24, 80);
    let mut terminal = short(&["-n", "2"]);
    assert_eq!(terminal.ends_restored().code(), Some(0), "-n");
    let mut tool = place.faulty_tool(["trace", "--live", "-p", &own]);
    tool.args(FAST).env("TENROUNDS_PANIC_AT", "2");
    let mut terminal = PseudoTerminal::start(&mut tool, 24, 80);
    assert_eq!(terminal.ends_restored().code(), Some(101), "panic");
    // The message is on the screen that stays.
    contains(
        &terminal.text(),
        &["panicked", "as TENROUNDS_PANIC_AT asks"],
    );
}

/// The terminal is closed, as by a broken connection.
#[test]
fn it_ends_with_its_terminal() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let own = std::process::id().to_string();
    let mut terminal = live(&place, &["-p", &own], 24, 80);
    terminal.wait("drawing", vt100::Screen::alternate_screen);
    let mut child = terminal.hang_up();
    child.ends();
}

/// Colours of a screen.
#[cfg(target_arch = "x86_64")]
fn coloured(screen: &vt100::Screen) -> Vec<(u16, u16)> {
    let (rows, columns) = screen.size();
    let all = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
    all.filter(|(row, column)| {
        let cell = screen.cell(*row, *column).unwrap();
        cell.fgcolor() != vt100::Color::Default || cell.bgcolor() != vt100::Color::Default
    })
    .collect()
}

/// The cell in which a text begins.
#[cfg(target_arch = "x86_64")]
fn cell(screen: &vt100::Screen, text: &str) -> Option<vt100::Cell> {
    let (_, columns) = screen.size();
    let mut rows = screen.rows(0, columns).enumerate();
    rows.find_map(|(row, line)| {
        let column = line.find(text)?;
        screen
            .cell(u16::try_from(row).ok()?, u16::try_from(column).ok()?)
            .cloned()
    })
}

#[cfg(target_arch = "x86_64")]
#[test]
fn tables_stand_out_in_colour_and_without() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    const TABLES: &str = "tables (cache-timing!)";
    let child = crate::trace::openssl(&place, "aes-128-cbc", Some("0:0"), &[]);
    let pid = child.0.id().to_string();
    let terminal = |variable: (&str, &str), options: &[&str]| {
        let mut tool = place.tool(["trace", "--live", "-p", &pid]);
        let tool = tool.args(FAST).args(options).env(variable.0, variable.1);
        PseudoTerminal::start(tool, 24, 100)
    };
    let none = ("UNUSED", "");
    let no_color = ("NO_COLOR", "1");
    for (variable, options, has_colour) in [
        (none, &[][..], true),
        (no_color, &["--color", "always"], true),
        (no_color, &[], false),
        (none, &["--color", "never"], false),
    ] {
        let mut terminal = terminal(variable, options);
        terminal.shows(&["openssl", TABLES, "OpenSSL 3."]);
        let cell = cell(terminal.screen(), TABLES).unwrap();
        assert!(cell.bold(), "{options:?}");
        match has_colour {
            true => assert_eq!(cell.fgcolor(), vt100::Color::Idx(1), "{options:?}"),
            false => {
                assert!(cell.underline());
                assert_eq!(coloured(terminal.screen()), [], "{variable:?} {options:?}");
            }
        }
        terminal.press("q");
        terminal.ends_restored();
        if !has_colour {
            let written = String::from_utf8_lossy(&terminal.written).into_owned();
            let sets_colour = |sequence: &str| {
                let codes = sequence.split('m').next().unwrap_or_default();
                let mut codes = codes.split(';').filter_map(|code| code.parse::<u32>().ok());
                codes.any(|code| matches!(code, 30..=38 | 40..=48 | 90..=107))
            };
            let mut sequences = written.split("\x1b[").skip(1);
            assert_eq!(
                sequences.find(|it| sets_colour(it)),
                None,
                "{variable:?} {options:?}"
            );
        }
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
    for line in done.out.lines() {
        let document = valid(line);
        assert_eq!(document.text("/command"), "trace");
        assert_eq!(document.at("/live/trace/processes/0/name"), "nginx");
        let share = document.at("/live/machine_share").as_f64().unwrap();
        let processors = document.at("/live/processors").as_f64().unwrap();
        // The program has one thread.
        assert!(share > 0.0 && share <= 1.1 / processors, "{document:#?}");
        let seconds = document.at("/live/trace/seconds").as_f64().unwrap();
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

/// After a stop, another program may have used the terminal: the screen is taken again.
#[test]
fn the_screen_is_taken_again_after_a_stop() {
    let place = Place::new();
    if !can_sample(&place) {
        return;
    }
    let idle = Guarded(place.program("sleep").arg("600").spawn().unwrap());
    let mut terminal = watch_one(&place, &idle, &[]);
    terminal.shows(&[" of the machine", "q quit"]);
    terminal.stop_for("shell");
    terminal.wait("screen", |screen| {
        let text = text_of(screen);
        screen.alternate_screen() && text.contains("q quit") && !text.contains("shell")
    });
    assert!(terminal.is_raw());
    terminal.press("q");
    assert_eq!(terminal.ends_restored().code(), Some(0));
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
    terminal.press("q");
    assert_eq!(terminal.ends_restored().code(), Some(0));
    drop(own);
}
