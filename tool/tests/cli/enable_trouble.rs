// SPDX-License-Identifier: BSD-2-Clause
//! `enable --system` where something is broken, in the way, or ends too soon: afterwards OpenSSL is
//! as it was or as wished, never half.

use crate::enable_support::{in_namespace, Machine, DEBIAN};
use crate::support::{contains, skip, until, Finish, TOOL};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};

const CONF: &str = "/etc/ssl/openssl.cnf";
const OWN: &str = "/etc/ssl/tenrounds.cnf";
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/openssl.cnf");

/// What a fixture says in its comment `# expect enabled: WORDS` or `# expect refused: WORDS`.
fn expectation(text: &[u8]) -> (bool, String) {
    let text = String::from_utf8_lossy(text).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("# expect "));
    let (verdict, words) = line
        .and_then(|l| l.trim().split_once(':'))
        .expect("an expectation");
    assert!(["enabled", "refused"].contains(&verdict), "{verdict}");
    (verdict == "enabled", words.trim().to_owned())
}

fn replaced(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(from.len()).position(|w| w == from.as_bytes()) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to.as_bytes());
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

#[test]
fn every_broken_configuration_is_enabled_or_refused_as_its_comment_says() {
    let fixtures = fs::read_dir(FIXTURES).unwrap();
    let mut count = 0;
    for fixture in fixtures.map(|entry| entry.unwrap().path()) {
        let text = fs::read(&fixture).unwrap();
        let (enabled, words) = expectation(&text);
        let machine = Machine::debian("");
        let text = replaced(&text, "@ROOT@", machine.root.to_str().unwrap());
        let text = replaced(&text, "@FIXTURES@", FIXTURES);
        machine.write(CONF, &text);
        let (before, worked) = (machine.tree(), machine.works(CONF));
        let done = machine.enable();
        let said = format!("{}{}", done.out, done.err);
        assert_eq!(
            done.status == Some(0),
            enabled,
            "{}: {said}",
            fixture.display()
        );
        contains(&said, &[&words]);
        match enabled {
            true => {
                assert!(machine.works(CONF), "{}", fixture.display());
                contains(&machine.providers(CONF), &["default", "tenrounds"]);
                machine.disable().ok();
            }
            false => {
                done.failed(1);
            }
        }
        assert_eq!(machine.tree(), before, "{}", fixture.display());
        assert_eq!(machine.works(CONF), worked, "{}", fixture.display());
        count += 1;
    }
    assert!(count >= 20, "{count} fixtures");
}

#[test]
fn what_is_no_file_is_refused() {
    let machine = Machine::debian("");
    let refused = |words: &str| {
        let before = machine.tree();
        contains(&machine.enable().failed(1), &[words]);
        assert_eq!(machine.tree(), before);
        fs::remove_dir_all(machine.at("/etc/ssl")).unwrap();
        fs::create_dir(machine.at("/etc/ssl")).unwrap();
    };
    fs::remove_file(machine.at(CONF)).unwrap();
    fs::create_dir(machine.at(CONF)).unwrap();
    refused("is not a regular file");
    machine.link(CONF, "openssl.cnf");
    refused("fix the symbolic links");
    machine.link(CONF, "../there/is/none.cnf");
    refused("does not exist; fix or remove the link");
    machine.link(CONF, "/dev/null");
    refused("is not a regular file");
    machine.write(CONF, vec![b'#'; (4 << 20) + 1]);
    refused("4194305 bytes");
    let first = machine.write(CONF, DEBIAN);
    fs::hard_link(first, machine.at("/etc/ssl/second.cnf")).unwrap();
    refused("2 names (hard links)");
    machine.write(CONF, DEBIAN);
    machine.write(OWN, "somebody's own\n");
    refused("did not write it; move it away");
    machine.write(CONF, DEBIAN);
    machine.link(OWN, "/dev/null");
    refused("did not write it; move it away");
}

#[test]
fn links_are_followed_and_stay() {
    let machine = Machine::debian("");
    fs::remove_file(machine.at(CONF)).unwrap();
    machine.write("/srv/shared/the one.cnf", DEBIAN);
    machine.link("/etc/ssl/middle.cnf", "../../srv/shared/the one.cnf");
    machine.link(CONF, "middle.cnf");
    let before = machine.tree();
    machine.enable().ok();
    assert!(machine.at(CONF).is_symlink() && machine.at("/etc/ssl/middle.cnf").is_symlink());
    assert!(machine.at("/srv/shared/tenrounds.cnf").is_file());
    contains(&machine.providers(CONF), &["tenrounds"]);
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

/// Runs the tool as somebody who may not do everything: this user, or of root's, nobody.
fn as_nobody(command: &mut std::process::Command) -> &mut std::process::Command {
    const NOBODY: u32 = 65534;
    // SAFETY: geteuid() has no requirements.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

#[test]
fn without_the_right_to_read_or_write_nothing_happens() {
    // Nobody may not be let into the build directory.
    let dir = std::env::temp_dir().join(format!("tenrounds-nobody-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let tool = dir.join("tenrounds");
    fs::copy(TOOL, &tool).unwrap();
    let provider = dir.join("tenrounds.so");
    fs::copy(crate::support::module(), &provider).unwrap();
    let machine = Machine::debian(DEBIAN);
    let root = dir.join("root");
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(&machine.root)
        .arg(&root)
        .status();
    assert!(copied.unwrap().success());
    let nobody = |args: &[&str]| {
        let mut command = machine.place.program(&tool);
        command
            .args(args)
            .arg("--root")
            .arg(&root)
            .env("TENROUNDS_MODULE", &provider);
        command
            .env("XDG_CACHE_HOME", "/nonexistent")
            .env("TMPDIR", "/tmp")
            .current_dir("/");
        machine.at_home(&mut command);
        as_nobody(&mut command).done()
    };
    let set = |path: &str, mode: u32| {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    for path in ["var", "var/lib"] {
        let _ = fs::create_dir(root.join(path));
    }
    set("var/lib", 0o555);
    contains(
        &nobody(&["enable", "--system"]).failed(1),
        &["var/lib/tenrounds", "run it as root (sudo)"],
    );
    set("var/lib", 0o777);
    set("etc/ssl/openssl.cnf", 0o000);
    contains(
        &nobody(&["enable", "--system"]).failed(1),
        &["openssl.cnf: Permission denied"],
    );
    contains(&nobody(&["status"]).ok().out, &["Permission denied"]);
    set("etc/ssl/openssl.cnf", 0o444);
    set("etc/ssl", 0o555);
    contains(
        &nobody(&["enable", "--system"]).failed(1),
        &["tenrounds.cnf", "Permission denied", "all is as it was"],
    );
    assert_eq!(
        fs::read(root.join("etc/ssl/openssl.cnf")).unwrap(),
        DEBIAN.as_bytes()
    );
    assert!(!root.join("var/lib/tenrounds").exists());
    set("etc/ssl", 0o755);
    fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn a_read_only_etc() {
    let machine = Machine::debian(DEBIAN);
    let before = machine.tree();
    let script = "mount --bind \"$2/etc\" \"$2/etc\"; mount -o remount,ro,bind \"$2/etc\"\n\
                  exec \"$1\" enable --system --root \"$2\"";
    let Some(done) = in_namespace(&machine, script) else {
        return;
    };
    contains(
        &done.failed(1),
        &[
            "Read-only file system",
            "make that file system writable",
            "all is as it was",
        ],
    );
    assert_eq!(machine.tree(), before);

    machine.enable().ok();
    let enabled = machine.read(CONF);
    let done = in_namespace(
        &machine,
        &script.replace("enable --system", "disable --system"),
    )
    .unwrap();
    contains(&done.failed(1), &["Read-only file system"]);
    assert_eq!(machine.read(CONF), enabled);
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

#[test]
fn a_file_that_is_a_mount_point() {
    let machine = Machine::debian(DEBIAN);
    let before = machine.tree();
    let script = "mount --bind \"$2/etc/ssl/openssl.cnf\" \"$2/etc/ssl/openssl.cnf\"\n\
                  exec \"$1\" enable --system --root \"$2\"";
    let Some(done) = in_namespace(&machine, script) else {
        return;
    };
    contains(
        &done.failed(1),
        &["mount point cannot be replaced", "all is as it was"],
    );
    assert_eq!(machine.tree(), before);
}

/// A file system of 128 pages, of which `free` pages are left: from none to plenty.
#[test]
fn a_full_disk() {
    let machine = Machine::debian(&(DEBIAN.to_owned() + &"# padding\n".repeat(1000)));
    let script = "cp -a \"$2\" \"$2.copy\"; mount -t tmpfs -o size=512k tmpfs \"$2\"; cp -a \"$2.copy/.\" \"$2\"; cd \"$2\"\n\
        conf=etc/ssl/openssl.cnf; cp $conf \"$2.before\"; full=0 enabled=0\n\
        for free in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 22 24 32 40; do\n\
          dd if=/dev/zero of=filler bs=4096 2>/dev/null || true\n\
          size=$(stat -c %s filler); truncate -s $((size / 4096 * 4096 - free * 4096)) filler\n\
          if \"$1\" enable --system --root \"$2\" >\"$2.out\" 2>\"$2.err\"; then\n\
            OPENSSL_CONF=$conf openssl list -providers | grep -q tenrounds || { echo \"$free: enabled, not in force\"; exit 1; }\n\
            enabled=$((enabled + 1)); rm filler\n\
            \"$1\" disable --system --root \"$2\" >\"$2.out\"\n\
          else\n\
            grep -q 'No space left' \"$2.err\" || { echo \"$free:\"; cat \"$2.err\"; exit 1; }\n\
            full=$((full + 1)); rm filler\n\
          fi\n\
          cmp $conf \"$2.before\" && OPENSSL_CONF=$conf openssl rand -hex 4 >\"$2.out\"\n\
          left=$(ls -A etc/ssl | tr '\\n' ' '); [ \"$left\" = 'openssl.cnf ' ] || { echo \"$free: left $left\"; exit 1; }\n\
          [ ! -e var/lib/tenrounds ] || { echo \"$free: left $(ls var/lib/tenrounds)\"; exit 1; }\n\
        done\n\
        echo \"$full full, $enabled enabled\"; [ $full -gt 3 ] && [ $enabled -gt 1 ]";
    if let Some(done) = in_namespace(&machine, script) {
        println!("{}", done.ok().out);
    }
}

#[test]
fn several_at_the_same_moment() {
    let machine = Machine::debian(DEBIAN);
    let before = machine.tree();
    let start = |args: &[&str]| {
        let mut command = machine.tool(args);
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let all: Vec<_> = (0..4).map(|_| start(&["enable", "--system"])).collect();
    let mut words = Vec::new();
    for child in all {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        words.push(String::from_utf8(output.stdout).unwrap());
    }
    let already = words
        .iter()
        .filter(|w| w.contains("enabled already"))
        .count();
    assert_eq!(already, 3, "one does it, the others find it done");
    let mixed: Vec<_> = (0..6)
        .map(|i| start(&[["disable", "enable"][i % 2], "--system"]))
        .collect();
    for child in mixed {
        assert!(child.wait_with_output().unwrap().status.success());
        assert!(machine.works(CONF));
    }
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

/// Runs a command that kills itself at each change on the disk in turn, or at every so manieth;
/// `after` looks at what that leaves.
fn killed_everywhere(
    machine: &Machine,
    args: &[&str],
    stride: usize,
    prepare: &dyn Fn(),
    after: &mut dyn FnMut(u32),
) -> u32 {
    for step in (0..200).step_by(stride) {
        prepare();
        let output = machine.killed(args, step).output().unwrap();
        if output.status.success() {
            return step;
        }
        assert_eq!(output.status.signal(), Some(libc::SIGKILL), "{output:?}");
        after(step);
    }
    panic!("it never came to an end");
}

/// Whether doctor names an interrupted run. It has to if the state says that there is something to
/// undo, and openssl.cnf is as before.
fn named_by_doctor(machine: &Machine, step: u32, before: &[u8]) -> bool {
    let state = machine.at("/var/lib/tenrounds/enabled.json");
    let left = state.exists() && machine.read(CONF) == before;
    let named = machine.tool(&["doctor", "--json"]).done().out;
    let named = named.contains("\"enable-interrupted\"");
    assert_eq!(named, left, "step {step}");
    let status = machine.status().ok().out;
    assert_eq!(
        status.contains("interrupted"),
        left,
        "step {step}: {status}"
    );
    named
}

#[test]
fn killed_in_the_middle_of_enable() {
    let machine = Machine::debian(DEBIAN);
    // doctor does nothing without it.
    fs::create_dir(machine.at("/proc")).unwrap();
    let before = machine.tree();
    let (old, new) = (DEBIAN.as_bytes().to_vec(), {
        machine.enable().ok();
        let new = machine.read(CONF);
        machine.disable().ok();
        new
    });
    let mut named = 0;
    let steps = killed_everywhere(&machine, &["enable", "--system"], 1, &|| {}, &mut |step| {
        let now = machine.read(CONF);
        assert!(now == old || now == new, "step {step}: half");
        assert!(machine.works(CONF), "step {step}");
        if step % 3 == 0 {
            named += u32::from(named_by_doctor(&machine, step, &old));
        }
        if now == new {
            contains(&machine.providers(CONF), &["default", "tenrounds"]);
        }
        // One way on is to finish, the other to go back.
        if step % 2 == 0 {
            machine.enable().ok();
            assert_eq!(machine.read(CONF), new, "step {step}");
        }
        machine.disable().ok();
        assert_eq!(machine.tree(), before, "step {step}");
    });
    assert!(steps > 20 && named > 2, "{steps} steps, {named} named");
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

#[test]
fn doctor_names_a_state_that_cannot_be_read() {
    let machine = Machine::debian(DEBIAN);
    // doctor does nothing without it.
    fs::create_dir(machine.at("/proc")).unwrap();
    machine.enable().ok();
    let doctor = || machine.tool(&["doctor", "--json"]).done().out;
    assert!(!doctor().contains("\"enable-state\""));
    let state = machine.at("/var/lib/tenrounds/enabled.json");
    let whole = fs::read(&state).unwrap();
    fs::write(&state, &whole[..whole.len() / 2]).unwrap();
    contains(
        &doctor(),
        &[
            "\"enable-state\"",
            "enabled.json",
            "restore it, or remove it",
        ],
    );
    fs::write(&state, whole).unwrap();
    assert!(!doctor().contains("\"enable-state\""));
}

#[test]
fn a_state_of_another_version_is_named() {
    let machine = Machine::debian(DEBIAN);
    let state = "/var/lib/tenrounds/enabled.json";
    machine.write(state, r#"{"version": 1, "files": []}"#);
    contains(
        &machine.disable().failed(1),
        &["has version 1, and this tool knows 3"],
    );
}

#[test]
fn killed_in_the_middle_of_disable() {
    let machine = Machine::debian(DEBIAN);
    // doctor does nothing without it.
    fs::create_dir(machine.at("/proc")).unwrap();
    let before = machine.tree();
    let prepare = || {
        machine.enable().ok();
    };
    prepare();
    let enabled = machine.read(CONF);
    let mut named = 0;
    let command = ["disable", "--system"];
    let steps = killed_everywhere(&machine, &command, 1, &prepare, &mut |step| {
        assert!(machine.works(CONF), "step {step}");
        let now = machine.read(CONF);
        assert!(
            now == DEBIAN.as_bytes() || now == enabled,
            "step {step}: half"
        );
        named += u32::from(named_by_doctor(&machine, step, DEBIAN.as_bytes()));
        machine.disable().ok();
        assert_eq!(machine.tree(), before, "step {step}");
    });
    assert!(steps > 8 && named > 2, "{steps} steps, {named} named");
    assert_eq!(machine.tree(), before);
}

#[test]
fn killed_while_the_module_moves() {
    let machine = Machine::debian(DEBIAN);
    let before = machine.tree();
    let other = machine.place.path("tenrounds.so");
    fs::copy(crate::support::module(), &other).unwrap();
    let prepare = || {
        let mut tool = machine.tool(&["enable", "--system"]);
        tool.env("TENROUNDS_MODULE", &other).done().ok();
    };
    killed_everywhere(
        &machine,
        &["enable", "--system"],
        3,
        &prepare,
        &mut |step| {
            contains(&machine.providers(CONF), &["default", "tenrounds"]);
            assert!(machine.works(CONF), "step {step}");
        },
    );
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

/// An openssl that works in the trial, and not with the file in its place.
#[test]
fn what_fails_in_its_place_is_taken_back() {
    let machine = Machine::debian(DEBIAN);
    let fails = "case $OPENSSL_CONF in */trial/* | /dev/null) ;; *) echo 'not today' >&2; exit 1 ;; esac\nexec openssl \"$@\"";
    machine.script(
        "/usr/bin/openssl",
        "OpenSSL 3.0.0 7 sep 2021",
        "/usr/lib/ssl",
        fails,
    );
    let time = || fs::metadata(machine.at(CONF)).unwrap().modified().unwrap();
    let before = (machine.tree(), time());
    contains(
        &machine.enable().failed(1),
        &["not today", "all is as it was"],
    );
    assert_eq!((machine.tree(), time()), before);
}

/// An openssl that fails with the new file in its place, and blocks the way back.
#[test]
fn what_cannot_be_taken_back_is_undone_by_disable() {
    let machine = Machine::debian(DEBIAN);
    let way = machine.at("/etc/ssl/.openssl.cnf.tenrounds-new");
    let fails = format!(
        "case $OPENSSL_CONF in */trial/* | /dev/null) ;; *) mkdir -p '{}'; exit 1 ;; esac\n\
         exec openssl \"$@\"",
        way.display()
    );
    let version = "OpenSSL 3.0.0 7 sep 2021";
    machine.script("/usr/bin/openssl", version, "/usr/lib/ssl", &fails);
    let before = machine.tree();
    let said = machine.enable().failed(1);
    contains(
        &said,
        &[
            "it could not be undone: ",
            "'tenrounds disable --system' tries again",
        ],
    );
    assert!(!said.contains("all is as it was"), "{said}");
    assert!(machine.at("/var/lib/tenrounds/enabled.json").exists());
    assert!(machine.read(CONF) != DEBIAN.as_bytes() && machine.at(OWN).exists());
    fs::remove_dir(way).unwrap();
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

/// An openssl that computes something wrong, with ours.
#[test]
fn what_fails_in_the_trial_changes_nothing() {
    let machine = Machine::debian(DEBIAN);
    let fails =
        "case \"$1 $OPENSSL_CONF\" in enc*/trial/*) echo wrong; exit ;; esac\nexec openssl \"$@\"";
    machine.script(
        "/usr/bin/openssl",
        "OpenSSL 3.0.0 7 sep 2021",
        "/usr/lib/ssl",
        fails,
    );
    let before = machine.tree();
    let said = machine.enable().failed(1);
    contains(
        &said,
        &["nothing was changed", "AES-256-CTR differs from the answer"],
    );
    assert_eq!(machine.tree(), before);
    assert!(!Path::new(&machine.at("/var/lib/tenrounds")).exists());
}

/// However the tool ends, the kernel ends what it has started.
#[test]
fn no_child_outlives_the_tool() {
    let machine = Machine::debian(DEBIAN);
    let pid = machine.place.path("pid");
    let sleeper = format!(
        r#"[ "$1" != rand ] || {{ echo $$ >{0}.new; mv {0}.new {0}; exec sleep 600; }}
exec openssl "$@""#,
        pid.display()
    );
    let version = "OpenSSL 3.0.0 7 sep 2021";
    machine.script("/usr/bin/openssl", version, "/usr/lib/ssl", &sleeper);
    for signal in [libc::SIGTERM, libc::SIGKILL] {
        let mut tool = machine.tool(&["enable", "--system"]).started();
        until("a child", || pid.exists());
        tool.signal(signal);
        tool.ends();
        let child = fs::read_to_string(&pid).unwrap();
        let status = format!("/proc/{}/status", child.trim());
        until("the end of the child", || {
            match fs::read_to_string(&status) {
                Ok(status) => status.contains("State:\tZ"),
                Err(_) => true,
            }
        });
        fs::remove_file(&pid).unwrap();
    }
}

/// A configuration can load any module, so root tries none that another user can replace.
#[test]
fn root_passes_over_what_another_user_can_replace() {
    // SAFETY: geteuid() has no requirements.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can change the owner of a file");
    }
    let give = |path: PathBuf| std::os::unix::fs::chown(path, Some(12345), None).unwrap();
    for given in ["ssl", "ssl/openssl.cnf", "module.so"] {
        let machine = Machine::debian("");
        machine.openssl("/opt/vendor/bin/openssl", "/opt/vendor/ssl");
        let module = machine.write("/opt/vendor/module.so", "");
        let configuration = format!(
            "openssl_conf = init\n[init]\nproviders = all\n[all]\nother = other\n[other]\nmodule = {}\n",
            module.display()
        );
        machine.write("/opt/vendor/ssl/openssl.cnf", configuration);
        give(machine.at(&format!("/opt/vendor/{given}")));
        contains(
            &machine.enable().ok().out,
            &[
                "/opt/vendor/ssl/openssl.cnf was not tried",
                "belongs to user 12345",
            ],
        );
        assert!(machine.at("/etc/ssl/tenrounds.cnf").exists());
        assert!(!machine.at("/opt/vendor/ssl/tenrounds.cnf").exists());
    }
}
