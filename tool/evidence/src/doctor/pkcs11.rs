// SPDX-License-Identifier: BSD-2-Clause
//! Whether the PKCS#11 module works.

use base::finding::{Finding, Group};
use base::paths::shown;
use base::root::Root;
use base::trust::{is_root, Trusted};
use serde::Serialize;
use setup::pkcs11::look::{self, Seen};
use setup::pkcs11::MODULE;
use std::path::{Path, PathBuf};

const GROUP: Group = Group::Pkcs11;

/// What was looked at.
#[derive(Debug, Default, Serialize)]
pub struct Pkcs11 {
    /// The module that is installed; null if there is none, or another root is examined.
    #[serde(serialize_with = "shown")]
    pub module: Option<PathBuf>,
    /// What it showed when it was tried; null if it was not tried or does not work.
    pub works: Option<Seen>,
}

pub fn check(root: &Root) -> (Pkcs11, Vec<Finding>) {
    let mut looked = Pkcs11::default();
    let mut found = Vec::new();
    // What this process would use is of this machine, unless a variable says where it is.
    if root.is_machine() || std::env::var_os(MODULE.variable).is_some() {
        looked.module = MODULE.places().into_iter().find(|path| path.is_file());
        match looked.module.as_deref().map(tried) {
            Some(Ok(seen)) => looked.works = Some(seen),
            Some(Err(finding)) => found.push(finding),
            None => {}
        }
    }
    (looked, found)
}

/// Tries the module. As root, only if no other user can replace it.
fn tried(path: &Path) -> Result<Seen, Finding> {
    if is_root() && !is_safe(path) {
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
