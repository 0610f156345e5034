// SPDX-License-Identifier: BSD-2-Clause
//! bench end to end, with windows too short to say anything about time: what is
//! written, in which form, and what happens when something is wrong. Needs the built provider in
//! TENROUNDS_MODULE.

#[path = "cli/support.rs"]
#[allow(dead_code)] // the rest of it is for the other tests
mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;
use support::{contains, Finish, Place};

/// The shortest that is accepted.
const SHORT: [&str; 2] = ["--seconds", "0.01"];

/// bench of some algorithms, short.
fn bench<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["bench"], args, &SHORT].concat()
}

/// The same, with everything that it can say.
fn verbose<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&bench(args)[..], &["--verbose"]].concat()
}

fn json(place: &Place, args: &[&str]) -> Value {
    let done = place.tool(args).arg("--json").done().ok();
    serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {}", done.out))
}

fn rows<'a>(document: &'a Value, field: &str, value: &str) -> Vec<&'a Value> {
    let rows = document["results"].as_array().unwrap().iter();
    rows.filter(|row| row[field] == value).collect()
}

fn texts<'a>(rows: &[&'a Value], field: &str) -> BTreeSet<&'a str> {
    rows.iter()
        .map(|row| row[field].as_str().unwrap())
        .collect()
}

fn processors() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

fn has_aes() -> bool {
    support::kernel_sees("aes")
}

#[test]
fn it_writes_every_row_with_its_pairs() {
    let place = Place::new();
    let args = bench(&[
        "aes-128-cbc",
        "AES-256-CTR",
        "--bytes",
        "16,1K",
        "--threads",
        "1",
    ]);
    let document = json(&place, &args);

    let cbc = rows(&document, "algorithm", "aes-128-cbc");
    assert_eq!(
        texts(&cbc, "direction"),
        BTreeSet::from(["decrypt", "encrypt"])
    );
    let ctr = rows(&document, "algorithm", "aes-256-ctr");
    assert_eq!(texts(&ctr, "direction"), BTreeSet::from(["encrypt"]));
    let mut expected = BTreeSet::from(["openssl", "software", "tenrounds"]);
    if has_aes() {
        expected.insert("limit");
    }
    assert_eq!(texts(&cbc, "implementation"), expected);
    assert_eq!(cbc.len(), 2 * 2 * expected.len());

    for row in rows(&document, "implementation", "tenrounds") {
        assert!(row["bytes_per_second"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["ratio_to"]["openssl"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["ratio_to"]["software"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["limit_fraction"].is_number(), has_aes(), "{row}");
        assert!(row["backend"].is_string(), "{row}");
    }
}

#[test]
fn it_has_other_ciphers_and_the_limits_themselves() {
    let place = Place::new();
    let args = ["aes-128-ecb", "rc4", "chacha20-poly1305", "--bytes", "64"];
    let document = json(&place, &bench(&args));
    let other = rows(&document, "algorithm", "chacha20-poly1305");
    assert_eq!(texts(&other, "implementation"), BTreeSet::from(["openssl"]));
    // RC4 is in the legacy provider, which may be missing; then a note says so.
    let rc4 = rows(&document, "algorithm", "rc4");
    let notes = document["bench"]["notes"].to_string();
    assert!(!rc4.is_empty() || notes.contains("RC4"), "{notes}");
    let limits = rows(&document, "algorithm", "aes-round");
    assert_eq!(!limits.is_empty(), has_aes());
    for limit in limits {
        let name = limit["backend"].as_str().unwrap();
        assert!(
            ["xmm", "ymm", "zmm", "neon", "chain"].contains(&name),
            "{name}"
        );
    }
}

/// Every mode of whole messages, both ways: what is compared before the first window is that all
/// seal alike and open each what they sealed.
#[test]
fn it_knows_whole_messages() {
    let place = Place::new();
    let modes = ["gcm", "ccm", "ocb", "xts", "siv", "gcm-siv", "cmac"];
    let sizes = ["--bytes", "16,1000", "--threads", "1"];
    let document = json(&place, &bench(&[&modes[..], &sizes].concat()));
    let notes = document["bench"]["notes"].to_string();
    for mode in modes {
        let name = format!("aes-256-{mode}");
        let found = rows(&document, "algorithm", &name);
        let directions: &[&str] = match mode {
            "cmac" => &["encrypt"],
            _ => &["decrypt", "encrypt"],
        };
        let expected: BTreeSet<&str> = directions.iter().copied().collect();
        assert_eq!(texts(&found, "direction"), expected, "{name}");
        let who = texts(&found, "implementation");
        // Who is not measured is named.
        for other in ["openssl", "tenrounds"] {
            let absent = format!("has no {}", name.to_uppercase());
            let noted = notes.contains(&absent);
            assert!(who.contains(other) || noted, "{name}, {other}: {notes}");
        }
    }
    // These the provider has; so does every OpenSSL 3.
    for name in ["aes-128-gcm", "aes-192-ccm", "aes-192-ocb", "aes-128-xts"] {
        let found = rows(&document, "algorithm", name);
        let who = texts(&found, "implementation");
        assert!(who.is_superset(&BTreeSet::from(["openssl", "software", "tenrounds"])));
    }
    for row in rows(&document, "algorithm", "aes-128-gcm") {
        assert_eq!(row["limit_fraction"].is_number(), has_aes(), "{row}");
    }
    if has_aes() {
        let siv = rows(&document, "algorithm", "aes-128-siv");
        let backends: Vec<&str> = siv.iter().filter_map(|r| r["backend"].as_str()).collect();
        assert!(
            backends.iter().any(|b| b.starts_with("chain then ")),
            "{backends:?}"
        );
    }
}

#[test]
fn wrong_messages_are_detected_too() {
    let place = Place::new();
    for mode in ["aes-128-gcm", "aes-128-ccm"] {
        let args = bench(&[mode, "--bytes", "64"]);
        let said = place
            .faulty_tool(args)
            .env("TENROUNDS_CORRUPT", "tenrounds")
            .done()
            .failed(1);
        contains(&said, &["differ for", "tenrounds"]);
    }
}

/// In a terminal of 80 columns, a longer line would wrap and break the tables. The first line is
/// for scripts, too, and only a terminal wraps it.
#[test]
fn every_line_has_at_most_80_columns() {
    let place = Place::new();
    let args = ["aes-256-gcm", "aes-256-siv", "rc4"];
    for (args, part) in [
        (bench(&args), "tenrounds  speed-up"),
        (verbose(&args), "of limit"),
    ] {
        let done = place.tool(args).done().ok();
        let lines = done.out.lines().skip(1);
        let long: Vec<&str> = lines.filter(|l| l.len() > 80).collect();
        assert!(long.is_empty(), "{}\n{}", long.join("\n"), done.out);
        contains(&done.out, &[part, "GB/s"]);
    }
}

/// Without --verbose: the answer, the machine, and one table, with or without a busy machine.
#[test]
fn it_answers_in_few_lines() {
    let place = Place::new();
    for args in [
        bench(&[]),
        bench(&["aes-128-ctr"]),
        bench(&["all", "--bytes", "64"]),
    ] {
        let out = place.tool(args).done().ok().out;
        let (answer, busy) = out.split_once("Warning: ").unwrap_or((&out, ""));
        let lines = answer.lines().filter(|line| !line.starts_with("Note: "));
        assert!(lines.count() <= 16 && busy.lines().count() <= 5, "{out}");
        contains(&out, &["--verbose: "]);
    }
}

/// The answer where other programs disturb the short windows of these tests; the tests of report.rs
/// show when each answer is given.
const NEVER_QUIET: &str =
    "At 1 KiB, tenrounds cannot be compared with OpenSSL: the machine was never";

/// The first line is the answer: one algorithm's rates, or the ratios of several.
#[test]
fn the_first_line_is_the_answer() {
    let place = Place::new();
    let first = |args: &[&str]| {
        let args = [args, &SHORT].concat();
        let answer = || {
            let out = place.tool(&args).done().ok().out;
            out.split('\n').next().unwrap().to_owned()
        };
        let quiet = |said: &String| !said.starts_with(NEVER_QUIET);
        let mut tries = std::iter::repeat_with(answer).take(5);
        tries.find(quiet).unwrap_or_else(answer)
    };
    for form in ["--verbose", "--openssl"] {
        let said = first(&["bench", form, "aes-128-ctr", "--bytes", "16,1K"]);
        let parts = [
            "AES-128-CTR, 1 KiB: tenrounds ",
            " GB/s, OpenSSL ",
            " times as fast",
        ];
        if !said.starts_with(NEVER_QUIET) {
            contains(&said, &parts);
        }
        let said = first(&["bench", form, "aes-128-ctr", "aes-128-ecb", "--bytes", "1K"]);
        let compared = said.starts_with("At 1 KiB, tenrounds is ");
        assert!(compared || said.starts_with(NEVER_QUIET), "{said}");
    }
    let said = first(&["bench", "rc4", "--bytes", "1K"]);
    assert!(said.starts_with("RC4, 1 KiB: OpenSSL "), "{said}");
}

/// The picture shows the rows of the lowest number of threads.
#[test]
fn the_picture_has_the_rates_of_the_rows() {
    let place = Place::new();
    let file = place.path("two.svg");
    let svg = ["--svg", file.to_str().unwrap()];
    let args = [
        "aes-128-ctr",
        "chacha20-poly1305",
        "--bytes",
        "4K,16K",
        "--threads",
        "all",
    ];
    let document = json(&place, &bench(&[&args[..], &svg].concat()));
    let text = std::fs::read_to_string(&file).unwrap();
    contains(&text, &["1 thread"]);
    let picture = roxmltree::Document::parse(&text).unwrap();
    let texts = picture.descendants().filter(|n| n.has_tag_name("text"));
    let labels: Vec<&str> = texts.filter_map(|n| n.text()).map(str::trim).collect();
    for label in ["AES-128-CTR", "ChaCha20-Poly1305", "4 KiB", "16 KiB"] {
        assert!(labels.contains(&label), "no {label} in {labels:?}");
    }
    let drawn = ["software", "openssl", "tenrounds"];
    let rows = document["results"].as_array().unwrap().iter();
    for row in rows.filter(|r| drawn.contains(&r["implementation"].as_str().unwrap())) {
        let label = terminal::gigabytes(row["bytes_per_second"].as_f64().unwrap());
        let shown = labels.contains(&&*label);
        assert!(
            shown || row["threads"] != 1,
            "no {label} in {labels:?}: {row}"
        );
    }
}

/// Copies of the script and of what it reads.
#[test]
fn scripts_tables_writes_the_tables_and_checks_them() {
    let place = Place::new();
    let root = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let chart = std::fs::read_to_string(root.join("docs/charts/speed.json")).unwrap();
    let chart: serde_json::Value = serde_json::from_str(&chart).unwrap();
    let run = chart["run"].as_str().unwrap().replace("..", "docs");
    let (readme, page) = ("README.md", "docs/gains.md");
    let replaced = "docs/benchmarks/replace";
    let files = |folder: &str| {
        let names = std::fs::read_dir(root.join(folder)).unwrap();
        let names = names.map(|file| file.unwrap().file_name());
        names
            .map(|name| format!("{folder}/{}", name.display()))
            .collect::<Vec<_>>()
    };
    let runs = [replaced, "docs/benchmarks/gains", "docs/benchmarks/changed"]
        .map(files)
        .concat();
    let others = [
        "scripts/tables",
        "scripts/published.py",
        "docs/charts/speed.json",
        "bench/reasons.toml",
        &run,
        "docs/benchmarks/programs.md",
        page,
        readme,
    ];
    for file in runs.into_iter().chain(others.map(str::to_owned)) {
        std::fs::create_dir_all(place.path(&file).parent().unwrap()).unwrap();
        std::fs::copy(root.join(&file), place.path(&file)).unwrap();
    }
    let read = |file: &str| std::fs::read_to_string(place.path(file)).unwrap();
    let tables = |words: &[&str]| {
        place
            .program(place.path("scripts/tables"))
            .args(words)
            .done()
    };
    tables(&["--check"]).ok();

    let (published, gains) = (read(readme), read(page));
    let row = "| CTR, 3.";
    for (file, before, what, other) in [
        (readme, &published, row, "| CTR, 13."),
        (readme, &published, "times in GCM", "0 times in GCM"),
        (page, &gains, "| EncFS ", "| EncFS of others "),
    ] {
        assert!(before.contains(what));
        place.file(file, &before.replace(what, other));
        let refused = tables(&["--check"]);
        assert_eq!(refused.status, Some(1));
        contains(&refused.err, &[file]);
        place.file(file, before);
    }
    place.file(readme, &published.replace(row, "| other, 3."));
    tables(&[]).ok();
    assert_eq!((read(readme), read(page)), (published, gains));

    place.file(readme, "no markers\n");
    let refused = tables(&[]);
    assert_eq!(refused.status, Some(1));
    contains(&refused.err, &["has no table between"]);
    assert_eq!(read(readme), "no markers\n");
}

/// Runs the demo with a fake tenrounds. With `enabled`, it acts as if enabled for all programs that
/// read the configuration.
fn demo(enabled: bool) -> String {
    let place = Place::new();
    let executable = |path: &std::path::Path, text: &str| {
        std::fs::write(path, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    };
    let bin = place.path("dist/bin");
    std::fs::create_dir_all(&bin).unwrap();
    let tool = r#"#!/bin/sh
[ "$1" = run ] || { echo "($1)"; exit; }
while [ "$1" != -- ]; do shift; done
shift
OURS=1 exec "$@"
"#;
    executable(&bin.join("tenrounds"), tool);
    let path = std::env::var("PATH").unwrap();
    let openssl = r#"#!/bin/sh
[ ! @ENABLED@ ] || [ "${OPENSSL_CONF-}" = /dev/null ] || OURS=1
case $1 in
list) echo "  ${OURS:+tenrounds}" ;;
*) PATH='@PATH@' exec openssl "$@" ;;
esac
"#;
    let openssl = openssl.replace("@PATH@", &path);
    let openssl = openssl.replace("@ENABLED@", if enabled { "yes" } else { "''" });
    let programs = place.path("programs");
    std::fs::create_dir_all(&programs).unwrap();
    executable(&programs.join("openssl"), &openssl);

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/demo");
    let mut demo = place.program(script);
    demo.arg(place.path("dist"));
    demo.env("PATH", format!("{}:{path}", programs.display()));
    demo.done().ok().out
}

#[test]
fn the_demo_proves_by_files_and_times_without_them() {
    let out = demo(false);
    contains(
        &out,
        &[
            "identical, byte for byte",
            "Each decrypts what the other encrypted.",
        ],
    );
    let seconds = |line: &&str| {
        line.strip_suffix(" s")
            .is_some_and(|line| line.ends_with(char::is_numeric))
    };
    let timed: Vec<&str> = out.lines().filter(seconds).collect();
    assert!(timed.is_empty(), "mostly reading and writing: {timed:?}");
    let at = |text: &str| out.find(text).unwrap_or_else(|| panic!("no {text}: {out}"));
    let order = ["(bench)", "identical", "loaded, and executed"].map(at);
    assert!(order.windows(2).all(|two| two[0] < two[1]), "{out}");
    assert!(!out.contains("OPENSSL_CONF"), "{out}");
}

/// If tenrounds is enabled for every openssl, the demo compares with an openssl without it.
#[test]
fn the_demo_compares_with_openssl_even_where_tenrounds_is_enabled() {
    let out = demo(true);
    contains(
        &out,
        &[
            "tenrounds is enabled on this machine",
            "$ env OPENSSL_CONF=/dev/null openssl enc",
        ],
    );
}

#[test]
fn a_mask_reaches_tenrounds_and_is_reported() {
    let place = Place::new();
    let args = bench(&["aes-128-ecb", "--bytes", "64", "--threads", "1", "--json"]);
    let done = place
        .tool(args)
        .env("TENROUNDS_MASK", support::bitslice_alone())
        .done()
        .ok();
    let document: Value = serde_json::from_str(&done.out).unwrap();
    let ours = rows(&document, "implementation", "tenrounds");
    assert_eq!(texts(&ours, "backend"), BTreeSet::from(["bitslice"]));
    assert_eq!(
        document["host"]["masks"]["TENROUNDS_MASK"]["value"],
        *support::bitslice_alone()
    );
    // The limit is that of the processor, not of the mask.
    assert_eq!(
        !rows(&document, "implementation", "limit").is_empty(),
        has_aes()
    );
}

#[test]
fn where_there_is_no_terminal_everything_is_plain() {
    let place = Place::new();
    let args = verbose(&["aes-128-cbc", "--bytes", "16,256", "--threads", "1"]);
    let done = place.tool(args).env("LANG", "C.UTF-8").done().ok();
    assert!(
        done.out.is_ascii() && !done.out.contains('\x1b'),
        "{}",
        done.out
    );
    contains(
        &done.out,
        &[
            "AES-128-CBC encrypt",
            "AES-128-CBC decrypt",
            "16 B",
            "256 B",
            "It took",
        ],
    );
    assert!(done.err.is_empty(), "{}", done.err);
}

/// Runs the tool on a pseudo-terminal of so many columns, by script(1) of util-linux.
fn on_a_terminal(place: &Place, columns: usize, line: &str, variable: (&str, &str)) -> String {
    let line = format!("stty cols {columns} rows 24; exec {} {line}", support::TOOL);
    let mut script = place.program("script");
    script.args(["-qec", &line, "/dev/null"]);
    script.env("TERM", "xterm").env("LANG", "C.UTF-8");
    script.env(variable.0, variable.1).done().ok().out
}

const ON_A_TERMINAL: &str = "bench --verbose aes-128-ctr --bytes 64 --seconds 0.01";

#[test]
fn a_terminal_gets_colours_unless_no_color_forbids_it() {
    let place = Place::new();
    let coloured = on_a_terminal(&place, 80, ON_A_TERMINAL, ("UNRELATED", "1"));
    contains(&coloured, &["\x1b[1m", "\x1b[2m", "±"]);
    let plain = on_a_terminal(&place, 80, ON_A_TERMINAL, ("NO_COLOR", "1"));
    assert!(
        !plain.contains("\x1b[2m") && !plain.contains("\x1b[1m"),
        "{plain}"
    );
}

/// Without colours, so that lengths can be counted; what is on standard error is cleared by a
/// carriage return.
#[test]
fn output_fits_the_terminal() {
    let place = Place::new();
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/baseline.json");
    let lines = [
        "bench aes-128-gcm aes-256-cbc --seconds 0.01".to_owned(),
        "bench --verbose aes-128-gcm aes-256-cbc --seconds 0.01".to_owned(),
        "bench --paths aes-128-cbc --bytes 16,1K --seconds 0.01".to_owned(),
        "bench --openssl aes-128-gcm --seconds 0.01".to_owned(),
        format!("bench aes-128-ctr --bytes 64 --seconds 0.01 --baseline {old}"),
    ];
    for columns in [1, 20, 40, 80] {
        for line in &lines {
            let out = on_a_terminal(&place, columns, line, ("NO_COLOR", "1"));
            assert!(!out.contains("panicked"), "{columns}, {line}: {out}");
            // What follows the last carriage return is what stays.
            let shown = |line: &str| {
                let line = line.rsplit('\r').next().unwrap_or(line);
                anstream::adapter::strip_str(line).to_string()
            };
            let shown: Vec<String> = out.lines().map(shown).collect();
            // A long word, such as a path or a row's name, has a line of its own.
            let rows = shown.iter().filter(|line| line.trim().contains("  "));
            let longest = rows.map(|line| line.chars().count()).max();
            assert!(
                columns < 40 || longest <= Some(columns),
                "{columns}, {line}: {out}"
            );
        }
    }
}

/// Half of a machine of two processors, at least, is somebody else's.
#[test]
fn a_busy_machine_is_named_by_all_who_measure() {
    let place = Place::new();
    let spin = || {
        place
            .program("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
    };
    let others: Vec<_> = (0..processors())
        .map(|_| support::Guarded(spin().unwrap()))
        .collect();
    for form in [&[][..], &["--paths"]] {
        let args = bench(&[&["aes-128-ctr", "--bytes", "1K"], form].concat());
        let out = place.tool(&args).done().ok().out;
        let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
        contains(
            &out,
            &["Warning: the machine was busy: other programs used "],
        );
        let document = &json(&place, &args)["bench"];
        assert_eq!(document["busy"], true, "{document}");
        assert!(
            document["load"]["others"].as_f64().unwrap() > 0.5,
            "{document}"
        );
    }
    drop(others);
}

/// ± in ASCII, one below each rate of OpenSSL and tenrounds and below the speed-up; and what the
/// words mean.
#[test]
fn spreads_are_shown_and_words_explained() {
    let place = Place::new();
    let out = place
        .tool(verbose(&["aes-128-gcm", "--bytes", "64"]))
        .done()
        .ok()
        .out;
    let spreads = out
        .lines()
        .filter(|line| line.trim_start().starts_with("+- "));
    assert_eq!(spreads.count(), 2 * 3, "{out}");
    contains(&out, &["+-: half of the 95 %", "speed-up"]);
    let explained = out.contains("limit: the throughput of AES rounds alone");
    assert_eq!(explained, has_aes(), "{out}");
    // Both directions: a table of the whole first.
    contains(&out, &["At 64 B\n  GB/s "]);

    let args = bench(&["--openssl", "aes-128-ctr", "--bytes", "64"]);
    let out = place.tool(args).done().ok().out;
    let spreads = out.lines().filter(|line| line.starts_with("  +- "));
    assert_eq!(spreads.count(), 3, "{out}");
    let speed_up = out.lines().find(|line| line.starts_with("  speed-up "));
    assert!(speed_up.expect(&out).ends_with('x'), "{out}");
}

#[test]
fn the_picture_is_well_formed_and_labelled() {
    let place = Place::new();
    let file = place.path("out.svg");
    let svg = ["--svg", file.to_str().unwrap()];
    let args = [&["all", "--bytes", "64", "--threads", "1"][..], &svg].concat();
    let args = bench(&args);
    place.tool(args).done().ok();
    let text = std::fs::read_to_string(&file).unwrap();
    let picture = roxmltree::Document::parse(&text).unwrap();
    assert_eq!(picture.root_element().tag_name().name(), "svg");
    let nodes = picture.descendants().filter(|n| n.has_tag_name("text"));
    let labels: BTreeSet<&str> = nodes.filter_map(|n| n.text()).map(str::trim).collect();
    for label in [
        "GB/s",
        "AES-128-CBC encrypt",
        "AES-128-CBC decrypt",
        "AES-256-CTR",
        "AES-128-GCM decrypt",
        "AES-256-XTS encrypt",
        "OpenSSL with tenrounds",
    ] {
        assert!(labels.contains(label), "no {label:?} in {labels:?}");
    }
    assert_eq!(
        labels.contains("limit of this core (AES rounds alone)"),
        has_aes()
    );
}

#[test]
fn a_picture_that_cannot_be_written_is_said_before_measuring() {
    let place = Place::new();
    let said = place
        .tool(bench(&["--svg", "no/such/place.svg"]))
        .done()
        .failed(1);
    contains(&said, &["no/such/place.svg"]);
    let file = place.path("left.svg");
    let args = bench(&["nonsense", "--svg", file.to_str().unwrap()]);
    place.tool(args).done().failed(2);
    assert!(!file.exists());
}

#[test]
fn wrong_output_is_detected_before_anything_is_timed() {
    let place = Place::new();
    for culprit in ["software", "openssl", "tenrounds"] {
        let args = bench(&["aes-256-cbc", "--bytes", "16"]);
        let said = place
            .faulty_tool(args)
            .env("TENROUNDS_CORRUPT", culprit)
            .done()
            .failed(1);
        contains(
            &said,
            &["differ for AES-256-CBC encrypt", culprit, "selftest"],
        );
    }
}

#[test]
fn what_is_wrong_with_the_command_line_is_said() {
    let place = Place::new();
    let said = |args: &[&str]| place.tool(args).done().failed(2);
    contains(
        &said(&["bench", "aes-128-crt"]),
        &["'aes-128-crt'", "did you mean 'aes-128-ctr'?", "groups all"],
    );
    contains(
        &said(&["bench", "cbc", "--bytes", "20"]),
        &["--bytes 20", "16 or 32"],
    );
    contains(&said(&["bench", "--threads", "1024"]), &["--threads 1024"]);
    contains(
        &said(&["bench", "xts", "--bytes", "8"]),
        &["--bytes 8", "AES-128-XTS", "16 to 16777216"],
    );
    contains(
        &said(&["bench", "ccm", "--bytes", "16M"]),
        &["AES-128-CCM", "1 to 16777215"],
    );
    contains(&said(&["bench", "--fail-slower"]), &["--baseline"]);
    contains(&said(&["bench", "--openssl", "--json"]), &["--json"]);
}

#[test]
fn a_missing_provider_and_a_wrong_mask_are_named() {
    let place = Place::new();
    let with = |name: &str, value: &str| place.tool(["bench", "ctr"]).env(name, value).done();
    let done = with("TENROUNDS_MODULE", "/no/such.so");
    contains(&done.failed(1), &["/no/such.so"]);
    let done = with("TENROUNDS_MASK", "noavx521");
    contains(&done.failed(2), &["'noavx521'", "did you mean 'noavx512'?"]);
}

#[test]
fn the_columns_of_openssl_speed() {
    let place = Place::new();
    let args = [
        "bench",
        "--openssl",
        "aes-128-ctr",
        "aes-256-ecb",
        SHORT[0],
        SHORT[1],
    ];
    let done = place.tool(args).done().ok();
    let header = done.out.lines().find(|l| l.starts_with("  type")).unwrap();
    let columns: Vec<&str> = header
        .split("  ")
        .filter(|c| !c.is_empty())
        .map(str::trim)
        .collect();
    assert_eq!(
        columns,
        [
            "type",
            "16 bytes",
            "64 bytes",
            "256 bytes",
            "1024 bytes",
            "8192 bytes",
            "16384 bytes"
        ]
    );
    for row in [
        "AES-128-CTR OpenSSL",
        "AES-128-CTR tenrounds",
        "AES-256-ECB OpenSSL",
        "AES-256-ECB tenrounds",
    ] {
        let line = done
            .out
            .lines()
            .find(|l| l.trim_start().starts_with(row))
            .unwrap();
        assert_eq!(line.matches('k').count(), 6, "{line}");
    }
    contains(
        &done.out,
        &[
            &format!("CPUINFO: {}=0x", support::CPU_MASK.0),
            "1000s of bytes per second",
        ],
    );
}

/// What is measured if nothing is named: both implementations of each.
#[test]
fn it_begins_with_what_people_use() {
    let place = Place::new();
    let names = BTreeSet::from([
        "aes-128-gcm",
        "aes-256-cbc",
        "aes-256-ctr",
        "aes-256-gcm",
        "aes-256-xts",
    ]);
    let document = json(&place, &bench(&[]));
    for who in ["software", "openssl", "tenrounds"] {
        let rows = rows(&document, "implementation", who);
        assert_eq!(texts(&rows, "algorithm"), names, "{who}");
        assert_eq!(rows.len(), 6 * 6, "{who}");
    }
}

/// Several threads: a row for each number of them, and what they reach of one thread's rate in the
/// same rounds.
#[test]
fn it_tells_how_it_scales() {
    let place = Place::new();
    let args = ["aes-128-ctr", "--bytes", "16,8K", "--threads"];
    let document = json(&place, &bench(&[&args[..], &["all"]].concat()));
    let processors = document["host"]["cpu"]["threads"].as_u64().unwrap();
    let results = rows(&document, "algorithm", "aes-128-ctr");
    let counts: BTreeSet<u64> = results
        .iter()
        .map(|r| r["threads"].as_u64().unwrap())
        .collect();
    assert_eq!(counts.first(), Some(&1));
    assert_eq!(counts.last(), Some(&processors));
    for row in &results {
        let threads = row["threads"].as_f64().unwrap();
        let scaling = &row["scaling"];
        if processors == 1 {
            assert!(scaling.is_null(), "{row}");
            continue;
        }
        let times = scaling["times_one"].as_f64().unwrap();
        assert!(times > 0.0 && (threads > 1.0 || times == 1.0), "{row}");
        let efficiency = scaling["efficiency"].as_f64().unwrap();
        assert!((efficiency * threads - times).abs() < 1e-9, "{row}");
    }
    let who = texts(&results, "implementation");
    assert_eq!(who.contains("limit"), has_aes());
    assert_eq!(results.len(), counts.len() * 2 * who.len());
    if processors > 1 {
        let args = [&args[..], &["2", "--openssl"]].concat();
        let out = place.tool(bench(&args)).done().ok().out;
        contains(&out, &["AES-128-CTR tenrounds x2", "times one thread"]);
        contains(&out, &["\nefficiency: the rate of N threads"]);
        assert_eq!(out.contains("\n  of limit"), has_aes(), "{out}");
    }
}

/// Measures the algorithm with the longest name, with several threads.
#[test]
fn the_columns_stand_below_their_sizes() {
    let place = Place::new();
    let threads = processors().min(2).to_string();
    let asked = [
        "bench",
        "--openssl",
        "aes-256-gcm-siv",
        "aes-128-ecb",
        "--threads",
    ];
    let args = [&asked[..], &[&threads, "--bytes", "16,1K"], &SHORT].concat();
    let out = place.tool(args).done().ok().out;
    let (_, table) = out.split_once("per second processed.\n").expect(&out);
    let after = ["limit: ", "efficiency: ", "+-: "];
    let is_table = |line: &&str| !after.iter().any(|word| line.starts_with(word));
    let table: Vec<&str> = table.lines().take_while(is_table).collect();
    assert!(table.len() > 4, "{out}");
    let widths: BTreeSet<usize> = table.iter().map(|line| line.len()).collect();
    assert_eq!(widths.len(), 1, "{out}");
}

#[test]
fn a_worker_answers_nonsense_with_an_error() {
    let place = Place::new();
    let mut worker = place.tool(["worker", "openssl"]);
    let mut worker = worker
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let requests = concat!(
        "nonsense\n",
        r#"{"window":{"microseconds":1000,"threads":1}}"#,
        "\n",
        r#"{"set-up":{"threads":100000,"bound":null,"cipher":"aes-128-ctr","direction":"encrypt","bytes":16}}"#,
        "\n"
    );
    worker
        .stdin
        .take()
        .unwrap()
        .write_all(requests.as_bytes())
        .unwrap();
    let output = worker.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert!(
        answers[0].starts_with(r#"{"Ok":{"cpu_settings""#),
        "{answers:?}"
    );
    contains(answers[1], &["failed", "nonsense"]);
    contains(answers[2], &["failed", "a window of nothing"]);
    contains(answers[3], &["failed", "100000 threads"]);
}
