// SPDX-License-Identifier: BSD-2-Clause
//! `run --count` does not harm the command, leaves nothing behind, and reveals no secrets.

use crate::enable_support::{in_namespace, Machine};
use crate::json::valid;
use crate::run_reach::compile;
use crate::support::{contains, Finish, Place};
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const ENC: &str = "openssl enc -aes-128-ctr -K 000102030405060708090a0b0c0d0e0f -iv f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

/// Every directory in which the tool could store a file is on a full disk.
#[test]
fn a_full_disk_does_not_harm_the_command() {
    let machine = Machine::bare();
    let script = format!(
        "mount -t tmpfs -o size=64k tmpfs \"$2\"\n\
         export TMPDIR=\"$2\" XDG_CACHE_HOME=\"$2/cache\" HOME=\"$2\"\n\
         \"$1\" run -- true\n\
         dd if=/dev/zero of=\"$2/filler\" bs=4096 2>&1 | grep -q 'No space left'\n\
         ! echo text >\"$2/more\" || exit 9\n\
         head -c 65536 /dev/zero | \"$1\" run --count -- {ENC} | wc -c"
    );
    if let Some(done) = in_namespace(&machine, &script) {
        let done = done.ok();
        assert_eq!(done.out.trim(), "65536", "{done:?}");
        contains(&done.err, &["loaded 1 time", "ctr", "65,536"]);
    }
}

#[test]
fn without_proc_it_counts_by_an_inherited_descriptor() {
    let machine = Machine::bare();
    let script = format!(
        "\"$1\" run -- true; mount -t tmpfs tmpfs /proc\n\
         head -c 65536 /dev/zero | \"$1\" run --count -- {ENC} | wc -c"
    );
    if let Some(done) = in_namespace(&machine, &script) {
        contains(&done.ok().err, &["loaded 1 time", "ctr", "65,536"]);
    }
}

/// If there is no memory for the counters, the command still runs, and its exit status is kept.
/// Files may have 32 blocks of 512 bytes, or of 1 KiB in some shells. The counters need 64 KiB. A
/// limit of 0 would end the emulator of scripts/arm, which writes /proc/self/maps to a file.
#[test]
fn a_command_that_cannot_be_counted_still_runs() {
    let place = Place::new();
    place.tool(["run", "--", "true"]).done().ok();
    let script = format!(
        "ulimit -f 32; exec {} run --count -- sh -c 'openssl rand -hex 4; exit 7'",
        crate::support::TOOL
    );
    let done = place.program("sh").args(["-c", &script]).done();
    assert_eq!(done.status, Some(7), "{done:?}");
    assert_eq!(done.out.trim().len(), 8);
    contains(&done.err, &["File too large", "the command runs uncounted"]);
}

#[test]
fn a_killed_tool_leaves_nothing_behind() {
    let place = Place::new();
    let mut tool = place.tool(["run", "--count", "--", "sh", "-c", "echo ready; read line"]);
    let mut tool = tool
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(tool.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    tool.kill().unwrap();
    // wait() closes the standard input of the command, which outlived the tool and now ends.
    tool.wait().unwrap();
    let kept = std::fs::read_dir(place.path("cache/tenrounds")).unwrap();
    let kept: Vec<String> = kept
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].starts_with("openssl-") && kept[0].ends_with(".cnf"));
}

#[test]
fn arguments_are_not_stored() {
    let place = Place::new();
    let file = place.path("counts.json");
    let text = place.file("text", "to be encrypted");
    let mut tool = place.tool(["run", "--count", "--json", "--output"]);
    tool.arg(&file)
        .args(["--", "openssl", "enc", "-aes-128-ctr"]);
    tool.args(["-pass", "pass:swordfish", "-pbkdf2", "-out", "/dev/null"])
        .arg("-in")
        .arg(text)
        .done()
        .ok();
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("swordfish"), "{text}");
    let counts = valid(&text);
    assert_eq!(*counts.at("/run/command"), serde_json::json!(["openssl"]));
    assert!(!counts.list("/run/executed").is_empty());
}

#[test]
fn a_file_gets_the_text_without_colours() {
    let place = Place::new();
    let mut tool = place.tool(["run", "--count", "--output", "counts", "--"]);
    let tool = tool.args(["openssl", "rand", "-hex", "8"]);
    assert_eq!(tool.env("CLICOLOR_FORCE", "1").done().ok().err, "");
    let text = std::fs::read_to_string(place.path("counts")).unwrap();
    contains(&text, &["loaded"]);
    assert!(!text.contains('\x1b'), "{text:?}");
}

/// OpenSSL's random generator uses AES up to 3.3, and no mode that the program asked for.
#[test]
fn the_random_generator_alone_is_not_reached() {
    let place = Place::new();
    let mut tool = place.tool(["run", "--count", "--", "openssl", "rand", "-hex", "8"]);
    let said = tool.done().ok().err;
    contains(&said, &["other ciphers", "loaded"]);
    // With OpenSSL 3.6, nothing asks tenrounds for the generator's AES.
    let is_honest = |words: &&str| said.contains(*words);
    assert!(
        ["cannot be told", "executed nothing"].iter().any(is_honest),
        "{said}"
    );
    assert!(!said.contains("tenrounds reached this command: "), "{said}");
    let json = [
        "run", "--count", "--json", "--", "openssl", "rand", "-hex", "8",
    ];
    let counts = valid(&place.tool(json).done().ok().err);
    assert_eq!(*counts.at("/run/reached"), false);
}

/// The random generator does no CBC, so a short message is told from it.
#[test]
fn a_short_message_is_reached() {
    let place = Place::new();
    let encrypt = ["enc", "-aes-256-cbc", "-pbkdf2", "-pass", "pass:x"];
    let run = |options: &[&str]| {
        let mut tool = place.tool(["run", "--count"]);
        let tool = tool.args(options).args(["--", "openssl"]).args(encrypt);
        tool.arg("-out").arg("/dev/null").done().ok().err
    };
    let said = run(&[]);
    contains(&said, &["tenrounds reached this command", "cbc_encrypt"]);
    assert_eq!(*valid(&run(&["--json"])).at("/run/reached"), true);
}

/// Whether a static program is reached is told after it ran, not before.
#[test]
fn a_note_on_the_program_does_not_contradict_the_counts() {
    let place = Place::new();
    let program = compile(
        &place,
        "static",
        "int main(void) { return 0; }",
        &["-static"],
    );
    let said = |options: &[&str]| {
        let mut tool = place.tool(["run"]);
        tool.args(options).arg("--").arg(&program).done().ok().err
    };
    contains(&said(&[]), &["is statically linked"]);
    let counted = said(&["--count"]);
    let lines = counted.split_whitespace().collect::<Vec<_>>().join(" ");
    let verdict = lines.find("tenrounds executed nothing").unwrap();
    assert!(
        lines.find("is statically linked").unwrap() > verdict,
        "{lines}"
    );
}
