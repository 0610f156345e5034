// SPDX-License-Identifier: BSD-2-Clause
//! `token`, with PINs from files and from a terminal.

use crate::json::valid;
use crate::pseudo_terminal::PseudoTerminal;
use crate::support::{contains, Done, Finish, Place};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A place with files of PINs, and where its token lies.
struct Keys {
    place: Place,
    token: PathBuf,
}

const KEY: &str = "000102030405060708090a0b0c0d0e0f";

fn secret_file(place: &Place, name: &str, content: &str) -> PathBuf {
    let path = place.file(name, content);
    mode(&path, 0o600);
    path
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

impl Keys {
    fn new() -> Keys {
        let place = Place::new();
        secret_file(&place, "pin", "1234\n");
        secret_file(&place, "so-pin", "officer\n");
        secret_file(&place, "wrong", "4321");
        place.file("key.hex", &format!("{KEY}\n"));
        let token = place.path("deep/token");
        Keys { place, token }
    }

    /// With a token.
    fn initialised() -> Keys {
        let keys = Keys::new();
        keys.tool(&["init", "--so-pin-file", "so-pin", "--label", "mine"])
            .ok();
        keys
    }

    /// Runs an action with the user's PIN.
    fn tool(&self, args: &[&str]) -> Done {
        self.with_pin("pin", args)
    }

    fn with_pin(&self, pin: &str, args: &[&str]) -> Done {
        let mut tool = self.place.tool(["token", args[0], "--pin-file", pin]);
        tool.args(&args[1..])
            .env("TENROUNDS_TOKEN", &self.token)
            .done()
    }

    fn import(&self, label: &str, more: &[&str]) -> Done {
        let args = ["import", "--hex", "--label", label, "key.hex"];
        self.tool(&[&args[..], more].concat())
    }

    fn labels(&self) -> Vec<String> {
        let listed = valid(&self.tool(&["list", "--json"]).ok().out);
        let objects = listed.list("/token/objects");
        let label = |object: &serde_json::Value| object["label"].as_str().unwrap().to_owned();
        objects.iter().map(label).collect()
    }
}

#[test]
fn a_key_comes_and_goes() {
    let keys = Keys::initialised();
    contains(&keys.tool(&["list"]).ok().out, &["mine", "It has no keys"]);
    let said = keys.import("backup", &["--id", "0aFF"]).ok().out;
    contains(&said, &["AES key 'backup' (#1, 128 bits)"]);
    let listed = keys.tool(&["list"]).ok().out;
    contains(
        &listed,
        &["backup", "0aff", "128", "never", "encrypt, decrypt"],
    );
    let json = valid(&keys.tool(&["list", "--json"]).ok().out);
    assert_eq!(json.text("/token/label"), "mine");
    assert_eq!(json.text("/token/path"), keys.token.display().to_string());
    let object = json.at("/token/objects/0");
    assert_eq!(
        (object["bytes"].as_u64(), object["id"].as_str()),
        (Some(16), Some("0aff"))
    );
    assert_eq!(object["sensitive"], true);

    contains(
        &keys.import("backup", &[]).failed(1),
        &["'backup' (#1", "another label"],
    );
    contains(
        &keys.tool(&["delete", "bakcup", "--yes"]).failed(1),
        &["did you mean 'backup'?"],
    );
    contains(&keys.tool(&["delete", "backup"]).failed(2), &["--yes"]);
    assert_eq!(keys.labels(), ["backup"]);
    contains(
        &keys.tool(&["delete", "0AFF", "--yes"]).ok().out,
        &["Deleted the AES key 'backup'"],
    );
    assert!(keys.labels().is_empty());
}

#[test]
fn only_what_may_leave_leaves() {
    let keys = Keys::initialised();
    keys.import("stays", &[]).ok();
    keys.import("readable", &["--readable"]).ok();
    keys.import("wrapped", &["--extractable"]).ok();
    keys.import("kek", &["--use", "wrap"]).ok();

    keys.tool(&["export", "readable", "out.hex", "--hex"]).ok();
    let out = keys.place.path("out.hex");
    assert_eq!(std::fs::read_to_string(&out).unwrap().trim(), KEY);
    assert_eq!(
        std::fs::metadata(&out).unwrap().permissions().mode() & 0o777,
        0o600
    );
    // Never over a file that exists.
    contains(
        &keys.tool(&["export", "readable", "out.hex"]).failed(1),
        &["out.hex", "exists"],
    );
    assert_eq!(std::fs::read_to_string(&out).unwrap().trim(), KEY);
    let printed = keys.tool(&["export", "readable", "-", "--hex"]).ok().out;
    assert_eq!(printed.trim(), KEY);

    for (name, attribute, hint) in [
        ("stays", "CKA_SENSITIVE", "stays in the token"),
        ("wrapped", "CKA_SENSITIVE", "--wrap-with"),
    ] {
        contains(
            &keys.tool(&["export", name, "no"]).failed(1),
            &[attribute, hint],
        );
    }
    let by_kek = ["--wrap-with", "kek"];
    let said = keys
        .tool(&[&["export", "stays", "no"], &by_kek[..]].concat())
        .failed(1);
    contains(&said, &["CKA_EXTRACTABLE"]);
    let said = keys
        .tool(&["export", "wrapped", "no", "--wrap-with", "readable"])
        .failed(1);
    contains(&said, &["CKA_WRAP"]);
    assert!(!keys.place.path("no").exists());

    // RFC 5649's form: 8 bytes more. Another token's key of the same value takes it back.
    keys.tool(&["export", "wrapped", "wrapped.key", "--wrap-with", "kek"])
        .ok();
    assert_eq!(
        std::fs::read(keys.place.path("wrapped.key")).unwrap().len(),
        24
    );
    let unwrap = ["import", "--unwrap-with", "kek", "--readable", "--label"];
    keys.tool(&[&unwrap[..], &["back", "wrapped.key"]].concat())
        .ok();
    assert_eq!(
        keys.tool(&["export", "back", "-", "--hex"]).ok().out.trim(),
        KEY
    );
    let said = keys
        .tool(&[&unwrap[..], &["bad", "key.hex"]].concat())
        .failed(1);
    contains(&said, &["damaged, or another key has wrapped it"]);
}

#[test]
fn pins_are_checked() {
    let keys = Keys::initialised();
    contains(
        &keys.with_pin("wrong", &["list"]).failed(1),
        &["the PIN is wrong (1 in a row)"],
    );
    contains(
        &keys.with_pin("wrong", &["list"]).failed(1),
        &["(2 in a row)"],
    );
    keys.tool(&["list"]).ok();
    mode(&keys.place.path("pin"), 0o644);
    contains(&keys.tool(&["list"]).failed(1), &["mode 644", "chmod 600"]);
    // No terminal, no file.
    for (action, option) in [("list", "use --pin-file"), ("pin", "use --so-pin-file")] {
        let mut tool = keys.place.program("setsid");
        tool.args(["--wait", crate::support::TOOL, "token", action]);
        let said = tool.env("TENROUNDS_TOKEN", &keys.token).done().failed(1);
        contains(&said, &[option]);
    }
    let short = secret_file(&keys.place, "short", "123\n");
    let args = ["init", "--so-pin-file", "so-pin", "--token", "other"];
    let said = keys.with_pin(&short.display().to_string(), &args).failed(1);
    contains(&said, &["has 3 bytes", "4 to 255"]);
    assert!(!keys.place.path("other").exists());
}

#[test]
fn the_security_officer_sets_the_users_pin() {
    let keys = Keys::new();
    // What C_InitToken leaves: no PIN of the user yet.
    let token = tenrounds_pkcs11::keyring::token(keys.token.clone()).unwrap();
    token.create(&[b' '; 32], b"officer", None).unwrap();
    let said = keys.tool(&["list"]).failed(1);
    contains(&said, &["PIN is not set", "'tenrounds token pin'"]);
    let pin = |pin, officer| keys.with_pin(pin, &["pin", "--so-pin-file", officer, "--json"]);
    contains(&pin("pin", "wrong").failed(1), &["the PIN is wrong"]);
    let json = valid(&pin("pin", "so-pin").ok().out);
    assert_eq!(json.text("/token/action"), "pin");
    keys.import("backup", &[]).ok();
    pin("wrong", "so-pin").ok();
    keys.tool(&["list"]).failed(1);
    let listed = keys.with_pin("wrong", &["list"]).ok().out;
    contains(&listed, &["backup"]);
}

#[test]
fn an_existing_token_is_not_lost_by_mistake() {
    let keys = Keys::initialised();
    keys.import("backup", &[]).ok();
    let init = ["init", "--so-pin-file", "so-pin"];
    contains(&keys.tool(&init).failed(1), &["1 objects", "--force"]);
    let said = keys
        .tool(&["init", "--force", "--so-pin-file", "wrong"])
        .failed(1);
    contains(&said, &["the PIN is wrong"]);
    assert_eq!(keys.labels(), ["backup"]);
    keys.tool(&[&init[..], &["--force"]].concat()).ok();
    assert!(keys.labels().is_empty());
}

#[test]
fn wrong_keys_are_refused_with_their_length() {
    let keys = Keys::initialised();
    let import = |args: &[&str]| keys.tool(&[&["import", "--label", "x"], args].concat());
    contains(
        &import(&["key.hex"]).failed(1),
        &["33 bytes", "16, 24, 32", "--hex"],
    );
    keys.place.file("odd", "0001020");
    contains(
        &import(&["--hex", "odd"]).failed(1),
        &["odd", "hexadecimal"],
    );
    contains(
        &import(&["--hex", "--type", "aes-xts", "key.hex"]).failed(1),
        &["16 bytes", "32, 64"],
    );
    contains(
        &import(&["nowhere"]).failed(1),
        &["nowhere", "No such file"],
    );
    contains(
        &import(&["--id", "xyz", "key.hex"]).failed(2),
        &["--id 'xyz'"],
    );
    contains(&import(&["/dev/zero"]).failed(1), &["more than 4096 bytes"]);
    assert!(keys.labels().is_empty());
}

#[test]
fn a_damaged_token_is_named_and_stays() {
    let keys = Keys::new();
    let missing = keys.tool(&["list"]).failed(1);
    contains(&missing, &["deep/token", "tenrounds token init"]);
    keys.tool(&["init", "--so-pin-file", "so-pin"]).ok();
    keys.import("backup", &[]).ok();
    let whole = std::fs::read(&keys.token).unwrap();
    let newer = {
        let mut bytes = whole.clone();
        bytes[16] = 9;
        bytes
    };
    let damaged = [
        (whole[..whole.len() / 2].to_vec(), "is damaged"),
        (b"nothing of the kind".to_vec(), "is damaged"),
        (newer, "has format 9"),
    ];
    for (bytes, said) in damaged {
        std::fs::write(&keys.token, &bytes).unwrap();
        for args in [
            &["list"][..],
            &["init", "--force", "--so-pin-file", "so-pin"],
        ] {
            contains(
                &keys.tool(args).failed(1),
                &["deep/token", said, "not changed"],
            );
        }
        assert_eq!(std::fs::read(&keys.token).unwrap(), bytes);
    }
    std::fs::write(&keys.token, &whole).unwrap();
    mode(&keys.token, 0o644);
    contains(
        &keys.tool(&["list"]).failed(1),
        &["deep/token", "mode is 644"],
    );
    mode(&keys.token, 0o600);
    assert_eq!(keys.labels(), ["backup"]);
}

#[test]
fn several_tokens_are_told_apart() {
    let keys = Keys::new();
    let config = keys.place.path("config/tenrounds");
    std::fs::create_dir_all(&config).unwrap();
    let (a, b) = (keys.place.path("a"), keys.place.path("b"));
    let lines = format!("token = {}\ntoken = {}\n", a.display(), b.display());
    std::fs::write(config.join("pkcs11.conf"), lines).unwrap();
    let run = |args: &[&str]| {
        let mut tool = keys.place.tool(["token", args[0], "--pin-file", "pin"]);
        let tool = tool.args(&args[1..]).env_remove("TENROUNDS_TOKEN");
        tool.env("XDG_CONFIG_HOME", keys.place.path("config"))
            .done()
    };
    let init = ["init", "--so-pin-file", "so-pin"];
    contains(&run(&init).failed(2), &["several tokens", "--token"]);
    run(&[&init[..], &["--token", "b"]].concat()).ok();
    assert!(b.exists() && !a.exists());
    std::fs::write(config.join("pkcs11.conf"), "token = relative\n").unwrap();
    contains(
        &run(&["list"]).failed(1),
        &["pkcs11.conf:1:", "token = /PATH"],
    );
}

/// What a person types, on a terminal of its own.
#[test]
fn pins_are_asked_for_twice_and_not_shown() {
    let keys = Keys::new();
    const OFFICER: &str = "New PIN of the security officer:";
    const USER: &str = "New PIN of the user:";
    const AGAIN: &str = "The same again:";
    let typed = |action: &[&str], answers: &[(&str, &str)]| {
        let mut tool = keys.place.tool(["token"]);
        tool.args(action).env("TENROUNDS_TOKEN", &keys.token);
        let mut terminal = PseudoTerminal::start(&mut tool, 24, 300);
        for (question, answer) in answers {
            terminal.answer(question, !question.ends_with("[y/N]"), answer);
        }
        let status = terminal.ends();
        let shown = String::from_utf8_lossy(&terminal.written).into_owned();
        (status.success(), shown)
    };
    let (done, shown) = typed(&["init"], &[(OFFICER, "officer"), (AGAIN, "officeR")]);
    assert!(!done && shown.contains("the two PINs differ"), "{shown}");
    let pins = [
        (OFFICER, "officer"),
        (AGAIN, "officer"),
        (USER, "1234"),
        (AGAIN, "1234"),
    ];
    let (done, shown) = typed(&["init"], &pins);
    assert!(done && shown.contains("is ready"), "{shown}");
    assert!(
        !shown.contains("officer\r") && !shown.contains("1234"),
        "{shown}"
    );
    keys.import("backup", &[]).ok();
    let delete = |answer| {
        let answers = [("PIN of the user:", "1234"), ("[y/N]", answer)];
        typed(&["delete", "backup"], &answers)
    };
    let (done, shown) = delete("n");
    assert!(!done && shown.contains("nothing was deleted"), "{shown}");
    let (done, shown) = delete("y");
    assert!(done && shown.contains("Deleted"), "{shown}");
}
