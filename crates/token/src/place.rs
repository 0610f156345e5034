// SPDX-License-Identifier: BSD-2-Clause
//! Where tokens lie. The first of these that says something counts:
//!
//! 1. the environment variable TENROUNDS_TOKEN: one path;
//! 2. the user's configuration file, $XDG_CONFIG_HOME/tenrounds/pkcs11.conf (by default in
//!    ~/.config), then /etc/tenrounds/pkcs11.conf: lines `token = PATH` in UTF-8, one for each
//!    slot, and comments after #;
//! 3. /var/lib/tenrounds/token for root, $XDG_DATA_HOME/tenrounds/token (by default in
//!    ~/.local/share) for others.
//!
//! A program with more rights than its user (setuid) reads no environment variables and no file of
//! the user.

use crate::error::Exposure;
use std::ffi::{CStr, OsString};
use std::fmt;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

pub const VARIABLE: &str = "TENROUNDS_TOKEN";
const SYSTEM_FILE: &str = "/etc/tenrounds/pkcs11.conf";
const OF_ROOT: &str = "/var/lib/tenrounds/token";

/// What is wrong with a configuration file.
#[derive(Debug)]
pub enum Wrong {
    /// The module ignores the file.
    File(PathBuf, Exposure),
    /// The module ignores a line: its number and text.
    Line(PathBuf, usize, String),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wrong::File(file, exposure) => {
                let (why, cure) = (&exposure.why, &exposure.cure);
                write!(f, "{}: {why}. To mend it: {cure}", file.display())
            }
            Wrong::Line(file, number, line) => {
                write!(
                    f,
                    "{}:{number}: '{line}' is not 'token = /PATH'",
                    file.display()
                )
            }
        }
    }
}

/// The value of an environment variable.
type Variable = Box<dyn Fn(&str) -> Option<OsString>>;

/// What decides where tokens lie.
pub struct Surroundings {
    pub variable: Variable,
    pub home: Option<PathBuf>,
    pub is_root: bool,
    pub system_file: PathBuf,
}

impl Surroundings {
    /// Those of this process.
    pub fn here() -> Surroundings {
        // SAFETY: the function has no arguments.
        let me = unsafe { libc::geteuid() };
        let variable = |name: &str| environment::variable(name).filter(|value| !value.is_empty());
        Surroundings {
            home: variable("HOME").map(PathBuf::from).or_else(|| home_of(me)),
            variable: Box::new(variable),
            is_root: me == 0,
            system_file: PathBuf::from(SYSTEM_FILE),
        }
    }

    /// The folder of a variable of the XDG base directory specification. Relative paths do not
    /// count there.
    fn folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let given = (self.variable)(variable).map(PathBuf::from);
        let given = given.filter(|path| path.is_absolute());
        given.or_else(|| self.home.as_ref().map(|home| home.join(below_home)))
    }

    /// The tokens, and what is wrong with the configuration.
    pub fn tokens(&self) -> (Vec<PathBuf>, Vec<Wrong>) {
        if let Some(path) = (self.variable)(VARIABLE) {
            return (vec![PathBuf::from(path)], Vec::new());
        }
        let own = self.folder("XDG_CONFIG_HOME", ".config");
        let own = own.map(|folder| folder.join("tenrounds/pkcs11.conf"));
        for file in own.iter().chain([&self.system_file]) {
            let (paths, wrong) = configured(file);
            if !paths.is_empty() || !wrong.is_empty() {
                return (paths, wrong);
            }
        }
        let path = match self.is_root {
            true => Some(PathBuf::from(OF_ROOT)),
            false => {
                let folder = self.folder("XDG_DATA_HOME", ".local/share");
                folder.map(|folder| folder.join("tenrounds/token"))
            }
        };
        (path.into_iter().collect(), Vec::new())
    }
}

/// The tokens of this process.
pub fn tokens() -> (Vec<PathBuf>, Vec<Wrong>) {
    Surroundings::here().tokens()
}

/// The tokens that a configuration file names. A file that others could change names none: they
/// could name a token whose PIN they know.
fn configured(file: &Path) -> (Vec<PathBuf>, Vec<Wrong>) {
    let Ok((mut opened, metadata)) = crate::file::open(file, 0) else {
        return Default::default();
    };
    if let Some(exposure) = Exposure::of_configuration(file, &metadata) {
        return (Vec::new(), vec![Wrong::File(file.to_owned(), exposure)]);
    }
    let mut text = Vec::new();
    match opened.read_to_end(&mut text) {
        Ok(_) => parse(&String::from_utf8_lossy(&text), file),
        Err(_) => Default::default(),
    }
}

fn parse(text: &str, file: &Path) -> (Vec<PathBuf>, Vec<Wrong>) {
    let (mut paths, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let pair = line.split_once('=').map(|(a, b)| (a.trim(), b.trim()));
        match pair {
            Some(("token", path)) if path.starts_with('/') => paths.push(PathBuf::from(path)),
            None if line.is_empty() => {}
            _ => wrong.push(Wrong::Line(file.to_owned(), number + 1, line.to_owned())),
        }
    }
    (paths, wrong)
}

/// The home directory that the system has for a user.
fn home_of(user: libc::uid_t) -> Option<PathBuf> {
    let mut buffer = vec![0; 16384];
    // SAFETY: the struct is of numbers and pointers that may be NULL.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: the pointers are valid, and the length is the buffer's.
    let status = unsafe {
        libc::getpwuid_r(
            user,
            &mut entry,
            buffer.as_mut_ptr(),
            buffer.len(),
            &mut found,
        )
    };
    if status != 0 || found.is_null() || entry.pw_dir.is_null() {
        return None;
    }
    // SAFETY: the entry was found, so its strings lie in the buffer.
    let home = unsafe { CStr::from_ptr(entry.pw_dir) };
    Some(PathBuf::from(OsString::from_vec(home.to_bytes().to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(variables: &'static [(&str, &str)], is_root: bool) -> Surroundings {
        Surroundings {
            variable: Box::new(move |name| {
                let found = variables.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| OsString::from(value))
            }),
            home: Some(PathBuf::from("/nowhere/h")),
            is_root,
            system_file: PathBuf::from("/nowhere/pkcs11.conf"),
        }
    }

    fn first(variables: &'static [(&str, &str)], is_root: bool) -> PathBuf {
        let (paths, wrong) = surroundings(variables, is_root).tokens();
        assert_eq!((paths.len(), wrong.len()), (1, 0));
        paths[0].clone()
    }

    #[test]
    fn each_user_has_a_place() {
        assert_eq!(first(&[], true), Path::new(OF_ROOT));
        let own = Path::new("/nowhere/h/.local/share/tenrounds/token");
        assert_eq!(first(&[], false), own);
        assert_eq!(first(&[("XDG_DATA_HOME", "relative")], false), own);
        let data = first(&[("XDG_DATA_HOME", "/nowhere/d")], false);
        assert_eq!(data, Path::new("/nowhere/d/tenrounds/token"));
        assert_eq!(first(&[(VARIABLE, "a/b")], true), Path::new("a/b"));
    }

    #[test]
    fn a_file_names_tokens() {
        let text = "# tokens\n token = /a/b # the first\n\ntoken=/c d\ntoken = e\nslot = 1\n";
        let (paths, wrong) = parse(text, Path::new("f"));
        assert_eq!(paths, [Path::new("/a/b"), Path::new("/c d")]);
        let wrong: Vec<String> = wrong.iter().map(Wrong::to_string).collect();
        assert_eq!(
            wrong,
            [
                "f:5: 'token = e' is not 'token = /PATH'",
                "f:6: 'slot = 1' is not 'token = /PATH'"
            ]
        );
    }

    #[test]
    fn a_file_that_others_could_change_names_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let name = format!("tenrounds-place-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "token = /a\n").unwrap();
        let mut here = surroundings(&[], false);
        here.system_file = file.clone();
        for (mode, used) in [(0o644, true), (0o600, true), (0o664, false), (0o602, false)] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let (paths, wrong) = here.tokens();
            assert_eq!(
                (paths.len(), wrong.len()),
                (usize::from(used), usize::from(!used))
            );
            let said =
                format!("has mode {mode:o}, so other users could change it. To mend it: chmod");
            assert!(used || wrong[0].to_string().contains(&said));
        }
        std::fs::remove_file(&file).unwrap();
        let path = std::ffi::CString::new(file.to_str().unwrap()).unwrap();
        // SAFETY: the path is a string.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        assert!(here.tokens().1[0]
            .to_string()
            .contains("not a regular file"));
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn this_process_has_a_home() {
        // SAFETY: the function has no arguments and cannot fail.
        assert!(home_of(unsafe { libc::geteuid() }).is_some());
        assert_eq!(home_of(4_000_000_000), None);
    }
}
