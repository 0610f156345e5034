// SPDX-License-Identifier: BSD-2-Clause
//! How to enable tenrounds on this machine, or what it lacks: the first thing that `status` and
//! `doctor` say to do.

use base::trust;
use libcrypto::LibCrypto;
use std::path::{Path, PathBuf};

/// Commands that work here. `system`: whether the system has an OpenSSL 3 to enable it in.
pub fn how(system: bool) -> String {
    let libcrypto = LibCrypto::open();
    let module = match libcrypto.and_then(|libcrypto| libcrypto::module::find(Some(&libcrypto))) {
        Ok(module) => module,
        Err(error) => return format!("It cannot be enabled yet: {error}"),
    };
    let elsewhere = not_on_path();
    if system && elsewhere.is_none() && only_roots(&module) {
        return "For the system, run `sudo tenrounds enable --system`; for your account, `tenrounds enable`"
            .into();
    }
    let tool = elsewhere.map_or("tenrounds".into(), |tool| tool.display().to_string());
    let first = match system {
        true => "first install tenrounds (the package, or `sudo make install`)",
        false => "first install OpenSSL 3",
    };
    format!("For your account, run `{tool} enable`. For the system, {first}")
}

/// Where this program lies, if the shell does not find it by its name, as in a build tree.
fn not_on_path() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|dir| dir.join("tenrounds"));
    let same = |found: PathBuf| found.canonicalize().is_ok_and(|found| found == program);
    (!found.any(same)).then_some(program)
}

/// Whether only root can replace a file: `enable --system` refuses others.
fn only_roots(file: &Path) -> bool {
    let trusted = trust::Trusted::root_and(Path::new("/"), 0);
    trusted.loose(file).is_ok_and(|loose| loose.is_empty())
}
