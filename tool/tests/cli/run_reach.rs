// SPDX-License-Identifier: BSD-2-Clause
//! `run` says in a line when it cannot reach the program that it starts.

use crate::support::{contains, skip, Finish, Nobody, Place};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Standard error of `run -- PROGRAM`, which has to end well.
fn said(place: &Place, program: &Path) -> String {
    let run = place.tool(["run", "--"]).arg(program).done().ok();
    run.err
}

pub fn compile(place: &Place, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (file, program) = (place.file(&format!("{name}.c"), source), place.path(name));
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(cc)
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .args(options)
        .status();
    assert!(status.unwrap().success(), "cannot compile {name}");
    program
}

fn script(place: &Place, name: &str, interpreter: &str) -> PathBuf {
    let file = place.file(name, &format!("#!{interpreter}\n"));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    file
}

const NOTHING: &str = "int main(void) { return 0; }";

#[test]
fn a_dynamic_program_needs_no_line() {
    let place = Place::new();
    let plain = compile(&place, "plain", NOTHING, &[]);
    assert_eq!(said(&place, &plain), "");
    assert_eq!(said(&place, &script(&place, "script", "/bin/sh")), "");
    let run = place.tool(["run", "--", "openssl", "version"]).done().ok();
    assert_eq!(run.err, "");
}

#[test]
fn a_static_program() {
    let place = Place::new();
    let text = said(&place, &compile(&place, "static", NOTHING, &["-static"]));
    assert!(text.contains("/static is statically linked:"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn a_program_with_its_own_library() {
    let place = Place::new();
    let source = "int EVP_EncryptInit_ex(void) { return 0; }\nint main(void) { return 0; }";
    let text = said(&place, &compile(&place, "bundled", source, &[]));
    assert!(
        text.contains("/bundled brings its own cryptography (OpenSSL)"),
        "{text}"
    );
    let source = "const char text[] = \"OpenSSL 3.0.2 15 Mar 2022\";\n\
                  int main(int n, char **v) { return text[n] == **v; }";
    let text = said(&place, &compile(&place, "stripped", source, &["-s"]));
    assert!(
        text.contains("/stripped brings its own cryptography (OpenSSL 3.0.2)"),
        "{text}"
    );
}

#[test]
fn an_old_library() {
    let place = Place::new();
    compile(
        &place,
        "old.so",
        "int old;",
        &["-shared", "-fPIC", "-Wl,-soname,libcrypto.so.1.1"],
    );
    let (library, dir) = (place.path("old.so"), place.path(""));
    std::fs::rename(&library, place.path("libcrypto.so.1.1")).unwrap();
    let library = place.path("libcrypto.so.1.1");
    let rpath = format!("-Wl,-rpath,{}", dir.display());
    let source = "extern int old;\nint main(void) { return old; }";
    let program = compile(
        &place,
        "older",
        source,
        &[library.to_str().unwrap(), &rpath],
    );
    let text = said(&place, &program);
    assert!(
        text.contains("/older uses libcrypto.so.1.1, an OpenSSL before 3.0"),
        "{text}"
    );
}

#[test]
fn a_script_of_an_interpreter_that_is_not_reached() {
    let place = Place::new();
    let interpreter = compile(&place, "static-sh", NOTHING, &["-static"]);
    for (name, line) in [
        ("direct", interpreter.display().to_string()),
        (
            "by-env",
            format!("/usr/bin/env -S A=b {}", interpreter.display()),
        ),
    ] {
        let text = said(&place, &script(&place, name, &line));
        assert!(
            text.contains(&format!("/{name} is a script, and its interpreter ")),
            "{text}"
        );
        assert!(text.contains("/static-sh is statically linked"), "{text}");
    }
}

/// The line does not depend on the program being able to run.
#[test]
fn a_setuid_program_of_another_user() {
    let place = Place::new();
    let Some(program) = other_users_setuid(&place) else {
        return skip("no setuid program of another user on this machine");
    };
    let run = place.tool(["run", "--"]).arg(&program).done();
    assert!(
        run.err.contains(" is setuid, and libcrypto ignores"),
        "{}",
        run.err
    );
}

/// Root makes one; everybody else finds root's passwd or su.
fn other_users_setuid(place: &Place) -> Option<PathBuf> {
    // SAFETY: getuid() has no requirements.
    if unsafe { libc::getuid() } != 0 {
        let root = ["/usr/bin/su", "/usr/bin/passwd", "/bin/su"];
        return root.iter().map(PathBuf::from).find(|file| file.is_file());
    }
    let program = compile(place, "privileged", NOTHING, &[]);
    std::os::unix::fs::chown(&program, Some(65534), Some(65534)).ok()?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).ok()?;
    Some(program)
}

/// Only root can give capabilities to a file, and only others get them from it.
#[test]
fn a_program_with_file_capabilities() {
    let Some(nobody) = Nobody::new() else {
        return;
    };
    let program = nobody.file("capable");
    std::fs::copy("/bin/true", &program).unwrap();
    let said = || {
        let place = Place::new();
        let mut tool = nobody.tool(&place, ["run", "--"]);
        tool.env("TENROUNDS_MODULE", nobody.module())
            .env("XDG_CACHE_HOME", nobody.file("cache"));
        tool.arg(&program).done().err
    };
    assert_eq!(said(), "");
    // Version 2 with the flag "effective": cap_net_bind_service is permitted, nothing inheritable.
    let mut value = [0u8; 20];
    value[..4].copy_from_slice(&0x0200_0001_u32.to_le_bytes());
    value[4..8].copy_from_slice(&(1_u32 << 10).to_le_bytes());
    let path = std::ffi::CString::new(program.to_str().unwrap()).unwrap();
    let name = c"security.capability";
    // SAFETY: path and name are C strings, and the value has this length.
    let set = unsafe {
        libc::setxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    contains(&said(), &["with file capabilities", "it is not reached"]);
}
