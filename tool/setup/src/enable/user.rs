// SPDX-License-Identifier: BSD-2-Clause
//! For one user: a configuration that includes the system's, and the line that sets OPENSSL_CONF.

use super::report::Report;
use super::site::{Outcome, Site};
use super::target::{Files, Means, Target, Tried};
use super::{apply, undo};
use crate::home::Home;
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration;
use crate::openssl::programs::{self, Program};
use crate::openssl::trial::Subject;
use base::root::Root;
use std::path::{Path, PathBuf};
use terminal::error::Result;

/// Enables tenrounds for this user.
pub fn enable(root: &Path, report: &mut Report) -> Result<()> {
    let home = Home::mine()?;
    let means = Means::find(root, &mut report.notes)?;
    let found = programs::installations(root, Some(&means.libcrypto));
    report.export = Some(home.line()?);
    let programs = found.sites.into_iter().flat_map(|site| site.programs);
    // The configuration that programs of this user read without us.
    let named = std::env::var_os("OPENSSL_CONF").filter(|path| path != home.own.as_os_str());
    let user = User {
        base: configuration::base(&means.libcrypto, named),
        means: Some(means),
        ..User::of(&home, programs.collect())
    };
    apply::enable(&home.state, &[Box::new(user)], report)?;
    report.note_variable(Some(&home.own));
    report.passed_over = found.passed_over;
    Ok(())
}

/// Undoes all changes of `enable`.
pub fn disable(report: &mut Report) -> Result<()> {
    let home = Home::mine()?;
    let user = Box::new(User::of(&home, Vec::new()));
    undo::disable(&home.state, &[user], report)?;
    if report.sites.iter().any(|s| s.outcome == Outcome::Disabled) {
        report.notes.push(format!(
            "if your profile sets OPENSSL_CONF to {}, remove that line; in this shell: unset OPENSSL_CONF",
            home.own.display()
        ));
    }
    Ok(())
}

/// The user's configuration.
pub struct User<'a> {
    home: &'a Home,
    programs: Vec<Program>,
    /// What `enable` needs besides.
    means: Option<Means>,
    /// What it includes.
    base: Option<PathBuf>,
}

impl User<'_> {
    pub fn of(home: &Home, programs: Vec<Program>) -> User<'_> {
        User {
            home,
            programs,
            means: None,
            base: None,
        }
    }
}

impl Target for User<'_> {
    fn site(&self) -> Site {
        Site::new(
            "user",
            self.options(),
            self.home.own.clone(),
            self.programs.clone(),
        )
    }

    fn options(&self) -> String {
        String::new()
    }

    fn files(&self) -> Result<Files> {
        Ok(Files {
            own: self.home.own.clone(),
            edited: None,
        })
    }

    fn text(&self, _files: &Files, _base: Option<&Path>) -> Result<(Vec<u8>, PathBuf)> {
        let means = self.means.as_ref().expect("enable has them");
        let base = self.base.as_deref();
        let named = base.unwrap_or(&self.home.own);
        means.text(base, base, named)
    }

    fn try_out(&self, copies: Option<&Files>, _base: &Path) -> Tried {
        let copy = copies.map(|copies| copies.own.as_path());
        let without = self.base.as_deref();
        let subject = Subject {
            programs: &self.programs,
            libcrypto: true,
            conf: Some(copy.unwrap_or(&self.home.own)),
            without: without.or(Some(Path::new("/dev/null"))),
            libraries: &[],
        };
        subject.run().into()
    }

    fn mode(&self) -> u32 {
        0o600
    }

    fn module(&self, own: &Path) -> Option<PathBuf> {
        configuration::module(&Cnf::read(&Root::machine(), own))
    }
}
