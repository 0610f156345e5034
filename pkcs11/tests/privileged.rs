// SPDX-License-Identifier: BSD-2-Clause
//! A setuid program does not obey its caller's TENROUNDS_MASK. The test copies this program, makes
//! the copy setuid, and runs it as another user.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{initialized, skip};

const NOBODY: u32 = 65534;
/// The first of these that changes the backend of an unprivileged program is tried: a processor
/// without instructions for AES has the backends of its vectors.
const MASKS: [&str; 2] = ["noaes,noneon", "nossse3,noavx2,noavx512"];
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

/// The folder for the copy: that for temporary files, or that of the build if the former is mounted
/// nosuid. Another user has to reach the copy, which a build in a home can keep them from.
fn place() -> PathBuf {
    let temporary = std::env::temp_dir();
    let name = CString::new(temporary.as_os_str().as_bytes()).unwrap();
    // SAFETY: all zeros is a valid statvfs, and the pointers are valid.
    let flags = unsafe {
        let mut about: libc::statvfs = std::mem::zeroed();
        assert_eq!(libc::statvfs(name.as_ptr(), &mut about), 0);
        about.f_flag
    };
    match flags & libc::ST_NOSUID {
        0 => temporary,
        _ => PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
    }
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
    let folder = place().join(format!("tenrounds-setuid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&folder, 0o755);
    let program = folder.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    let free = told(&run(&program, None));
    let masked = |mask: &&str| told(&run(&program, Some(mask))) != free;
    let mask = MASKS.into_iter().find(masked);
    set_mode(&program, 0o4755);
    let privileged = told(&run(&program, mask));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(free.starts_with("privileged false"), "{free}");
    if mask.is_none() {
        // The bitslice backends need no feature that a mask could remove.
        assert!(free.contains("bitslice"), "no mask has an effect: {free}");
        eprintln!("# SKIP no mask has an effect on this processor: {free}");
        return;
    }
    if privileged.starts_with("privileged false") {
        return skip("setuid does not work here: the folders for the copy are mounted nosuid");
    }
    let backend = |line: &str| line.split_once(", ").map(|(_, model)| model.to_owned());
    assert_eq!(backend(&privileged), backend(&free));
}
