// SPDX-License-Identifier: BSD-2-Clause
//! Environment variables by the rule of secure_getenv(3): a program with more rights than its
//! caller (setuid, setgid, file capabilities) does not see them. Its caller must not choose which
//! code it runs, or where it reads and writes.

use std::ffi::OsString;

/// Whether this program has more rights than its caller.
pub fn is_privileged() -> bool {
    // SAFETY: the argument is a constant.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The value of a variable; None in a program with more rights than its caller.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|_| !is_privileged())
}

/// The same for a value in UTF-8; None for any other value.
pub fn text(name: &str) -> Option<String> {
    variable(name)?.into_string().ok()
}

/// All variables, for a child process, which by itself has no more rights than its parent.
pub fn for_a_child() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}
