// SPDX-License-Identifier: BSD-2-Clause
//! Finding a part of the installation: a file that a variable names, beside this program, or where
//! distributions keep it.

use std::path::PathBuf;
use terminal::error::{Error, Result};

/// Debian's name of this architecture in paths of libraries.
pub const MULTIARCH: &str = match () {
    () if cfg!(target_arch = "x86_64") => "x86_64-linux-gnu",
    () if cfg!(target_arch = "x86") => "i386-linux-gnu",
    () if cfg!(target_arch = "aarch64") => "aarch64-linux-gnu",
    () => "unknown-linux-gnu",
};

pub struct Part {
    /// For messages: "the PKCS#11 module".
    pub name: &'static str,
    /// Where it comes from: "the package tenrounds-pkcs11".
    pub source: &'static str,
    /// The variable that names the file; then no other place counts.
    pub variable: &'static str,
    pub file: &'static str,
    /// Its folder below the prefix of this program.
    pub folder: &'static str,
    /// Other folders; in them, MULTIARCH stands for Debian's name of this architecture.
    pub usual: &'static [&'static str],
}

impl Part {
    /// The places to look in, in this order.
    pub fn places(&self) -> Vec<PathBuf> {
        if let Some(path) = environment::variable(self.variable) {
            return vec![PathBuf::from(path)];
        }
        let program = std::env::current_exe().ok();
        let prefix = program.as_deref().and_then(|it| it.parent()?.parent());
        let beside = prefix.map(|prefix| prefix.join(self.folder));
        let usual = self.usual.iter();
        let usual = usual.map(|it| it.replace("MULTIARCH", MULTIARCH).into());
        let all = beside.into_iter().chain(usual);
        all.map(|folder| folder.join(self.file)).collect()
    }

    /// The absolute path of the file.
    pub fn find(&self) -> Result<PathBuf> {
        let places = self.places();
        let Some(path) = places.iter().find(|path| path.is_file()) else {
            let list: Vec<_> = places.iter().map(|it| it.display().to_string()).collect();
            return Err(Error::failure(format!(
                "{} is missing: looked for {}; install {}, or name the file in {}",
                self.name,
                list.join(", "),
                self.source,
                self.variable
            )));
        };
        path.canonicalize()
            .map_err(|error| Error::failure(format!("{}: {error}", path.display())))
    }
}
