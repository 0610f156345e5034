// SPDX-License-Identifier: BSD-2-Clause
//! The installed OpenSSL: its configurations, its programs, and whether they work with the
//! provider.

pub mod cnf;
pub mod configuration;
pub mod enabling;
pub mod nodejs;
pub mod probe;
pub mod programs;
pub mod store;
pub mod trial;

use libcrypto::LibCrypto;
use terminal::error::{Error, Result};

use nodejs::Nodejs;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A variable of a child process.
pub type Variable = (&'static str, OsString);

/// Writes the configuration with which a program prefers the provider, checks it, and tries it in
/// this environment.
pub fn prepare(environment: &[Variable], nodejs: &Nodejs) -> Result<PathBuf> {
    let libcrypto = LibCrypto::open()?;
    let module = libcrypto::module::find(Some(&libcrypto))?;
    let base = configuration::base(&libcrypto, std::env::var_os("OPENSSL_CONF"));
    let cnf = base.as_deref().map(configuration::load).transpose()?;
    let config = configuration::generate(base.as_deref().zip(cnf.as_ref()), &module, nodejs)?;
    let file = store::put("openssl", ".cnf", &config)?;
    let mut tried = environment.to_vec();
    tried.push(("OPENSSL_CONF", file.clone().into()));
    match probe::ask(&tried)?.problem() {
        None => Ok(file),
        Some(problem) => Err(untried(&problem, environment, base.as_deref(), &file)),
    }
}

/// Nothing was run, because the configuration failed its trial; and whether the base does so by
/// itself.
fn untried(problem: &str, environment: &[Variable], base: Option<&Path>, file: &Path) -> Error {
    let alone = probe::ask(environment).is_ok_and(|probe| probe.works());
    let what_to_do = match (alone, base) {
        (false, Some(base)) => {
            format!("so it is without tenrounds: fix {} first", base.display())
        }
        _ => format!(
            "see {}, which includes the usual configuration",
            file.display()
        ),
    };
    Error::failure(format!(
        "tried in a child process, {problem}; nothing was run; {what_to_do}"
    ))
}
