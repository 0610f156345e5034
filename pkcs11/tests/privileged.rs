// SPDX-License-Identifier: BSD-2-Clause
//! A setuid program does not obey its caller's TENROUNDS_MASK. The test copies this program, makes
//! the copy setuid, and runs it as another user.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use support::{initialized, skip};

const NOBODY: u32 = 65534;
/// In the copy, the name of its test.
const INSIDE: &str = "tells_its_backend";

/// Prints the model of the token, which names the backend, and whether the program is privileged.
#[test]
#[ignore = "the other test runs it in a setuid program"]
fn tells_its_backend() {
    initialized();
    let mut info = CK_TOKEN_INFO::default();
    assert_eq!(ck!(C_GetTokenInfo(0, &mut info)), CKR_OK);
    // SAFETY: the argument is a constant.
    let privileged = unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
    let model = String::from_utf8_lossy(&info.model).into_owned();
    println!("privileged {privileged}, model {}.", model.trim());
}

/// Runs the program as another user, perhaps with a mask.
fn run(program: &Path, mask: Option<&str>) -> Output {
    let mut command = Command::new(program);
    command.args(["--ignored", "--exact", INSIDE, "--nocapture"]);
    command
        .env_remove("TENROUNDS_MASK")
        .envs(mask.map(|mask| ("TENROUNDS_MASK", mask)));
    command.current_dir("/").uid(NOBODY).gid(NOBODY);
    command.output().expect("the copy starts")
}

/// What the copy prints.
fn told(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let at = text
        .find("privileged ")
        .unwrap_or_else(|| panic!("{output:?}"));
    let line = text[at..].lines().next().unwrap_or_default();
    line.to_owned()
}

#[test]
fn a_setuid_program_ignores_the_mask() {
    // SAFETY: the function has no arguments.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can make a setuid program and run it as another user");
    }
    if std::env::var_os("TENROUNDS_EMULATED").is_some() {
        eprintln!("# SKIP the emulator starts programs without AT_SECURE");
        return;
    }
    let folder = std::env::temp_dir().join(format!("tenrounds-setuid-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&folder, 0o755);
    let program = folder.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    let mask = Some("noaes,noneon");
    let (free, masked) = (told(&run(&program, None)), told(&run(&program, mask)));
    set_mode(&program, 0o4755);
    let privileged = told(&run(&program, mask));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(free.starts_with("privileged false"), "{free}");
    if privileged.starts_with("privileged false") {
        return skip("setuid does not work here: the folder for temporary files is mounted nosuid");
    }
    // Without rights, the mask decides; otherwise this test would see nothing.
    let backend = |line: &str| line.split_once(", ").map(|(_, model)| model.to_owned());
    assert_ne!(masked, free);
    assert_eq!(backend(&privileged), backend(&free));
}
