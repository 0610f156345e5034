// SPDX-License-Identifier: BSD-2-Clause
//! The PKCS#11 module: whether it works, whether the files that name it are right, and its tokens.

use crate::finding::{Finding, Group};
use crate::paths::shown;
use crate::pkcs11::look::{self, Seen};
use crate::pkcs11::registered::{self, Registered};
use crate::pkcs11::{self, MODULE};
use crate::root::Root;
use crate::trust::Trusted;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tenrounds_pkcs11::keyring;
use token::place::{self, Wrong};

const GROUP: Group = Group::Pkcs11;

/// What was looked at.
#[derive(Debug, Default, Serialize)]
pub struct Pkcs11 {
    /// The module that is installed; null if there is none, or another root is examined.
    #[serde(serialize_with = "shown")]
    pub module: Option<PathBuf>,
    /// What it showed when it was tried; null if it was not tried or does not work.
    pub works: Option<Seen>,
    /// The token files that exist.
    #[serde(serialize_with = "shown")]
    pub tokens: Vec<PathBuf>,
    pub registered: Vec<Registered>,
}

pub fn check(root: &Root) -> (Pkcs11, Vec<Finding>) {
    let mut looked = Pkcs11 {
        registered: registered::find(root),
        ..Pkcs11::default()
    };
    let mut found: Vec<Finding> = looked.registered.iter().filter_map(names_nothing).collect();
    // What this process would use is of this machine, unless a variable says where it is.
    let here = |variable: &str| root.is_machine() || std::env::var_os(variable).is_some();
    if here(MODULE) {
        looked.module = pkcs11::places().into_iter().find(|path| path.is_file());
        match looked.module.as_deref().map(tried) {
            Some(Ok(seen)) => looked.works = Some(seen),
            Some(Err(finding)) => found.push(finding),
            None => {}
        }
    }
    if here(place::VARIABLE) {
        let (tokens, wrong) = place::tokens();
        found.extend(wrong.iter().map(ignored));
        found.extend(tokens.iter().filter_map(|path| refused(path)));
        looked.tokens = tokens.into_iter().filter(|path| path.exists()).collect();
    }
    (looked, found)
}

fn names_nothing(registered: &Registered) -> Option<Finding> {
    if registered.exists {
        return None;
    }
    let module = registered.module.display();
    let reader = match registered.by {
        "java" => "the JVMs of this JDK do",
        _ => "the programs that use p11-kit do",
    };
    let says = format!("a PKCS#11 module is named that does not exist: {reader} without it");
    let finding = Finding::warning(GROUP, "pkcs11-missing", says);
    let finding = finding.seen(registered.file.display(), module);
    let cure = "install the package tenrounds-pkcs11, or remove the entry";
    Some(finding.cure(registered.file.display(), cure))
}

/// Tries the module. As root, only if no other user can replace it.
fn tried(path: &Path) -> Result<Seen, Finding> {
    // SAFETY: the function has no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root && !is_safe(path) {
        let says = "root did not try the PKCS#11 module, because another user can replace it";
        let finding = Finding::note(GROUP, "pkcs11-not-tried", says);
        return Err(finding.seen(path.display(), "its folders and their modes"));
    }
    look::ask(path).map_err(|error| {
        let again = "install it again (the package tenrounds-pkcs11, or 'make install')";
        Finding::problem(GROUP, "pkcs11-broken", "the PKCS#11 module does not work")
            .seen(path.display(), error)
            .cure(path.display(), again)
    })
}

fn is_safe(path: &Path) -> bool {
    let loose = Trusted::root_and(Path::new("/"), 0).loose(path);
    loose.is_ok_and(|loose| loose.is_empty())
}

fn ignored(wrong: &Wrong) -> Finding {
    let warning = |says| Finding::warning(GROUP, "pkcs11-conf", says);
    match wrong {
        Wrong::File(file, exposure) => {
            warning("the PKCS#11 module ignores its configuration, because of who could change it")
                .seen(file.display(), &exposure.why)
                .cure("shell", &exposure.cure)
        }
        Wrong::Line(file, number, line) => {
            let at = format!("{}:{number}", file.display());
            warning("the PKCS#11 module ignores a line of its configuration")
                .seen(&at, format!("'{line}' is not 'token = /PATH'"))
                .cure(at, "correct the line, or remove it")
        }
    }
}

/// What is wrong with a token's file. One that does not exist yet is in order.
fn refused(path: &Path) -> Option<Finding> {
    let error = keyring::token(path.to_owned())
        .map_or_else(Some, |token| token.read().err().map(keyring::Error::Token))?;
    let (id, cure) = match &error {
        keyring::Error::Token(token::Error::Exposed(_, exposure)) => {
            ("token-exposed", exposure.cure.clone())
        }
        keyring::Error::Token(token::Error::Newer(..)) => (
            "token-newer",
            "install the version of tenrounds that wrote it".to_owned(),
        ),
        keyring::Error::Token(token::Error::Damaged(..)) => (
            "token-damaged",
            "restore it from a backup, or move it away: 'tenrounds token init' makes a new one"
                .to_owned(),
        ),
        _ => ("token-unreadable", format!("ls -l {}", path.display())),
    };
    let finding = Finding::problem(GROUP, id, "the PKCS#11 module refuses a token file");
    Some(finding.seen(path.display(), error).cure("shell", cure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_file_is_not_called_a_wrong_line() {
        let file = PathBuf::from("/etc/tenrounds/pkcs11.conf");
        let exposure = token::Exposure {
            why: "it has mode 666".into(),
            cure: format!("chmod go-w {}", file.display()),
        };
        let whole = ignored(&Wrong::File(file.clone(), exposure));
        assert!(!whole.says.contains("line"), "{}", whole.says);
        assert_eq!(whole.cures[0].set, "chmod go-w /etc/tenrounds/pkcs11.conf");
        let line = ignored(&Wrong::Line(file, 3, "slot = 1".into()));
        assert!(line.says.contains("a line"), "{}", line.says);
        assert_eq!(line.cures[0].at, "/etc/tenrounds/pkcs11.conf:3");
    }
}
