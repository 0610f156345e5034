// SPDX-License-Identifier: BSD-2-Clause
//! `report`: the page against its JSON, names that are hostile, files that cannot be written.

use crate::json::{valid, Document};
use crate::support::{contains, skip, Done, Finish, Place, TOOL};
use serde_json::Value;
use std::fs;
use std::fs::OpenOptions;
use std::process::Stdio;

/// Options of a report that takes little time.
const BRIEF: [&str; 2] = ["--brief", "--seconds=0.3"];

/// A report as a page and as JSON.
struct Written {
    page: String,
    json: Document,
}

fn report(place: &Place, more: &[&str]) -> Written {
    let page = place.path("page.html");
    let mut tool = place.tool(["report"]);
    tool.args(["--brief"]).args(more);
    let done = tool.arg("--html").arg(&page).arg("--json").done().ok();
    assert_eq!(done.err, "");
    let read = |file| fs::read_to_string(file).unwrap();
    let left: Vec<_> = fs::read_dir(place.path("")).unwrap().collect();
    let is_left = |entry: &std::io::Result<fs::DirEntry>| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with('.')
    };
    assert!(!left.iter().any(is_left), "{left:?}");
    Written {
        page: read(page),
        json: valid(&done.out),
    }
}

/// The page without what HTML leaves open.
fn as_xml(page: &str) -> String {
    let lines = page.lines().filter(|line| !line.starts_with("<meta "));
    let page: Vec<&str> = lines.collect();
    page.join("\n").replace("<!DOCTYPE html>", "")
}

/// All numbers and all texts of a document.
#[derive(Default)]
struct Leaves {
    numbers: Vec<f64>,
    texts: Vec<String>,
}

impl Leaves {
    fn add(&mut self, value: &Value) {
        match value {
            Value::Number(number) => self.numbers.extend(number.as_f64()),
            Value::String(text) => self.texts.push(text.clone()),
            Value::Array(list) => list.iter().for_each(|value| self.add(value)),
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                self.texts.push(name.clone());
                self.add(value);
            }),
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// Whether two numbers are the same but for the last digit, which serde_json may read differently.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs()
}

/// A percentage that is an upper bound: rounded up to two significant digits.
fn bound(percent: f64) -> String {
    let mut unit = 1.0;
    let mut places = 0;
    while percent > 0.0 && percent / unit < 10.0 {
        unit /= 10.0;
        places += 1;
    }
    // What is a rounding error of the quotient is no digit.
    format!("{:.places$} %", (percent / unit - 1e-9).ceil() * unit)
}

/// What the page may show for a number of the document.
pub fn shown(value: f64) -> Vec<String> {
    let rounded = |value: f64, places: &[(f64, usize)], smallest: usize| {
        let found = places.iter().find(|(from, _)| value >= *from);
        format!("{value:.*}", found.map_or(smallest, |(_, places)| *places))
    };
    let gigabytes = rounded(value / 1e9, &[(99.95, 0), (9.995, 1), (0.0995, 2)], 3);
    let percent = rounded(value * 100.0, &[(9.95, 0), (0.95, 1)], 2);
    let mut all = vec![
        value.to_string(),
        format!("{gigabytes} GB/s"),
        format!("{percent} %"),
        format!("{value:.2}×"),
        format!("{value:.1} s"),
        bound(value * 100.0),
    ];
    if value.fract() == 0.0 && value >= 0.0 {
        let count = value as u64;
        let digits = count.to_string();
        let groups = digits.as_bytes().rchunks(3).rev();
        let groups: Vec<_> = groups.map(|g| String::from_utf8_lossy(g)).collect();
        all.extend([groups.join(","), format!("{} KiB", count / 1024)]);
    }
    all
}

/// Digits of a text that are neither in a text nor a number of the document.
fn unknown_digits(text: &str, document: &Leaves) -> bool {
    let mut rest = text.to_lowercase();
    for known in &document.texts {
        let known = known.to_lowercase();
        rest = rest.replace(&format!("({known})"), "");
        if known.len() > 2 && known.contains(|c: char| c.is_ascii_digit()) {
            rest = rest.replace(&known, "");
        }
    }
    rest.contains(|c: char| c.is_ascii_digit())
}

#[test]
fn every_figure_of_the_page_is_in_the_json() {
    let place = Place::new();
    let Written { page, json } = report(&place, &[BRIEF[1], "--full", "--label", "A <label>"]);
    assert_eq!(json.at("/report/label"), "A <label>");
    contains(&page, &["<h1>A &lt;label&gt;</h1>"]);
    loads_nothing(&page);

    let mut document = Leaves::default();
    document.add(json.at(""));
    let longest_first = |text: &String| std::cmp::Reverse(text.len());
    document.texts.sort_by_key(longest_first);
    let tree = as_xml(&page);
    let tree = roxmltree::Document::parse(&tree).unwrap_or_else(|e| panic!("{e}\n{tree}"));
    let body = tree.descendants().find(|n| n.has_tag_name("body")).unwrap();
    let mut figures = 0;
    for node in body.descendants().filter(|n| n.is_text()) {
        let text = node.text().unwrap().trim();
        let parent = node.parent().unwrap();
        if let Some(written) = parent.attribute("value") {
            let value: f64 = written.parse().unwrap();
            // A floating-point number would round addresses of the kernel.
            let address = written.parse().map(|at: u64| format!("+{at:#x}"));
            let is_known = document.numbers.iter().any(|number| same(*number, value));
            assert!(is_known, "{value} is not in the JSON");
            assert!(
                shown(value).iter().any(|s| s == text) || address.as_deref() == Ok(text),
                "{text:?} is not {value}"
            );
            figures += 1;
        } else {
            assert!(
                !unknown_digits(text, &document),
                "{text:?} is not in the JSON"
            );
        }
    }
    assert!(figures > 20, "{figures}");
    let gain = json.at("/report/summary/gains/0");
    for who in ["openssl", "tenrounds"] {
        let rows = json.list("/results");
        let row = rows.iter().find(|row| row["implementation"] == who);
        assert_eq!(gain[who], row.unwrap()["bytes_per_second"]);
    }
}

/// Texts of the machine may name addresses; tags and styles may not.
fn loads_nothing(page: &str) {
    contains(
        page,
        &[
            "content=\"default-src 'none'; style-src 'unsafe-inline'\"",
            "prefers-color-scheme: dark",
            "@media print",
            "max-width: 44rem",
            "<svg ",
        ],
    );
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap();
        for wrong in [
            "script", "://", "src=", "href", "url(", "iframe", "object", "link", "import", " on",
        ] {
            assert!(!tag.contains(wrong), "{wrong} in <{tag}>");
        }
    }
    let style = page
        .split("<style>")
        .nth(1)
        .unwrap()
        .split("</style>")
        .next()
        .unwrap();
    for wrong in ["url(", "@import", "://"] {
        assert!(!style.contains(wrong), "{wrong}");
    }
}

/// A program with AES code whose name is a tag, at work while the report is made.
#[test]
fn names_from_the_machine_are_escaped() {
    let place = Place::new();
    let name = "<img src=x>&\"'";
    let program = place.path(name);
    fs::copy(TOOL, &program).unwrap();
    let mut work = place.program(&program);
    work.args(["bench", "aes-128-ctr", "--bytes", "16K", "--seconds", "60"]);
    let _work = work.stdout(Stdio::null()).stderr(Stdio::null()).started();
    let written = report(&place, &["--full", "--seconds", "1"]);
    assert!(!written.page.contains("<img"));
    let escaped = "&lt;img src=x&gt;&amp;&quot;&#39;";
    let installed = written.page.split("id=\"installed\"").nth(1).unwrap();
    let files = written.json.list("/report/scan/files");
    let is_ours = |file: &Value| file["path"].as_str().unwrap().ends_with(name);
    let is_found = files.iter().any(is_ours);
    // On a busy machine, the time for files can end before this one.
    let is_left_out = written.json.at("/report/scan/not_reached") != &Value::from(0);
    assert!(is_found || is_left_out, "{files:#?}");
    let is_shown = installed.contains(&format!("{escaped}</td>"));
    assert_eq!(is_shown, is_found, "{installed}");
    match written.json.at("/report/trace") {
        Value::Null => {
            let missing = written.json.at("/report/missing").to_string();
            contains(&missing, &["perf_event_open"]);
        }
        trace => {
            let processes = trace["processes"].as_array().unwrap();
            assert!(
                processes.iter().any(|p| p["name"] == name),
                "{processes:#?}"
            );
            let running = written.page.split("id=\"running\"").nth(1).unwrap();
            let running = running.split("</section>").next().unwrap();
            contains(running, &[&format!(">{escaped} (")]);
        }
    }
}

/// Without `--full`, the page leaves out what only an examiner reads.
#[test]
fn the_usual_page_is_short() {
    let place = Place::new();
    let file = place.path("page.html");
    let mut tool = place.tool(["report"]);
    let done = tool.args(BRIEF).arg("--html").arg(&file).done().ok();
    contains(&done.out, &["tenrounds is", "The page is"]);
    let page = fs::read_to_string(file).unwrap();
    for part in ["running", "doctor", "made"] {
        contains(&page, &[&format!("<section id=\"{part}\">")]);
    }
    contains(&page, &["<h1>AES on this machine</h1>", "--full"]);
    for part in ["selected", "speed", "installed", "kernel"] {
        assert!(!page.contains(&format!("id=\"{part}\"")), "{part}");
    }
    let said = place.tool(["report", "--full"]).done().failed(2);
    contains(&said, &["--html"]);
}

#[test]
fn a_file_that_cannot_be_written_is_an_error_at_once() {
    let place = Place::new();
    let dir = place.path("folder");
    fs::create_dir(&dir).unwrap();
    for (option, file, words) in [
        (
            "--html",
            "no/such/folder/page.html",
            "No such file or directory",
        ),
        ("--html", "folder", "it is a directory"),
        ("--html", "/proc/version", "cannot write /proc/version"),
    ] {
        // Without --brief, it would take long if it did not look first.
        let said = place.tool(["report", option, file]).done().failed(1);
        contains(&said, &["cannot write", file, words]);
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut tool = place.tool(["report", "--json"]);
    let done = Done::from(tool.args(BRIEF).stdout(full).output().unwrap());
    contains(&done.failed(1), &["cannot write to standard output"]);
}

/// Root writes through no symbolic link of another user, in a directory of theirs or in /tmp.
#[test]
fn a_link_of_another_user_is_not_followed() {
    // SAFETY: it has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root writes where others own links; a test of trust.rs has the rest");
    }
    let place = Place::new();
    let victim = place.file("victim", "precious");
    let link = place.path("report.html");
    std::os::unix::fs::symlink(&victim, &link).unwrap();
    std::os::unix::fs::lchown(&link, Some(65534), Some(65534)).unwrap();
    let path = link.to_str().unwrap();
    let metrics = format!("--prometheus={path}");
    for line in [
        ["report", "--html", path].as_slice(),
        &["run", "--count", "--output", path, "--", "true"],
        &["status", &metrics],
    ] {
        let done = place.tool(line).done();
        contains(
            &done.err,
            &["is a symbolic link of user 65534", "remove it"],
        );
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious", "{line:?}");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}
