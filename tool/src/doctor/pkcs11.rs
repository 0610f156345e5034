// SPDX-License-Identifier: BSD-2-Clause
//! The PKCS#11 module: whether it works, whether the files that name it are right, and its tokens.

use super::finding::{Finding, Group};
use crate::pkcs11::look;
use crate::pkcs11::registered::{self, Registered};
use crate::pkcs11::{self, MODULE};
use crate::root::Root;
use crate::trust::Trusted;
use std::path::Path;
use tenrounds_pkcs11::keyring;
use token::place;

const GROUP: Group = Group::Pkcs11;

pub fn check(root: &Root) -> Vec<Finding> {
    let registered = registered::find(root);
    let mut found: Vec<Finding> = registered.iter().filter_map(names_nothing).collect();
    // What this process would use is of this machine, unless a variable says where it is.
    let here = |variable: &str| root.is_machine() || std::env::var_os(variable).is_some();
    if here(MODULE) {
        found.extend(module());
    }
    if here(place::VARIABLE) {
        let (tokens, wrong) = place::tokens();
        found.extend(wrong.iter().map(|line| wrong_line(line)));
        found.extend(tokens.iter().filter_map(|path| refused(path)));
    }
    found
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

/// Whether the module that is installed works. As root, only if no other user can replace it.
fn module() -> Option<Finding> {
    let path = pkcs11::places().into_iter().find(|path| path.is_file())?;
    // SAFETY: the function has no arguments and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root && !is_safe(&path) {
        let says = "root did not try the PKCS#11 module, because another user can replace it";
        let finding = Finding::note(GROUP, "pkcs11-not-tried", says);
        return Some(finding.seen(path.display(), "its folders and their modes"));
    }
    let error = look::ask(&path).err()?;
    let finding = Finding::problem(GROUP, "pkcs11-broken", "the PKCS#11 module does not work");
    let again = "install it again (the package tenrounds-pkcs11, or 'make install')";
    Some(
        finding
            .seen(path.display(), error)
            .cure(path.display(), again),
    )
}

fn is_safe(path: &Path) -> bool {
    let loose = Trusted::root_and(Path::new("/"), 0).loose(path);
    loose.is_ok_and(|loose| loose.is_empty())
}

fn wrong_line(line: &str) -> Finding {
    let (at, what) = line.split_once(": ").unwrap_or((line, ""));
    Finding::warning(
        GROUP,
        "pkcs11-conf",
        "a line of the module's configuration is ignored",
    )
    .seen(at, what)
    .cure(at, "correct the line, or remove it")
}

/// What is wrong with a token's file. One that does not exist yet is in order.
fn refused(path: &Path) -> Option<Finding> {
    let error = keyring::token(path.to_owned())
        .map_or_else(Some, |token| token.read().err().map(keyring::Error::Token))?;
    let (id, cure) = match &error {
        keyring::Error::Token(token::Error::Exposed(..)) => {
            ("token-exposed", format!("chmod 600 {}", path.display()))
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
