// SPDX-License-Identifier: BSD-2-Clause
//! `status`: what runs each mode, and which setting would give more.

use crate::json::{valid, Document};
use crate::support::{contains, faulty, kernel_sees, module, Finish, Place, CPU_MASK, WITHOUT_AES};
use serde_json::Value;

fn detect(place: &Place, environment: &[(&str, &str)]) -> (Document, String) {
    let sabotaged = environment.iter().any(|e| e.0 == "TENROUNDS_SABOTAGE");
    let line = ["status", "--json"];
    let mut tool = match sabotaged {
        true => place.faulty_tool(line),
        false => place.tool(line),
    };
    let done = tool.envs(environment.iter().copied()).done().ok();
    (valid(&done.out), done.err)
}

/// Some of those in the text.
const INSTRUCTIONS: [&str; 3] = if cfg!(target_arch = "aarch64") {
    ["AESMC", "PMULL", "NEON"]
} else {
    ["AESKEYGENASSIST", "VPCLMULQDQ", "AVX-512"]
};

#[test]
fn the_text_has_all_parts_and_no_escape_sequences_in_a_pipe() {
    let place = Place::new();
    let done = place.tool(["status", "--verbose"]).done().ok();
    contains(&done.out, &["Processor", "System", "OpenSSL", "Provider"]);
    contains(&done.out, &INSTRUCTIONS);
    contains(&done.out, &["CBC", "CTR", "KWP"]);
    assert!(done.out.is_ascii(), "{}", done.out);
    assert!(!done.out.contains('\x1b'), "{}", done.out);
}

/// Of the table: what runs a mode, by field.
fn cell(json: &Document, mode: &str, direction: &str, field: &str) -> Value {
    let rows = json.list("/detect/table");
    let is_it = |row: &&Value| {
        let directions = row["directions"].as_array().unwrap();
        row["mode"] == mode && directions.contains(&direction.into())
    };
    let row = rows.iter().find(is_it);
    row.unwrap_or_else(|| panic!("no {mode} {direction} in {rows:#?}"))[field].clone()
}

#[test]
fn the_verdict_is_true() {
    let place = Place::new();
    let (json, _) = detect(&place, &[]);
    let verdict = json.list("/detect/verdict");
    let first = verdict[0].as_str().unwrap();
    let words = |code: &Value| match code.as_str() {
        Some("vaes512") => "VAES at 512 bits",
        Some("vaes256") => "VAES at 256 bits",
        Some("aesni") => "128-bit AES-NI",
        Some("armv8") => "Armv8 AES",
        Some("software") => "software",
        other => panic!("{other:?}"),
    };
    let (ours, theirs) = (
        cell(&json, "gcm", "encrypt", "tenrounds"),
        cell(&json, "gcm", "encrypt", "openssl"),
    );
    assert!(
        first.starts_with(&format!("AES-GCM runs on {}", words(&ours))),
        "{first}"
    );
    let version = json.text("/host/openssl/version");
    let version: Vec<&str> = version.split(' ').take(2).collect();
    let uses = match ours == theirs {
        true => "uses the same instructions".to_owned(),
        false => format!("uses {} for it", words(&theirs)),
    };
    contains(
        first,
        &[
            &format!("{}'s own code {uses}", version.join(" ")),
            "tenrounds bench gcm",
        ],
    );
    let text = place.tool(["status"]).done().ok().out;
    contains(text.lines().next().unwrap(), &["is not in force"]);
    assert_eq!(text.lines().nth(1), Some(first));
    assert!(
        !text.contains(INSTRUCTIONS[0]),
        "the rest is behind --verbose: {text}"
    );

    let inside = ["run", "--", crate::support::TOOL, "status"];
    let text = place.tool(inside).done().ok().out;
    contains(text.lines().next().unwrap(), &["is in force"]);
    let mut absent = place.tool(["status"]);
    let absent = absent.env("TENROUNDS_MODULE", "/nonexistent/tenrounds.so");
    contains(
        absent.done().ok().out.lines().next().unwrap(),
        &["is not in force", "the provider is missing"],
    );
}

#[test]
fn the_table_says_what_runs_each_mode() {
    let place = Place::new();
    let (json, _) = detect(&place, &[]);
    assert_eq!(cell(&json, "gcm", "encrypt", "needs"), "hash");
    assert_eq!(cell(&json, "xts", "decrypt", "needs"), "parallel");
    assert_eq!(cell(&json, "cmac", "encrypt", "needs"), "chain");
    assert_eq!(cell(&json, "wrap", "decrypt", "needs"), "block");
    // What OpenSSL has, it says itself.
    let mut openssl = place.program("openssl");
    let list = openssl.args(["list", "-cipher-algorithms"]).done().ok().out;
    for mode in ["ctr", "gcm", "siv", "gcm-siv", "ocb"] {
        let name = format!("aes-128-{mode}");
        let mut words = list.split([' ', ',', '\n']);
        let listed = words.any(|word| word.eq_ignore_ascii_case(&name));
        assert_eq!(
            !cell(&json, mode, "encrypt", "openssl").is_null(),
            listed,
            "{mode}"
        );
    }
    let text = place.tool(["status"]).done().ok().out;
    let lines: Vec<&str> = text.lines().collect();
    let at = |start: &str| {
        lines
            .iter()
            .position(|line| line.trim_start().starts_with(start))
    };
    assert!(
        at("Independent blocks:") < at("CTR") && at("CTR") < at("Independent blocks, and"),
        "{text}"
    );
    assert!(
        at("GCM ") < at("A chain") && at("A chain") < at("CBC encryption"),
        "{text}"
    );
    assert!(at("CBC decryption") < at("A chain"), "{text}");
    assert!(at("A chain of calls").is_none(), "{text}");
    let text = place.tool(["status", "--verbose"]).done().ok().out;
    let (_, blocks) = text
        .split_once("A chain of calls for one block each")
        .unwrap();
    for mode in ["CFB8 encryption", "CFB1 encryption", "KW ", "KWP "] {
        let mut lines = blocks.lines();
        let line = lines.find(|line| line.trim_start().starts_with(mode));
        let line = line.unwrap_or_else(|| panic!("no {mode} in {blocks}"));
        assert!(!line.contains("512") && !line.contains("256"), "{line}");
    }
}

#[test]
fn a_mask_changes_the_verdict() {
    let place = Place::new();
    let (json, _) = detect(&place, &[CPU_MASK]);
    for side in ["tenrounds", "openssl"] {
        assert_eq!(cell(&json, "gcm", "encrypt", side), "software", "{side}");
    }
    let first = json.text("/detect/verdict/0");
    contains(
        &first,
        &["in constant time, because AES instructions are masked"],
    );
    let (json, _) = detect(&place, &[("TENROUNDS_MASK", "noaes")]);
    assert_eq!(cell(&json, "ctr", "encrypt", "tenrounds"), "software");
    if kernel_sees("aes") {
        assert_ne!(cell(&json, "ctr", "encrypt", "openssl"), "software");
        contains(
            &json.text("/detect/verdict/1"),
            &["A setting may help", "TENROUNDS_MASK hides aes"],
        );
    }
}

#[test]
fn instructions_agree_with_the_kernel() {
    let (json, _) = detect(&Place::new(), &[]);
    let pairs: &[_] = if cfg!(target_arch = "aarch64") {
        &[("aes", "aes"), ("clmul", "pmull"), ("neon", "asimd")]
    } else {
        &[
            ("aes", "aes"),
            ("clmul", "pclmulqdq"),
            ("ssse3", "ssse3"),
            ("avx2", "avx2"),
            ("vaes", "vaes"),
            ("vclmul", "vpclmulqdq"),
            ("sha", "sha_ni"),
            ("avx512", "avx512bw"),
        ]
    };
    for &(feature, flag) in pairs {
        let lines = json.list("/detect/instructions");
        let line = lines.iter().find(|i| i["feature"] == feature).unwrap();
        assert_eq!(line["usable"], kernel_sees(flag), "{feature}");
    }
}

#[test]
fn a_mask_changes_what_runs_every_mode() {
    let place = Place::new();
    let (masked, _) = detect(&place, &[("TENROUNDS_MASK", "noaes")]);
    let rows = masked.list("/detect/table");
    let modes = rows.iter().map(|row| row["mode"].as_str().unwrap());
    let modes: std::collections::BTreeSet<_> = modes.collect();
    let all = catalogue::Mode::aes().map(catalogue::Mode::name).collect();
    assert_eq!(modes, all);
    assert_eq!(masked.text("/detect/backend"), WITHOUT_AES);
    for row in rows {
        assert_eq!(row["tenrounds"], "software", "{row}");
    }
    let hides = masked.list("/host/masks/TENROUNDS_MASK/removes");
    assert_eq!(hides, [serde_json::json!("aes")]);
    if kernel_sees("aes") {
        contains(
            &masked.text("/detect/advice/0/settings/0/set"),
            &["unset TENROUNDS_MASK"],
        );
    }
}

#[test]
fn the_mask_that_everybody_knows_is_understood() {
    let (json, _) = detect(&Place::new(), &[CPU_MASK]);
    assert_eq!(json.text("/detect/backend"), WITHOUT_AES);
    let removes = json.list(&format!("/host/masks/{}/removes", CPU_MASK.0));
    assert!(
        removes.contains(&"aes".into()) && removes.contains(&"clmul".into()),
        "{removes:?}"
    );
    assert!(!json.list("/host/openssl/sees").contains(&"aes".into()));
    contains(
        &json.text("/host/openssl/cpu_settings"),
        &[&format!("env:{}", CPU_MASK.1)],
    );
}

#[test]
fn a_failed_known_answer_is_said_in_one_line_and_in_the_output() {
    let place = Place::new();
    let (plain, quiet) = detect(&place, &[]);
    assert_eq!(quiet, "");
    let backend = plain.text("/detect/backend");
    let (json, err) = detect(&place, &[("TENROUNDS_SABOTAGE", &backend)]);
    assert_eq!(json.list("/detect/failed"), [serde_json::json!(backend)]);
    assert_ne!(json.text("/detect/backend"), backend);
    assert_eq!(err.lines().count(), 1, "{err}");
    contains(&err, &["tenrounds: ", &backend, "failed its known answers"]);
}

#[test]
fn a_mask_with_a_wrong_word_is_warned_about() {
    let (json, err) = detect(&Place::new(), &[("TENROUNDS_MASK", "novase")]);
    contains(
        &err,
        &["tenrounds: TENROUNDS_MASK", "'novase'", "mean 'novaes'"],
    );
    contains(&json.text("/detect/warnings/0"), &["'novase'"]);
}

#[test]
fn the_facts_in_use_are_said_and_a_wrong_name_is_warned_about() {
    let place = Place::new();
    let (json, err) = detect(&place, &[("TENROUNDS_TUNE", "emeraldrapids")]);
    assert_eq!(err, "");
    let facts = serde_json::json!({
        "microarchitecture": "emeraldrapids", "aes_latency": 3, "aes512_per_cycle": 1,
        "separate_clmul": true, "clock_drops": false,
    });
    assert_eq!(*json.at("/detect/tuning"), facts);
    let mut text = place.tool(["status", "--verbose"]);
    let text = text.envs([("TENROUNDS_TUNE", "znver4")]).done().ok().out;
    match cfg!(target_arch = "aarch64") {
        true => assert!(
            !text.contains("tuned as"),
            "Arm has one row of facts: {text}"
        ),
        false => contains(&text, &["tuned as znver4", "takes 4 cycles"]),
    }
    let (json, err) = detect(&place, &[("TENROUNDS_TUNE", "znver55")]);
    contains(
        &err,
        &["TENROUNDS_TUNE", "'znver55'", "mean 'znver", "no effect"],
    );
    contains(&json.text("/detect/warnings/0"), &["'znver55'"]);
}

/// As if 512-bit registers lowered the clock here ("clock" of the tests' switch).
#[test]
fn what_selection_does_without_is_said_with_the_way_to_override_it() {
    let place = Place::new();
    let drops = ("TENROUNDS_SABOTAGE", "clock");
    let (usual, _) = detect(&place, &[("TENROUNDS_MASK", "")]);
    let (json, err) = detect(&place, &[drops]);
    assert_eq!(err, "");
    if !usual.text("/detect/backend").starts_with("vaes512") {
        assert_eq!(json.list("/detect/avoided"), [] as [serde_json::Value; 0]);
        return; // this processor has no 512 bits to do without
    }
    assert_eq!(usual.list("/detect/avoided"), [] as [serde_json::Value; 0]);
    assert_eq!(json.list("/detect/avoided"), [serde_json::json!("avx512")]);
    assert_eq!(json.text("/detect/backend"), "vaes256");
    assert_eq!(json.list("/detect/advice"), [] as [serde_json::Value; 0]);
    let text = place.faulty_tool(["status"]).envs([drops]).done().ok().out;
    contains(
        &text,
        &[
            "lowers the clock",
            "vaes256 is selected",
            "TENROUNDS_MASK=avx512",
        ],
    );
    let (json, _) = detect(&place, &[drops, ("TENROUNDS_MASK", "avx512")]);
    assert_eq!(json.text("/detect/backend"), "vaes512");
    assert_eq!(json.text("/host/masks/TENROUNDS_MASK/value"), "avx512");
    assert_eq!(
        json.list("/host/masks/TENROUNDS_MASK/removes"),
        [] as [serde_json::Value; 0]
    );
    // And in the program that run starts.
    let faulty = faulty();
    let inside = [
        "run",
        "--mask",
        "avx512",
        "--",
        faulty.to_str().unwrap(),
        "status",
        "--json",
    ];
    let json = valid(&place.faulty_tool(inside).envs([drops]).done().ok().out);
    assert_eq!(json.text("/detect/backend"), "vaes512");
}

#[test]
fn it_says_where_libcrypto_takes_aes_from() {
    let place = Place::new();
    let (json, _) = detect(&place, &[]);
    assert_eq!(json.text("/detect/provider/in_use"), "default");
    assert_eq!(
        json.text("/detect/provider/module"),
        module().canonicalize().unwrap().to_str().unwrap()
    );
    let inside = ["run", "--", crate::support::TOOL, "status", "--json"];
    let json = valid(&place.tool(inside).done().ok().out);
    assert_eq!(json.text("/detect/provider/in_use"), "tenrounds");
}

#[test]
fn without_a_provider_or_a_libcrypto_the_rest_is_said() {
    let place = Place::new();
    let (json, _) = detect(&place, &[("TENROUNDS_MODULE", "/nonexistent/tenrounds.so")]);
    assert!(json.at("/detect/provider/module").is_null());
    let mut tool = place.tool(["status", "--json"]);
    let done = tool.env("TENROUNDS_LIBCRYPTO", "/nonexistent/libcrypto.so");
    let done = done.done();
    assert_eq!(done.status, Some(1));
    assert!(valid(&done.out).at("/host/openssl").is_null());
    contains(&done.err, &["/nonexistent/libcrypto.so"]);
    assert_eq!(done.err.lines().count(), 1, "{}", done.err);
}
