// SPDX-License-Identifier: BSD-2-Clause
//! `enable --p11-kit`: the PKCS#11 module for every program that uses p11-kit, of a user or of the
//! machine, by a module file of our own (pkcs11.conf(5)).
//!
//! The name differs from that of the packages' file, because p11-kit joins files of one name: the
//! packages' list of programs would stay in force.

use super::files::{self, at};
use super::site::Site;
use super::state::{self, State};
use super::target::{head, Files, Target, Tried};
use crate::home::Home;
use crate::openssl::programs::below;
use crate::openssl::trial::on_path;
use crate::pkcs11::{self, look, registered};
use base::limited;
use base::trust;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use terminal::error::{Error, Result};

const OWN: &str = "pkcs11/modules/tenrounds-enabled.module";
/// Showing modules takes milliseconds, but each of them runs its own code.
const LIMIT: Duration = Duration::from_secs(10);
/// Nothing asks the module for certificates, and a program that cannot load it goes on.
const SETTINGS: &str = "priority: -10\ntrust-policy: no\ncritical: no\n";

/// The module file of one scope.
pub struct P11Kit {
    file: PathBuf,
    /// p11-kit can be shown another folder in the place of the user's ~/.config.
    of_user: bool,
    /// Whether p11-kit reads the file, which it does not below another root.
    is_read: bool,
}

impl P11Kit {
    /// The module file, and the directory of its state.
    pub fn find(root: &Path, system: bool) -> Result<(P11Kit, PathBuf)> {
        if system {
            return Ok((P11Kit::system(root), state::system_dir(root)));
        }
        if trust::is_root() && root == Path::new("/") {
            return Err(Error::failure(
                "p11-kit ignores the files of the user root; run it as another user, or with \
                 --system",
            ));
        }
        let home = Home::mine()?;
        Ok((P11Kit::user(&home), home.state))
    }

    fn system(root: &Path) -> P11Kit {
        P11Kit {
            file: below(root, &Path::new("/etc").join(OWN)),
            of_user: false,
            is_read: root == Path::new("/"),
        }
    }

    fn user(home: &Home) -> P11Kit {
        P11Kit {
            file: home.config.join(OWN),
            of_user: true,
            is_read: true,
        }
    }

    /// Tries the module, then whether p11-kit shows it.
    fn works(&self, module: &Path, copy: Option<&Path>) -> Result<()> {
        trust::only_mine(module)?;
        look::ask(module).map_err(|error| at(module, format!("does not work: {error}")))?;
        let program = on_path("p11-kit").filter(|_| self.is_read);
        // Programs use its library without the program.
        let Some(program) = program.filter(|_| copy.is_none() || self.of_user) else {
            return Ok(());
        };
        let mut p11_kit = Command::new(program);
        p11_kit.arg("list-modules");
        if let Some(copy) = copy {
            let config = copy.with_file_name("config");
            let shown = config.join(OWN);
            files::make_directory(shown.parent().unwrap_or(&config), 0o700)?;
            std::fs::copy(copy, &shown).map_err(|error| at(&shown, error))?;
            p11_kit.env("XDG_CONFIG_HOME", config);
        }
        let output = limited::run(p11_kit, b"", LIMIT).map_err(Error::failure)?;
        let said = [output.out, output.err].concat();
        let path = module.display().to_string();
        match said.lines().any(|line| line.ends_with(&path)) {
            true => Ok(()),
            false => Err(Error::failure(format!(
                "'p11-kit list-modules' does not show {path}; see its configuration \
                 (pkcs11.conf(5)). It says: {}",
                said.trim()
            ))),
        }
    }
}

/// What `enable` has registered.
pub fn known(state: &State, root: &Path, home: Option<&Home>) -> Vec<Box<dyn Target>> {
    let all = [Some(P11Kit::system(root)), home.map(P11Kit::user)];
    let known = all.into_iter().flatten();
    let known = known.filter(|place| state.entry(&place.file).is_some());
    known
        .map(|place| Box::new(place) as Box<dyn Target>)
        .collect()
}

impl Target for P11Kit {
    fn site(&self) -> Site {
        Site::new("p11-kit", self.options(), self.file.clone(), Vec::new())
    }

    fn options(&self) -> String {
        match self.of_user {
            true => " --p11-kit".to_owned(),
            false => " --system --p11-kit".to_owned(),
        }
    }

    fn files(&self) -> Result<Files> {
        Ok(Files {
            own: self.file.clone(),
            edited: None,
        })
    }

    fn text(
        &self,
        _files: &Files,
        _base: Option<&Path>,
        _notes: &mut Vec<String>,
    ) -> Result<(Vec<u8>, PathBuf)> {
        let module = pkcs11::find()?;
        let path = module.to_str().filter(|path| !path.contains(['\n', '\r']));
        let path =
            path.ok_or_else(|| at(&module, "p11-kit cannot read this path of the module"))?;
        let text = format!("{}module: {path}\n{SETTINGS}", head());
        Ok((text.into_bytes(), module))
    }

    fn try_out(&self, copies: Option<&Files>, _base: &Path) -> Tried {
        let copy = copies.map(|copies| copies.own.as_path());
        match self.module(copy.unwrap_or(&self.file)) {
            Some(module) => self.works(&module, copy).into(),
            None => Err(at(&self.file, "names no module")).into(),
        }
    }

    fn module(&self, own: &Path) -> Option<PathBuf> {
        let own = std::fs::read_to_string(own).ok()?;
        registered::value_of(&own, "module").map(PathBuf::from)
    }
}
