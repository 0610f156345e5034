// SPDX-License-Identifier: BSD-2-Clause
//! Errors name the actual cause, and give no advice that cannot help.

use crate::enable_support::{in_namespace, namespace, Machine, DEBIAN};
use crate::support::{contains, module, Done, Finish, Place};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

fn without(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} in:\n{text}");
    }
}

/// An executable file.
fn script(place: &Place, text: &str) -> String {
    let path = place.file("script", text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn a_command_that_is_there_and_does_not_start() {
    let place = Place::new();
    let said = |program: &str| {
        let run = place.tool(["run", "--", program]).done().failed(126);
        let counted = place.tool(["run", "--count", "--", program]).done();
        assert_eq!(counted.failed(126), run);
        without(&run, &["command not found"]);
        run
    };
    contains(
        &said(&script(&place, "#!/no/such/interpreter -x\n")),
        &["script", "the interpreter that its first line names"],
    );
    contains(&said("/etc"), &["/etc: cannot be executed"]);
    let plain = place.file("plain", "text").display().to_string();
    contains(&said(&plain), &["chmod +x", &plain]);
}

#[test]
fn a_negative_number_is_not_an_option() {
    let place = Place::new();
    for (option, words) in [
        ("--seconds", "from 0.01 to 3600"),
        ("--bytes", "number of bytes from 1"),
        ("--threads", "say 1 to 1024"),
    ] {
        let mut tool = place.tool(["bench", "aes-128-ctr", option, "-1"]);
        let said = tool.done().failed(2);
        contains(&said, &["'-1'", option, words]);
        without(&said, &["unexpected argument", "tip:"]);
    }
}

/// Without --, the words of a command are names of processes.
#[test]
fn a_command_follows_two_hyphens() {
    let place = Place::new();
    let hint = "write -- before it: tenrounds trace -- COMMAND";
    for command in [&["trace"][..], &["trace", "--live"]] {
        for line in [
            &["openssl", "speed", "-evp", "aes-128-ctr"][..],
            &["--nonsense"],
        ] {
            let said = place.tool(command).args(line).done().failed(2);
            contains(&said, &["unexpected argument", hint]);
            without(&said, &["as a value"]);
        }
        let said = place.tool(command).arg("--jsn").done().failed(2);
        contains(&said, &["'--json'"]);
        without(&said, &["write --"]);
        let mut tool = place.tool(command);
        contains(
            &tool.args(["no-such-name", "speed"]).done().failed(1),
            &[
                "no process has the name 'no-such-name'",
                "write -- before it: -- no-such-name speed",
            ],
        );
    }
    let said = place.tool(["trace", "4194304"]).done().failed(1);
    contains(
        &said,
        &["no process has the name '4194304'", "use -p 4194304"],
    );
    // Not an algorithm either.
    let said = place.tool(["bench", "--evp"]).done().failed(2);
    without(&said, &["-- --evp"]);
}

#[test]
fn an_unknown_algorithm_is_told_which_there_are() {
    let place = Place::new();
    for name in ["aes-512", "AES-64-ctr", "des", "aes-256-xyz"] {
        let said = place.tool(["bench", name]).done().failed(2);
        contains(&said, &[name, "aes-{128,192,256}-MODE"]);
    }
    let said = place.tool(["bench", "aes-192-gmc"]).done().failed(2);
    contains(&said, &["did you mean 'aes-192-gcm'?"]);
}

/// Damaged providers, and the words that describe them: truncated ones, and a file of another kind.
fn damaged(place: &Place) -> Vec<(Vec<u8>, String)> {
    let whole = fs::read(module()).unwrap();
    let cut = |len: usize| {
        let words = format!("it is truncated to {len} of {} bytes", whole.len());
        (whole[..len].to_vec(), words)
    };
    let program = fs::read(place.tool(["--help"]).get_program()).unwrap();
    vec![
        cut(20_000),
        cut(whole.len() / 2),
        cut(whole.len() - 1),
        (whole[..10].to_vec(), "is not a complete ELF file".into()),
        (Vec::new(), "is not a complete ELF file".into()),
        (program, "does not define OSSL_provider_init()".into()),
    ]
}

#[test]
fn a_damaged_module_is_named() {
    let place = Place::new();
    let path = place.path("tenrounds.so");
    let name = path.display().to_string();
    for (content, words) in damaged(&place) {
        fs::write(&path, content).unwrap();
        let words = [&name, "is damaged", &words, "install tenrounds again"];
        for line in [&["run", "--", "true"][..], &["enable"]] {
            let mut tool = place.tool(line);
            let tool = tool
                .env("TENROUNDS_MODULE", &path)
                .env("HOME", place.path(""));
            contains(&tool.done().failed(1), &words);
        }
        let mut status = place.tool(["status"]);
        let done = status.env("TENROUNDS_MODULE", &path).done().ok();
        contains(&done.err, &words);
    }
}

#[test]
fn a_broken_module_of_the_system_is_undone_for_the_system() {
    let machine = Machine::debian(DEBIAN);
    let copy = machine.write("/usr/lib/tenrounds.so", fs::read(module()).unwrap());
    let done = |line: &[&str]| {
        let mut tool = machine.tool(line);
        tool.env("TENROUNDS_MODULE", &copy).done()
    };
    done(&["enable", "--system"]).ok();
    done(&["enable"]).ok();
    // A new file, because a process may have mapped the old one.
    let whole = fs::read(&copy).unwrap();
    fs::remove_file(&copy).unwrap();
    fs::write(&copy, &whole[..whole.len() / 2]).unwrap();
    let status = done(&["status"]);
    let said = format!("{}{}", status.out, status.err);
    assert_eq!(status.status, Some(1), "{said}");
    contains(
        &status.err,
        &[
            "is damaged: it is truncated",
            "to disable tenrounds: tenrounds disable --system",
        ],
    );
    contains(&said, &["to disable tenrounds: tenrounds disable\n"]);
    done(&["disable", "--system"]).ok();
    done(&["disable"]).ok();
}

/// The text and the error together give each reason once.
#[test]
fn a_refusal_gives_its_reason_once() {
    let machine = Machine::debian(&format!("{DEBIAN}[broken\n"));
    let count = |done: &Done, words: &str| {
        let said = format!("{}{}", done.out, done.err);
        assert_eq!(said.matches(words).count(), 1, "{said}");
    };
    let refused = machine.enable();
    assert_eq!(refused.status, Some(1));
    count(&refused, "no ']' after");
    // The reason of a second site is shown too.
    machine.openssl("/usr/local/bin/openssl", "/usr/local/ssl");
    machine.write("/usr/local/ssl/openssl.cnf", format!("{DEBIAN}[broken\n"));
    let refused = machine.enable();
    contains(&refused.err, &["(and 1 more)"]);
    let said = format!("{}{}", refused.out, refused.err);
    let reasons = said.matches("no ']' after").count();
    assert_eq!(reasons, 2, "{said}");
}

#[test]
fn a_home_that_cannot_be_written() {
    let machine = Machine::debian(DEBIAN);
    let script = "mount -t tmpfs -o ro tmpfs \"$HOME\"\nexec \"$1\" enable --root \"$2\"";
    if let Some(done) = in_namespace(&machine, script) {
        let said = done.failed(1);
        contains(&said, &["Read-only file system", "XDG_CONFIG_HOME"]);
        without(&said, &["--user"]);
    }
    let home = machine.place.path("home");
    fs::set_permissions(&home, fs::Permissions::from_mode(0o555)).unwrap();
    // SAFETY: geteuid() has no requirements.
    if unsafe { libc::geteuid() } != 0 {
        let said = machine.tool(&["enable"]).done().failed(1);
        contains(&said, &["Permission denied", "XDG_CONFIG_HOME"]);
        without(&said, &["--user", "sudo"]);
    } else if let Some(mut shell) = namespace() {
        // As root, but without the capabilities that override file permissions.
        let mut tool = machine.tool(&["enable"]);
        tool.uid(0);
        let drop =
            "exec setpriv --bounding-set -dac_override,-dac_read_search --inh-caps -all \"$@\"";
        shell.args(["sh", "-c", drop, "sh"]);
        shell.arg(tool.get_program()).args(tool.get_args());
        machine.at_home(&mut shell);
        let said = shell.env("TENROUNDS_MODULE", module()).done();
        contains(&said.err, &["Permission denied", "this is root already"]);
        without(&said.err, &["sudo"]);
    }
}

/// Only TMPDIR moves the directory in which a dry run tries things.
#[test]
fn a_dry_run_without_a_directory_for_trials() {
    let machine = Machine::debian(DEBIAN);
    let mut tool = machine.tool(&["enable", "--dry-run"]);
    let said = tool.env("TMPDIR", "/nonexistent").done().failed(1);
    contains(
        &said,
        &["/nonexistent/", "set TMPDIR to a writable directory"],
    );
    without(&said, &["XDG_"]);
}

#[test]
fn disable_does_not_describe_what_enable_does() {
    let place = Place::new();
    let help = place.tool(["disable", "-h"]).done().ok().out;
    without(
        &help,
        &[
            "becomes the first provider",
            "each loads the PKCS#11 module",
        ],
    );
}

/// Behind "--" these commands take algorithms or a command, and no option as a value.
#[test]
fn an_unknown_option_is_no_value() {
    let place = Place::new();
    for command in ["run", "bench", "trace"] {
        let said = place.tool([command, "--nonsense"]).done().failed(2);
        contains(&said, &["'--nonsense'"]);
        without(&said, &["as a value"]);
    }
    let said = place.tool(["scan", "--nonsense"]).done().failed(2);
    contains(&said, &["as a value, use '-- --nonsense'"]);
}
