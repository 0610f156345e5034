// SPDX-License-Identifier: BSD-2-Clause
//! `enable --system`, `status`, `disable --system` where all is well, or was changed by somebody
//! meanwhile.

use crate::enable_support::{Machine, DEBIAN};
use crate::json::valid;
use crate::support::{contains, is_crowded, module, skip, within, Finish, Place, CPU_MASK};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

const CONF: &str = "/etc/ssl/openssl.cnf";
const OWN: &str = "/etc/ssl/tenrounds.cnf";

#[test]
fn on_and_off_to_the_byte() {
    let machine = Machine::debian(DEBIAN);
    fs::set_permissions(machine.at(CONF), fs::Permissions::from_mode(0o604)).unwrap();
    let before = machine.tree();
    let time = || fs::metadata(machine.at(CONF)).unwrap().modified().unwrap();
    let modified = time();
    // Other work only ever adds to the time, so one of several shows what the tool needs.
    let enabled = |attempt| {
        if attempt > 0 {
            machine.disable().ok();
        }
        let begin = Instant::now();
        let done = machine.enable().ok();
        (done, begin.elapsed())
    };
    let most = within(Duration::from_secs(if is_crowded() { 10 } else { 2 }));
    let mut all = (0..10).map(enabled);
    let (done, took) = all.find(|(_, took)| *took < most).expect("2 seconds");
    contains(
        &done.out,
        &[
            "usr/lib/ssl/openssl.cnf: enabled",
            "executed by",
            "active: default",
        ],
    );
    println!("enable --system to verified: {took:?}");
    contains(&machine.providers(CONF), &["default", "tenrounds"]);
    assert!(machine.at("/usr/lib/ssl/openssl.cnf").is_symlink());
    for file in [CONF, OWN] {
        let mode = fs::metadata(machine.at(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o604, "{file}");
    }
    let text = String::from_utf8(machine.read(CONF)).unwrap();
    assert!(text.starts_with(DEBIAN), "nothing but lines at the end");
    assert_eq!(text.lines().count(), DEBIAN.lines().count() + 4);

    let enabled = machine.tree();
    contains(&machine.enable().ok().out, &["enabled already"]);
    assert_eq!(
        strip_state(machine.tree()),
        strip_state(enabled),
        "twice changes nothing"
    );
    contains(
        &machine.status().ok().out,
        &["enabled (system)", "not enabled (user)"],
    );

    contains(&machine.disable().ok().out, &["disabled"]);
    assert_eq!((machine.tree(), time()), (before.clone(), modified));
    contains(&machine.disable().ok().out, &["not enabled"]);
    assert_eq!(machine.tree(), before);
}

/// Without times, and what is written again each time.
fn strip_state(tree: crate::enable_support::Tree) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let files = tree.into_iter();
    files.map(|(path, (content, ..))| (path, content)).collect()
}

#[test]
fn the_layouts_of_distributions() {
    let fedora = "config_diagnostics = 1\nopenssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\n\
        ssl_conf = ssl_module\nalg_section = evp_properties\n[evp_properties]\n[provider_sect]\ndefault = default_sect\n\
        [default_sect]\nactivate = 1\n[ssl_module]\nsystem_default = crypto_policy\n[crypto_policy]\n\
        .include = @/etc/crypto-policies/back-ends/opensslcnf.config\n";
    let suse = "openssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\nengines = engine_section\n\
        ssl_conf = ssl_module\n[provider_sect]\ndefault = default_sect\n[default_sect]\nactivate = 1\n[ssl_module]\n\
        system_default = crypto_policy\n[crypto_policy]\n.include @/etc/crypto-policies/back-ends/opensslcnf.config\n\
        [engine_section]\n.include @/etc/ssl/engines.d\n";
    let alpine =
        "openssl_conf = openssl_init\n[openssl_init]\nproviders = provider_sect\n[provider_sect]\n\
        default = default_sect\n[default_sect]\nactivate = 1\n";
    for (dir, text) in [
        ("/etc/pki/tls", fedora),
        ("/etc/ssl", suse),
        ("/etc/ssl", alpine),
    ] {
        let machine = Machine::bare();
        machine.openssl("/usr/bin/openssl", dir);
        let conf = format!("{dir}/openssl.cnf");
        machine.write(&conf, text.replace('@', machine.root.to_str().unwrap()));
        machine.write(
            "/etc/crypto-policies/back-ends/opensslcnf.config",
            "CipherString = @SECLEVEL=2:kEECDH:kPSK:-aDSS\nTLS.MinProtocol = TLSv1.2\n",
        );
        machine.write("/etc/ssl/engines.d/none.cnf", "# no engine\n");
        let before = machine.tree();
        let done = machine.enable().ok();
        contains(&done.out, &["enabled", "ok: 16 random bytes"]);
        contains(&machine.providers(&conf), &["default", "tenrounds"]);
        machine.disable().ok();
        assert_eq!(machine.tree(), before, "{dir}");
    }
}

#[test]
fn several_installations_and_some_that_do_not_count() {
    let machine = Machine::debian(DEBIAN);
    machine.openssl("/opt/newer/bin/openssl", "/opt/newer/ssl");
    machine.write("/opt/newer/ssl/openssl.cnf", "");
    machine.openssl("/usr/local/bin/openssl", "/usr/lib/ssl");
    machine.script(
        "/opt/old/bin/openssl",
        "OpenSSL 1.1.1w  11 Sep 2023",
        "/opt/old/ssl",
        "exit 1",
    );
    machine.script(
        "/opt/other/bin/openssl",
        "LibreSSL 3.8.2",
        "/opt/other/ssl",
        "exit 1",
    );
    for (path, content) in [
        ("/opt/fails/bin/openssl", "#!/bin/sh\necho no >&2\nexit 3\n"),
        ("/opt/damaged/bin/openssl", "\x7fELF and no more"),
    ] {
        // Executable.
        machine.script(path, "", "", "");
        fs::write(machine.at(path), content).unwrap();
    }
    let before = machine.tree();
    let done = machine.enable().ok();
    let old = "is OpenSSL 1.1.1w  11 Sep 2023, which knows no providers";
    contains(
        &done.out,
        &[
            "opt/newer/ssl/openssl.cnf",
            old,
            "is 'LibreSSL 3.8.2', not OpenSSL",
            "opt/fails/bin/openssl 'openssl version -v -d' failed: no",
            "opt/damaged/bin/openssl cannot tell its version: Exec format error",
        ],
    );
    let document = valid(
        &machine
            .tool(&["enable", "--system", "--json"])
            .done()
            .ok()
            .out,
    );
    let sites = document.list("/enable/sites");
    assert_eq!(sites.len(), 2);
    assert_eq!(
        sites[0]["openssl"].as_array().unwrap().len(),
        2,
        "both read one file"
    );
    assert_eq!(document.list("/enable/passed_over").len(), 4);
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

#[test]
fn without_any_openssl_nothing_happens() {
    let machine = Machine::bare();
    contains(&machine.enable().failed(1), &["found no OpenSSL 3"]);
    contains(&machine.disable().ok().out, &["Nothing was enabled"]);
    assert!(machine.tree().is_empty());
}

#[test]
fn a_configuration_that_was_not_there_is_gone_again() {
    let machine = Machine::bare();
    machine.openssl("/usr/bin/openssl", "/etc/ssl");
    fs::create_dir_all(machine.at("/etc/ssl")).unwrap();
    let before = machine.tree();
    contains(&machine.enable().ok().out, &["enabled"]);
    contains(&machine.providers(CONF), &["default", "tenrounds"]);
    machine.disable().ok();
    assert_eq!(machine.tree(), before);
}

/// Even a last line without a newline comes back as it was.
#[test]
fn a_last_line_without_a_newline() {
    for text in ["a = b", "a = b\\"] {
        let machine = Machine::debian(text);
        let before = machine.tree();
        machine.enable().ok();
        contains(&machine.enable().ok().out, &["enabled already"]);
        machine.disable().ok();
        assert_eq!(machine.tree(), before);
    }
}

#[test]
fn what_somebody_changed_meanwhile_stays() {
    let machine = Machine::debian(DEBIAN);
    machine.enable().ok();
    let mut text = machine.read(CONF);
    text.extend_from_slice(b"[mine]\na = b\n");
    machine.write(CONF, &text);
    contains(&machine.status().ok().out, &["enabled (system)"]);
    let done = machine.disable().ok();
    contains(&done.out, &["changed by somebody", "only our lines"]);
    let expected = format!("{DEBIAN}[mine]\na = b\n");
    assert_eq!(String::from_utf8(machine.read(CONF)).unwrap(), expected);
    assert!(!machine.at(OWN).exists());
    assert!(!machine.at("/var/lib/tenrounds").exists());
}

#[test]
fn enabled_again_after_a_change_it_is_undone_to_the_byte() {
    let machine = Machine::debian(DEBIAN);
    let time = || fs::metadata(machine.at(CONF)).unwrap().modified().unwrap();
    let modified = time();
    machine.enable().ok();
    let text = String::from_utf8(machine.read(CONF)).unwrap();
    machine.write(CONF, text.replace("prompt = no", "prompt = yes"));
    contains(&machine.enable().ok().out, &["enabled already"]);
    machine.disable().ok();
    let expected = DEBIAN.replace("prompt = no", "prompt = yes");
    assert_eq!(String::from_utf8(machine.read(CONF)).unwrap(), expected);
    // A backup by times would miss the change.
    assert!(time() > modified);
    assert!(!machine.at("/var/lib/tenrounds").exists());
}

#[test]
fn lines_that_depend_on_ours_stop_disable() {
    let machine = Machine::debian("");
    machine.enable().ok();
    let mut text = machine.read(CONF);
    text.extend_from_slice(b"[default]\nconfig_diagnostics = 1\nopenssl_conf = mine\n[mine]\nproviders = tenrounds_providers\n");
    machine.write(CONF, &text);
    contains(
        &machine.disable().failed(1),
        &["does not work without our lines"],
    );
    assert_eq!(machine.read(CONF), text);
    assert!(machine.works(CONF));
}

/// A state whose checksums are not those of the files: what cannot be proved is said.
#[test]
fn an_original_that_is_not_the_recorded_one_is_named() {
    let machine = Machine::debian(DEBIAN);
    machine.enable().ok();
    let state = "/var/lib/tenrounds/enabled.json";
    let mut json: serde_json::Value = serde_json::from_slice(&machine.read(state)).unwrap();
    json["files"][0]["before"] = "0".repeat(64).into();
    machine.write(state, json.to_string());
    let note = "was changed by somebody after 'tenrounds enable': only our lines were removed";
    contains(&machine.disable().ok().out, &[note]);
    assert_eq!(machine.read("/etc/ssl/openssl.cnf"), DEBIAN.as_bytes());
}

#[test]
fn a_variable_that_overrides_what_enable_did() {
    let machine = Machine::debian(DEBIAN);
    let note = "OPENSSL_CONF of this shell names '/dev/null': programs started from here read that";
    let own = machine.place.path("home/.config/tenrounds/openssl.cnf");
    let said = |args: &[&str], conf: Option<&std::path::Path>| {
        let mut tool = machine.tool(args);
        tool.envs(conf.map(|conf| ("OPENSSL_CONF", conf)));
        tool.done().ok().out
    };
    let null = Some("/dev/null".as_ref());
    for args in [&["enable", "--system"][..], &["enable"]] {
        contains(&said(args, null), &[note]);
        assert!(!said(args, None).contains("read that file instead"));
    }
    assert!(!said(&["enable"], Some(&own)).contains("read that file instead"));
    contains(
        &said(&["enable", "--system"], Some(&own)),
        &["read that file instead"],
    );
}

#[test]
fn an_older_file_put_back_by_hand_is_no_trouble() {
    let machine = Machine::debian(DEBIAN);
    machine.enable().ok();
    machine.write(CONF, DEBIAN);
    contains(
        &machine.status().ok().out,
        &["interrupted", "somebody removed"],
    );
    machine.disable().ok();
    assert_eq!(machine.read(CONF), DEBIAN.as_bytes());
    assert!(!machine.at(OWN).exists());
}

#[test]
fn a_recorded_file_is_undone_wherever_its_path_leads_now() {
    let machine = Machine::debian(DEBIAN);
    machine.enable().ok();
    fs::rename(machine.at("/etc/ssl"), machine.at("/etc/pki")).unwrap();
    machine.link("/etc/ssl", "pki");
    contains(&machine.disable().ok().out, &["disabled"]);
    assert_eq!(machine.read("/etc/pki/openssl.cnf"), DEBIAN.as_bytes());
    assert!(!machine.at("/etc/pki/tenrounds.cnf").exists());
    assert!(!machine.at("/var/lib/tenrounds").exists());

    machine.enable().ok();
    fs::remove_dir_all(machine.at("/etc/pki")).unwrap();
    contains(&machine.disable().ok().out, &["openssl.cnf is gone"]);
    assert!(!machine.at("/var/lib/tenrounds").exists());
}

#[test]
fn root_undoes_nothing_through_a_link_of_another_user() {
    // SAFETY: geteuid() has no requirements.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can change the owner of a link");
    }
    let machine = Machine::debian(DEBIAN);
    machine.enable().ok();
    let enabled = machine.read(CONF);
    fs::rename(machine.at("/etc/ssl"), machine.at("/etc/pki")).unwrap();
    machine.link("/etc/ssl", "pki");
    std::os::unix::fs::lchown(machine.at("/etc/ssl"), Some(12345), None).unwrap();
    contains(
        &machine.disable().failed(1),
        &["is a symbolic link of user 12345"],
    );
    assert_eq!(machine.read(CONF), enabled);
    assert!(machine.at("/var/lib/tenrounds/enabled.json").exists());
}

#[test]
fn a_file_that_was_changed_before_1970() {
    let machine = Machine::debian(DEBIAN);
    let conf = fs::File::options().write(true).open(machine.at(CONF));
    let long_ago = std::time::SystemTime::UNIX_EPOCH - std::time::Duration::from_secs(86400);
    conf.unwrap().set_modified(long_ago).unwrap();
    machine.enable().ok();
    machine.disable().ok();
    assert_eq!(machine.read(CONF), DEBIAN.as_bytes());
}

#[test]
fn without_the_state_the_lines_still_go() {
    let machine = Machine::debian(DEBIAN);
    machine.enable().ok();
    fs::remove_dir_all(machine.at("/var/lib/tenrounds")).unwrap();
    contains(&machine.status().ok().out, &["enabled (system)"]);
    machine.disable().ok();
    assert_eq!(machine.read(CONF), DEBIAN.as_bytes());
}

/// The provider with another version in it.
fn another_version(place: &Place) -> std::path::PathBuf {
    let mut bytes = fs::read(module()).unwrap();
    let version = format!("{}\0", env!("CARGO_PKG_VERSION")).into_bytes();
    let mut found = 0;
    for at in 0..bytes.len() - version.len() {
        if bytes[at..].starts_with(&version) {
            bytes[at + version.len() - 2] = b'9';
            found += 1;
        }
    }
    assert!(found > 0, "the provider's version was found");
    let path = place.path("tenrounds.so");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_provider_of_another_version_is_named() {
    let machine = Machine::debian(DEBIAN);
    let other = another_version(&machine.place);
    let mut tool = machine.tool(&["enable", "--system"]);
    let done = tool.env("TENROUNDS_MODULE", &other).done().ok();
    let ours = env!("CARGO_PKG_VERSION");
    let versions = format!(
        "is version {}9, and this tool is {ours}",
        &ours[..ours.len() - 1]
    );
    let said = [versions.as_str(), "tenrounds.so"];
    contains(&done.out, &said);
    contains(&machine.status().ok().out, &said);
    let done = machine.enable().ok();
    contains(&done.out, &["enabled"]);
    assert!(
        !done.out.contains(&versions),
        "the module of this build took its place: {}",
        done.out
    );
    machine.disable().ok();
    assert_eq!(machine.read(CONF), DEBIAN.as_bytes());
}

#[test]
fn openssl_works_when_the_module_is_deleted() {
    let machine = Machine::debian(DEBIAN);
    let copy = machine.place.path("tenrounds.so");
    fs::copy(module(), &copy).unwrap();
    let mut tool = machine.tool(&["enable", "--system"]);
    tool.env("TENROUNDS_MODULE", &copy).done().ok();
    fs::remove_file(&copy).unwrap();
    assert!(machine.works(CONF));
    let said = machine.status().failed(1);
    contains(
        &said,
        &["tenrounds.so does not exist", "install tenrounds again"],
    );
    contains(&machine.enable().ok().out, &["enabled"]);
    machine.disable().ok();
    assert_eq!(machine.read(CONF), DEBIAN.as_bytes());
}

#[test]
fn status_prescribes_only_what_works() {
    let machine = Machine::debian(DEBIAN);
    contains(
        &machine.status().ok().out,
        &["or your account, ", "tenrounds enable"],
    );
    let mut tool = machine.tool(&["status"]);
    let out = tool.env("TENROUNDS_MODULE", "/nonexistent").done().ok().out;
    let parts = [
        "cannot be enabled yet: the provider is missing",
        "/nonexistent",
    ];
    contains(&out, &parts);
    let out = Machine::bare().status().ok().out;
    contains(&out, &["For the system, first install OpenSSL 3"]);
}

#[test]
fn a_variable_and_a_mask_are_shown() {
    let machine = Machine::debian(DEBIAN);
    machine.enable().ok();
    let mut tool = machine.tool(&["status", "--json"]);
    tool.env("OPENSSL_CONF", "/dev/null");
    tool.env("TENROUNDS_MASK", "noavx512")
        .env(CPU_MASK.0, CPU_MASK.1);
    let document = valid(&tool.done().ok().out);
    assert_eq!(document.text("/status/in_force"), "no");
    for mask in ["TENROUNDS_MASK", CPU_MASK.0] {
        let masks = document.at("/host/masks").as_object().unwrap();
        assert!(masks.contains_key(mask), "{masks:?}");
    }
    let mut tool = machine.tool(&["status"]);
    tool.env("OPENSSL_CONF", "/dev/null");
    tool.env("TENROUNDS_MASK", "noavx512");
    contains(
        &tool.done().ok().out,
        &[
            "OPENSSL_CONF of this shell names '/dev/null'",
            "TENROUNDS_MASK=noavx512",
        ],
    );
    let site = &document.list("/status/sites")[0];
    assert_eq!(site["outcome"], "enabled");
    assert_eq!(site["provider_version"], env!("CARGO_PKG_VERSION"));
    let checks: Vec<&str> = site["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    for name in ["libcrypto", "providers", "cipher", "random"] {
        assert!(checks.contains(&name), "{name} in {checks:?}");
    }
    let document = valid(
        &machine
            .tool(&["disable", "--system", "--json"])
            .done()
            .ok()
            .out,
    );
    assert_eq!(document.list("/disable/sites")[0]["outcome"], "disabled");
}

#[test]
fn a_module_that_others_can_replace_is_refused_for_the_system() {
    let machine = Machine::debian(DEBIAN);
    let dir = machine.place.path("open");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o777)).unwrap();
    let copy = dir.join("tenrounds.so");
    fs::copy(module(), &copy).unwrap();
    let before = machine.tree();
    let mut tool = machine.tool(&["enable", "--system"]);
    let said = tool.env("TENROUNDS_MODULE", copy).done().failed(1);
    contains(
        &said,
        &[
            "can be written to by others (mode 777)",
            "install tenrounds first",
        ],
    );
    assert_eq!(machine.tree(), before);
}
