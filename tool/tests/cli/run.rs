// SPDX-License-Identifier: BSD-2-Clause
//! `run`: what the command sees, what it executed, and how it ends.

use crate::json::{valid, Document};
use crate::support::{contains, faulty_module, Finish, Place, WITHOUT_AES};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const ENC: [&str; 6] = [
    "enc",
    "-aes-128-ctr",
    "-K",
    "000102030405060708090a0b0c0d0e0f",
    "-iv",
    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
];

/// Runs a shell script under `run --count` and returns the counts.
fn counted(place: &Place, options: &[&str], script: &str) -> Document {
    let file = place.path("counts.json");
    let mut tool = place.tool(["run", "--count", "--json", "--output"]);
    tool.arg(&file);
    tool.args(options)
        .args(["--", "sh", "-c", script])
        .done()
        .ok();
    valid(&std::fs::read_to_string(&file).unwrap())
}

/// The backends that executed an operation.
fn backends(counts: &Document, operation: &str) -> Vec<String> {
    let executed = counts.list("/run/executed");
    let of_it = executed.iter().filter(|e| e["operation"] == operation);
    of_it
        .map(|e| e["backend"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn bytes_are_the_same_and_our_code_executed() {
    let place = Place::new();
    let plain = place.file("plain", &"tenrounds ".repeat(20_000));
    let encrypt = |tool: &mut std::process::Command, out: &str| {
        tool.args(ENC)
            .arg("-in")
            .arg(&plain)
            .arg("-out")
            .arg(place.path(out))
            .done()
            .ok();
    };
    encrypt(&mut place.program("openssl"), "stock");
    let mut ours = place.tool(["run", "--count", "--json", "--output"]);
    ours.arg(place.path("counts.json")).args(["--", "openssl"]);
    encrypt(&mut ours, "ours");
    let read = |name: &str| std::fs::read(place.path(name)).unwrap();
    assert!(read("stock") == read("ours"), "the ciphertexts differ");
    let counts = valid(&std::fs::read_to_string(place.path("counts.json")).unwrap());
    let bytes: u64 = counts
        .list("/run/executed")
        .iter()
        .map(|e| e["bytes"].as_u64().unwrap())
        .sum();
    assert!(bytes >= 200_000, "{counts:?}");
    assert_eq!(backends(&counts, "ctr").len(), 1);
}

#[test]
fn children_of_children_are_counted() {
    let place = Place::new();
    let enc = ENC.join(" ");
    let script =
        format!("for i in 1 2 3; do head -c 4096 /dev/zero | openssl {enc}; done >/dev/null");
    let counts = counted(&place, &[], &script);
    assert_eq!(counts.at("/run/loaded"), 3);
    let bytes: u64 = counts
        .list("/run/executed")
        .iter()
        .map(|e| e["bytes"].as_u64().unwrap())
        .sum();
    assert!(bytes >= 3 * 4096, "{counts:?}");
}

#[test]
fn a_mask_takes_effect_on_what_runs() {
    let place = Place::new();
    let script = format!(
        "head -c 65536 /dev/zero | openssl {} >/dev/null",
        ENC.join(" ")
    );
    let counts = counted(&place, &["--mask", "noaes"], &script);
    assert_eq!(backends(&counts, "ctr"), [WITHOUT_AES]);
    assert_eq!(
        counts.list("/host/masks/TENROUNDS_MASK/removes"),
        [serde_json::json!("aes")]
    );
    let plain = counted(&place, &[], &script);
    let selected = valid(&place.tool(["status", "--json"]).done().ok().out);
    let ctr = selected
        .list("/detect/table")
        .into_iter()
        .find(|row| row["mode"] == "ctr")
        .unwrap();
    assert_eq!(backends(&plain, "ctr"), [ctr["backend"].as_str().unwrap()]);
}

#[cfg(not(target_arch = "aarch64"))]
#[test]
fn a_mask_is_echoed_in_hex_and_reaches_stock_code_alone() {
    let place = Place::new();
    let mut tool = place.tool([
        "run",
        "--mask",
        "noaes,noclmul",
        "--",
        "openssl",
        "version",
        "-c",
    ]);
    let done = tool.done().ok();
    contains(
        &done.err,
        &[
            "TENROUNDS_MASK=noaes,noclmul",
            "OPENSSL_ia32cap=~0x200000200000000:~0x0",
        ],
    );
    contains(&done.out, &["env:~0x200000200000000:~0x0"]);
    // What was in the environment stays in force.
    let mut tool = place.tool(["run", "--mask", "noaes", "--", "env"]);
    tool.env("TENROUNDS_MASK", "novaes")
        .env("OPENSSL_ia32cap", "~0x200000000:~0");
    contains(
        &tool.done().ok().out,
        &[
            "TENROUNDS_MASK=noaes,novaes\n",
            "OPENSSL_ia32cap=~0x200000200000000:~0x20000000000:",
        ],
    );
}

/// OPENSSL_armcap replaces what libcrypto found, so the value has all other bits. SHA3, which
/// OpenSSL 3.0 does not report, stays for a later libcrypto.
#[cfg(target_arch = "aarch64")]
#[test]
fn a_mask_is_echoed_in_hex_and_reaches_stock_code_alone() {
    let place = Place::new();
    let mut plain = place.program("openssl");
    let says = plain.args(["version", "-c"]).done().ok().out;
    let found = says.trim().strip_prefix("CPUINFO: OPENSSL_armcap=0x");
    let found = u64::from_str_radix(found.expect(&says), 16).unwrap();
    let sha3 = match std::arch::is_aarch64_feature_detected!("sha3") {
        true => 1 << 11,
        false => 0,
    };
    let value = format!("{:#x}", (found | sha3) & !0x24);
    let run = ["run", "--mask", "noaes,noclmul", "--"];
    let done = place
        .tool(run)
        .args(["openssl", "version", "-c"])
        .done()
        .ok();
    let variables = [
        "TENROUNDS_MASK=noaes,noclmul",
        &format!("OPENSSL_armcap={value}"),
    ];
    contains(&done.err, &variables);
    contains(&done.out, &[&format!("env:{value}")]);
    // What was in the environment stays in force.
    let mut tool = place.tool(["run", "--mask", "noaes", "--", "env"]);
    tool.env("TENROUNDS_MASK", "nosha3")
        .env("OPENSSL_armcap", "0x825");
    contains(
        &tool.done().ok().out,
        &["TENROUNDS_MASK=noaes,nosha3\n", "OPENSSL_armcap=0x21\n"],
    );
}

#[test]
fn a_wrong_mask_in_the_environment_stops_it() {
    let place = Place::new();
    let mut tool = place.tool(["run", "--", "touch", "ran"]);
    let said = tool.env("TENROUNDS_MASK", "noaes,novase").done().failed(2);
    contains(&said, &["TENROUNDS_MASK", "'novase'", "mean 'novaes'"]);
    assert!(!place.path("ran").exists());
}

#[test]
fn the_counts_are_shown_after_the_command() {
    let place = Place::new();
    let script = format!(
        "head -c 1000000 /dev/zero | openssl {} | wc -c",
        ENC.join(" ")
    );
    let done = place
        .tool(["run", "--count", "--", "sh", "-c", &script])
        .done()
        .ok();
    assert_eq!(done.out.trim(), "1000000");
    contains(&done.err, &["loaded 1 time", "ctr", "1,000,000"]);
    let done = place
        .tool(["run", "--count", "--json", "--", "true"])
        .done()
        .ok();
    assert_eq!(valid(&done.err).list("/run/executed").len(), 0);
}

#[test]
fn nothing_executed_is_said_plainly() {
    let place = Place::new();
    let done = place.tool(["run", "--count", "--", "true"]).done().ok();
    contains(
        &done.err,
        &[
            "executed nothing",
            "No process that can be counted loaded the provider or the PKCS#11 module",
        ],
    );
    let done = place
        .tool(["run", "--count", "--", "openssl", "version"])
        .done()
        .ok();
    contains(&done.err, &["executed nothing"]);
}

#[test]
fn standard_input_and_arguments_pass_through() {
    let place = Place::new();
    for options in [&["run", "--"][..], &["run", "--count", "--"]] {
        let mut tool = place.tool(options);
        tool.args(["sh", "-c", "cat; echo \"$@\"", "-", "--json", "a b"]);
        let mut child = tool
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(b"from outside\n")
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "from outside\n--json a b\n"
        );
    }
}

#[test]
fn exit_statuses_pass_through() {
    let place = Place::new();
    for status in [0, 1, 2, 77, 126, 127, 255] {
        let exit = format!("exit {status}");
        assert_eq!(
            place.tool(["run", "--", "sh", "-c", &exit]).done().status,
            Some(status)
        );
        assert_eq!(
            place
                .tool(["run", "--count", "--", "sh", "-c", &exit])
                .done()
                .status,
            Some(status)
        );
    }
}

#[test]
fn a_command_that_cannot_be_run_ends_as_in_a_shell() {
    let place = Place::new();
    let plain = place.file("plain", "text");
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o644)).unwrap();
    for options in [&["run", "--"][..], &["run", "--count", "--"]] {
        let said = place
            .tool(options)
            .arg("no-such-command")
            .done()
            .failed(127);
        contains(&said, &["no-such-command", "not found"]);
        let said = place.tool(options).arg(&plain).done().failed(126);
        contains(&said, &["plain", "cannot be executed"]);
    }
}

#[test]
fn print_env_can_be_evaluated_by_a_shell() {
    let place = Place::new();
    let cache = place.path("it's a \"cache\" $HOME");
    let lines = place
        .tool(["run", "--print-env", "--mask", "novaes"])
        .env("XDG_CACHE_HOME", &cache)
        .done()
        .ok();
    assert_eq!(lines.out.lines().count(), 3);
    let script = format!("{}\nopenssl list -providers; env", lines.out);
    let done = place.program("sh").args(["-c", &script]).done().ok();
    let mask = match cfg!(target_arch = "aarch64") {
        true => "OPENSSL_armcap=0x", // Arm has no VAES to remove
        false => "OPENSSL_ia32cap=~0x0:~0x20000000000",
    };
    contains(&done.out, &["tenrounds", "TENROUNDS_MASK=novaes", mask]);
    assert!(!done.err.contains("rror"), "{}", done.err);
}

#[test]
fn a_failed_known_answer_is_said_and_the_next_backend_does_the_work() {
    let place = Place::new();
    let selected = valid(&place.tool(["status", "--json"]).done().ok().out);
    let strongest = selected.text("/detect/backend");
    let text = place.file("text", "to be encrypted");
    let mut tool = place.faulty_tool(["run", "--count", "--json", "--", "openssl", "enc"]);
    let key =
        "-aes-128-ctr -K 000102030405060708090a0b0c0d0e0f -iv 00000000000000000000000000000000";
    tool.args(key.split(' ')).args(["-out", "/dev/null", "-in"]);
    tool.arg(text).env("TENROUNDS_MODULE", faulty_module());
    let done = tool.env("TENROUNDS_SABOTAGE", &strongest).done().ok();
    let (warning, json) = done.err.split_once('\n').unwrap();
    contains(
        warning,
        &["tenrounds: backend", &strongest, "failed its known answers"],
    );
    let counts = valid(json);
    let executed = counts.list("/run/executed");
    assert!(!executed.is_empty());
    assert!(
        executed.iter().all(|e| e["backend"] != strongest),
        "{executed:?}"
    );
}

/// Machines of a pool that show unlike processors: what one encrypts another decrypts, and each
/// executes only what its processor may.
#[test]
fn processes_with_unlike_processors_understand_each_other() {
    let place = Place::new();
    let text = place.file("text", &"0123456789".repeat(7000));
    let key = ["-K", "000102030405060708090a0b0c0d0e0f", "-iv", "00"];
    let masks = ["", "noavx512", "novaes", "noclmul", "noaes"];
    let backends = |counts: &Path| -> Vec<String> {
        let counts = valid(&std::fs::read_to_string(counts).unwrap());
        let executed = counts.list("/run/executed").into_iter();
        executed
            .map(|e| e["backend"].as_str().unwrap().to_owned())
            .collect()
    };
    let crypt = |mask: &str, input: &Path, output: &Path, direction: &str| {
        let counts = place.path("counts.json");
        let mut tool = place.tool(["run", "--count", "--json", "--output"]);
        tool.arg(&counts);
        tool.args(["--mask", mask].iter().filter(|_| !mask.is_empty()));
        tool.args(["--", "openssl", "enc", "-aes-128-cbc", direction])
            .args(key);
        tool.arg("-in")
            .arg(input)
            .arg("-out")
            .arg(output)
            .done()
            .ok();
        let ran = backends(&counts);
        assert!(!ran.is_empty());
        let allowed = |name: &String| match mask {
            "noavx512" => !name.contains("512"),
            "novaes" => !name.starts_with("vaes"),
            "noclmul" => !name.starts_with("vaes") || name.ends_with("-noclmul"),
            "noaes" => name.starts_with("vperm") || name.starts_with("bitslice"),
            _ => true,
        };
        assert!(ran.iter().all(allowed), "{mask}: {ran:?}");
    };
    let sealed: Vec<PathBuf> = masks
        .iter()
        .map(|mask| {
            let output = place.path(&format!("sealed-{mask}"));
            crypt(mask, &text, &output, "-e");
            output
        })
        .collect();
    let whole = std::fs::read(&text).unwrap();
    for (mask, sealed) in masks.iter().zip(sealed.iter().cycle().skip(1)) {
        let opened = place.path("opened");
        crypt(mask, sealed, &opened, "-d");
        assert_eq!(std::fs::read(&opened).unwrap(), whole, "{mask}");
    }
}
