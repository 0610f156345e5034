// SPDX-License-Identifier: BSD-2-Clause
//! How to enable tenrounds on this machine, or what it lacks: the first thing that `status` and
//! `doctor` say to do.

use crate::libcrypto::LibCrypto;
use crate::{provider, trust};
use std::path::Path;

/// Commands that work here. `system`: whether the system has an OpenSSL 3 to enable it in.
pub fn how(system: bool) -> String {
    let libcrypto = LibCrypto::open();
    let module = libcrypto.and_then(|libcrypto| provider::find(Some(&libcrypto)));
    match module {
        Err(error) => format!("It cannot be enabled yet: {error}"),
        Ok(_) if !system => {
            "For you: tenrounds enable. For the system: install OpenSSL 3 there first".to_owned()
        }
        Ok(module) if only_roots(&module) => {
            "For the system: sudo tenrounds enable --system; for you: tenrounds enable".to_owned()
        }
        Ok(_) => {
            "For you: tenrounds enable. For the system: install tenrounds first (the package, \
                  or sudo make install)"
                .to_owned()
        }
    }
}

/// Whether only root can replace a file: `enable --system` refuses others.
fn only_roots(file: &Path) -> bool {
    let trusted = trust::Trusted::root_and(Path::new("/"), 0);
    trusted.loose(file).is_ok_and(|loose| loose.is_empty())
}
