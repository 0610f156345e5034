// SPDX-License-Identifier: BSD-2-Clause
//! The page of a full report in a real browser: it asks for nothing, executes nothing, shows what
//! the JSON says, and is readable on dark and light screens, a telephone and paper. `make
//! check-full` runs it, because it takes 20 seconds and needs the browser.

use crate::browser::{Browser, View};
use crate::json::{valid, Document};
use crate::report::shown;
use crate::support::{emulated, skip, Finish, Place, TOOL};
use crate::trace::can_sample;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// The name of a program. Its first 15 bytes are the name of the process.
const HOSTILE: &str = "<svg onload=a()>&\"'<img src=x onerror=a()>";

/// What a person sees in the page, as an object.
const SEEN: &str = r#"(() => {
    const text = element => element.innerText.trim().replace(/\s+/g, " ");
    const all = (selector, inside) => [...(inside ?? document).querySelectorAll(selector)];
    const pairs = (names, values) =>
        Object.fromEntries(names.map((name, index) => [text(name), text(values[index])]));
    const elements = all("*", document.body);
    return {
        title: document.title,
        verdict: all(".verdict li").map(text),
        tiles: pairs(all(".tile .name"), all(".tile .value")),
        facts: pairs(all("header dt"), all("header dd")),
        findings: all(".finding > p").map(text),
        tables: all("table").map(table => ({
            part: table.closest("section")?.id ?? "header",
            heads: all("th", table).map(text),
            rows: all("tbody tr", table).map(row => all("td", row).map(text)),
        })),
        tags: [...new Set(elements.map(element => element.localName))],
        attributes: [...new Set(elements.flatMap(element => element.getAttributeNames()))],
    };
})()"#;

/// What leaves the page at its sides, or its own box.
const OUTSIDE: &str = r#"[...document.body.querySelectorAll("*")].filter(element => {
    const box = element.getBoundingClientRect();
    const drawn = element instanceof SVGElement;
    return box.left < -1 || box.right > document.documentElement.clientWidth + 1
        || !drawn && element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1;
}).map(element => `${element.localName}: ${element.textContent.slice(0, 60)}`)"#;

/// Texts whose contrast to what is behind them is below 4.5 to 1 (WCAG 2.2, 1.4.3).
const PALE: &str = r#"(() => {
    const colour = text => text.match(/[\d.]+/g).map(Number);
    const light = ([red, green, blue]) => {
        const linear = [red, green, blue].map(part => {
            part /= 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const behind = element => {
        for (; element; element = element.parentElement) {
            const paper = colour(getComputedStyle(element).backgroundColor);
            if (paper.length === 3) return paper;
        }
        return [255, 255, 255];
    };
    const texts = [...document.body.querySelectorAll("*")].filter(element =>
        [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
    if (texts.length < 50) throw new Error("few texts");
    return texts.filter(element => {
        const style = getComputedStyle(element);
        const ink = element instanceof SVGElement ? style.fill : style.color;
        const pair = [light(colour(ink)), light(behind(element))].sort((a, b) => a - b);
        return (pair[1] + 0.05) / (pair[0] + 0.05) < 4.5;
    }).map(element => `${element.localName}: ${element.textContent.slice(0, 60)}`);
})()"#;

/// All tags of the page, and all attributes.
const TAGS: [&str; 22] = [
    "b", "data", "dd", "div", "dl", "dt", "h1", "h2", "h3", "header", "li", "p", "rect", "section",
    "svg", "table", "tbody", "td", "th", "thead", "tr", "ul",
];

/// A full report while a program with a hostile name does AES.
fn report(place: &Place) -> (std::path::PathBuf, Document) {
    let program = place.path(HOSTILE);
    fs::copy(TOOL, &program).unwrap();
    let mut work = place.program(&program);
    work.args(["bench", "aes-128-ctr", "--bytes", "16K", "--seconds", "60"]);
    let work = work.stdout(Stdio::null()).stderr(Stdio::null());
    let _work = work.started();
    let page = place.path("page.html");
    let mut tool = place.tool(["report", "--full", "--json", "--html"]);
    let done = tool.arg(&page).done().ok();
    (page, valid(&done.out))
}

/// The rows of the first table of a part, by its first head.
fn table<'s>(seen: &'s Value, part: &str, head: &str) -> &'s [Value] {
    let table = table_if_any(seen, part, head);
    table.unwrap_or_else(|| panic!("no {part}, {head}: {:#}", seen["tables"]))
}

fn table_if_any<'s>(seen: &'s Value, part: &str, head: &str) -> Option<&'s [Value]> {
    let mut tables = seen["tables"].as_array().unwrap().iter();
    let is_it = |table: &&Value| table["part"] == part && table["heads"][0] == head;
    let rows = tables.find(is_it)?["rows"].as_array();
    rows.map(Vec::as_slice)
}

/// The files with AES code. On a busy machine, the time for files can end before the first one.
fn installed(seen: &Value) -> &[Value] {
    table_if_any(seen, "installed", "File").unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Whether the page shows this number so.
fn is(shown_text: &Value, number: &Value) -> bool {
    let texts = shown(number.as_f64().unwrap());
    texts.iter().any(|other| other == text(shown_text))
}

fn the_page_says_what_the_json_says(seen: &Value, json: &Document) {
    let summary = json.at("/report/summary");
    assert_eq!(
        seen["title"],
        format!("AES on {}", text(json.at("/host/cpu/brand")))
    );
    assert_eq!(&seen["verdict"], json.at("/report/verdict"));
    let facts = &seen["facts"];
    assert_eq!(&facts["Processor"], json.at("/host/cpu/brand"));
    assert_eq!(&facts["Kernel"], json.at("/host/kernel"));
    assert_eq!(&facts["Date"], json.at("/report/date"));
    assert_eq!(facts["Backend"], summary["backend"]);
    let tiles = &seen["tiles"];
    assert!(
        is(&tiles["of processor time in AES"], &summary["aes_share"]),
        "{tiles:#}"
    );
    let troubles = format!("{}, {}", summary["problems"], summary["warnings"]);
    assert_eq!(tiles["problems, warnings"], troubles);

    let gains = json.list("/report/summary/gains");
    let rows = table(seen, "header", "Mode");
    assert_eq!(rows.len(), gains.len());
    assert!(rows.len() > 5, "{rows:#?}");
    for (row, gain) in rows.iter().zip(gains) {
        let mode = text(&gain["algorithm"]).to_uppercase();
        assert_eq!(row[0], format!("{mode} {}", text(&gain["direction"])));
        for (column, name) in [(1, "bytes"), (2, "openssl"), (3, "tenrounds"), (4, "ratio")] {
            assert!(is(&row[column], &gain[name]), "{row} {gain}");
        }
    }

    let findings = json.list("/report/doctor/findings");
    let findings = findings.iter().map(|finding| {
        let severity = text(&finding["severity"]);
        let word = severity[..1].to_uppercase() + &severity[1..];
        let says = text(&finding["says"]).split_whitespace();
        format!("{word}: {}", says.collect::<Vec<_>>().join(" "))
    });
    assert_eq!(seen["findings"], Value::from_iter(findings));

    let processes = json.list("/report/trace/processes");
    let found = processes.iter().flat_map(|process| {
        let findings = process["findings"].as_array().unwrap().iter();
        findings.map(move |finding| (process, finding))
    });
    let found: Vec<_> = found.collect();
    let rows = table(seen, "running", "Process");
    assert_eq!(rows.len(), found.len());
    for (row, (process, finding)) in rows.iter().zip(found) {
        let name = text(&process["name"])
            .split_whitespace()
            .collect::<Vec<_>>();
        assert_eq!(row[0], format!("{} ({})", name.join(" "), process["pid"]));
        assert!(is(&row[1], &finding["share"]), "{row} {finding}");
        let library = finding["module"]["path"].as_str();
        assert!(
            text(&row[4]).starts_with(library.unwrap_or("written")),
            "{row}"
        );
        assert_eq!(row[6], finding["confidence"]);
    }

    let files = json.list("/report/scan/files");
    let files = files.iter().filter(|file| file["holds"] != "others");
    let rows = installed(seen).iter();
    let shown_files: Vec<_> = rows.map(|row| row[0].clone()).collect();
    assert_eq!(
        shown_files,
        files.map(|file| file["path"].clone()).collect::<Vec<_>>()
    );
}

/// The hostile names stand in the page as text.
fn names_are_texts(seen: &Value, json: &Document) {
    let tags = seen["tags"].as_array().unwrap();
    for tag in tags {
        assert!(TAGS.contains(&text(tag)), "<{tag}>");
    }
    for attribute in seen["attributes"].as_array().unwrap() {
        let name = text(attribute);
        let loads = ["src", "href", "style", "action", "data", "srcset"].contains(&name);
        assert!(!loads && !name.starts_with("on"), "{name}");
    }
    let rows = table(seen, "running", "Process");
    let process = format!("{} (", &HOSTILE[..15]);
    let is_ours = |row: &Value| text(&row[0]).starts_with(&process);
    assert!(rows.iter().any(is_ours), "no {process}: {rows:#?}");
    let files = installed(seen);
    let is_ours = |row: &Value| text(&row[0]).ends_with(HOSTILE);
    // On a busy machine the time for files can end before this one.
    let is_left_out = json.at("/report/scan/not_reached") != &Value::from(0);
    assert!(files.iter().any(is_ours) || is_left_out, "{files:#?}");
}

/// The same page with a picture and a script in it: the browser tells both, and the page's policy
/// refuses both.
fn a_planted_script_is_seen_and_refused(browser: &mut Browser, place: &Place, page: &Path) {
    let planted = fs::read_to_string(page).unwrap();
    assert!(planted.contains("<h1>"));
    let planted = planted.replace("<h1>", "<img src=x onerror=\"document.title='ran'\"><h1>");
    let planted = place.file("planted.html", &planted);
    for obey_policy in [false, true] {
        browser.open(&planted, obey_policy);
        let (requests, scripts) = (browser.requests(), browser.scripts());
        let ran = browser.evaluate("document.title") == "ran";
        assert_eq!(ran, !obey_policy);
        assert!(!scripts.is_empty());
        if !obey_policy {
            assert!(
                requests.iter().any(|url| url.ends_with("/x")),
                "{requests:?}"
            );
        }
    }
}

#[test]
#[ignore = "needs a browser: scripts/check-full runs it"]
fn the_page_in_a_browser() {
    let place = Place::new();
    if emulated() || !can_sample(&place) {
        return;
    }
    let Some(mut browser) = Browser::start(&place) else {
        return skip("no Chromium is installed, so nobody looks at the page of report");
    };
    let (page, json) = report(&place);
    let seconds = json.at("/report/seconds").as_f64().unwrap();
    // Its parts take 18 s (docs/report.md), and longer where other work has the processors.
    assert!(seconds < 60.0, "the report took {seconds} s");

    // Without its policy, the page would load and execute what is in it.
    browser.open(&page, false);
    assert_eq!(browser.requests(), [""; 0]);
    assert_eq!(browser.scripts(), [""; 0]);
    let view = |width, scheme, media| View {
        width,
        scheme,
        media,
    };
    browser.show(view(1280, "light", "screen"));
    let seen = browser.evaluate(SEEN);
    names_are_texts(&seen, &json);
    the_page_says_what_the_json_says(&seen, &json);

    // 718 px are the width of A4 minus margins of 1 cm.
    let views = [
        (view(1280, "light", "screen"), "rgb(255, 255, 255)"),
        (view(1280, "dark", "screen"), "rgb(13, 17, 23)"),
        (view(800, "dark", "screen"), "rgb(13, 17, 23)"),
        (view(360, "light", "screen"), "rgb(255, 255, 255)"),
        (view(718, "dark", "print"), "rgb(255, 255, 255)"),
    ];
    for (view, paper) in views {
        browser.show(view);
        let found = browser.evaluate("getComputedStyle(document.body).backgroundColor");
        assert_eq!(found, paper, "{view:?}");
        for (wrong, what) in [(OUTSIDE, "outside"), (PALE, "pale")] {
            let found = browser.evaluate(wrong);
            assert_eq!(
                found.as_array().map(Vec::len),
                Some(0),
                "{what}, {view:?}: {found:#}"
            );
        }
        let file = format!("report-{}-{}-{}.png", view.media, view.width, view.scheme);
        let picture = browser.picture(&place, &file);
        let line = format!("# report: {}\n", picture.display());
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    a_planted_script_is_seen_and_refused(&mut browser, &place, &page);
}
