// SPDX-License-Identifier: BSD-2-Clause
//! For one user: a configuration that includes the system's, and the line that sets OPENSSL_CONF.

use super::files::at;
use super::report::Report;
use super::site::{Outcome, Site};
use super::target::{Files, Means, Target, Tried};
use super::{apply, undo};
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration;
use crate::openssl::programs::{self, Program};
use crate::openssl::trial::Subject;
use base::root::Root;
use base::trust::is_root;
use libcrypto::LibCrypto;
use nix::unistd::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The user's directories.
pub struct Home {
    pub home: PathBuf,
    pub config: PathBuf,
    /// The configuration.
    pub own: PathBuf,
    pub state: PathBuf,
}

impl Home {
    pub fn find() -> Result<Home> {
        let absolute = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME").ok_or_else(|| {
            Error::failure("HOME is not set to a directory; set it, or use --system")
        })?;
        let config = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let state = absolute("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state"));
        Ok(Home {
            own: config.join("tenrounds/openssl.cnf"),
            config,
            state: state.join("tenrounds"),
            home,
        })
    }

    /// The same, if it belongs to this user. Under sudo HOME may still be the caller's: root leaves
    /// nothing there, and runs nothing that is enabled there.
    pub fn mine() -> Result<Home> {
        let home = Home::find()?;
        let user = geteuid().as_raw();
        let name = home.home.display();
        let meta = fs::metadata(&home.home);
        let meta = meta.map_err(|error| Error::failure(format!("HOME, {name}: {error}")))?;
        let owner = meta.uid();
        if owner != user {
            return Err(Error::failure(format!(
                "HOME, {name}, belongs to user {owner}, and this is user {user}; run it as that user, or with --system"
            )));
        }
        for path in [&home.config, &home.state] {
            if let Ok(meta) = fs::metadata(path) {
                refuse_owner(path, meta.uid())?;
            }
        }
        if is_root() {
            let folders = [home.own.parent(), Some(&home.state)];
            folders.into_iter().flatten().try_for_each(refuse_below)?;
        }
        Ok(home)
    }

    /// The line that sets the variable, in the language of the user's shell.
    fn line(&self) -> Result<String> {
        let path = self.own.to_str().ok_or_else(|| {
            at(&self.own, "no line of a shell can name this path, which is not UTF-8; set XDG_CONFIG_HOME to a directory whose name is")
        })?;
        let shell = std::env::var("SHELL").unwrap_or_default();
        Ok(match shell.ends_with("/fish") {
            true => {
                let path = path.replace('\\', r"\\").replace('\'', r"\'");
                format!("set -gx OPENSSL_CONF '{path}'")
            }
            false => {
                let path = path.replace('\'', r"'\''");
                format!("export OPENSSL_CONF='{path}'")
            }
        })
    }
}

/// Refuses a directory of another user.
fn refuse_owner(dir: &Path, owner: u32) -> Result<()> {
    let user = geteuid().as_raw();
    if owner == user {
        return Ok(());
    }
    let name = dir.display();
    let cure = format!("run it as that user, or change the owner: chown {user} {name}");
    Err(at(dir, format!("belongs to user {owner}; {cure}")))
}

/// Refuses a directory that root would create in a directory of another user.
fn refuse_below(dir: &Path) -> Result<()> {
    let look = |dir: &Path| Some((dir.to_owned(), fs::metadata(dir).ok()?.uid()));
    let Some((nearest, owner)) = dir.ancestors().find_map(look) else {
        return Ok(());
    };
    // In a user namespace the owner of "/" stands for root, and has another number.
    let root = fs::metadata("/").map(|meta| meta.uid());
    if nearest != dir && root.is_ok_and(|root| root == owner) {
        return Ok(());
    }
    refuse_owner(&nearest, owner)
}

/// Enables tenrounds for this user.
pub fn enable(root: &Path, report: &mut Report) -> Result<()> {
    let home = Home::mine()?;
    let means = Means::find(root, &mut report.notes)?;
    let found = programs::installations(root, Some(&means.libcrypto));
    report.export = Some(home.line()?);
    let programs = found.sites.into_iter().flat_map(|site| site.programs);
    let user = User {
        base: base(&means.libcrypto, &home.own),
        means: Some(means),
        ..User::of(&home, programs.collect())
    };
    apply::enable(&home.state, &[Box::new(user)], report)?;
    report.passed_over(found.passed_over);
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

/// The configuration that programs of this user read without us.
fn base(libcrypto: &LibCrypto, own: &Path) -> Option<PathBuf> {
    let named = std::env::var_os("OPENSSL_CONF").filter(|path| path != own.as_os_str());
    match named {
        Some(_) => configuration::base(libcrypto),
        None => libcrypto
            .config_dir()
            .map(|dir| dir.join("openssl.cnf"))
            .filter(|path| path.exists()),
    }
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

    fn text(
        &self,
        _files: &Files,
        _base: Option<&Path>,
        _notes: &mut Vec<String>,
    ) -> Result<(Vec<u8>, PathBuf)> {
        let means = self.means.as_ref().expect("enable has them");
        let base = self.base.as_deref();
        let named = base.unwrap_or(&self.home.own);
        means.text(base, base, named, &mut Vec::new())
    }

    fn try_out(&self, copies: Option<&Files>, _base: &Path) -> Tried {
        let copy = copies.map(|copies| copies.own.as_path());
        if let (Some(means), Some(copy)) = (&self.means, copy) {
            if let Err(error) = means.verify(copy) {
                return Err(error).into();
            }
        }
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
