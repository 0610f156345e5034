// SPDX-License-Identifier: BSD-2-Clause
//! `enable --p11-kit` and `disable --p11-kit`, with a p11-kit that only shows what it finds in the
//! user's folder. tests/consumers/pkcs11_p11_kit.py has the real one.

use crate::json::valid;
use crate::support::{contains, Done, Finish, Place, TOOL};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// It shows nothing if the place has a file `blind`.
const P11_KIT: &str = "#!/bin/sh\nhere=$(dirname \"$0\")/..\n[ ! -e \"$here/blind\" ] || exit 0\n\
                       echo \"$XDG_CONFIG_HOME\" >>\"$here/log\"\n\
                       sed -n 's/^module/tenrounds-enabled/p' \"$XDG_CONFIG_HOME\"/pkcs11/modules/*.module\n";

struct User {
    place: Place,
    file: PathBuf,
    module: PathBuf,
    home: PathBuf,
}

impl User {
    fn new() -> User {
        let place = Place::new();
        std::fs::create_dir(place.path("bin")).unwrap();
        let program = place.file("bin/p11-kit", P11_KIT);
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(place.path("root")).unwrap();
        let file = place.path("config/pkcs11/modules/tenrounds-enabled.module");
        let (module, home) = (module(), place.path("."));
        User {
            place,
            file,
            module,
            home,
        }
    }

    /// Below a root, so that root may run it, too: p11-kit ignores the files of that user.
    fn tool(&self, words: &[&str]) -> Done {
        self.done(&mut self.place.tool(words))
    }

    fn done(&self, tool: &mut Command) -> Done {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", self.place.path("bin").display());
        tool.args(["--root", "root"])
            .env("PATH", path)
            .env("TENROUNDS_PKCS11", &self.module)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.place.path("config"))
            .env("XDG_STATE_HOME", self.place.path("state"))
            .done()
    }

    fn enable(&self, words: &[&str]) -> Done {
        self.tool(&[&["enable", "--p11-kit"], words].concat())
    }

    fn disable(&self) -> Done {
        self.tool(&["disable", "--p11-kit"])
    }

    fn site(&self) -> Option<serde_json::Value> {
        let mut sites = valid(&self.tool(&["status", "--json"]).out).list("/status/sites");
        sites.retain(|site| site["scope"] == "p11-kit");
        sites.pop()
    }

    fn is_as_it_was(&self) -> bool {
        !self.place.path("config").exists() && !self.place.path("state/tenrounds").exists()
    }
}

/// The module that is built with the tests.
fn module() -> PathBuf {
    Path::new(TOOL).with_file_name("deps/libtenrounds_pkcs11.so")
}

#[test]
fn enabled_and_taken_back() {
    let user = User::new();
    let line = format!("module: {}", module().canonicalize().unwrap().display());
    let shown = user.enable(&["--dry-run"]).ok().out;
    contains(&shown, &["tenrounds-enabled.module", &format!("+{line}")]);
    assert!(user.is_as_it_was());

    let done = valid(&user.enable(&["--json"]).ok().out);
    assert_eq!(done.text("/enable/sites/0/outcome"), "enabled");
    assert_eq!(done.text("/enable/sites/0/scope"), "p11-kit");
    let text = std::fs::read_to_string(&user.file).unwrap();
    contains(&text, &[&line, "critical: no\n"]);
    // p11-kit was shown another folder before, and this one afterwards.
    let log = std::fs::read_to_string(user.place.path("log")).unwrap();
    let config = user.place.path("config").display().to_string();
    let mut lines = log.lines().rev();
    assert_eq!(lines.next(), Some(&config[..]));
    assert!(lines.all(|line| line != config), "{log}");

    contains(&user.enable(&[]).ok().out, &["enabled already"]);
    assert_eq!(user.site().unwrap()["outcome"], "enabled");
    contains(&user.disable().ok().out, &["disabled"]);
    assert!(user.is_as_it_was() && user.site().is_none());
    contains(&user.disable().ok().out, &["not enabled"]);
}

#[test]
fn folders_and_files_of_others_stay() {
    let user = User::new();
    let folder = user.file.parent().unwrap();
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(&user.file, "module: somebody's.so\n").unwrap();
    contains(
        &user.enable(&[]).failed(1),
        &["did not write it", "move it away"],
    );
    contains(&user.disable().failed(1), &["did not write it"]);
    std::fs::remove_file(&user.file).unwrap();
    user.enable(&[]).ok();
    user.disable().ok();
    assert!(folder.exists() && !user.file.exists());

    user.enable(&[]).ok();
    let changed = std::fs::read_to_string(&user.file).unwrap() + "enable-in: firefox\n";
    std::fs::write(&user.file, &changed).unwrap();
    assert_eq!(user.site().unwrap()["outcome"], "damaged");
    contains(
        &user.disable().failed(1),
        &["was changed by somebody after"],
    );
    assert_eq!(std::fs::read_to_string(&user.file).unwrap(), changed);
    std::fs::remove_file(&user.file).unwrap();
    let site = user.site().unwrap();
    assert_eq!(site["outcome"], "not-enabled");
    contains(&site.to_string(), &["somebody removed"]);
    user.disable().ok();
    assert!(user.site().is_none());
}

#[test]
fn what_does_not_work_is_not_enabled() {
    let user = User::new();
    user.place.file("blind", "");
    contains(&user.enable(&[]).failed(1), &["does not show"]);
    assert!(user.is_as_it_was());
    std::fs::remove_file(user.place.path("blind")).unwrap();
    user.enable(&[]).ok();
    user.place.file("blind", "");
    let site = user.site().unwrap();
    assert_eq!(site["outcome"], "broken");
    contains(&site.to_string(), &["disable --p11-kit"]);
    user.disable().ok();
    assert!(user.is_as_it_was());
}

/// What `status` must not try: a module that others can replace, and another user's choice.
#[test]
fn what_others_could_have_put_there_is_not_loaded() {
    let mut user = User::new();
    let folder = user.place.path("modules");
    std::fs::create_dir(&folder).unwrap();
    user.module = folder.join("module.so");
    std::fs::copy(module(), &user.module).unwrap();
    user.enable(&[]).ok();
    assert_eq!(user.site().unwrap()["outcome"], "enabled");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let site = user.site().unwrap();
    assert_eq!(site["outcome"], "broken");
    contains(&site.to_string(), &["can be written to by others"]);

    // SAFETY: the function has no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    user.home = match is_root {
        true => user.place.path("other"),
        false => PathBuf::from("/"),
    };
    if is_root {
        std::fs::create_dir(&user.home).unwrap();
        std::os::unix::fs::chown(&user.home, Some(65534), None).unwrap();
    }
    assert!(user.site().is_none());
}

#[test]
fn for_the_system() {
    let user = User::new();
    let file = user
        .place
        .path("root/etc/pkcs11/modules/tenrounds-enabled.module");
    user.enable(&["--system"]).ok();
    assert!(file.exists() && !user.file.exists());
    assert_eq!(user.site().unwrap()["outcome"], "enabled");
    user.tool(&["disable", "--p11-kit", "--system"]).ok();
    let left = ["root/etc", "root/var/lib/tenrounds"];
    assert!(!left.iter().any(|name| user.place.path(name).exists()));
}

/// Killed at every change on the disk: both commands get it right afterwards.
#[test]
fn killed_at_every_step() {
    for step in 0.. {
        let user = User::new();
        let mut tool = user.place.faulty_tool(["enable", "--p11-kit"]);
        tool.env("TENROUNDS_DIE_AT", step.to_string());
        let died = user.done(&mut tool).status.is_none();
        if step % 2 == 0 {
            user.enable(&[]).ok();
            assert!(user.file.exists(), "step {step}");
        }
        user.disable().ok();
        // Killed before it noted anything, it leaves a lock.
        let config = user.place.path("config");
        assert!(!config.exists(), "step {step}");
        if !died {
            assert!(step > 5, "{step} steps");
            return;
        }
    }
}
