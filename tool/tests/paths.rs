// SPDX-License-Identifier: BSD-2-Clause
//! bench --paths end to end, with windows too short to say anything about time. What is asked of a
//! kernel with AF_ALG and of one without differs, and is asked of whichever runs here. Needs the
//! built provider in TENROUNDS_MODULE.

#[path = "cli/support.rs"]
#[allow(dead_code)] // the rest of it is for the other tests
mod support;

use nix::errno::Errno;
use nix::sys::socket::{socket, AddressFamily, SockFlag, SockType};
use serde_json::{json, Value};
use support::{contains, Finish, Place};

fn paths<'a>(args: &[&'a str]) -> Vec<&'a str> {
    [&["bench", "--paths", "--seconds", "0.01"], args].concat()
}

/// What this kernel says to AF_ALG.
fn af_alg() -> Result<(), Errno> {
    let kind = SockType::SeqPacket;
    socket(AddressFamily::Alg, kind, SockFlag::empty(), None).map(drop)
}

fn document(args: &[&str]) -> Value {
    let place = Place::new();
    let done = place.tool(paths(args)).arg("--json").done().ok();
    serde_json::from_str(&done.out).unwrap_or_else(|e| panic!("{e}: {}", done.out))
}

fn implementations(document: &Value) -> Vec<&str> {
    let rows = document["results"].as_array().unwrap().iter();
    rows.map(|row| row["implementation"].as_str().unwrap())
        .collect()
}

#[test]
fn each_path_has_its_cpu_time_and_each_way_its_crossover() {
    let document = document(&["aes-128-cbc", "--bytes", "16,160K"]);
    let paths = &document["bench"]["paths"];
    for row in document["results"].as_array().unwrap() {
        let is_limit = row["algorithm"] == "aes-round";
        assert_eq!(row["user_ns"].is_number(), !is_limit, "{row}");
        assert_eq!(row["system_ns"].is_number(), !is_limit, "{row}");
    }
    let ways = if af_alg().is_ok() { 2 } else { 1 };
    let crossovers = paths["crossovers"].as_array().unwrap();
    assert_eq!(crossovers.len() / 4, ways, "{crossovers:?}");
}

/// On a kernel without AF_ALG: the reason.
#[test]
fn the_kernel_s_paths_are_measured_or_the_reason_is_said() {
    let document = document(&["aes-128-cbc", "--bytes", "16,64K"]);
    let unavailable = &document["bench"]["paths"]["unavailable"];
    let kernel = |who: &&str| *who == "af-alg";
    let measured = implementations(&document).into_iter().filter(kernel);
    let Err(errno) = af_alg() else {
        assert_eq!((unavailable, measured.count()), (&Value::Null, 4));
        let drivers = document["bench"]["paths"]["drivers"].as_array().unwrap();
        assert_eq!(drivers.len(), 1, "{drivers:?}");
        assert_eq!(drivers[0]["algorithm"], "cbc(aes)");
        return;
    };
    let why = format!("socket(AF_ALG): {} (errno {})", errno.desc(), errno as i32);
    assert_eq!((unavailable, measured.count()), (&json!(why), 0));
    let place = Place::new();
    let text = place.tool(paths(&["aes-128-cbc", "--bytes", "16", "--verbose"]));
    let text = { text }.done().ok().out;
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = format!("AF_ALG is not available: {why}");
    contains(&words.join(" "), &[&said, "crossing: as many system calls"]);
}

#[test]
fn all_paths_must_agree() {
    let place = Place::new();
    let kernel = af_alg().is_ok().then_some("af-alg");
    for culprit in [Some("openssl"), kernel].into_iter().flatten() {
        let args = paths(&["aes-128-ctr", "--bytes", "64"]);
        let mut tool = place.faulty_tool(args);
        let done = tool.env("TENROUNDS_CORRUPT", culprit).done();
        let wanted = format!("tenrounds and {culprit} differ for AES-128-CTR");
        contains(&done.failed(1), &[&wanted]);
    }
}

#[test]
fn wrong_combinations_are_refused() {
    let place = Place::new();
    let said = |args: &[&str]| place.tool(args).done().failed(2);
    contains(
        &said(&paths(&["aes-128-gcm"])),
        &["AES-128-GCM", "ecb, cbc or ctr"],
    );
    contains(
        &said(&paths(&["all"])),
        &["--paths does not measure AES-128-CFB"],
    );
    contains(
        &said(&paths(&["ctr", "--bytes", "20"])),
        &["--bytes 20", "16 or 32"],
    );
}

#[test]
fn text_is_plain_where_there_is_no_terminal() {
    let place = Place::new();
    let done = place.tool(paths(&["aes-128-ctr", "--bytes", "16,4K", "--verbose"]));
    let done = { done }.env("LANG", "C.UTF-8").done().ok();
    let plain = |text: &str| text.is_ascii() && !text.contains('\x1b');
    assert!(plain(&done.out) && done.err.is_empty(), "{}", done.out);
    let expected = [
        "AES-128-CTR\n",
        "tenrounds: user, system ns",
        "4 KiB",
        "It took",
    ];
    contains(&done.out, &expected);
}

/// Each path with each number of threads.
#[test]
fn threads_are_measured_beside_one() {
    let document = document(&["aes-128-ctr", "--bytes", "4K", "--threads", "all"]);
    let processors = document["host"]["cpu"]["threads"].as_u64().unwrap();
    let rows = document["results"].as_array().unwrap();
    for who in ["tenrounds", "openssl", "crossing"] {
        let rows = rows.iter().filter(|row| row["implementation"] == who);
        let threads: Vec<u64> = rows.map(|row| row["threads"].as_u64().unwrap()).collect();
        assert_eq!(
            (threads[0], threads.last()),
            (1, Some(&processors)),
            "{who}"
        );
    }
}

#[test]
fn the_picture_has_bars_for_each_path() {
    let place = Place::new();
    let file = place.path("paths.svg");
    let args = [
        "aes-128-cbc",
        "--bytes",
        "16,1K",
        "--svg",
        file.to_str().unwrap(),
    ];
    place.tool(paths(&args)).done().ok();
    let text = std::fs::read_to_string(&file).unwrap();
    let picture = roxmltree::Document::parse(&text).unwrap();
    let nodes = picture.descendants().filter(|n| n.has_tag_name("text"));
    let labels: Vec<&str> = nodes.filter_map(|n| n.text()).map(str::trim).collect();
    for label in ["crossing", "OpenSSL with tenrounds"] {
        assert!(labels.contains(&label), "no {label:?} in {labels:?}");
    }
    let all = labels.join(" ");
    for part in [
        "AES-128-CBC encrypt",
        "AES-128-CBC decrypt",
        "OpenSSL 3",
        "· tenrounds 0.",
        &terminal::today(),
    ] {
        contains(&all, &[part]);
    }
    assert_eq!(labels.contains(&"AF_ALG"), af_alg().is_ok());
}
